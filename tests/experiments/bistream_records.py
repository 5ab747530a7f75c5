"""Records of the join-biclique's experiments in which every claim holds, written by hand, and what contradicts each."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

from experiments.bistream.bandwidth import RATES
from experiments.bistream.elasticity import MINUTES as RUN_MINUTES
from experiments.bistream.elasticity import STEP_SECONDS
from experiments.bistream.limited import VOLUMES, WAYS
from experiments.bistream.memory import MORE_UNITS, SQUARES
from experiments.bistream.modelled import SUMMED
from experiments.bistream.queries import QUERIES
from experiments.bistream.scaling import GROWTHS
from experiments.bistream.timing import SETTINGS
from experiments.bistream.windows import MINUTES, PRINTED, RIPPLE_SECONDS
from experiments.bistream.windows import SETTINGS as WINDOWED
from experiments.claims import Measured

ROUNDS = range(3)
Change = Callable[[Measured, Iterable[int]], None]
"""Makes a record contradict a claim, in these rounds; those of what is only counted change whatever the rounds are."""


def _stored() -> Measured:
    once = {"volumes": [10, 20], "mean": [1, 2], "fullest": [1, 2], "rows": 100, "streams": [1, 1]}
    copied = {"volumes": [10, 20], "mean": [4, 8], "fullest": [4, 8], "rows": 400, "streams": None}
    return {query: {"selected": {"r": 60, "s": 40}, "JB16": once, "JM16": copied} for query in QUERIES}


def _volume() -> Measured:
    biclique = {str(n): {"rows": 10, "mean": 64 / n, "fullest": 64 / n} for n in sorted(SQUARES + MORE_UNITS)}
    matrix = {str(n): {"rows": 10, "mean": 64 / n**0.5, "fullest": 64 / n**0.5} for n in SQUARES}
    return {query: {"JB": biclique, "JM": matrix} for query in QUERIES}


def _ripples() -> Measured:
    """A window fills, then rows come for a tenth of it and are discarded together."""
    found: Measured = {"step_seconds": 4}
    for minutes in MINUTES:
        seconds = [4 * n for n in range(RIPPLE_SECONDS // 4)]
        sizes = [min(t, 60 * minutes) + t % (6 * minutes) for t in seconds]
        found[str(minutes)] = {"mean": sizes, "fullest": sizes}
    return found


def _longest() -> Measured:
    found: Measured = {}
    for row, printed in PRINTED.items():
        found[row] = {"rows": int(row.split()[1])}
        found[row] |= {s: {"mean": 1e9 / printed[s], "fullest": 1e9 / printed[s]} for s in WINDOWED}
    return found


def _gains() -> Measured:
    matrix = {"added": 4, "least": 4, "copied": 160, "capacity": 100.0, "equation": 0.6}
    biclique = {"added": 1, "least": 1, "copied": 0, "capacity": 100.0, "equation": 1.0}
    return {name: matrix if name.startswith("matrix") else biclique for name in GROWTHS}


def _moved() -> Measured:
    times = {"JM16": 4.0, "JB8": 5.0, "JB8-CR2": 3.0, "JB8-CR4": 2.0}
    return {
        query: {
            str(rate): {"rows": rate, "streams": [rate, rate]}
            | {s: dict.fromkeys(("read", "modelled", "equation"), value * 2 * rate) for s, value in times.items()}
            for rate in RATES[query]
        }
        for query in QUERIES
    }


def _busiest() -> Measured:
    most = {"JM16": 4, "JB8": 9, "JB16": 9, "JB16-CR4": 3, "JB16-CR8": 2}
    return {q: {s: {"received": [1, most[s]], "compared": [1, 2]} for s in SETTINGS} for q in QUERIES}


def _following() -> Measured:
    moments = []
    for step in range(RUN_MINUTES * 60 // STEP_SECONDS):
        minute = step * STEP_SECONDS / 60
        units = 4 if minute < 17 else 6 if minute < 41 else 3
        moments.append(
            {"minute": minute, "rate": 1.0, "units": [units, units], "stored": [60 * units, 60 * units]}
            | {"fullest": 61, "adaptations": ["said"]}
        )
    return {"capacity": 100, "moments": moments}


def _rounds(seconds: float) -> list[Measured]:
    parts: Measured = {"driver": [0.001], "slowest": [0.001], "sending": [10], "cpu": [0.01]}
    return [{"before": 10, "rows": [100, 100], "seconds": [seconds, seconds], **parts} for _ in ROUNDS]


def _rates() -> Measured:
    seconds = {"JM16": 0.0100, "JB8": 0.0105, "JB16": 0.0110, "JB16-CR4": 0.0099, "JB16-CR8": 0.0095}
    slower = {"q5": 1.0, "q7": 1.5, "band": 4.0}
    return {q: {s: _rounds(slower[q] * seconds[s]) for s in SETTINGS} for q in QUERIES}


def _limited() -> Measured:
    """A setting whose units have no room is a hundred times as slow."""
    slow = {("middle", "JM16"): 1.0, ("large", "JM16"): 2.0, ("large", "JB8"): 1.0}

    def runs(volume: str, setting: str, way: str) -> list[Measured]:
        cpu = slow.get((volume, setting), 0.01) if way == "limited" else 0.01
        one = {"rows": 100, "cpu": cpu, "seconds": cpu, "fullest": 10, "needed": 18, "device": 0, "results": 5}
        return [{**one, "reread": 100_000_000 if cpu > 0.01 else 0} for _ in ROUNDS]

    volumes = {v: {s: {way: runs(v, s, way) for way in WAYS} for s in SETTINGS} for v in VOLUMES}
    return {query: {"limit": 10, "volumes": volumes} for query in QUERIES}


def _latency() -> Measured:
    late = {"JM16": 0.300, "JB8": 0.302, "JB16": 0.305, "JB16-CR4": 0.299, "JB16-CR8": 0.295}
    five = {"p0": 0.1, "p25": 0.2, "p75": 0.4, "p99": 0.5, "p100": 0.6, "rate": 1000.0}
    return {q: {s: [{**five, "p50": late[s]} for _ in ROUNDS] for s in SETTINGS} for q in QUERIES}


def _sums() -> Measured:
    ways = {"none": _rounds(0.010), "batched": _rounds(0.0105), "immediate": _rounds(0.012)}
    return {f"{query} {setting}": ways for query in QUERIES for setting in SUMMED}


def _updates() -> Measured:
    return {query: {"batched": 10, "immediate": 100, "results": 5} for query in QUERIES}


RECORDS: dict[str, Callable[[], Measured]] = {
    "stored": _stored,
    "ripples": _ripples,
    "longest": _longest,
    "volume": _volume,
    "gains": _gains,
    "moved": _moved,
    "busiest": _busiest,
    "modelled": _rates,
    "throughput": _rates,
    "limited": _limited,
    "latency": _latency,
    "following": _following,
    "modelled_sums": _sums,
    "aggregation": _sums,
    "updates": _updates,
}


def record_of(name: str) -> Measured:
    """A record of its own, to be changed."""
    return copy.deepcopy(RECORDS[name]())


def put(value: Any, *path: Any) -> Change:
    """Replace what is at a path."""

    def change(measured: Measured, rounds: Iterable[int]) -> None:
        place: Any = measured
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


def in_rounds(value: Any, *path: Any) -> Change:
    """Replace what is in the last step of a path, in the given rounds of the list before it."""

    def change(measured: Measured, rounds: Iterable[int]) -> None:
        place: Any = measured
        for step in path[:-1]:
            place = place[step]
        for number in rounds:
            place[number][path[-1]] = value

    return change


def move_units(minutes: tuple[float, float], units: int) -> Change:
    """Other units from one minute to another."""

    def change(measured: Measured, rounds: Iterable[int]) -> None:
        for moment in measured["moments"]:
            if minutes[0] <= moment["minute"] < minutes[1]:
                moment["units"] = [units, units]

    return change


def at_minute(minute: float, name: str, value: Any) -> Change:
    def change(measured: Measured, rounds: Iterable[int]) -> None:
        for moment in measured["moments"]:
            if moment["minute"] == minute:
                moment[name] = value

    return change


def every_setting(queries: tuple[str, str]) -> Change:
    """One query takes as long as another, in the given rounds."""

    def change(measured: Measured, rounds: Iterable[int]) -> None:
        for setting in SETTINGS:
            for number in rounds:
                measured[queries[0]][setting][number]["seconds"] = measured[queries[1]][setting][number]["seconds"]

    return change


def faster_row(row: str) -> Change:
    """Everything takes twice the memory at one rate."""

    def change(measured: Measured, rounds: Iterable[int]) -> None:
        for setting in WINDOWED:
            measured[row][setting]["fullest"] *= 2

    return change


LONG, SHORT = [1.0, 1.0], [0.001, 0.001]


def _limited_changes(query: str) -> dict[str, Change]:
    def run(volume: str, setting: str, **figure: Any) -> Change:
        ((name, value),) = figure.items()
        return in_rounds(value, query, "volumes", volume, setting, "limited", name)

    return {
        f"{query} first": run("small", "JB8", reread=1),
        f"{query} matrix falls": run("middle", "JM16", cpu=0.01),
        f"{query} gains": run("middle", "JB8", cpu=2.0),
        f"{query} half leads": run("middle", "JB8", cpu=0.5),
        f"{query} subgroups lead": run("middle", "JB16-CR8", cpu=0.1),
        f"{query} half falls": run("large", "JB8", cpu=0.01),
        f"{query} modelled matrix falls": run("middle", "JB16", reread=10_000_000),
        f"{query} modelled half leads": run("middle", "JB8", reread=100_000_000),
        f"{query} modelled subgroups lead": run("middle", "JB16-CR8", reread=10_000_000),
        f"{query} modelled half falls": run("large", "JB16", reread=10_000_000),
        f"{query} same results": run("small", "JB8", results=6),
    }


def _rate_changes() -> dict[str, Change]:
    found: dict[str, Change] = {}
    for query in QUERIES:
        found[f"{query} subgroups"] = in_rounds(LONG, query, "JB16-CR8", "seconds")
        found[f"{query} random"] = in_rounds(SHORT, query, "JB16", "seconds")
        found[f"{query} half"] = in_rounds(LONG, query, "JB8", "seconds")
    return found | {"faster": every_setting(("q7", "q5")), "slower": every_setting(("band", "q5"))}


CHANGES: dict[str, dict[str, Change]] = {
    "stored": {
        **{f"{query} fuller": put([4, 4], query, "JM16", "fullest") for query in QUERIES},
        **{f"{query} copies": put(99, query, "JB16", "rows") for query in QUERIES},
        **{f"{query} always": put([0.5, 8], query, "JM16", "fullest") for query in QUERIES},
    },
    "ripples": {
        **{f"{n} bounded": put(list(range(240)), str(n), "mean") for n in MINUTES},
        **{f"{n} ripples": put([100.0] * 240, str(n), "mean") for n in MINUTES},
        "longer": put([1.0] * 240, "8", "mean"),
    },
    "longest": {
        **{f"{row} ratios": put({"mean": 1, "fullest": 1.0}, row, "JM16") for row in PRINTED},
        "q5 rates": faster_row("q5 80000"),
        "q7 rates": faster_row("q7 50000"),
    },
    "volume": {
        **{f"{query} biclique": put({"rows": 10, "mean": 1, "fullest": 2}, query, "JB", "64") for query in QUERIES},
        **{f"{query} matrix": put({"rows": 10, "mean": 8, "fullest": 16}, query, "JM", "64") for query in QUERIES},
        **{f"{query} every number": put({"rows": 9, "mean": 1, "fullest": 9}, query, "JB", "24") for query in QUERIES},
    },
    "gains": {
        "better": put(100, "biclique, a unit of the first side", "copied"),
        **{f"{name} gain": put(40, name, "copied") for name in GROWTHS},
        **{f"{name} least": put(2, name, "added") for name in GROWTHS},
    },
    "moved": {
        **{f"{q} more": put(1.0, q, str(RATES[q][-1]), "JB8", "read") for q in QUERIES},
        **{f"{q} less": put(1e9, q, str(RATES[q][-1]), "JB8-CR4", "read") for q in QUERIES},
        **{f"{q} equations": put(1.0, q, str(RATES[q][-1]), "JM16", "read") for q in QUERIES},
        **{f"{q} proportional": put(1e9, q, str(RATES[q][0]), "JM16", "read") for q in QUERIES},
        "band modelled": put(1e9, "band", str(RATES["band"][-1]), "JM16", "modelled"),
    },
    "busiest": {f"{query} subgroups": put([1, 8], query, "JB16-CR8", "received") for query in QUERIES},
    "throughput": _rate_changes(),
    "modelled": {
        **_rate_changes(),
        **{f"{query} similar": in_rounds(LONG, query, "JB8", "seconds") for query in QUERIES},
        **{f"{query} sooner": in_rounds(LONG, query, "JB16-CR8", "seconds") for query in QUERIES},
    },
    "limited": {name: change for query in QUERIES for name, change in _limited_changes(query).items()},
    "latency": {
        **{f"{query} similar": in_rounds(0.4, query, "JB8", "p50") for query in QUERIES},
        **{f"{query} sooner": in_rounds(0.4, query, "JB16-CR8", "p50") for query in QUERIES},
    },
    "following": {
        "added": move_units((17, 41), 4),
        "removed": move_units((41, 50), 6),
        "steady": move_units((25, 26), 5),
        "no others": move_units((5, 6), 5),
        "within": at_minute(49.5, "stored", [1000, 1000]),
        "evenly": at_minute(49.5, "fullest", 200),
    },
    "modelled_sums": {f"{q} {s}": in_rounds(LONG, f"{q} {s}", "batched", "seconds") for q in QUERIES for s in SUMMED},
    "aggregation": {f"{q} {s}": in_rounds(LONG, f"{q} {s}", "batched", "seconds") for q in QUERIES for s in SUMMED},
    "updates": {f"{query} saves": put(60, query, "batched") for query in QUERIES},
}
