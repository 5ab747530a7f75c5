"""A paper's page, made of its records alone: a summary, then a section for each experiment, with all of its claims."""

from __future__ import annotations

import os
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.claims import Judged
from experiments.experiment import Experiment, Table
from experiments.pictures import FIELDS, draw, draw_overview
from experiments.records import Earlier, Record

PARTS = {"python": "Python", "pyspark": "PySpark", "pyarrow": "PyArrow", "numpy": "NumPy"}
WORDS = {
    "holds": ("holds", "hold"),
    "does not hold": ("does not", "do not"),
    "undecided": ("is undecided", "are undecided"),
}
WAITS = "This was not measured since its measurement was changed: it waits for the next run."
OVERVIEW = "overview"


@dataclass(frozen=True)
class Paper:
    """A paper's experiments, and the names of all figures and tables it has.

    Every one of `shown` is measured by an experiment, or `not_measured` says why it is not.
    """

    name: str
    title: str
    opening: str
    experiments: tuple[Experiment, ...]
    sizes: Mapping[str, Any]
    shown: tuple[str, ...]
    not_measured: Mapping[str, str] = field(default_factory=dict)


Records = Mapping[str, Record]


def page_text(paper: Paper, size: str, records: Records, folder: str) -> str:
    """The page; `folder` is where its pictures are."""
    judged = {one.name: one.judged(records[one.name].measured) for one in paper.experiments if one.name in records}
    lines = [f"# {paper.title}", "", paper.opening.strip(), "", *_overview(paper, size, records, judged, folder), ""]
    lines += _contents(paper, judged)
    for experiment in paper.experiments:
        lines += ["", f"## {experiment.title}", ""]
        record = records.get(experiment.name)
        lines += [WAITS] if record is None else _section(experiment, record, judged[experiment.name], folder)
    if paper.not_measured:
        lines += ["", "## Not measured", "", "| of the paper | why |", "| --- | --- |"]
        lines += [f"| {name} | {why} |" for name, why in paper.not_measured.items()]
    return "\n".join(lines) + "\n"


def write_page(path: Path, paper: Paper, size: str, records: Records, pictures: Path) -> None:
    """The page, with pictures in a folder of their own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page_text(paper, size, records, picture_folder(path, pictures)))
    shown = [one for one in paper.experiments if one.name in records]
    counts = [(one.title, Counter(j.word for j in one.judged(records[one.name].measured))) for one in shown]
    draw_overview(counts, pictures, OVERVIEW)
    for experiment in shown:
        for picture in experiment.pictures(records[experiment.name].measured):
            draw(picture, pictures, _file_of(experiment, picture.name))


def picture_folder(path: Path, pictures: Path) -> str:
    return Path(os.path.relpath(pictures, path.parent)).as_posix()


def _overview(
    paper: Paper, size: str, records: Records, judged: Mapping[str, Sequence[Judged]], folder: str
) -> list[str]:
    counts = Counter(one.word for all_of_one in judged.values() for one in all_of_one)
    parts = [f"{counts[word]} {one if counts[word] == 1 else many}" for word, (one, many) in WORDS.items()]
    certain = f"{counts['by construction']} could not have come out otherwise, and are marked so"
    made = f"Made by `braid experiments run {paper.name}`, {size} size, of the records that each section names."
    text = f"Of {counts.total()} claims {', '.join(parts)}; {certain}. {made} {_measured_code(records)}"
    waiting = [one.title for one in paper.experiments if one.name not in judged]
    if waiting:
        text += f" Not measured since the measurement was changed: {'; '.join(waiting)}."
    return [*textwrap.wrap(text, 120), "", f"![Claims of the paper, by what was found here]({folder}/{OVERVIEW}.svg)"]


def _measured_code(records: Records) -> str:
    """Whether all sections measured the same Braid; commits may differ where it did not change."""
    sources = sorted({record.source for record in records.values()})
    if not sources:
        return ""
    if len(sources) == 1:
        return f"All sections measured the same Braid, source {sources[0]} (`git rev-parse COMMIT:src`)."
    return "Not all sections measured the same Braid: see the source (`git rev-parse COMMIT:src`) of each."


def _contents(paper: Paper, judged: Mapping[str, Sequence[Judged]]) -> list[str]:
    """Every section, what of the paper it measures, and how many of its claims hold."""
    lines = [f"| section | of the paper | {' | '.join(FIELDS)} |", f"| --- | --- |{' ---: |' * len(FIELDS)}"]
    for experiment in paper.experiments:
        counts = Counter(one.word for one in judged.get(experiment.name, ()))
        numbers = " | ".join(str(counts[word]) if experiment.name in judged else "" for word in FIELDS)
        link = f"[{experiment.title}](#{_anchor(experiment.title)})"
        lines.append(f"| {link} | {', '.join(experiment.shown_in)} | {numbers} |")
    return lines


def _anchor(heading: str) -> str:
    """The name that a heading has as the target of a link."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _claim(one: Judged) -> str:
    word = {"does not hold": "**does not hold**"}.get(one.word, one.word)
    if one.word == "by construction":
        word += f": {one.claim.certain}"
    return f"| {one.claim.text} | {one.claim.paper} | {one.verdict.here} | {word} |"


def _section(experiment: Experiment, record: Record, judged: Sequence[Judged], folder: str) -> list[str]:
    """How it was measured, when and of which commit, its claims, why what fails is likely to fail, and all figures."""
    lines = [experiment.describe(record.measured, record.settings), "", _origin(record), ""]
    lines += [f"| {', '.join(experiment.shown_in)} | paper | here |  |", "| --- | --- | --- | --- |"]
    lines += [_claim(one) for one in judged]
    reasons = dict.fromkeys(j.verdict.why for j in judged if j.verdict.holds is not True and j.verdict.why)
    for reason in reasons:
        lines += ["", reason]
    for one in judged:
        before = record.verdicts.get(one.claim.name)
        if before is not None and before["holds"] is not one.verdict.holds:
            lines += ["", f"Judged otherwise when it was measured: {one.claim.text}: {before['here']}."]
    now = {one.claim.text: one.verdict.here for one in judged if one.verdict.holds is False}
    lines += [line for earlier in record.earlier for line in _earlier(earlier, now)]
    for picture in experiment.pictures(record.measured):
        lines += ["", f"![{picture.title}]({folder}/{_file_of(experiment, picture.name)}.svg)"]
    for table in experiment.tables(record.measured):
        lines += _table(table)
    return [*lines, *_settings(record)]


def _file_of(experiment: Experiment, picture: str) -> str:
    return f"{experiment.name}-{picture}" if picture else experiment.name


def _table(table: Table) -> list[str]:
    lines = ["", table.caption] if table.caption else []
    lines += ["", "| " + " | ".join(table.headings) + " |", "| --- |" + " ---: |" * (len(table.headings) - 1)]
    return lines + ["| " + " | ".join(row) + " |" for row in table.rows]


def _origin(record: Record) -> str:
    machine, versions = record.run["machine"], record.run["versions"]
    place = f"{machine['cores']} cores of {machine['processor']}, {machine['memory_gib']} GiB"
    load = f"load {machine['load_average'][0]:g} before it"
    parts = ", ".join(f"{name} {versions[key]}" for key, name in PARTS.items() if key in versions)
    code = f"commit {record.commit}, source {record.source}"
    return f"Measured {_minute(record.run['date'])} at {code}, {place}, {load}; {parts}."


def _earlier(earlier: Earlier, now: Mapping[str, str]) -> list[str]:
    """What failed under other settings. A claim that fails now with the same figures is in the table already."""
    changed = ", ".join(f"{name} {_short(value)}" for name, value in earlier.settings.items())
    begin = f"Earlier, {_minute(earlier.date)} at commit {earlier.commit}"
    begin += f", with {changed}" if changed else ", before settings were added"
    others = [f"- {text}: {here}" for text, here in earlier.verdicts.items() if now.get(text) != here]
    same = len(earlier.verdicts) - len(others)
    if not others:
        return ["", f"{begin}, {_claims(same)} did not hold, with the same figures as now."]
    beside = f", beside {_claims(same)} with the same figures as now" if same else ""
    return ["", f"{begin}, these did not hold{beside}:", "", *others]


def _claims(number: int) -> str:
    return "one claim" if number == 1 else f"{number} claims"


def _settings(record: Record) -> list[str]:
    if not record.settings:
        return []
    found = [f"`{name}` {_short(value)}" for name, value in record.settings.items()]
    return ["", "<details><summary>Settings</summary>", "", ", ".join(found), "", "</details>"]


def _short(value: Any) -> str:
    if isinstance(value, list):
        return "(" + ", ".join(_short(one) for one in value) + ")"
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name}: {_short(one)}" for name, one in value.items()) + ")"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _minute(date: str) -> str:
    return f"{date[:16].replace('T', ' ')} UTC"
