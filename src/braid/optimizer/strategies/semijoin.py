"""Semijoin: streams stay at the sites where they arise, and what crosses a link is chosen for every lookup."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from functools import partial
from typing import Any, Literal, get_args

from braid.errors import StrategyError
from braid.optimizer.semijoins.choice import ChooseSequences, Optimizer, SiteSettings, choose_sequences
from braid.optimizer.semijoins.network import Link, Network
from braid.optimizer.semijoins.plans import algorithm_of
from braid.plan.durations import duration_us
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout, SiteSlots
from braid.plan.site_names import Site, distinct_sites
from braid.plan.sites import Algorithm

Algorithms = Literal["optimize"] | str | Collection[str] | Mapping[str, str | Collection[str]]
HERE = Site("here")
"""The site of streams for which none was given."""
UNKNOWN_LINK = Link("100 Mbps", "25 ms")
"""A link that nothing was said of."""


@dataclass(frozen=True)
class Semijoin:
    """`network`: the links between sites; without it every link has 100 Mbps and 25 ms.

    `algorithms`: how streams at other sites are looked up: `"optimize"`, any of the six; the name of one, or several to
    choose from; or a dict with those for each looked-up stream by its name. SP-S, SP-D, SM-S1, SM-S2, SM-D1, SM-D2.

    `plans`: all lookups, in their order: `{head: [(stream, algorithm), …]}`, with a list for every stream.

    `optimizer`: how the cheapest plan is searched for: `"greedy"`, step by step, or `"exhaustive"`.

    `interval`: messages are counted, and modelled, as if they were sent so often.
    """

    network: Network | None = None
    algorithms: Algorithms = "optimize"
    plans: Mapping[str, Sequence[tuple[str, str]]] | None = None
    optimizer: Optimizer = "greedy"
    interval: str | timedelta = "100 ms"

    def __post_init__(self) -> None:
        if self.network is not None and not isinstance(self.network, Network):
            raise StrategyError(
                f"Semijoin(network=...) must be a Network, but is {self.network!r}.",
                hint='Write braid.Network(braid.Link("1 Mbps", "25 ms")).',
            )
        if self.optimizer not in get_args(Optimizer):
            raise StrategyError(f"Semijoin(optimizer=...) must be 'greedy' or 'exhaustive', not {self.optimizer!r}.")
        if self.plans is not None and self.algorithms != "optimize":
            raise StrategyError(
                "Semijoin was given plans and algorithms, but plans already say how every stream is looked up.",
                hint="Leave out algorithms.",
            )
        if duration_us("Semijoin(interval=...)", self.interval) <= 0:
            raise StrategyError(f"Semijoin(interval=...) must be above zero, not {self.interval!r}.")
        _by_stream(self.algorithms, ())

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        """Slots are dealt to the sites in turn; a cluster of several hosts deals them by host (`at_slots`)."""
        require_own_evaluation(plan)
        sites = sites_of(plan)
        apart = [site.name for site in sites if site.storage is not None]
        if apart and plan.row_based:
            raise StrategyError(
                f"The window of {plan.streams[plan.row_based[0]].name} counts rows, and all sites read the ranks of "
                f"its rows, but {', '.join(apart)} has storage of its own.",
                hint="Use windows of time, or leave out storage=... of the sites.",
            )
        each = max(1, slots // len(sites))
        return at_slots(plan, [range(n * each, (n + 1) * each) for n in range(len(sites))])

    def describe(self) -> str:
        given = ((field.name, getattr(self, field.name)) for field in fields(self))
        changed = [(name, value) for name, value in given if value != getattr(Semijoin, name)]
        return f"Semijoin({', '.join(f'{name}={value!r}' for name, value in changed)})"

    def settings(self, plan: JoinPlan) -> SiteSettings:
        """What was given, for the streams of a plan."""
        names = [stream.name for stream in plan.streams]
        self._require_known_sites(plan)
        return SiteSettings(
            network=self.network or Network(UNKNOWN_LINK),
            algorithms=_by_stream(self.algorithms, names),
            plans=self.plans,
            optimizer=self.optimizer,
            interval_us=duration_us("Semijoin(interval=...)", self.interval),
        )

    def choosing(self, plan: JoinPlan, layout: Layout) -> ChooseSequences:
        """The function that chooses the sequences of every step."""
        return partial(choose_sequences, plan, self.settings(plan), layout)

    def _require_known_sites(self, plan: JoinPlan) -> None:
        names = {site.name for site in sites_of(plan)}
        linked = {name for pair, _ in (self.network.links if self.network is not None else ()) for name in pair}
        if linked - names:
            raise StrategyError(
                f"The network has a link to {', '.join(sorted(linked - names))}, where no stream arises.",
                hint=f"The streams are at {', '.join(sorted(names))}.",
            )


def at_slots(plan: JoinPlan, slots: Sequence[Sequence[int]]) -> Layout:
    """The layout of a join between sites, the sites by name; without a common key one slot of each is used."""
    sites = sites_of(plan)
    used = [tuple(own) if plan.common_part is not None else tuple(own[:1]) for own in slots]
    names = [site.name for site in sites]
    return Layout(
        epoch=0,
        kind="sites",
        units=(sum(map(len, used)),),
        groups=(1,),
        sites=tuple(SiteSlots(name, own) for name, own in zip(names, used, strict=True)),
        homes=tuple(names.index((stream.site or HERE).name) for stream in plan.streams),
    )


def sites_of(plan: JoinPlan) -> tuple[Site, ...]:
    """The sites of a plan's streams, by name."""
    return distinct_sites(stream.site or HERE for stream in plan.streams)


def storage_of(plan: JoinPlan, below: str = "") -> tuple[tuple[str, str], ...]:
    """The directory of each site with storage of its own, or one below it."""
    return tuple((site.name, f"{site.storage}{below}") for site in sites_of(plan) if site.storage is not None)


def require_own_evaluation(plan: JoinPlan) -> None:
    """Refuse plans that need the JVM: its filters would need jobs of their own between the rounds of messages."""
    in_jvm = [conjunct.written for conjunct in plan.conjuncts if conjunct.in_jvm]
    reason = f"the JVM evaluates {in_jvm[0]}" if in_jvm else "the JVM evaluates the selection"
    if in_jvm or plan.jvm_outputs:
        raise StrategyError(
            f"Semijoin cannot run this join: {reason}, which it could only do at a site that has all rows.",
            hint="Use functions that Braid evaluates itself (docs/expressions.md), or another strategy.",
        )


def _by_stream(given: Any, names: Sequence[str]) -> dict[str, tuple[Algorithm, ...]]:
    """The algorithms that may look up each stream."""
    if isinstance(given, Mapping):
        unknown = sorted(set(given) - set(names)) if names else []
        if unknown:
            raise StrategyError(
                f"Semijoin(algorithms=...) names {unknown[0]!r}, but the streams are {', '.join(names)}.",
                hint="Give algorithms by the names of looked-up streams.",
            )
        found = {name: _several(one) for name, one in given.items()}
        return {name: found.get(name, tuple(Algorithm)) for name in names}
    return dict.fromkeys(names, tuple(Algorithm) if given == "optimize" else _several(given))


def _several(given: Any) -> tuple[Algorithm, ...]:
    named = [given] if isinstance(given, str) else list(given) if isinstance(given, Collection) else [given]
    if not named:
        raise StrategyError("Semijoin(algorithms=...) names no algorithm.", hint="Leave it out to allow all of them.")
    return tuple(dict.fromkeys(algorithm_of(one) for one in named))
