"""The outcome of an experiment: claims with the paper's figures and ours, a table, and curves to draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal


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


def within(value: float, expected: float, share: float) -> bool:
    return abs(value - expected) <= share * abs(expected)


def all_hold(outcomes: Sequence[Outcome]) -> bool:
    return all(claim.holds is not False for outcome in outcomes for claim in outcome.claims)
