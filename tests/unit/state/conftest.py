"""Storage for the tests of this folder: local files, and a filesystem that only pyarrow reaches."""

from __future__ import annotations

import pyarrow.fs as pafs
import pytest

from braid.state.files import ArrowFiles, Files, LocalFiles


@pytest.fixture(params=["local", "arrow"])
def files(request: pytest.FixtureRequest) -> Files:
    if request.param == "local":
        return LocalFiles()
    return ArrowFiles(pafs.SubTreeFileSystem("/", pafs.LocalFileSystem()), "s3")
