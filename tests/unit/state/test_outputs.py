"""What a task leaves open is closed with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from braid.state.blocks import BlockWriter
from braid.state.files import LocalFiles
from braid.state.outputs import closing_outputs, output_stack


def test_an_abandoned_block_is_closed_when_the_task_fails(tmp_path: Path) -> None:
    writers = []

    def task() -> None:
        with closing_outputs():
            writers.append(BlockWriter(LocalFiles(), str(tmp_path / "a.block")).open())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        task()
    assert [writer._file.closed for writer in writers] == [True]


def test_all_outputs_are_closed_and_the_first_error_counts() -> None:
    closed = []

    def fail() -> None:
        closed.append("failed")
        raise OSError("the disk is full")

    def task() -> None:
        with closing_outputs():
            output_stack().callback(fail)
            output_stack().callback(closed.append, "closed")
            raise LookupError

    with pytest.raises(LookupError):
        task()
    assert closed == ["failed", "closed"]


def test_tasks_close_only_what_is_their_own() -> None:
    closed = []
    outside = output_stack()
    outside.callback(closed.append, "outside")
    with closing_outputs():
        output_stack().callback(closed.append, "outer")
        with closing_outputs():
            output_stack().callback(closed.append, "inner")
        assert closed == ["inner"]
    assert closed == ["inner", "outer"]
