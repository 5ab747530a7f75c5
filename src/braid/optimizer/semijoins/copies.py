"""Which copies the sequences of a step need, and what they share.

A copy belongs to a stream and a site, whichever rows look it up. Where one sequence needs a copy that holds what
another asks for, both use it: all rows instead of requested ones, and keys with requested rows instead of either alone.
A site has the rows of another stream in one copy at most, so that no row is looked up twice: if they are requested by
several kinds of keys, all rows are copied.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from braid.errors import StrategyError
from braid.optimizer.semijoins.reduction import Reduction, reduction_of
from braid.placement.site_rounds import sites_before
from braid.plan.join import JoinPlan
from braid.plan.sites import Algorithm, Copy, CopyKind, Partial, SiteSequence, SiteStep

Sequences = tuple[SiteSequence, ...]
Needed = dict[tuple[int, int], set[tuple[CopyKind, Partial | None]]]
"""By stream and site, what is needed there."""
KINDS: dict[Algorithm, CopyKind] = {
    Algorithm.SP_S: "rows",
    Algorithm.SM_S1: "requested",
    Algorithm.SM_S2: "mixed",
    Algorithm.SM_D1: "values",
}


def joined_before(head: int, sequence: SiteSequence, position: int) -> tuple[int, ...]:
    """The streams that are joined when a position of a sequence begins."""
    return (head, *(step.stream for step in sequence.steps[:position]))


def with_shared_copies(plan: JoinPlan, homes: Sequence[int], sequences: Sequences) -> Sequences:
    """The sequences, with the algorithm that uses a copy which another lookup needs anyway."""
    needed = _needed(plan, homes, sequences)

    def shared(step: SiteStep, site: int) -> SiteStep:
        found = needed[step.stream, site]
        if homes[step.stream] == site or step.algorithm not in (Algorithm.SM_S1, Algorithm.SM_S2):
            return step
        requesting = {partial for kind, partial in found if kind in ("requested", "mixed")}
        if len(requesting) > 1 or any(kind == "rows" for kind, _ in found):
            return replace(step, algorithm=Algorithm.SP_S)
        with_values = any(partial in requesting for kind, partial in found if kind in ("values", "mixed"))
        return replace(step, algorithm=Algorithm.SM_S2) if with_values else step

    return tuple(
        SiteSequence(
            tuple(
                shared(step, site)
                for step, site in zip(sequence.steps, sites_before(sequence, head, homes), strict=False)
            )
        )
        for head, sequence in enumerate(sequences)
    )


def copies_of(plan: JoinPlan, homes: Sequence[int], sequences: Sequences, step: int) -> tuple[Copy, ...]:
    """The copies that sequences with shared copies need, as a step creates them; each once."""
    found = []
    for (stream, site), needed in sorted(_needed(plan, homes, sequences).items()):
        partials = sorted({partial for _, partial in needed}, key=repr)
        for partial in partials:
            kinds = {kind for kind, own in needed if own == partial}
            kind: CopyKind = "mixed" if "mixed" in kinds else next(iter(kinds))
            found.append(Copy(stream, site, kind, partial, step))
    return tuple(found)


def continued_copies(before: Sequence[Copy], needed: Sequence[Copy]) -> tuple[Copy, ...]:
    """The needed copies; those that there were already keep what they have."""
    return tuple(next((copy for copy in before if copy.same_as(one)), one) for one in needed)


def required_reduction(plan: JoinPlan, joined: tuple[int, ...], stream: int, algorithm: Algorithm) -> Reduction:
    """What decides a semijoin; refused if nothing does."""
    reduction = reduction_of(plan, joined, stream)
    if reduction is None:
        names = ", ".join(plan.streams[number].name for number in joined)
        raise StrategyError(
            f"{algorithm} cannot look up {plan.streams[stream].name} for rows of {names}: no condition between them "
            "says by itself which rows match.",
            hint="A semijoin needs an equality, or a comparison of numbers or times that cannot raise and are never "
            "null in a result. Use SP-S or SP-D there.",
        )
    return reduction


def _needed(plan: JoinPlan, homes: Sequence[int], sequences: Sequences) -> Needed:
    found: Needed = defaultdict(set)
    for stream, site, kind, partial in _each(plan, homes, sequences):
        found[stream, site].add((kind, partial))
    return found


def _each(
    plan: JoinPlan, homes: Sequence[int], sequences: Sequences
) -> Iterator[tuple[int, int, CopyKind, Partial | None]]:
    for head, sequence in enumerate(sequences):
        for position, (step, site) in enumerate(zip(sequence.steps, sites_before(sequence, head, homes), strict=False)):
            kind = KINDS.get(step.algorithm)
            if kind is None or homes[step.stream] == site:
                continue
            joined = joined_before(head, sequence, position)
            partial = None
            if kind != "rows":
                partial = required_reduction(plan, joined, step.stream, step.algorithm).stored
            yield step.stream, site, kind, partial
