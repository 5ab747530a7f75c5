"""Python functions by their code: what is a change of a function, and what is not."""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from braid.engine.restart.function_digest import digest, function_change, function_record
from braid.errors import QueryError
from braid.plan.predicate import PythonPredicate

Load = Callable[..., Callable[..., Any]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Makes a module of a text, in a file of its own, and gives its `f`."""
    numbers = count()

    def make(text: str, helpers: str = "") -> Callable[..., Any]:
        directory = tmp_path / str(next(numbers))
        directory.mkdir()
        for name, content in (("helpers", helpers), ("job", text)):
            path = directory / f"{name}.py"
            path.write_text(content)
            spec = importlib.util.spec_from_file_location(name, path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
        found: Callable[..., Any] = sys.modules.pop("job").f
        sys.modules.pop("helpers", None)
        return found

    return make


def change(before: Callable[..., Any], after: Callable[..., Any]) -> str | None:
    records = [function_record(PythonPredicate(function, (), "f", None, None)) for function in (before, after)]
    return function_change(*records)


BASE = '''
import re
import helpers

LIMIT = 3
NAMES = frozenset({"a", "b", "c"})
PATTERN = re.compile("x+")


def inner(x):
    return x + 1


def middle(x):
    return inner(x) * 2


def f(a, b, c=5, *, d="x"):
    """Says what it does."""
    found = [middle(x) for x in a if x in {"p", "q", "r"}]
    try:
        return found and helpers.near(a) and LIMIT < b and PATTERN.match(d) and c in NAMES
    except (KeyError, ValueError):
        return a > 2.5
'''
HELPERS = """
import math
SCALE = 2.0


def near(a):
    return math.sqrt(a) * SCALE
"""
CHANGED = {
    "a constant": ("2.5", "2.6"),
    "the type of a constant": ("a > 2.5", "a > 2"),
    "an operator": ("LIMIT < b", "LIMIT <= b"),
    "a default": ("c=5", "c=6"),
    "a default of a keyword": ('d="x"', 'd="y"'),
    "a global": ("LIMIT = 3", "LIMIT = 4"),
    "a set that is global": ('{"a", "b", "c"}', '{"a", "b", "d"}'),
    "a set of constants": ('{"p", "q", "r"}', '{"p", "q", "s"}'),
    "a pattern": ('"x+"', '"x*"'),
    "a flag of a pattern": ('"x+")', '"x+", re.I)'),
    "a function it calls": ("inner(x) * 2", "inner(x) * 3"),
    "a function that one calls": ("x + 1", "x + 2"),
    "an exception it catches": ("(KeyError, ValueError)", "(KeyError, TypeError)"),
    "a comprehension": ("middle(x) for x in a", "middle(x + 1) for x in a"),
}
SAME = {
    "a docstring": ('"""Says what it does."""', '"""Says something else."""'),
    "no docstring": ('    """Says what it does."""\n', ""),
    "a comment": ("    found =", "    # why\n    found ="),
    "other lines": ("LIMIT = 3", "LIMIT = 3\nUNUSED = 17"),
    "a blank line": ("    try:", "\n    try:"),
    "the order of a set": ('{"p", "q", "r"}', '{"r", "p", "q"}'),
    "a docstring of a function it calls": ("def inner(x):", 'def inner(x):\n    "Adds."'),
    "a global that it does not read": ("LIMIT = 3", "LIMIT = 3\ninner_limit = 9"),
}


@pytest.mark.parametrize("what", CHANGED)
def test_a_change_is_seen(load: Load, what: str) -> None:
    old, new = CHANGED[what]
    assert old in BASE
    assert change(load(BASE, HELPERS), load(BASE.replace(old, new), HELPERS)) == "its code has changed"


@pytest.mark.parametrize("what", SAME)
def test_what_does_not_change_what_it_does_is_no_change(load: Load, what: str) -> None:
    old, new = SAME[what]
    assert old in BASE
    before, after = load(BASE, HELPERS), load(BASE.replace(old, new), HELPERS)
    assert digest(before, "code") == digest(after, "code")
    assert digest(before, "source") is not None


@pytest.mark.parametrize("edit", [("* SCALE", "/ SCALE"), ("2.0", "4.0"), ("math.sqrt", "math.cbrt")])
def test_a_function_of_another_module_of_the_user_counts(load: Load, edit: tuple[str, str]) -> None:
    assert change(load(BASE, HELPERS), load(BASE, HELPERS.replace(*edit))) == "its code has changed"


CALLABLES = {
    "lambda": "f = lambda a, b: a {0} b",
    "closure": "def make(limit):\n    return lambda a: a < limit\nf = make('{0}')",
    "partial": "import functools\ndef g(a, k):\n    return a\nf = functools.partial(g, k='{0}')",
    "function in a partial": "import functools\ndef g(a, k):\n    return a {0} k\nf = functools.partial(g, k=1)",
    "object": "class F:\n    def __call__(self, a, b):\n        return a {0} b\nf = F()",
    "attribute of an object": "class F:\n    def __init__(self, k):\n        self.k = k\n"
    "    def __call__(self, a):\n        return self.k\nf = F('{0}')",
    "attribute of a class": "class F:\n    K = '{0}'\n    def __call__(self, a):\n        return self.K\nf = F()",
    "base class": "class B:\n    def g(self, a, b):\n        return a {0} b\n"
    "class F(B):\n    def __call__(self, a, b):\n        return self.g(a, b)\nf = F()",
    "method": "class F:\n    def g(self, a, b):\n        return a {0} b\nf = F().g",
    "static method": "class F:\n    @staticmethod\n    def g(a, b):\n        return a {0} b\nf = F.g",
    "slots": "class F:\n    __slots__ = ('k',)\n    def __call__(self, a):\n        return self.k\n"
    "f = F()\nf.k = '{0}'",
    "decorated": "import functools\ndef d(g):\n    @functools.wraps(g)\n    def h(*a):\n        return g(*a)\n"
    "    return h\n@d\ndef f(a, b):\n    return a {0} b",
    "cached": "import functools\n@functools.lru_cache\ndef f(a, b):\n    return a {0} b",
    "vectorized": "import numpy\ndef g(a, b):\n    return a {0} b\nf = numpy.vectorize(g)",
    "recursion": "def g(a, b):\n    return f(a, b)\ndef f(a, b):\n    return g(b, a) if a {0} b else a",
    "array": "import numpy\nK = numpy.array([1, 2 {0} 1])\ndef f(a):\n    return a + K",
    "nested": "def f(a, b):\n    def g(x):\n        return x {0} b\n    return g(a)",
    "dataclass": "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass F:\n    k: str\n"
    "    def __call__(self, a):\n        return self.k\nf = F('{0}')",
    "container": "K = ('a', [1, {{'k': '{0}'}}])\ndef f(a):\n    return K",
}


@pytest.mark.parametrize("kind", CALLABLES)
def test_every_kind_of_callable_is_known_by_its_code(load: Load, kind: str) -> None:
    less, again, more = (load(CALLABLES[kind].format(sign)) for sign in ("<", "<", ">"))
    assert change(less, again) is None
    assert change(less, more) == "its code has changed"


def test_built_in_functions_are_known_by_name() -> None:
    assert change(max, max) is None
    assert change(max, min) is not None
    assert change(functools.partial(max, 1), functools.partial(max, 1)) is None
    assert change({1: 2}.get, {1: 3}.get) is not None


def test_other_processes_give_the_same_digest(tmp_path: Path) -> None:
    """Strings hash differently in each process, so sets have other orders."""
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "job.py").write_text(BASE)
    script = (
        "import job; from braid.engine.restart.function_digest import digest; "
        "print(digest(job.f, 'code'), digest(job.f, 'source'))"
    )
    answers = set()
    for seed in ("1", "2"):
        path = os.pathsep.join([str(tmp_path), *sys.path])
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        result = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
        answers.add(result.stdout)
    assert len(answers) == 1


def record(**given: str | None) -> dict[str, str | None]:
    return {"version": None, "python": "3.11", "code": "c", "source": "s", **given}


def test_another_version_of_python_is_no_change_of_the_function() -> None:
    now = record(python="3.12", code="other")
    assert function_change(record(), now) is None
    assert function_change(record(), {**now, "source": "t"}) == "its code has changed"
    assert function_change(record(), record(code="other")) == "its code has changed"
    unknown = function_change(record(source=None), now)
    assert unknown is not None
    assert "recorded under Python 3.11" in unknown
    assert "cannot be compared under Python 3.12" in unknown


def test_a_version_is_compared_instead_of_the_code() -> None:
    one = record(version="1")
    assert function_change(one, record(version="1", code="d", source="t", python="3.13")) is None
    assert function_change(one, record(version="2")) == "its version was 1, is 2"
    assert function_change(record(), one) == "its version was None, is 1"


def test_a_function_in_text_alone_has_no_source() -> None:
    scope: dict[str, Any] = {"__name__": "nowhere"}
    exec("def f(a):\n    return a", scope)
    assert digest(scope["f"], "source") is None
    assert digest(scope["f"], "code") is not None


def test_values_nested_too_deeply_ask_for_a_version(load: Load) -> None:
    deep = "K = ()\nfor _ in range(5000):\n    K = (K,)\ndef f(a):\n    return K"
    with pytest.raises(QueryError, match="nested too deeply") as caught:
        digest(load(deep), "code")
    assert "version=" in caught.value.hint
