"""The join-biclique's claims: each holds on a record, and fails on one that contradicts it; and what is measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from benchmarks.tasks import Measurement, Task
from benchmarks.workloads.tpch import generator
from experiments import bistream, side_by_side
from experiments.bistream import bandwidth, elasticity, limited, modelled, windows
from experiments.bistream.memory import STORED
from experiments.bistream.models import label, layout_of, model, units_of
from experiments.bistream.queries import in_steps, paced
from experiments.bistream.scaling import GAINS
from experiments.bistream.updates import UPDATES
from experiments.experiment import Experiment, plain
from experiments.pictures import draw
from experiments.side_by_side import Variant, in_turn
from tests.experiments.bistream_records import CHANGES, RECORDS, ROUNDS, record_of

SIZE = replace(
    bistream.SIZES["quick"],
    scales={"q5": 3, "q7": 3, "band": 0.02},
    summed_scales={"q5": 3, "q7": 3, "band": 0.01},
    steps=2,
    elastic_rows=50,
    modelled_batches=2,
    limited_scales={"q5": 3, "q7": 3, "band": 0.02},
)
needs_rows = pytest.mark.skipif(generator() is None, reason="TPC-H's rows need tpchgen-cli, from the extra bench")
CLAIMS = [(one, claim.name) for one in bistream.EXPERIMENTS for claim in one.claims if not claim.certain]


def verdicts(experiment: Experiment, measured: dict[str, object]) -> dict[str, bool | None]:
    return {one.claim.name: one.verdict.holds for one in experiment.judged(plain(measured))}


@pytest.mark.parametrize("experiment", bistream.EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_every_claim_holds_on_a_record_as_the_paper_has_it(experiment: Experiment) -> None:
    assert set(verdicts(experiment, record_of(experiment.name)).values()) == {True}
    assert RECORDS.keys() == {one.name for one in bistream.EXPERIMENTS}


def test_every_claim_that_is_not_certain_has_a_contradiction() -> None:
    assert {(one.name, name) for one, name in CLAIMS} == {(one, name) for one in CHANGES for name in CHANGES[one]}


@pytest.mark.parametrize(("experiment", "name"), CLAIMS, ids=lambda part: getattr(part, "name", part))
def test_a_record_that_contradicts_a_claim_is_refused(experiment: Experiment, name: str) -> None:
    measured = record_of(experiment.name)
    CHANGES[experiment.name][name](measured, ROUNDS)
    assert verdicts(experiment, measured)[name] is False


@pytest.mark.parametrize(
    ("experiment", "name"),
    [(experiment, name) for experiment, name in CLAIMS if experiment.timed],
    ids=lambda part: getattr(part, "name", part),
)
def test_rounds_that_differ_decide_nothing(experiment: Experiment, name: str) -> None:
    measured = record_of(experiment.name)
    CHANGES[experiment.name][name](measured, ROUNDS[:1])
    assert verdicts(experiment, measured)[name] is None


@pytest.mark.parametrize("experiment", bistream.EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_every_record_is_described_and_shown(experiment: Experiment, tmp_path: Path) -> None:
    measured = plain(record_of(experiment.name))
    assert experiment.describe(measured, experiment.settings(SIZE))
    for table in experiment.tables(measured):
        assert {len(row) for row in table.rows} == {len(table.headings)}
    pictures = experiment.pictures(measured)
    assert pictures
    draw(pictures[0], tmp_path, "picture")


@needs_rows
def test_stored_rows_are_those_that_duckdb_selects() -> None:
    judged = verdicts(STORED, STORED.measure(SIZE))
    assert [judged[f"{query} copies"] for query in ("q5", "q7", "band")] == [True, True, True]


@needs_rows
@pytest.mark.parametrize("name", ["q5", "q7", "band"])
def test_both_streams_bring_the_same_volume(name: str) -> None:
    measured = STORED.measure(SIZE)[name]["JB16"]["streams"]
    assert measured[0] == pytest.approx(measured[1], rel=0.1)


@needs_rows
def test_a_matrix_copies_what_its_equations_say_when_it_grows() -> None:
    judged = verdicts(GAINS, GAINS.measure(SIZE))
    assert judged["matrix, a row least"] is judged["better"] is True


@needs_rows
def test_band_is_added_up_by_nation() -> None:
    query = SIZE.summed_query("band")
    assert "nation" in query.whole()["l1"].column_names
    measured = UPDATES.measure(SIZE)
    assert measured["band"]["results"] > 0
    assert measured["band"]["batched"] < measured["band"]["immediate"]


@needs_rows
def test_bytes_windows_units_and_steps_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bandwidth, "RATES", {"q5": (4_000,), "q7": (10_000,), "band": (200,)})
    monkeypatch.setattr(windows, "PRINTED", {"q7 30000": windows.PRINTED["q7 30000"]})
    monkeypatch.setattr(elasticity, "MINUTES", 8)
    monkeypatch.setattr(modelled, "SETTINGS", ("JM16", "JB16-CR8"))
    moved = bandwidth.measure_moved(SIZE)["band"]["200"]
    assert 0 < moved["JM16"]["read"] < moved["JM16"]["modelled"]
    longest = windows.measure_longest(SIZE)["q7 30000"]
    assert longest["JM16"]["fullest"] > longest["JB8"]["fullest"] > 0
    following = elasticity.measure_following(SIZE)
    assert len(following["moments"]) == 32
    assert [len(runs) for runs in modelled.measure_modelled(SIZE)["band"].values()] == [SIZE.rounds] * 2


@needs_rows
def test_steps_cut_pace_and_repeat_the_rows() -> None:
    tables = SIZE.query("q7").selected()
    rows = sum(table.num_rows for table in tables.values())
    assert sum(table.num_rows for step in in_steps(tables, 3) for table in step.values()) == rows
    first, *_, last = paced(tables, [2 * rows] * 3, 0.5)
    assert sum(table.num_rows for table in first.values()) == pytest.approx(rows, abs=2)
    assert first["supplier"].drop(["ts"]) == last["supplier"].drop(["ts"])
    assert first["supplier"]["ts"][-1].as_py() < last["supplier"]["ts"][0].as_py()


def test_settings_have_their_names_in_words() -> None:
    assert label("JB16-CR4") == "biclique, 16 units, 4 subgroups"
    assert label("JM36") == "matrix, 36 units"
    assert units_of("JB8-CR2") == 8
    assert layout_of("JM16").units == (4, 4)
    assert layout_of("JB8-CR4").groups == (4, 4)
    assert model("JB16-CR4", "band").describe() == "Biclique(units=(8, 8), groups=4, routing='range')"


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


@needs_rows
def test_only_what_has_no_room_is_read_over_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited, "QUERIES", ("q5",))
    monkeypatch.setattr(limited, "SETTINGS", ("JM16", "JB16"))
    measured = limited.measure_limited(SIZE)["q5"]["volumes"]
    large = {setting: by["limited"][0] for setting, by in measured["large"].items()}
    assert large["JM16"]["reread"] > large["JB16"]["reread"]
    assert {by["unlimited"][0]["reread"] for volume in measured.values() for by in volume.values()} == {0}
    assert len({by[way][0]["results"] for by in measured["large"].values() for way in limited.WAYS}) == 1
