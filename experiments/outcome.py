"""The outcome of an experiment: claims with the paper's figures and ours, a table, and curves to draw."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from experiments import claims
from experiments.claims import Judged, Measured, Verdict
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series


@dataclass(frozen=True)
class Claim:
    """One finding: as printed, as measured here, and whether it holds; None where that is undecided.

    `why` is the likely reason, to be told where the claim does not hold.
    """

    claim: str
    paper: str
    here: str
    holds: bool | None
    why: str = ""


@dataclass(frozen=True)
class Curve:
    """A line of a picture, or the bars of one colour, whose places along the axis are names."""

    label: str
    points: tuple[tuple[float | str, float], ...]


@dataclass(frozen=True)
class Outcome:
    """What an experiment found. `how` says how it was measured and at which size, `figures` what the paper calls it."""

    name: str
    title: str
    how: str
    figures: str
    claims: tuple[Claim, ...]
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    curves: tuple[Curve, ...] = ()
    axes: tuple[str, str] = ("", "")
    drawn: Literal["lines", "bars"] = "lines"
    details: dict[str, Any] = field(default_factory=dict)
    origin: str = ""  # when, of which commit, on how busy a machine

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(content: dict[str, Any]) -> Outcome:
        known = dict(content)
        known["claims"] = tuple(Claim(**claim) for claim in content["claims"])
        known["rows"] = tuple(tuple(row) for row in content["rows"])
        known["curves"] = tuple(Curve(c["label"], tuple((x, y) for x, y in c["points"])) for c in content["curves"])
        known["headings"], known["axes"] = tuple(content["headings"]), tuple(content["axes"])
        return Outcome(**known)


@dataclass(frozen=True)
class Adapted(Experiment):
    """An experiment whose function measures, judges and shows at once: its record keeps what it judged."""

    def judged(self, measured: Measured) -> list[Judged]:
        return [_judged(claim) for claim in Outcome.from_json(measured).claims]


def adapted(name: str, title: str, shown_in: tuple[str, ...], run: Callable[[Any], Outcome], *, timed: bool) -> Adapted:
    def measure(size: Any) -> Measured:
        return run(size).to_json()

    return Adapted(
        name, title, shown_in, measure, _describe, (), _tables, _pictures, timed, (sys.modules[run.__module__],)
    )


def _judged(claim: Claim) -> Judged:
    verdict = Verdict(claim.here, claim.holds, claim.why)
    return Judged(claims.Claim(claim.claim, claim.claim, claim.paper, lambda _: verdict), verdict)


def _describe(measured: Measured, settings: Settings) -> str:
    return str(measured["how"])


def _tables(measured: Measured) -> tuple[Table, ...]:
    outcome = Outcome.from_json(measured)
    return (Table(outcome.headings, outcome.rows),) if outcome.rows else ()


def _pictures(measured: Measured) -> tuple[Picture, ...]:
    outcome = Outcome.from_json(measured)
    series = tuple(Series(curve.label, curve.points) for curve in outcome.curves)
    if not series:
        return ()
    return (Picture("", outcome.title, outcome.axes[0], (outcome.axes[1],), series, outcome.drawn),)
