"""What crosses links when rows reach the sites of their streams: they are read wherever their source has a reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from braid.engine.reports import IngestReport
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.site_state import Sent


def ingest_sent(plan: JoinPlan, layout: Layout, reports: Sequence[IngestReport]) -> tuple[Sent, ...]:
    """The bytes that ingest tasks on a host of one site sent to another; hosts of no site are on no link."""
    sites = [site.name for site in layout.sites]
    at = {host: stream.site.name for stream in plan.streams if stream.site is not None for host in stream.site.hosts}
    found: Counter[tuple[int, int]] = Counter()
    for report in reports:
        source = next((at[name] for name in report.host.split() if name in at), None)
        for target, size in enumerate(report.site_bytes):
            if source is not None and size and sites[target] != source:
                found[sites.index(source), target] += size
    return tuple(Sent(*pair, payload=size, messages=1) for pair, size in sorted(found.items()))
