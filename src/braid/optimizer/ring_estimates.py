"""The lengths of rings from what a query has measured, and what `explain` says of them.

A row of the paper is a step here: all its rows go round together, and a hop is a task that the driver starts. Pairs,
matches and the time of a pair come from the manifest; what nobody measures is a constant with its reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from braid.optimizer.ring_costs import Lookup, RingWork, compared_pairs, join_seconds, probing_rows, required_bandwidth
from braid.optimizer.ring_lengths import initial_lengths, mean_latency
from braid.optimizer.sequences import ROW_SECONDS, best_orders, lookup_costs
from braid.optimizer.strategies.time_sliced import with_rings
from braid.plan.explain_functions import brief_seconds
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Manifest

# Spark's driver starts about a thousand tasks a second, one after another: the hop of a step.
TASK_SECONDS = 1e-3
# Sorting a row into a block and writing it. Rows are never purged one by one: a block expires as a whole.
INSERT_SECONDS = 1e-6
# What observations of a step keep with every later one: that of control/fanouts.py, which optimizers do not import.
DECAY = 0.9
# Fewer probing rows say little of a stream's rate.
MIN_ROWS = 1000.0
# Other rings must be faster by this factor: until the rows of the old ones expire, new rows visit both.
MIN_GAIN = 1.2
# A link of 1 Gbit/s, in bytes a second.
LINK_BYTES_PER_SECOND = 1.25e8


@dataclass(frozen=True)
class RingEstimate:
    """The work of each delta stream's new rows, a step together, and the bytes of a stored row.

    `rows` is the mean number of rows of a step; None: nothing was measured yet, and the work is a guess.
    """

    works: tuple[RingWork, ...]
    rows: float | None
    row_bytes: float

    def latency(self, layout: Layout) -> float:
        """The expected seconds of a step's lookups on the rings of a layout."""
        return self.rows_or_one * mean_latency(self.works, [slicing.units for slicing in layout.slices])

    @property
    def rows_or_one(self) -> float:
        return 1.0 if self.rows is None else self.rows


def estimate_rings(plan: JoinPlan, manifest: Manifest | None) -> RingEstimate:
    """What a new row of each stream costs, by the sequence that it takes."""
    fanouts, costs = ((), ()) if manifest is None else (manifest.fanouts, manifest.check_costs)
    began = {fanout.delta_stream: fanout.probes for fanout in fanouts if fanout.joined == (fanout.delta_stream,)}
    rows = _rows_a_step(manifest, sum(began.values()))
    works = []
    for head, order in enumerate(best_orders(plan, fanouts, costs)):
        cost, lookups = lookup_costs(plan, head, fanouts, costs), []
        joined: tuple[int, ...] = (head,)
        for stream in order:
            found = cost(joined, stream)
            pairs = max(found.compared, 1e-9)
            pair_seconds = (found.seconds - ROW_SECONDS) / pairs
            lookups.append(Lookup(stream, pairs, found.matches / pairs, pair_seconds))
            joined = (*joined, stream)
        weight = 1.0 if rows is None else began.get(head, 0.0)
        work = RingWork(head, tuple(lookups), ROW_SECONDS, TASK_SECONDS, INSERT_SECONDS, rows_per_second=weight)
        works.append(work.of_rows(1.0 if rows is None else rows))
    blocks = () if manifest is None else manifest.blocks
    stored = sum(block.rows for block in blocks)
    return RingEstimate(tuple(works), rows, sum(block.size for block in blocks) / stored if stored else 0.0)


def _rows_a_step(manifest: Manifest | None, probes: float) -> float | None:
    """The mean number of rows of a step."""
    if manifest is None or probes < MIN_ROWS:
        return None
    return probes / sum(DECAY**age for age in range(min(manifest.step + 1, 100)))


def with_measured_rings(plan: JoinPlan, layout: Layout, manifest: Manifest | None) -> Layout:
    """The layout that a run starts with: with rings for its goal, as measured; without measurements, as it is.

    Rings in force stay, if others would not be clearly faster: so a restart changes nothing by chance.
    """
    if layout.goal != "latency" or plan.tree is not None or manifest is None:
        return layout
    estimate = estimate_rings(plan, manifest)
    if estimate.rows is None:
        return layout
    best = with_rings(layout, plan, initial_lengths(estimate.works, layout.units[0]))
    newest = manifest.layout
    if newest.goal != layout.goal or newest.units != layout.units:
        return best
    began = newest.first_slices or newest.slices
    current = with_rings(layout, plan, [slicing.units for slicing in began])
    return current if estimate.latency(current) < MIN_GAIN * estimate.latency(best) else best


def describe_rings(plan: JoinPlan, layout: Layout, manifest: Manifest | None) -> tuple[str, ...]:
    """The sequences with their estimated work, the rings and what they are expected to take; empty without slices."""
    if layout.kind != "time_sliced" or plan.tree is not None:
        return ()
    estimate = estimate_rings(plan, manifest)
    names = [stream.name for stream in plan.streams]
    lines = [f"new rows of {names[work.head]}: {_sequence(work, names, estimate)}" for work in estimate.works]
    return (*lines, *_lengths(plan, layout, names, estimate), *_bandwidth(layout, estimate))


def _sequence(work: RingWork, names: Sequence[str], estimate: RingEstimate) -> str:
    order = ", ".join(names[lookup.stream] for lookup in work.lookups)
    found = probing_rows(work)[-1] * work.lookups[-1].matches
    known = "guess" if estimate.rows is None else "estimate"
    figures = f"{_count(compared_pairs(work))} pairs, {_count(found)} results and {brief_seconds(join_seconds(work))}"
    return f"{order} ({known}: {figures} of comparing a row)"


def _count(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _lengths(plan: JoinPlan, layout: Layout, names: Sequence[str], estimate: RingEstimate) -> list[str]:
    if layout.goal is None:
        return []
    if layout.goal == "throughput":
        return ["rings for throughput: all units, since every unit adds output"]
    if estimate.rows is None:
        return ["rings for latency: all units, because no rates were measured before this start"]
    best = with_rings(layout, plan, initial_lengths(estimate.works, layout.units[0]))
    here = brief_seconds(estimate.latency(layout))
    lines = [f"rings for latency: {_units(layout, names)}; expected {here} for {estimate.rows:,.0f} rows of a step"]
    if estimate.latency(layout) >= MIN_GAIN * estimate.latency(best):
        lines.append(f"a restart would choose {_units(best, names)}: {brief_seconds(estimate.latency(best))}")
    return lines


def _units(layout: Layout, names: Sequence[str]) -> str:
    return ", ".join(f"{name} {slicing.units}" for name, slicing in zip(names, layout.slices, strict=True))


def _bandwidth(layout: Layout, estimate: RingEstimate) -> list[str]:
    """A warning where units would wait for the network (equation 6)."""
    longest = max(slicing.units for slicing in layout.slices)
    if estimate.rows is None or longest == 1:
        return []
    needed = max(required_bandwidth(work, longest, estimate.row_bytes) for work in estimate.works)
    if needed <= LINK_BYTES_PER_SECOND:
        return []
    limit, row = f"{LINK_BYTES_PER_SECOND / 1e6:,.0f} MB/s", f"rows of {estimate.row_bytes:,.0f} bytes"
    wait = f"warning: units wait for the network: {row} are compared faster than a link of {limit} brings them"
    return [f"{wait}; {needed / 1e6:,.0f} MB/s would be needed, fewer units need less"]
