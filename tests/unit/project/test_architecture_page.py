"""ARCHITECTURE.md lists every module once, in the section of its package, and names no file that is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "src" / "braid"
PAGE = (ROOT / "ARCHITECTURE.md").read_text()
TABLE_ROW = re.compile(r"^\| `([\w/]+\.py)` \| \S", re.MULTILINE)
# Whole paths: not the end of one with a placeholder, as `tests/unit/control/test_<name>.py`.
PATH = re.compile(r"(?<![\w./<>-])[\w./-]+\.py\b")


def modules() -> list[str]:
    """Every module, by its path inside the package; the `__init__.py` of a package only collects names."""
    paths = (path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
    return sorted(path for path in paths if not path.endswith("__init__.py"))


def test_every_module_is_described_once() -> None:
    assert len(modules()) > 100
    assert sorted(TABLE_ROW.findall(PAGE)) == modules()


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_file_that_is_named_exists(page: str) -> None:
    named = set(PATH.findall((ROOT / page).read_text()))
    assert named
    assert [path for path in sorted(named) if not (PACKAGE / path).exists() and not (ROOT / path).exists()] == []


def test_a_module_stands_in_the_section_of_its_package() -> None:
    for section in re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]:
        title = re.match(r"([\w/]+)", section)
        assert title is not None
        strangers = [path for path in TABLE_ROW.findall(section) if not path.startswith(f"{title[1]}/")]
        assert strangers in ([], ["errors.py"]), title[1]
