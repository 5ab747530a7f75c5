"""`braid experiments`: run a paper's experiments, print what holds, keep records, and make the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.machine import describe_run
from experiments import bistream
from experiments.outcome import Outcome, all_hold
from experiments.page import write_page

HOME = Path(__file__).parent
DOCS = HOME.parent / "docs" / "experiments"
PAPERS: dict[str, Any] = {"bistream": bistream}


def run_experiments(paper: str, size: str, *, publish: bool) -> bool:
    """Run all experiments of a paper; whether every claim that can hold does."""
    module = PAPERS[paper]
    console = Console()
    run = {**describe_run(), "size": size}
    outcomes: list[Outcome] = []
    with Progress(console=console) as progress:
        bar = progress.add_task(paper, total=len(module.EXPERIMENTS))
        for experiment in module.EXPERIMENTS:
            progress.update(bar, description=experiment.__name__)
            outcomes.append(experiment(module.SIZES[size]))
            progress.advance(bar)
    console.print(_table(outcomes))
    if publish:
        record = HOME / paper / "results" / f"{size}.json"
        record.parent.mkdir(parents=True, exist_ok=True)
        content = {"run": run, "outcomes": [outcome.to_json() for outcome in outcomes]}
        record.write_text(json.dumps(content, indent=2, default=str) + "\n")
        publish_page(paper, size)
        console.print(f"Written: {DOCS / f'{paper}.md'}")
    return all_hold(outcomes)


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
            verdict = {True: "holds", False: "[red]does not hold[/red]", None: ""}[claim.holds]
            table.add_row(claim.claim, claim.paper, claim.here, verdict)
    return table
