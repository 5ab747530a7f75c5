"""`braid bench`: run benchmarks by name, show what they gave, write records, pictures and the page."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.benchmark import Size
from benchmarks.campaign import Campaign
from benchmarks.machine import describe_run
from benchmarks.report.page import write_page
from benchmarks.report.plots import draw, draw_overview
from benchmarks.report.readme import write_figures
from benchmarks.report.record import Document, read_record, write_record
from benchmarks.report.scale import read_scale
from benchmarks.report.table import print_record
from benchmarks.suite import BENCHMARKS
from braid.errors import BraidError

HOME = Path(__file__).parent
RESULTS = HOME / "results"
PAGE = HOME.parent / "docs" / "benchmarks.md"
PICTURES = HOME.parent / "docs" / "pictures" / "benchmarks"
README = HOME.parent / "README.md"
SIZES: tuple[Size, ...] = ("full", "quick")
MARKER = ".braid-bench"
WIDTH = 130  # of a table with every column
WORK = HOME.parent / ".bench"


def run_benchmarks(names: Sequence[str], size: Size, directory: Path, *, resume: bool, publish: bool) -> bool:
    """Run each benchmark in turn; whether every answer was right.

    `publish` puts records into the repository and makes the page anew; without it they stay in `directory`.
    """
    console = Console(width=max(Console().width, WIDTH))
    prepare(directory, resume=resume)
    results = RESULTS / size if publish else directory / "results"
    right = True
    for name in names:
        benchmark = BENCHMARKS[name](size)
        if size == "full":
            benchmark = benchmark.with_latency()
        console.rule(f"{name} ({size})", align="left")
        run = describe_run()
        campaign = Campaign(directory, console)
        with campaign.progress:
            rounds = campaign.run_rounds(benchmark.tasks, benchmark.rounds(size))
        path = results / f"{name}.json"
        write_record(path, benchmark, size, run, rounds)
        document = read_record(path, benchmark)
        print_record(console, document)
        right = right and document.agrees
        console.print(f"Written: {path}")
    if publish:
        write_documents()
    if not right:
        console.print("Answers differ: the rates mean nothing.", style="red")
    return right


def prepare(directory: Path, *, resume: bool) -> None:
    """Make the directory ready, and empty unless it is to be resumed; one that is not a campaign's is left alone."""
    marker = directory / MARKER
    if directory.exists() and any(directory.iterdir()) and not marker.exists():
        raise BraidError(
            f"{directory} has files in it that are not a benchmark's.", hint="Choose another directory for --dir."
        )
    if not resume:
        shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True, exist_ok=True)
    marker.touch()


def write_documents() -> None:
    """Pictures, page and README's figures, from the records that are there."""
    documents = read_documents()
    for document in documents:
        draw(document, PICTURES)
    draw_overview(documents, PICTURES)
    write_page(PAGE, documents, PICTURES.relative_to(PAGE.parent), read_scale(RESULTS))
    write_figures(README, documents)


def read_documents(results: Path = RESULTS) -> list[Document]:
    """All records; a full one stands before a quick one."""
    documents = []
    for name, make in BENCHMARKS.items():
        for size in SIZES:
            path = results / size / f"{name}.json"
            if path.exists():
                documents.append(read_record(path, make(size)))
                break
    return documents
