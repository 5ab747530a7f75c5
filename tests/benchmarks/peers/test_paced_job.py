"""When results of an offered rate were out, for systems that are processes of their own."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from benchmarks.peers.paced_job import latest, with_results
from benchmarks.peers.pathway_paced import _out, line_times, watched
from benchmarks.tasks import Task


def test_a_file_is_out_with_the_last_of_its_results() -> None:
    numbers, times = np.array([2, 0, 2, 1, 0]), np.array([5.0, 1.0, 4.0, 9.0, 3.0])
    assert latest(numbers, times) == {0: 3.0, 1: 9.0, 2: 5.0}


def test_a_file_without_results_counts_only_if_none_came_after_it() -> None:
    due = {0: 1.0, 1: 2.0, 2: 3.0, 3: 4.0}
    assert with_results(due, {0: 1.5, 2: 3.5}) == {0: 1.0, 2: 3.0, 3: 4.0}
    assert with_results(due, {}) == due


def test_a_line_is_out_once_the_file_is_as_long_as_its_end() -> None:
    content = b"id,time\n1,2\n10,20\n3,4\n"
    sizes = [(5.0, 10), (6.0, 18), (7.0, 22)]
    times = line_times(np.frombuffer(content, np.uint8), sizes)
    assert times.tolist() == [6.0, 6.0, 7.0], "half a line is not out"


def test_a_file_is_watched_from_before_it_is_there_until_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    with watched(path) as sizes:
        began = time.time()
        path.write_bytes(b"abc")
        while not sizes:
            time.sleep(0.001)
        seen = time.time()
        with path.open("ab") as file:
            file.write(b"defg")
    assert sizes[0][1] == 3
    assert began <= sizes[0][0] <= seen
    assert sizes[-1] == (max(at for at, _ in sizes), 7)


def test_results_count_to_the_later_file_from_when_their_lines_were_out(tmp_path: Path) -> None:
    task = Task("Pathway", "equality", {"rows_per_second": 10, "batches": 3}, 3, mode="paced", rows_per_second=20.0)
    for _ in task.workload.write(tmp_path / "data"):
        pass
    output = tmp_path / "out.csv"
    assert _out(task, tmp_path / "data", output, []) == {}
    output.write_text("r_id,s_id,r_v,s_v,time,diff\n1,2,0.5,0.5,8,1\n3,14,0.5,0.5,8,1\n12,9,0.5,0.5,9,1\n")
    lengths = np.cumsum([len(line) for line in output.read_text().splitlines(keepends=True)])
    sizes = [(float(number), int(length)) for number, length in enumerate(lengths)]
    assert _out(task, tmp_path / "data", output, sizes) == {0: 1.0, 1: 3.0}
    with output.open("a") as file:
        file.write("21,2")
    assert _out(task, tmp_path / "data", output, sizes) == {0: 1.0, 1: 3.0}, "the job ended within a line"
    output.write_text("r_id,s_")
    assert _out(task, tmp_path / "data", output, [(0.0, 7)]) == {}
