"""Pictures of a benchmark's outcome: bars from zero, dots where rates differ by orders of magnitude, or one line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from benchmarks.report.overview import overview_rows, system
from benchmarks.report.record import Document, Row
from benchmarks.searching import BOUNDS

OWN, OTHERS = "#b5482a", "#8a8f98"
COLOURS = (OWN, "#3d6f9e", "#4f8a5b", "#8d6aa8", "#b0892f", "#3a9a9a", "#6b6f76")
MARKS = ("o", "s", "^", "D", "v", "P", "X")
FORMATS = ("svg", "png")
OVERVIEW = "overview"
FAR_APART = 30  # highest rate over lowest: bars would not show the lower ones
NEAR = 8  # a curve along so small a span has even steps
BATCHES = {"none": "no batches"}
MOST_TICKS = 6  # more figures of seven digits would touch each other
LATE_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
RATE = "input rows a second"


def draw(document: Document, directory: Path) -> None:
    """The picture, in each format, named as the benchmark."""
    rows = len(document.rows)
    if document.searches:
        figure, axes = plt.subplots(figsize=(8, 3.6))
        _lateness(axes, document)
    elif document.axis is not None:
        figure, axes = plt.subplots(figsize=(8, 3.2))
        _curve(axes, document)
    elif rows == 1:
        figure, axes = plt.subplots(figsize=(8, 3.2))
        _steps(axes, document)
    else:
        figure, axes = plt.subplots(figsize=(8, 1.1 + 0.36 * rows))
        _rates(axes, document.rows)
    figure.suptitle(document.title, fontsize=10, x=0.01, ha="left")
    _save(figure, directory, document.name)


def draw_overview(documents: Sequence[Document], directory: Path) -> None:
    """Sustained rates of all systems, a panel for each join, on one logarithmic axis."""
    joins = overview_rows(documents)
    if not joins:
        return
    heights = [len(rows) for rows in joins.values()]
    figure, panels = plt.subplots(
        len(joins), figsize=(8, 1.2 + 0.3 * sum(heights)), sharex=True, squeeze=False, height_ratios=heights
    )
    for axes, (name, rows) in zip(panels[:, 0], joins.items(), strict=True):
        _dots(axes, rows)
        axes.set_title(name, fontsize=9, loc="left")
    rates = [row.rows_per_second for rows in joins.values() for row in rows if row.rows_per_second]
    panels[-1, 0].set_xlim(min(rates) / 2, max(rates) * 6)
    figure.suptitle("Sustained rates by join", fontsize=10, x=0.01, ha="left")
    _save(figure, directory, OVERVIEW)


def _save(figure: Figure, directory: Path, name: str) -> None:
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    directory.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": name}):
        for suffix in FORMATS:
            metadata = {"Date": None} if suffix == "svg" else {"Software": None}
            figure.savefig(directory / f"{name}.{suffix}", dpi=110, metadata=metadata)
    plt.close(figure)


def _rates(axes: Axes, rows: Sequence[Row]) -> None:
    """Bars from zero, or dots on a logarithmic axis; what gave no rate says so."""
    rated = [row.rows_per_second for row in rows if row.rows_per_second]
    if rated and max(rated) > FAR_APART * min(rated):
        _dots(axes, rows)
        return
    shown = list(reversed(rows))
    places = range(len(shown))
    axes.barh(places, [row.rows_per_second or 0.0 for row in shown], color=_colours(shown))
    _name(axes, shown)
    for place, row in enumerate(shown):
        if len(row.rates) > 1:
            axes.plot([row.rates[0], row.rates[-1]], [place, place], color="black", linewidth=1)
        axes.text(max((0.0, *row.rates)), place, _figure(row), va="center", fontsize=8)
    axes.set_xlim(0, 1.2 * max(rated, default=1.0))
    axes.xaxis.set_major_locator(MaxNLocator(MOST_TICKS))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(RATE)


def _name(axes: Axes, rows: Sequence[Row]) -> None:
    """The runs by their names, with their batches where these are not the same for all."""
    batches = {row.batch for row in rows}
    names, what = [row.name for row in rows], "system"
    if len(batches) > 1:
        names = [f"{system(row)} ({BATCHES.get(row.batch, row.batch)})" for row in rows]
        what = "system\n(rows of a batch)"
    axes.set_yticks(range(len(rows)), names, fontsize=8)
    axes.set_ylabel(what, fontsize=8)


def _dots(axes: Axes, rows: Sequence[Row]) -> None:
    shown = list(reversed(rows))
    rated = [row.rows_per_second for row in rows if row.rows_per_second]
    axes.set_xscale("log")
    for place, (row, colour) in enumerate(zip(shown, _colours(shown), strict=True)):
        if row.rows_per_second:
            axes.plot([row.rates[0], row.rates[-1]], [place, place], color=colour, linewidth=2)
            axes.plot([row.rows_per_second], [place], "o", color=colour)
        axes.text(max(row.rates or (min(rated),)) * 1.15, place, _figure(row), va="center", fontsize=8)
    _name(axes, shown)
    axes.set_ylim(-0.6, len(shown) - 0.4)
    axes.set_xlim(min(rated) / 2, max(rated) * 5)
    axes.grid(axis="x", linewidth=0.4, alpha=0.6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(f"{RATE}, logarithmic")


def _colours(rows: Sequence[Row]) -> list[str]:
    return [OWN if row.peer == "Braid" else OTHERS for row in rows]


def _figure(row: Row) -> str:
    if row.rows_per_second:
        return f" {row.rows_per_second:,.0f}"
    return " " + (row.error or "no rate").splitlines()[0][:60]


def _curve(axes: Axes, document: Document) -> None:
    """Rates or median steps along what the benchmark varies."""
    along = [float(row.label) for row in document.rows]
    step = document.benchmark.curve == "step"
    figures = [(row.step_p50 if step else row.rows_per_second) or 0.0 for row in document.rows]
    axes.plot(along, figures, "o-", color=OWN)
    far = max(along) > NEAR * min(along)
    axes.set_xscale("log" if far else "linear")
    axes.set_xticks(along, [f"{value:,.10g}" for value in along])
    axes.set_xlabel(f"{document.axis}, logarithmic" if far else document.axis or "")
    what = "median of a step, seconds" if step else RATE
    if min(figures) and max(figures) > FAR_APART * min(figures):
        axes.set_yscale("log")
        what += ",\nlogarithmic"
    else:
        axes.set_ylim(0, 1.1 * max(figures))
    axes.minorticks_off()
    axes.set_ylabel(what)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")


def _steps(axes: Axes, document: Document) -> None:
    """The time of every batch of one run."""
    (results,) = document.results.values()
    seconds = results[0].measurement.seconds
    warm_up = results[0].task.warm_up
    axes.plot(range(warm_up, len(seconds)), seconds[warm_up:], ".", color=OWN, markersize=4)
    axes.set_ylim(0, 1.1 * max(seconds[warm_up:]))
    axes.set_xlabel(f"batch, after {warm_up} that do not count")
    axes.set_ylabel("seconds of a batch")


def _lateness(axes: Axes, document: Document) -> None:
    """How late 99 % of the rows had their results, by the rate that was offered.

    A rate that was offered twice has two marks; the line goes through the lower one, by which it counts as kept.
    """
    for number, (label, tried) in enumerate(document.searches.items()):
        known = [(one.rate, one.p99) for one in tried if one.p99 is not None]
        if known:
            lowest = dict(sorted(known, reverse=True))
            axes.plot(*zip(*known, strict=True), MARKS[number], color=COLOURS[number], alpha=0.5)
            axes.plot(list(lowest), list(lowest.values()), f"{MARKS[number]}-", color=COLOURS[number], label=label)
    for bound in BOUNDS:
        axes.axhline(bound, color="black", linewidth=0.7, linestyle=":")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(f"offered {RATE}, logarithmic")
    axes.set_ylabel("seconds until 99 % of the rows\nhad their results, logarithmic")
    axes.set_yticks(LATE_TICKS, [f"{value:g}" for value in LATE_TICKS])
    axes.yaxis.set_minor_formatter(lambda *_: "")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
