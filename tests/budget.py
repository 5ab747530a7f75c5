"""How many random cases the tests try, and which: decided here for all of them.

A random case is a function of its seed, and the seed is part of the test's name. Every property states how many seeds a
plain `make test` tries. `BRAID_CASES=10` tries ten times as many (`make fuzz` fourteen times), `BRAID_CASES=0.5` half,
and `BRAID_SEED=n` the seed n alone.
"""

from __future__ import annotations

import os

CASES, SEED = "BRAID_CASES", "BRAID_SEED"


def seeds(first: int, count: int) -> list[int]:
    """The seeds of a property that tries `count` of them in a plain run, beginning with `first`."""
    only = only_seed()
    return list(range(first, first + scaled(count))) if only is None else [only]


def only_seed() -> int | None:
    """The one seed that is to be tried, where there is one."""
    text = os.environ.get(SEED)
    return None if text is None else int(text)


def scaled(count: int) -> int:
    """A number of cases of a plain run as this run has it; never none, so that every property is tried."""
    return max(1, round(count * factor()))


def factor() -> float:
    text = os.environ.get(CASES, "1")
    found = float(text) if text.replace(".", "", 1).isdigit() else 0.0
    if not found:
        raise ValueError(
            f"{CASES}={text!r}: it is how many times the cases of a plain run are tried, such as 10 or 0.5"
        )
    return found


def describe() -> str:
    """For the head of a test run."""
    only = only_seed()
    number = f"{factor():g} times those of a plain run ({CASES})" if only is None else f"seed {only} alone ({SEED})"
    return f"random cases: {number}; the seed is in the name of a test, {SEED}=n repeats it"
