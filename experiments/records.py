"""Records: one JSON file for each experiment, with the run, the settings, what was measured, and what failed before.

Pages are made of records alone. When an experiment is measured again with other settings, the claims that did not hold
before stay in the record, with the settings that were changed since.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.claims import Measured
from experiments.experiment import Experiment, Settings, plain


@dataclass(frozen=True)
class Earlier:
    """Claims that did not hold in an earlier measurement, and what was chosen then and differs now."""

    date: str
    commit: str
    settings: Settings
    verdicts: dict[str, str]


@dataclass(frozen=True)
class Record:
    """`run` says when, where and on what; `verdicts` are those of the code that measured, by the claims' names."""

    run: dict[str, Any]
    settings: Settings
    measured: Measured
    verdicts: dict[str, dict[str, Any]]
    earlier: tuple[Earlier, ...] = ()

    @property
    def commit(self) -> str:
        return str(self.run["versions"]["commit"])

    @property
    def source(self) -> str:
        """Git's name for the folder `src` at that commit: where it is the same, Braid is the same."""
        return str(self.run["versions"]["source"])


def make_record(experiment: Experiment, size: Any, run: dict[str, Any]) -> Record:
    """Measure, and judge by the claims as they are now."""
    measured = plain(experiment.measure(size))
    verdicts = {one.claim.name: {"text": one.claim.text, **asdict(one.verdict)} for one in experiment.judged(measured)}
    return Record(run, experiment.settings(size), measured, verdicts)


def record_path(home: Path, size: str, name: str) -> Path:
    return home / "results" / size / f"{name}.json"


def read_record(path: Path) -> Record | None:
    """The record in a file; None: there is none."""
    if not path.exists():
        return None
    content = json.loads(path.read_text())
    return Record(**{**content, "earlier": tuple(Earlier(**one) for one in content["earlier"])})


def keep_record(path: Path, record: Record) -> Record:
    """Write a record in place of the one before, whose failures it keeps if settings were changed since."""
    before = read_record(path)
    if before is not None:
        record = Record(record.run, record.settings, record.measured, record.verdicts, earlier_of(before, record))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(record), indent=1) + "\n")
    return record


def earlier_of(before: Record, after: Record) -> tuple[Earlier, ...]:
    """What is known of earlier failures once `after` takes the place of `before`."""
    failed = {v["text"]: v["here"] for v in before.verdicts.values() if v["holds"] is False}
    changed = {name: value for name, value in before.settings.items() if after.settings.get(name) != value}
    added = dict.fromkeys(after.settings.keys() - before.settings.keys())
    if not failed or not (changed or added):
        return before.earlier
    return (*before.earlier, Earlier(before.run["date"], before.commit, changed, failed))
