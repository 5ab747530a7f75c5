"""Which streams store their payloads apart from their rows, and why.

A row without its payload is all that is placed, gathered, sorted, merged and looked up; the payloads of results alone
are fetched. That pays where payloads are wide and results are few. A payload that is stored with its row is written,
read, sorted and written again before the first lookup, and again by every merge; one that is stored apart is written
once, and read for every result. What earlier steps measured decides, so a query's first step stores whole rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.plan.payloads import payload_columns
from braid.state.manifest import Fanout, Manifest

# With payloads of fewer bytes, addresses and further files take more CPU time than they save (measured in one process,
# 2 × 10,000 rows a step, a tenth of them with a partner: 39 and 40 ms a step with 512 bytes, 36 and 30 with 256).
WIDE_BYTES = 512
# A payload is fetched once for every result of its row: with more results than rows, more would move than whole rows.
MOST_RESULTS = 1.0


@dataclass(frozen=True)
class PayloadChoice:
    """Whether a stream's payloads are stored apart from its rows, and why."""

    stream: int
    apart: bool
    reason: str


def choose_payloads(plan: JoinPlan, layout: Layout, manifest: Manifest) -> tuple[PayloadChoice, ...]:
    """The choice for each stream, for the step after a manifest."""
    widths = manifest.payload_widths or (None,) * len(plan.streams)
    refusal, results = _refusal(plan, layout), results_per_row(manifest.fanouts)
    return tuple(_choice(plan, number, width, results, refusal) for number, width in enumerate(widths))


def _choice(
    plan: JoinPlan, stream: int, width: float | None, results: float | None, refusal: str | None
) -> PayloadChoice:
    if not payload_columns(plan, stream):
        return PayloadChoice(stream, False, "every column is read by lookups")
    if refusal is not None:
        return PayloadChoice(stream, False, refusal)
    if width is None:
        return PayloadChoice(stream, False, "the first step measures how wide payloads are")
    wide = f"payloads of {width:,.0f} bytes a row"
    if width < WIDE_BYTES:
        return PayloadChoice(stream, False, f"{wide}, fewer than {WIDE_BYTES}")
    if results is None:
        return PayloadChoice(stream, True, wide)
    found = f"{wide}, {results:.3g} results for each"
    return PayloadChoice(stream, results <= MOST_RESULTS, found)


def _refusal(plan: JoinPlan, layout: Layout) -> str | None:
    """Why no stream stores payloads apart; None if nothing is against it."""
    if layout.kind == "sites":
        return "sites send whole rows, or values of their join columns"
    if plan.row_based:
        return "arrival logs of windows that count rows have whole rows"
    if any(conjunct.in_jvm for conjunct in plan.conjuncts):
        return "the JVM filters whole rows"
    return None


def results_per_row(fanouts: Sequence[Fanout]) -> float | None:
    """About how many results a new row finds; None if nothing was observed.

    Of the lookups of a delta stream those count that have joined most streams before: only they find results.
    """
    last: dict[int, int] = {}
    for fanout in fanouts:
        last[fanout.delta_stream] = max(last.get(fanout.delta_stream, 0), len(fanout.joined))
    found = matches = 0.0
    for fanout in fanouts:
        if len(fanout.joined) == 1:
            found += fanout.probes
        if len(fanout.joined) == last[fanout.delta_stream]:
            matches += fanout.matches
    return matches / found if found else None


def streams_apart(choices: Sequence[PayloadChoice]) -> tuple[int, ...]:
    """The streams whose payloads are stored apart."""
    return tuple(choice.stream for choice in choices if choice.apart)


def changes_of(plan: JoinPlan, before: Sequence[int], choices: Sequence[PayloadChoice]) -> Iterator[str]:
    """What changes with a step, as text for its progress."""
    for choice in choices:
        if choice.apart != (choice.stream in before):
            yield f"{plan.streams[choice.stream].name}: {describe(choice)}"


def describe_payloads(plan: JoinPlan, manifest: Manifest, exchange: str | None, limited: bool) -> tuple[str, ...]:
    """What `explain` says of wide payloads: those of the last step, and why. `limited`: there is a memory limit."""
    whole, found = _stored_whole(exchange, limited), []
    for choice in choose_payloads(plan, manifest.layout, manifest):
        width = manifest.payload_widths[choice.stream] if manifest.payload_widths else 0.0
        apart = choice.stream in manifest.payloads_apart
        if width < WIDE_BYTES and not apart:
            continue
        if choice.apart and whole is not None:
            choice = PayloadChoice(choice.stream, False, whole)
        later = "" if choice.apart == apart else "from the next step on, "
        found.append(f"{plan.streams[choice.stream].name}: {later}{describe(choice)}")
    return tuple(found)


def _stored_whole(exchange: str | None, limited: bool) -> str | None:
    """Why a run stores whole rows, whatever was measured; None if it does not."""
    if limited:
        return "under a memory limit rows are read by range, and a payload is not"
    return "a shuffle stores rows once" if exchange is not None and exchange.startswith("shuffle") else None


def describe(choice: PayloadChoice) -> str:
    """A choice as text."""
    how = "are stored apart, and fetched for results" if choice.apart else "are stored with their rows"
    return f"payloads {how}: {choice.reason}"
