"""What runs, when, where and on what."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("braid-spark", "pyspark", "pyarrow", "numpy", "pandas", "duckdb", "polars")

ROOT = Path(__file__).parent.parent
GIT = ("git", "-C", str(ROOT))
MEASURED = ("src", "benchmarks/peers", "benchmarks/workloads", "benchmarks/scale")


def describe_run(*also: str) -> dict[str, Any]:
    """Taken before a run, so that the load is that of others. `also` are further paths whose code is measured."""
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return {"date": date, "machine": _machine(), "versions": _versions(also)}


def code_hash() -> str:
    """What is measured, and by what: the same as long as no line of Braid or of the systems' runs changes."""
    files = sorted(file for place in MEASURED for file in (ROOT / place).rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def _machine() -> dict[str, Any]:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30, 1),
        "system": platform.platform(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "niceness": os.nice(0),  # below 0: it ran before whatever else there was
    }


def _versions(also: Sequence[str]) -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    found["python"] = platform.python_version()
    found["java"] = next(iter(_said(["java", "-version"]).splitlines()), "unknown")
    found["commit"], found["source"] = commit(also), source()
    return found


def commit(also: Sequence[str] = ()) -> str:
    """The commit that is measured, and whether something measured differs from it; records may."""
    name = _said([*GIT, "describe", "--always"]) or "unknown"
    return f"{name}-dirty" if _said([*GIT, "status", "--porcelain", "--", *MEASURED, *also]) else name


def source(commit_name: str = "HEAD") -> str:
    """Braid's own code at a commit, as git names the tree of `src`: other commits may have the same."""
    return _said([*GIT, "rev-parse", "--short=7", f"{commit_name}:src"]) or "unknown"


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _said(command: list[str]) -> str:
    """What a command prints, on either output; nothing if it fails or is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return (done.stdout or done.stderr).strip()
