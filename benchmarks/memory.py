"""`python -m benchmarks.memory [LIMIT_MB [TIMES]]`: what one worker holds while its state grows beyond its limit.

A child process runs a join of two streams with wide rows and unbounded windows, with all tasks in one process, until
its state has so many times the limit. The parent samples its mapped state files and anonymous memory, at least 20 times
a second, as the limit counts them. The same is run without a limit. Prints the largest sample, its share of the limit,
the rows a second and the results of both.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from braid.engine.tasks.worker.memory import Resident, parse_mappings
from braid.optimizer.strategies import Auto, Partitioned, Strategy, TimeSliced
from braid.plan.logical import LogicalPlan
from braid.plan.memory import MemoryLimit
from braid.testing import Draft, InlineQuery
from braid.testing.expressions import equal

ROWS, TEXT_BYTES, KEYS = 10_000, 200, 1 << 40
SLOTS = UNITS = 2
INTERVAL_SECONDS = 0.02
STATE_FILES = (".block", ".exchanged")
STRATEGIES: dict[str, Strategy] = {
    "partitioned": Partitioned(units=UNITS),
    "time-sliced": TimeSliced(units=UNITS),
    "auto": Auto(),
}


def two_streams() -> LogicalPlan:
    draft = Draft()
    a = draft.stream("a", {"k": "bigint", "p": "string"}, window_us=None)
    b = draft.stream("b", {"k": "bigint", "p": "string"}, window_us=None)
    draft.on(equal(a["k"], b["k"]))
    return draft.logical_plan()


def batch(step: int) -> dict[str, pa.Table]:
    """Rows of both streams; one of a hundred has a partner in its own step, and one in the step before."""
    chance = np.random.default_rng(step + 1)
    before = np.random.default_rng(step).integers(0, KEYS, ROWS)
    tables = {}
    for name in "ab":
        keys = chance.integers(0, KEYS, ROWS)
        keys[: ROWS // 100] = before[ROWS // 100 : ROWS // 50]
        times = pa.array(np.arange(ROWS) + step * ROWS, pa.timestamp("us", "UTC"))
        letters = np.frombuffer(chance.bytes(ROWS * TEXT_BYTES // 2).hex().encode(), np.uint8)
        offsets = np.arange(ROWS + 1, dtype=np.int32) * TEXT_BYTES
        texts = pa.StringArray.from_buffers(ROWS, pa.py_buffer(offsets), pa.py_buffer(letters))
        tables[name] = pa.table({"k": keys, "p": texts, "ts": times})
    return tables


def child(directory: str, limit: int, strategy: str, state: int) -> None:
    """Run until the state has so many bytes; print what progress says."""
    memory = MemoryLimit(limit) if limit else None
    query = InlineQuery(
        two_streams(), directory, strategy=STRATEGIES[strategy], slots=SLOTS, rows_per_batch=ROWS, limits=memory
    )
    query.run(0, batch(0))  # imports and Arrow's functions are no state
    print("ready", flush=True)
    sys.stdin.readline()
    step, seconds, peak, results = 1, 0.0, 0, 0
    began_cpu = time.process_time()
    while True:
        tables = batch(step)
        began = time.monotonic()
        progress = query.run(step, tables)
        seconds += time.monotonic() - began
        if progress is None:
            raise RuntimeError("the step was committed before")
        peak, results = max(peak, progress["memory"].get("peak", 0)), results + progress["numOutputRows"]
        step += 1
        if progress["stateBytes"] >= state:
            break
    cpu = time.process_time() - began_cpu
    print(json.dumps({"steps": step, "seconds": seconds, "cpu": cpu, "peak": peak, "results": results}), flush=True)


def sampled(limit: int, strategy: str, state: int) -> dict[str, float]:
    """A child's own figures, and the largest of its samples above idle."""
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "benchmarks.memory", "child", directory, str(limit), strategy]
        command.append(str(state))
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("the child has no pipes")
            process.stdout.readline()
            idle = _resident(process.pid)
            process.stdin.write("go\n")
            process.stdin.flush()
            largest, samples, began, longest, last = 0, 0, time.monotonic(), 0.0, time.monotonic()
            while process.poll() is None:
                resident = _resident(process.pid)
                if resident is not None and idle is not None:
                    largest = max(largest, resident.above(idle).total)
                now = time.monotonic()
                samples, longest, last = samples + 1, max(longest, now - last), now
                time.sleep(INTERVAL_SECONDS)
            elapsed = time.monotonic() - began
            own: dict[str, float] = json.loads(process.stdout.read())
    return {**own, "largest": largest, "samples": samples, "perSecond": samples / elapsed, "longestGap": longest}


def _resident(process: int) -> Resident | None:
    try:
        return parse_mappings(Path(f"/proc/{process}/smaps").read_text(), STATE_FILES)
    except (OSError, IndexError):
        return None


def main(limit_mb: int = 32, times: int = 5) -> None:
    limit = limit_mb << 20
    allowed = limit * UNITS
    for strategy in STRATEGIES:
        for given in (limit, 0):
            found = sampled(given, strategy, times * allowed)
            share = found["largest"] / allowed
            rows = 2 * ROWS * found["steps"] / found["seconds"]
            what = f"limit {UNITS} x {limit_mb} MB" if given else "no limit"
            print(
                f"{strategy:12} {what:16} largest {found['largest'] / 2**20:7.1f} MB ({share:5.2f} of the limit), "
                f"{rows:9,.0f} rows/s, {found['results']:,} results, {found['perSecond']:.0f} samples/s, "
                f"longest gap {found['longestGap'] * 1000:.0f} ms, own peak {found['peak'] / 2**20:.1f} MB",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
    else:
        main(*map(int, sys.argv[1:]))
