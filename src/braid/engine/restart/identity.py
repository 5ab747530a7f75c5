"""The identity of a checkpoint: its query's id and plan, and the record that stores them.

Nothing is written until the query can run: `settle` is called right before its first step. A record without stored data
is not binding, so after a failed start the corrected query replaces it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from braid.engine.restart.correction import LATE, known_late, only_checked, take_over
from braid.engine.restart.differences import differences, only_functions_changed
from braid.engine.restart.fingerprint import FORMAT, fingerprint
from braid.errors import CorruptStateError, RestartError
from braid.optimizer.build import build_plan
from braid.plan.join import JoinPlan
from braid.plan.logical import LogicalPlan
from braid.state.checkpoint import Checkpoint

ELSEWHERE = "a new checkpointLocation, and where it writes files a new path"
CHANGED_QUERY = (
    f"Undo the change, or start the changed query with {ELSEWHERE}. Strategy, units, interleave, the memory limit, the "
    "policy of an order, trigger, retention and sink options may change; the rest may not."
)
CHANGED_FUNCTION = (
    "If results found by the old function and by the new one may stand side by side, start once with the option "
    f"acceptChangedFunctions; else undo the change, or start with {ELSEWHERE}. braid.udf(..., version=...) is compared "
    "instead of the code."
)


@dataclass(frozen=True)
class Identity:
    """A query's id and plan.

    `record` is what has to be written, None if the checkpoint has it; `number` is the number of the new record;
    `replaces` is true if it replaces a query without stored data.
    """

    id: str
    plan: JoinPlan
    record: dict[str, Any] | None
    number: int
    replaces: bool


def settle(
    identity: Identity, find: Callable[[], Identity], checkpoint: Checkpoint, beside: dict[str, Any] | None = None
) -> Identity:
    """Make the checkpoint this query's, or `find` the record of a faster run; `beside` is stored but not compared."""
    while identity.record is not None:
        begun = identity.replaces and checkpoint.stored()
        if not begun and _write(identity, checkpoint, {**identity.record, **(beside or {})}):
            break
        found = find()
        if found.plan != identity.plan:
            raise _overtaken(checkpoint)
        identity = found
    return identity


def require_newest(identity: Identity, find: Callable[[], Identity], checkpoint: Checkpoint) -> None:
    """After the claim: refuse to run if another query has made the checkpoint its own since this one did."""
    found = find()
    if found.record is not None or found.plan != identity.plan:
        raise _overtaken(checkpoint)


def _overtaken(checkpoint: Checkpoint) -> RestartError:
    return RestartError(
        f"The query cannot start on the checkpoint {checkpoint.path}: another query was started on it at the same "
        "moment.",
        hint="Decide which of them is to use the checkpoint, and start that one again: nothing is lost.",
    )


def _write(identity: Identity, checkpoint: Checkpoint, record: dict[str, Any]) -> bool:
    """Whether the record could be written: another run may have been faster."""
    if identity.replaces:
        checkpoint.clear_sources()
    try:
        checkpoint.write_query({"id": identity.id, **record}, identity.number)
    except FileExistsError:
        return False
    return True


def identify(
    checkpoint: Checkpoint, logical_plan: LogicalPlan, location: str, *, accept_changed_functions: bool = False
) -> Identity:
    """The query's id and plan: the checkpoint's own, if it was made for the same query."""
    number = checkpoint.next_query()
    # In this order, since another run that starts now writes the record before it stores anything.
    stored = checkpoint.stored()
    saved = checkpoint.read_query()
    if saved is None and stored:
        raise CorruptStateError(
            f"The checkpoint {location} cannot be continued: the record of its query is missing, but there are files "
            f"in {', '.join(stored)}.",
            detail="Without the record (query-000000.json, and those with higher numbers) it is unknown whether this "
            "query is the one whose rows are stored.",
            hint=f"Restore query-*.json from a copy of the checkpoint, or start with {ELSEWHERE}.",
        )
    if saved is None:
        return _first(logical_plan, str(uuid.uuid4()), number)
    if not stored:
        first = _first(logical_plan, str(saved["id"]), number)
        known = all(saved.get(name) == value for name, value in (first.record or {}).items())
        return replace(first, record=None) if known else replace(first, replaces=True)
    manifest = checkpoint.last_manifest()
    failed = checkpoint.has_failed(manifest.step + 1 if manifest else 0)
    plan, record = continue_plan(saved, logical_plan, location, failed, accept_changed_functions)
    return Identity(str(saved["id"]), plan, record, number, replaces=False)


def continue_plan(
    saved: dict[str, Any], logical_plan: LogicalPlan, location: str, failed: bool, accept_changed_functions: bool
) -> tuple[JoinPlan, dict[str, Any] | None]:
    """The plan with which a checkpoint is continued, and its new record if there is one.

    A new record is needed if a corrected query takes over the failed step, or if a changed Python function is accepted.
    """
    _require_format(saved, location)
    pushdown = bool(saved["pushdown"])
    late = known_late(saved)
    plan = build_plan(only_checked(logical_plan, late), pushdown)
    # How rows are stored is unchanged, and the record also has what earlier queries left out.
    now = {**fingerprint(logical_plan, plan, pushdown), "storage": saved["storage"], **({LATE: late} if late else {})}
    found = differences(saved["query"], now["query"])
    only_functions = only_functions_changed(saved["query"], now["query"])
    if not found or (accept_changed_functions and only_functions):
        return plan, None if saved["query"] == now["query"] else now
    taken = take_over(saved, logical_plan) if failed else []
    if isinstance(taken, tuple):
        return taken
    found += taken
    raise RestartError(
        f"The query cannot continue the checkpoint {location}: it differs from the one that wrote it.",
        detail="\n".join(f"  {line}" for line in found),
        hint=CHANGED_FUNCTION if only_functions else CHANGED_QUERY,
    )


def _first(logical_plan: LogicalPlan, identity: str, number: int) -> Identity:
    plan = build_plan(logical_plan)
    return Identity(identity, plan, fingerprint(logical_plan, plan, pushdown=True), number, replaces=False)


def _require_format(saved: dict[str, Any], location: str) -> None:
    found = saved.get("query", {}).get("format")
    if found != FORMAT:
        raise RestartError(
            f"The checkpoint {location} has format {found}, and this version of Braid reads and writes format "
            f"{FORMAT}.",
            hint=f"Finish it with the version of Braid that wrote it, or start with {ELSEWHERE}.",
        )
