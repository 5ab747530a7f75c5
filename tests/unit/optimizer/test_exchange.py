"""The exchange of a run is what the option says, or what makes fewer requests where requests are what costs."""

from __future__ import annotations

import pytest

from braid.errors import SinkError
from braid.optimizer.build import build_plan
from braid.optimizer.exchange import choose_exchange, read_exchange
from braid.plan.join import JoinPlan
from braid.testing import Draft


def plan(window_rows: int | None = None) -> JoinPlan:
    draft = Draft()
    draft.stream("a", {}, window_us=None if window_rows else 10, window_rows=window_rows)
    draft.stream("b", {}, window_us=10)
    return build_plan((draft.ordered() if window_rows else draft).logical_plan())


@pytest.mark.parametrize("location", ["/data/state", "file:///data/state", "hdfs://name/state", "state"])
def test_a_filesystem_exchanges_files(location: str) -> None:
    assert choose_exchange("auto", plan(), location, 8).kind == "files"


@pytest.mark.parametrize("scheme", ["s3", "s3a", "gs", "abfs", "abfss"])
def test_an_object_store_exchanges_by_a_shuffle(scheme: str) -> None:
    chosen = choose_exchange("auto", plan(), f"{scheme}://bucket/state", 8)
    assert chosen.describe() == f"shuffle (auto: on {scheme} a slot then reads 1 block of a step instead of 8)"


def test_one_slot_has_no_requests_to_save() -> None:
    assert choose_exchange("auto", plan(), "s3://bucket/state", 1).kind == "files"


@pytest.mark.parametrize("location", ["/data/state", "s3://bucket/state"])
@pytest.mark.parametrize("requested", ["files", "shuffle"])
def test_what_the_option_says_is_used(requested: str, location: str) -> None:
    assert choose_exchange(read_exchange(requested.upper()), plan(), location, 2).kind == requested


def test_windows_that_count_rows_need_files() -> None:
    counted = plan(window_rows=5)
    assert (
        choose_exchange("auto", counted, "s3://bucket/state", 8).describe()
        == "files (auto: the windows of a count rows)"
    )
    with pytest.raises(SinkError, match=r"the windows of a count rows(.|\n)*Use 'files', or leave the option out"):
        choose_exchange("shuffle", counted, "/data/state", 8)


def test_an_unknown_exchange_is_refused() -> None:
    with pytest.raises(SinkError, match="The option exchange is 'auto', 'files' or 'shuffle', but got 'fast'"):
        read_exchange("fast")
