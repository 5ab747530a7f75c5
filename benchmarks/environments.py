"""Virtual environments of their own, for peers whose pinned dependencies do not go together with Braid's.

An environment is named after what is in it, and it is complete once its marker is there. What an interrupted creation
left behind has no marker and is made anew.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

MARKER = "complete"
HASH_LENGTH = 10
LAST_LINES = 12
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input")


class EnvironmentFailed(Exception):
    """An environment could not be made."""


def peer_python(name: str, requirements: tuple[str, ...], home: Path) -> Path:
    """The Python of an environment with these requirements, which is created under `home` where it is missing."""
    directory = home / f"{name}-{_content_hash(requirements)}"
    python = directory / "bin" / "python"
    marker = directory / MARKER
    if not marker.exists():
        _create(directory, with_pip=bool(requirements))
        _install(python, requirements)
        marker.write_text("".join(f"{requirement}\n" for requirement in requirements))
    return python


def _content_hash(requirements: tuple[str, ...]) -> str:
    """Another version of Python is other content too: packages are installed for one."""
    content = "\n".join((f"python {sys.version_info.major}.{sys.version_info.minor}", *requirements))
    return hashlib.sha256(content.encode()).hexdigest()[:HASH_LENGTH]


def _create(directory: Path, *, with_pip: bool) -> None:
    if directory.exists():
        shutil.rmtree(directory)
    try:
        venv.create(directory, with_pip=with_pip, symlinks=True)
    except subprocess.CalledProcessError as failure:
        raise EnvironmentFailed(
            f"Python {sys.executable} could not make an environment in {directory}: its venv or ensurepip module "
            f"failed. Some systems have them in a package of its own, such as python3-venv.\n{_end_of(failure.output)}"
        ) from failure


def _install(python: Path, requirements: tuple[str, ...]) -> None:
    if not requirements:
        return
    done = subprocess.run([python, *PIP, *requirements], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise EnvironmentFailed(
            f"pip could not install {', '.join(requirements)} into {python.parent.parent} (exit code "
            f"{done.returncode}); the next call tries again. Its last lines:\n{_end_of(done.stdout)}"
        )


def _end_of(output: bytes | None) -> str:
    return "\n".join((output or b"").decode(errors="replace").splitlines()[-LAST_LINES:])
