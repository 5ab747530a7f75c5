"""Which blocks to merge: small ones of one archive period, so that the number of probed blocks stays bounded.

Blocks of a stream belong to tiers by their number of rows, each tier eight times the one below. Eight blocks of one
tier and one archive period become one block of the next tier, so a period of n steps has O(log n) blocks and rewrites
a row O(log n) times. A period that the watermark has passed becomes one sub-index as soon as it has four blocks.
Blocks of different layouts or units are never merged with each other, nor those that an unfinished term separates
(`control/slicing/terms.py`). But blocks of layouts that share partition groups are, and get the newest of them. What is
due is carried out over several steps, as `control/compaction.py` decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from braid.placement.units import are_sliced
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Block, Merge

FAN_IN = 8
# A closed period gets no more blocks, so its last merge is worth it earlier.
CLOSED_FAN_IN = 4
BASE_ROWS = 4096
# Merging to larger blocks saves few lookups for many rewritten rows.
LARGEST_ROWS = 2_000_000
# Rows expire by whole blocks: with ten periods at most about a tenth of the stored rows is expired but kept.
DEFAULT_PERIODS = 10
# A step tells every task the units of all groups, under each of them.
MAX_LIVE_ASSIGNMENTS = 8
NONE: Mapping[int, int] = {}

Interval = Callable[[Block], int]
"""In which interval of steps a block is: blocks of several are not merged."""


def archive_periods(plan: JoinPlan, chosen_us: int | None = None) -> tuple[int | None, ...]:
    """The archive period of each stream and intermediate result: the chosen one, else a tenth of the longest retention.

    None if retention is unbounded: then there is one growing sub-index.
    """
    stored = len(plan.streams) + len(plan.intermediate)
    if chosen_us is not None:
        return (chosen_us,) * stored
    periods: list[int | None] = []
    for number in range(stored):
        others = [reach for _, reach in plan.reaches(number)]
        longest = None if None in others else max(reach for reach in others if reach is not None)
        periods.append(None if longest is None else max(1, longest // DEFAULT_PERIODS))
    return tuple(periods)


def due_merges(
    plan: JoinPlan,
    blocks: Sequence[Block],
    watermarks: Sequence[int | None],
    largest: Callable[[int], int],
    archive_us: int | None = None,
    outranked: Mapping[int, int] = NONE,
    interval: Interval = lambda _: 0,
    reassigned: Mapping[int, int] = NONE,
) -> list[Merge]:
    """The merges that are due, cheapest first; none makes a block of more rows than `largest` allows its stream.

    `outranked` has, for streams with row-based windows, the time below which rows are outside every future window.
    `reassigned` has, for each layout whose groups the newest has given other units, the newest.
    """
    groups = _due_groups(plan, archive_periods(plan, archive_us), blocks, watermarks, largest, interval, reassigned)
    due = []
    parts = [part for group in groups for part in _limited(group, largest)]
    for group in sorted(parts, key=_rows):
        stream, buffered = group[0].stream, group[0].buffered
        oldest = None if buffered else latest(oldest_useful(plan, stream, watermarks), outranked.get(stream))
        epoch = reassigned.get(group[0].epoch, group[0].epoch)
        into = epoch if any(block.epoch != epoch for block in group) else None
        due.append(Merge(stream, tuple(block.file for block in group), epoch, oldest, into, buffered))
    return due


def reassignments(layouts: Sequence[Layout]) -> dict[int, int]:
    """The epochs whose partition groups have other units in the newest layout, each with the newest."""
    newest = layouts[-1]
    return {x.epoch: newest.epoch for x in layouts if x.epoch != newest.epoch and x.shares_groups(newest)}


def due_moves(
    plan: JoinPlan, blocks: Sequence[Block], layouts: Sequence[Layout], watermarks: Sequence[int | None]
) -> list[Merge]:
    """The blocks of older layouts whose rows move to the newest, oldest first.

    Rows that expire stay where they are: new rows go to the new units, and the old units become empty. Rows that never
    expire must move, or the new units would not share their load. From and to a layout with copies rows always move: as
    long as both are live, only primary copies are visited. So do rows that were stored before there were ranges: there
    are few, and as long as they are live every new row visits every unit. Time slices move where their
    strategy says so. Partition groups change their owner, and their rows stay; the oldest are rewritten where too many
    assignments are live.
    """
    newest = layouts[-1]
    with_copies = {layout.epoch for layout in layouts if layout.has_copies or newest.has_copies}
    without_ranges = {x.epoch for x in layouts if x.ranges is not None and newest.has_ranges and not x.has_ranges}
    sliced = {x.epoch for x in layouts if newest.adapt == "aggressive" and are_sliced(x, newest)}
    reassigned = reassignments(layouts)
    moving = with_copies | without_ranges | sliced | set(sorted(reassigned)[:-MAX_LIVE_ASSIGNMENTS])
    due = [
        block
        for block in blocks
        if block.epoch != newest.epoch
        and (block.epoch in moving or (block.epoch not in reassigned and never_expires(plan, block.stream)))
    ]
    return [
        Merge(
            block.stream,
            (block.file,),
            reassigned.get(block.epoch, block.epoch),
            None if block.buffered else oldest_useful(plan, block.stream, watermarks),
            newest.epoch,
            block.buffered,
        )
        for block in sorted(due, key=lambda block: (block.epoch, block.last_step))
    ]


def never_expires(plan: JoinPlan, stream: int) -> bool:
    """Whether rows of a stream can find partners forever."""
    return any(reach is None for _, reach in plan.reaches(stream))


def oldest_useful(plan: JoinPlan, stream: int, watermarks: Sequence[int | None]) -> int | None:
    """The time below which no row of a stream or intermediate result can join any more; None if every row may."""
    limits = []
    for other, reach in plan.reaches(stream):
        watermark = watermarks[other]
        if watermark is None or reach is None:
            return None
        limits.append(watermark - reach)
    return min(limits)


def _due_groups(
    plan: JoinPlan,
    periods: Sequence[int | None],
    blocks: Sequence[Block],
    watermarks: Sequence[int | None],
    largest: Callable[[int], int],
    interval: Interval,
    reassigned: Mapping[int, int],
) -> list[list[Block]]:
    by_tier: dict[tuple[object, ...], list[Block]] = defaultdict(list)
    by_period: dict[tuple[object, ...], list[Block]] = defaultdict(list)
    closed = [_reached(plan, stream, watermarks) for stream in range(len(periods))]
    sizes = [largest(stream) for stream in range(len(periods))]
    for block in blocks:
        if 2 * block.rows > sizes[block.stream]:
            continue
        period = periods[block.stream]
        number = 0 if period is None else block.max_time // period
        epoch = reassigned.get(block.epoch, block.epoch)
        family = (block.stream, epoch, block.units, block.buffered, number, interval(block))
        until = closed[block.stream]
        if period is not None and until is not None and until >= (number + 1) * period:
            by_period[family].append(block)
        else:
            by_tier[(*family, _tier(block.rows))].append(block)
    return [group for group in by_tier.values() if len(group) >= FAN_IN] + [
        group for group in by_period.values() if len(group) >= CLOSED_FAN_IN
    ]


def _limited(group: list[Block], largest: Callable[[int], int]) -> Iterator[list[Block]]:
    """The blocks of a group, oldest first, in parts that are not too large."""
    part: list[Block] = []
    for block in sorted(group, key=lambda block: (block.max_time, block.last_step)):
        if part and _rows(part) + block.rows > largest(block.stream):
            yield part
            part = []
        part.append(block)
    if len(part) > 1:
        yield part


def _reached(plan: JoinPlan, stream: int, watermarks: Sequence[int | None]) -> int | None:
    """The time that all watermarks of a stream or intermediate result have reached; None: none."""
    marks = [watermarks[member] for member in plan.members(stream)]
    known = [mark for mark in marks if mark is not None]
    return min(known) if len(known) == len(marks) else None


def _rows(group: list[Block]) -> int:
    return sum(block.rows for block in group)


def _tier(rows: int) -> int:
    tier = 0
    while rows > BASE_ROWS:
        rows //= FAN_IN
        tier += 1
    return tier


def latest(first: int | None, second: int | None) -> int | None:
    """The later of two limits; None is no limit."""
    return second if first is None else first if second is None else max(first, second)
