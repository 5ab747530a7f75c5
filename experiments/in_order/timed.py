"""Figures 7 to 10 on Spark in compressed time: the engine under the three policies, one after the other."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from braid.control.ordering import Policy
from experiments.in_order.equations import gain_of_share
from experiments.in_order.figures import NAMES
from experiments.in_order.replay import (
    ALPHA,
    FAST_RATE,
    FILE_SECONDS,
    WINDOW_SECONDS,
    Pacing,
    Replay,
    Replayer,
    Step,
    open_replayer,
    responses,
)
from experiments.in_order.size import Size
from experiments.outcome import Claim, Curve, Outcome

TURN = 4.0  # seconds between two rows of the slower stream where the cost varies
COST = 0.0007  # of a pair where that varies
WARMING = Pacing(seconds=6.0, warm_up=0.0)
NEARLY = 1.05  # a machine's own noise
STARTS_HOLDING_ROWS = (
    "Adaptive starts by holding rows, and sees several bursts of lookups before it changes: in so short a run the rows "
    "that waited until then, and those that its late lookups delayed, are still a part of what is counted."
)
HOW = (
    f"Files of {FILE_SECONDS:g} s with {FAST_RATE} rows a second and windows of {WINDOW_SECONDS} s; the predicate is a "
    f"Python function that keeps a core busy for c seconds a pair; alpha {ALPHA:g}. A row's response counts from when "
    "its file is due to the end of the step in which it leaves; the engine's own, in brackets, from the start of the "
    "step that took it in to its release."
)
STEPS = (
    "Steps change the picture. A response is never shorter than a step, so at the smallest c the policies differ by "
    "chance. All rows of a step leave at its end, so under Sync-Filter a row waits for the lookups of the whole turn, "
    "not only for those before its own. The lookup of the slower row itself, as long as those of a whole turn, falls "
    "into the step that lets results out under every policy. And the longer steps are beside a turn, the less is left "
    "to overlap. Adaptive begins by holding rows; when it saw enough to change is in the table of claims, and what "
    "came before the counted seconds is not in its figures."
)


@dataclass(frozen=True)
class Timed:
    """A run: responses in seconds, as seen from outside and as the engine says, and what Adaptive decided."""

    mean: float
    p50: float
    p99: float
    engine_mean: float
    engine_p50: float
    engine_p99: float
    step: float
    share: float
    modelled: float
    holds: str
    said: tuple[str, ...]


Runs = Mapping[float, Mapping[Policy, Timed]]


def timed_costs(size: Size) -> Outcome:
    """A pair costs more and more."""
    found = _measure(size.pacing, {cost: (cost, TURN) for cost in size.costs})
    return Outcome(
        "timed_costs",
        "On Spark: the cost of comparing two rows",
        f"{HOW} A row of the slower stream every {TURN:g} s; {_length(size.pacing)} {STEPS}",
        "Figures 7 and 8",
        (
            _growth("the gain of Filter-Order grows with c", found, "ms", 1000),
            *_bounds(found),
            *_following(found, lambda cost: f"{1000 * cost:g} ms"),
        ),
        _headings("c"),
        tuple(_row(f"{1000 * cost:g} ms", runs) for cost, runs in found.items()),
        _curves(found, 1000),
        ("c, ms", "mean response, s"),
        details=_recorded(found),
    )


def timed_rates(size: Size) -> Outcome:
    """The slower stream brings more and more rows."""
    found = _measure(size.pacing, {1 / turn: (COST, turn) for turn in size.turns})
    return Outcome(
        "timed_rates",
        "On Spark: the rate of the slower stream",
        f"{HOW} c is {1000 * COST:g} ms; {_length(size.pacing)} What is said above of steps holds here too.",
        "Figures 9 and 10",
        (
            _growth("the gain of Filter-Order grows with the slower stream's rate", found, "rows a second", 1),
            *_bounds(found),
            *_following(found, lambda rate: f"{rate:g} rows a second"),
        ),
        _headings("λ1"),
        tuple(_row(f"{rate:g}", runs) for rate, runs in found.items()),
        _curves(found, 1),
        ("rows a second of the slower stream", "mean response, s"),
        details=_recorded(found),
    )


def _length(pacing: Pacing) -> str:
    return f"runs of {pacing.seconds:g} s, of which the first {pacing.warm_up:g} do not count."


def _measure(pacing: Pacing, settings: Mapping[float, tuple[float, float]]) -> dict[float, dict[Policy, Timed]]:
    """All policies at every setting. A run before them warms up and does not count."""
    with open_replayer() as replayer:
        replayer.run(Replay(COST, 2.0, "filter-order"), WARMING)
        return {
            along: {policy: _run(replayer, Replay(cost, turn, policy), pacing) for policy in NAMES}
            for along, (cost, turn) in settings.items()
        }


def _run(replayer: Replayer, replay: Replay, pacing: Pacing) -> Timed:
    return summed_up(replayer.run(replay, pacing), replay.turn, pacing)


def summed_up(steps: Sequence[Step], turn: float, pacing: Pacing) -> Timed:
    """A run's figures."""
    seen = responses(steps, turn, pacing)
    counted = [step for step in steps if step.began >= pacing.warm_up and step.order["rowResponse"]]
    reported = [step.order["rowResponse"] for step in counted]
    rows = [one["rows"] for one in reported]
    last = steps[-1].order
    return Timed(
        mean=statistics.fmean(seen),
        p50=float(np.percentile(seen, 50)),
        p99=float(np.percentile(seen, 99)),
        engine_mean=statistics.fmean([one["averageMs"] for one in reported], rows) / 1000,
        engine_p50=statistics.median(one["p50Ms"] for one in reported) / 1000,
        engine_p99=max(one["p99Ms"] for one in reported) / 1000,
        step=statistics.median(step.ended - step.began for step in counted),
        share=last["lookupDelay"],
        modelled=last["modelledDelay"],
        holds=last["holds"],
        said=tuple(f"{step.began:.1f} s: {text}" for step in steps for text in step.said),
    )


def _gain(runs: Mapping[Policy, Timed]) -> float:
    return 1 - runs["filter-order"].mean / runs["sync-filter"].mean


def _growth(claim: str, found: Runs, unit: str, scale: float) -> Claim:
    gains = {along: _gain(runs) for along, runs in found.items()}
    return Claim(
        claim,
        "it grows",
        ", ".join(f"{gain:.2f} at {scale * along:g}" for along, gain in gains.items()) + f" {unit}",
        list(gains.values()) == sorted(gains.values()),
        "Little is gained where steps are as long as a turn.",
    )


def _bounds(found: Runs) -> tuple[Claim, ...]:
    largest = max(_gain(runs) for runs in found.values())
    return (
        Claim(
            "the gain is at most about one half while the system keeps up",
            "0.5",
            f"{largest:.2f}",
            largest <= 0.5,
        ),
    )


def _following(found: Runs, name: Callable[[float], str]) -> tuple[Claim, ...]:
    """What Adaptive came to hold at every setting, and how it did beside that policy."""
    claims = []
    for along, runs in found.items():
        share, adaptive = runs["filter-order"].share, runs["adaptive"]
        selected: Policy = "filter-order" if share >= ALPHA else "sync-filter"
        wanted = "results" if share >= ALPHA else "rows"
        claims.append(
            Claim(
                f"Adaptive follows the better policy at {name(along)}",
                f"holds {wanted}: lookups take {share:.2f} of the time",
                f"{adaptive.said[-1] if adaptive.said else 'holds rows throughout'}; response "
                f"{adaptive.mean / runs[selected].mean:.2f} of {NAMES[selected]}'s",
                adaptive.holds == wanted and adaptive.mean <= NEARLY * runs[selected].mean,
                STARTS_HOLDING_ROWS,
            )
        )
    return tuple(claims)


def _headings(along: str) -> tuple[str, ...]:
    measured = (f"{name}: mean (engine's)" for name in NAMES.values())
    return (along, *measured, "p50", "p99", "gain", "equation 7", "share measured", "modelled", "median step")


def _row(name: str, runs: Mapping[Policy, Timed]) -> tuple[str, ...]:
    share = runs["filter-order"].share
    return (
        name,
        *(f"{run.mean:.2f} s ({run.engine_mean:.2f})" for run in runs.values()),
        " / ".join(f"{run.p50:.2f}" for run in runs.values()) + " s",
        " / ".join(f"{run.p99:.2f}" for run in runs.values()) + " s",
        f"{_gain(runs):.2f}",
        f"{gain_of_share(share):.2f}",
        f"{share:.3f}",
        f"{runs['filter-order'].modelled:.3f}",
        " / ".join(f"{run.step:.2f}" for run in runs.values()) + " s",
    )


def _curves(found: Runs, scale: float) -> tuple[Curve, ...]:
    return tuple(
        Curve(name, tuple((scale * along, runs[policy].mean) for along, runs in found.items()))
        for policy, name in NAMES.items()
    )


def _recorded(found: Runs) -> dict[str, Any]:
    return {f"{along:g}, {policy}": asdict(run) for along, runs in found.items() for policy, run in runs.items()}
