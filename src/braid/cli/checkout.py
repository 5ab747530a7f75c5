"""Packages of a checkout that are not installed: benchmarks and experiments."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import braid
from braid.errors import BraidError


def load_beside(package: str, module: str) -> Any:
    """A module of a package that only a checkout has."""
    root = Path(braid.__file__).parents[2]
    if not (root / package).is_dir():
        raise BraidError(
            f"The {package} are not part of an installed Braid.",
            hint=f"Run this from a checkout of its repository, after make venv: it needs the folder {package}.",
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return importlib.import_module(f"{package}.{module}")
