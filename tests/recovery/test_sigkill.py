"""Real crashes: the whole process is killed in every phase of a step, started again, and nothing is lost or doubled.

Each child runs two queries at once, one that Python evaluates and one with a predicate of the JVM, so that a point
chosen in one of them is a random moment of the other.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.recovery.job import Job, Kill
from tests.recovery.scenario import BAND, JVM_CHAIN, Child, Reader, check_answer, make_inputs

SEED = 20_240_611
# A step that is killed before its record is written left what one leaves that is killed during ingest; one that is
# killed after its manifest is written, what one leaves that is killed before a rename.
KILLS = [
    Kill("after write_new */deltas/*"),
    Kill("during probe", 2, alone=True),
    Kill("before link */manifests/*", 2),
    Kill("before rename *", 3),
    Kill("before delete */deltas/*", 2),
    Kill("after step", 2, alone=True),
    Kill("during ingest", 3),
    Kill("after list *"),
]


@pytest.mark.slow
def test_killed_in_every_phase(java: None, tmp_path: Path) -> None:
    inputs = make_inputs(tmp_path / "input", SEED, files=10, rows=40)
    source = str(inputs.place)
    jobs = [
        Job("ab", BAND, source, str(tmp_path / "band")),
        Job("abc", JVM_CHAIN, source, str(tmp_path / "chain")),
    ]
    readers = [Reader(job) for job in jobs]

    def look() -> None:
        for reader in readers:
            reader.look()

    for number, kill in enumerate(KILLS):
        child = Child(jobs, tmp_path / f"child-{number}", kill)
        code = child.wait(meanwhile=look)
        assert code == -signal.SIGKILL, f"{kill} was not reached\n{child.log()}"
    last = Child(jobs, tmp_path / "child-last")
    assert last.wait(meanwhile=look) == 0, last.log()
    look()
    for job in jobs:
        check_answer(inputs, job)
        left = [path.name for path in Path(job.checkpoint).glob("deltas/*")]
        assert not left, f"{job.place} keeps {left}"
