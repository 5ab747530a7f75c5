"""One narrow interface to storage, the same on the driver and in tasks.

A location is a plain path or a URI. `locate` turns it into a `Files` and a path on it: local storage is used
directly (memory maps, atomic links and renames), everything else through pyarrow's filesystems. Names of
files are never reused, so the only operations that must be atomic are creating a record and moving a result.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.fs as pafs

from braid.errors import CorruptStateError, StorageError
from braid.state.locations import ARROW_SCHEMES, KNOWN_SCHEMES, LOCAL_SCHEMES, escaped, local_path, scheme_of
from braid.state.object_stores.exclusive import ExclusiveWriter, exclusive_writer
from braid.state.usage import count_read, count_record, count_write

BUFFER_BYTES = 1 << 20


class Files(Protocol):
    """What Braid needs of storage. Paths are those `locate` returned, or extend them with `/`."""

    scheme: str
    atomic_rename: bool

    def read(self, path: str) -> bytes: ...
    def map(self, path: str) -> pa.Buffer: ...
    def open_input(self, path: str) -> pa.NativeFile: ...
    def open_output(self, path: str) -> Any: ...
    def write_new(self, path: str, data: bytes) -> None: ...
    def rename(self, source: str, target: str) -> None: ...
    def exists(self, path: str) -> bool: ...
    def list(self, directory: str) -> list[str]: ...
    def tree_size(self, directory: str) -> int: ...
    def delete(self, path: str) -> None: ...
    def delete_tree(self, directory: str) -> None: ...
    def make_directory(self, directory: str) -> None: ...
    def why_not_exclusive(self, directory: str) -> str:
        """Why `write_new` could overwrite what another process writes concurrently; empty if it cannot."""
        ...


@contextmanager
def _explained(action: str, path: str) -> Iterator[None]:
    """Turns storage errors into Braid's, with a hint; a missing file stays FileNotFoundError for the caller."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError as error:
        raise _explanation(action, path, error) from error


def _explanation(action: str, path: str, error: OSError) -> StorageError:
    hint = "Check that the storage is reachable and writable, then start the query again: nothing is lost."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "Free space on that storage, then start the query again: nothing is lost."
    return StorageError(f"Could not {action} {path}: {error.strerror or error}", hint=hint)


class _OutputFile(io.FileIO):
    """A new local file whose failing writes raise Braid's errors, wherever in a writer they happen."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "x")
        self._path = path

    def write(self, data: Any) -> int:
        with _explained("write", self._path):
            return super().write(data)


def _create(temporary: str, path: str) -> None:
    """Give a complete file its name, if the name is free. Some mounts have no links; there a rename is used."""
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
            raise
        if os.path.exists(path):
            raise FileExistsError(errno.EEXIST, "already written", path) from error
        os.rename(temporary, path)


class LocalFiles:
    """The local filesystem, or one mounted on every host."""

    scheme = "file"
    atomic_rename = True

    def read(self, path: str) -> bytes:
        count_read()
        with _explained("read", path):
            return Path(path).read_bytes()

    def map(self, path: str) -> pa.Buffer:
        count_read()
        with _explained("map", path):
            if os.path.getsize(path) == 0:
                return pa.py_buffer(b"")
            return pa.memory_map(path, "r").read_buffer()

    def open_input(self, path: str) -> pa.NativeFile:
        count_read()
        with _explained("read", path):
            return pa.OSFile(path, "rb")

    @contextmanager
    def open_output(self, path: str) -> Iterator[IO[bytes]]:
        count_write()
        with _explained("write", path):
            try:
                raw = _OutputFile(path)
            except FileNotFoundError:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                raw = _OutputFile(path)
            with io.BufferedWriter(raw, BUFFER_BYTES) as file:
                yield file

    def write_new(self, path: str, data: bytes) -> None:
        count_record(len(data))
        temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{uuid.uuid4().hex}")
        with _explained("write", path):
            try:
                with self.open_output(temporary) as file:
                    file.write(data)
                _create(temporary, path)
            finally:
                if os.path.exists(temporary):
                    os.unlink(temporary)

    def rename(self, source: str, target: str) -> None:
        count_write()
        with _explained("move", source):
            try:
                os.rename(source, target)
            except FileNotFoundError:
                if not os.path.exists(source):
                    raise
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.rename(source, target)

    def exists(self, path: str) -> bool:
        count_read()
        return os.path.exists(path)

    def list(self, directory: str) -> list[str]:
        count_read()
        with _explained("list", directory):
            try:
                return sorted(os.listdir(directory))
            except FileNotFoundError:
                return []

    def tree_size(self, directory: str) -> int:
        """The bytes of all files below a directory; those that vanish meanwhile do not count."""
        count_read()
        size = 0
        for parent, _, names in os.walk(directory):
            for name in names:
                with suppress(FileNotFoundError):
                    size += os.stat(os.path.join(parent, name), follow_symlinks=False).st_size
        return size

    def delete(self, path: str) -> None:
        count_write()
        try:  # a step deletes a thousand files with hundreds of slots: a context manager takes half as long as each
            os.unlink(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _explanation("delete", path, error) from error

    def delete_tree(self, directory: str) -> None:
        count_write()
        with _explained("delete", directory):
            try:
                shutil.rmtree(directory)
            except FileNotFoundError:
                return

    def make_directory(self, directory: str) -> None:
        count_write()
        with _explained("create", directory):
            os.makedirs(directory, exist_ok=True)

    def why_not_exclusive(self, directory: str) -> str:
        return ""


class ArrowFiles:
    """Any filesystem pyarrow reaches. Renames are atomic on HDFS only."""

    def __init__(self, filesystem: pafs.FileSystem, scheme: str, uri: str = "") -> None:
        self.filesystem = filesystem
        self.scheme = scheme
        self.uri = uri
        self._exclusive: ExclusiveWriter | None = None
        self.atomic_rename = scheme == "hdfs"
        self._needs_directories = filesystem.type_name != "s3"

    def read(self, path: str) -> bytes:
        count_read()
        with _explained("read", path), self.filesystem.open_input_stream(path) as stream:
            return bytes(stream.read())

    def map(self, path: str) -> pa.Buffer:
        count_read()
        with _explained("read", path), self.filesystem.open_input_file(path) as file:
            return file.read_buffer()

    def open_input(self, path: str) -> pa.NativeFile:
        """The file for reads at any position, without reading all of it."""
        count_read()
        with _explained("read", path):
            return self.filesystem.open_input_file(path)

    @contextmanager
    def open_output(self, path: str) -> Iterator[Any]:
        count_write()
        self.make_directory(path.rsplit("/", 1)[0])
        with _explained("write", path), self.filesystem.open_output_stream(path) as stream:
            yield stream

    def write_new(self, path: str, data: bytes) -> None:
        """Object stores show only complete objects; where renames are atomic, the complete file is renamed."""
        count_record(len(data))
        if self._exclusive is not None:
            count_write()
            with _explained("write", path):
                self._exclusive.create(path, data)
            return
        if self.exists(path):
            raise FileExistsError(errno.EEXIST, "already written", path)
        written = f"{path}.{uuid.uuid4().hex}" if self.atomic_rename else path
        with self.open_output(written) as stream:
            stream.write(data)
        if written != path:
            self.rename(written, path)

    def rename(self, source: str, target: str) -> None:
        count_write()
        self.make_directory(target.rsplit("/", 1)[0])
        with _explained("move", source):
            self.filesystem.move(source, target)

    def exists(self, path: str) -> bool:
        count_read()
        with _explained("look for", path):
            return bool(self.filesystem.get_file_info(path).type != pafs.FileType.NotFound)

    def list(self, directory: str) -> list[str]:
        count_read()
        with _explained("list", directory):
            selector = pafs.FileSelector(directory, allow_not_found=True)
            return sorted(info.base_name for info in self.filesystem.get_file_info(selector))

    def tree_size(self, directory: str) -> int:
        count_read()
        with _explained("list", directory):
            selector = pafs.FileSelector(directory, allow_not_found=True, recursive=True)
            return sum(info.size or 0 for info in self.filesystem.get_file_info(selector))

    def delete(self, path: str) -> None:
        with _explained("delete", path):
            if self.exists(path):
                count_write()
                self.filesystem.delete_file(path)

    def delete_tree(self, directory: str) -> None:
        with _explained("delete", directory):
            if self.exists(directory):
                count_write()
                self.filesystem.delete_dir(directory)

    def make_directory(self, directory: str) -> None:
        """Not on S3: pyarrow would write a marker for every level, even above what the credentials may write."""
        if self._needs_directories:
            count_write()
            with _explained("create", directory):
                self.filesystem.create_dir(directory, recursive=True)

    def why_not_exclusive(self, directory: str) -> str:
        """After this call, records are created exclusively where the store supports it."""
        if self.atomic_rename or self._exclusive is not None:
            return ""
        self._exclusive, reason = exclusive_writer(self.uri, directory)
        return reason


def locate(location: str) -> tuple[Files, str]:
    """The filesystem a location is on, and its path there.

    Every character is literal, in URIs too, as in Spark: `%20` is not a space and `#` does not begin a fragment.
    """
    scheme = scheme_of(location)
    if scheme in LOCAL_SCHEMES:
        return LocalFiles(), os.path.abspath(local_path(location) if scheme else location)
    if scheme not in KNOWN_SCHEMES:
        raise StorageError(
            f"Cannot use the location {location!r}: the scheme {scheme!r} is not known.",
            hint=f"Use one of {', '.join(s + '://' for s in KNOWN_SCHEMES)}, or a path; one with a colon in its first "
            "name must be absolute.",
        )
    uri = ARROW_SCHEMES.get(scheme, scheme) + escaped(location[len(scheme) :])
    try:
        filesystem, path = pafs.FileSystem.from_uri(uri)
    except (OSError, pa.ArrowException) as error:
        raise StorageError(
            f"Cannot reach the location {location!r}: {error}",
            hint="Tasks use pyarrow's filesystems: give the Python workers the same credentials as Spark has.",
        ) from error
    return ArrowFiles(filesystem, scheme, uri), path.rstrip("/")


def read_required(files: Files, path: str, what: str) -> bytes:
    """The bytes of a file that a record names; its absence is reported as corruption."""
    try:
        return files.read(path)
    except FileNotFoundError as error:
        raise CorruptStateError(
            f"The {what} {path} is missing.",
            hint="Restore the file from a copy of the checkpoint, then start the query again.",
        ) from error
