"""What decides a semijoin: which values of probing and of stored rows say that a pair can match.

A lookup by keys is reduced to the 64-bit key of its index, whatever else it compares. A lookup without keys is reduced
to the columns that its comparisons read, where each is 64 bits or less and never null. Comparisons that may raise are
left to the lookup, which sees only pairs in the window; so are functions, which may be expensive. What is left out
makes the semijoin keep more, never less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from braid.kernels.keys import EXACT_TYPES
from braid.optimizer.join_orders import build_probe
from braid.plan.expressions import Column
from braid.plan.join import JoinPlan, Probe
from braid.plan.once_per_plan import once_per_plan
from braid.plan.sites import Partial


@dataclass(frozen=True)
class Reduction:
    """A semijoin of rows of the joined streams and stored rows of a stream.

    `probe` is the lookup, with nothing but the comparisons that decide the semijoin. `stored` is what stored rows are
    reduced to; `probing` are the columns of probing rows, () where they have the key of the lookup.
    """

    probe: Probe
    stored: Partial
    probing: tuple[str, ...]

    @property
    def by_key(self) -> bool:
        return bool(self.probe.keys)


@once_per_plan
def reduction_of(
    plan: JoinPlan, joined: tuple[int, ...], stream: int, choices: tuple[int, ...] = ()
) -> Reduction | None:
    """What decides a semijoin of rows of the joined streams with a stream; None if every pair may match.

    The lookup searches indexes that are sorted by the chosen numbers.
    """
    probe = build_probe(plan, joined, stream, choices)
    if probe.keys:
        return Reduction(_only(probe, ()), Partial(probe.index), ())
    chosen = tuple(number for number in probe.checks if _decides(plan, number))
    if not chosen:
        return None
    columns = {column.name: column for number in chosen for column in plan.conjuncts[number].columns}
    own = tuple(sorted(name for name, column in columns.items() if column.stream == stream))
    other = tuple(sorted(name for name, column in columns.items() if column.stream != stream))
    return Reduction(_only(probe, chosen), Partial(probe.index, own), other)


def _only(probe: Probe, checks: tuple[int, ...]) -> Probe:
    """The lookup without all other comparisons."""
    bounds = tuple(bound for bound in probe.bounds if bound.conjunct in checks)
    return replace(probe, range=probe.range if bounds else None, bounds=bounds, guards=(), checks=checks, later=())


def _decides(plan: JoinPlan, number: int) -> bool:
    """Whether a conjunct can be evaluated on partial tuples."""
    conjunct = plan.conjuncts[number]
    if conjunct.raises or conjunct.expression is None or conjunct.function is not None:
        return False
    return all(_is_plain(plan, column) for column in conjunct.columns)


def _is_plain(plan: JoinPlan, column: Column) -> bool:
    """Whether a column is one 64-bit number, and null in no result."""
    stream = plan.streams[column.stream]
    return column.type in EXACT_TYPES and (column.name in stream.required or column.name == stream.time)
