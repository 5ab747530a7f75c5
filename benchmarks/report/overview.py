"""What a reader looks for first: each join with every system's rates, out of the records of several benchmarks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.report.record import Document, Row
from benchmarks.report.table import RATE_HEADINGS, best_texts, spread_text, whole


@dataclass(frozen=True)
class Join:
    """A join of the summary: the benchmarks with its sustained rates, the first there is, and with its paced ones."""

    name: str
    sustained: tuple[str, ...]
    paced: str


JOINS = (
    Join("equality", ("equality",), "equality-rates"),
    Join("band", ("band-batches", "band"), "band-rates"),
    Join("inequalities", ("theta-batches", "theta"), "theta-rates"),
)


def system(row: Row) -> str:
    """A row's label without its batches, which stand beside it."""
    return re.sub(r", (batches of [\d,]+|\d+ [KM])$", "", row.name)


def named(documents: Sequence[Document]) -> dict[str, Document]:
    return {document.name: document for document in documents}


def sustained(join: Join, documents: Mapping[str, Document]) -> Document | None:
    """The record with the join's sustained rates."""
    return next((documents[name] for name in join.sustained if name in documents), None)


def overview_rows(documents: Sequence[Document]) -> dict[str, list[Row]]:
    """The rows with a sustained rate, by join."""
    known = named(documents)
    found = {join.name: sustained(join, known) for join in JOINS}
    return {
        name: [row for row in document.rows if row.rows_per_second is not None]
        for name, document in found.items()
        if document is not None
    }


def overview_tables(documents: Sequence[Document]) -> str:
    """Sustained rates with their batches, then the rates that results in time allow."""
    lines = ["| join | system | rows a batch | rows/s | of rounds |", "| --- | --- | ---: | ---: | --- |"]
    for name, rows in overview_rows(documents).items():
        for row in rows:
            spread = spread_text(row.rates) if len(row.rates) > 1 else "one"
            lines.append(f"| {name} | {system(row)} | {row.batch} | {whole(row.rows_per_second)} | {spread} |")
    return "\n".join([*lines, "", *rate_table(documents)])


def rate_table(documents: Sequence[Document]) -> list[str]:
    """The best rates for each bound on lateness; nothing where no search was recorded."""
    known = named(documents)
    searched = [(join, known[join.paced]) for join in JOINS if join.paced in known]
    if not searched:
        return []
    lines = [
        "| join | system | " + " | ".join(RATE_HEADINGS) + " |",
        "| --- | --- |" + " ---: |" * len(RATE_HEADINGS),
    ]
    for join, document in searched:
        for label, tried in document.searches.items():
            if tried[0].error is None:
                lines.append(f"| {join.name} | {label} | " + " | ".join(best_texts(tried)) + " |")
    return [*lines, ""]


def open_searches(document: Document) -> list[str]:
    """What a record of searches leaves open."""
    if not document.searches:
        return []
    lines = [
        f"The search for {label} was stopped before it offered {following:,.0f} rows/s."
        for label, following in document.unfinished.items()
    ]
    return lines + ([f"Not measured yet: {'; '.join(document.missing)}."] if document.missing else [])
