"""What `explain` says of a join between sites: its sequences, what they are expected to ship, and its copies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from braid.optimizer.semijoins.choice import SiteSettings, cost_model, described, named_plan
from braid.optimizer.semijoins.copies import copies_of
from braid.optimizer.semijoins.join_graphs import JoinGraph
from braid.optimizer.semijoins.link_speeds import measured_speeds
from braid.optimizer.semijoins.network import BITS_PER_BYTE
from braid.optimizer.semijoins.observed import statistics_of
from braid.optimizer.semijoins.search import CostModel
from braid.optimizer.semijoins.shared_costs import shared_plan_seconds, shipments
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.plan.sites import Copy, SiteSequence
from braid.state.manifest import Manifest
from braid.state.site_state import LinkObservation

KINDS = {
    "rows": "all rows",
    "requested": "rows that were requested",
    "values": "keys with counts",
    "mixed": "keys with counts, and the rows of those that were requested",
}


def describe_sites(
    plan: JoinPlan, settings: SiteSettings, layout: Layout, manifest: Manifest, sequences: tuple[SiteSequence, ...]
) -> tuple[str, ...]:
    """The sequences of a join between sites, and what the cost model expects of them."""
    graph, model = statistics_of(plan, layout, manifest), cost_model(plan, settings, manifest)
    seconds = shared_plan_seconds(model, graph, named_plan(plan, sequences))
    known = manifest.sites is not None and bool(manifest.sites.observed)
    source = "observed statistics" if known else "guesses, until rows were seen"
    lines = [
        f"lookups between sites ({settings.optimizer} search, {source}): {seconds:.3g} s a second of links and work",
        *(f"  {line}" for line in described(plan, sequences).split("; ")),
    ]
    lines += [f"  {line}" for line in _traffic(model, graph, plan, sequences)]
    lines += [f"  {line}" for line in _measured(() if manifest.sites is None else manifest.sites.links)]
    for copy in copies_of(plan, layout.homes, sequences, 0):
        name, site = plan.streams[copy.stream].name, layout.sites[copy.site].name
        lines.append(f"  copy of {name} at {site}: {_contents(plan, copy)}")
    return tuple(lines)


def _contents(plan: JoinPlan, copy: Copy) -> str:
    if copy.partial is None:
        return KINDS[copy.kind]
    what = ", ".join(copy.partial.columns) if copy.partial.columns else "the key of its lookups"
    return f"{KINDS[copy.kind]}; a key is {what}, {8 * copy.partial.width} bytes"


def _traffic(model: CostModel, graph: JoinGraph, plan: JoinPlan, sequences: Sequence[SiteSequence]) -> list[str]:
    """The bytes and messages a second that are expected on each link, by direction, with framing."""
    found: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for one in shipments(model, graph, named_plan(plan, sequences)):
        found[one.source, one.target][0] += one.traffic.bytes_per_second + one.traffic.framing_per_second
        found[one.source, one.target][1] += one.traffic.messages_per_second
    return [
        f"{source} -> {target}: expected {size:,.0f} bytes and {messages:.3g} messages a second"
        for (source, target), (size, messages) in sorted(found.items())
        if messages
    ]


def _measured(links: Sequence[LinkObservation]) -> list[str]:
    """The links of which something was measured; of others the plan has what was given."""
    found = []
    for (one, other), speed in sorted(measured_speeds(links).items()):
        rate, latency = speed.bytes_per_second, speed.latency_seconds
        texts = [] if rate is None else [f"{BITS_PER_BYTE * rate / 1e6:.3g} Mbps"]
        texts += [] if latency is None else [f"{1000 * latency:.3g} ms"]
        found.append(f"link of {one} and {other}: measured {', '.join(texts)}")
    return found
