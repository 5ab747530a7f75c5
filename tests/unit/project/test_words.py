"""Names use the field's own terms: no name has a word for which the project has settled on another one.

A name is any identifier in the code, the name of a module or of a folder. It is divided into words at underscores and
capital letters, so `roll` is found in `arrival_roll` and `ArrivalRoll`, but not in `enroll` or `controller`. Words that
are also ordinary English or names of libraries (order, view, head, hold, count, wait) are not listed: they can be right
or wrong, and a reader decides.
"""

from __future__ import annotations

import keyword
import re
import tokenize
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
FOLDERS = ("src", "tests", "benchmarks", "experiments", "examples", "scripts")

INSTEAD = {
    "absorb": "compact", "absorbed": "compacted", "absorbs": "compacts", "anew": "again, rewritten",
    "asker": "delta stream", "askers": "delta streams", "carried": "exchanged", "derived": "intermediate",
    "fade": "decay", "faded": "decayed", "fades": "decays", "heir": "successor", "heirs": "successors",
    "held": "buffered", "leaving": "emitted", "mend": "fix", "mended": "fixed", "mends": "fixes",
    "question": "logical plan", "questions": "logical plans", "roll": "arrival log", "rolls": "arrival logs",
    "ruler": "rank index", "rulers": "rank indexes", "stretch": "interval", "stretches": "intervals",
    "summaries": "aggregations", "summary": "aggregation", "tell": "serialize, report", "tells": "reports",
    "told": "raised, reported", "vain": "without effect", "wish": "vote", "wishes": "votes", "worth": "minimum",
}  # fmt: skip
MODULES = {"orders": "commands", "question": "logical", "views": "aggregate_state", "waiting": "order_state"}
ALLOWED = {
    "np.roll": "NumPy's function",
}
"""Names that contain such a word and stay, each with its reason."""


def words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def identifiers(text: str) -> Iterator[tuple[str, int]]:
    """Every identifier with its line; an attribute of `np` with that prefix."""
    before = ["", ""]
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            yield ("np." if before == ["np", "."] else "") + token.string, token.start[0]
        before = [before[1], token.string]


def faults(root: Path, folders: tuple[str, ...]) -> list[str]:
    """Names with a word that has a replacement, one line each."""
    found = []
    for module in sorted(module for folder in folders for module in (root / folder).rglob("*.py")):
        place = module.relative_to(root)
        stem = module.stem.removeprefix("test_")
        found += [f"{place}: a module named {stem}: {MODULES[stem]}"] if stem in MODULES else []
        for part in place.parts:
            found += [f"{place}: {word}: {INSTEAD[word]}" for word in words(part) if word in INSTEAD]
        for name, line in identifiers(module.read_text()):
            bad = [] if name in ALLOWED else [word for word in words(name) if word in INSTEAD]
            found += [f"{place}:{line}: {name}: {INSTEAD[word]}" for word in bad]
    return found


def test_no_name_has_a_word_that_was_replaced() -> None:
    assert faults(REPOSITORY, FOLDERS) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("raise_told", ["raise", "told"]),
        ("ArrivalRoll", ["arrival", "roll"]),
        ("ROWS_WORTH_A_SLOT", ["rows", "worth", "a", "slot"]),
        ("JVMRulers2", ["jvm", "rulers", "2"]),
        ("controller", ["controller"]),
    ],
)
def test_names_are_divided_into_words(name: str, expected: list[str]) -> None:
    assert words(name) == expected


def test_faults_are_found_in_identifiers_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "src" / "heirs").mkdir(parents=True)
    (tmp_path / "src" / "heirs" / "test_waiting.py").write_text("def enroll(wishes):\n    return np.roll(wishes)\n")
    assert faults(tmp_path, ("src",)) == [
        "src/heirs/test_waiting.py: a module named waiting: order_state",
        "src/heirs/test_waiting.py: heirs: successors",
        "src/heirs/test_waiting.py:1: wishes: votes",
        "src/heirs/test_waiting.py:2: wishes: votes",
    ]
