"""A start beside another one on the same checkpoint: whose results its path holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from braid.engine.restart.identity import Identity
from braid.errors import SinkError
from braid.plan.join import JoinPlan
from braid.spark.run.opening import with_own_path
from braid.spark.sinks.paths import OutputPath
from braid.state.files import LocalFiles

NEW, OTHER = "aaaaaaaa-1111", "bbbbbbbb-2222"


def finding(*ids: str) -> Callable[[], Identity]:
    """Looks at the checkpoint, one after the other."""
    left = iter(ids)
    return lambda: Identity(next(left), cast(JoinPlan, None), None, 0, False)


def path(directory: Path) -> OutputPath:
    return OutputPath(LocalFiles(), str(directory), str(directory), "/data/one", False)


def test_a_start_continues_as_the_query_that_another_start_has_just_recorded(tmp_path: Path) -> None:
    path(tmp_path).claim(OTHER)
    assert with_own_path(finding(NEW, OTHER), path(tmp_path).require_own).id == OTHER


def test_a_path_of_another_query_is_refused(tmp_path: Path) -> None:
    path(tmp_path).claim(OTHER)
    with pytest.raises(SinkError, match="holds results of the query bbbbbbbb"):
        with_own_path(finding(NEW, NEW), path(tmp_path).require_own)


def test_a_free_path_needs_one_look(tmp_path: Path) -> None:
    assert with_own_path(finding(NEW), path(tmp_path).require_own).id == NEW
