"""The lengths of rings from what a query has measured, and what `explain` says of them.

A row of the paper is a step here: all its rows go round together, and visit the units of a ring at the same time. What
a unit more costs is not the way to it, but what its slot has to do for a lookup besides comparing, however few rows it
has: open files of other slots and blocks, write its own. A slot does that for the lookups of all delta streams, one
after another. Pairs, matches and these times are in the manifest; what nobody measures is a constant with its reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from braid.optimizer.ring_costs import Lookup, RingWork, compared_pairs, join_seconds, probing_rows, required_bandwidth
from braid.optimizer.ring_lengths import initial_lengths, mean_latency
from braid.optimizer.sequences import ROW_SECONDS, best_orders, lookup_costs
from braid.placement.slices import ring_lengths, with_rings
from braid.plan.explain_functions import brief_seconds
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Manifest

# What a slot spends on a lookup besides comparing, until enough was measured; here it is 2 to 3 ms.
LOOKUP_SECONDS, MIN_LOOKUPS = 2e-3, 10.0
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

    `rows` is the mean number of rows of a step; None: nothing was measured yet, and the work is a guess. A unit more in
    a ring takes `hop_seconds` of a step.
    """

    works: tuple[RingWork, ...]
    rows: float | None
    row_bytes: float
    hop_seconds: float

    def latency(self, lengths: Sequence[int]) -> float:
        """The expected seconds of a step's lookups on rings of these lengths."""
        return self.rows_or_one * mean_latency(self.works, lengths)

    @property
    def rows_or_one(self) -> float:
        return 1.0 if self.rows is None else self.rows


def estimate_rings(plan: JoinPlan, manifest: Manifest | None) -> RingEstimate:
    """What a new row of each stream costs, by the sequence that it takes."""
    fanouts, costs = ((), ()) if manifest is None else (manifest.fanouts, manifest.check_costs)
    began = {fanout.delta_stream: fanout.probes for fanout in fanouts if fanout.joined == (fanout.delta_stream,)}
    rows, hop = _rows_a_step(manifest, sum(began.values())), _hop_seconds(plan, manifest)
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
        work = RingWork(head, tuple(lookups), ROW_SECONDS, hop, INSERT_SECONDS, rows_per_second=weight)
        works.append(work.of_rows(1.0 if rows is None else rows))
    blocks = () if manifest is None else manifest.blocks
    stored = sum(block.rows for block in blocks)
    row_bytes = sum(block.size for block in blocks) / stored if stored else 0.0
    return RingEstimate(tuple(works), rows, row_bytes, hop)


def _hop_seconds(plan: JoinPlan, manifest: Manifest | None) -> float:
    """By how much a round takes longer with one unit more in every ring.

    Of all units so many more have the lookup of a delta stream, and each has those of all delta streams in turn.
    """
    state = None if manifest is None else manifest.slice_state
    known = manifest is not None and state is not None and state.hops.lookups >= MIN_LOOKUPS
    lookup = state.hops.seconds / state.hops.lookups if known and state is not None else LOOKUP_SECONDS
    units = 1 if manifest is None else manifest.layout.units[0]
    return lookup * len(plan.streams) / units


def _rows_a_step(manifest: Manifest | None, probes: float) -> float | None:
    """The mean number of rows of a step."""
    if manifest is None or probes < MIN_ROWS:
        return None
    return probes / sum(DECAY**age for age in range(min(manifest.step + 1, 100)))


def better_rings(plan: JoinPlan, manifest: Manifest) -> tuple[tuple[int, ...], float] | None:
    """Lengths of rings that are clearly faster than those in force, and by which factor; None if there are none.

    What balancing made of the rings in force does not count: it does not change what is best, and would be undone.
    """
    layout = manifest.layout
    if layout.goal != "latency" or plan.tree is not None:
        return None
    estimate = estimate_rings(plan, manifest)
    if estimate.rows is None:
        return None
    best = initial_lengths(estimate.works, layout.units[0])
    gain = estimate.latency(ring_lengths(layout)) / estimate.latency(best)
    return (best, gain) if gain >= MIN_GAIN else None


def with_measured_rings(plan: JoinPlan, layout: Layout, manifest: Manifest) -> Layout:
    """The layout that a run starts with: with rings for its goal, as measured; without measurements, as it is.

    Rings in force stay, if others would not be clearly faster: so a restart changes nothing by chance.
    """
    newest = manifest.layout
    if newest.goal == layout.goal == "latency" and newest.units == layout.units:
        better = better_rings(plan, manifest)
        return with_rings(layout, plan, ring_lengths(newest) if better is None else better[0])
    estimate = estimate_rings(plan, manifest)
    if layout.goal != "latency" or plan.tree is not None or estimate.rows is None:
        return layout
    return with_rings(layout, plan, initial_lengths(estimate.works, layout.units[0]))


def describe_rings(plan: JoinPlan, layout: Layout, manifest: Manifest | None) -> tuple[str, ...]:
    """The sequences with their estimated work, the rings and what they are expected to take; empty without slices."""
    if layout.kind != "time_sliced" or plan.tree is not None:
        return ()
    estimate = estimate_rings(plan, manifest)
    names = [stream.name for stream in plan.streams]
    lines = [f"new rows of {names[work.head]}: {_sequence(work, names, estimate)}" for work in estimate.works]
    return (*lines, *_lengths(layout, names, estimate), *_bandwidth(layout, estimate))


def _sequence(work: RingWork, names: Sequence[str], estimate: RingEstimate) -> str:
    order = ", ".join(names[lookup.stream] for lookup in work.lookups)
    found = probing_rows(work)[-1] * work.lookups[-1].matches
    known = "guess" if estimate.rows is None else "estimate"
    figures = f"{_count(compared_pairs(work))} pairs, {_count(found)} results and {brief_seconds(join_seconds(work))}"
    return f"{order} ({known}: {figures} of comparing a row)"


def _count(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _lengths(layout: Layout, names: Sequence[str], estimate: RingEstimate) -> list[str]:
    if layout.goal is None:
        return []
    if layout.goal == "throughput":
        return ["rings for throughput: all units, since every unit adds output"]
    if estimate.rows is None:
        return ["rings for latency: all units, because no rates were measured yet"]
    lengths = [slicing.units for slicing in layout.slices]
    here, hop = brief_seconds(estimate.latency(lengths)), brief_seconds(estimate.hop_seconds)
    rings = ", ".join(f"{name} {units}" for name, units in zip(names, lengths, strict=True))
    expected = f"expected {here} for {estimate.rows:,.0f} rows of a step, with {hop} for each unit more"
    return [f"rings for latency: {rings}; {expected}"]


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
