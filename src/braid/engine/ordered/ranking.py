"""The job that ranks rows before they are looked up, for row-based windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from braid.engine.cluster import Cluster
from braid.engine.commands import ArrivalLogFrom, RankCommand
from braid.placement.admission import ALWAYS
from braid.state.order_state import ArrivalLog, RankIndexFile


@dataclass(frozen=True)
class Ranked:
    """The rank indexes after a step, and the replaced files."""

    rank_indexes: tuple[RankIndexFile, ...] = ()
    replaced: tuple[str, ...] = ()


def rank(
    cluster: Cluster,
    *,
    step: int,
    run: str,
    rank_indexes: Sequence[RankIndexFile],
    arrival_logs: Sequence[ArrivalLog],
    fresh: Sequence[ArrivalLog],
    before_us: int,
    until_us: int,
) -> Ranked:
    """Rank the rows up to `until_us` of the `arrival_logs`, ranked up to `before_us`, and of the `fresh` ones."""
    sources = [ArrivalLogFrom(arrival_log.stream, arrival_log.file, before_us) for arrival_log in arrival_logs]
    sources += [ArrivalLogFrom(arrival_log.stream, arrival_log.file, ALWAYS) for arrival_log in fresh]
    every = (*arrival_logs, *fresh)
    due = [s for r, s in zip(every, sources, strict=True) if r.min_time <= until_us and r.max_time > s.after_us]
    if not due:
        return Ranked(tuple(rank_indexes))
    answers = cluster.run(RankCommand(step, run, tuple(due), tuple(rank_indexes), before_us, until_us))
    made = {rank_index.stream: rank_index for answer in answers for rank_index in answer.rank_indexes}
    kept = [rank_index for rank_index in rank_indexes if rank_index.stream not in made]
    replaced = tuple(rank_index.file for rank_index in rank_indexes if rank_index.stream in made)
    return Ranked((*kept, *made.values()), replaced)
