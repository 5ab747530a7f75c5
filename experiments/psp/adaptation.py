"""Figures 8g and 8h: the rate doubles on the way; with adaptation the ring follows, without it stays as it was."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from braid.optimizer.ring_lengths import queued_length
from experiments.claims import Claim, Measured, Verdict, agreed
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series
from experiments.psp import node_work, settings
from experiments.psp.arrivals import poisson
from experiments.psp.images import PIXELS
from experiments.psp.node_work import NodeWork, measure_work
from experiments.psp.ring_model import Outcome, Phase, RingSetting, run_ring
from experiments.psp.settings import NODES, RATE, WINDOW, Setting
from experiments.psp.size import Size

IMAGE = "small"
STREAMS = 3
SELECTIVITY = 0.002
NOTICED_AFTER = 5.0
BINS = 12
STABLE = 3.0
WAYS_TO_RUN = ("off", "on")
NAMES = {"off": "without adaptation", "on": "with adaptation"}


def measure(size: Size) -> Measured:
    """The response time by when a row came, in some runs; the ring for each rate is that of the cost model."""
    work = measure_work(PIXELS[IMAGE])
    replayed = NodeWork.of(work)
    before, after = (_length(replayed, rate) for rate in (RATE, 2 * RATE))
    doubles = size.adaptation_seconds / 2
    state_rows = STREAMS * 2 * RATE * WINDOW
    pause = replayed.transfer_seconds(round(state_rows / after))  # all nodes send at the same time
    phases = {
        "off": (Phase(before),),
        "on": (Phase(before, "count"), Phase(after, "count", doubles + NOTICED_AFTER, pause)),
    }
    found: Measured = {"work": work, "nodes": [before, after], "doubles_at": doubles, "pause": pause}
    for name in WAYS_TO_RUN:
        setting = RingSetting(SELECTIVITY, WINDOW, replayed, phases[name])
        runs = []
        for seed in range(size.seeds):
            arrivals = poisson(STREAMS, RATE, WINDOW, size.adaptation_seconds, seed, doubles)
            runs.append(_by_time(run_ring(arrivals, setting, seed), size.adaptation_seconds))
        found[name] = runs
    return found


def _length(work: NodeWork, rate: float) -> int:
    ring_work = Setting(STREAMS, IMAGE, SELECTIVITY).ring_work(work, rate)
    return queued_length(ring_work, NODES, STREAMS * rate)


def _by_time(outcome: Outcome, seconds: float) -> list[float]:
    """The mean response time of the rows of each twelfth of the run."""
    width = seconds / BINS
    found = [outcome.latency(n * width, (n + 1) * width) for n in range(BINS)]
    return [0.0 if one is None else one for one in found]


def _before(run: Sequence[float]) -> float:
    return statistics.fmean(run[: BINS // 2])


def _last(run: Sequence[float]) -> float:
    return statistics.fmean(run[-BINS // 6 :])


def _stays(measured: Measured) -> Verdict:
    ratios = [_last(run) / _before(run) for run in measured["on"]]
    said = f"at the end {statistics.median(ratios):.2f} times that before ({min(ratios):.2f} to {max(ratios):.2f})"
    return Verdict(said, agreed(ratio <= STABLE for ratio in ratios))


def _grows(measured: Measured) -> Verdict:
    ratios = [_last(run) / _before(run) for run in measured["off"]]
    said = f"at the end {statistics.median(ratios):.1f} times that before ({min(ratios):.1f} to {max(ratios):.1f})"
    return Verdict(said, agreed(ratio > STABLE for ratio in ratios))


def _less(measured: Measured) -> Verdict:
    ratios = [_last(on) / _last(off) for on, off in zip(measured["on"], measured["off"], strict=True)]
    said = f"{statistics.median(ratios):.3f} of that without ({min(ratios):.3f} to {max(ratios):.3f})"
    return Verdict(said, agreed(ratio < 1 for ratio in ratios))


CLAIMS = (
    Claim("stays", "With adaptation the response time stays stable when the rate doubles", "stable", _stays),
    Claim("grows", "Without adaptation it grows when the rate doubles", "it grows", _grows),
    Claim("less", "With adaptation it is shorter in the end than without", "shorter", _less),
)


def describe(measured: Measured, settings_: Settings) -> str:
    before, after = measured["nodes"]
    return (
        "Modelled: a 3-way join of 5,000-pixel images with selectivity 0.002 (ours), 50 rows a second of each stream, "
        f"and 100 from {measured['doubles_at']:g} s on, as in the paper. Without adaptation the ring keeps its "
        f"{before} nodes and slices of equal length. With adaptation slices have equal numbers of rows, and "
        f"{NOTICED_AFTER:g} s after the change the ring has the {after} nodes that the cost model chooses for the new "
        f"rate; rows are moved for {1000 * measured['pause']:.0f} ms, in which nothing is joined. "
        f"{settings_['size.seeds']} runs of {settings_['size.adaptation_seconds']:g} s."
    )


def tables(measured: Measured) -> Sequence[Table]:
    rows = tuple(
        (
            NAMES[name],
            *(f"{1000 * statistics.fmean(part(run) for run in measured[name]):,.1f} ms" for part in (_before, _last)),
        )
        for name in WAYS_TO_RUN
    )
    return (Table(("", "before the rate doubles", "in the last sixth of the run"), rows),)


def pictures(measured: Measured) -> Sequence[Picture]:
    width = 2 * measured["doubles_at"] / BINS
    series = tuple(
        Series(
            NAMES[name],
            tuple(
                ((place + 0.5) * width, 1000 * statistics.fmean(run[place] for run in measured[name]))
                for place in range(BINS)
            ),
        )
        for name in WAYS_TO_RUN
    )
    title = f"Response time when the rate doubles after {measured['doubles_at']:g} s, modelled"
    return [Picture("", title, "time at which rows come, s", ("milliseconds, log scale",), series, scale="log")]


ADAPTATION = Experiment(
    "adaptation",
    "When the rate doubles, with and without adaptation, modelled",
    ("Figure 8g", "Figure 8h"),
    measure,
    describe,
    CLAIMS,
    tables,
    pictures,
    timed=True,
    modules=(settings, node_work),
)
