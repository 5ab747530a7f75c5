"""TimeSliced: the rows of every stream are stored by slices of event time, in turn at the units of a ring.

No row is stored twice, whatever the predicate and the number of streams. A new row, and every intermediate result,
visits each unit of the next stream's ring once. The windows of the streams, and so their slices, may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from typing import Any, Literal, get_args

from braid.errors import StrategyError
from braid.optimizer.strategies.strategy import require_positive
from braid.placement.slices import SLICES_PER_UNIT, even_slices
from braid.plan.join import JoinPlan
from braid.plan.layout import Adapt, Goal, Layout, SlicingKind

Slices = Literal["auto"] | int | Mapping[str, int]


@dataclass(frozen=True)
class TimeSliced:
    """`units`: the number of units, by default one per slot of the cluster.

    `slices`: into how many slices the window of a stream is cut: a number, one for each stream by its name, or
    `"auto"`: eight for each unit. A stream with fewer slices than units has a shorter ring. A stream whose window
    counts rows, or has no end, has slices as long as the shortest of the others.

    `goal`: for what the number of units of each stream's ring is chosen, where `slices` is `"auto"`. At first it is all
    units, as always for `"throughput"`. For `"latency"` it is chosen again between steps, by what these have measured.

    `interleave`: how many steps may be under way at once. Above 1 a step ends before its last rounds: they run in the
    jobs of the steps that follow, so a join of many streams needs fewer jobs.

    `slicing`: with `"time"` the slices of a stream are equally long, with `"count"` they are shorter while its rate is
    higher, so that none has many more rows than others.

    `adapt`: whether slices are redistributed, if some units compare more pairs than others or rings get other lengths.
    `"passive"`: new slices go to other units, stored ones stay until they expire; `"aggressive"`: stored ones move as
    well; `"off"`: never while a run goes on.
    """

    units: int | None = None
    slices: Slices = "auto"
    goal: Goal = "latency"
    interleave: int = 1
    slicing: SlicingKind = "time"
    adapt: Adapt = "passive"

    def __post_init__(self) -> None:
        if self.units is not None:
            require_positive("TimeSliced(units=...)", self.units)
        require_positive("TimeSliced(interleave=...)", self.interleave)
        if isinstance(self.slices, Mapping):
            for name, count in self.slices.items():
                require_positive(f"TimeSliced(slices={{{name!r}: ...}})", count)
        elif self.slices != "auto":
            require_positive("TimeSliced(slices=...)", self.slices)
        _require_one_of("goal", self.goal, Goal)
        _require_one_of("slicing", self.slicing, SlicingKind)
        _require_one_of("adapt", self.adapt, Adapt)

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        if self.interleave > 1:
            self._require_interleaving(plan)
        units = slots if self.units is None else self.units
        counts = self._counts(plan, units)
        slices = even_slices(plan, counts, [min(units, count) for count in counts], units)
        return Layout(
            epoch=0,
            kind="time_sliced",
            units=(units,),
            groups=(1,),
            slices=slices,
            goal=self.goal if self.slices == "auto" else None,
            slicing=self.slicing,
            adapt=self.adapt,
        )

    def describe(self) -> str:
        given = ((field.name, getattr(self, field.name)) for field in fields(self) if _differs(self, field))
        return f"TimeSliced({', '.join(f'{name}={value!r}' for name, value in given)})"

    def _require_interleaving(self, plan: JoinPlan) -> None:
        """Refuse plans whose rounds cannot be divided over steps."""
        reason = None
        in_jvm = [conjunct.written for conjunct in plan.conjuncts if conjunct.in_jvm]
        if plan.row_based:
            name = plan.streams[plan.row_based[0]].name
            reason = f"the window of {name} counts rows, and which rows it has is known only while a step runs"
        elif in_jvm:
            reason = f"the JVM evaluates {in_jvm[0]}, in jobs of their own for every round"
        elif plan.jvm_outputs:
            reason = "the JVM evaluates the selection, in jobs of their own"
        if reason is not None:
            raise StrategyError(
                f"{self.describe()} cannot run rounds of several steps in one job: {reason}.",
                hint="Leave out interleave, or set it to 1: every step then runs all of its rounds.",
            )

    def _counts(self, plan: JoinPlan, units: int) -> list[int]:
        """The slices of each stream's window."""
        names = [stream.name for stream in plan.streams]
        if not isinstance(self.slices, Mapping):
            return [SLICES_PER_UNIT * units if self.slices == "auto" else int(self.slices)] * len(names)
        unknown = sorted(set(self.slices) - set(names))
        if unknown:
            raise StrategyError(
                f"{self.describe()}: the join has no stream named {unknown[0]!r}, only {', '.join(names)}.",
                hint="Name the streams as in braid.stream(..., name=...).",
            )
        return [self.slices.get(name, SLICES_PER_UNIT * units) for name in names]


def _differs(strategy: TimeSliced, field: Field[Any]) -> bool:
    return bool(getattr(strategy, field.name) != field.default)


def _require_one_of(name: str, value: object, kind: Any) -> None:
    if value not in get_args(kind):
        *others, last = map(repr, get_args(kind))
        raise StrategyError(f"TimeSliced({name}=...) must be {', '.join(others)} or {last}, not {value!r}.")
