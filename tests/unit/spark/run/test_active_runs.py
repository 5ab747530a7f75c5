"""Two runs of one process on a checkpoint: the newer stops the older one. A name belongs to one running query."""

from __future__ import annotations

from dataclasses import dataclass, field
from unittest.mock import Mock

import pytest

from braid.errors import SinkError, TakenOverError
from braid.spark.run.active_runs import replace_earlier_run, require_free_name


@dataclass(eq=False)
class OneRun:
    name: str | None = None
    active: bool = True
    calls: list[str] = field(default_factory=list)

    def require_owner(self) -> None:
        self.calls.append("require_owner")
        raise TakenOverError("A newer run has taken over.")

    def stop(self) -> None:
        self.calls.append("stop")
        self.active = False


def test_a_newer_run_stops_the_older_one_of_its_checkpoint(request: pytest.FixtureRequest) -> None:
    place = request.node.name
    runs = [OneRun() for _ in range(3)]
    other = OneRun()
    replace_earlier_run(f"{place} elsewhere", other)
    for run in runs:
        replace_earlier_run(place, run)
    assert [run.calls for run in runs] == [["require_owner", "stop"]] * 2 + [[]]
    assert other.calls == []


def test_an_ended_run_is_left_alone(request: pytest.FixtureRequest) -> None:
    ended, newer = OneRun(active=False), OneRun()
    replace_earlier_run(request.node.name, ended)
    replace_earlier_run(request.node.name, newer)
    assert ended.calls == newer.calls == []


def session(*names: str) -> Mock:
    queries = []
    for name in names:
        queries.append(Mock())
        queries[-1].name = name
    spark = Mock()
    spark.streams.active = queries
    return spark


def test_a_name_is_free_unless_another_query_has_it(request: pytest.FixtureRequest) -> None:
    place = request.node.name
    require_free_name(session("b"), "a", place)
    require_free_name(session("a"), None, place)
    with pytest.raises(SinkError, match=r"A query named 'a' is running(.|\n)*Stop it first with run.stop\(\)"):
        require_free_name(session("a"), "a", place)
    earlier = OneRun("a")
    replace_earlier_run(place, earlier)
    require_free_name(session("a"), "a", place)
    earlier.active = False
    with pytest.raises(SinkError):
        require_free_name(session("a"), "a", place)
