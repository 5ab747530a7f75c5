"""The experiments at their quick size: every claim that is counted holds, and the page is made of the record alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import cast

import pytest

from benchmarks.tasks import Measurement, Task
from benchmarks.workloads.tpch import generator
from experiments import bistream, side_by_side
from experiments.bistream import aggregation, latency, throughput
from experiments.bistream.models import model
from experiments.experiment import Experiment, plain
from experiments.outcome import Outcome
from experiments.side_by_side import Variant, in_turn

SIZE = bistream.SIZES["quick"]
ROUNDS = replace(SIZE, rounds=3, paced_rounds=3)
needs_rows = pytest.mark.skipif(generator() is None, reason="TPC-H's rows need tpchgen-cli, from the extra bench")
# With few rows a step, the fixed bytes of a segment decide how many units a load needs.
BY_BYTES_OF_SMALL_SEGMENTS = ("units added when the load rises", "units removed when it falls")


COUNTED = [experiment for experiment in bistream.EXPERIMENTS if not experiment.timed]


@needs_rows
@pytest.mark.parametrize("experiment", COUNTED, ids=lambda experiment: experiment.name)
def test_the_counted_claims_of_the_join_biclique_hold(experiment: Experiment) -> None:
    judged = experiment.judged(plain(experiment.measure(SIZE)))
    assert judged
    failed = [one.claim.name for one in judged if one.verdict.holds is False]
    assert [name for name in failed if name not in BY_BYTES_OF_SMALL_SEGMENTS] == []


class Scripted:
    """Instead of Spark: a run takes as long as its strategy, or what becomes of its results, says."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds

    def run(self, variant: Variant) -> Measurement:
        task = variant.task
        way = "none" if variant.summing is None else variant.summing.updates
        seconds = self._seconds.get(task.strategy or "", 1.0) * self._seconds.get(way, 1.0)
        late = {"p50": seconds, "p99": seconds, "rate": task.rows_per_second}
        return Measurement((seconds,) * task.batches, (100,) * task.batches, details={"latency": late})


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def use(**seconds: float) -> None:
        by_text = {
            model(name.replace("_", "-")).describe() if name[0] == "J" else name: t for name, t in seconds.items()
        }
        for module in (throughput, latency, aggregation):
            monkeypatch.setattr(module, "open_stage", lambda: nullcontext(Scripted(by_text)))

    return use


def verdicts(outcome: Outcome, words: str) -> list[bool | None]:
    assert Outcome.from_json(outcome.to_json()) == outcome
    return [claim.holds for claim in outcome.claims if words in claim.claim]


def test_rates_are_compared_within_a_query(scripted: Callable[..., None]) -> None:
    scripted(JB16=1.5, JB16_CR4=1.2, JB16_CR8=0.9)
    outcome = throughput.throughput(ROUNDS)
    assert verdicts(outcome, "subgroups") == [True, True]
    assert verdicts(outcome, "random routing") == [True, True, True]
    assert verdicts(outcome, "JB8 keeps up") == [True, True, True]
    assert verdicts(outcome, "collapses") == [None]
    assert ("q5, JB16", "67", "0.67 (0.67 to 0.67)", "1.00 (1.00 to 1.00)") in outcome.rows
    scripted(JM16=1.0, JB8=2.0, JB16=0.9)
    outcome = throughput.throughput(ROUNDS)
    assert verdicts(outcome, "subgroups") == [False, False]
    assert verdicts(outcome, "random routing") == [False, False, False]
    assert verdicts(outcome, "JB8 keeps up") == [False, False, False]


@needs_rows
def test_lateness_is_compared_within_a_query(scripted: Callable[..., None]) -> None:
    scripted(JB16=1.005, JB16_CR8=0.995)
    assert verdicts(latency.latency(ROUNDS), "late") == [True, True, True, True, True]
    scripted(JB16=1.1)
    assert verdicts(latency.latency(ROUNDS), "late") == [False, False, False, False, False]


def test_aggregation_costs_little_up_to_a_tenth(scripted: Callable[..., None]) -> None:
    scripted(batched=1.05, immediate=3.0)
    outcome = aggregation.aggregation(ROUNDS)
    assert verdicts(outcome, "costs little") == [True] * 5
    assert ("band, JB16", "100", "0.95 (0.95 to 0.95)", "0.33 (0.33 to 0.33)") in outcome.rows
    scripted(batched=1.2)
    assert verdicts(aggregation.aggregation(ROUNDS), "costs little") == [False] * 5


def test_every_variant_runs_once_a_round_and_none_always_first() -> None:
    ran: list[str] = []

    class Stage:
        def run(self, variant: Variant) -> Measurement:
            ran.append(variant.task.peer)
            return Measurement()

    variants = {peer: Variant(Task(peer, "history", {}, 1)) for peer in "abc"}
    found = in_turn(cast(side_by_side.Stage, Stage()), variants, 3)
    assert "".join(ran) == "a" + "abc" + "bca" + "cab"
    assert {name: len(runs) for name, runs in found.items()} == {"a": 3, "b": 3, "c": 3}


@pytest.mark.parametrize("name", ["JX4", "JM15", "biclique"])
def test_settings_that_the_paper_has_not_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        model(name)
