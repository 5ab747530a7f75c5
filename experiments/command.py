"""`braid experiments`: run a paper's experiments, print what holds, keep records, and make the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.machine import describe_run
from experiments import bistream, dcape, in_order, psp, semijoin
from experiments.claims import Judged
from experiments.page import Paper, Records, write_page
from experiments.records import Record, keep_record, make_record, read_record, record_path

HOME = Path(__file__).parent
DOCS = HOME.parent / "docs" / "experiments"
PICTURES = HOME.parent / "docs" / "pictures" / "experiments"
OWN_CODE = ":(glob)experiments/**/*.py"
SIZES = ("full", "quick")  # a page is of the first that has records
STYLES = {"does not hold": "[red]does not hold[/red]"}


def _paper(name: str, module: Any) -> Paper:
    parts = module.TITLE, module.OPENING, module.EXPERIMENTS, module.SIZES, module.PAPER, module.NOT_MEASURED
    return Paper(name, *parts)


MODULES = {"bistream": bistream, "dcape": dcape, "in_order": in_order, "psp": psp, "semijoin": semijoin}
PAPERS = {name: _paper(name, module) for name, module in MODULES.items()}


def run_experiments(paper: str, names: Sequence[str], size: str, *, publish: bool) -> bool:
    """Run a paper's experiments, or those named; whether no claim of theirs fails. Each record is kept at once."""
    source, console = PAPERS[paper], Console()
    chosen = [one for one in source.experiments if not names or one.name in names]
    judged: list[Judged] = []
    with Progress(console=console) as progress:
        bar = progress.add_task(paper, total=len(chosen))
        for experiment in chosen:
            progress.update(bar, description=experiment.name)
            record = make_record(experiment, source.sizes[size], describe(size))
            judged += experiment.judged(record.measured)
            if publish:
                keep_record(record_path(HOME / paper, size, experiment.name), record)
            progress.advance(bar)
    console.print(_table(judged))
    if publish:
        shown = publish_page(paper)
        console.print(f"Written: {DOCS / f'{paper}.md'}, of the records of {shown} size.")
    return not any(one.verdict.holds is False for one in judged)


def describe(size: str) -> dict[str, Any]:
    """When, where and on what; taken before a measurement, so that the load is that of others."""
    return {**describe_run(OWN_CODE), "size": size}


def publish_page(paper: str) -> str:
    """The page, from its records alone; of which size they are."""
    size = next((size for size in SIZES if read_records(paper, size)), SIZES[-1])
    write_page(DOCS / f"{paper}.md", PAPERS[paper], size, read_records(paper, size), PICTURES / paper)
    return size


def read_records(paper: str, size: str) -> Records:
    """The records that there are, by experiment; one without measurements only keeps what failed before."""
    found: dict[str, Record] = {}
    for experiment in PAPERS[paper].experiments:
        record = read_record(record_path(HOME / paper, size, experiment.name))
        if record is not None and record.measured:
            found[experiment.name] = record
    return found


def _table(judged: Sequence[Judged]) -> Table:
    table = Table("claim", "paper", "here", "", show_lines=False)
    for one in judged:
        table.add_row(one.claim.text, one.claim.paper, one.verdict.here, STYLES.get(one.word, one.word))
    return table
