"""Bytes on the wire beside those that the engine counts, on a Spark cluster across network namespaces.

Each run is repeated with empty texts, which is what Spark, the driver and the engine say besides. What the texts add to
the kernel's counters of the sites' interfaces is compared with what they add to the engine's counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from braid.optimizer.semijoins.network import Link
from experiments.claims import Claim, Measured, Verdict, within
from experiments.experiment import Experiment, Settings, Table
from experiments.semijoin import wire_job
from experiments.semijoin.size import Size
from experiments.semijoin.wide_area import WideArea, why_not
from experiments.semijoin.wire_job import PARTNERS, TEXT_BYTES, write_input

SITES = ("east", "west")
NAME, NETWORK = "wire", "10.78.0"
RATE_MBPS = 50
BATCHES = 2
LINK = Link(f"{RATE_MBPS} Mbps", "0 ms")
# A first run starts executors, Python workers and connections, and does not count.
RUNS = (("SP-D", "empty"), ("SP-D", "empty"), ("SP-D", "full"), ("SM-D1", "empty"), ("SM-D1", "full"))
UNCOUNTED = 1
ALGORITHMS = ("SP-D", "SM-D1")
JUDGED = "SP-D"
NEAR = 0.1
LEAST_BYTES = 50_000_000
# Of all runs together: a cluster that hangs must not.
LONGEST_SECONDS = 1500
MODULE = "experiments.semijoin.wire_job"


def measure(size: Size) -> Measured:
    """For each algorithm and input: what the kernel and the engine counted; or why that cannot be done here."""
    reason = why_not() if sys.platform == "linux" else "network namespaces are Linux's"
    if reason is not None:
        return {"skipped": reason, "runs": {}}
    with tempfile.TemporaryDirectory(prefix="braid-wire-") as directory:
        place = Path(directory)
        for name, text_bytes in (("empty", 0), ("full", TEXT_BYTES)):
            write_input(place / "input" / name, [size.wire_rows] * BATCHES, text_bytes)
        rate = f"{RATE_MBPS}mbit"
        with WideArea(place / "cluster", SITES, rate, name=NAME, network=NETWORK) as network:
            runs = follow(network, place, RUNS)
    found: Measured = {name: {} for name in ALGORITHMS}
    for (algorithm, given), one in list(zip(RUNS, runs, strict=True))[UNCOUNTED:]:
        found[algorithm][given] = {name: value for name, value in one.items() if name != "links"}
    return {"runs": found, "expected": BATCHES * size.wire_rows // PARTNERS}


def follow(network: WideArea, place: Path, runs: Sequence[tuple[str, str]]) -> list[Measured]:
    """Start the driver, let it run (algorithm, input) one after the other, and read the counters between them."""
    arguments = [str(place), *map(json.dumps, (network.settings(), network.hosts, runs))]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = ["timeout", str(LONGEST_SECONDS), sys.executable, "-m", MODULE, *arguments]
    log = place / "driver.log"
    found = []
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as driver,
    ):
        assert driver.stdin is not None
        assert driver.stdout is not None
        said = (json.loads(line) for line in driver.stdout if line.startswith("{"))
        next(said, None)
        for _ in runs:
            before = _sent(network)
            driver.stdin.write("\n")
            driver.stdin.flush()
            answer = next(said, None)
            if answer is None:
                raise RuntimeError(f"The driver ended: {log.read_text()[-3000:]}")
            found.append({"wire": _sent(network) - before, "links": answer["links"], **_counted(answer)})
        driver.stdin.close()
    return found


def _sent(network: WideArea) -> int:
    """What all sites have sent."""
    return sum(network.sent_bytes(site) for site in network.hosts)


def _counted(answer: Measured) -> Measured:
    links = [link for step in answer["links"] for link in step.values()]
    sums = {name: sum(link.get(name, 0) for link in links) for name in ("bytes", "ingestBytes", "messages")}
    return {"seconds": answer["seconds"], "results": answer["results"], **sums}


def added(measured: Measured, algorithm: str) -> tuple[float, float]:
    """The bytes that texts add, on the wire and by the engine's count."""
    full, empty = (measured["runs"][algorithm][given] for given in ("full", "empty"))
    counted = [one["bytes"] + one["ingestBytes"] for one in (full, empty)]
    return full["wire"] - empty["wire"], counted[0] - counted[1]


def _as_counted(measured: Measured) -> Verdict:
    """Within 10 %, over at least 50 MB; fewer bytes decide nothing."""
    if "skipped" in measured:
        return Verdict(f"not measured: {measured['skipped']}", None)
    wire, counted = added(measured, JUDGED)
    said = f"{wire / 1e6:.1f} MB on the wire, {counted / 1e6:.1f} MB counted: {wire / counted:.3f} times"
    near = within(wire, counted, NEAR)
    return Verdict(said, near if counted >= LEAST_BYTES or not near else None)


def _same_results(measured: Measured) -> Verdict:
    if "skipped" in measured:
        return Verdict(f"not measured: {measured['skipped']}", None)
    found = [one["results"] for runs in measured["runs"].values() for one in runs.values()]
    return Verdict(f"{', '.join(map(str, found))} rows", set(found) == {measured["expected"]})


CLAIMS = (
    Claim(
        "wire",
        "Bytes on the wire are within 10 % of the engine's count, over at least 50 MB, beyond a run with empty texts",
        "no figure; ours",
        _as_counted,
    ),
    Claim("results", "All runs on the cluster have the expected results", "appendix A", _same_results),
)


def describe(measured: Measured, settings: Settings) -> str:
    return (
        "Measured on a Spark cluster: a network namespace with a worker for each of two sites, links limited to "
        f"{RATE_MBPS} Mbps by the kernel (`tc tbf`), {BATCHES} batches of {settings['size.wire_rows']:,} rows of both "
        f"streams with texts of {TEXT_BYTES:,} bytes, of which one in {PARTNERS} has a partner. Bytes on the wire are "
        "those that the interfaces of both sites have sent, with the headers of the network and whatever Spark says to "
        "its driver; the engine counts its messages and the rows on their way from a reader to their site. Every run "
        "is repeated with empty texts, and the difference is judged. Seconds are measured from the start of the query "
        "to its end, once, on a machine that did other work too; *link* is the time that the wire's bytes take at "
        "least, modelled."
    )


def tables(measured: Measured) -> Sequence[Table]:
    rows = []
    for algorithm, runs in measured["runs"].items():
        for given, one in runs.items():
            megabytes = [f"{one[name] / 1e6:.2f}" for name in ("wire", "bytes", "ingestBytes")]
            link = f"{LINK.seconds(one['wire'], 0):.1f}"
            rows.append(
                (f"{algorithm}, {given} texts", *megabytes, f"{one['messages']:,}", link, f"{one['seconds']:.1f}")
            )
    headings = ("", "wire, MB", "messages, MB", "on the way to sites, MB", "messages", "link, s", "measured, s")
    return (Table(headings, tuple(rows), "What the kernel and the engine counted in each run:"),)


WIRE = Experiment(
    "wire",
    "Bytes on the wire between network namespaces, measured",
    ("§5.2",),
    measure,
    describe,
    CLAIMS,
    tables,
    timed=True,
    modules=(wire_job,),
)
