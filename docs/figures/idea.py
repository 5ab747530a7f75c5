"""Draws idea.svg: a batch of two streams, its blocks in the units, the probe, and what is committed.

Run from anywhere: python docs/figures/idea.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

INK, QUIET = "#1f2933", "#7b8794"
LEFT, RIGHT, NEUTRAL, RESULT = "#cfe3f7", "#fbdcc4", "#f1f4f7", "#d6efd8"


def box(axes: Axes, x: float, y: float, width: float, height: float, text: str, color: str, size: float = 9) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (x, y), width, height, boxstyle="round,pad=0,rounding_size=0.08", facecolor=color, edgecolor=INK, lw=0.9
        )
    )
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=size, color=INK)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], style: str = "-", bend: float = 0) -> None:
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=9,
            lw=1,
            linestyle=style,
            color=INK,
            connectionstyle=f"arc3,rad={bend}",
            shrinkA=0,
            shrinkB=1,
        )
    )


def label(axes: Axes, x: float, y: float, text: str, size: float = 8) -> None:
    axes.text(x, y, text, ha="center", va="center", fontsize=size, color=QUIET)


def draw(axes: Axes) -> None:
    for x, text in ((1.0, "streams"), (3.6, "ingest"), (6.6, "units"), (9.7, "probe, then commit"), (12.2, "results")):
        label(axes, x, 4.75, text, 10)
    box(axes, 0.2, 3.3, 1.6, 0.8, "stream a\nnew rows Δa", LEFT)
    box(axes, 0.2, 1.3, 1.6, 0.8, "stream b\nnew rows Δb", RIGHT)
    for y, color in ((3.3, LEFT), (1.3, RIGHT)):
        box(axes, 2.6, y, 2.0, 0.8, "late rows aside,\nsort, write a block", color, 8.5)
        arrow(axes, (1.8, y + 0.4), (2.6, y + 0.4))
    label(axes, 3.6, 2.7, "late rows are kept,\nreadable as a table")
    for number in range(3):
        y = 3.75 - 1.2 * number
        box(axes, 5.6, y - 0.5, 2.0, 0.95, "", NEUTRAL)
        axes.text(5.7, y + 0.29, f"unit {number}", fontsize=7.5, color=QUIET, va="center")
        for column, color in ((5.75, LEFT), (6.65, RIGHT)):
            for step in range(3):
                axes.add_patch(
                    plt.Rectangle((column + step * 0.27, y - 0.4), 0.22, 0.5, facecolor=color, edgecolor=INK, lw=0.7)
                )
        arrow(axes, (4.6, 3.7), (5.6, y + 0.1))
        arrow(axes, (4.6, 1.7), (5.6, y - 0.2))
        arrow(axes, (7.6, y), (8.4, 3.5))
    label(axes, 6.6, 0.5, "immutable, checksummed blocks;\nold ones expire by watermark")
    box(axes, 8.4, 3.0, 2.6, 1.1, "Δa meets b's old rows,\nΔb meets a's old and new:\neach pair once", NEUTRAL, 7.5)
    box(axes, 8.4, 1.3, 2.6, 0.9, "manifest: one record,\nthe commit", NEUTRAL, 8.5)
    arrow(axes, (9.7, 3.0), (9.7, 2.2))
    box(axes, 11.5, 1.3, 1.4, 0.9, "Parquet,\nexactly once", RESULT, 8)
    arrow(axes, (11.0, 1.75), (11.5, 1.75))
    arrow(axes, (8.4, 1.6), (7.6, 1.3), "--")
    label(axes, 9.7, 0.95, "names the live blocks", 7.5)
    label(axes, 12.1, 2.45, "published by rename", 7.5)


def main() -> None:
    plt.rcParams.update({"font.family": "DejaVu Sans", "svg.hashsalt": "braid", "svg.fonttype": "path"})
    figure, axes = plt.subplots(figsize=(9.6, 3.7))
    axes.set_xlim(0, 13)
    axes.set_ylim(0, 5)
    axes.axis("off")
    draw(axes)
    figure.savefig(
        Path(__file__).with_suffix(".svg"),
        bbox_inches="tight",
        pad_inches=0.05,
        metadata={"Date": None},
        facecolor="white",
    )


if __name__ == "__main__":
    main()
