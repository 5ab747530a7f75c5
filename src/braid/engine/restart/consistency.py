"""Checks before a run continues: the checkpoint's owner, Braid's steps and Spark's batches must agree."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from braid.engine.sinks import Sink
from braid.errors import RecoveryError, RestartError, StepCommittedError, StorageWarning, TakenOverError
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.checkpoint import Checkpoint
from braid.state.manifest import DeltaRecord, Manifest
from braid.state.ownership import Ownership, claim


def claim_for(checkpoint: Checkpoint, sink: Sink, run: str, now_ms: int) -> Ownership:
    """Claim a checkpoint for a run, with a number above those of all runs with visible results."""
    reason = checkpoint.files.why_not_exclusive(checkpoint.path)
    if reason:
        warnings.warn(
            f"The storage of the checkpoint {checkpoint.path} cannot keep two runs apart that commit at the same "
            f"moment: {reason}. Make sure that only one run uses the checkpoint.",
            StorageWarning,
            stacklevel=2,
        )
    above = max((file.owner for file in sink.published_files()), default=0)
    return claim(checkpoint.files, checkpoint.path, run, now_ms, above)


def require_same_rows(batch: int, recorded: str | None, planned: str | None) -> None:
    """A batch that Braid has read must be the one Spark plans now; without both digests nothing is compared."""
    if recorded is None or planned is None or recorded == planned:
        return
    raise RecoveryError(
        f"The checkpoint does not fit together: Braid read Spark batch {batch} with other rows than Spark has planned "
        "for it now, so Spark's part of the checkpoint is older than Braid's.",
        hint="Restore the whole checkpoint directory, with spark/ in it, from one copy, or start with a new one.",
    )


@contextmanager
def contested(owner: Ownership, checkpoint: Checkpoint, step: Callable[[], int]) -> Iterator[None]:
    """If another run was faster at a step or is newer, raise that instead of the error it caused in this run."""
    try:
        yield
    except (TakenOverError, StepCommittedError):
        owner.require()
        raise
    except Exception as error:  # files that another run has deleted can fail in any way
        owner.require()
        if checkpoint.is_committed(step()):
            raise StepCommittedError(f"Step {step()} was committed by another run.") from error
        raise


def require_continuing(plan: JoinPlan, manifest: Manifest, chosen: Layout) -> None:
    """Refuse a layout that cannot go on from the stored rows."""
    require_same_groups(manifest, chosen)
    apart = [stream.name for stream in plan.streams if stream.site is not None and stream.site.storage is not None]
    between_sites = manifest.step >= 0 and any(layout.kind == "sites" for layout in manifest.layouts)
    if apart and between_sites and chosen.kind != "sites":
        raise RestartError(
            f"The rows of {', '.join(apart)} are in storage of their own site, which other strategies do not read.",
            hint="Go on with braid.Semijoin, or start another strategy with a new checkpoint.",
        )


def require_without_input(delta: DeltaRecord, manifest: Manifest) -> None:
    """Refuse to finish a step whose batch Spark has not offered again."""
    if delta.batch > manifest.batch:
        raise RecoveryError(
            f"Spark batch {delta.batch} was read but its step {delta.step} is not finished, so nothing can be emitted "
            "before it.",
            hint="Start the query again: it finishes that step first.",
        )


def require_same_groups(manifest: Manifest, chosen: Layout) -> None:
    """Stored rows are sorted by their partition groups: as long as there are any, their number stays.

    Deferred results are found by the query that deferred them.
    """
    if manifest.pushes and manifest.layout.stored_as != chosen.stored_as:
        raise RestartError(
            "The checkpoint has deferred results, and the query stores its rows by other keys or in another order.",
            hint="Start the query as it was, call run.drain(), and change it then.",
        )
    given = len(chosen.group_units)
    stored = {len(layout.group_units) for layout in manifest.layouts if manifest.step >= 0} - {0, given}
    if given and stored:
        raise RestartError(
            f"The checkpoint has rows in {stored.pop()} partition groups, and the query is started with "
            f"Partitioned(groups={given}).",
            hint="Start it with the number of groups that it began with, or with a new checkpoint.",
        )


def check_in_step(manifest_batch: int, spark_batch: int) -> None:
    """Braid's last batch must be Spark's last committed one, or one ahead of it."""
    if manifest_batch in (spark_batch, spark_batch + 1):
        return
    raise RecoveryError(
        f"The checkpoint does not fit together: Spark has committed its batch {spark_batch}, and Braid's newest step "
        f"contains Spark batch {manifest_batch}.",
        hint="Restore the whole checkpoint directory from one copy, or start with a new one.",
    )
