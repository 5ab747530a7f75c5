"""What a run measures of a link beside what the link was limited to, on a Spark cluster across network namespaces."""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from braid.optimizer.semijoins.network import BITS_PER_BYTE
from experiments.claims import Claim, Measured, Verdict, within
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series
from experiments.semijoin import wire, wire_job
from experiments.semijoin.size import Size
from experiments.semijoin.wide_area import WideArea, why_not
from experiments.semijoin.wire import SITES, follow
from experiments.semijoin.wire_job import PARTNERS, TEXT_BYTES, write_input

NAME, NETWORK = "speed", "10.79.0"
ALGORITHM = "SP-D"
# By the rate of a link in Mbps: a step has from 100 rows of each stream to so many, a second of it at most.
MOST_ROWS = {10: 1000, 50: 4000}
LEAST_ROWS = 100
# The kernel limits what has headers of the network, about a twentieth.
NEAR = 0.2


def measure(size: Size) -> Measured:
    """For each rate of a link: what was known of it after each step; or why that cannot be done here."""
    reason = why_not() if sys.platform == "linux" else "network namespaces are Linux's"
    if reason is not None:
        return {"skipped": reason, "runs": {}}
    return {"runs": {str(rate): _run(rate, size.speed_steps) for rate in MOST_ROWS}}


def _run(rate: int, steps: int) -> Measured:
    chance = random.Random(f"speeds {rate}")
    rows = [chance.randint(LEAST_ROWS, MOST_ROWS[rate]) for _ in range(steps)]
    with tempfile.TemporaryDirectory(prefix="braid-speeds-") as directory:
        place = Path(directory)
        write_input(place / "input" / "texts", rows, TEXT_BYTES)
        with WideArea(place / "cluster", SITES, f"{rate}mbit", name=NAME, network=NETWORK) as network:
            (found,) = follow(network, place, [(ALGORITHM, "texts")])
    way = " -> ".join(SITES)
    known = [step.get(way, {}).get("bytesPerSecond") for step in found["links"]]
    expected = sum((sum(rows[:place]) + n) % PARTNERS == 0 for place, count in enumerate(rows) for n in range(count))
    return {"known": known, "bytes": found["bytes"], "results": found["results"], "expected": expected}


def megabits(run: Measured) -> float | None:
    """What the run knew of its link in the end."""
    known = run["known"][-1] if run["known"] else None
    return None if known is None else BITS_PER_BYTE * known / 1e6


def _near(rate: int, measured: Measured) -> Verdict:
    if "skipped" in measured:
        return Verdict(f"not measured: {measured['skipped']}", None)
    run = measured["runs"][str(rate)]
    found, steps = megabits(run), [place for place, known in enumerate(run["known"], 1) if known is not None]
    if found is None:
        return Verdict(f"not clear after {len(run['known'])} steps", False)
    said = f"{found:.1f} Mbps after {len(run['known'])} steps, known from step {steps[0]} on"
    return Verdict(said, within(found, rate, NEAR))


def _same_results(measured: Measured) -> Verdict:
    if "skipped" in measured:
        return Verdict(f"not measured: {measured['skipped']}", None)
    runs = measured["runs"].values()
    said = ", ".join(f"{run['results']:,}" for run in runs)
    return Verdict(f"{said} rows", all(run["results"] == run["expected"] for run in runs))


CLAIMS = (
    *(
        Claim(
            f"{rate} Mbps",
            f"A run finds the bandwidth of a link of {rate} Mbps, within 20 %",
            "no figure; ours",
            partial(_near, rate),
        )
        for rate in MOST_ROWS
    ),
    Claim("results", "Runs that measure their links have the expected results", "no figure; ours", _same_results),
)


def describe(measured: Measured, settings: Settings) -> str:
    return (
        "Measured on a Spark cluster: a network namespace with a worker for each of two sites, and links limited by "
        f"the kernel (`tc tbf`), headers of the network included. A join by {ALGORITHM} of "
        f"{settings['size.speed_steps']} batches of random sizes, with texts of {TEXT_BYTES:,} bytes. The network was "
        "not given to the query, which begins with 100 Mbps. Latency is not limited: `netem` is not to be had "
        "everywhere. The rate is that of the messages' own bytes."
    )


def tables(measured: Measured) -> Sequence[Table]:
    rows = []
    for rate, run in measured["runs"].items():
        found = megabits(run)
        rows.append((f"{rate} Mbps", "" if found is None else f"{found:.1f}", f"{run['bytes'] / 1e6:.1f}"))
    return (Table(("link", "measured, Mbps", "sent, MB"), tuple(rows), "After the last step:"),)


def pictures(measured: Measured) -> Sequence[Picture]:
    series = tuple(
        Series(
            f"link of {rate} Mbps",
            tuple((at, BITS_PER_BYTE * known / 1e6) for at, known in enumerate(run["known"], 1) if known is not None),
        )
        for rate, run in measured["runs"].items()
    )
    return [Picture("", "The bandwidth of a link as a run knows it", "step", ("Mbps",), series)]


SPEEDS = Experiment(
    "speeds",
    "The bandwidth of links, measured while a join runs",
    ("§5.2",),
    measure,
    describe,
    CLAIMS,
    tables,
    pictures,
    timed=True,
    modules=(wire, wire_job),
)
