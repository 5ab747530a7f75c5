"""Figure 8a: the response time by the length of the ring, and the length that the cost model chooses."""

from __future__ import annotations

from collections.abc import Sequence

from braid.optimizer.ring_lengths import best_length, queued_length
from experiments.claims import Claim, Measured, Verdict
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series
from experiments.psp import node_work, ring_model, settings
from experiments.psp.arrivals import poisson
from experiments.psp.images import PIXELS
from experiments.psp.node_work import NodeWork, measure_work
from experiments.psp.ring_model import RingSetting, mean_latency, run_ring
from experiments.psp.settings import (
    NODES,
    RATE,
    REDUCED,
    SELECTIVITIES,
    WAYS,
    WINDOW,
    Setting,
    of_paper,
    pairs_of_a_row,
)
from experiments.psp.size import Size

NEAR_BEST = 1.1
TURNS_AT = 14
MOST_EVENTS_SELECTIVITY = 0.5
MOST_TIMES = 8.0
SATURATED_BY_RATE = (
    "With 500 rows in a window, 50 rows a second of each stream and selectivity 0.5 a new row has 125,500 pairs. With "
    "the time of a pair measured here no ring of 4 to 19 nodes keeps up, so the response time is that of a queue that "
    "grows as long as the run goes on, and every node makes it shorter."
)
NO_QUEUE = (
    "Equation 5 has no queue and hides hops behind comparing: it asks for a ring that is short, on which rows wait for "
    "each other. The paper's settings are near to saturation, where this is most of the response time."
)


def run_settings() -> tuple[Setting, ...]:
    """All that is simulated: 3-way joins of every selectivity, more streams where a row finds one other."""
    three = [Setting(3, image, share) for image in PIXELS for share in (*REDUCED, *SELECTIVITIES)]
    more = [Setting(ways, image, 0.002) for ways in WAYS[1:] for image in PIXELS]
    return (*three, *more)


def measure(size: Size) -> Measured:
    works = {image: measure_work(pixels) for image, pixels in PIXELS.items()}
    points = [_point(setting, NodeWork.of(works[setting.image]), size) for setting in run_settings()]
    return {"works": works, "points": points, "beyond": _beyond(works)}


def _point(setting: Setting, work: NodeWork, size: Size) -> Measured:
    ring_work = setting.ring_work(work)
    chosen = {
        "queued": max(min(size.nodes), queued_length(ring_work, NODES, setting.rows_per_second)),
        "equation5": max(min(size.nodes), best_length(ring_work, NODES)),
    }
    # So that all settings have as many rows, and more of them where few rows find anything.
    few = min(MOST_TIMES, max(1.0, (RATE * WINDOW * setting.selectivity) ** (1 - setting.ways)))
    seconds = size.seconds * WAYS[0] / setting.ways * few
    lengths = {str(n): _run(setting, work, n, seconds, size.seeds) for n in sorted({*size.nodes, *chosen.values()})}
    return {
        "ways": setting.ways,
        "image": setting.image,
        "selectivity": setting.selectivity,
        "name": setting.name,
        "lengths": lengths,
        "chosen": chosen,
    }


def _run(setting: Setting, work: NodeWork, nodes: int, seconds: float, seeds: int) -> Measured:
    ring = RingSetting.even(nodes, WINDOW, setting.selectivity, work)
    outcomes = [run_ring(poisson(setting.ways, RATE, WINDOW, seconds, seed), ring, seed) for seed in range(seeds)]
    return {"latency": mean_latency(outcomes), "load": sum(one.load for one in outcomes) / len(outcomes)}


def _beyond(works: dict[str, Measured]) -> list[Measured]:
    """The paper's settings of more streams: by arithmetic, the nodes that comparing alone would keep busy."""
    found = []
    for ways, image in ((ways, image) for ways in WAYS[1:] for image in PIXELS):
        chosen = [Setting(ways, image, share) for share in SELECTIVITIES]
        pair = NodeWork.of(works[image]).pair_seconds()
        busy = [pairs_of_a_row(one) * pair * one.rows_per_second for one in chosen]
        found.append({"name": f"{ways}-way, {image}", "busy_nodes": busy})
    return found


def is_saturated(point: Measured) -> bool:
    """Whether rows come faster than the ring serves them at every length that was tried."""
    return all(one["load"] >= ring_model.SATURATED for one in point["lengths"].values())


def latencies(point: Measured) -> dict[int, float]:
    return {int(n): one["latency"] for n, one in point["lengths"].items() if one["latency"] is not None}


def best_of(point: Measured) -> int:
    found = latencies(point)
    return min(found, key=lambda length: found[length])


def excess(point: Measured, by: str) -> float:
    """The response time at the chosen length, over the least."""
    found = latencies(point)
    return found[point["chosen"][by]] / found[best_of(point)]


def _near_best(by: str, why: str, measured: Measured) -> Verdict:
    chosen = [point for point in measured["points"] if not is_saturated(point)]
    worst = max(chosen, key=lambda point: excess(point, by))
    within = sum(excess(point, by) <= NEAR_BEST for point in chosen)
    here = f"{within} of {len(chosen)} settings that keep up at some length; at most {excess(worst, by):.2f} times"
    saturated = len(measured["points"]) - len(chosen)
    said = f"{here}, with {worst['name']}; {saturated} more settings are saturated at every length"
    return Verdict(said, within == len(chosen), why)


def _three_way(measured: Measured, image: str) -> list[Measured]:
    return [point for point in measured["points"] if point["ways"] == 3 and point["image"] == image]


def _turns(measured: Measured) -> Verdict:
    """Whether the response time at selectivity 0.5 is least before the longest ring."""
    found = {
        image: best_of(next(p for p in _three_way(measured, image) if p["selectivity"] == MOST_EVENTS_SELECTIVITY))
        for image in PIXELS
    }
    said = ", ".join(f"{image} images at {length} nodes" for image, length in found.items())
    return Verdict(f"least with {said}", all(length < NODES for length in found.values()), SATURATED_BY_RATE)


def _has_minimum(measured: Measured) -> Verdict:
    """Whether some setting that keeps up has its least response time inside, and clearly more at both ends."""
    found = []
    for point in measured["points"]:
        seconds, best = latencies(point), best_of(point)
        ends = (min(seconds), max(seconds))
        if not is_saturated(point) and all(seconds[end] > NEAR_BEST * seconds[best] for end in ends):
            found.append(f"{best} nodes ({point['name']})")
    return Verdict(f"in {len(found)} settings, as {found[0]}" if found else "in none", bool(found))


def _longer_if_selective(measured: Measured) -> Verdict:
    """Whether less selective joins have shorter best rings."""
    best = {image: [best_of(point) for point in _three_way(measured, image)] for image in PIXELS}
    said = "; ".join(f"{image} {', '.join(map(str, found))}" for image, found in best.items())
    holds = all(list(found) == sorted(found, reverse=True) for found in best.values())
    why = (
        "A larger selectivity means more intermediate results to compare, and comparing is what more nodes make "
        "faster; hops cost the same. So the best ring gets longer, until every node is used."
    )
    return Verdict(f"nodes of the best rings from selectivity {REDUCED[0]:g} to 0.5: {said}", holds, why)


def _grows(measured: Measured) -> Verdict:
    found = {image: [min(latencies(point).values()) for point in _three_way(measured, image)] for image in PIXELS}
    said = "; ".join(f"{image} {seconds[0]:.3g} to {seconds[-1]:.3g} s" for image, seconds in found.items())
    return Verdict(said, all(seconds == sorted(seconds) for seconds in found.values()))


CLAIMS = (
    Claim(
        "minimum",
        "The response time has a minimum in the length of the ring: more nodes do not always help",
        "a minimum below 19 nodes",
        _has_minimum,
    ),
    Claim("turns", "At selectivity 0.5 the response time grows beyond 14 nodes", f"{TURNS_AT} nodes", _turns),
    Claim("selective", "The smaller the selectivity, the longer the best ring", "longer", _longer_if_selective),
    Claim("grows", "The response time grows with the selectivity", "grows", _grows),
    Claim(
        "chosen",
        "The cost model with queues chooses a length with at most 1.1 times the least response time",
        "the optimal length",
        lambda measured: _near_best("queued", "", measured),
    ),
    Claim(
        "equation5",
        "Equation 5 alone chooses a length with at most 1.1 times the least response time",
        "min(N1, N2) is optimal",
        lambda measured: _near_best("equation5", NO_QUEUE, measured),
    ),
)


def describe(measured: Measured, settings_: Settings) -> str:
    times = settings_.get("lengths.MOST_TIMES", 1)
    longer = f", {times:g} times as long where most rows find nothing" if times > 1 else ""
    return (
        "Modelled, not measured on so many machines: a discrete-event model of the paper's ring, in which rows come at "
        "random and nodes and links serve first in, first out; what comparing, sending and receiving take is replayed "
        "as measured here (the table of times below). Windows of 10 s and 50 rows a second of each stream are the "
        "paper's, and so are the selectivities 0.05, 0.1 and 0.5; the smaller ones are ours, as are those of 5 and "
        f"more streams. {settings_['size.seeds']} runs of {settings_['size.seconds']:g} s for three streams{longer}, "
        "from full windows on. A hop takes 0.1 ms and the transfer of a row at 1 Gbit/s. The cost model with queues "
        "adds to equation 1 the hops of half a ring in every round, and the mean wait of a queue with constant "
        "service; it shares no code with the discrete-event model."
    )


def tables(measured: Measured) -> Sequence[Table]:
    return (_works_table(measured), _points_table(measured), _beyond_table(measured))


def _works_table(measured: Measured) -> Table:
    rows = tuple(
        (
            f"{image}, {work['pixels']:,} pixels",
            f"{1e6 * work['seconds'][-1] / work['stored'][-1]:.2f} µs",
            f"{1e6 * work['row_seconds']:.1f} µs",
            f"{work['row_bytes'] / 1000:.0f} kB",
        )
        for image, work in measured["works"].items()
    )
    return Table(("images", "a pair", "sending and receiving a row", "a row"), rows, "Times that the model replays:")


def _points_table(measured: Measured) -> Table:
    rows = []
    for point in measured["points"]:
        best, seconds = best_of(point), latencies(point)
        load = point["lengths"][str(best)]["load"]
        texts = [f"{best}", f"{1000 * seconds[best]:,.1f} ms", f"{load:.2f}"]
        texts += [
            "saturated" if is_saturated(point) else f"{point['chosen'][by]}: {excess(point, by):.2f}"
            for by in ("queued", "equation5")
        ]
        rows.append((f"{point['name']}{'' if of_paper(point) else ' (ours)'}", *texts))
    headings = ("setting", "best length", "response time", "load there", "chosen with queues: times the best")
    return Table((*headings, "by equation 5: times the best"), tuple(rows))


def _beyond_table(measured: Measured) -> Table:
    rows = tuple((one["name"], *(f"{busy:.1e}" for busy in one["busy_nodes"])) for one in measured["beyond"])
    caption = "Settings of the paper that no ring of 19 nodes keeps up with: the nodes that comparing alone keeps busy."
    return Table(("setting", *(f"selectivity {share:g}" for share in SELECTIVITIES)), rows, caption)


def pictures(measured: Measured) -> Sequence[Picture]:
    found = []
    for image in ("small", "large"):
        series = tuple(
            Series(
                f"selectivity {point['selectivity']:g}",
                tuple((length, 1000 * seconds) for length, seconds in latencies(point).items()),
            )
            for point in _three_way(measured, image)
        )
        title = f"Response time of a 3-way join of {PIXELS[image]:,}-pixel images, modelled"
        upward = ("milliseconds, log scale",)
        found.append(Picture(image, title, "nodes in the ring", upward, series, scale="log"))
    return found


LENGTHS = Experiment(
    "lengths",
    "Response time by the length of the ring, modelled",
    ("Figure 8a",),
    measure,
    describe,
    CLAIMS,
    tables,
    pictures,
    timed=True,
    modules=(settings, ring_model, node_work),
)
