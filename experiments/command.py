"""`braid experiments`: run a paper's experiments, print what holds, keep records, and make the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.machine import describe_run
from experiments import bistream, in_order
from experiments.outcome import Outcome, all_hold
from experiments.page import write_page

HOME = Path(__file__).parent
DOCS = HOME.parent / "docs" / "experiments"
PAPERS: dict[str, Any] = {"bistream": bistream, "in_order": in_order}


def run_experiments(paper: str, names: Sequence[str], size: str, *, publish: bool) -> bool:
    """Run a paper's experiments, or those named; whether every claim of theirs that can hold does."""
    module = PAPERS[paper]
    console = Console()
    run = {**describe_run(), "size": size}
    chosen = [one for one in module.EXPERIMENTS if not names or one.__name__ in names]
    outcomes: list[Outcome] = []
    with Progress(console=console) as progress:
        bar = progress.add_task(paper, total=len(chosen))
        for experiment in chosen:
            progress.update(bar, description=experiment.__name__)
            origin = _origin()
            outcomes.append(replace(experiment(module.SIZES[size]), origin=origin))
            progress.advance(bar)
    console.print(_table(outcomes))
    if publish:
        order = [experiment.__name__ for experiment in module.EXPERIMENTS]
        keep_record(HOME / paper / "results" / f"{size}.json", run, outcomes, order)
        publish_page(paper, size)
        console.print(f"Written: {DOCS / f'{paper}.md'}")
    return all_hold(outcomes)


def keep_record(path: Path, run: dict[str, Any], outcomes: Sequence[Outcome], order: Sequence[str]) -> None:
    """Write what was found; experiments that did not run keep what an earlier record has of them."""
    kept = json.loads(path.read_text())["outcomes"] if path.exists() else []
    found = {outcome["name"]: outcome for outcome in [*kept, *(one.to_json() for one in outcomes)]}
    content = {"run": run, "outcomes": [found[name] for name in order if name in found]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2, default=str) + "\n")


def _origin() -> str:
    run = describe_run()
    load = run["machine"]["load_average"][0]
    return f"Measured {run['date'][:16].replace('T', ' ')} UTC at {run['versions']['commit']}, load {load:g} before it."


def publish_page(paper: str, size: str) -> None:
    """The page, from its record alone."""
    module = PAPERS[paper]
    content = json.loads((HOME / paper / "results" / f"{size}.json").read_text())
    outcomes = [Outcome.from_json(outcome) for outcome in content["outcomes"]]
    pictures = DOCS.parent / "pictures" / "experiments" / paper
    DOCS.mkdir(parents=True, exist_ok=True)
    write_page(DOCS / f"{paper}.md", module.TITLE, module.OPENING, outcomes, content["run"], pictures)


def _table(outcomes: list[Outcome]) -> Table:
    table = Table("claim", "paper", "here", "", show_lines=False)
    for outcome in outcomes:
        for claim in outcome.claims:
            verdict = {True: "holds", False: "[red]does not hold[/red]", None: "undecided"}[claim.holds]
            table.add_row(claim.claim, claim.paper, claim.here, verdict)
    return table
