"""A query's plan as text: as it would start, or as it runs after what it has seen."""

from __future__ import annotations

from braid.control.skew import describe_treatment, hot_keys
from braid.errors import StrategyError
from braid.optimizer.sequences import build_sequence, choose_orders
from braid.optimizer.spreading import describe_cost
from braid.optimizer.strategies import STRATEGIES, Strategy
from braid.plan.explain import Chosen, Observed, Seen, explain
from braid.plan.join import JoinPlan
from braid.plan.question import Question
from braid.state.manifest import Manifest


def explain_query(
    question: Question, plan: JoinPlan, strategy: Strategy, slots: int, stage: str | None, manifest: Manifest | None
) -> str:
    """The plan that a query starts with; with a manifest, what has become of it by then."""
    orders = choose_orders(plan, () if manifest is None else manifest.fanouts)
    sequences = [build_sequence(plan, head, order) for head, order in enumerate(orders)]
    observed = None if manifest is None else _observed(plan, manifest)
    return explain(question, plan, sequences, _chosen(plan, strategy, slots), observed, stage)


def _chosen(plan: JoinPlan, strategy: Strategy, slots: int) -> Chosen:
    others = []
    for other in (kind() for kind in STRATEGIES if not isinstance(strategy, kind)):
        try:
            layout = other.layout(plan, slots)
            others.append(f"possible: {other.describe()}: {layout.kind}, {describe_cost(layout)}")
        except StrategyError as refusal:
            others.append(f"refused: {other.describe()}: {refusal.message}")
    layout = strategy.layout(plan, slots)
    return Chosen(strategy.describe(), layout, describe_cost(layout), describe_treatment(layout), slots, tuple(others))


def _observed(plan: JoinPlan, manifest: Manifest) -> Observed:
    names = [stream.name for stream in plan.streams]
    return Observed(
        step=manifest.step,
        layout=manifest.layout,
        older_layouts=len(manifest.layouts) - 1,
        hot_keys=tuple(hot.describe(names) for hot in hot_keys(manifest.layout, manifest.key_counts)),
        lookups=tuple(
            Seen(fanout.head, fanout.stream, fanout.joined, fanout.matches / fanout.probes)
            for fanout in manifest.fanouts
            if fanout.probes
        ),
    )
