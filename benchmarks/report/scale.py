"""The record of `braid bench scale` as a section of the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.scale.tables import Found, Verdict, listings, verdicts

SCALE = "scale.json"


def read_scale(results: Path) -> dict[str, Any] | None:
    """The record, if there is one."""
    path = results / SCALE
    return json.loads(path.read_text()) if path.exists() else None


def found_of(record: dict[str, Any]) -> dict[str, Found]:
    """Arguments and figures of the parts, as they were measured."""
    return {what: [(one["arguments"], one["figures"]) for one in parts] for what, parts in record["parts"].items()}


def scale_tables(record: dict[str, Any]) -> str:
    """The tables of the figures, in Markdown."""
    parts = []
    for listing in listings(found_of(record)):
        width = len(listing.headings)
        lines = [f"{listing.title}:", "", _line(listing.headings), "| --- |" + " ---: |" * (width - 1)]
        lines += [_line([*line, *[""] * (width - len(line))]) for line in listing.lines]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def scale_verdicts(record: dict[str, Any]) -> list[Verdict]:
    """What the figures are compared with."""
    return verdicts(found_of(record))


def _line(cells: tuple[str, ...] | list[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()) for cell in cells) + " |"
