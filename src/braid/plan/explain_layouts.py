"""What a plan's text says of a layout."""

from __future__ import annotations

from braid.plan.durations import brief_us
from braid.plan.layout import Layout, Slicing


def describe_units(layout: Layout) -> str:
    """The units of a layout, and what each stores."""
    if layout.kind == "partitioned":
        units = f"{layout.units[0]} units, each with every stream's rows of its share of the keys"
        return f"{units}{_groups(layout)}"
    if layout.kind == "matrix":
        height, width = layout.units
        return f"{height} rows by {width} columns of units; a row is stored {width} or {height} times"
    if layout.kind == "time_sliced":
        rings = ", ".join(f"{brief_us(s.width_us)} each at {s.units} units{_weights(s)}" for s in layout.slices)
        longest = "" if layout.slicing == "time" else "at most "
        adapted = "" if layout.adapt == "off" else f"; {layout.adapt} adaptation"
        return f"{layout.units[0]} units with time slices of every stream: {longest}{rings}{adapted}"
    if layout.kind == "aligned":
        return _aligned(layout)
    if layout.kind == "sites":
        units = ", ".join(f"{len(site.slots)} at {site.name}" for site in layout.sites)
        return f"units by site: {units}; rows of a stream stay at its site"
    if layout.kind == "coordinated":
        widths = ", ".join(brief_us(segmenting.width_us) for segmenting in layout.segments)
        stored = f"every row is stored {layout.segments[0].copies} times"
        return f"{layout.units[0]} units with segments by stream of {widths}; {stored}"
    groups = ", ".join(map(str, layout.groups))
    routing = f"subgroups by key {groups} (ContRand)" if layout.by_key else "random routing"
    if layout.ranges is not None:
        routing = f"ranges {groups}" if max(layout.groups) > 1 else "ranges, as soon as there are samples"
    return f"units per stream {', '.join(map(str, layout.units))}; {routing}"


def _groups(layout: Layout) -> str:
    """The partition groups, and how many of them the units have."""
    if not layout.group_units:
        return ""
    counts = [layout.group_units.count(unit) for unit in range(layout.units[0])]
    each = f"{counts[0]} each" if len(set(counts)) == 1 else f"{', '.join(map(str, counts))} by unit"
    return f"; {len(layout.group_units)} partition groups, {each}"


def _aligned(layout: Layout) -> str:
    reaches = [
        "all"
        if segmenting.before_us is None or segmenting.after_us is None
        else f"{brief_us(segmenting.before_us)} back to {brief_us(segmenting.after_us)} ahead"
        for segmenting in layout.segments
    ]
    segments = f"{layout.units[0]} units with segments of {brief_us(layout.segments[0].width_us)}"
    return f"{segments}; a row is at those of the segments that it reaches, by stream: {', '.join(reaches)}"


def _weights(slicing: Slicing) -> str:
    """The shares of the units, where they differ."""
    if not slicing.weights:
        return ""
    return f" ({min(slicing.weights)} to {max(slicing.weights)} of {sum(slicing.weights)} slices each)"
