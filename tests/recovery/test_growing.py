"""An elastic query on a cluster that can grow: it asks for executors, and works on them when they have come."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recovery.growing import ROWS
from tests.session import TESTS


@pytest.mark.slow
def test_executors_come_when_asked_for_and_are_used_in_the_same_run(java: None, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.recovery.growing", str(tmp_path)]
    child = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, timeout=240, check=False)
    assert child.returncode == 0, child.stderr
    found = json.loads(child.stdout.splitlines()[-1])
    assert found["slots"] == [0, 1, 2], found
    assert "asks Spark for 3 executors, a core for each unit of the largest side" in found["said"]
    assert found["rows"] == ROWS * math.prod(found["files"]) > 0
