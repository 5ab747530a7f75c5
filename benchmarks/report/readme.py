"""The figures of README.md, taken from the records: what stands between its two markers."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from benchmarks.comparisons import FLINK, FLINK_CHECKPOINTS
from benchmarks.report.overview import JOINS, Join, named, open_searches, overview_rows, rate_table, sustained, system
from benchmarks.report.record import Document
from benchmarks.report.table import rounded
from benchmarks.targets import Target, rate_ratio

BEGIN, END = "<!-- figures: written by `braid bench --publish` -->\n", "<!-- end of figures -->\n"
COMPARED = (  # one label over others, of the joins' benchmarks; in words
    ("equality", "Braid, 100 K", ("Spark, 100 K", "Spark RocksDB, 100 K", "Spark v4, 100 K"), "Spark's best"),
    ("equality", "Braid, 500 K", ("Flink", FLINK_CHECKPOINTS), "Flink's best"),
    ("equality", "Braid, 500 K", ("Pathway",), "Pathway"),
    ("equality", "Braid, 1 M", ("DuckDB",), "DuckDB at once"),
    ("band", "Braid, batches of 10,000", ("Spark, constant key, batches of 10,000",), "Spark"),
    ("band", "Braid, batches of 10,000", (FLINK, FLINK_CHECKPOINTS), "Flink's best"),
    ("inequalities", "Braid, batches of 10,000", ("Spark, constant key, batches of 10,000",), "Spark"),
    ("inequalities", "Braid, batches of 10,000", (FLINK, FLINK_CHECKPOINTS), "Flink's best"),
)


def write_figures(path: Path, documents: Sequence[Document]) -> None:
    """Put the figures of the records in the place of those that are there."""
    before, _, rest = path.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(before + BEGIN + figures(documents) + END + after)


def figures(documents: Sequence[Document]) -> str:
    """The rates of each join with their batches, then the rates with results in time."""
    known = named(documents)
    found = {join.name: document for join in JOINS if (document := sustained(join, known)) is not None}
    lines = ["", "| join | system | rows a batch | rows/s | |", "| --- | --- | ---: | ---: | --- |"]
    for join, rows in overview_rows(documents).items():
        for row in rows:
            ratios = _ratios(join, row.label, found[join])
            lines.append(f"| {join} | {system(row)} | {row.batch} | {rounded(row.rows_per_second)} | {ratios} |")
    lines += ["", *(_run(join, found[join.name]) for join in JOINS if join.name in found), ""]
    return "\n".join(lines + _in_time(documents))


def _in_time(documents: Sequence[Document]) -> list[str]:
    """The best rates with results in time, and what the searches for them leave open."""
    rates, known = rate_table(documents), named(documents)
    if not rates:
        return []
    lines = ["The highest rate that was offered and at which 99 % of the rows had their results in time, in batches of"]
    lines += ["what had come:", "", *rates]
    for join in JOINS:
        if join.paced in known:
            lines.append(" ".join([f"{_run(join, known[join.paced])}.", *open_searches(known[join.paced])]))
    return [*lines, ""]


def _ratios(join: str, label: str, document: Document) -> str:
    """What a row is over others of its join: the median of the rounds and, of several, the least and the most."""
    texts = []
    for name, one, others, words in COMPARED:
        measured = [other for other in others if other in document.results]
        values = Target("", rate_ratio(one, *measured)).check(document.rounds).values
        if (name, one) == (join, label) and values:
            spread = f" ({_short(min(values))} to {_short(max(values))})" if len(values) > 1 else ""
            texts.append(f"{_short(statistics.median(values))} × {words}{spread}")
    return ", ".join(texts)


def _short(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _run(join: Join, document: Document) -> str:
    dates = ", ".join(dict.fromkeys(one["date"][:10] for one in document.measured))
    commits = ", ".join(dict.fromkeys(one["commit"] for one in document.measured))
    rounds = len(document.rounds)
    often = "one round" if rounds == 1 else f"medians of {rounds} rounds"
    return (
        f"- {join.name}: `braid bench {document.name} --{document.content['size']}`, {often}, {dates}, commit {commits}"
    )
