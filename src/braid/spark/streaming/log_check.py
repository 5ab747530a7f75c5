"""Checks of Spark's own log of a query, in `spark/` of the checkpoint, before Spark reads it.

Spark reports a damaged file in the thread of its query, with a Java exception. Here each file that a restart reads is
checked for its usual content: a version, then complete lines of JSON. Files of the log are text.
"""

from __future__ import annotations

import json
import re

from braid.errors import CorruptStateError
from braid.state.files import Files

VERSION = re.compile(r"v[0-9]+")
COMPACT = ".compact"
CHECKSUM = re.compile(r"Checksum error: (?:file:)?(\S+)")
# Spark reads only the last batch, and the one before it if the last was not committed.
BATCHES_READ = 2


def check_spark_log(files: Files, directory: str) -> None:
    """Raise CorruptStateError for a file that Spark would fail to read, or that is missing."""
    # Commits first: an older run may finish a batch meanwhile.
    commits = _numbers(files, f"{directory}/commits")
    offsets = _numbers(files, f"{directory}/offsets")
    if not offsets and not commits:
        return
    _check_metadata(files, f"{directory}/metadata")
    for number in {*commits[-1:], *(last - 1 for last in offsets[-1:] if last > 0)}:
        if number not in offsets:
            raise _problem(f"{directory}/offsets/{number}", "it is missing")
    for kind, numbers in (("offsets", offsets), ("commits", commits)):
        for number in numbers[-BATCHES_READ:]:
            _check_lines(files, f"{directory}/{kind}/{number}")
    _check_sources(files, directory, offsets[-1])


def checksum_failure(message: str) -> CorruptStateError | None:
    """The error for a file that is well formed but fails Hadoop's own checksum."""
    found = CHECKSUM.search(message)
    return None if found is None else _problem(found[1], "its checksum does not match")


def _check_sources(files: Files, directory: str, batch: int) -> None:
    """Check the logs of the sources. A file source has a log entry for every number up to the last offset."""
    planned = _text(files, f"{directory}/offsets/{batch}").split("\n")[2:]
    for source in files.list(f"{directory}/sources"):
        log = f"{directory}/sources/{source}"
        read = _since_compaction(files.list(log))
        for name in read:
            _check_lines(files, f"{log}/{name}")
        last = _log_offset(planned[int(source)]) if source.isdigit() and int(source) < len(planned) else None
        numbers = [int(name.removesuffix(COMPACT)) for name in read]
        first = numbers[0] if read and read[0].endswith(COMPACT) else 0
        for number in range(first, -1 if last is None else last + 1):
            if number not in numbers:
                raise _problem(f"{log}/{number}", "it is missing")


def _log_offset(offset: str) -> int | None:
    """The number of the newest entry of a file source's log, if that is what an offset says."""
    content = json.loads(offset) if offset.startswith("{") else None
    found = content.get("logOffset") if isinstance(content, dict) else None
    return found if isinstance(found, int) else None


def _check_metadata(files: Files, path: str) -> None:
    try:
        content = json.loads(_text(files, path))
    except ValueError:
        content = None
    if not isinstance(content, dict) or "id" not in content:
        raise _problem(path, "it does not hold the id of a query")


def _check_lines(files: Files, path: str) -> None:
    version, *lines = _text(files, path).removeprefix("\0").split("\n")
    if not VERSION.fullmatch(version.strip()):
        raise _problem(path, "its first line is not a version")
    for line in lines:
        if line.startswith(("{", "[")):
            try:
                json.loads(line)
            except ValueError:
                raise _problem(path, "a line of it is cut off or is not JSON") from None
    if not any(line.strip() for line in lines):
        raise _problem(path, "it ends after its version")


def _text(files: Files, path: str) -> str:
    try:
        return files.read(path).decode()
    except FileNotFoundError:
        raise _problem(path, "it is missing") from None
    except UnicodeDecodeError:
        raise _problem(path, "it is not text") from None


def _since_compaction(names: list[str]) -> list[str]:
    """The files of a source's log that Spark reads: the newest compacted one, and those after it."""
    by_number = sorted(
        (int(name.removesuffix(COMPACT)), name) for name in names if name.removesuffix(COMPACT).isdigit()
    )
    compacted = [place for place, (_, name) in enumerate(by_number) if name.endswith(COMPACT)]
    return [name for _, name in by_number[compacted[-1] if compacted else 0 :]]


def _numbers(files: Files, directory: str) -> list[int]:
    return sorted(int(name) for name in files.list(directory) if name.isdigit())


def _problem(path: str, why: str) -> CorruptStateError:
    return CorruptStateError(
        f"The file {path} of Spark's own log of this query cannot be used: {why}.",
        hint="Restore the whole checkpoint from one copy, then start the query again; or start it with a new "
        "checkpointLocation, which reads the input from the beginning.",
    )
