"""Creating an object only if it does not exist, on object stores with conditional writes.

PyArrow's filesystems have no conditional writes, so the request goes through `obstore` where that is installed. Whether
the store obeys the condition is tested first, because some servers ignore it and overwrite.
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
    """Creates objects of one bucket or container, never overwrites."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def create(self, path: str, data: bytes) -> None:
        """FileExistsError if the object exists; `path` begins with the bucket, as PyArrow's paths do."""
        try:
            obstore.put(self._store, path.partition("/")[2], data, mode="create")
        except AlreadyExistsError as error:
            raise FileExistsError(errno.EEXIST, "already written", path) from error
        except BaseError as error:
            raise OSError(_first_line(error)) from error


def exclusive_writer(uri: str, directory: str) -> tuple[ExclusiveWriter | None, str]:
    """The writer for a location, tested in a directory of it; None and the reason if there is none."""
    if urlparse(uri).scheme not in SCHEMES:
        return None, "this kind of storage is not known to create objects exclusively"
    if obstore is None:
        return None, "the package obstore is not installed (pip install obstore)"
    try:
        writer = ExclusiveWriter(_open(uri))
        if _refuses_second_write(writer, f"{directory}/.exclusive-{uuid.uuid4().hex}"):
            return writer, ""
    except (OSError, BaseError, ValueError) as error:
        return None, f"a conditional write failed: {_first_line(error)}"
    return None, "the store ignores the condition of a conditional write and overwrites objects"


def _first_line(error: Exception) -> str:
    """The message; the lines after it are internals of the library."""
    return str(error).partition("\n")[0].rstrip(" :")


def _refuses_second_write(writer: ExclusiveWriter, path: str) -> bool:
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
    # The address says whether the server is encrypted; plain HTTP is used in tests and closed networks.
    return from_url(f"{parts.scheme}://{bucket}", config=config, client_options={"allow_http": True})
