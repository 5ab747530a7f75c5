"""Records of time-sliced joins, by hand: what would be measured if every claim held."""

from __future__ import annotations

from collections.abc import Callable

from experiments.claims import Measured
from experiments.experiment import plain
from experiments.psp import baselines, on_spark, traffic
from experiments.psp.adaptation import BINS
from experiments.psp.lengths import run_settings
from experiments.psp.node_work import STORED
from experiments.psp.settings import REDUCED, SELECTIVITIES, WAYS

NODES = (4, 7, 10, 14, 19)
SHARES = (*REDUCED, *SELECTIVITIES)
# The best length falls with the selectivity, as the paper expects.
BEST = dict(zip(SHARES, (14, 14, 10, 10, 7, 7), strict=True))
WORK = {
    "pixels": 5000,
    "stored": list(STORED),
    "seconds": [1e-5 * n for n in STORED],
    "row_seconds": 1e-5,
    "row_bytes": 15_000,
}


def lengths_record() -> Measured:
    points = []
    for setting in run_settings():
        best, base = BEST[setting.selectivity], 1.0 + SHARES.index(setting.selectivity)
        lengths = {str(n): {"latency": base * (1 + (n - best) ** 2 / 20), "load": 0.5} for n in NODES}
        points.append(
            {
                "ways": setting.ways,
                "image": setting.image,
                "selectivity": setting.selectivity,
                "name": setting.name,
                "lengths": lengths,
                "chosen": {"queued": best, "equation5": best},
            }
        )
    works = dict.fromkeys(("small", "middle", "large"), WORK)
    return {"works": works, "points": points, "beyond": [{"name": "5-way, small", "busy_nodes": [1e4, 1e5, 1e7]}]}


def baselines_record() -> Measured:
    def by_nodes(seconds: Callable[[int], float], least: int = 1) -> Measured:
        return {str(n): {"latency": seconds(n), "load": 0.5} for n in baselines.NODES if n >= least}

    found: Measured = {"ring": by_nodes(lambda n: 0.001)}
    for copies in baselines.COPIES:
        found[f"copies {copies}"] = by_nodes(lambda n, copies=copies: copies / n, 2 * copies)
    for segment in baselines.SEGMENTS:
        found[f"segment {segment:g}"] = by_nodes(lambda n: 10.0)
    shares = (baselines.OUR_SELECTIVITY, baselines.PAPER_SELECTIVITY)
    return {"work": WORK, "selectivities": {f"{share:g}": found for share in shares}}


def adaptation_record() -> Measured:
    before, after = [1.0] * (BINS // 2), [10.0] * (BINS // 2)
    runs = {"on": [before + [1.5] * (BINS // 2) for _ in range(3)], "off": [before + after for _ in range(3)]}
    return {"work": WORK, "nodes": [7, 14], "doubles_at": 30.0, "pause": 0.02, **runs}


def distribution_record() -> Measured:
    def counted(rows: float, copies: float, moved: float) -> Measured:
        routing = {"routing_seconds_a_row": 1e-6, "routing_share": 0.01}
        stored = {"state_rows": rows, "copies": copies, "metadata_bytes_a_step": 0.0}
        return {**stored, **routing, "moved_bytes_a_row": moved, "results": 100}

    variants = {
        "ring": {"4": counted(300, 0, 9000), "19": counted(301, 0, 40_000)},
        "segment 10": {"4": counted(500, 200, 3000), "19": counted(900, 600, 3000)},
    }
    cover = {"routing_seconds_a_row": 1e-4, "metadata_bytes_a_step": 900.0}
    for copies in (2, 3):
        by_units = {units: counted(300 * copies, 300 * (copies - 1), 9000) | cover for units in ("8", "19")}
        variants[f"copies {copies}"] = by_units
    return {"stored": 100, "matches": 1.0, "variants": variants}


def traffic_record() -> Measured:
    points = []
    for units in (4, 8):
        for matches in traffic.MATCHES:
            ratio = units / matches
            figures = {"visits_a_result": ratio, "estimate": ratio, "equation": ratio, "bytes_a_result": 100 * ratio}
            points.append({"units": units, "matches": matches, "result_bytes": 60.0, **figures})
    return {"points": points}


def ways_record() -> Measured:
    one = {"rows": 100, "results": 90, "copies": 0, "pairs_a_row": 120.0, "equation": 118.0}
    return {str(ways): dict(one) for ways in WAYS}


def on_spark_record() -> Measured:
    """Steps of the ring take 1 s; rounds differ by a little."""

    def runs(step: float, rate: float, copies: float, moved: float, busiest: float) -> list[Measured]:
        own = {"results": 90, "copies": copies, "state_rows": 300.0, "pairs_a_row": 100.0}
        own |= {"moved_bytes_a_row": moved, "busiest_of_a_step": busiest, "rows": 100}
        return [{**own, "step": step * noise, "seconds": 100 / (rate * noise)} for noise in (1.0, 1.05, 0.96)]

    joins: Measured = {}
    for ways, matches in on_spark.MATCHES.items():
        variants = {
            on_spark.RING: runs(1.0, 100, 0, 9000, 0.5),
            on_spark.INTERLEAVED: runs(0.8, 130, 0, 9000, 0.5),
            on_spark.SHORT: runs(2.0, 60, 200, 2000, 0.8),
            on_spark.FEW: runs(1.5, 80, 300, 5000, 0.6),
        }
        if ways == 3:
            variants |= {on_spark.LONG: runs(2.2, 50, 100, 1000, 0.99), on_spark.MANY: runs(1.8, 70, 900, 6000, 0.6)}
        joins[str(ways)] = {"stored": 100, "matches": matches, "variants": variants}
    return {"units": 8, "joins": joins}


def interleaving_record() -> Measured:
    def runs(rate: float) -> list[Measured]:
        return [{"rate": rate * noise, "results": 500} for noise in (1.0, 1.02, 0.97)]

    gains = {"3": 1.0, "5": 1.3, "7": 1.7}
    return {streams: {"plain": runs(1000), "interleaved": runs(1000 * gain)} for streams, gain in gains.items()}


RECORDS: dict[str, Callable[[], Measured]] = {
    "on_spark": on_spark_record,
    "interleaving": interleaving_record,
    "lengths": lengths_record,
    "baselines": baselines_record,
    "adaptation": adaptation_record,
    "distribution": distribution_record,
    "traffic": traffic_record,
    "ways": ways_record,
}


def record(name: str) -> Measured:
    """A new copy, as it is read back."""
    return dict(plain(RECORDS[name]()))
