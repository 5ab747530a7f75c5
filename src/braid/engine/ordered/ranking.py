"""The job that ranks rows before they are looked up, where windows count rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from braid.engine.cluster import Cluster
from braid.engine.commands import RankOrder, RollFrom
from braid.engine.rounds import require_success
from braid.placement.admission import ALWAYS
from braid.plan.join import JoinPlan
from braid.state.waiting import Roll, RulerFile


@dataclass(frozen=True)
class Ranked:
    """The rulers after a step, and the files of those before it that they replace."""

    rulers: tuple[RulerFile, ...] = ()
    replaced: tuple[str, ...] = ()


def rank(
    plan: JoinPlan,
    cluster: Cluster,
    *,
    step: int,
    run: str,
    rulers: Sequence[RulerFile],
    rolls: Sequence[Roll],
    fresh: Sequence[Roll],
    before_us: int,
    until_us: int,
) -> Ranked:
    """Rank the rows up to `until_us` of the `rolls`, ranked up to `before_us` earlier, and of the `fresh` ones."""
    sources = [RollFrom(roll.stream, roll.file, before_us) for roll in rolls]
    sources += [RollFrom(roll.stream, roll.file, ALWAYS) for roll in fresh]
    every = (*rolls, *fresh)
    due = [s for r, s in zip(every, sources, strict=True) if r.min_time <= until_us and r.max_time > s.after_us]
    if not due:
        return Ranked(tuple(rulers))
    answers = cluster.rank(RankOrder(step, run, tuple(due), tuple(rulers), before_us, until_us))
    require_success(plan, answers, step)
    made = {ruler["stream"]: RulerFile(**ruler) for answer in answers for ruler in answer["rulers"]}
    kept = [ruler for ruler in rulers if ruler.stream not in made]
    replaced = tuple(ruler.file for ruler in rulers if ruler.stream in made)
    return Ranked((*kept, *made.values()), replaced)
