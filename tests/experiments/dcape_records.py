"""Records of adapting state, by hand: what would be measured if every claim held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments.claims import Measured
from experiments.dcape import balance, integrated, victims
from experiments.experiment import plain

ROUNDS = 3


def rounds(**figures: Any) -> list[Measured]:
    one = {
        "results": 1_000,
        "deferred": [100, 100, 100],
        "reread": [100, 100, 100],
        "spills": 3,
        "relocations": 3,
        "moved_share": 0.3,
        "fullest": 0.95,
        "spread_90": 1.1,
        "spread_most": 1.4,
        "results_by_time": [0, 10, 1_000],
    }
    return [{**one, **figures} for _ in range(ROUNDS)]


def shares_record() -> Measured:
    by_share = {
        str(share): rounds(results=1_000 - 100 * n, spills=20 - 2 * n) for n, share in enumerate(victims.SHARES)
    }
    return {str(limit): by_share for limit in victims.LIMITS}


def victims_record() -> Measured:
    def chosen(unproductive: int) -> Measured:
        return {
            "unproductive": rounds(results=unproductive, deferred=[100], reread=[100]),
            "productive": rounds(results=1_000, deferred=[500], reread=[200]),
            "random": rounds(),
        }

    named = (("mixed", 3_000), ("same", 1_100))
    return {name: {str(limit): chosen(found) for limit in victims.LIMITS} for name, found in named}


def alternating_record() -> Measured:
    moves = {"0.5": (2, 0.2), "0.7": (5, 0.3), "0.8": (8, 0.4), "0.9": (24, 0.48)}
    found = {name: rounds(relocations=count, moved_share=share) for name, (count, share) in moves.items()}
    every = dict(zip(map(str, balance.INTERVALS_MS), (31, 27, 24), strict=True))
    return {
        "none": rounds(relocations=0, moved_share=0.0, spread_most=9.0),
        "balance": found,
        "every": {interval: rounds(relocations=count) for interval, count in every.items()},
    }


def skewed_record() -> Measured:
    return {"none": rounds(results=800), "moves": rounds(spills=0)}


def lazy_record() -> Measured:
    found: Measured = {str(limit): {"none": rounds(results=800), "lazy": rounds()} for limit in integrated.LAZY_LIMITS}
    return {**found, "long": {"none": rounds(deferred=[400, 10, 10]), "lazy": rounds()}}


def active_record() -> Measured:
    by_policy = {
        "lazy": rounds(results=800, results_by_time=[0, 10, 800]),
        "active": rounds(results_by_time=[0, 9, 1_000]),
        "as long again": rounds(results=900),
    }
    return {str(limit): by_policy for limit in integrated.ACTIVE_LIMITS}


RECORDS: dict[str, Callable[[], Measured]] = {
    "spill_shares": shares_record,
    "spill_victims": victims_record,
    "alternating": alternating_record,
    "skewed": skewed_record,
    "lazy_disk": lazy_record,
    "active_disk": active_record,
}


def record(name: str) -> Measured:
    """A new copy, as it is read back."""
    return dict(plain(RECORDS[name]()))
