"""What the engine itself holds while an ordered query runs: rows and results that wait, in its own bytes.

The steps are the engine's, without Spark, on a clock that the run moves. What a step reports after it does not depend
on the machine.
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import pyarrow as pa

from braid.control.ordering import Ordering, Policy
from braid.optimizer.strategies import Partitioned
from braid.testing import Draft, InlineQuery, ManualClock
from braid.testing.expressions import equal
from experiments.claims import Claim, Measured, Verdict, within
from experiments.experiment import Experiment, Settings, Table
from experiments.in_order.policies import FIXED, NAMES
from experiments.in_order.size import Size
from experiments.pictures import Picture, Series

STEP_SECONDS = 2
STEPS_A_TURN = 5
ROWS_A_STEP = 200
COUNTED_TURNS = 4
FINDING = (0.1, 1.0, 6.0)
"""Results that a row of the faster stream finds on average."""
SAME_STATE = 0.05  # a block has some bytes beside its rows, and policies make different blocks


def measure(size: Size) -> Measured:
    return {
        "points": [
            {"finding": finding, "buffered": {policy: _run(policy, size.buffered_turns, finding) for policy in FIXED}}
            for finding in FINDING
        ]
    }


def _run(policy: Policy, turns: int, finding: float) -> dict[str, float]:
    """A query whose window has so many rows of the slower stream, on average over the steps of the last turns."""
    keys = max(1, round(turns / finding))
    window = turns * STEPS_A_TURN * STEP_SECONDS
    random, clock, reports = np.random.default_rng(5), ManualClock(1), []
    with tempfile.TemporaryDirectory(prefix="braid-experiment-") as directory:
        query = _open(directory, window, policy, clock)
        for step in range((turns + COUNTED_TURNS) * STEPS_A_TURN):
            clock.advance(1000 * STEP_SECONDS)
            times = STEP_SECONDS * (step + np.arange(1, ROWS_A_STEP + 1) / ROWS_A_STEP)
            slow = times[-1:] if step % STEPS_A_TURN == STEPS_A_TURN - 1 else times[:0]
            rows = {name: _table(random, which, keys) for name, which in (("slow", slow), ("fast", times))}
            reports.append(query.run(step, rows))
    counted = [_buffered(report) for report in reports[-COUNTED_TURNS * STEPS_A_TURN :] if report is not None]
    return {name: float(np.mean([one[name] for one in counted])) for name in counted[0]}


def _open(directory: str, window: int, policy: Policy, clock: ManualClock) -> InlineQuery:
    draft = Draft()
    columns = {"k": "bigint", "v": "double"}
    slow, fast = (draft.stream(name, columns, window_us=1_000_000 * window) for name in ("slow", "fast"))
    plan = draft.on(equal(slow["k"], fast["k"])).ordered().logical_plan()
    return InlineQuery(plan, directory, strategy=Partitioned(), clock=clock, ordering=Ordering(policy, 0.3))


def _table(random: np.random.Generator, seconds: Any, keys: int) -> pa.Table:
    instants = pa.array(np.round(1e6 * seconds).astype(np.int64), pa.timestamp("us", "UTC"))
    return pa.table({"ts": instants, "k": random.integers(0, keys, len(seconds)), "v": random.random(len(seconds))})


def _buffered(report: dict[str, Any]) -> dict[str, float]:
    rows = sum(report["held"]["rows"].values())
    return {
        "rows": rows,
        "row_bytes": rows * report["stateBytes"] / max(1, report["stateRows"]),
        "results": report["held"]["results"],
        "result_bytes": report["held"]["bytes"],
        "state_bytes": report["stateBytes"],
    }


def describe(measured: Measured, settings: Settings) -> str:
    rows = ROWS_A_STEP / STEP_SECONDS
    return (
        f"The engine's own steps, without Spark: {rows:g} rows a second of the faster stream, a step every "
        f"{STEP_SECONDS} s, a row of the slower stream every {STEPS_A_TURN * STEP_SECONDS} s, "
        f"{settings['size.buffered_turns']} of them in a window; rows of two numbers join where one of them is equal. "
        "What progress reports after every step, on average over the last turns. Rows that wait are stored with the "
        "rows of the windows from their arrival on, so their bytes are a part of the stored state under both policies; "
        "results that wait are stored beside it. Bytes of rows that wait are their share of the stored bytes."
    )


def waiting_bytes(point: Measured, policy: str) -> float:
    one = point["buffered"][policy]
    return float(one["row_bytes"] + one["result_bytes"])


def unselective(measured: Measured) -> Verdict:
    return _compared(measured["points"][-1], "sync-filter")


def selective(measured: Measured) -> Verdict:
    return _compared(measured["points"][0], "filter-order")


def _compared(point: Measured, less: Policy) -> Verdict:
    found = {policy: waiting_bytes(point, policy) for policy in FIXED}
    (more,) = [policy for policy in found if policy != less]
    said = ", ".join(f"{size / 1024:.1f} KiB under {NAMES[policy]}" for policy, size in found.items())
    return Verdict(f"{point['finding']:g} results a row: {said}", found[less] < found[more])


def same_state(measured: Measured) -> Verdict:
    """Whether stored rows take as many bytes under both policies."""
    pairs = [[point["buffered"][policy]["state_bytes"] for policy in FIXED] for point in measured["points"]]
    said = ", ".join(f"{one / 1024:.0f} and {other / 1024:.0f} KiB" for one, other in pairs)
    why = "Rows that wait are kept in other blocks than rows that were looked up, and blocks are compacted apart."
    return Verdict(said, all(within(other, one, SAME_STATE) for one, other in pairs), why)


def total(measured: Measured) -> Verdict:
    """Whether a selective join takes less memory under Filter-Order with all that is stored."""
    point = measured["points"][0]
    found = {p: point["buffered"][p]["state_bytes"] + point["buffered"][p]["result_bytes"] for p in FIXED}
    said = ", ".join(f"{size / 1024:.1f} KiB under {NAMES[policy]}" for policy, size in found.items())
    why = "A row is stored when it arrives, whether it waits or not, so only results that wait take more."
    return Verdict(said, found["filter-order"] < found["sync-filter"], why)


def tables(measured: Measured) -> list[Table]:
    rows = []
    for point in measured["points"]:
        for policy in FIXED:
            one = point["buffered"][policy]
            own = (f"{one['rows']:.0f}", f"{one['row_bytes'] / 1024:.1f}")
            found = (f"{one['results']:.0f}", f"{one['result_bytes'] / 1024:.1f}")
            rows.append((f"{point['finding']:g}, {NAMES[policy]}", *own, *found, f"{one['state_bytes'] / 1024:.0f}"))
    headings = ("results a row finds", "rows that wait", "their KiB", "results that wait", "their KiB", "stored, KiB")
    return [Table(headings, tuple(rows))]


def pictures(measured: Measured) -> list[Picture]:
    series = tuple(
        Series(NAMES[p], tuple((f"{one['finding']:g}", waiting_bytes(one, p) / 1024) for one in measured["points"]))
        for p in FIXED
    )
    along, upward = "results that a row of the faster stream finds", ("waiting rows and results, KiB",)
    return [Picture("", "What waits in the engine", along, upward, series, kind="bars")]


BUFFERED_BYTES = Experiment(
    "buffered_bytes",
    "In the engine: the bytes of what waits",
    ("§4.2", "§5.2"),
    measure,
    describe,
    (
        Claim(
            "unselective", "an unselective join waits with fewer bytes under Sync-Filter", "Sync-Filter", unselective
        ),
        Claim("selective", "a selective join waits with fewer bytes under Filter-Order", "Filter-Order", selective),
        Claim("same-state", "the stored windows take as much under both policies", "they are the same", same_state),
        Claim("total", "a selective join takes less memory in all under Filter-Order", "Filter-Order", total),
    ),
    tables,
    pictures,
)
