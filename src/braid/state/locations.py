"""Locations as a user writes them: paths and URIs, of which every character stands for itself, as in Spark."""

from __future__ import annotations

import re
from urllib.parse import quote

from braid.errors import StorageError

LOCAL_SCHEMES = ("", "file")
FILESYSTEM_SCHEMES = (*LOCAL_SCHEMES, "hdfs")
ARROW_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
KNOWN_SCHEMES = ("file", "s3", "s3a", "gs", "abfs", "abfss", "hdfs")
# A single letter before a colon is no scheme but part of a name.
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
LOCAL_URI = re.compile(r"file:(?://)?(/(?!/).*)", re.DOTALL)


def scheme_of(location: str) -> str:
    """The scheme of a location; empty for a plain path."""
    found = SCHEME.match(location)
    return "" if found is None else found[1]


def is_object_store(location: str) -> bool:
    """Whether a location is on a store of objects, where every access is a request."""
    return scheme_of(location) not in FILESYSTEM_SCHEMES


def local_path(location: str) -> str:
    """The path of a `file:` URI."""
    found = LOCAL_URI.fullmatch(location)
    if found is None:
        raise StorageError(
            f"Cannot use the location {location!r}: a file: URI has an absolute path and no host.",
            hint="Write it as in file:///data/state, or as a plain path.",
        )
    return found[1]


def escaped(rest: str) -> str:
    """The part after the scheme, for a URI parser: the host or bucket unchanged, the path escaped."""
    slashes = len(rest) - len(rest.removeprefix("://"))
    host, slash, path = rest[slashes:].partition("/")
    return rest[:slashes] + host + slash + quote(path, safe="/")
