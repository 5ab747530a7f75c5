"""Sizes of the source: no function over 45 lines, no file over 350, no folder with more than 20 modules.

A function's lines are those from `def` (or its first decorator) to its last statement, docstring and nested functions
included; methods, async functions and nested functions are functions of their own too. A file's lines are all its
lines. A folder's modules are the `.py` files directly in it, `__init__.py` included.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src" / "braid"
FUNCTION_LINES, FILE_LINES, FOLDER_MODULES = 45, 350, 20


def function_lines(text: str) -> Iterator[tuple[str, int]]:
    """The functions of a module with their numbers of lines."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield node.name, (node.end_lineno or first) - first + 1


def too_large(root: Path) -> list[str]:
    """What is over its limit below a folder, one line each."""
    modules = sorted(root.rglob("*.py"))
    found = []
    for module in modules:
        place, text = module.relative_to(root), module.read_text()
        lines = len(text.splitlines())
        found += [f"{place}: {lines} lines"] if lines > FILE_LINES else []
        found += [f"{place}: {name} has {lines}" for name, lines in function_lines(text) if lines > FUNCTION_LINES]
    folders = Counter(module.parent for module in modules)
    found += [f"{folder.relative_to(root)}: {n} modules" for folder, n in folders.items() if n > FOLDER_MODULES]
    return found


def test_functions_files_and_folders_stay_small() -> None:
    assert too_large(SOURCE) == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("def f():\n    pass\n", 2),
        ('def f():\n    """Why."""\n\n    # a comment\n    return 1\n', 5),
        ("class C:\n    @property\n    async def f(self):\n        return 1\n", 3),
        ("def f(\n    a,\n):\n    return a\n", 4),
    ],
)
def test_lines_are_counted_from_the_first_decorator_to_the_last_statement(text: str, lines: int) -> None:
    assert list(function_lines(text)) == [("f", lines)]


def test_what_is_over_a_limit_is_named(tmp_path: Path) -> None:
    body = "        pass\n"
    inner = f"    def inner():\n{body * FUNCTION_LINES}"
    (tmp_path / "long.py").write_text(f"def outer():\n{inner}{'# more' + chr(10)}" + "x = 1\n" * FILE_LINES)
    (tmp_path / "full").mkdir()
    for number in range(FOLDER_MODULES + 1):
        (tmp_path / "full" / f"m{number}.py").touch()
    assert too_large(tmp_path) == [
        f"long.py: {FUNCTION_LINES + FILE_LINES + 3} lines",
        f"long.py: outer has {FUNCTION_LINES + 2}",
        f"long.py: inner has {FUNCTION_LINES + 1}",
        f"full: {FOLDER_MODULES + 1} modules",
    ]
