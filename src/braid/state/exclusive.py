"""Creating an object only if there is none of its name, on object stores that can promise it.

PyArrow's filesystems cannot ask for it, so the request goes through `obstore` where that is installed. Whether the
store keeps the promise is tried out, because some servers ignore the condition and overwrite.
"""

from __future__ import annotations

import errno
import uuid
from typing import Any
from urllib.parse import parse_qs, urlparse

try:
    import obstore
    from obstore.exceptions import AlreadyExistsError, BaseError
    from obstore.store import from_url
except ImportError:  # an optional dependency: braid-spark[object-store]
    obstore = None

SCHEMES = ("s3", "gs", "abfs", "abfss")


class ExclusiveWriter:
    """Writes objects of one bucket or container that must not exist yet."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def create(self, path: str, data: bytes) -> None:
        """FileExistsError if the object is there; `path` begins with the bucket, as PyArrow's paths do."""
        try:
            obstore.put(self._store, path.partition("/")[2], data, mode="create")
        except AlreadyExistsError as error:
            raise FileExistsError(errno.EEXIST, "already written", path) from error
        except BaseError as error:
            raise OSError(_first_line(error)) from error


def exclusive_writer(uri: str, directory: str) -> tuple[ExclusiveWriter | None, str]:
    """The writer for a location, tried out in a directory of it; None with the reason where there is none."""
    if urlparse(uri).scheme not in SCHEMES:
        return None, "this kind of storage is not known to create objects exclusively"
    if obstore is None:
        return None, "the package obstore is not installed (pip install obstore)"
    try:
        writer = ExclusiveWriter(_open(uri))
        if _keeps_its_promise(writer, f"{directory}/.exclusive-{uuid.uuid4().hex}"):
            return writer, ""
    except (OSError, BaseError, ValueError) as error:
        return None, f"a conditional write failed: {_first_line(error)}"
    return None, "the store overwrites objects although it is told not to"


def _first_line(error: Exception) -> str:
    """What went wrong; the lines behind it show the program's inside."""
    return str(error).partition("\n")[0].rstrip(" :")


def _keeps_its_promise(writer: ExclusiveWriter, path: str) -> bool:
    writer.create(path, b"1")
    try:
        writer.create(path, b"2")
    except FileExistsError:
        return True
    else:
        return False
    finally:
        obstore.delete(writer._store, path.partition("/")[2])


def _open(uri: str) -> Any:
    """The store of a location, with the endpoint and region that PyArrow takes from the same address."""
    parts = urlparse(uri)
    given = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    config: dict[str, Any] = {}
    if "region" in given:
        config["region"] = given["region"]
    if "endpoint_override" in given:
        config["endpoint"] = f"{given.get('scheme', 'https')}://{given['endpoint_override']}"
    if parts.scheme == "s3" and parts.username:
        config |= {"access_key_id": parts.username, "secret_access_key": parts.password or ""}
    bucket = parts.netloc.rpartition("@")[2] if parts.scheme == "s3" else parts.netloc
    # A server without encryption is one of a test or of a closed network; the address itself says which it is.
    return from_url(f"{parts.scheme}://{bucket}", config=config, client_options={"allow_http": True})
