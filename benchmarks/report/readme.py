"""The figures of README.md, taken from the records: what stands between its two markers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.report.overview import JOINS, Join, named, overview_rows, rate_table, sustained, system
from benchmarks.report.record import Document, Row

BEGIN, END = "<!-- figures: written by `braid bench --publish` -->\n", "<!-- end of figures -->\n"
DIGITS = 3
COMPARED = (  # one label over others, of the joins' benchmarks; in words
    ("equality", "Braid, 100 K", ("Spark, 100 K", "Spark RocksDB, 100 K", "Spark v4, 100 K"), "Spark's best"),
    ("equality", "Braid, 500 K", ("Flink",), "Flink"),
    ("equality", "Braid, 500 K", ("Pathway",), "Pathway"),
    ("equality", "Braid, 1 M", ("DuckDB",), "DuckDB at once"),
    ("band", "Braid, batches of 10,000", ("Spark, constant key, batches of 10,000",), "Spark"),
    ("band", "Braid, batches of 10,000", ("Flink, no checkpoints",), "Flink"),
    ("inequalities", "Braid, batches of 10,000", ("Spark, constant key, batches of 10,000",), "Spark"),
    ("inequalities", "Braid, batches of 10,000", ("Flink, no checkpoints",), "Flink"),
)


def write_figures(path: Path, documents: Sequence[Document]) -> None:
    """Put the figures of the records in the place of those that are there."""
    before, _, rest = path.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(before + BEGIN + figures(documents) + END + after)


def figures(documents: Sequence[Document]) -> str:
    """The rates of each join with their batches, then the rates with results in time."""
    lines = ["", "| join | system | rows a batch | rows/s | |", "| --- | --- | ---: | ---: | --- |"]
    for join, rows in overview_rows(documents).items():
        lines += [
            f"| {join} | {system(row)} | {row.batch} | {rounded(row)} | {_ratios(join, row, rows)} |" for row in rows
        ]
    lines += ["", *_measured(documents), ""]
    rates = rate_table(documents)
    if rates:
        lines += [
            "The highest rate that was offered and at which 99 % of the rows had their results in time, in batches"
        ]
        lines += ["of what had come:", "", *rates]
    return "\n".join(lines)


def rounded(row: Row) -> str:
    """A rate to three digits: runs differ by more."""
    assert row.rows_per_second is not None
    return f"{float(f'{row.rows_per_second:.{DIGITS}g}'):,.0f}"


def _ratios(join: str, row: Row, rows: Sequence[Row]) -> str:
    """What a row is over others of its join."""
    rates = {other.label: other.rows_per_second for other in rows}
    texts = []
    for name, label, others, words in COMPARED:
        known = [rate for other in others if (rate := rates.get(other))]
        if (name, label) == (join, row.label) and known and row.rows_per_second:
            texts.append(f"{_short(row.rows_per_second / max(known))} × {words}")
    return ", ".join(texts)


def _short(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _measured(documents: Sequence[Document]) -> list[str]:
    """Which run each join's rates are of."""
    known = named(documents)
    return [_run(join, document) for join in JOINS if (document := sustained(join, known)) is not None]


def _run(join: Join, document: Document) -> str:
    dates = ", ".join(dict.fromkeys(one["date"][:10] for one in document.measured))
    commits = ", ".join(dict.fromkeys(one["commit"] for one in document.measured))
    rounds = len(document.rounds)
    often = "one round" if rounds == 1 else f"medians of {rounds} rounds"
    return (
        f"- {join.name}: `braid bench {document.name} --{document.content['size']}`, {often}, {dates}, commit {commits}"
    )
