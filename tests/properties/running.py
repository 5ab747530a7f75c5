"""A random case run in this process: by one run, or by another run for every batch."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from braid.optimizer.strategies import Strategy
from braid.testing import InlineQuery, ManualClock
from tests.properties.cases import Case, results_of, some_exchange

Results = Counter[tuple[Any, ...]]


def run(
    case: Case, directory: Path, strategy: Strategy | None = None, slots: int = 2, ingest_tasks: int = 1
) -> Results:
    """What one run publishes of all batches."""
    clock, chance = ManualClock(case.clock_ms[0]), random.Random(f"{case.seed} {strategy} {slots}")
    query = InlineQuery(
        case.logical_plan,
        str(directory),
        strategy=strategy,
        slots=slots,
        ingest_tasks=ingest_tasks,
        clock=clock,
        exchange=some_exchange(case.logical_plan, chance),
    )
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        query.run(batch, case.tables(batch))
    return results_of(case, query.published())


def run_restarted(case: Case, directory: Path, chance: random.Random, choose: Callable[[], Strategy]) -> Results:
    """What a run per batch publishes, each with a chosen strategy and with any number of slots and ingest tasks.

    The case is to be `restarted()`, so that the oracle knows of the runs.
    """
    clock = ManualClock(case.clock_ms[0])
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        query = InlineQuery(
            case.logical_plan,
            str(directory),
            strategy=choose(),
            slots=chance.randint(1, 4),
            ingest_tasks=chance.randint(1, 3),
            clock=clock,
            exchange=some_exchange(case.logical_plan, chance),
        )
        query.run(batch, case.tables(batch))
    return results_of(case, query.published())


def explain(case: Case, got: Results, how: object = "") -> str:
    missing, surplus = case.expected - got, got - case.expected
    some = [*list(missing)[:2], *list(surplus)[:2]]
    return f"{case.describe()}\n{how}\nmissing {missing.total()}, surplus {surplus.total()}: {some}"
