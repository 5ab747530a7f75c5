"""What the measurements of memory rest on: how many results there are, what a sample is, and the figures of steps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from benchmarks.memory import cgroups
from benchmarks.memory.large import WARM, Large, figures
from benchmarks.memory.measuring import environment, sampled_large
from benchmarks.memory.sampling import Sampler, as_others, descendants, exact, resident
from benchmarks.memory.scenarios import SCENARIOS, batch, steps_for

STEPS, ROWS = 4, 200


@pytest.mark.parametrize(("name", "partners"), [("partitioned", "few"), ("totals", "all")])
def test_the_expected_results_are_those_of_nested_loops(name: str, partners: Literal["few", "all"]) -> None:
    tables = [batch(step, ROWS, partners) for step in range(STEPS)]
    a, b = (np.concatenate([table[stream]["k"].to_numpy() for table in tables]) for stream in "ab")
    assert SCENARIOS[name].partners == partners
    assert SCENARIOS[name].expected(STEPS, ROWS) == int((a[:, None] == b[None, :]).sum())


def test_steps_have_the_state_that_was_asked_for() -> None:
    text = batch(0, 10, "few")["a"]["p"].to_pylist()
    assert {len(one) for one in text} == {200}
    assert steps_for(1 << 20, 100) >= (1 << 20) // (2 * 100 * 225)


def test_a_sample_is_what_a_process_holds_above_idle() -> None:
    program = (
        "import sys; sys.stdin.readline(); kept = b'x' * (40 << 20); print('held', flush=True); sys.stdin.readline()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        sampler = Sampler(lambda: [child.pid])
        sampler.take_idle()
        child.stdin.write(b"go\n")
        child.stdin.flush()
        child.stdout.readline()
        answers = iter((False, True))
        found = sampler.until(lambda: next(answers))
        assert child.pid in descendants(os.getpid())
        child.communicate(b"end\n")
    assert found.largest >= 39 << 20
    assert (found.count, found.processes) == (1, 1)
    assert exact(child.pid) == resident(child.pid) == 0, "it is gone"


def test_figures_are_of_the_steps_after_the_first() -> None:
    seconds = [9.0] * WARM + [1.0] * 99 + [3.0]
    memory = {"peak": 7, "deviceBytes": 2, "majorFaults": 1}
    records = [
        {"seconds": one, "cpu": one / 2, "memory": memory, "numOutputRows": 5, "stateRows": 10, "stateBytes": 20}
        for one in seconds
    ]
    found = figures(records)
    assert found["median"] == 2 * found["medianCpu"] == 1.0
    assert found["ratio"] == found["ratioCpu"]
    assert 1.0 <= found["p99"] <= found["longest"] == 3.0
    assert (found["results"], found["deviceBytes"], found["peak"]) == (5 * len(seconds), 2 * len(seconds), 7)


def test_a_large_run_has_the_figures_of_its_steps_and_the_samples_of_its_process() -> None:
    found = sampled_large(Large(rows=1_200, steps=12, units=4, limit=24 << 20), "process")
    assert (found["stateRows"], found["steps"], found["units"]) == (2_400, 12, 4)
    assert len(found["stepCpu"]) == 12 - WARM
    assert 0 < found["share"] < 1.1


def test_the_sampler_does_not_wait_for_idle_cores_and_what_it_starts_later_may() -> None:
    before = os.sched_getscheduler(0)
    with as_others():
        assert os.sched_getscheduler(0) == os.SCHED_OTHER
    assert os.sched_getscheduler(0) == before


def test_only_a_limited_process_has_another_allocator() -> None:
    name = "ARROW_DEFAULT_MEMORY_POOL"
    assert environment("process", 1)[name] == "system"
    before = os.environ.get(name)
    assert environment("process", 0).get(name) == environment("spark", 1).get(name) == before


def test_where_no_cgroup_can_be_made_the_reason_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    with pytest.raises(cgroups.NoCgroup, match=r"memory controller|neither"), cgroups.memory_cgroup():
        pass


def test_the_fields_of_both_interfaces_are_read(tmp_path: Path) -> None:
    (tmp_path / "memory.stat").write_text("anon 5\nfile_mapped 7\nkernel 4\nrss 1\nmapped_file 2\npgmajfault 3\n")
    (tmp_path / "memory.kmem.usage_in_bytes").write_text("8\n")
    (tmp_path / "memory.events").write_text("oom 0\noom_kill 4\n")
    (tmp_path / "memory.oom_control").write_text("under_oom 0\noom_kill 6\n")
    old, new = cgroups.Cgroup(tmp_path, 1), cgroups.Cgroup(tmp_path, 2)
    assert (old.in_use, new.in_use, old.kills, new.kills) == (11, 16, 6, 4)
    assert (new.major_faults, new.peak) == (3, 0)
    new.limit(100)
    assert (tmp_path / "memory.max").read_text() == "100"
