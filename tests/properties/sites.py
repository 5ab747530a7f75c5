"""Random joins of streams at distant sites: where streams arise, and by which algorithms they are looked up."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path

from braid.optimizer.semijoins.choice import ChooseSequences, SiteChoice
from braid.optimizer.semijoins.copies import with_shared_copies
from braid.optimizer.semijoins.reduction import reduction_of
from braid.optimizer.strategies import Semijoin
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.plan.logical import LogicalPlan
from braid.plan.site_names import Site
from braid.plan.sites import Algorithm, SitePlan, SiteSequence, SiteStep
from braid.state.manifest import Manifest

INTERVAL_US = 10
WITHOUT_SEMIJOIN = (Algorithm.SP_S, Algorithm.SP_D)


def at_sites(logical_plan: LogicalPlan, chance: random.Random, storage: Path | None = None) -> LogicalPlan:
    """The streams of a query at some sites; several may share one. Below `storage` each site has its own directory."""
    names = "abcd"[: chance.randint(1, 4)]
    sites = [Site(name, storage=None if storage is None else str(storage / name)) for name in names]
    streams = (replace(stream, site=chance.choice(sites)) for stream in logical_plan.streams)
    return replace(logical_plan, streams=tuple(streams))


def some_sequences(plan: JoinPlan, homes: tuple[int, ...], chance: random.Random) -> tuple[SiteSequence, ...]:
    """Any order of lookups for each stream, each by any algorithm that can run it."""
    found = []
    for head in range(len(plan.streams)):
        others = [stream for stream in range(len(plan.streams)) if stream != head]
        steps: list[SiteStep] = []
        for stream in chance.sample(others, len(others)):
            joined = (head, *(step.stream for step in steps))
            reducible = reduction_of(plan, joined, stream) is not None
            steps.append(SiteStep(stream, chance.choice(list(Algorithm) if reducible else WITHOUT_SEMIJOIN)))
        found.append(SiteSequence(tuple(steps)))
    return with_shared_copies(plan, homes, tuple(found))


class SomeSequences:
    """Chooses random sequences for every step, the same in a replay; or the same for all steps."""

    def __init__(
        self, plan: JoinPlan, homes: tuple[int, ...], seed: int, changing: bool, interval_us: int = 10
    ) -> None:
        self._plan, self._homes, self._seed, self._changing = plan, homes, seed, changing
        self._interval_us = interval_us

    def __call__(self, manifest: Manifest) -> SiteChoice:
        seed = self._seed + (manifest.step + 1 if self._changing else 0)
        sequences = some_sequences(self._plan, self._homes, random.Random(seed))
        return SiteChoice(SitePlan(sequences, INTERVAL_US))


@dataclass(frozen=True)
class SomeSemijoins:
    """A strategy for streams at sites, with random sequences that may change from step to step."""

    seed: int
    changing: bool = False

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        return Semijoin().layout(plan, slots)

    def choosing(self, plan: JoinPlan, layout: Layout) -> ChooseSequences:
        return SomeSequences(plan, layout.homes, self.seed, self.changing)

    def describe(self) -> str:
        return repr(self)


def some_semijoins(chance: random.Random) -> SomeSemijoins:
    return SomeSemijoins(chance.randint(0, 1 << 30), chance.random() < 0.4)
