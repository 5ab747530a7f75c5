"""The engine on Spark in compressed time: rounds in which the three policies run one after the other.

A round has every policy at every setting, another policy first each time; policies are compared within a round.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from braid.control.ordering import Policy
from experiments.claims import Measured
from experiments.in_order.equations import Setting
from experiments.in_order.replay import (
    ALPHA,
    FAST_RATE,
    WINDOW_SECONDS,
    Pacing,
    Replay,
    Step,
    open_replayer,
    responses,
)

WARMING = Replay(0.0007, 2.0, "filter-order")
WARMING_PACE = Pacing(seconds=6.0, warm_up=0.0)
SLOTS = 2


def measure(settings: Mapping[str, Replay], pacing: Pacing, rounds: int, policies: Sequence[Policy]) -> Measured:
    """All policies at every setting, round after round. A run before them warms up and does not count."""
    points = [_described(name, one, policies) for name, one in settings.items()]
    with open_replayer() as replayer:
        replayer.run(WARMING, WARMING_PACE)
        for number in range(rounds):
            first = number % len(policies)
            for setting, point in zip(settings.values(), points, strict=True):
                for policy in (*policies[first:], *policies[:first]):
                    queries = replayer.run(replace(setting, policy=policy), pacing)
                    point["rounds"][policy].append(summed_up(queries, setting.turn, pacing))
    return {"pacing": asdict(pacing), "alpha": ALPHA, "points": points}


def _described(name: str, replay: Replay, policies: Sequence[Policy]) -> Measured:
    """A point before its first round; `share` is what the lookups of one stream take of the time of all slots."""
    product = Setting(1 / replay.turn, FAST_RATE, replay.cost, WINDOW_SECONDS).share
    return {
        "name": name,
        "cost": replay.cost,
        "turn": replay.turn,
        "queries": replay.queries,
        "share": replay.queries * product / SLOTS,
        "rounds": {policy: [] for policy in policies},
    }


def summed_up(queries: Sequence[Sequence[Step]], turn: float, pacing: Pacing) -> Measured:
    """A run's figures: response times over the rows of all queries, and what the first query reported."""
    seen = [second for steps in queries for second in responses(steps, turn, pacing)]
    steps = queries[0]
    counted = [step for step in steps if step.began >= pacing.warm_up]
    emitting = [step for step in counted if step.order["rowResponse"]]
    waits = [step.order["rowResponse"] for step in emitting]
    last = steps[-1].order
    return {
        "mean": statistics.fmean(seen),
        "p50": float(np.percentile(seen, 50)),
        "p99": float(np.percentile(seen, 99)),
        "engine_mean": statistics.fmean([one["averageMs"] for one in waits], [one["rows"] for one in waits]) / 1000,
        "step": statistics.median(step.ended - step.began for step in emitting),
        "delay": last["lookupDelay"],
        "modelled_delay": last["modelledDelay"],
        "buffers": last["holds"],
        "said": [f"{step.began:.1f} s: {text}" for step in steps for text in step.said],
        "waiting": _waiting(counted),
    }


def _waiting(steps: Sequence[Step]) -> dict[str, float]:
    """Rows and results that waited after a step until the next one ended, on average over time, and their bytes."""
    seconds = np.diff([step.ended for step in steps])
    kept = steps[: len(seconds)]
    rows = [sum(step.buffered["rows"].values()) for step in kept]
    figures = {
        "rows": rows,
        "row_bytes": [count * step.state_bytes_a_row for count, step in zip(rows, kept, strict=True)],
        "results": [step.buffered["results"] for step in kept],
        "result_bytes": [step.buffered["bytes"] for step in kept],
    }
    return {name: float(np.average(values, weights=seconds)) for name, values in figures.items()}
