"""Records become rows, pages and pictures; the published page and README say what the records say, and nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.answers import Answer
from benchmarks.benchmark import Benchmark
from benchmarks.campaign import Result
from benchmarks.command import PAGE, PICTURES, README, RESULTS, read_documents
from benchmarks.comparisons import FLINK_CHECKPOINTS
from benchmarks.report.page import write_page
from benchmarks.report.plots import OVERVIEW, draw, draw_overview
from benchmarks.report.readme import BEGIN, END, figures, write_figures
from benchmarks.report.record import Document, Row, read_record, write_record
from benchmarks.report.scale import read_scale
from benchmarks.targets import Target, rate_ratio
from benchmarks.tasks import Measurement
from tests.benchmarks.small_task import TASK

RIGHT = Answer(12, "7")
MACHINE = {"cores": 2, "processor": "one", "memory_gib": 3}
NAMES = ("python", "pyspark", "pyarrow", "numpy", "duckdb", "polars", "commit", "source")
RUN = {"date": "2026-01-01T00:00:00", "machine": MACHINE, "versions": dict.fromkeys(NAMES, "1")}


def stepping(seconds: float, **more: Any) -> Measurement:
    steps = (9.0, 9.0, seconds, seconds)
    return Measurement(seconds=steps, rows=(100,) * 4, answer=RIGHT, answer_batches=4, **more)


def written(path: Path, benchmark: Benchmark, rounds: list[dict[str, Result]]) -> Document:
    write_record(path, benchmark, "quick", RUN, rounds)
    return read_record(path, benchmark)


def a_round(seconds: float, date: str = "2026-02-03T00:00:00") -> dict[str, Result]:
    measured = {"date": date, "commit": "abc1234", "source": "def5678", "load": f"{seconds}"}
    details = {"peak_bytes": 5_000_000}
    refused = Measurement(error="it is `refused`\nhere")
    return {
        "Braid": Result(TASK, stepping(seconds, details=details), RIGHT, measured),
        "Other": Result(replace(TASK, peer="Other"), refused, None, measured),
        "Third": Result(replace(TASK, peer="Third"), stepping(2 * seconds), RIGHT, measured),
    }


def made_up(path: Path, *seconds: float) -> Document:
    targets = (
        Target("over Other", rate_ratio("Braid", "Other"), at_least=2),
        Target("over Third", rate_ratio("Braid", "Third"), at_least=1.5),
    )
    benchmark = Benchmark("made-up", "A made up join", dict.fromkeys(("Braid", "Other", "Third"), TASK), targets)
    return written(path / "made-up.json", benchmark, [a_round(one) for one in seconds])


def test_a_record_becomes_a_page_and_pictures(tmp_path: Path) -> None:
    document = made_up(tmp_path, 1.0, 4.0, 2.0)
    draw(document, tmp_path / "pictures")
    draw_overview([document], tmp_path / "pictures")
    assert {file.name for file in (tmp_path / "pictures").iterdir()} == {"made-up.svg", "made-up.png"}
    write_page(tmp_path / "page.md", [document], Path("pictures"))
    page = (tmp_path / "page.md").read_text()
    assert "| Braid | 100 | 50 | 3: 25 to 100 | 2.00 s | 2.00 s |" in page
    assert "Other gave no rate: `it is 'refused' here`" in page
    assert "quick size, 2026-02-03, commit abc1234, source def5678, 2 cores of one, 3 GiB, load 1 to 4" in page
    assert "| made-up | over Other | not measured | 0 | ≥ 2 | not measured |" in page
    assert "| made-up | over Third | 2.00 (2.00 to 2.00) | 3 | ≥ 1.5 | met |" in page
    assert page.index("## Summary") < page.index("## A made up join") < page.index("## What is to be reached")


def test_a_record_of_one_round_decides_no_time(tmp_path: Path) -> None:
    write_page(tmp_path / "page.md", [made_up(tmp_path, 1.0)], Path("pictures"))
    assert "| made-up | over Third | 2.00 | 1 | ≥ 1.5 | undecided |" in (tmp_path / "page.md").read_text()


def test_a_record_that_contradicts_a_target_says_missed(tmp_path: Path) -> None:
    document = made_up(tmp_path, 1.0, 1.0, 1.0)
    content = json.loads((tmp_path / "made-up.json").read_text())
    for one in content["rounds"]:
        one["Braid"]["measurement"]["seconds"] = [50.0] * 4
    (tmp_path / "made-up.json").write_text(json.dumps(content))
    contradicting = read_record(tmp_path / "made-up.json", document.benchmark)
    write_page(tmp_path / "page.md", [contradicting], Path("pictures"))
    assert "| 3 | ≥ 1.5 | **missed** |" in (tmp_path / "page.md").read_text()


def test_rows_a_batch_are_those_that_were_measured() -> None:
    def batch(peer: str, **details: Any) -> str:
        return Row.of("", [Result(replace(TASK, peer=peer), stepping(1.0, details=details), RIGHT)]).batch

    assert batch("Braid") == "100"
    assert batch("DuckDB", at_once=True) == "all at once"
    assert batch("Flink", at_once=True) == "none"
    unfinished = Measurement(answer=Answer(0, "0"))
    row = Row.of("", [Result(replace(TASK, peer="Spark", limit_seconds=60), unfinished, Answer(0, "0"))])
    assert (row.batch, row.error) == ("100", "0 batches ended in 60 s")


def searched(tmp_path: Path, *tried: dict[str, Any]) -> Document:
    task = replace(TASK, mode="search", rows_per_second=100.0)
    result = Result(task, Measurement(details={"tried": list(tried)}), None)
    return written(tmp_path / "band-rates.json", Benchmark("band-rates", "Band", {"Braid": task}), [{"Braid": result}])


def test_the_best_rate_is_one_that_was_offered_and_in_time(tmp_path: Path) -> None:
    kept = {"rate": 100.0, "p50": 0.2, "p99": 0.9, "answer": "right"}
    slow = {"rate": 125.0, "p50": 0.8, "p99": 4.0, "answer": "right"}
    late = {"rate": 150.0, "p50": 3.0, "p99": 18.0, "answer": "incomplete"}
    document = searched(tmp_path, kept, late, slow, slow, late)
    draw(document, tmp_path)
    write_page(tmp_path / "page.md", [document], Path())
    page = (tmp_path / "page.md").read_text()
    assert page.count("| band | Braid | 100 | 125 |") == 1
    assert page.count("| Braid | 150 | 3.00 s | 18.00 s | incomplete |") == 2
    assert "was stopped" not in page
    stopped = searched(tmp_path, {**late, "rate": 150.0})
    write_page(tmp_path / "page.md", [stopped], Path())
    assert "The search for Braid was stopped before it offered 94 rows/s." in (tmp_path / "page.md").read_text()
    missing = replace(stopped, benchmark=replace(stopped.benchmark, tasks={"Braid": TASK, "Other": TASK}))
    write_page(tmp_path / "page.md", [missing], Path())
    assert "Not measured yet: Other." in (tmp_path / "page.md").read_text()
    contradicted = searched(tmp_path, {**kept, "p99": 1.1}, late, {**slow, "answer": "wrong"})
    write_page(tmp_path / "page.md", [contradicted], Path())
    assert "| band | Braid | none, 100 is too much | 100 |" in (tmp_path / "page.md").read_text()
    assert not contradicted.agrees


def test_the_published_page_is_what_the_records_give(tmp_path: Path) -> None:
    write_page(tmp_path / "page.md", read_documents(), PICTURES.relative_to(PAGE.parent), read_scale(RESULTS))
    assert PAGE.read_text() == (tmp_path / "page.md").read_text(), "make it anew: braid bench NAME --publish"


def test_every_picture_of_the_page_is_there() -> None:
    names = [document.name for document in read_documents()] + [OVERVIEW]
    expected = {f"{name}.{suffix}" for name in names for suffix in ("svg", "png")}
    assert {path.name for path in PICTURES.iterdir()} == expected


def test_the_figures_of_readme_are_those_of_the_records() -> None:
    text = README.read_text()
    assert text.count(BEGIN) == text.count(END) == 1
    assert text.partition(BEGIN)[2].partition(END)[0] == figures(read_documents())


def test_readme_has_no_rate_outside_of_its_figures() -> None:
    before, _, rest = README.read_text().partition(BEGIN)
    prose = before + rest.partition(END)[2]
    assert re.findall(r"rows/s|rows a second| times as fast|\d ×", prose) == []


def test_the_least_latency_in_readme_is_that_of_small_batches() -> None:
    (small,) = (document for document in read_documents() if document.name == "small")
    said = re.search(r"latency is at least about ([\d.]+) s", README.read_text())
    late = small.row("Braid").latency_p50
    assert said is not None
    assert late is not None
    assert float(said[1]) == round(late, 1)


def test_readme_follows_other_records(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{BEGIN}old\n{END}after\n")
    equality = made_up(tmp_path, 1.0)
    document = replace(equality, benchmark=replace(equality.benchmark, name="equality"))
    write_figures(readme, [document])
    text = readme.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| equality | Braid | 100 | 100 |" in text
    assert "one round, 2026-02-03, commit abc1234" in text
    (tmp_path / "searched").mkdir()
    write_figures(readme, [document, searched(tmp_path / "searched", {"rate": 150.0, "p99": 0.4, "answer": "right"})])
    text = readme.read_text()
    assert "| band | Braid | 150 | 150 |" in text
    assert "The search for Braid was stopped before it offered 240 rows/s." in text


@pytest.mark.parametrize(
    ("checkpoints", "ratio"), [(None, "2 × Flink's best (2 to 4)"), (1.0, "1 × Flink's best (1 to 2)")]
)
def test_a_ratio_in_readme_is_that_of_the_rounds_over_the_best(
    tmp_path: Path, checkpoints: float | None, ratio: str
) -> None:
    document = made_up(tmp_path, 1.0, 1.0, 1.0)
    labels = {"Braid": "Braid, 500 K", "Third": "Flink", "Other": "Pathway"}
    others = {} if checkpoints is None else {FLINK_CHECKPOINTS: a_round(checkpoints)["Braid"]}
    rounds = [{labels[label]: result for label, result in one.items()} | others for one in document.rounds]
    faster = {"Braid, 500 K": a_round(0.5)["Braid"]}
    benchmark = replace(document.benchmark, name="equality")
    text = figures([replace(document, benchmark=benchmark, rounds=(rounds[0], rounds[1], {**rounds[2], **faster}))])
    assert f"| equality | Braid | 100 | 100 | {ratio} |" in text


@pytest.mark.parametrize("name", ["equality", "band", "theta"])
def test_records_say_when_and_what_they_measured(name: str) -> None:
    (document,) = (one for one in read_documents() if one.name == name)
    assert all(re.fullmatch(r"[0-9a-f]{7,}", one["commit"]) for one in document.measured)
    assert all(one["date"].startswith("20") for one in document.measured)


def scale_record(cpu_of_32: float) -> dict[str, Any]:
    def spark(slots: int, cpu: float) -> dict[str, Any]:
        figures = {
            **dict.fromkeys(("cpu_ingest", "cpu_probe", "tree_cpu_seconds", "step_ms", "ingest_ms", "probe_ms"), 1.0),
            **dict.fromkeys(("blocks", "record_bytes", "segment_reads", "store_reads", "store_writes", "results"), 1),
            "cpu_seconds": cpu,
            "cpu_per_pair": 1e-9,
        }
        return {"arguments": {"kind": "equality", "slots": slots, "rows": 50}, "figures": figures}

    parts: dict[str, Any] = {what: [] for what in ("noop", "growth", "driver", "skew")}
    parts["spark"] = [spark(2, 1.0), spark(32, cpu_of_32)]
    parts["growth"] = [{"arguments": {"kind": "equality", "slots": 2, "rows": 50}, "figures": {"error": "it\nfailed"}}]
    model = {"seconds": "driver and slots", "bandwidth_bytes": 1e8}
    return {"size": "small", **RUN, "settings": {"rows": 50}, "model": model, "parts": parts}


def test_a_record_of_scale_is_a_section_and_its_bounds_stand_at_the_end(tmp_path: Path) -> None:
    pages = []
    for cpu in (3.0, 9.0):
        write_page(tmp_path / "page.md", [], Path(), scale_record(cpu))
        pages.append((tmp_path / "page.md").read_text())
    for page, cpu, outcome in zip(pages, ("3.000", "9.000"), ("met", "**missed**"), strict=True):
        assert f"| equality | 32 | 100 | {cpu} (1.000, 1.000) |" in page
        assert f"| 1 | ≤ 4 | {outcome} in one run |" in page
        assert "| equality | 2 | 100 | it failed |" in page
        assert "commit 1, source 1, 2 cores of one" in page
        assert page.index("number of slots") < page.index("## What is to be reached")
