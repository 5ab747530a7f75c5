"""Pictures of a benchmark's outcome: bars of rates, or a line along what a curve varies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

OWN, OTHERS = "#b5482a", "#8a8f98"
FORMATS = ("svg", "png")


def draw(document: dict[str, Any], directory: Path) -> None:
    """The picture, in each format, named as the benchmark."""
    figure, axes = plt.subplots(figsize=(8, 0.6 + 0.42 * max(4, len(document["rows"]))))
    if document["axis"] is None:
        _bars(axes, document)
    else:
        _line(axes, document)
    axes.set_title(document["title"], fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    directory.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": document["benchmark"]}):
        for suffix in FORMATS:
            metadata = {"Date": None} if suffix == "svg" else {"Software": None}
            figure.savefig(directory / f"{document['benchmark']}.{suffix}", dpi=110, metadata=metadata)
    plt.close(figure)


def _bars(axes: Axes, document: dict[str, Any]) -> None:
    rows = list(reversed(document["rows"]))
    rates = [row.rows_per_second or 0.0 for row in rows]
    colours = [OWN if row.peer == "Braid" else OTHERS for row in rows]
    axes.barh([row.label for row in rows], rates, color=colours)
    if max(rates, default=0) > 30 * min((rate for rate in rates if rate), default=1):
        axes.set_xscale("log")
    for place, (row, rate) in enumerate(zip(rows, rates, strict=True)):
        text = f" {rate:,.0f}" if rate else " " + (row.error or "no rate").splitlines()[0][:60]
        axes.text(rate or axes.get_xlim()[0], place, text, va="center", fontsize=8)
    axes.margins(x=0.18)
    axes.set_xlabel("rows a second")


def _line(axes: Axes, document: dict[str, Any]) -> None:
    along = [float(row.label) for row in document["rows"]]
    axes.plot(along, [row.rows_per_second for row in document["rows"]], "o-", color=OWN, label="rows a second")
    axes.set_xscale("log")
    axes.set_xticks(along, [f"{value:g}" for value in along])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel(document["axis"])
    axes.set_ylabel("rows a second")
    second = axes.twinx()
    second.plot(along, [row.step_p50 for row in document["rows"]], "s--", color=OTHERS, label="step, median seconds")
    second.set_ylim(bottom=0)
    second.set_ylabel("step, median seconds")
    lines = [*axes.get_lines(), *second.get_lines()]
    axes.legend(lines, [str(line.get_label()) for line in lines], fontsize=8, loc="lower center")
