"""A paper's page, made of its outcomes: every claim beside what was found, tables and pictures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from experiments.outcome import Claim, Curve, Outcome

COLOURS = ("#b5482a", "#3f6f8f", "#8a8f98", "#6a8f3f", "#8f3f7a", "#b59a2a")
PARTS = {"python": "Python", "pyspark": "PySpark", "pyarrow": "PyArrow", "numpy": "NumPy", "java": "Java:"}
VERDICTS = {True: "holds", False: "**does not hold**", None: "undecided"}


def write_page(
    path: Path, title: str, opening: str, outcomes: Sequence[Outcome], run: dict[str, Any], pictures: Path
) -> None:
    """The page, with pictures in a folder beside it."""
    lines = [f"# {title}", "", opening.strip(), "", _origin(run), ""]
    lines += ["| shown in | claim | paper | here |  |", "| --- | --- | --- | --- | --- |"]
    lines += [_claim(outcome, claim) for outcome in outcomes for claim in outcome.claims]
    folder = Path(os.path.relpath(pictures, path.parent)).as_posix()
    for outcome in outcomes:
        lines += _section(outcome, folder)
        if outcome.curves:
            draw(outcome, pictures)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def _origin(run: dict[str, Any]) -> str:
    machine, versions = run["machine"], run["versions"]
    place = f"{machine['cores']} cores of {machine['processor']}, {machine['memory_gib']} GiB"
    parts = ", ".join(f"{name} {versions[key]}" for key, name in PARTS.items() if key in versions)
    made = f"Made by `braid experiments`, {run['size']} size, {run['date'][:10]}, commit {versions['commit']}"
    return f"{made}, {place}; {parts}."


def _claim(outcome: Outcome, claim: Claim) -> str:
    return f"| {outcome.figures} | {claim.claim} | {claim.paper} | {claim.here} | {VERDICTS[claim.holds]} |"


def _section(outcome: Outcome, folder: str) -> list[str]:
    """How it was measured, why what fails is likely to fail, the picture and the table."""
    lines = ["", f"## {outcome.title}", "", f"{outcome.how} {outcome.origin}".strip()]
    reasons = dict.fromkeys(claim.why for claim in outcome.claims if claim.holds is not True and claim.why)
    for reason in reasons:
        lines += ["", reason]
    if outcome.curves:
        lines += ["", f"![{outcome.title}]({folder}/{outcome.name}.svg)"]
    if outcome.rows:
        lines += ["", "| " + " | ".join(outcome.headings) + " |", "| --- |" + " ---: |" * (len(outcome.headings) - 1)]
        lines += ["| " + " | ".join(row) + " |" for row in outcome.rows]
    return lines


def draw(outcome: Outcome, directory: Path) -> None:
    """The outcome's curves, as SVG and PNG."""
    figure, axes = plt.subplots(figsize=(8, 3.6))
    DRAWINGS[outcome.drawn](axes, outcome.curves)
    axes.set_xlabel(outcome.axes[0])
    axes.set_ylabel(outcome.axes[1])
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    directory.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": outcome.name}):
        for suffix in ("svg", "png"):
            metadata = {"Date": None} if suffix == "svg" else {"Software": None}
            figure.savefig(directory / f"{outcome.name}.{suffix}", dpi=110, metadata=metadata)
    plt.close(figure)


def _draw_lines(axes: Any, curves: Sequence[Curve]) -> None:
    for number, curve in enumerate(curves):
        along, values = zip(*curve.points, strict=True)
        axes.plot(along, values, "o-", markersize=3, color=COLOURS[number % len(COLOURS)], label=curve.label)


def _draw_bars(axes: Any, curves: Sequence[Curve]) -> None:
    """A group of bars at every name; a curve that has no value at a name leaves a gap."""
    names = list(dict.fromkeys(name for curve in curves for name, _ in curve.points))
    width = 0.8 / len(curves)
    for number, curve in enumerate(curves):
        left = (number - (len(curves) - 1) / 2) * width
        along = [names.index(name) + left for name, _ in curve.points]
        values = [value for _, value in curve.points]
        axes.bar(along, values, width, color=COLOURS[number % len(COLOURS)], label=curve.label)
    axes.set_xticks(range(len(names)), names)


DRAWINGS = {"lines": _draw_lines, "bars": _draw_bars}
