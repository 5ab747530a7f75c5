"""Figures 9 to 12: how much is spilled at once, and which groups, modelled for one unit."""

from __future__ import annotations

from itertools import pairwise

from braid.control.memory.settings import MemorySettings, Victims
from experiments.claims import Claim, Measured, Ratio, Verdict, all_of
from experiments.dcape.input import thirds
from experiments.dcape.model import run_model
from experiments.dcape.runs import a_run, limit_of, recorded
from experiments.dcape.size import Size
from experiments.experiment import Experiment, Settings, Table

MINUTES = 50
LIMITS = (0.5, 0.3)
"""The memory of the unit, as shares of what arrives: the paper's rows have no size."""
SHARES = (0.1, 0.3, 0.5, 1.0)
SHARES_RATIO = 3
MIXED, SAME = (4, 2, 1), (3,)
VICTIMS: tuple[Victims, ...] = ("unproductive", "productive", "random")
INACTIVE_MS = MINUTES * 60_000 // 2
LEAST_GAIN = 1.2


def measure_shares(size: Size) -> Measured:
    found: Measured = {}
    for limit in LIMITS:
        found[str(limit)] = {str(share): [] for share in SHARES}
        for seed in range(size.seeds):
            run = a_run(size, (SHARES_RATIO,) * size.groups, MINUTES, seed)
            for share in SHARES:
                settings = MemorySettings(
                    limit_of(run, limit), spill_share=share, victims="random", seed=seed, inactive_after_ms=INACTIVE_MS
                )
                found[str(limit)][str(share)].append(recorded(run_model(run, settings), settings, run))
    return found


def measure_victims(size: Size) -> Measured:
    found: Measured = {}
    for name, ratios in (("mixed", MIXED), ("same", SAME)):
        found[name] = {str(limit): {victims: [] for victims in VICTIMS} for limit in LIMITS}
        for seed in range(size.seeds):
            run = a_run(size, thirds(size.groups, ratios), MINUTES, seed)
            for limit in LIMITS:
                for victims in VICTIMS:
                    settings = MemorySettings(
                        limit_of(run, limit), victims=victims, seed=seed, inactive_after_ms=INACTIVE_MS
                    )
                    found[name][str(limit)][victims].append(recorded(run_model(run, settings), settings, run))
    return found


def numbers(runs: list[Measured], what: str) -> list[float]:
    return [sum(one[what]) if isinstance(one[what], list) else one[what] for one in runs]


def falls(measured: Measured) -> Verdict:
    """Whether every larger share finds fewer results, in every round."""
    verdicts, said = [], []
    for limit, by_share in measured.items():
        results = [numbers(by_share[str(share)], "results") for share in SHARES]
        verdicts += [Ratio.of(b, a).below(1) for a, b in pairwise(results)]
        said.append(f"{Ratio.of(results[-1], results[0]).median:.2f} with memory for {float(limit):.0%}")
    return Verdict(f"all, over a tenth: {', '.join(said)}", all_of(*verdicts))


def stays_below(measured: Measured) -> Verdict:
    most = max(one["fullest"] for by_share in measured.values() for runs in by_share.values() for one in runs)
    return Verdict(f"at most {most:.2f} of the limit after any step", most <= 1)


def is_rarer(measured: Measured) -> Verdict:
    verdicts, said = [], []
    for by_share in measured.values():
        spills = [numbers(by_share[str(share)], "spills") for share in SHARES]
        verdicts += [Ratio.of(b, a).below(1) for a, b in pairwise(spills)]
        said.append(", ".join(f"{one[0]:g}" for one in spills))
    return Verdict(f"{'; '.join(said)} spills", all_of(*verdicts))


def gains(measured: Measured, name: str, what: str, one: str, other: str) -> dict[str, Ratio]:
    """One kind of victims over another, by limit."""
    return {limit: Ratio.of(numbers(by[one], what), numbers(by[other], what)) for limit, by in measured[name].items()}


def finds_more(name: str, least: float, measured: Measured) -> Verdict:
    found = gains(measured, name, "results", "unproductive", "productive")
    said = ", ".join(f"{ratio} times with memory for {float(limit):.0%}" for limit, ratio in found.items())
    return Verdict(said, all_of(*(ratio.above(least) for ratio in found.values())))


def leaves_less(measured: Measured) -> Verdict:
    results = gains(measured, "mixed", "deferred", "productive", "unproductive")
    rows = gains(measured, "mixed", "reread", "productive", "unproductive")
    said = ", ".join(
        f"{results[limit].median:.2f} times the results of {rows[limit].median:.2f} times the rows" for limit in results
    )
    return Verdict(said, all_of(*(ratio.above(1) for ratio in (*results.values(), *rows.values()))))


def _describe(measured: Measured, settings: Settings) -> str:
    return (
        f"Modelled: the controllers decide, and results are counted by join values; {settings['size.groups']} groups, "
        f"{MINUTES} minutes of input at one unit, with memory for a half and three tenths of it. The unit spills above "
        f"nine tenths of its memory."
    )


def _table_of_shares(measured: Measured) -> list[Table]:
    rows = [
        (
            f"{float(limit):.0%}, {share:.0%} at once",
            f"{by_share[str(share)][0]['results']:,}",
            str(by_share[str(share)][0]["spills"]),
        )
        for limit, by_share in measured.items()
        for share in SHARES
    ]
    return [Table(("memory, spilled", "results", "spills"), tuple(rows), "The first of the rounds")]


def _table_of_victims(measured: Measured) -> list[Table]:
    rows = [
        (
            f"{name}, {float(limit):.0%}, {victims}",
            f"{by[victims][0]['results']:,}",
            f"{sum(by[victims][0]['deferred']):,}",
            f"{sum(by[victims][0]['reread']):,}",
        )
        for name, by_limit in measured.items()
        for limit, by in by_limit.items()
        for victims in VICTIMS
    ]
    headings = ("ratios, memory, victims", "results before clean-up", "results of clean-up", "rows it reads")
    return [Table(headings, tuple(rows), "The first of the rounds")]


SPILL_SHARES = Experiment(
    "spill_shares",
    "How much is spilled at once, modelled",
    ("Figure 9", "Figure 10"),
    measure_shares,
    _describe,
    (
        Claim("falls", "the more is spilled at once, the fewer results are found before clean-up", "Fig. 9", falls),
        Claim("stays below", "memory stays below the limit", "Fig. 10", stays_below),
        Claim("is rarer", "the more is spilled at once, the fewer spills there are", "Fig. 10", is_rarer),
    ),
    _table_of_shares,
)
SPILL_VICTIMS = Experiment(
    "spill_victims",
    "Which groups are spilled, modelled",
    ("Figure 11", "Figure 12"),
    measure_victims,
    _describe,
    (
        Claim(
            "finds more, mixed",
            "with ratios 4, 2 and 1, spilling unproductive groups finds more results than productive ones",
            "much higher",
            lambda measured: finds_more("mixed", LEAST_GAIN, measured),
        ),
        Claim(
            "leaves less",
            "with ratios 4, 2 and 1, spilling productive groups leaves more to clean-up",
            "992,893 results beside 194,308, 5.1 times; in 13 times the time",
            leaves_less,
        ),
        Claim(
            "finds more, same",
            "with ratio 3 in all groups it finds slightly more as well",
            "slightly",
            lambda measured: finds_more("same", 1.0, measured),
        ),
    ),
    _table_of_victims,
)
