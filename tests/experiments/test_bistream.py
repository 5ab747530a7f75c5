"""The experiments at their quick size: every claim that is counted holds, and the page is made of the record alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from benchmarks.tasks import Measurement, Task
from benchmarks.workloads.tpch import generator
from experiments import bistream, side_by_side
from experiments.bistream import aggregation, latency, throughput
from experiments.bistream.models import model
from experiments.bistream.size import Size
from experiments.command import keep_record
from experiments.outcome import Claim, Curve, Outcome, all_hold
from experiments.page import write_page
from experiments.side_by_side import Ratio, Variant, all_of, in_turn

SIZE = bistream.SIZES["quick"]
needs_rows = pytest.mark.skipif(generator() is None, reason="TPC-H's rows need tpchgen-cli, from the extra bench")
OUTCOME = Outcome(
    "example",
    "An example",
    "Counted.",
    "Figure 3",
    (Claim("more is more", "2 times", "2.1 times", True),),
    ("what", "how many"),
    (("these", "3"),),
    (Curve("a", ((1.0, 2.0), (2.0, 4.0))),),
    ("along", "up"),
)
RUN = {
    "date": "2026-11-15T00:00:00",
    "size": "quick",
    "machine": {"cores": 2, "processor": "some", "memory_gib": 8},
    "versions": {"commit": "abc"},
}


# With few rows a step, the fixed bytes of a segment decide how many units a load needs.
BY_BYTES_OF_SMALL_SEGMENTS = ("units added when the load rises", "units removed when it falls")


@needs_rows
@pytest.mark.parametrize("experiment", bistream.COUNTED, ids=lambda experiment: experiment.__name__)
def test_the_counted_claims_of_the_join_biclique_hold(experiment: Callable[[Size], Outcome]) -> None:
    outcome = experiment(bistream.SIZES["quick"])
    assert outcome.claims
    failed = [claim for claim in outcome.claims if claim.holds is False]
    assert [claim for claim in failed if claim.claim not in BY_BYTES_OF_SMALL_SEGMENTS] == []
    assert Outcome.from_json(outcome.to_json()) == outcome


def test_a_claim_that_does_not_hold_is_reported() -> None:
    assert all_hold([OUTCOME])
    assert not all_hold([OUTCOME, replace(OUTCOME, claims=(Claim("less", "1", "2", False),))])


def test_experiments_that_did_not_run_keep_what_was_found_before(tmp_path: Path) -> None:
    path = tmp_path / "results" / "full.json"
    first, second = (replace(OUTCOME, name=name, origin="then") for name in ("first", "second"))
    keep_record(path, RUN, [second], ["first", "second"])
    keep_record(path, RUN, [first], ["first", "second"])
    keep_record(path, {**RUN, "size": "full"}, [replace(second, origin="now")], ["first", "second"])
    content = json.loads(path.read_text())
    assert content["run"]["size"] == "full"
    assert [(one["name"], one["origin"]) for one in content["outcomes"]] == [("first", "then"), ("second", "now")]


def test_the_page_has_every_claim_table_and_picture(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "paper.md"
    write_page(page, "A paper", "What it says.", [OUTCOME], RUN, tmp_path / "docs" / "pictures")
    text = page.read_text()
    assert "| Figure 3 | more is more | 2 times | 2.1 times | holds |" in text
    assert "| these | 3 |" in text
    assert "![An example](pictures/example.svg)" in text
    assert (tmp_path / "docs" / "pictures" / "example.png").stat().st_size > 0


def test_a_claim_that_does_not_hold_has_its_reason_on_the_page(tmp_path: Path) -> None:
    bars = (Curve("a", (("here", 1.0), ("there", 2.0))), Curve("b", (("there", 3.0),)))
    claims = (Claim("less", "1", "2", False, "It rained."), Claim("as much", "1", "1", True, "The sun shone."))
    outcome = replace(OUTCOME, claims=claims, curves=bars, drawn="bars")
    page = tmp_path / "paper.md"
    write_page(page, "A paper", "What it says.", [outcome], RUN, tmp_path)
    text = page.read_text()
    assert "| Figure 3 | less | 1 | 2 | **does not hold** |" in text
    assert "It rained." in text
    assert "The sun shone." not in text
    assert (tmp_path / "example.svg").stat().st_size > 0


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
    outcome = throughput.throughput(SIZE)
    assert verdicts(outcome, "subgroups") == [True, True]
    assert verdicts(outcome, "random routing") == [True, True, True]
    assert verdicts(outcome, "JB8 keeps up") == [True, True, True]
    assert verdicts(outcome, "collapses") == [None]
    assert ("q5, JB16", "67", "0.67 (0.67 to 0.67)", "1.00 (1.00 to 1.00)") in outcome.rows
    scripted(JM16=1.0, JB8=2.0, JB16=0.9)
    outcome = throughput.throughput(SIZE)
    assert verdicts(outcome, "subgroups") == [False, False]
    assert verdicts(outcome, "random routing") == [False, False, False]
    assert verdicts(outcome, "JB8 keeps up") == [False, False, False]


@needs_rows
def test_lateness_is_compared_within_a_query(scripted: Callable[..., None]) -> None:
    scripted(JB16=1.005, JB16_CR8=0.995)
    assert verdicts(latency.latency(SIZE), "late") == [True, True, True, True, True]
    scripted(JB16=1.1)
    assert verdicts(latency.latency(SIZE), "late") == [False, False, False, False, False]


def test_aggregation_costs_little_up_to_a_tenth(scripted: Callable[..., None]) -> None:
    scripted(batched=1.05, immediate=3.0)
    outcome = aggregation.aggregation(SIZE)
    assert verdicts(outcome, "costs little") == [True] * 5
    assert ("band, JB16", "100", "0.95 (0.95 to 0.95)", "0.33 (0.33 to 0.33)") in outcome.rows
    scripted(batched=1.2)
    assert verdicts(aggregation.aggregation(SIZE), "costs little") == [False] * 5


def test_rounds_that_disagree_decide_nothing() -> None:
    assert Ratio((0.9, 0.8)).below(1) is True
    assert Ratio((1.1, 1.2)).below(1) is False
    assert Ratio((0.9, 1.2)).above(1) is None
    assert all_of(True, True) is True
    assert all_of(True, None) is None
    assert all_of(None, False) is False


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
