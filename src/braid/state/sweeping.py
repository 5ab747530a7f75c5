"""Which files of a checkpoint no run can still need.

A file's name begins with its run and its step. A step has one manifest: once it is committed, a file that was written
for the step and is named by no record will never be named. Files of an uncommitted step may still be needed, because
another run may be about to commit it.
"""

from __future__ import annotations

import re

from braid.state.files import Files
from braid.state.manifest import Manifest

TASK_FILE = re.compile(r"[0-9a-f]{8}-(\d{12})-")
RECORD = re.compile(r"\.?(\d{12})\.json")


def step_of(name: str) -> int | None:
    """The step a task wrote a file for; None if the name is not one of Braid's."""
    found = TASK_FILE.match(name)
    return int(found[1]) if found else None


def unnamed_files(files: Files, path: str, manifest: Manifest, kept: int) -> list[str]:
    """The files up to the manifest's step that it does not name, and the manifests older than the newest `kept`."""
    named = named_files(manifest)
    unnamed = [
        f"{directory}/{name}"
        for directory in ("blocks", "staging", "commands", "progress")
        for name in files.list(f"{path}/{directory}")
        if name not in named and _is_over(step_of(name), manifest.step)
    ]
    for directory, newest in (("deltas", manifest.step), ("manifests", manifest.step - kept)):
        for name in files.list(f"{path}/{directory}"):
            found = RECORD.match(name)
            is_temporary = found is not None and found[0] != name
            if _is_over(int(found[1]) if found else None, manifest.step if is_temporary else newest):
                unnamed.append(f"{directory}/{name}")
    return unnamed


def _is_over(step: int | None, newest: int) -> bool:
    return step is not None and step <= newest


def named_files(manifest: Manifest) -> set[str]:
    """Files that the manifest needs, and those it dropped: the manifest before it needs them until the next commit."""
    named = {block.file for block in manifest.blocks} | set(manifest.dropped)
    named |= {part.file for merge in manifest.unfinished for part in merge.parts}
    named |= {file for term in manifest.terms for file in term.exchanged}
    named |= {payload.file for payload in manifest.payloads}
    named |= {move.source.rsplit("/", 1)[1] for move in manifest.moves}
    if manifest.aggregate is not None:
        named |= {block.file for block in manifest.aggregate.blocks}
    if manifest.sites is not None:
        named |= manifest.sites.files
    if manifest.order_state is not None:
        named |= manifest.order_state.files
    return named
