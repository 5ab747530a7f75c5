"""Pictures of the pages: bars and lines from zero or on a log axis, keys outside the axes, units on every axis."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogFormatter, MaxNLocator, ScalarFormatter

COLOURS = ("#b5482a", "#3f6f8f", "#8a8f98", "#6a8f3f", "#8f3f7a", "#b59a2a", "#2f4b3c", "#d48a6a")
FIELDS = {"holds": "#3f6f8f", "does not hold": "#b5482a", "undecided": "#c9c2b4", "by construction": "#8a8f98"}
LABEL_WIDTH = 18  # characters of a name along an axis, at most
AXIS_WIDTH = 78  # characters of all names together, so that they do not touch
Kind = Literal["lines", "dots", "bars", "boxes"]
"""`dots` are single values by name; `boxes` have five: lowest, quartile, median, quartile, highest."""


@dataclass(frozen=True)
class Series:
    """The line, bars or dots of one colour. Places along the axis are numbers, or names."""

    label: str
    points: tuple[tuple[Any, Any], ...]
    panel: int = 0
    dashed: bool = False


@dataclass(frozen=True)
class Picture:
    """One idea. `upward` has the label of each panel's axis, from top to bottom; they share the other axis."""

    name: str
    title: str
    along: str
    upward: tuple[str, ...]
    series: tuple[Series, ...]
    kind: Kind = "lines"
    scale: Literal["zero", "log"] = "zero"
    along_scale: Literal["linear", "log"] = "linear"


def draw(picture: Picture, directory: Path, name: str) -> None:
    """As SVG and PNG."""
    panels = len(picture.upward)
    figure, found = plt.subplots(panels, 1, figsize=(9, 3.7 + 1.6 * (panels - 1)), sharex=True, squeeze=False)
    for number, axes in enumerate(found[:, 0]):
        own = [series for series in picture.series if series.panel == number]
        DRAWINGS[picture.kind](axes, own)
        _frame(axes, picture, picture.upward[number])
        if len(own) > 1:
            axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, frameon=False)
    found[-1, 0].set_xlabel(picture.along)
    figure.suptitle(picture.title, fontsize=11)
    _save(figure, directory, name)


def draw_overview(counts: Sequence[tuple[str, dict[str, int]]], directory: Path, name: str) -> None:
    """How many claims hold in each section: a bar each, from zero."""
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.3 * len(counts)))
    left = [0] * len(counts)
    for word, colour in FIELDS.items():
        widths = [by_word.get(word, 0) for _, by_word in counts]
        axes.barh([title for title, _ in counts], widths, left=left, color=colour, label=word)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("claims")
    axes.set_ylabel("section")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, frameon=False)
    figure.suptitle("Claims of the paper, by what was found here", fontsize=11)
    _save(figure, directory, name)


def _frame(axes: Any, picture: Picture, label: str) -> None:
    axes.set_ylabel(label)
    axes.spines[["top", "right"]].set_visible(False)
    for axis in (axes.xaxis, axes.yaxis):
        if isinstance(axis.get_major_formatter(), ScalarFormatter):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    if picture.along_scale == "log":
        axes.set_xscale("log")
        _number_plainly(axes.xaxis)
    if picture.scale == "log":
        axes.set_yscale("log")
        _number_plainly(axes.yaxis)
    else:
        axes.set_ylim(bottom=0)


class _Plain(LogFormatter):
    """The ticks that Matplotlib would number on a log axis, as 0.5 or 20,000 and not as powers."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:,.10g}" if super().__call__(x, pos) else ""


def _number_plainly(axis: Any) -> None:
    axis.set_major_formatter(_Plain())
    axis.set_minor_formatter(_Plain(labelOnlyBase=False, minor_thresholds=(1.5, 0.4)))


def _save(figure: Any, directory: Path, name: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": name}):
        for suffix in ("svg", "png"):
            metadata = {"Date": None} if suffix == "svg" else {"Software": None}
            figure.savefig(directory / f"{name}.{suffix}", dpi=110, metadata=metadata, bbox_inches="tight")
    plt.close(figure)


def _lines(axes: Any, series: Sequence[Series]) -> None:
    for number, one in enumerate(series):
        along, values = zip(*one.points, strict=True)
        style = "--" if one.dashed else "o-"
        axes.plot(along, values, style, markersize=3, color=COLOURS[number % len(COLOURS)], label=one.label)


def _dots(axes: Any, series: Sequence[Series]) -> None:
    names = _names(series)
    for number, one in enumerate(series):
        along = [names.index(name) for name, _ in one.points]
        values = [value for _, value in one.points]
        axes.plot(along, values, "o", markersize=6, color=COLOURS[number % len(COLOURS)], label=one.label)
    _name_places(axes, names)


def _bars(axes: Any, series: Sequence[Series]) -> None:
    """A group of bars at every name; a series that has no value at a name leaves a gap."""
    names, width = _names(series), 0.8 / len(series)
    for number, one in enumerate(series):
        left = (number - (len(series) - 1) / 2) * width
        along = [names.index(name) + left for name, _ in one.points]
        values = [value for _, value in one.points]
        axes.bar(along, values, width, color=COLOURS[number % len(COLOURS)], label=one.label)
    _name_places(axes, names)


def _boxes(axes: Any, series: Sequence[Series]) -> None:
    """The box has the quartiles and the median, the line the lowest and the highest."""
    names, width = _names(series), 0.8 / len(series)
    for number, one in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        for place, (name, five) in enumerate(one.points):
            middle = names.index(name) + (number - (len(series) - 1) / 2) * width
            lowest, first, median, third, highest = five
            axes.vlines(middle, lowest, highest, color=colour, linewidth=1)
            label = one.label if place == 0 else None
            axes.bar(middle, third - first, 0.8 * width, bottom=first, color=colour, label=label)
            axes.hlines(median, middle - 0.4 * width, middle + 0.4 * width, color="white", linewidth=1.5)
    _name_places(axes, names)


def _names(series: Sequence[Series]) -> list[Any]:
    return list(dict.fromkeys(name for one in series for name, _ in one.points))


def _name_places(axes: Any, names: Sequence[Any]) -> None:
    width = min(LABEL_WIDTH, AXIS_WIDTH // max(1, len(names)))
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.set_xticks(range(len(names)), [textwrap.fill(str(name), width, break_long_words=False) for name in names])


DRAWINGS: dict[Kind, Callable[[Any, Sequence[Series]], None]] = {
    "lines": _lines,
    "dots": _dots,
    "bars": _bars,
    "boxes": _boxes,
}
