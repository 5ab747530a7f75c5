"""The figures of a run as tables, and what they are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

ON_SPARK = (
    *("join", "slots", "rows", "CPU s (ingest, probe)", "all CPU s", "no-op s", "step ms (ingest, probe)"),
    *("ns/pair", "blocks", "records B", "reads/slot", "requests", "results"),
)
IN_PROCESS = (
    *("join", "slots", "rows", "CPU s", "CPU µs/row", "driver ms", "reads/slot", "records B", "modelled s"),
    "modelled speed-up",
)

Found = list[tuple[dict[str, Any], dict[str, Any]]]
"""Arguments and figures of the parts of one kind."""


@dataclass(frozen=True)
class Verdict:
    """A figure and its bound; None: not measured."""

    description: str
    value: float | None
    at_most: float | None = None
    at_least: float | None = None

    @property
    def met(self) -> bool | None:
        if self.value is None:
            return None
        if self.at_most is not None:
            return self.value <= self.at_most
        return self.at_least is None or self.value >= self.at_least

    @property
    def text(self) -> str:
        bound = f"at most {self.at_most:g}" if self.at_most is not None else f"at least {self.at_least:g}"
        if self.value is None:
            return f"{self.description}: not measured ({bound})"
        return f"{self.description}: {self.value:.3g} ({bound}, {'met' if self.met else 'missed'})"


def verdicts(found: dict[str, Found]) -> list[Verdict]:
    """Every bound there is."""
    return [*_on_spark(found["spark"]), *_growth(found["growth"]), *_driver(found["driver"]), *_skew(found["skew"])]


@dataclass(frozen=True)
class Listing:
    """A table before it is printed."""

    title: str
    headings: tuple[str, ...]
    lines: list[list[str]]


def listings(found: dict[str, Found]) -> list[Listing]:
    """The figures as tables."""
    noop = {arguments["slots"]: figures for arguments, figures in found["noop"]}
    return [
        Listing(
            "On Spark local[k], inputs repartitioned to k: medians of a step",
            ON_SPARK,
            [_spark_cells(a, f, noop.get(a["slots"], {})) for a, f in found["spark"]],
        ),
        Listing(
            "In one process, without the garbage collection of Python, which would search the objects of all slots; "
            "modelled seconds: driver + slowest slot of each round with its bytes over 1 Gbit/s",
            IN_PROCESS,
            [_growth_cells(a, f, found["growth"]) for a, f in [*found["growth"], *found["driver"]]],
        ),
        Listing(
            "Band on a Zipf 1.2 attribute with one value at 20 %, 16 units a side: the fullest unit over the even "
            "share",
            ("strategy", "rows", "pairs"),
            [_skew_cells(a, f) for a, f in found["skew"]],
        ),
    ]


def print_tables(console: Console, found: dict[str, Found]) -> None:
    for listing in listings(found):
        table = Table(title=escape(listing.title), title_justify="left")
        for number, heading in enumerate(listing.headings):
            table.add_column(heading, justify="left" if number == 0 else "right", no_wrap=True)
        for line in listing.lines:
            table.add_row(*line)
        console.print(table)
    for verdict in verdicts(found):
        style = {True: "green", False: "red", None: ""}[verdict.met]
        console.print(verdict.text, style=style, highlight=False)


def _spark_cells(arguments: dict[str, Any], figures: dict[str, Any], noop: dict[str, Any]) -> list[str]:
    start = [arguments["kind"], str(arguments["slots"]), f"{2 * arguments['rows']:,}"]
    if "error" in figures:
        return [*start, figures["error"]]
    return [
        *start,
        f"{figures['cpu_seconds']:.3f} ({figures['cpu_ingest']:.3f}, {figures['cpu_probe']:.3f})",
        f"{figures['tree_cpu_seconds']:.2f}",
        f"{noop['tree_cpu_seconds']:.2f}" if "tree_cpu_seconds" in noop else "",
        f"{figures['step_ms']:,.0f} ({figures['ingest_ms']:,.0f}, {figures['probe_ms']:,.0f})",
        f"{figures['cpu_per_pair'] * 1e9:,.1f}",
        f"{figures['blocks']:,}",
        f"{figures['record_bytes']:,}",
        f"{figures['segment_reads']:,.0f}",
        f"{figures['store_reads']:,.0f} + {figures['store_writes']:,.0f}",
        f"{figures['results']:,}",
    ]


def _growth_cells(arguments: dict[str, Any], figures: dict[str, Any], growth: Found) -> list[str]:
    grows = any(arguments == known for known, _ in growth)
    join = arguments["kind"] if grows else f"{arguments['kind']}, {_choice(arguments)}"
    start = [join, str(arguments["slots"]), f"{2 * arguments['rows']:,}"]
    if "error" in figures:
        return [*start, figures["error"]]
    speedup = _speedup(growth, arguments["kind"], arguments["slots"]) if grows else None
    return [
        *start,
        f"{figures['cpu_seconds']:.3f}",
        f"{figures['cpu_per_row'] * 1e6:.2f}",
        f"{figures['driver_seconds'] * 1e3:.0f}",
        f"{figures['segment_reads']:,}",
        f"{figures['record_bytes']:,}",
        f"{figures['modelled_seconds']:.3f}",
        "" if speedup is None else f"{speedup:.2f}",
    ]


def _skew_cells(arguments: dict[str, Any], figures: dict[str, Any]) -> list[str]:
    if "error" in figures:
        return [arguments["strategy"], figures["error"], ""]
    return [arguments["strategy"], f"{figures['rows']:.2f}", f"{figures['pairs']:.2f}"]


def _on_spark(found: Found) -> list[Verdict]:
    bounds = {"equality": ("cpu_seconds", 4.0), "band": ("cpu_seconds", 5.0), "nested loop": ("cpu_per_pair", 1.3)}
    most = max(arguments["slots"] for arguments, _ in found)
    least = min(arguments["slots"] for arguments, _ in found)
    checked = []
    for kind, (figure, bound) in bounds.items():
        what = "CPU per pair" if figure == "cpu_per_pair" else "CPU in task functions"
        ratio = _ratio(found, kind, most, least, figure)
        checked.append(Verdict(f"{kind}: {what}, {most} slots over {least}", ratio, at_most=bound))
        if figure == "cpu_seconds":
            reads = _ratio(found, kind, most, least, "segment_reads")
            checked.append(Verdict(f"{kind}: segment reads of a slot, {most} slots over {least}", reads, at_most=1.0))
    return checked


def _growth(found: Found) -> list[Verdict]:
    slots = sorted({arguments["slots"] for arguments, _ in found})
    most = 32 if 32 in slots else slots[-1]
    checked = []
    for kind in dict.fromkeys(arguments["kind"] for arguments, _ in found):
        ratio = _ratio(found, kind, most, 2, "cpu_per_row")
        checked.append(Verdict(f"{kind}: CPU per row, {most} slots over 2, rows grow", ratio, at_most=1.3))
        for number in (4, 16, 64):
            if number in slots:
                speedup = _speedup(found, kind, number)
                checked.append(
                    Verdict(f"{kind}: modelled speed-up on {number} hosts", speedup, at_least=round(0.7 * number, 1))
                )
    return checked


def _driver(found: Found) -> list[Verdict]:
    checked = []
    for arguments, figures in found:
        name = f"{arguments['kind']}, {arguments['slots']} slots, {_choice(arguments)}"
        driver = figures.get("driver_seconds")
        milliseconds = None if driver is None else driver * 1e3
        checked.append(Verdict(f"{name}: driver's CPU of a step, ms", milliseconds, at_most=50.0))
        checked.append(Verdict(f"{name}: records of a step, bytes", figures.get("record_bytes"), at_most=100_000.0))
    return checked


def _choice(arguments: dict[str, Any]) -> str:
    """Who decided how many slots are used."""
    return "a unit on every slot" if arguments["strategy"] else "as many used as Auto settles on"


def _skew(found: Found) -> list[Verdict]:
    return [
        Verdict(f"{arguments['strategy']}: fullest unit, {what}", figures.get(what), at_most=1.6)
        for arguments, figures in found
        for what in ("rows", "pairs")
    ]


def _figure(found: Found, kind: str, slots: int, name: str) -> float | None:
    for arguments, figures in found:
        if (arguments["kind"], arguments["slots"]) == (kind, slots):
            return figures.get(name)
    return None


def _ratio(found: Found, kind: str, most: int, least: int, name: str) -> float | None:
    more, fewer = _figure(found, kind, most, name), _figure(found, kind, least, name)
    return more / fewer if more is not None and fewer else None


def _speedup(found: Found, kind: str, hosts: int) -> float | None:
    """Rows a second on some hosts over those on one, by the model."""
    return _ratio(found, kind, hosts, 1, "modelled_rate")
