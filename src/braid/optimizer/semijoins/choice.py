"""Which sequences a step between sites runs: those that were given, or the cheapest by what was observed.

A plan is replaced only if another is clearly cheaper, and saves within the longest window more than shipping its copies
costs: otherwise noise in the statistics would ship copies back and forth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from braid.optimizer.semijoins.copies import continued_copies, copies_of, with_shared_copies
from braid.optimizer.semijoins.framing import ARROW_FRAMING
from braid.optimizer.semijoins.join_graphs import JoinGraph
from braid.optimizer.semijoins.link_speeds import measured_network
from braid.optimizer.semijoins.network import Network
from braid.optimizer.semijoins.observed import statistics_of
from braid.optimizer.semijoins.plans import HeadSequence, PlanStep, SemijoinPlan, plan_of
from braid.optimizer.semijoins.reduction import reduction_of
from braid.optimizer.semijoins.search import CostModel
from braid.optimizer.semijoins.shared_costs import shared_plan_seconds
from braid.optimizer.semijoins.sharing import exhaustive_shared_plan, greedy_shared_plan
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.plan.sites import Algorithm, Copy, SitePlan, SiteSequence, SiteStep
from braid.state.manifest import Manifest

Optimizer = Literal["greedy", "exhaustive"]
SEMIJOINS = (Algorithm.SM_S1, Algorithm.SM_S2, Algorithm.SM_D1, Algorithm.SM_D2)
# A plan that is cheaper by less is not worth a change.
CLEARLY_CHEAPER = 0.9
# Before so many rows of a stream were seen, statistics say little.
LEAST_ROWS = 100.0
# Statistics change fast at first. Then they are means over some ten steps, and a search of four streams takes as long
# as the driver's part of a step (0.03 to 0.14 s), so that only one step in eight searches.
FIRST_STEPS, STEPS_A_SEARCH = 16, 8


@dataclass(frozen=True)
class SiteSettings:
    """What the user said of a join between sites.

    `algorithms` are those that may look up each stream, by its name. With `plans` all sequences are given.
    """

    network: Network
    algorithms: Mapping[str, tuple[Algorithm, ...]]
    plans: Mapping[str, Sequence[tuple[str, str]]] | None
    optimizer: Optimizer
    interval_us: int


@dataclass(frozen=True)
class SiteChoice:
    """The plan of a step; `adaptations` say how and why it differs from that of the step before."""

    plan: SitePlan
    adaptations: tuple[str, ...] = ()


ChooseSequences = Callable[[Manifest], SiteChoice]
"""The sequences of the step after a manifest."""


def choose_sequences(plan: JoinPlan, settings: SiteSettings, layout: Layout, manifest: Manifest) -> SiteChoice:
    """The sequences of the step after a manifest."""
    graph = statistics_of(plan, layout, manifest)
    if settings.plans is not None:
        given = plan_of(graph, settings.plans)
        return SiteChoice(_site_plan(plan, settings, layout, given))
    current = _current(plan, settings, layout, manifest)
    if current is not None and not (_is_due(manifest.step) and _is_observed(plan, manifest)):
        return SiteChoice(SitePlan(current, settings.interval_us))
    model = cost_model(plan, settings, manifest)
    search = exhaustive_shared_plan if settings.optimizer == "exhaustive" else greedy_shared_plan
    best = search(model, graph)
    chosen = _site_plan(plan, settings, layout, best)
    if current is None or chosen.sequences == current:
        return SiteChoice(chosen)
    before = shared_plan_seconds(model, graph, named_plan(plan, current))
    after = shared_plan_seconds(model, graph, named_plan(plan, chosen.sequences))
    copies = () if manifest.sites is None else manifest.sites.copies
    shipping = _shipping_seconds(plan, model.network, layout, graph, copies, chosen.sequences)
    horizon = max(stream.window_seconds for stream in graph.streams)
    if after > CLEARLY_CHEAPER * before or (before - after) * horizon <= shipping:
        return SiteChoice(SitePlan(current, settings.interval_us))
    text = (
        f"semijoins: {described(plan, chosen.sequences)} instead of {described(plan, current)}: estimated {after:.3g} "
        f"instead of {before:.3g} seconds a second; shipping the new copies takes {shipping:.3g} s"
    )
    return SiteChoice(chosen, (text,))


def cost_model(plan: JoinPlan, settings: SiteSettings, manifest: Manifest) -> CostModel:
    """What steps cost on links as they were measured, with the algorithms that the user and the conditions allow."""
    network = measured_network(settings.network, () if manifest.sites is None else manifest.sites.links)
    numbers = {stream.name: stream.number for stream in plan.streams}

    def allowed(joined: frozenset[str], stream: str) -> tuple[Algorithm, ...]:
        known = tuple(sorted(numbers[name] for name in joined))
        choice = settings.algorithms[stream]
        if reduction_of(plan, known, numbers[stream]) is not None:
            return choice
        return tuple(one for one in choice if one not in SEMIJOINS) or (Algorithm.SP_D,)

    return CostModel(network, settings.interval_us / 1e6, allowed=allowed, framing=ARROW_FRAMING)


def named_plan(plan: JoinPlan, sequences: Sequence[SiteSequence]) -> SemijoinPlan:
    """Sequences by the names of streams."""
    names = [stream.name for stream in plan.streams]
    return SemijoinPlan(
        tuple(
            HeadSequence(names[head], tuple(PlanStep(names[step.stream], step.algorithm) for step in sequence.steps))
            for head, sequence in enumerate(sequences)
        )
    )


def described(plan: JoinPlan, sequences: Sequence[SiteSequence]) -> str:
    """Sequences in a line: `a: b by SP-D, c by SM-S1; …`."""
    names = [stream.name for stream in plan.streams]
    texts = (
        f"{names[head]}: " + ", ".join(f"{names[step.stream]} by {step.algorithm}" for step in sequence.steps)
        for head, sequence in enumerate(sequences)
    )
    return "; ".join(texts)


def _site_plan(plan: JoinPlan, settings: SiteSettings, layout: Layout, found: SemijoinPlan) -> SitePlan:
    numbers = {stream.name: stream.number for stream in plan.streams}
    by_head = {sequence.head: sequence for sequence in found.sequences}
    sequences = tuple(
        SiteSequence(tuple(SiteStep(numbers[step.stream], step.algorithm) for step in by_head[stream.name].steps))
        for stream in plan.streams
    )
    return SitePlan(with_shared_copies(plan, layout.homes, sequences), settings.interval_us)


def _current(
    plan: JoinPlan, settings: SiteSettings, layout: Layout, manifest: Manifest
) -> tuple[SiteSequence, ...] | None:
    """The sequences of the step before, if they may go on."""
    if manifest.sites is None or manifest.layout.homes != layout.homes:
        return None
    sequences, names = manifest.sites.sequences, [stream.name for stream in plan.streams]
    steps = (step for sequence in sequences for step in sequence.steps)
    allowed = all(_may_result(step.algorithm, settings.algorithms[names[step.stream]]) for step in steps)
    return sequences if allowed and len(sequences) == len(names) else None


def _may_result(algorithm: Algorithm, allowed: Sequence[Algorithm]) -> bool:
    """Whether an algorithm is allowed, or shares a copy with a lookup instead of one that is."""
    instead = {Algorithm.SM_S2: (Algorithm.SM_S1,), Algorithm.SP_S: (Algorithm.SM_S1, Algorithm.SM_S2)}
    return algorithm in allowed or any(one in allowed for one in instead.get(algorithm, ()))


def _is_due(step: int) -> bool:
    """Whether the step after this one searches; it follows from the step alone, so that a replay decides the same."""
    return step < FIRST_STEPS or step % STEPS_A_SEARCH == 0


def _is_observed(plan: JoinPlan, manifest: Manifest) -> bool:
    """Whether there are statistics of every stream."""
    rows = {one.stream: one.rows for one in (() if manifest.sites is None else manifest.sites.observed)}
    return all(rows.get(stream.number, 0.0) >= LEAST_ROWS for stream in plan.streams)


def _shipping_seconds(
    plan: JoinPlan,
    network: Network,
    layout: Layout,
    graph: JoinGraph,
    before: Sequence[Copy],
    sequences: tuple[SiteSequence, ...],
) -> float:
    """How long links are busy with the first content of copies that a plan needs and that there are not yet."""
    needed = continued_copies(before, copies_of(plan, layout.homes, sequences, -1))
    sites = [site.name for site in layout.sites]
    seconds = 0.0
    for copy in (copy for copy in needed if copy.since == -1):
        stored = graph.stream(plan.streams[copy.stream].name)
        link = network.between(stored.site, sites[copy.site])
        size = stored.window_rows * stored.row_bytes if copy.kind == "rows" else 0.0
        if copy.has_values and copy.partial is not None:
            size = stored.window_rows * 8.0 * (copy.partial.width + 1)
        seconds += 0.0 if link is None else link.seconds(size)
    return seconds
