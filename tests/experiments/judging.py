"""What the tests of all claims share: a claim must hold on one record and refuse another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.claims import Claim, Measured
from experiments.experiment import Experiment

Contradict = Callable[[Measured], None]


def claim_in(experiments: Sequence[Experiment], name: str, claim: str) -> Claim:
    (found,) = [
        one for experiment in experiments if experiment.name == name for one in experiment.claims if one.name == claim
    ]
    return found


def check_both_ways(claim: Claim, record: Callable[[], Measured], contradict: Contradict) -> None:
    """The claim holds on the record, and not once it is made to contradict it."""
    supported = claim.judge(record())
    assert supported.holds is True, supported
    measured = record()
    contradict(measured)
    refused = claim.judge(measured)
    assert refused.holds is False, refused
