"""A query's plan as text: as it would start, or as it runs with what it has observed."""

from __future__ import annotations

from dataclasses import replace

from braid.control.skew import describe_treatment, hot_keys
from braid.control.slicing.lengths import describe_vote
from braid.engine.next_manifest import before_first_step
from braid.errors import StrategyError
from braid.optimizer.check_orders import choose_check_order
from braid.optimizer.join_orders import build_probe, build_probe_orders
from braid.optimizer.payloads import describe_payloads
from braid.optimizer.ring_estimates import describe_rings
from braid.optimizer.semijoins.explaining import describe_sites
from braid.optimizer.sequences import best_orders
from braid.optimizer.shapes import describe_shapes
from braid.optimizer.spreading import describe_cost
from braid.optimizer.strategies import WITHOUT_ARGUMENTS, Semijoin, Strategy
from braid.optimizer.trees import in_shape, tree_orders
from braid.plan.explain import Chosen, Observed, Seen, explain, render
from braid.plan.join import JoinPlan, ProbeOrder, SortOrder
from braid.plan.layout import Layout
from braid.plan.logical import LogicalPlan
from braid.state.manifest import Manifest


def explain_query(
    logical_plan: LogicalPlan,
    plan: JoinPlan,
    strategy: Strategy,
    slots: int,
    stage: str | None,
    manifest: Manifest | None,
    exchange: str | None = None,
    elastic: bool = False,
    limited: bool = False,
) -> str:
    """The plan that a query starts with; with a manifest, the plan in force after its step, and its `exchange`.

    `elastic` and `limited`: its units follow the load, its memory has a limit.
    """
    chosen = replace(_chosen(plan, strategy, slots), exchange=exchange)
    layout = chosen.layout if manifest is None else manifest.layout
    vote = () if manifest is None else describe_vote(plan, manifest, elastic)
    payloads = () if manifest is None else describe_payloads(plan, manifest, exchange, limited)
    chosen = replace(chosen, expected=(*describe_rings(plan, layout, manifest), *vote), payloads=payloads)
    plan = in_shape(plan, chosen.layout.tree if manifest is None else manifest.layout.tree)
    fanouts, costs = ((), ()) if manifest is None else (manifest.fanouts, manifest.check_costs)
    join_orders = best_orders(plan, fanouts, costs) if plan.tree is None else tree_orders(plan)
    if isinstance(strategy, Semijoin):
        join_orders, expected = _between_sites(plan, strategy, chosen.layout, manifest)
        chosen = replace(chosen, expected=expected)
    observed = None if manifest is None else _observed(plan, manifest)
    orders = () if manifest is None else manifest.sort_orders
    checks = choose_check_order(plan, costs)
    probe_orders = [_in_force(plan, order, orders, checks) for order in build_probe_orders(plan, join_orders)]
    return explain(logical_plan, plan, probe_orders, chosen, observed, stage)


def _between_sites(
    plan: JoinPlan, strategy: Semijoin, layout: Layout, manifest: Manifest | None
) -> tuple[tuple[tuple[int, ...], ...], tuple[str, ...]]:
    """The probe orders of a join between sites, and what is expected of them."""
    known = before_first_step(plan, "", layout, 0) if manifest is None else manifest
    layout = known.layout if known.layout.kind == "sites" else layout
    sequences = strategy.choosing(plan, layout)(known).plan.sequences
    orders = tuple(tuple(step.stream for step in sequence.steps) for sequence in sequences)
    return orders, describe_sites(plan, strategy.settings(plan), layout, known, sequences)


def _in_force(
    plan: JoinPlan, probe_order: ProbeOrder, orders: tuple[SortOrder, ...], checks: tuple[int, ...]
) -> ProbeOrder:
    """The lookups of a probe order in rows that are sorted by the chosen numbers, with their checks in order."""
    choices = {number: order.choices for number, order in enumerate(orders)}
    probes = (
        build_probe(plan, joined, probe.stream, choices.get(probe.stream, ()), checks)
        for joined, probe in zip(probe_order.joined, probe_order.probes, strict=False)
    )
    return replace(probe_order, probes=tuple(probes))


def _chosen(plan: JoinPlan, strategy: Strategy, slots: int) -> Chosen:
    others = []
    for other in (kind() for kind in WITHOUT_ARGUMENTS if not isinstance(strategy, kind)):
        try:
            layout = other.layout(plan, slots)
            others.append(f"possible: {other.describe()}: {layout.kind}, {describe_cost(layout)}")
        except StrategyError as refusal:
            others.append(f"refused: {other.describe()}: {refusal.message}")
    layout = strategy.layout(plan, slots)
    return Chosen(
        strategy=strategy.describe(),
        layout=layout,
        cost=describe_cost(layout),
        hot_keys=describe_treatment(layout),
        routing=_routing(plan, layout),
        slots=slots,
        others=tuple(others),
        shapes=describe_shapes(plan, layout.tree),
    )


def _observed(plan: JoinPlan, manifest: Manifest) -> Observed:
    names = [stream.name for stream in plan.streams]
    return Observed(
        step=manifest.step,
        layout=manifest.layout,
        older_layouts=len(manifest.layouts) - 1,
        hot_keys=tuple(hot.describe(names) for hot in hot_keys(manifest.layout, manifest.key_counts)),
        lookups=tuple(
            Seen(fanout.delta_stream, fanout.stream, fanout.joined, fanout.matches / fanout.probes)
            for fanout in manifest.fanouts
            if fanout.probes
        ),
        sort_orders=manifest.sort_orders,
        checks={
            cost.conjunct: (cost.seconds / cost.pairs, cost.passed / cost.sampled if cost.sampled else None)
            for cost in manifest.check_costs
            if cost.pairs
        },
        candidates={(seen.stream, seen.index, seen.choice): seen.share for seen in manifest.path_shares},
    )


def _routing(plan: JoinPlan, layout: Layout) -> tuple[str, ...]:
    """The number that each stream is routed by; a stream without one is spread over all its units."""
    if layout.ranges is None:
        return ()
    return tuple(
        f"{stream.name} at random" if stream.routing is None else render(stream.routing) for stream in plan.streams
    )
