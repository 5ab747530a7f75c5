"""Wide rows with few matches: how much less semijoins send than full rows."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.claims import Claim, Measured, Verdict
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series
from experiments.semijoin import engine_runs, one_way
from experiments.semijoin.engine_runs import count_all
from experiments.semijoin.one_way import NAMES, SIMPLE, Arriving, OneWay, total
from experiments.semijoin.size import Size

ROW_BYTES = 1250
RATE = 300
WINDOW_MS = 1000
# Of 100 values of the one stream the other has one.
MANY, FEW = 100, 1
ALLOWED = 0.2
SEED = 11
CASES = {
    "1 % of s1 match": OneWay(Arriving(RATE, ROW_BYTES, MANY), Arriving(RATE, ROW_BYTES, FEW), WINDOW_MS),
    "1 % of s2 match": OneWay(Arriving(RATE, ROW_BYTES, FEW), Arriving(RATE, ROW_BYTES, MANY), WINDOW_MS),
}
FULL_ROWS = {"1 % of s1 match": ("SP-D", ("SM-D1", "SM-D2")), "1 % of s2 match": ("SP-S", ("SM-S1", "SM-S2"))}


def measure(size: Size) -> Measured:
    """What is sent a second in each case."""
    counted = round(1000 * size.counted_seconds / 100)
    return {name: count_all(one, one.batches(counted, SEED)) for name, one in CASES.items()}


def sent(found: Measured) -> float:
    """Payload and framing of both directions."""
    return total(found, "bytes") + total(found, "framing")


def _little(case: str, measured: Measured) -> Verdict:
    """The semijoins over the join that ships the same rows in full."""
    full, reduced = FULL_ROWS[case]
    shares = {name: sent(measured[case][name]) / sent(measured[case][full]) for name in reduced}
    said = ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares.items())
    return Verdict(f"{said} of {full}", all(share <= ALLOWED for share in shares.values()))


def _claim(case: str) -> Claim:
    text = f"{case}, rows of 1,250 bytes: semijoins send at most 20 % of full rows"
    return Claim(case, text, "no figure; ours", lambda measured: _little(case, measured))


def describe(measured: Measured, settings: Settings) -> str:
    return (
        "Counted with the engine in one process: rows of 1,250 bytes, 300 a second of both streams, a window of 1 s. "
        "Of the hundred join values of the one stream the other has one, so that a row in a hundred has partners."
    )


def tables(measured: Measured) -> Sequence[Table]:
    rows = tuple(
        (name, *(f"{sent(measured[case][name]) / 1000:,.1f}" for case in CASES), "yes" if name in SIMPLE else "")
        for name in NAMES
    )
    return (Table(("", *CASES, "full rows"), rows, "Sent a second, with framing, kB:"),)


def pictures(measured: Measured) -> Sequence[Picture]:
    series = tuple(Series(case, tuple((name, sent(measured[case][name]) / 1000) for name in NAMES)) for case in CASES)
    return [Picture("", "Sent a second, wide rows with few matches", "algorithm", ("kB",), series, kind="bars")]


WIDE = Experiment(
    "wide",
    "Wide rows with few matches, counted with the engine",
    ("§1",),
    measure,
    describe,
    tuple(_claim(case) for case in CASES),
    tables,
    pictures,
    modules=(one_way, engine_runs),
)
