"""Every workload by name: a task names one with its options, so that it can be written down and repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.workloads import nexmark, synthetic, tpch
from benchmarks.workloads.workload import Workload

FAMILIES: dict[str, Callable[..., Workload]] = {
    "equality": synthetic.equality,
    "band": synthetic.band,
    "theta": synthetic.theta,
    "nested_loop": synthetic.nested_loop,
    "wide": synthetic.wide,
    "many": synthetic.many,
    "history": synthetic.history,
    "nexmark-q3": nexmark.q3,
    "nexmark-q8": nexmark.q8,
    "nexmark-q9": nexmark.q9,
    "nexmark-q20": nexmark.q20,
    "tpch-q5": tpch.q5,
    "tpch-q7": tpch.q7,
    "tpch-band": tpch.band,
}


def workload(family: str, options: dict[str, Any]) -> Workload:
    """The workload of a family with these options."""
    return FAMILIES[family](**options)
