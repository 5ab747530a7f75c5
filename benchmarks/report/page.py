"""`docs/benchmarks.md`, made of the JSON records alone: a summary first, each benchmark, then what is to be reached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.pacing import FILE_SECONDS, STEADY_SECONDS
from benchmarks.report.overview import open_searches, overview_tables
from benchmarks.report.plots import OVERVIEW
from benchmarks.report.record import Document
from benchmarks.report.scale import scale_tables, scale_verdicts
from benchmarks.report.table import HEADINGS, RATE_HEADINGS, best_texts, cells, figure_text, number, seconds_text
from benchmarks.searching import CLOSE
from benchmarks.targets import ROUNDS

VERSIONS = ("python", "pyspark", "pyarrow", "numpy", "duckdb", "polars")
OPENING = f"""# Benchmarks

Made by `make bench` and `make bench-full` from the records in `benchmarks/results`; do not edit. Each system ran in a
process of its own, after the other, on the same files. Every answer was compared, rows and values, with DuckDB's over
the same batches.

- *rows a batch*: of all streams together. Flink takes rows one by one, Pathway makes commits of its own, and DuckDB and
  Polars take everything at once.
- *rows/s*: input rows over time in the steady part. A batch lasts from the commit before it to its own. What takes
  everything at once is timed by its best repeat. Of several rounds it is the median; *of rounds* gives their number,
  the lowest and the highest.
- *rows/s with p99 ≤ 1 s*: the highest rate that was offered at which 99 % of the rows had all their results in time.
  The window is full before the clock starts; then a file comes every {FILE_SECONDS:g} s; {STEADY_SECONDS:g} s count.
  A search ends when a rate at most {CLOSE:g} times as high has failed twice. Flink's results are out when the join
  emits them or, with checkpoints, when a checkpoint commits them; Pathway's when they stand in its file.
- *late*: from the moment rows were due to the commit of their results, when they arrive at half of the sustained rate.
- *source*: git's name for the folder `src` (`git rev-parse COMMIT:src`). Where it is the same, Braid is the same,
  whatever else a commit changed.
- *peak*: anonymous memory of all of a system's processes. *State* is what it keeps for a stored row, *written* what
  it put into its checkpoint for an input row.
"""
TARGETS = f"""## What is to be reached

Bounds that Braid sets itself. A bound on a time is met or missed only if at least {ROUNDS} rounds say so, each of them
by itself; otherwise it is undecided. *For comparison*: there is no bound.
"""


def write_page(path: Path, documents: Sequence[Document], pictures: Path, scale: dict[str, Any] | None = None) -> None:
    """The page over all records."""
    parts = [OPENING, _overview(documents, pictures)]
    parts += [_section(document, pictures) for document in documents]
    parts += [] if scale is None else [_scale_section(scale)]
    parts.append(_targets(documents, scale))
    path.write_text("\n".join(parts))


def _overview(documents: Sequence[Document], pictures: Path) -> str:
    picture = f"![Sustained rates of each join]({pictures.as_posix()}/{OVERVIEW}.svg)"
    return "\n".join(["## Summary", "", picture, "", overview_tables(documents)])


def _targets(documents: Sequence[Document], scale: dict[str, Any] | None) -> str:
    lines = [
        TARGETS,
        "| benchmark | figure | here | rounds | bound |  |",
        "| --- | --- | ---: | ---: | --- | --- |",
    ]
    for document in documents:
        for verdict in document.verdicts:
            outcome = f"**{verdict.outcome}**" if verdict.outcome == "missed" else verdict.outcome
            lines.append(
                f"| {document.name} | {verdict.description} | {figure_text(verdict)} | {len(verdict.values)} | "
                f"{verdict.bound} | {outcome} |"
            )
    for one in [] if scale is None else scale_verdicts(scale):
        bound = f"≤ {one.at_most:g}" if one.at_most is not None else f"≥ {one.at_least:g}"
        outcome = {True: "met in one run", False: "**missed** in one run", None: "not measured"}[one.met]
        value = "" if one.value is None else number(one.value)
        lines.append(f"| scale | {one.description} | {value} | 1 | {bound} | {outcome} |")
    return "\n".join(lines) + "\n"


def _section(document: Document, pictures: Path) -> str:
    lines = [
        f"## {document.title}",
        "",
        f"`braid bench {document.name}`, {provenance(document)}.",
        "",
        f"![{document.title}]({pictures.as_posix()}/{document.name}.svg)",
        "",
    ]
    lines += _searches(document) if document.searches else _rows(document)
    for row in document.rows:
        if row.error:
            lines += [f"{row.label} gave no rate: `{_one_line(row.error)}`", ""]
    for text in open_searches(document):
        lines += [text, ""]
    return "\n".join([*lines, *_settings(document)])


def provenance(document: Document) -> str:
    """Size, times, commits, machine and versions, as the record has them."""
    commits, sources = (_each(one[key] for one in document.measured) for key in ("commit", "source"))
    dates = _each(one["date"][:10] for one in document.measured)
    machine, versions = document.content["machine"], document.content["versions"]
    place = f"{machine['cores']} cores of {machine['processor']}, {machine['memory_gib']} GiB"
    load = _load(document)
    if machine.get("niceness"):
        load += f", niceness {machine['niceness']}"
    named = ", ".join(f"{name} {versions[name]}" for name in VERSIONS)
    return f"{document.content['size']} size, {dates}, commit {commits}, source {sources}, {place}, {load}, {named}"


def _load(document: Document) -> str:
    """How busy the machine was: before each run or, where a record does not say that, before the first."""
    loads = [float(one["load"]) for one in document.measured if "load" in one]
    if loads:
        return f"load {min(loads):g} to {max(loads):g} before its runs"
    average = document.content["machine"].get("load_average")
    return f"load {average[0]} before it started" if average else "load unknown"


def _rows(document: Document) -> list[str]:
    lines = ["|  | " + " | ".join(HEADINGS) + " |", "| --- |" + " ---: |" * len(HEADINGS)]
    lines += [f"| {row.name} | " + " | ".join(cells(row)) + " |" for row in document.rows]
    return [*lines, ""]


def _searches(document: Document) -> list[str]:
    searches = {label: tried for label, tried in document.searches.items() if tried[0].error is None}
    lines = ["|  | " + " | ".join(RATE_HEADINGS) + " |", "| --- |" + " ---: |" * len(RATE_HEADINGS)]
    lines += [f"| {label} | " + " | ".join(best_texts(tried)) + " |" for label, tried in searches.items()]
    lines += ["", "Every rate that was offered:", "", "|  | rows/s | late p50 | late p99 | answer |"]
    lines.append("| --- | ---: | ---: | ---: | --- |")
    for label, tried in searches.items():
        lines += [
            f"| {label} | {one.rate:,.0f} | {seconds_text(one.p50)} | {seconds_text(one.p99)} | {one.answer} |"
            for one in sorted(tried, key=lambda one: one.rate)
        ]
    return [*lines, ""]


def _scale_section(record: dict[str, Any]) -> str:
    machine, versions = record["machine"], record["versions"]
    place = f"{machine['cores']} cores of {machine['processor']}, {machine['memory_gib']} GiB"
    code = f"commit {versions['commit']}, source {versions['source']}"
    run = f"{record['size']} size, {record['date'][:10]}, {code}, {place}"
    settings = ", ".join(f"{name} {value}" for name, value in record["settings"].items())
    model = f"Model: {record['model']['seconds']}, {record['model']['bandwidth_bytes']:,.0f} bytes a second"
    return "\n".join(
        [
            "## How the work of a step grows with the number of slots",
            "",
            f"`braid bench scale`, {run}. {model}.",
            "",
            scale_tables(record),
            f"<details><summary>Settings</summary>\n\n{settings}\n\n</details>\n",
        ]
    )


def _settings(document: Document) -> list[str]:
    lines = ["<details><summary>Settings</summary>", ""]
    for label, results in document.results.items():
        task, measurement = results[0].task, results[0].measurement
        settings = ", ".join(f"`{name}={value}`" for name, value in measurement.settings.items())
        options = ", ".join(f"{name} {value}" for name, value in task.options.items())
        lines.append(f"- {label}: {options or 'defaults'}; {settings or 'no settings'}")
    return [*lines, "", "</details>", ""]


def _each(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300].replace("`", "'")
