"""A paper's page, made of its outcomes: every claim beside what was found, tables and pictures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from experiments.outcome import Outcome

COLOURS = ("#b5482a", "#3f6f8f", "#8a8f98", "#6a8f3f", "#8f3f7a", "#b59a2a")
VERDICTS = {True: "holds", False: "**does not hold**", None: ""}


def write_page(
    path: Path, title: str, opening: str, outcomes: Sequence[Outcome], run: dict[str, Any], pictures: Path
) -> None:
    """The page, with pictures in a folder beside it."""
    machine, versions = run["machine"], run["versions"]
    place = f"{machine['cores']} cores of {machine['processor']}, {machine['memory_gib']} GiB"
    lines = [
        f"# {title}",
        "",
        opening.strip(),
        "",
        f"Made by `braid experiments`, {run['size']} size, {run['date'][:10]}, {place}, commit {versions['commit']}.",
        "",
        "| claim | paper | here |  |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {c.claim} | {c.paper} | {c.here} | {VERDICTS[c.holds]} |" for o in outcomes for c in o.claims]
    for outcome in outcomes:
        lines += ["", f"## {outcome.title}", "", outcome.how, ""]
        if outcome.curves:
            draw(outcome, pictures)
            lines += [
                f"![{outcome.title}]({Path(os.path.relpath(pictures, path.parent)).as_posix()}/{outcome.name}.svg)",
                "",
            ]
        if outcome.rows:
            lines += ["| " + " | ".join(outcome.headings) + " |", "| --- |" + " ---: |" * (len(outcome.headings) - 1)]
            lines += ["| " + " | ".join(row) + " |" for row in outcome.rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def draw(outcome: Outcome, directory: Path) -> None:
    """The outcome's curves, as SVG and PNG."""
    figure, axes = plt.subplots(figsize=(8, 3.6))
    for number, curve in enumerate(outcome.curves):
        along, values = zip(*curve.points, strict=True)
        axes.plot(along, values, "o-", markersize=3, color=COLOURS[number % len(COLOURS)], label=curve.label)
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
