"""The status of a run: a dict for `json.dumps`, a sentence, and a page of text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from time import monotonic
from typing import Any

from braid.control.standing import Standing, Wait
from braid.engine.metered_cluster import RunningJob
from braid.plan.instants import iso_time
from braid.plan.join import JoinPlan


def describe_status(
    plan: JoinPlan, standing: Standing, state: str, running: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The status of a run, in addition to Spark's own keys; `running` is the job of the step that runs now."""
    names = [stream.name for stream in plan.streams]
    doing = f"{state} ({_running_text(running)})" if running else state
    return {
        "message": message(plan, standing, doing),
        "step": standing.step,
        "running": running,
        "watermarks": _by_name(names, [iso_time(mark) for mark in standing.watermarks]),
        "newestTimes": _by_name(names, [iso_time(time) for time in standing.newest_us]),
        "idle": [name for name, idle in zip(names, standing.idle, strict=True) if idle],
        "lateRows": _by_name(names, standing.late_rows),
        "storedRows": _by_name(names, standing.stored_rows),
        "buffered": {"rows": _by_name(names, standing.buffered_rows), "results": standing.buffered_results},
        "emittedUntil": iso_time(standing.frontier_us),
        "waits": [
            {
                "what": wait.what,
                "stream": None if wait.stream is None else names[wait.stream],
                "rows": wait.rows,
                "for": [names[stream] for stream in wait.streams],
            }
            for wait in standing.waits
        ],
    }


def describe_running(job: RunningJob, tasks: tuple[int, int] | None, shares: Collection[float] = ()) -> dict[str, Any]:
    """The job that runs now; `tasks` are its finished and all tasks, where they are known.

    `shares` are those of their work that running tasks have done, as far as they take long and have left notes.
    """
    done, every = tasks or (None, None)
    return {
        "phase": job.phase,
        "round": job.round,
        "rounds": job.rounds,
        "tasksDone": done,
        "tasks": every,
        "share": round(min(1.0, ((done or 0) + sum(shares)) / every), 3) if every and shares else None,
        "seconds": round(monotonic() - job.began, 1),
    }


def _running_text(running: dict[str, Any]) -> str:
    rounds = f", round {running['round']} of {running['rounds']}" if running["rounds"] > 1 else ""
    tasks = "" if running["tasks"] is None else f", {running['tasksDone']} of {running['tasks']} tasks done"
    share = "" if running["share"] is None else f", {running['share']:.0%} of the work"
    return f"{running['phase']}{rounds}{tasks}{share} after {running['seconds']:.1f} s"


def message(plan: JoinPlan, standing: Standing, state: str) -> str:
    """What the run is doing, and what waits for which stream."""
    # Rows that wait for their order are also stored; naming them twice would say nothing.
    in_order = [wait for wait in standing.waits if wait.what != "state"]
    waits = "; ".join(describe_wait(plan, wait) for wait in in_order or standing.waits)
    if state == "waiting":
        return waits or "waiting for new rows"
    return f"{state}; {waits}" if waits else state


def describe_wait(plan: JoinPlan, wait: Wait) -> str:
    """A wait as a sentence."""
    names = [plan.streams[stream].name for stream in wait.streams]
    others = f"newer rows of {names[0]}" if wait.streams == (wait.stream,) else " and ".join(names)
    one = wait.rows == 1
    if wait.stream is None:
        return f"1 result waits for {others}" if one else f"{wait.rows:,} results wait for {others}"
    own = f"{wait.rows:,} row{'' if one else 's'} of {plan.streams[wait.stream].name}"
    if wait.what == "state":
        return f"{own} {'is' if one else 'are'} kept for {others}"
    return f"{own} {'waits' if one else 'wait'} for {others}"


def explain_now(plan: JoinPlan, standing: Standing, state: str) -> str:
    """The status as text, a line per stream."""
    lines = ["== Now ==", f"state: {state}, after step {standing.step}"]
    for number, stream in enumerate(plan.streams):
        parts = [
            f"newest row {iso_time(standing.newest_us[number]) or 'none yet'}",
            f"watermark {iso_time(standing.watermarks[number]) or 'none yet'}",
            f"{standing.stored_rows[number]:,} rows stored",
            f"{standing.late_rows[number]:,} late",
        ]
        parts += [f"{standing.buffered_rows[number]:,} buffered"] if plan.ordered else []
        parts += ["idle"] if standing.idle[number] else []
        lines.append(f"{stream.name}: {', '.join(parts)}")
    if plan.ordered:
        until = iso_time(standing.frontier_us)
        emitted = "nothing emitted yet" if until is None else f"emitted up to result_time {until}"
        lines.append(f"order: {emitted}, {standing.buffered_results:,} results buffered")
    waits = [describe_wait(plan, wait) for wait in standing.waits]
    return "\n".join([*lines, *(f"waits: {wait}" for wait in waits or ["nothing, except for new rows"])])


def _by_name(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))
