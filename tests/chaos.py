"""Crashes without end: `python -m tests.chaos --kills 200 --seed 1 --minutes 60` (or `make chaos CHAOS_ARGS=...`).

Each round makes inputs and two queries, and runs them in child processes that are killed at random points or times
and started again, with another strategy perhaps. A reader looks at the output all the while. At the end of a round
each result must be there once. A round is a function of the seed and its number: `--seed S --round N` repeats one,
save for the moments at which a clock did the killing.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from tests.recovery.job import Job, Kill
from tests.recovery.scenario import BAND, JVM_CHAIN, KEYED, Child, Inputs, Reader, check_answer, make_inputs

SHAPES = (("ab", BAND), ("ab", KEYED), ("abc", JVM_CHAIN))
POINTS = (
    "before * *",
    "after * *",
    "before link */deltas/*",
    "after write_new */deltas/*",
    "during ingest",
    "during probe",
    "before link */manifests/*",
    "after write_new */manifests/*",
    "before rename *",
    "after rename *",
    "before delete */blocks/*",
    "before delete */manifests/*",
    "before step",
    "after step",
)
LATEST_KILL_S = 20.0


@dataclass
class Tally:
    """What has happened so far."""

    rounds: int = 0
    starts: int = 0
    kills: int = 0


class Round:
    """Two queries over one input, run to the end through a number of crashes."""

    def __init__(self, seed: int, number: int, place: Path, tally: Tally) -> None:
        self._chance = random.Random(f"{seed}/{number}")
        self._place = place
        self._tally = tally
        files, rows = self._chance.randint(5, 12), self._chance.randint(10, 50)
        self._inputs: Inputs = make_inputs(place / "input", self._chance.randrange(1 << 30), files, rows)
        self._jobs = [
            Job(streams, on, str(place / "input"), str(place / f"query-{n}"))
            for n, (streams, on) in enumerate(self._chance.sample(SHAPES, 2))
        ]
        self._readers = [Reader(job) for job in self._jobs]

    def run(self, kills: int) -> None:
        ended = False
        while kills and not ended:
            ended = self._start_and_kill()
            kills -= not ended
        if not ended:
            child = Child(self._with_strategies(), self._place / "last")
            self._tally.starts += 1
            code = child.wait(600, self._look)
            assert code == 0, f"the last run ended with {code}\n{child.log()}"
        self._look()
        for job in self._jobs:
            check_answer(self._inputs, job)

    def _start_and_kill(self) -> bool:
        """One child; whether it reached the end of its input before it could be killed."""
        by_clock = self._chance.random() < 0.3
        pattern, count = self._chance.choice(POINTS), self._chance.randint(1, 6)
        count = self._chance.randint(1, 200) if pattern.endswith("* *") else count
        kill = None if by_clock else Kill(pattern, count, alone=self._chance.random() < 0.4)
        child = Child(self._with_strategies(), self._place / f"child-{self._tally.starts}", kill)
        self._tally.starts += 1
        deadline = time.monotonic() + self._chance.uniform(3, LATEST_KILL_S)

        def meanwhile() -> None:
            self._look()
            if by_clock and time.monotonic() > deadline:
                child.kill()

        code = child.wait(600, meanwhile)
        assert code in (0, -signal.SIGKILL), f"a child ended with {code}\n{child.log()}"
        self._tally.kills += code != 0
        return code == 0

    def _with_strategies(self) -> list[Job]:
        return [self._with_strategy(job) for job in self._jobs]

    def _with_strategy(self, job: Job) -> Job:
        choices: list[tuple[str, dict[str, int]]] = [("Auto", {}), ("Biclique", {"units": self._chance.randint(1, 4)})]
        if job.on != BAND:
            choices += [
                ("Partitioned", {"units": self._chance.randint(1, 5)}),
                ("Biclique", {"units": 4, "groups": self._chance.randint(2, 4)}),
            ]
        strategy, settings = self._chance.choice(choices)
        return replace(job, strategy=strategy, strategy_settings=settings)

    def _look(self) -> None:
        for reader in self._readers:
            reader.look()


def main() -> int:
    arguments = read_arguments()
    seed: int = arguments.seed
    tally, began = Tally(), time.monotonic()
    number = 0 if arguments.round is None else arguments.round
    print(f"seed {seed}: up to {arguments.kills} kills or {arguments.minutes:g} minutes", flush=True)
    while tally.kills < arguments.kills and time.monotonic() - began < arguments.minutes * 60:
        place = Path(tempfile.mkdtemp(prefix=f"braid-chaos-{seed}-{number}-"))
        try:
            Round(seed, number, place, tally).run(min(random.Random(number).randint(3, 8), arguments.kills))
        except AssertionError as error:
            print(f"FAILED: {error}\nRepeat with --seed {seed} --round {number}; its files are in {place}", flush=True)
            return 1
        shutil.rmtree(place)
        tally.rounds += 1
        minutes = (time.monotonic() - began) / 60
        print(
            f"round {number} is right; {tally.kills} kills in {tally.starts} starts, {minutes:.1f} min, seed {seed}",
            flush=True,
        )
        number += 1
        if arguments.round is not None:
            break
    print(f"no result lost or doubled: {tally.rounds} rounds, {tally.kills} kills, seed {seed}")
    return 0


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Crash runs, resume them, compare.")
    parser.add_argument("--kills", type=int, default=200, help="stop after this many (default 200)")
    parser.add_argument("--minutes", type=float, default=60, help="begin no round after this time (default 60)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--round", type=int, help="run only this one")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
