"""CONTRIBUTING.md's walkthroughs name files, folders and names of the code that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
ADDED = ("strategy", "controller", "sink", "task")
QUOTED = re.compile(r"`([^`\n]+)`")
PLACE = re.compile(r"[\w./<>-]+/[\w./<>-]*|[\w-]+\.(?:md|toml)")
# A name of the code; words of the shell and of the page itself are not.
NAME = re.compile(r"_?[A-Za-z][a-z]*(?:[A-Z_]\w*|\.[a-z]+)|[A-Z]\w+")
SPARKS_OWN = {"DataFrameWriter"}


def walkthrough(what: str, page: str = PAGE) -> str:
    return page.partition(f"## Adding a {what}\n")[2].partition("\n## ")[0]


def places(text: str) -> list[str]:
    """Files and folders; of one with a placeholder, the folder that it belongs in."""
    quoted = [found for found in QUOTED.findall(text) if PLACE.fullmatch(found)]
    return [place.partition("<")[0].rpartition("/")[0] + "/" if "<" in place else place for place in quoted]


def names(text: str) -> list[str]:
    quoted = [found for found in QUOTED.findall(text) if NAME.fullmatch(found) and "=" not in found]
    return [name for name in quoted if not PLACE.fullmatch(name) and name not in SPARKS_OWN]


def is_there(place: str) -> bool:
    path = ROOT / place
    return path.is_dir() if place.endswith("/") else path.is_file()


def sources(text: str) -> str:
    return "\n".join((ROOT / place).read_text() for place in places(text) if (ROOT / place).is_file())


@pytest.mark.parametrize("what", ADDED)
def test_every_place_that_a_walkthrough_names_exists(what: str) -> None:
    named = places(walkthrough(what))
    assert len(named) >= 8, named
    assert [place for place in named if not is_there(place)] == []
    assert any(place.startswith("tests/") for place in named)


@pytest.mark.parametrize("what", ADDED)
def test_every_name_of_the_code_stands_in_a_file_that_is_named_with_it(what: str) -> None:
    text = walkthrough(what)
    code = sources(text)
    assert names(text)
    missing = [name for name in names(text) if not re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", code)]
    assert missing == []


def test_a_path_that_is_wrong_is_noticed() -> None:
    """Each of the paths in turn, misspelt."""
    for what in ADDED:
        for place in set(places(walkthrough(what))):
            head, slash, tail = place.rstrip("/").rpartition("/")
            wrong = walkthrough(what).replace(f"`{place}`", f"`{head}{slash}no_{tail}{'/' * place.endswith('/')}`")
            if wrong != walkthrough(what):  # one with a placeholder is named by its folder
                assert [found for found in places(wrong) if not is_there(found)], place


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"make ([a-z-]+)", PAGE))
    assert {"check", "test", "test-fast", "fuzz"} <= named
    assert named - targets == set()
