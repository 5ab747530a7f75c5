"""`braid bench scale`: measure every part, keep each as soon as it is there, print the tables, write the record."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.command import HOME, WIDTH, prepare, write_documents
from benchmarks.machine import code_hash, describe_run
from benchmarks.scale.child import run_part
from benchmarks.scale.model import BANDWIDTH
from benchmarks.scale.parts import SIZES, Part, Size, parts_of
from benchmarks.scale.tables import Found, print_tables, verdicts

RECORD = HOME / "results" / "scale.json"
WHAT = ("spark", "noop", "growth", "driver", "skew")


def run_scale(size: Size, directory: Path, *, resume: bool, publish: bool, strategy: str | None = None) -> bool:
    """Whether the joins gave the same number of results for any number of slots; a part that failed says why.

    Started again in the same directory, it continues after the last finished part of the same code.
    """
    console = Console(width=max(Console().width, WIDTH + 40))
    prepare(directory, resume=resume)
    run = describe_run()
    found: dict[str, Found] = {what: [] for what in WHAT}
    for part in parts_of(size, strategy):
        figures = _finished(directory, part)
        if figures is None:
            with console.status(part.title):
                figures = run_part(part, directory / "scratch")
            _keep(directory, part, figures)
        found[part.what].append((part.arguments, figures))
    print_tables(console, found)
    wrong = differing(found["spark"])
    for kind in wrong:
        console.print(f"{kind}: the number of results depends on the number of slots.", style="red")
    path = RECORD if publish else directory / "scale.json"
    path.write_text(json.dumps(record(size, run, strategy, found), indent=1) + "\n")
    console.print(f"Written: {path}")
    if publish:
        write_documents()
    return not wrong


def record(size: Size, run: dict[str, Any], strategy: str | None, found: dict[str, Found]) -> dict[str, Any]:
    """Everything a reader needs: settings, machine, versions with the commit, figures and their bounds."""
    return {
        "benchmark": "scale",
        "size": size,
        **run,
        "strategy": strategy,
        "settings": asdict(SIZES[size]),
        "model": {
            "seconds": "driver + sum over rounds of the slowest slot's CPU seconds plus its bytes over the bandwidth",
            "bandwidth_bytes": BANDWIDTH,
        },
        "verdicts": [{**asdict(verdict), "met": verdict.met} for verdict in verdicts(found)],
        "parts": {what: [{"arguments": a, "figures": f} for a, f in parts] for what, parts in found.items()},
    }


def differing(found: Found) -> list[str]:
    """The joins whose number of results differs."""
    results: dict[str, set[int]] = {}
    for arguments, figures in found:
        if "results" in figures:
            results.setdefault(arguments["kind"], set()).add(figures["results"])
    return [kind for kind, numbers in results.items() if len(numbers) > 1]


def _finished(directory: Path, part: Part) -> dict[str, Any] | None:
    path = _path(directory, part)
    content = json.loads(path.read_text()) if path.exists() else {}
    figures: dict[str, Any] = content.get("figures", {})
    return figures if content.get("code") == code_hash() and "error" not in figures else None


def _keep(directory: Path, part: Part, figures: dict[str, Any]) -> None:
    path = _path(directory, part)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps({"code": code_hash(), "part": asdict(part), "figures": figures}))
    unfinished.rename(path)


def _path(directory: Path, part: Part) -> Path:
    return directory / "parts" / f"{part.key}.json"
