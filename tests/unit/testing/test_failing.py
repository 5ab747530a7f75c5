"""Files that fail at a chosen operation."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from braid.state.files import LocalFiles
from braid.testing import (
    FailingFiles,
    InjectedCrash,
)


@pytest.mark.parametrize(("when", "left"), [("before", ["a"]), ("after", ["a", "b"])])
def test_files_fail_before_or_after_an_operation_and_stay_dead(when: str, left: list[str], tmp_path: Path) -> None:
    files = FailingFiles(LocalFiles(), 2, "after" if when == "after" else "before")
    files.write_new(f"{tmp_path}/a", b"")
    with pytest.raises(InjectedCrash):
        files.write_new(f"{tmp_path}/b", b"")
    assert LocalFiles().list(str(tmp_path)) == left
    with pytest.raises(InjectedCrash):
        files.list(str(tmp_path))


def test_a_script_can_be_killed_by_its_files(tmp_path: Path) -> None:
    program = (
        "from braid.state.files import LocalFiles\n"
        "from braid.testing.failing import failing_from_environment\n"
        "files = failing_from_environment(LocalFiles())\n"
        f"[files.write_new(f'{tmp_path}/{{n}}', b'') for n in range(5)]\n"
    )
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "BRAID_FAIL_AT": "3"}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert LocalFiles().list(str(tmp_path)) == ["0", "1"]
