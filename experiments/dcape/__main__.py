"""`python -m experiments.dcape [quick | full]`: run the models and print what holds; nothing is kept or published."""

from __future__ import annotations

import sys

from experiments.dcape import EXPERIMENTS, SIZES
from experiments.experiment import plain


def main(size: str) -> None:
    for experiment in EXPERIMENTS:
        print(experiment.title)
        for one in experiment.judged(plain(experiment.measure(SIZES[size]))):
            print(f"  {one.word}: {one.claim.text}: {one.verdict.here} (paper: {one.claim.paper})")


if __name__ == "__main__":
    main(*sys.argv[1:] or ["quick"])
