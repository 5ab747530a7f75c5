"""Records: small checksummed JSON files that are written once and never changed.

The first line is the checksum of the second. A record that exists is complete; a record that fails its checksum is
reported, never used.
"""

from __future__ import annotations

import json
from typing import Any

import xxhash

from braid.errors import CorruptStateError
from braid.plan.typed_json import to_text
from braid.state.files import Files, read_required


def write_record(files: Files, path: str, content: object) -> str:
    """Create the record, of a dataclass or a dict, and return its checksum; FileExistsError if it exists."""
    body = to_text(content).encode()
    checksum = xxhash.xxh3_64_hexdigest(body)
    files.write_new(path, checksum.encode() + b"\n" + body)
    return checksum


def read_record(files: Files, path: str, what: str) -> dict[str, Any]:
    """The content of a record that must exist."""
    return read_checked(files, path, what)[0]


def read_checked(files: Files, path: str, what: str) -> tuple[dict[str, Any], str]:
    """The content and the checksum of a record that must exist."""
    checksum, _, body = read_required(files, path, what).partition(b"\n")
    if xxhash.xxh3_64_hexdigest(body).encode() != checksum:
        raise CorruptStateError(
            f"The {what} {path} is corrupt: it fails its checksum.",
            hint="Restore the file from a copy of the checkpoint, then start the query again.",
        )
    content: dict[str, Any] = json.loads(body)
    return content, checksum.decode()
