"""Real pairs of drivers: two processes run the same ten queries on the same ten checkpoints at the same time.

Both start them one after the other, so every pair overlaps in another way. The newer run of each pair finishes, the
older one is taken over or was done before, and every answer is the one a single run gives.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.recovery.job import Job
from tests.recovery.scenario import BAND, KEYED, Child, Reader, check_answer, make_inputs

PAIRS = 10


@pytest.mark.slow
def test_ten_pairs_of_drivers_lose_and_repeat_nothing(java: None, tmp_path: Path) -> None:
    inputs = make_inputs(tmp_path / "input", 20_261_116, files=5, rows=30)
    jobs = [
        Job("ab", BAND if number % 2 else KEYED, str(inputs.place), str(tmp_path / f"pair-{number}"))
        for number in range(PAIRS)
    ]
    readers = [Reader(job) for job in jobs]

    def look() -> None:
        for reader in readers:
            reader.look()

    first = Child(jobs, tmp_path / "first")
    second = Child(jobs, tmp_path / "second")
    try:
        for child in (first, second):
            assert child.wait(240, meanwhile=look) == 0, child.log()
    finally:
        first.kill()
        second.kill()
    ends = [ends_of(child) for child in (first, second)]
    for pair in zip(*ends, strict=True):
        assert "finished" in pair, pair
    taken_over = [end for end in ends[0] + ends[1] if end != "finished"]
    assert all("was taken over by a newer run" in end and len(end.splitlines()) <= 3 for end in taken_over), taken_over
    assert taken_over, "no two runs overlapped: the test shows nothing"
    for job in jobs:
        check_answer(inputs, job)


def ends_of(child: Child) -> list[str]:
    line = next(line for line in child.whole_log().splitlines() if line.startswith("ended: "))
    return list(json.loads(line.removeprefix("ended: ")))
