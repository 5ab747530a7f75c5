"""How long what was sent between sites was on its way, from the clocks of the tasks of two rounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from braid.engine.reports import SiteReport
from braid.plan.layout import Layout
from braid.state.site_state import LinkObservation, PointSums


def observed_links(layout: Layout, slots: int, reports: Sequence[SiteReport]) -> Iterator[LinkObservation]:
    """What each round after the first says of the links to every site; nothing where tasks have no clocks.

    A site that several others sent to waited for the one that sent most.
    """
    sites = {slot % slots: number for number, site in enumerate(layout.sites) for slot in site.slots}
    names = [site.name for site in layout.sites]
    ended, begun = defaultdict[int, list[int]](list), defaultdict[tuple[int, int], list[int]](list)
    sent: dict[tuple[int, int, int], int] = defaultdict(int)
    for report in reports:
        if report.began_us is None or report.ended_us is None:
            continue
        ended[report.round].append(report.ended_us)
        begun[report.round, sites[report.slot]].append(report.began_us)
        for one in report.sent:
            sent[report.round, one.source, one.target] += one.payload + one.framing
    for (number, target), times in sorted(begun.items()):
        if number - 1 in ended:
            waited = (max(times) - max(ended[number - 1])) / 1e6
            others = [source for source in range(len(names)) if source != target]
            sizes = {source: sent[number - 1, source, target] for source in others}
            yield from _of_round(names, target, sizes, waited)


def _of_round(names: Sequence[str], target: int, sizes: dict[int, int], waited: float) -> Iterator[LinkObservation]:
    most = max(sizes, key=lambda source: sizes[source], default=None)
    if most is None:
        return
    if sizes[most]:
        yield LinkObservation(names[most], names[target], sent=PointSums.of(sizes[most], waited))
        return
    for source in sizes:
        yield LinkObservation(names[source], names[target], idle=PointSums.of(0.0, waited))
