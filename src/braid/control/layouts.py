"""Which layout a step stores its rows under: the strategy's, changed where hot keys or the load require it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from braid.control.elasticity import Elasticity, decide_scaling, is_due
from braid.control.memory.adapting import Decide, adapt_memory
from braid.control.memory.deferring import why_not_deferred
from braid.control.merging import never_expires
from braid.control.ranging import decide_ranges
from braid.control.sizing import resize
from braid.control.skew import decide_groups
from braid.control.slicing.balancing import MAX_LIVE_EPOCHS, decide_balance
from braid.control.slicing.lengths import decide_lengths
from braid.control.slicing.scaling import continued, describe_scaling, is_continued, on_units
from braid.control.slicing.smoothing import smooth_slices
from braid.control.watermarks import has_filled
from braid.errors import StrategyError
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Manifest, Pressure
from braid.state.observed.groups import MemoryHistory


@dataclass(frozen=True)
class Spread:
    """The layout of a step, the adaptations that led to it, and the state of the controller."""

    layout: Layout
    adaptations: tuple[str, ...] = ()
    pressures: tuple[Pressure, ...] = ()
    checked_ms: int | None = None
    memory: MemoryHistory | None = None
    sample_ends: bool = False
    pushed: tuple[int, ...] = ()


def next_layout(
    plan: JoinPlan,
    manifest: Manifest,
    chosen: Layout,
    elasticity: Elasticity | None,
    now_ms: int,
    decide: Decide | None = None,
) -> Spread:
    """The newest layout, or the strategy's if that spreads rows differently; adapted where an adaptation is due.

    A tree is never changed after it was first chosen, because the stored rows depend on its order. Subgroups that were
    changed for hot keys stay changed over restarts, as long as the strategy starts with the same number. So do the
    units of partition groups, which `decide` may change.
    """
    newest = manifest.layout
    if newest.shares_groups(chosen) and newest.units == chosen.units:
        return _with_groups(plan, manifest, newest, decide, now_ms)
    if manifest.pushes:
        return Spread(newest, (), (), manifest.checked_ms)  # until the deferred results are found
    resized: tuple[str, ...] = ()
    # Rows that never expire would have to move.
    if chosen.follows_work and elasticity is None and not any(never_expires(plan, s.number) for s in plan.streams):
        chosen, resized = resize(manifest, chosen)
    if chosen.tree is not None and newest.tree is not None:
        chosen = replace(chosen, tree=newest.tree)
    if is_continued(newest, chosen, elasticity is not None):
        layout = continued(newest, chosen, elasticity is not None)
        return _sliced(plan, manifest, layout, elasticity, now_ms)
    base = chosen.adapted_as(newest, elasticity is not None) if newest.started_by(chosen) else chosen
    continues = newest.same_as(base) if elasticity is None else newest.scaled_from(base)
    if not continues:
        known = decide_ranges(base, manifest.number_samples, 1) if newest.stored_as == base.stored_as else None
        return Spread(replace(base if known is None else known.layout, epoch=newest.epoch + 1), resized)
    ranging = decide_ranges(newest, manifest.number_samples, len(manifest.layouts))
    if ranging is not None:
        layout = replace(ranging.layout, epoch=newest.epoch + 1)
        adaptation = ranging.describe([stream.name for stream in plan.streams])
        return Spread(layout, (adaptation,), (), manifest.checked_ms)
    regrouping = decide_groups(newest, manifest.key_counts)
    if regrouping is not None:
        layout = replace(newest.regrouped(regrouping.after), epoch=newest.epoch + 1)
        adaptation = regrouping.describe([stream.name for stream in plan.streams])
        return Spread(layout, (adaptation,), (), manifest.checked_ms)
    return Spread(newest) if elasticity is None else _scaled(plan, manifest, elasticity, now_ms)


def _with_groups(plan: JoinPlan, manifest: Manifest, newest: Layout, decide: Decide | None, now_ms: int) -> Spread:
    """The layout with some groups at other units, in a new epoch, or with pushed groups, if that is decided."""
    adapted = None if decide is None else adapt_memory(manifest, newest, decide, now_ms)
    if adapted is None:
        return Spread(newest, (), (), manifest.checked_ms)
    reason = why_not_deferred(plan) if adapted.pushed else None
    if reason is not None:
        raise StrategyError(f"Results of this query cannot be deferred: {reason}.")
    moved = adapted.layout.group_units != newest.group_units
    layout = replace(adapted.layout, epoch=newest.epoch + 1) if moved else newest
    spread = Spread(layout, adapted.adaptations, (), manifest.checked_ms, adapted.history, adapted.sample_ends)
    return replace(spread, pushed=adapted.pushed)


def _sliced(plan: JoinPlan, manifest: Manifest, newest: Layout, elasticity: Elasticity | None, now_ms: int) -> Spread:
    """The layout with slices on other units or redistributed, in a new epoch, or cut again by the density of rows.

    An elastic query has as many units as its rows need: all of them are in its rings.
    """
    spread, names = Spread(newest, (), (), manifest.checked_ms), [stream.name for stream in plan.streams]
    if elasticity is not None:
        spread = _scaled_slices(plan, manifest, newest, elasticity, now_ms)
    elif (rings := decide_lengths(plan, manifest, newest)) is not None:
        layout = replace(rings.layout, epoch=newest.epoch + 1)
        spread = replace(spread, layout=layout, adaptations=(rings.describe(names),))
    balancing = decide_balance(plan, manifest, newest) if spread.layout.epoch == newest.epoch else None
    if balancing is not None:
        layout = replace(balancing.layout, epoch=newest.epoch + 1)
        spread = replace(spread, layout=layout, adaptations=(balancing.describe(names),))
    layout, changes = smooth_slices(plan, manifest, spread.layout)
    return replace(spread, layout=layout, adaptations=(*spread.adaptations, *changes))


def _scaled_slices(plan: JoinPlan, manifest: Manifest, newest: Layout, elasticity: Elasticity, now_ms: int) -> Spread:
    """The layout on another number of units, if the load of all units together requires it."""
    if len(manifest.layouts) >= MAX_LIVE_EPOCHS or not is_due(elasticity, manifest.checked_ms, now_ms):
        return Spread(newest, (), manifest.pressures, manifest.checked_ms)
    stored = {(load.stream, load.group): load.size for load in manifest.loads}
    growing = any(not has_filled(plan, n, mark) for n, mark in enumerate(manifest.marks))
    decided = decide_scaling(elasticity, newest, stored, manifest.pressures, (0,) if growing else ())
    if not decided.scalings:
        return Spread(newest, (), decided.pressures, now_ms)
    scaling = decided.scalings[0]
    layout = replace(on_units(plan, newest, scaling.after), epoch=newest.epoch + 1)
    return Spread(layout, (describe_scaling(scaling, layout),), decided.pressures, now_ms)


def _scaled(plan: JoinPlan, manifest: Manifest, elasticity: Elasticity, now_ms: int) -> Spread:
    newest = manifest.layout
    if not is_due(elasticity, manifest.checked_ms, now_ms):
        return Spread(newest, (), manifest.pressures, manifest.checked_ms)
    stored = {(load.stream, load.group): load.size for load in manifest.loads}
    growing = [n for n, mark in enumerate(manifest.marks) if not has_filled(plan, n, mark)]
    decided = decide_scaling(elasticity, newest, stored, manifest.pressures, growing)
    if not decided.scalings:
        return Spread(newest, (), decided.pressures, now_ms)
    adaptations = tuple(scaling.describe(plan.streams[scaling.stream].name) for scaling in decided.scalings)
    return Spread(replace(decided.layout, epoch=newest.epoch + 1), adaptations, decided.pressures, now_ms)
