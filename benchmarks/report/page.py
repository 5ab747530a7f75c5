"""`docs/benchmarks.md`, made of the JSON records alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report.table import HEADINGS, cells, target_text

VERSIONS = ("python", "pyspark", "pyarrow", "numpy", "duckdb", "polars", "commit")
OPENING = """# Benchmarks

Made by `make bench` and `make bench-full` from the records in `benchmarks/results`; do not edit. Each system ran in a
process of its own, after the other, on the same files, on the machine below. Every answer was compared, rows and
values, with DuckDB's over the same batches.

- *rows/s*: input rows over time in the steady part. A batch lasts from the commit before it to its own. What takes
  everything at once is timed by its best repeat.
- *late*: from the moment rows were due to the commit of their results, when they arrive at half of the sustained rate.
- *peak*: anonymous memory of all of a system's processes. *State* is what it keeps for a stored row, *written* what
  it put into its checkpoint for an input row.
"""


def write_page(path: Path, documents: Sequence[dict[str, Any]], pictures: Path) -> None:
    """The page over all records."""
    parts = [OPENING, _targets(documents)]
    parts += [_section(document, pictures) for document in documents]
    path.write_text("\n".join(parts))


def _targets(documents: Sequence[dict[str, Any]]) -> str:
    lines = [
        "## What is to be reached",
        "",
        "| benchmark | figure | here | bound |  |",
        "| --- | --- | ---: | --- | --- |",
    ]
    for document in documents:
        for target in document["targets"]:
            verdict = {True: "met", False: "**missed**", None: ""}[target["met"]]
            value = "not measured" if target["value"] is None else target_text({**target, "bound": ""})
            lines.append(
                f"| {document['benchmark']} | {target['description']} | {value} | {target['bound']} | {verdict} |"
            )
    return "\n".join(lines) + "\n"


def _section(document: dict[str, Any], pictures: Path) -> str:
    machine = document["machine"]
    command = f"`braid bench {document['benchmark']}`"
    place = f"{machine['cores']} cores of {machine['processor']}, {machine['memory_gib']} GiB"
    with_versions = ", ".join(f"{name} {document['versions'][name]}" for name in VERSIONS)
    lines = [
        f"## {document['title']}",
        "",
        f"{command}, {document['size']} size, {document['date'][:10]}, {place}, {with_versions}.",
        "",
        f"![{document['title']}]({pictures.as_posix()}/{document['benchmark']}.svg)",
        "",
        "|  | " + " | ".join(HEADINGS) + " |",
        "| --- |" + " ---: |" * len(HEADINGS),
    ]
    lines += [f"| {row.label} | " + " | ".join(cells(row)) + " |" for row in document["rows"]]
    lines.append("")
    for row in document["rows"]:
        if row.error:
            lines += [f"{row.label} gave no rate: `{_one_line(row.error)}`", ""]
    lines += _settings(document)
    return "\n".join(lines)


def _settings(document: dict[str, Any]) -> list[str]:
    lines = ["<details><summary>Settings</summary>", ""]
    for label, result in document["measurements"].items():
        settings = ", ".join(f"`{name}={value}`" for name, value in result["measurement"]["settings"].items())
        options = ", ".join(f"{name} {value}" for name, value in result["task"]["options"].items())
        lines.append(f"- {label}: {options or 'defaults'}; {settings or 'no settings'}")
    return [*lines, "", "</details>", ""]


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300].replace("`", "'")
