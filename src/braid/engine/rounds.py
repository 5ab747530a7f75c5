"""The probe jobs of a step: each runs one round of the step's own term and of every unfinished term before it.

Where routes stay in their slots, one job runs all rounds of a term. What a job leaves for the next round is exchanged
through files; those of a term that the step does not finish are named by its manifest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from braid.control.fanouts import JoinOrders, LookupCounts
from braid.engine.cluster import Cluster
from braid.engine.commands import ProbeCommand, RoundsCommand
from braid.engine.reports import BufferedFile, ProbeReport, UnitCounts
from braid.placement.groups import all_stay_local
from braid.plan.join import JoinPlan
from braid.state.blocks import WrittenBlock
from braid.state.manifest import Block, CheckCost
from braid.state.terms import Term


@dataclass(frozen=True)
class BufferedResults:
    """Results of an ordered query that rows of `step` found, in a file; those rows arrived at `arrived_ms`."""

    step: int
    arrived_ms: int
    file: BufferedFile


@dataclass(frozen=True)
class Found:
    """What probe jobs found: reports, lookups with the probe orders they belong to, new blocks, unneeded files.

    New blocks have the step's own rows and intermediate results. The files are those that were gathered, or exchanged
    between rounds. Results of an ordered query are `buffered`.
    """

    reports: tuple[ProbeReport, ...] = ()
    buffered: tuple[BufferedResults, ...] = ()
    lookups: tuple[tuple[JoinOrders, LookupCounts], ...] = ()
    stored: tuple[Block, ...] = ()
    intermediate: tuple[Block, ...] = ()
    unneeded: frozenset[str] = frozenset()
    exchanged_bytes: int = 0

    def __add__(self, other: Found) -> Found:
        return Found(
            reports=self.reports + other.reports,
            buffered=self.buffered + other.buffered,
            lookups=self.lookups + other.lookups,
            stored=self.stored + other.stored,
            intermediate=self.intermediate + other.intermediate,
            unneeded=self.unneeded | other.unneeded,
            exchanged_bytes=self.exchanged_bytes + other.exchanged_bytes,
        )

    @property
    def checks(self) -> Iterator[CheckCost]:
        """What was observed of all conjuncts."""
        return (check for report in self.reports for check in report.checks)

    @property
    def units(self) -> Iterator[UnitCounts]:
        """The counts of all units, by job and slot."""
        return (unit for report in self.reports for unit in report.units)


class TermRounds:
    """The jobs of a term in one step, at most `most`; None: all. The last one merges.

    `command` has the blocks that the term sees, and says how its rows are admitted.
    """

    def __init__(
        self, plan: JoinPlan, cluster: Cluster, term: Term, command: ProbeCommand, most: int | None = None
    ) -> None:
        self._term = term
        self._command = replace(command, join_orders=term.join_orders, check_order=term.check_order)
        self._gathered = frozenset(file for gather in command.gathers for file in gather.files)
        self._jobs = job_rounds(plan, cluster, self._command, term.next_round)[:most]
        self._done = 0
        self._exchanged = term.exchanged
        self._read: list[str] = []
        self._written: list[WrittenBlock] = []
        self._reports: list[ProbeReport] = []

    @property
    def next_job(self) -> ProbeCommand | None:
        """The command of the next job; None if none is left. Without rows under way an earlier term has none."""
        if self._done == len(self._jobs) or (self._term.next_round and not self._exchanged):
            return None
        first, last = self._jobs[self._done]
        merges = self._command.separating if self._done == 0 else ()
        merges += self._command.following if self._done == len(self._jobs) - 1 else ()
        return replace(self._command, first_round=first, last_round=last, merges=merges, exchanged=self._exchanged)

    def take(self, answers: Sequence[ProbeReport]) -> None:
        """Take what a job reported."""
        if self._jobs[self._done][0] == 0:
            separated = frozenset(file for merge in self._command.separating for file in merge.files)
            self._command = _after_gathering(self._command, self._gathered | separated, answers)
        written = [report.exchanged for report in answers if report.exchanged is not None]
        self._read += self._exchanged
        self._exchanged = tuple(block.file for block in written)
        self._written += written
        self._reports += answers
        self._done += 1

    @property
    def unfinished(self) -> Term | None:
        """What remains of the term after these jobs; None if it is finished."""
        reached = self._jobs[self._done - 1][1] + 1
        if reached == self._term.rounds or not self._exchanged:
            return None
        return replace(self._term, next_round=reached, exchanged=self._exchanged)

    @property
    def found(self) -> Found:
        term, orders, reports = self._term, self._term.join_orders, self._reports
        written = (report.output.buffered for report in reports)
        over = () if self.unfinished is not None else self._exchanged
        return Found(
            reports=tuple(reports),
            buffered=tuple(BufferedResults(term.step, term.arrived_ms, file) for file in written if file is not None),
            lookups=tuple((orders, lookup) for report in reports for lookup in report.lookups),
            stored=tuple(block for report in reports for block in report.stored),
            intermediate=tuple(block for report in reports for block in report.intermediate),
            unneeded=self._gathered.union(self._read, over),
            exchanged_bytes=sum(block.size for block in self._written),
        )


def run_jobs(cluster: Cluster, terms: Sequence[TermRounds]) -> Found:
    """Run the jobs of several terms, the newest first: each job has a round of every term that has one left."""
    while due := [(term, job) for term in terms if (job := term.next_job) is not None]:
        answers = _run_together(cluster, [job for _, job in due])
        for (term, _), own in zip(due, answers, strict=True):
            term.take(own)
    return sum((term.found for term in terms), Found())


def _run_together(cluster: Cluster, commands: Sequence[ProbeCommand]) -> list[list[ProbeReport]]:
    """The reports of each command, all run in one job; what its tasks used is reported with the first."""
    newest = commands[0]
    if len(commands) == 1:
        return [cluster.run(newest)]
    answers = cluster.run(RoundsCommand(newest.step, newest.run, tuple(commands)))
    first = [replace(answer.probes[0], usage=answer.usage) for answer in answers]
    return [first, *([answer.probes[number] for answer in answers] for number in range(1, len(commands)))]


def _after_gathering(command: ProbeCommand, gathered: frozenset[str], answers: Sequence[ProbeReport]) -> ProbeCommand:
    """The command of later jobs: the blocks that the slots have stored take the place of those that they read."""
    kept = (block for block in command.blocks if block.file not in gathered)
    stored = (block for answer in answers for block in answer.stored)
    separated = (
        block
        for answer in answers
        for merged in answer.merged
        if merged.number < command.separations
        for block in (merged.block, merged.apart)
        if block is not None
    )
    return replace(command, blocks=(*kept, *stored, *separated), gathers=())


def job_rounds(plan: JoinPlan, cluster: Cluster, command: ProbeCommand, start: int) -> list[tuple[int, int]]:
    """Which rounds, first and last, run in one job, from the round `start` on."""
    count = command.rounds
    if not all_stay_local(command.layouts, len(plan.streams), cluster.slots):
        return [(number, number) for number in range(start, count)]
    jobs, first = [], start
    for number in range(start, count):
        if number == count - 1 or cluster.needs_own_round(command, number):
            jobs.append((first, number))
            first = number + 1
    return jobs
