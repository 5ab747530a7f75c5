"""Whatever switches a check off says why, on the same line: broad excepts, type ignores, linter exceptions, skips."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
FOLDERS = ("src", "tests", "benchmarks", "experiments", "examples", "scripts")
BROAD = re.compile(r"^\s*except\b.*\b(Exception|BaseException)\b.*?:(?P<rest>.*)$|^\s*except:(?P<bare>.*)$")
IGNORE = re.compile(r"#\s*type: ignore(\[[\w-]+\])?(?P<rest>.*)$")
NOQA = re.compile(r"#\s*noqa(: [A-Z]+\d+(, [A-Z]+\d+)*)?(?P<rest>.*)$")
SKIP = re.compile(r"pytest\.skip\((?P<rest>.*)$|mark\.(?:skip|xfail)\b(?P<mark>.*)$")
# At least one word: a bare marker or punctuation is no reason.
REASON = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}|[A-Za-z]{4,}")


def without_reason(text: str) -> list[str]:
    """The lines that switch a check off and do not say why."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        for pattern in (BROAD, IGNORE, NOQA, SKIP):
            match = pattern.search(line)
            rest = "".join(value or "" for value in match.groupdict().values()) if match else "a reason"
            if REASON.search(rest) is None:
                found.append(f"{number}: {line.strip()}")
    return found


def test_every_suppression_has_its_reason() -> None:
    modules = sorted(module for folder in FOLDERS for module in (REPOSITORY / folder).rglob("*.py"))
    found = [f"{m.relative_to(REPOSITORY)}:{line}" for m in modules for line in without_reason(m.read_text())]
    own = str(Path(__file__).relative_to(REPOSITORY))
    assert [line for line in found if not line.startswith(own)] == []


@pytest.mark.parametrize(
    "line",
    [
        "except Exception:",
        "    except (ValueError, BaseException) as error:",
        "except:",
        "x = 1  # type: ignore",
        "x = 1  # type: ignore[misc]",
        "x = 1  # noqa",
        "x = 1  # noqa: E402",
        "    pytest.skip()",
        "@pytest.mark.xfail",
    ],
)
def test_a_bare_suppression_is_found(line: str) -> None:
    assert without_reason(line) == [f"1: {line.strip()}"]


@pytest.mark.parametrize(
    "line",
    [
        "except Exception:  # a user's class may raise anything",
        "except ValueError:",
        "x = 1  # type: ignore[misc]  # the library ships no types",
        "x = 1  # noqa: N802 (as Spark's)",
        '    pytest.skip("there is no mount command here")',
        "suppressed = 3  # a comment",
    ],
)
def test_a_reason_is_accepted(line: str) -> None:
    assert without_reason(line) == []
