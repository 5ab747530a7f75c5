"""A benchmark's outcome on the terminal, and the text of its figures."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from benchmarks.report.record import Document, Row
from benchmarks.searching import BOUNDS, Tried, best_rate
from benchmarks.targets import Verdict

TIMES = ("step p50", "step p99", "late p50", "late p99")
HEADINGS = (
    "rows a batch",
    "rows/s",
    "of rounds",
    *TIMES,
    "peak MB",
    "state B/row",
    "written B/row",
    "results",
    "answer",
)
RATE_HEADINGS = tuple(f"rows/s with p99 ≤ {bound:g} s" for bound in BOUNDS)
DIGITS = 3
STYLES = {"met": "green", "missed": "red", "undecided": "yellow"}


def print_record(console: Console, document: Document) -> None:
    """The table of the figures there are, then a line for each target."""
    if document.searches:
        _print_searches(console, document)
    else:
        _print_rows(console, document)
    for row in document.rows:
        if row.error:
            console.print(f"{row.label}: {row.error}", markup=False, style="yellow")
    for verdict in document.verdicts:
        text = f"{verdict.description}: {verdict_text(verdict)}"
        console.print(text, style=STYLES.get(verdict.outcome, ""), markup=False)


def _print_rows(console: Console, document: Document) -> None:
    texts = [cells(row) for row in document.rows]
    filled = [number for number in range(len(HEADINGS)) if any(line[number] for line in texts)]
    table = Table(title=document.title, title_justify="left")
    table.add_column("", no_wrap=True)
    for number in filled:
        table.add_column(HEADINGS[number], justify="right", no_wrap=True)
    for row, line in zip(document.rows, texts, strict=True):
        table.add_row(row.label, *(line[number] for number in filled))
    console.print(table)


def _print_searches(console: Console, document: Document) -> None:
    table = Table(title=document.title, title_justify="left")
    for heading in ("", *RATE_HEADINGS, "tried"):
        table.add_column(heading, justify="right" if heading else "left")
    for label, tried in document.searches.items():
        table.add_row(label, *best_texts(tried), ", ".join(tried_text(one) for one in tried))
    console.print(table)


def cells(row: Row) -> list[str]:
    """A row's figures as text; nothing where there is none."""
    return [
        row.batch,
        whole(row.rows_per_second),
        spread_text(row.rates) if len(row.rates) > 1 else "",
        seconds_text(row.step_p50),
        seconds_text(row.step_p99),
        seconds_text(row.latency_p50),
        seconds_text(row.latency_p99),
        "" if row.peak_bytes is None else f"{row.peak_bytes / 1e6:,.0f}",
        whole(row.state_bytes_a_row),
        whole(row.written_bytes_a_row),
        whole(row.results),
        "" if row.results is None else "right" if row.agrees else "WRONG",
    ]


def best_texts(tried: list[Tried]) -> list[str]:
    """The best rate for each bound; where none held, the lowest that was offered."""
    texts = []
    for bound in BOUNDS:
        best = best_rate(tried, bound)
        texts.append(f"none, {rounded(min(one.rate for one in tried))} is too much" if best is None else rounded(best))
    return texts


def tried_text(one: Tried) -> str:
    late = "no result" if one.p99 is None else f"{one.p99:.2f} s"
    return f"{one.rate:,.0f}: {late}"


def verdict_text(verdict: Verdict) -> str:
    """The figure with its bound and outcome."""
    if verdict.value is None:
        return f"not measured ({verdict.bound})"
    bound = f" ({verdict.bound}, {verdict.outcome})" if verdict.bound else ""
    return figure_text(verdict) + bound


def figure_text(verdict: Verdict) -> str:
    """The median of the rounds, and how far they lie apart."""
    if verdict.value is None:
        return "not measured"
    spread = f" ({number(min(verdict.values))} to {number(max(verdict.values))})" if len(verdict.values) > 1 else ""
    return number(verdict.value) + spread


def number(value: float) -> str:
    """Two places, and no sign before a zero."""
    return f"{value:.2e}" if abs(value) >= 1e6 else f"{round(value, 2) + 0.0:,.2f}"


def spread_text(rates: tuple[float, ...]) -> str:
    return f"{len(rates)}: {min(rates):,.0f} to {max(rates):,.0f}" if rates else ""


def rounded(rate: float | None) -> str:
    """A rate to three digits: runs differ by more."""
    return "" if rate is None else whole(float(f"{rate:.{DIGITS}g}"))


def whole(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def seconds_text(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} s"
