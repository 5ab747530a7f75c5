"""The scale benchmark's own logic: the model, the shares, verdicts, resuming; and that a join on Spark is measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from benchmarks.scale import command, in_process
from benchmarks.scale.in_process import measure_steps
from benchmarks.scale.model import SlotWork, StepWork, by_slot
from benchmarks.scale.on_spark import measure_join
from benchmarks.scale.parts import Part, parts_of
from benchmarks.scale.rows import Join
from benchmarks.scale.skew import HOT_SHARE, UNITS, fullest, measure_skew
from benchmarks.scale.tables import Found, Verdict, verdicts

FIGURES = {
    "spark": {"cpu_seconds": 1.0, "cpu_ingest": 0.5, "cpu_probe": 0.5, "tree_cpu_seconds": 2.0, "results": 9}
    | {"step_ms": 5.0, "ingest_ms": 2.0, "probe_ms": 2.0, "cpu_per_pair": 1e-9, "blocks": 4, "record_bytes": 10}
    | {"segment_reads": 3.0, "store_reads": 1.0, "store_writes": 1.0},
    "noop": {"tasks": 6, "tree_cpu_seconds": 0.5},
    "growth": {"cpu_seconds": 1.0, "cpu_per_row": 1e-6, "driver_seconds": 0.01, "segment_reads": 3}
    | {"record_bytes": 10, "modelled_seconds": 0.5, "modelled_rate": 100.0},
    "skew": {"rows": 1.1, "pairs": 1.7},
}


def test_a_modelled_step_waits_for_the_slowest_slot_of_each_round() -> None:
    rounds = ((SlotWork(1.0, 0), SlotWork(2.0, 0)), (SlotWork(1.0, 4_000), SlotWork(3.0, 1_000)))
    work = StepWork(rows=160, driver=0.5, rounds=rounds)
    assert work.cpu == 7.0
    assert work.modelled_seconds(bandwidth=1_000) == 0.5 + 2.0 + max(1.0 + 4.0, 3.0 + 1.0)
    assert work.modelled_rate(bandwidth=1_000) == 160 / 7.5


def test_the_ingest_tasks_of_all_streams_are_one_round() -> None:
    work = [(0, SlotWork(1.0, 0)), (1, SlotWork(2.0, 0)), (0, SlotWork(4.0, 7))]
    assert by_slot(work, 2) == (SlotWork(5.0, 7), SlotWork(2.0, 0))


def test_the_fullest_unit_is_compared_with_the_even_share_of_its_side() -> None:
    even = [{"unit": number, "rowsStored": 10, "pairsCompared": 5} for number in range(2 * UNITS)]
    assert fullest(even) == {"rows": 1.0, "pairs": 1.0}
    # A unit that takes over a neighbour's rows has twice its share; empty units are not listed.
    even[3] = {"unit": 3, "rowsStored": 20, "pairsCompared": 5}
    del even[4]
    found = fullest(even)
    assert found["rows"] == 2.0
    assert found["pairs"] == pytest.approx(UNITS / (UNITS - 1))


def test_random_routing_spreads_a_frequent_value() -> None:
    found = measure_skew("Biclique(units=16, routing='random')", rows=3_200, steps=3)
    assert found["rows"] < 1.1
    assert found["pairs"] < 1.6 < HOT_SHARE * UNITS


def test_a_refused_strategy_says_why() -> None:
    assert "Biclique(routing=...)" in measure_skew("Biclique(routing='nonsense')", rows=10, steps=1)["error"]


@pytest.mark.parametrize(
    ("verdict", "met"),
    [
        (Verdict("", 4.0, at_most=4.0), True),
        (Verdict("", 4.1, at_most=4.0), False),
        (Verdict("", 2.8, at_least=2.8), True),
        (Verdict("", 2.7, at_least=2.8), False),
        (Verdict("", None, at_least=2.8), None),
    ],
)
def test_a_bound_is_met_missed_or_not_measured(verdict: Verdict, met: bool | None) -> None:
    assert verdict.met is met
    assert {True: ", met)", False: ", missed)", None: "not measured"}[met] in verdict.text


def test_ratios_are_those_of_most_to_fewest_slots() -> None:
    def spark(kind: str, slots: int, cpu: float) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"kind": kind, "slots": slots, "rows": 1}, FIGURES["spark"] | {"cpu_seconds": cpu}

    def growth(slots: int, rate: float) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"kind": "band", "slots": slots, "rows": 1}, FIGURES["growth"] | {"modelled_rate": rate}

    found = {
        "spark": [spark("equality", 2, 1.0), spark("equality", 8, 9.0), spark("equality", 32, 3.0)],
        "growth": [growth(1, 10.0), growth(2, 20.0), growth(4, 25.0), (growth(16, 0)[0], {"error": "too slow"})],
        "driver": [],
        "skew": [],
    }
    values = {verdict.description: verdict.value for verdict in verdicts(found)}
    assert values["equality: CPU in task functions, 32 slots over 2"] == 3.0
    assert values["band: modelled speed-up on 4 hosts"] == 2.5
    assert values["band: modelled speed-up on 16 hosts"] is None
    assert values["band: CPU in task functions, 32 slots over 2"] is None


def scaled(factor: float) -> dict[str, Found]:
    """Figures that grow by a factor with the slots, from two or fewer on."""

    def part(kind: str, slots: int, names: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"kind": kind, "slots": slots, "rows": 1}, dict.fromkeys(names, 1.0 if slots <= 2 else factor)

    of_spark, of_growth = ("cpu_seconds", "cpu_per_pair", "segment_reads"), ("cpu_per_row", "modelled_rate")

    def driver(kind: str, strategy: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
        arguments, figures = part(kind, 256, ("driver_seconds", "record_bytes"))
        return arguments | {"strategy": strategy}, figures

    return {
        "spark": [part(kind, slots, of_spark) for kind in ("equality", "band", "nested loop") for slots in (2, 32)],
        "growth": [part(kind, slots, of_growth) for kind in ("equality", "band") for slots in (1, 2, 4, 16, 32, 64)],
        "driver": [driver(kind, strategy) for kind in ("equality", "band") for strategy in (None, "Biclique()")],
        "skew": [({"strategy": "random"}, {"rows": factor, "pairs": factor})],
    }


def test_every_bound_is_met_by_some_record_and_missed_by_another() -> None:
    less, more = (verdicts(scaled(factor)) for factor in (1e-9, 1e9))
    assert len(less) == len(more) == 23
    for one, other in zip(less, more, strict=True):
        assert {one.met, other.met} == {True, False}, one.description


def test_finished_parts_are_not_measured_again_and_failed_ones_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []

    def run_part(part: Part, scratch: Path) -> dict[str, Any]:
        measured.append(part.key)
        figures = FIGURES["growth" if part.what == "driver" else part.what]
        fails = part.what == "skew" and "range" in part.title
        return {"error": "refused"} if fails else dict(figures)

    monkeypatch.setattr(command, "run_part", run_part)
    place = tmp_path / "work"
    assert command.run_scale("small", place, resume=True, publish=False)
    assert measured == [part.key for part in parts_of("small", None)]
    del measured[:]
    assert command.run_scale("small", place, resume=True, publish=False)
    assert measured == [part.key for part in parts_of("small", None) if part.what == "skew" and "range" in part.title]
    document = json.loads((place / "scale.json").read_text())
    assert document["versions"]["commit"]
    assert document["settings"]["window_steps"] == 2
    assert [part["figures"] for part in document["parts"]["skew"]] == [FIGURES["skew"], {"error": "refused"}]


def test_results_that_depend_on_the_slots_are_an_error() -> None:
    assert command.differing([({"kind": "band"}, {"results": 1}), ({"kind": "band"}, {"results": 2})]) == ["band"]
    assert command.differing([({"kind": "band"}, {"results": 1}), ({"kind": "band"}, {"error": "slow"})]) == []


def test_a_join_on_spark_is_measured(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "FIRST_SHARE", 1.0)  # on Spark all steps have the same rows
    join = Join("band", rows=60, window_steps=2)
    found = measure_join(spark, join, slots=2, steps=3, warm_up=1, strategy=None, scratch=tmp_path)
    alone = measure_steps(join, slots=2, steps=3, counted=2, strategy=None)
    assert found["results"] == alone["results"] > 0
    assert found["steps"] == 2
    assert found["cpu_seconds"] >= max(found["cpu_ingest"], found["cpu_probe"]) > 0
    assert found["tree_cpu_seconds"] > 0
    assert min(found["record_bytes"], found["segment_reads"], found["store_reads"], found["pairs"]) > 0
