"""Figure 7: what the six algorithms send, by sizes, rates, selectivity factors, windows, links and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from braid.optimizer.semijoins.network import Link
from experiments.claims import Measured
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series
from experiments.semijoin import engine_runs, one_way
from experiments.semijoin.engine_runs import count_all
from experiments.semijoin.one_way import ATTRIBUTE_BYTES, NAMES, Arriving, OneWay, link_seconds, modelled, simulated
from experiments.semijoin.parameter_claims import CLAIMS, FIGURES, shown
from experiments.semijoin.size import Size

DEFAULT = OneWay(Arriving(300, 1250, 10), Arriving(300, 1250, 10), window_ms=3000, regular=True)
VALUES: dict[str, tuple[Any, ...]] = {
    "a": (50, 150, 250, 350, 450),
    "b": (100, 200, 300, 400, 500),
    "c": (0.02, 0.05, 0.1, 0.15, 0.2),
    "d": (1000, 2000, 3000, 4000, 5000),
    "e": (5, 15, 25, 35, 45),
    "f": (256, 512, 1024, 2048, 4096),
    "g": (50, 100, 200, 300, 400),
}
SEED = 7


def setting_of(figure: str, value: Any) -> OneWay:
    """The default setting with one parameter of s2, the window or the interval changed."""
    stored = DEFAULT.stored
    if figure == "a":
        return replace(DEFAULT, stored=replace(stored, row_bytes=ATTRIBUTE_BYTES * value))
    if figure == "b":
        return replace(DEFAULT, stored=replace(stored, rows_per_second=value))
    if figure == "c":
        return replace(DEFAULT, stored=replace(stored, values=round(1 / value)))
    changed = {"d": "window_ms", "g": "interval_ms"}.get(figure)
    return DEFAULT if changed is None else replace(DEFAULT, **{changed: value})


def link_of(figure: str, value: Any) -> Link:
    bandwidth, latency = (value if figure == "f" else 1024), (value if figure == "e" else 25)
    return Link(f"{bandwidth} kbps", f"{latency} ms")


def measure(size: Size) -> Measured:
    """Every setting is run once, also where figures share it."""
    found: dict[OneWay, Measured] = {}
    points = []
    for figure, values in VALUES.items():
        for value in values[:: size.every]:
            setting, link = setting_of(figure, value), link_of(figure, value)
            if setting not in found:
                found[setting] = _counts(setting, size)
            points.append(
                {"figure": figure, "value": value, "counts": found[setting], **_seconds(found[setting], link)}
            )
    return {"points": points}


def _counts(setting: OneWay, size: Size) -> Measured:
    batches = setting.batches(round(1000 * size.counted_seconds / setting.interval_ms), SEED)
    return {
        "engine": count_all(setting, batches),
        "simulated": {name: simulated(setting, name, batches) for name in NAMES},
        "modelled": {name: modelled(setting, name) for name in NAMES},
    }


def _seconds(counts: Measured, link: Link) -> Measured:
    seconds = {source: {name: link_seconds(counts[source][name], link) for name in NAMES} for source in counts}
    framed = {name: link_seconds(counts["engine"][name], link, "bytes", "framing") for name in NAMES}
    return {"seconds": seconds, "framed": framed}


def describe(measured: Measured, settings: Settings) -> str:
    return (
        "Rows of s1 look up the window of s2 over a link, with the paper's default setting: both streams 300 rows a "
        "second of 1,250 bytes and 10 join values, a window of 3 s, batches every 100 ms, 1,024 kbps and 25 ms; rows "
        "come at even times, as the paper's do, with random values. One "
        "parameter is changed at a time, of s2 alone where it belongs to a stream; the axes of the paper's figures "
        "are pictures in its text, so that the values between their ends are ours. Counted with the engine in one "
        "process: a step for every interval, messages encoded and counted as they are sent, payload apart from "
        f"framing, {settings['size.counted_seconds']:g} s of event time after the window has filled. *Seconds a "
        "second* are modelled from these counts: latency for every message, and payload over the bandwidth; without "
        "the processing that the paper adds. *Simulated* are two sites that are run row by row, *modelled* the "
        "formulas that the optimizer uses. A join value has 8 bytes here, and 5 in the paper."
    )


def tables(measured: Measured) -> Sequence[Table]:
    """The default setting in full, and the seconds of every point."""
    default = shown(measured, "e")[0]["counts"]
    rows = []
    for name in NAMES:
        engine, others = default["engine"][name], [default[source][name] for source in ("simulated", "modelled")]
        texts = []
        for way in one_way.WAYS:
            for what in ("bytes", "messages"):
                values = [one[way][what] for one in (engine, *others)]
                texts.append(" / ".join(f"{value:,.0f}" for value in values))
        framing = one_way.total(engine, "framing")
        rows.append((name, *texts, f"{framing:,.0f}", f"{engine['busy']:.2f}"))
    headings = ("", "bytes forward", "messages forward", "bytes backward", "messages backward", "framing", "busy")
    caption = (
        "The default setting, of a second: counted / simulated / modelled; framing counted, in bytes; `busy` are "
        "seconds of the processor for both sites and all that a step does, in which a step of 100 ms has little to do."
    )
    return (Table(headings, tuple(rows), caption), _seconds_table(measured))


def _seconds_table(measured: Measured) -> Table:
    rows = tuple(
        (f"7{point['figure']}: {FIGURES[point['figure']]} {point['value']}", *_three(point))
        for point in measured["points"]
    )
    return Table(("", *NAMES), rows, "Seconds a second from counted / simulated / modelled messages:")


def _three(point: Measured) -> list[str]:
    sources = ("engine", "simulated", "modelled")
    return [" / ".join(f"{point['seconds'][source][name]:.2f}" for source in sources) for name in NAMES]


def pictures(measured: Measured) -> Sequence[Picture]:
    found = []
    for figure, axis in FIGURES.items():
        points = shown(measured, figure)
        series = tuple(
            Series(name, tuple((point["value"], point["seconds"]["engine"][name]) for point in points))
            for name in NAMES
        )
        title = f"Figure 7{figure}: time of the link, from messages counted with the engine"
        picture = Picture(figure, title, axis, ("seconds a second",), series)
        found.append(replace(picture, along_scale="log") if figure == "f" else picture)
    return found


PARAMETERS = Experiment(
    "parameters",
    "Six algorithms by sizes, rates, windows and links, counted with the engine",
    tuple(f"Figure 7{figure}" for figure in FIGURES),
    measure,
    describe,
    CLAIMS,
    tables,
    pictures,
    modules=(one_way, engine_runs),
)
