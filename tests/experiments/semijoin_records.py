"""Records of joins between sites, by hand: what would be measured if every claim held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments.claims import Measured
from experiments.experiment import plain
from experiments.semijoin import choice, executed, optimizers, parameters, speeds, wide, wire
from experiments.semijoin.flight_records import MONTHS
from experiments.semijoin.one_way import AT_SOURCE, NAMES, SIMPLE


def counts(size: float, messages: float) -> Measured:
    one = {"bytes": size, "messages": messages, "framing": 0.01 * size}
    return {"forward": one, "backward": one, "results": [5, 6], "busy": 0.3}


def seconds_of(figure: str, value: Any, name: str) -> float:
    """Curves as the paper describes them."""
    at_source = name in AT_SOURCE
    extra = {"SM-S1": -0.01, "SM-D2": -0.01}.get(name, 0.0)
    if figure in ("a", "b"):
        middle = parameters.VALUES[figure][2]
        return (3.0 * value / middle if at_source else 3.0) + extra
    if figure == "c":
        if name in SIMPLE:
            return 3.0
        return (20.0 * min(value, 0.1) if at_source else 3.0 / (1 + value)) + extra
    grows = figure in ("d", "e")
    return (2.0 + value / 100 if grows else 2.0 + 100 / value) + extra


def parameters_record() -> Measured:
    points = []
    for figure, values in parameters.VALUES.items():
        for value in values:
            found = {source: {name: counts(100.0, 10.0) for name in NAMES} for source in SOURCES}
            seconds = {source: {name: seconds_of(figure, value, name) for name in NAMES} for source in SOURCES}
            points.append({"figure": figure, "value": value, "counts": found, "seconds": seconds})
    return {"points": points}


SOURCES = ("engine", "simulated", "modelled")


def choice_record() -> Measured:
    def regrets(*sources: str) -> list[Measured]:
        ratios = [1.0] * 19 + [1.5]
        return [
            {
                source: {link: {"chosen": "SP-S", "best": "SP-D", "ratio": r} for link in choice.LINKS}
                for source in sources
            }
            for r in ratios
        ]

    return {kind: {"engine": regrets("engine", "framed"), "simulated": regrets("simulated")} for kind in choice.KINDS}


def optimizers_record() -> Measured:
    random = {shape: [1.0] * 15 + [mean * 20 - 19] * 1 + [1.0] * 4 for shape, mean in MEANS.items()}
    alike = [
        {"parameter": parameter, "value": value, "shape": shape, "greedy": 2.0, "exhaustive": 2.0}
        for parameter, values in optimizers.EQUAL_VALUES.items()
        for value in values
        for shape in optimizers.SHAPES
    ]
    return {"random": random, "alike": alike}


MEANS = optimizers.PAPER_MEANS


def executed_record() -> Measured:
    def query(mean: float) -> Measured:
        greedy = dict.fromkeys(("greedy", executed.ONCE["greedy"]), mean)
        link = {
            search: 2.0 * greedy.get(search, 1.0) * (0.9 if "once" in search else 1) for search in executed.SEARCHES
        }
        counted = {search: {"link": link[search], "busy": 0.5, "results": [3, 4]} for search in executed.SEARCHES}
        return {"expected": link, "summed": link, "counted": counted, "distinct": 4 if mean > 1 else 2}

    return {shape: [query(1.0), query(mean)] for shape, mean in MEANS.items()}


def flights_record() -> Measured:
    links = dict(zip(executed.SEARCHES, (2.1, 2.0, 1.6, 1.5), strict=True))

    def point(window: int) -> Measured:
        counted = {
            search: {"link": link, "busy": 0.5, "bytes": 2e5, "messages": 40.0, "results": [3, 4]}
            for search, link in links.items()
        }
        plans = {
            search: {name: [("s1", "SP-D" if search == "greedy" else "SP-S")] * 3 for name in MONTHS}
            for search in executed.SEARCHES
        }
        expected = dict.fromkeys(executed.SEARCHES, 2.0)
        return {"window": window, "expected": expected, "counted": counted, "plans": plans}

    streams = {name: {"rows": 27_000, "aircraft": 3100, "row_bytes": 106.0} for name in MONTHS}
    return {"streams": streams, "points": [point(window) for window in optimizers.WINDOWS]}


def wide_record() -> Measured:
    found: Measured = {}
    for case, (full, reduced) in wide.FULL_ROWS.items():
        found[case] = {name: counts(100.0 if name == full else 10.0, 10.0) for name in NAMES}
        assert full not in reduced
    return found


def speeds_record() -> Measured:
    def run(rate: int) -> Measured:
        return {"known": [None, rate * 115_000], "bytes": 10_000_000, "results": 300, "expected": 300}

    return {"runs": {str(rate): run(rate) for rate in speeds.MOST_ROWS}}


def wire_record() -> Measured:
    def run(sent: int) -> Measured:
        return {
            "wire": 1_000_000 + round(1.04 * sent),
            "bytes": 200_000 + sent,
            "ingestBytes": 0,
            "messages": 12,
            "results": 300,
            "seconds": 9.0,
        }

    runs = {name: {"empty": run(0), "full": run(60_000_000)} for name in wire.ALGORITHMS}
    return {"runs": runs, "expected": 300}


RECORDS: dict[str, Callable[[], Measured]] = {
    "parameters": parameters_record,
    "choice": choice_record,
    "optimizers": optimizers_record,
    "executed": executed_record,
    "flights": flights_record,
    "wide": wide_record,
    "wire": wire_record,
    "speeds": speeds_record,
}


def record(name: str) -> Measured:
    """As it is read back from JSON."""
    return dict(plain(RECORDS[name]()))
