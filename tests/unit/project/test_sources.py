"""The code that records say they measured is that of the commits they name, as far as git knows these commits."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.command import RESULTS, read_documents
from benchmarks.machine import source
from benchmarks.report.scale import read_scale
from experiments.command import PAPERS, read_records

Measured = tuple[str, str]


def of_papers() -> set[Measured]:
    return {(one.commit, one.source) for name in PAPERS for one in read_records(name, "full").values()}


def of_benchmarks() -> set[Measured]:
    named = {(one["commit"], one["source"]) for document in read_documents() for one in document.measured}
    scale = read_scale(RESULTS)
    assert scale is not None
    return named | {(scale["versions"]["commit"], scale["versions"]["source"])}


@pytest.mark.parametrize("measured", [of_papers, of_benchmarks], ids=["papers", "benchmarks"])
def test_a_record_names_the_source_of_its_commit(measured: Callable[[], set[Measured]]) -> None:
    named = measured()
    known = {(commit, source(commit)) for commit, _ in named}
    if {"unknown"} == {one for _, one in known}:
        pytest.skip("git knows none of the commits: this is no clone with its history")
    assert named == known
