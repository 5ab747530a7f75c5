"""Reports come back from their text; the failure of a task is raised."""

from __future__ import annotations

import pytest

from braid.control.fanouts import LookupCounts
from braid.engine.reports import (
    BufferedFile,
    MergeReport,
    Output,
    ProbeReport,
    RankReport,
    ResultFile,
    TaskFailure,
    UnitCounts,
    read_reports,
    report_text,
)
from braid.errors import CorruptStateError, PredicateError
from braid.state.blocks import WrittenBlock
from braid.state.manifest import Block
from braid.state.order_state import RankIndexFile
from braid.state.usage import Usage

WRITTEN = WrittenBlock("f.block", 3, 99, -1, 7)
PROBE = ProbeReport(
    slot=1,
    host="h",
    units=(UnitCounts(0, 3, 0.1, 1, 2, 3, 4, 5, 6, 7, 8),),
    lookups=(LookupCounts(0, 1, 2, 3, 4, 0.7, 0.5, 6),),
    stored=(),
    merged=(MergeReport(0, 0, 3, 0.5, Block("m", 0, 1, 2, 0, (1, 2), 3, 4, 5, 6)),),
    intermediate=(),
    exchanged=WRITTEN,
    usage=Usage(seconds=0.5, cpu=0.25, store_reads=1, store_writes=2, segment_reads=3, moved_bytes=4),
    output=Output(2, (ResultFile("r", 2, 50),), BufferedFile(WRITTEN, (1, 4)), WRITTEN, 9),
)


def test_reports_come_back_equal() -> None:
    assert read_reports(ProbeReport, [report_text(PROBE)] * 2) == [PROBE, PROBE]
    rank = RankReport(0, (RankIndexFile(1, "i", 4, None),))
    assert read_reports(RankReport, [report_text(rank)]) == [rank]


def test_the_failure_of_a_task_is_raised() -> None:
    failure = TaskFailure("PredicateError", "a / b was evaluated and failed.", "b is 0", "use try_divide")
    with pytest.raises(PredicateError) as caught:
        read_reports(ProbeReport, [report_text(PROBE), report_text(failure)])
    assert caught.value.message == "a / b was evaluated and failed."
    assert (caught.value.detail, caught.value.hint) == ("b is 0", "use try_divide")


def test_another_failure_keeps_its_message() -> None:
    failure = TaskFailure("CorruptStateError", "The state block x is corrupt.", "", "restore it")
    with pytest.raises(CorruptStateError, match=r"^The state block x is corrupt\."):
        read_reports(ProbeReport, [report_text(failure)])
