"""Figures 8c and 8e: the response times of aligned and coordinated routing beside that of the ring, modelled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from experiments.claims import Claim, Measured, Verdict, all_of
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series
from experiments.psp import coordinated_model, node_work, settings
from experiments.psp.aligned_model import AlignedSetting, run_aligned
from experiments.psp.arrivals import Arrivals, poisson
from experiments.psp.coordinated_model import CoordinatedSetting, run_coordinated
from experiments.psp.images import PIXELS
from experiments.psp.node_work import NodeWork, measure_work
from experiments.psp.ring_model import Outcome, RingSetting, mean_latency, run_ring
from experiments.psp.settings import RATE, WINDOW
from experiments.psp.size import Size

IMAGE = "small"
STREAMS = 3
PAPER_SELECTIVITY, OUR_SELECTIVITY = 0.1, 0.002
SEGMENTS = (10.0, 20.0, 30.0, 50.0)
COPIES = (2, 3, 5, 9)
NODES = (4, 6, 8, 10, 12, 14, 16, 19)
ALIGNED_SECONDS = 100.0  # two of the longest segments
FALLS = 0.9
Run = Callable[[Arrivals, int, int], Outcome]
"""From arrivals, nodes and a seed."""
ONE_AT_A_TIME = (
    "Coordinated routing works on one row at a time, so it is saturated as soon as a row takes longer than the next "
    "one needs to come: then the response time is that of the queue."
)


def measure(size: Size) -> Measured:
    work = measure_work(PIXELS[IMAGE])
    found: Measured = {"work": work, "selectivities": {}}
    for share in (OUR_SELECTIVITY, PAPER_SELECTIVITY):
        found["selectivities"][f"{share:g}"] = _at(share, NodeWork.of(work), size)
    return found


def _at(share: float, work: NodeWork, size: Size) -> Measured:
    found: Measured = {"ring": _by_nodes(_ring(share, work), size.seconds, size, 1)}
    for copies in COPIES:
        run = _coordinated(share, work, copies)
        found[f"copies {copies}"] = _by_nodes(run, size.seconds, size, 2 * copies)
    for segment in SEGMENTS:
        found[f"segment {segment:g}"] = _by_nodes(_aligned(share, work, segment), ALIGNED_SECONDS, size, 1)
    return found


def _by_nodes(run: Run, seconds: float, size: Size, least: int) -> Measured:
    """Response time and load by nodes, where there are at least so many."""
    found = {}
    for nodes in (n for n in NODES if n >= least):
        outcomes = [run(poisson(STREAMS, RATE, WINDOW, seconds, seed), nodes, seed) for seed in range(size.seeds)]
        load = sum(one.load for one in outcomes) / len(outcomes)
        found[str(nodes)] = {"latency": mean_latency(outcomes), "load": load}
    return found


def _ring(share: float, work: NodeWork) -> Run:
    return lambda arrivals, nodes, seed: run_ring(arrivals, RingSetting.even(nodes, WINDOW, share, work), seed)


def _coordinated(share: float, work: NodeWork, copies: int) -> Run:
    return lambda arrivals, nodes, seed: run_coordinated(
        arrivals, CoordinatedSetting(nodes, copies, WINDOW, share, work), seed
    )


def _aligned(share: float, work: NodeWork, segment: float) -> Run:
    return lambda arrivals, nodes, seed: run_aligned(
        arrivals, AlignedSetting(nodes, segment, WINDOW, share, work), seed
    )


def seconds_of(measured: Measured, share: float, variant: str) -> dict[int, float]:
    found = measured["selectivities"][f"{share:g}"][variant]
    return {int(nodes): one["latency"] for nodes, one in found.items() if one["latency"] is not None}


def _does_not_fall(share: float, measured: Measured) -> Verdict:
    """Whether aligned routing takes about as long on the most nodes as on the fewest."""
    verdicts, said = [], []
    for segment in SEGMENTS:
        found = seconds_of(measured, share, f"segment {segment:g}")
        ratio = found[max(found)] / found[min(found)]
        verdicts.append(ratio >= FALLS)
        said.append(f"{ratio:.2f} with segments of {segment:g} s")
    return Verdict(f"on 19 nodes, times that on 4: {', '.join(said)}", all(verdicts))


def _falls(share: float, measured: Measured) -> Verdict:
    verdicts, said = [], []
    for copies in COPIES:
        found = seconds_of(measured, share, f"copies {copies}")
        if len(found) > 1:
            ratio = found[max(found)] / found[min(found)]
            verdicts.append(ratio < FALLS)
            said.append(f"{ratio:.2f} of that on {min(found)} nodes with {copies} copies")
    return Verdict(f"on 19 nodes {', '.join(said)}", all_of(*verdicts), ONE_AT_A_TIME)


def _rises(share: float, measured: Measured) -> Verdict:
    """Whether more copies take longer on 19 nodes."""
    found = [seconds_of(measured, share, f"copies {copies}")[max(NODES)] for copies in COPIES]
    said = ", ".join(f"{copies} copies {1000 * one:,.1f} ms" for copies, one in zip(COPIES, found, strict=True))
    return Verdict(said, found == sorted(found) and found[0] < found[-1], ONE_AT_A_TIME)


def _ring_is_faster(share: float, measured: Measured) -> Verdict:
    """On 19 nodes, than every variant of the others."""
    last = max(NODES)
    ring = seconds_of(measured, share, "ring")[last]
    names = [name for name in measured["selectivities"][f"{share:g}"] if name != "ring"]
    others = {name: seconds_of(measured, share, name)[last] for name in names}
    best = min(others, key=lambda name: others[name])
    here = f"{1000 * ring:,.1f} ms beside {1000 * others[best]:,.1f} ms of the best other, with {_label(best)}"
    why = (
        "On a ring a row and what it finds travel hop by hop; coordinated routing sends rows to all nodes of a cover "
        "at once, so where comparing is short it answers sooner, one row at a time."
    )
    return Verdict(here, ring < min(others.values()), why)


def _label(variant: str) -> str:
    kind, number = variant.split()
    return f"{number} copies" if kind == "copies" else f"segments of {number} s"


def _claims(share: float, of: str) -> tuple[Claim, ...]:
    return (
        Claim(
            f"aligned {share:g}",
            f"Aligned routing: more nodes do not make the response time shorter ({of})",
            "it does not fall",
            partial(_does_not_fall, share),
        ),
        Claim(
            f"coordinated {share:g}",
            f"Coordinated routing: more nodes make the response time shorter ({of})",
            "it falls",
            partial(_falls, share),
        ),
        Claim(
            f"copies {share:g}",
            f"Coordinated routing: more copies make the response time longer ({of})",
            "it grows",
            partial(_rises, share),
        ),
        Claim(
            f"ring {share:g}",
            f"The ring answers sooner than both on 19 nodes ({of})",
            "PSP is superior",
            partial(_ring_is_faster, share),
        ),
    )


def describe(measured: Measured, settings_: Settings) -> str:
    return (
        "Modelled by the definitions, with the replayed times of the ring: 3-way joins of 5,000-pixel images, 50 rows "
        "a second, windows of 10 s. Aligned routing deals segments of the first stream to nodes in turn; a node joins "
        "them alone. Coordinated routing stores segments of 1 s at some nodes and sends rows to a greedy cover at each "
        "hop, one row at a time. At the paper's selectivity 0.1 all three are saturated on 19 nodes, so response times "
        "are those of a growing queue; at 0.002, which is ours, a row finds one other on average. "
        f"{settings_['size.seeds']} runs of {settings_['size.seconds']:g} s, of aligned routing 100 s."
    )


def tables(measured: Measured) -> Sequence[Table]:
    found = []
    for share, variants in measured["selectivities"].items():
        rows = []
        for name, by_nodes in variants.items():
            cells = (_cell(by_nodes.get(str(nodes))) for nodes in NODES)
            rows.append(("ring" if name == "ring" else _label(name), *cells))
        caption = f"Response time, ms, by nodes, at selectivity {share}; with a star where the load is above 0.97:"
        found.append(Table(("", *(f"{nodes}" for nodes in NODES)), tuple(rows), caption))
    return found


def _cell(one: Measured | None) -> str:
    if one is None or one["latency"] is None:
        return ""
    return f"{1000 * one['latency']:,.1f}{'*' if one['load'] >= 0.97 else ''}"


def pictures(measured: Measured) -> Sequence[Picture]:
    names = {"ring": "ring", "copies 2": "coordinated, 2 copies", "copies 9": "coordinated, 9 copies"}
    names |= {"segment 10": "aligned, segments of 10 s", "segment 50": "aligned, segments of 50 s"}
    series = tuple(
        Series(label, tuple((n, 1000 * s) for n, s in seconds_of(measured, OUR_SELECTIVITY, name).items()))
        for name, label in names.items()
    )
    title = "Response time of three ways to distribute a 3-way join, modelled (selectivity 0.002)"
    return [Picture("", title, "nodes", ("milliseconds, log scale",), series, scale="log")]


BASELINES = Experiment(
    "baselines",
    "Aligned and coordinated routing beside the ring, modelled",
    ("Figure 8c", "Figure 8e"),
    measure,
    describe,
    (*_claims(OUR_SELECTIVITY, "selectivity 0.002, ours"), *_claims(PAPER_SELECTIVITY, "selectivity 0.1")),
    tables,
    pictures,
    timed=True,
    modules=(settings, node_work, coordinated_model),
)
