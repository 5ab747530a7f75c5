"""Rates of the five settings where units have a limit of memory, at three volumes (Figure 8).

The smallest volume fits the memory of all settings; the middle one is more than a matrix of 16 units has room for; the
largest is more than a biclique of 8 has.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import pyarrow as pa

from braid.engine.tasks.lookup.unopened import Place
from braid.engine.tasks.segments import INDEX_BYTES, SegmentStore
from braid.kernels.probing import StoredSegment
from braid.plan.logical import LogicalPlan
from braid.plan.memory import MemoryLimit
from braid.testing import InlineQuery
from experiments.bistream import counting, queries
from experiments.bistream.counting import ROWS_PER_BATCH, SLOTS, count, unit_bytes
from experiments.bistream.models import label, model, units_of
from experiments.bistream.queries import QUERIES, TITLES, Tables, in_steps
from experiments.bistream.size import Size
from experiments.bistream.timing import SETTINGS
from experiments.claims import Claim, Measured, Ratio, Verdict, agreed, all_of
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series

# All rows are cut into so many parts: a volume is the first of them, and each counted step is one part more. The
# paper's volumes are 10, 80 and 320 GB. The largest is half of that here, so that 16 units without copies have room.
PARTS = 128
VOLUMES = {"small": 7, "middle": 56, "large": 112}
FILLING_STEPS = 2
STEPS_A_ROUND, WARM_UP = 4, 1
# The settings that have no room for their state, by volume.
EXCEEDING = {"small": [], "middle": ["JM16"], "large": ["JM16", "JB8"]}
# At the middle volume a unit of the matrix has so many times the state that its limit has room for.
MATRIX_OVER = 1.5
# A worker keeps segments and their indexes open in a half of its memory; the other half is for its work.
ROOM = 0.5
WAYS = ("limited", "unlimited")
SHARPLY = 0.5  # of the rate at the smallest volume
ORDER = 10**0.5  # nearer to one order of magnitude than to none
TWO_ORDERS = 10**1.5
# Of a disk as the paper's servers had: what is read over the limit comes from one in the modelled rates.
DISK_BYTES_A_SECOND = 100_000_000
Reads = Literal["from the page cache", "from a disk, modelled"]
MODELLED: Reads = "from a disk, modelled"
NO_DISK = (
    "Rates under a limit: what a unit has no room for is read again from the page cache of the machine, which has "
    "memory for all of it, so no setting waits for a disk as in the paper. What is left of the collapse is the work of "
    "copying the same rows in every step."
)
FEW_READS = (
    "Modelled rates under a limit: a step reads once what has no room, in long reads and for thousands of rows, where "
    "the paper's units read for every row. So the collapse is that of the bytes, and smaller than the paper's."
)


@contextmanager
def counting_reads() -> Iterator[list[int]]:
    """The bytes of every segment that is opened for a lookup and closed again, because there is no room for it."""
    found: list[int] = []
    original = SegmentStore.parts_of

    def counted(self: SegmentStore, place: Place) -> Iterator[StoredSegment]:
        for number, part in enumerate(original(self, place)):
            if number == 0 and part.transient:
                found.append(place.segment.length)
            yield part

    SegmentStore.parts_of = counted  # type: ignore[method-assign]  # it counts, and is put back
    try:
        yield found
    finally:
        SegmentStore.parts_of = original  # type: ignore[method-assign]  # as it was


def measure_limited(size: Size) -> Measured:
    """Every volume: all settings are filled with it, then take more steps in turn, with the limit and without."""
    found: Measured = {}
    for name in QUERIES:
        query = size.limited_query(name)
        plan, parts = query.draft()[0].logical_plan(), in_steps(query.selected(), PARTS)
        limit = _limit(plan, parts[: VOLUMES["middle"]])
        found[name] = {"limit": limit, "volumes": {}}
        for volume in VOLUMES:
            with tempfile.TemporaryDirectory(prefix="braid-experiment-") as directory, counting_reads() as reads:
                runs = [
                    Run(name, plan, setting, limit if way == "limited" else None, f"{directory}/{setting}-{way}", reads)
                    for setting in SETTINGS
                    for way in WAYS
                ]
                found[name]["volumes"][volume] = _in_turn(runs, parts, VOLUMES[volume], size.rounds)
    return found


def _limit(plan: LogicalPlan, parts: Sequence[Tables]) -> int:
    """The limit of a unit, from what the rows of the middle volume need: a unit of the matrix has a quarter of it."""
    stored = count(plan, model("JB16"), [_together(parts)]).last
    return int(_needed(stored["stateBytes"], stored["stateRows"]) / 4 / MATRIX_OVER / ROOM)


def _needed(size: int, rows: int) -> int:
    """What open segments of so many bytes and rows count, indexes included."""
    return size + INDEX_BYTES * rows


def _together(parts: Sequence[Tables]) -> Tables:
    return {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}


class Run:
    """One setting, with a limit or without, that goes on step by step. `reads` are of all runs of this process."""

    def __init__(
        self, query: str, plan: LogicalPlan, setting: str, limit: int | None, directory: str, reads: list[int]
    ) -> None:
        self.setting = setting
        self.way = WAYS[0] if limit is not None else WAYS[1]
        self._reads = reads
        self._results = self._steps = 0
        self._query = InlineQuery(
            plan,
            directory,
            strategy=model(setting, query),
            slots=SLOTS,
            rows_per_batch=ROWS_PER_BATCH,
            limits=None if limit is None else MemoryLimit(limit),
            results="counted",
        )

    def step(self, tables: Tables) -> dict[str, Any]:
        progress = self._query.run(self._steps, tables)
        if progress is None:
            raise AssertionError(f"step {self._steps} was not run")
        self._steps += 1
        self._results += progress["numOutputRows"]
        return progress

    def round(self, parts: Sequence[Tables]) -> Measured:
        """Some steps: the first opens again what other runs have closed since, and is not counted."""
        for tables in parts[:WARM_UP]:
            self.step(tables)
        self._reads.clear()
        began, began_cpu = time.monotonic(), time.process_time()
        steps = [self.step(tables) for tables in parts[WARM_UP:]]
        cpu, seconds, last = time.process_time() - began_cpu, time.monotonic() - began, steps[-1]
        return {
            "rows": sum(step["numInputRows"] for step in steps),
            "cpu": round(cpu, 4),
            "seconds": round(seconds, 4),
            "fullest": max(unit_bytes(last, units_of(self.setting))),
            "needed": _needed(last["stateBytes"], last["stateRows"]),
            "reread": sum(self._reads),
            "device": sum(step["memory"].get("deviceBytes", 0) for step in steps),
            "results": self._results,
        }


def _in_turn(runs: Sequence[Run], parts: Sequence[Tables], volume: int, rounds: int) -> Measured:
    """The steps of each round, another setting first each time, with the limit and without it side by side."""
    for run in runs:
        for tables in (_together(part) for part in _halves(parts[:volume])):
            run.step(tables)
    found: Measured = {setting: {way: [] for way in WAYS} for setting in SETTINGS}
    for number in range(rounds):
        first = number * len(SETTINGS) // rounds * len(WAYS)
        start = volume + number * STEPS_A_ROUND
        for run in (*runs[first:], *runs[:first]):
            found[run.setting][run.way].append(run.round(parts[start : start + STEPS_A_ROUND]))
    return found


def _halves(parts: Sequence[Tables]) -> list[Sequence[Tables]]:
    """The rows that come before those that are counted, in few steps."""
    edges = [len(parts) * step // FILLING_STEPS for step in range(FILLING_STEPS + 1)]
    return [parts[begin:end] for begin, end in pairwise(edges)]


def rates(
    measured: Measured,
    query: str,
    volume: str,
    setting: str,
    way: str = "limited",
    reads: Reads = "from the page cache",
) -> list[float]:
    """Rows a second of CPU time, of each round; modelled, with the time of a disk for what was read over the limit."""
    runs = measured[query]["volumes"][volume][setting][way]
    disk = [run["reread"] / DISK_BYTES_A_SECOND if reads == MODELLED else 0.0 for run in runs]
    return [run["rows"] / (run["cpu"] + seconds) for run, seconds in zip(runs, disk, strict=True)]


def keeps(
    measured: Measured,
    query: str,
    volume: str,
    setting: str,
    way: str = "limited",
    reads: Reads = "from the page cache",
) -> Ratio:
    """The rate at a volume, over that at the smallest, with steps of as many rows."""
    return Ratio.of(*(rates(measured, query, one, setting, way, reads) for one in (volume, "small")))


def state_over_room(measured: Measured, query: str, volume: str, setting: str) -> float:
    """The state of all units, over what their memory has room for: they share it, in one process."""
    run = measured[query]["volumes"][volume][setting]["limited"][-1]
    return float(run["needed"] / (ROOM * measured[query]["limit"] * units_of(setting)))


def _exceeding(measured: Measured, query: str, volume: str, number: int) -> list[str]:
    """The settings that read what they had no room for, in a round."""
    runs = measured[query]["volumes"][volume]
    return [setting for setting in SETTINGS if runs[setting]["limited"][number]["reread"]]


def _first_to_exceed(query: str, measured: Measured) -> Verdict:
    rounds = range(len(measured[query]["volumes"]["small"]["JM16"]["limited"]))
    found = [{volume: _exceeding(measured, query, volume, number) for volume in VOLUMES} for number in rounds]
    here = "; ".join(f"{volume} volume: {', '.join(who) or 'none'}" for volume, who in found[-1].items())
    return Verdict(f"reads over the limit, {here}", agreed(one == EXCEEDING for one in found))


def _falls(query: str, volume: str, setting: str, reads: Reads, measured: Measured) -> Verdict:
    """Below half of its rate at the smallest volume, where a biclique of 16 units keeps more."""
    own, other = (keeps(measured, query, volume, one, reads=reads) for one in (setting, "JB16"))
    without = keeps(measured, query, volume, setting, "unlimited")
    here = f"{setting} keeps {own} of its rate at the smallest volume, {without} without a limit; JB16 keeps {other}"
    return Verdict(here, all_of(own.below(SHARPLY), other.above(SHARPLY)), _why(reads))


def _leads(query: str, setting: str, bound: float, reads: Reads, measured: Measured) -> Verdict:
    limited = Ratio.of(*(rates(measured, query, "middle", one, reads=reads) for one in (setting, "JM16")))
    without = Ratio.of(*(rates(measured, query, "middle", one, "unlimited") for one in (setting, "JM16")))
    here = f"{limited} times the rate of JM16, {without} without a limit"
    return Verdict(here, limited.above(bound), _why(reads))


def _why(reads: Reads) -> str:
    return FEW_READS if reads == MODELLED else NO_DISK


def _slower_than(query: str, measured: Measured) -> Verdict:
    """The lead of JB8 over JM16 is larger with the limit than without."""
    lead = [Ratio.of(*(rates(measured, query, "middle", one, way) for one in ("JB8", "JM16"))).values for way in WAYS]
    holds = agreed(limited > without for limited, without in zip(*lead, strict=True))
    texts = [f"{statistics.median(one):.2f}" for one in lead]
    return Verdict(f"JB8 over JM16 {texts[0]} with the limit, {texts[1]} without", holds, NO_DISK)


def _same_results(query: str, measured: Measured) -> Verdict:
    volumes = measured[query]["volumes"]
    found = {
        volume: [
            {run["results"] for run in runs}
            for runs in zip(*(by[way] for by in volumes[volume].values() for way in WAYS), strict=True)
        ]
        for volume in VOLUMES
    }
    counts = ", ".join(" or ".join(f"{n:,}" for n in sorted(one[-1])) for one in found.values())
    holds = agreed(all(len(one) == 1 for one in by_volume) for by_volume in zip(*found.values(), strict=True))
    return Verdict(f"{counts} results in the end at the three volumes", holds)


def _rate_claims(query: str, reads: Reads) -> tuple[Claim, ...]:
    """What Figure 8 says of rates over the limit."""
    title, name = TITLES[query], f"{query} modelled" if reads == MODELLED else query
    end = f", what is read over the limit {reads}" if reads == MODELLED else ""
    return (
        Claim(
            f"{name} matrix falls",
            f"{title}: the rate of the matrix then falls sharply, not that of a biclique of as many units{end}",
            "sharply (80 GB)",
            partial(_falls, query, "middle", "JM16", reads),
        ),
        Claim(
            f"{name} half leads",
            f"{title}: a biclique of half the units is then ahead of the matrix by an order of magnitude,"
            f" more than {ORDER:.1f} times{end}",
            "one order (80 GB)",
            partial(_leads, query, "JB8", ORDER, reads),
        ),
        Claim(
            f"{name} subgroups lead",
            f"{title}: and one of as many units with 8 subgroups by almost two, more than {TWO_ORDERS:.0f} times{end}",
            "almost two orders (80 GB)",
            partial(_leads, query, "JB16-CR8", TWO_ORDERS, reads),
        ),
        Claim(
            f"{name} half falls",
            f"{title}: at the largest volume the rate of a biclique of 8 units falls as well, and not that of 16{end}",
            "JB8 decreases as well (320 GB)",
            partial(_falls, query, "large", "JB8", reads),
        ),
    )


def _claims(query: str) -> tuple[Claim, ...]:
    title = TITLES[query]
    return (
        Claim(
            f"{query} first",
            f"{title}: the matrix is the first that exceeds its units' memory, then a biclique of half as many",
            "none at 10 GB, JM16 at 80 GB, JB8 too at 320 GB",
            partial(_first_to_exceed, query),
        ),
        *_rate_claims(query, "from the page cache"),
        Claim(
            f"{query} gains",
            f"{title}: the limit puts a biclique of half the units further ahead of the matrix",
            "about equal at 10 GB, ahead at 80 GB",
            partial(_slower_than, query),
        ),
        *_rate_claims(query, MODELLED),
        Claim(
            f"{query} same results",
            f"{title}: all settings find the same number of results, with the limit and without",
            "no figure; ours",
            partial(_same_results, query),
        ),
    )


def _table(measured: Measured) -> tuple[Table, ...]:
    rows = []
    for query in QUERIES:
        for volume in VOLUMES:
            for setting in SETTINGS:
                run = measured[query]["volumes"][volume][setting]["limited"][0]
                name = f"{TITLES[query]}, {volume} volume, {setting}"
                median = statistics.median(rates(measured, query, volume, setting))
                free = statistics.median(rates(measured, query, volume, setting, "unlimited"))
                modelled = statistics.median(rates(measured, query, volume, setting, reads=MODELLED))
                kept = str(keeps(measured, query, volume, setting))
                texts = (f"{median:,.0f}", f"{free:,.0f}", f"{modelled:,.0f}", kept)
                over = run["fullest"] / measured[query]["limit"]
                share = state_over_room(measured, query, volume, setting)
                rows.append((name, *texts, f"{over:.2f}", f"{share:.2f}", f"{run['reread']:,}", f"{run['device']:,}"))
    headings = (
        "query, volume, setting",
        "rows a CPU second under the limit, median",
        "without a limit",
        "under the limit, reads from a disk, modelled",
        "under the limit, of its rate at the smallest volume",
        "fullest unit's state, of its limit",
        "all state, of what there is room for",
        "bytes read over the limit",
        "bytes from devices",
    )
    return (Table(headings, tuple(rows)),)


def _picture(query: str, measured: Measured) -> Picture:
    """The rates as measured, and below them as modelled."""
    every: tuple[Reads, ...] = ("from the page cache", MODELLED)
    series = tuple(
        Series(
            label(setting),
            tuple((v, statistics.median(rates(measured, query, v, setting, reads=reads))) for v in VOLUMES),
            panel,
        )
        for panel, reads in enumerate(every)
        for setting in SETTINGS
    )
    title = f"{TITLES[query]}: rate with a limit of {measured[query]['limit'] / 1e6:.2f} MB for each unit"
    upward = ("rows a second of CPU time", "rows a second, modelled")
    return Picture(query, title, "volume", upward, series, "bars")


def _describe(measured: Measured, settings: Settings) -> str:
    scale = settings["size.limited_scales"]
    limits = ", ".join(f"{TITLES[query]} {measured[query]['limit'] / 1e6:.2f} MB" for query in QUERIES)
    volumes = ", ".join(str(parts) for parts in settings["limited.VOLUMES"].values())
    return (
        f"Scaled down: in place of 10, 80 and 320 GB {volumes} parts of {settings['limited.PARTS']} of the rows that "
        f"pass the selections, for Q5 and Q7 of TPC-H scale {scale['q5']:g}, for Band of scale {scale['band']:g}; in "
        f"place of the paper's 1.5 GB a limit for each unit: {limits}. It is such that at the middle volume a unit of "
        f"the matrix has {settings['limited.MATRIX_OVER']:g} times the state that a half of its limit has room for; "
        f"the other half is for its work. A user may not give less than 24 MB for each slot, which a worker needs "
        f"beside its state. All units are in one process and share their memory. What has no room is read again "
        f"whenever it is looked up (read-through). Each run is filled with its volume, and then takes steps of one "
        f"part: their rates are rows a second of CPU time, the mean of {STEPS_A_ROUND - WARM_UP} steps in each of "
        f"{settings['size.rounds']} rounds of all settings in turn, with the limit and without. Waits for a disk are "
        f"not in it; {_from_devices(measured):,} bytes came from one. Modelled rates add the time of a disk of "
        f"{DISK_BYTES_A_SECOND // 10**6} MB/s for the bytes that were read over the limit."
    )


def _from_devices(measured: Measured) -> int:
    settings = [by for query in QUERIES for volume in measured[query]["volumes"].values() for by in volume.values()]
    return sum(run["device"] for by in settings for run in by["limited"])


LIMITED = Experiment(
    "limited",
    "Rates where units have a limit of memory",
    ("Figure 8 at 80 and 320 GB",),
    measure_limited,
    _describe,
    tuple(claim for query in QUERIES for claim in _claims(query)),
    _table,
    lambda measured: [_picture(query, measured) for query in QUERIES],
    timed=True,
    modules=(counting, queries),
)
