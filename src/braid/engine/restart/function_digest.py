"""Digests of Python functions: equal for equal code in any process, different when the code changes.

A digest covers the instructions and constants of a function, its defaults, its closure, the globals it reads, and the
user's own functions and classes that it uses, recursively. File names, line numbers, comments and docstrings are
excluded. Library code is identified by name only.

There are two digests. `code` covers the bytecode, which differs between versions of Python. `source` covers the source
text, where there is one, and is compared between versions; alone it could be newer than the code, if a file was edited
after it was imported.
"""

from __future__ import annotations

import ast
import bisect
import datetime
import decimal
import dis
import enum
import fractions
import functools
import hashlib
import inspect
import re
import sys
import sysconfig
import textwrap
import types
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from braid.errors import QueryError
from braid.plan.predicate import PythonPredicate

Mode = Literal["code", "source"]

MODES: tuple[Mode, ...] = ("code", "source")
# Without assertions other code is compiled.
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}{' -O' if sys.flags.optimize else ''}"
_HAS_DOCSTRING = 0x4000000
_PLAIN = (bool, int, complex, str, bytes, types.NoneType, types.EllipsisType, range, slice)
_NAMED_BY_TEXT = (datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, fractions.Fraction, uuid.UUID)
_ARROW = (pa.DataType, pa.Scalar, pa.Array, pa.ChunkedArray, pa.Schema, pa.Field)
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_CONSTANTS = frozenset(dis.hasconst)
_NAMES = frozenset((*dis.hasname, *dis.haslocal, *dis.hasfree))
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_WRAPPED = ("__wrapped__", "py_func", "pyfunc", "func")
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


def function_record(predicate: PythonPredicate) -> dict[str, str | None]:
    """What a checkpoint stores of a Python predicate: the version that its user gave, and its digests."""
    record: dict[str, str | None] = {"version": predicate.version, "python": PYTHON}
    if predicate.version is None:
        record |= {mode: digest(predicate.function, mode) for mode in MODES}
    return record


def function_change(saved: Mapping[str, str | None], now: Mapping[str, str | None]) -> str | None:
    """How a function differs from the recorded one; None if no difference is known."""
    if saved["version"] is not None or now["version"] is not None:
        same = saved["version"] == now["version"]
        return None if same else f"its version was {saved['version']}, is {now['version']}"
    mode: Mode = "code" if saved["python"] == now["python"] else "source"
    if saved[mode] is None or now[mode] is None:
        return (
            f"it was recorded under Python {saved['python']}, and without its source text it cannot be compared under "
            f"Python {now['python']}"
        )
    return None if saved[mode] == now[mode] else "its code has changed"


def digest(function: Callable[..., Any], mode: Mode) -> str | None:
    """The digest of a callable; None if its source text is requested and there is none."""
    try:
        return _Digester(function, mode).of(function)
    except _NoSource:
        return None
    except RecursionError as error:
        raise QueryError(
            f"The Python function {_name(function)} holds values that are nested too deeply to be compared.",
            hint='Give it a version, as in braid.udf(near, "a.x", "b.x", version="1"), which is compared instead.',
        ) from error


class _NoSource(Exception):
    """A function whose source text cannot be found."""


class _Digester:
    def __init__(self, root: Any, mode: Mode) -> None:
        self._mode = mode
        self._package = str(getattr(root, "__module__", None) or "").partition(".")[0]
        self._known: dict[int, tuple[Any, str]] = {}  # Keeps the values alive, so that no other value gets their ids.
        self._open: set[int] = set()

    def of(self, value: Any) -> str:
        """The digest of any value; a value that contains itself is identified there by its name."""
        if id(value) in self._known:
            return self._known[id(value)][1]
        if id(value) in self._open:
            return _hash("again", _name(value))
        self._open.add(id(value))
        found = self._describe(value)
        self._open.discard(id(value))
        if callable(value):
            self._known[id(value)] = value, found
        return found

    def _describe(self, value: Any) -> str:
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.MethodType):
            return _hash("method", self.of(value.__func__), self.of(value.__self__))
        if isinstance(value, functools.partial):
            return _hash("partial", self.of(value.func), self.of(value.args), self.of(value.keywords))
        if isinstance(value, types.CodeType):
            return self._code(value)
        if isinstance(value, type):
            return self._class(value) if self._is_own(value) else _hash("class", _name(value))
        if isinstance(value, types.ModuleType):
            return _hash("module", value.__name__)
        if isinstance(value, types.BuiltinFunctionType):
            owner = value.__self__
            buffered = () if owner is None or isinstance(owner, types.ModuleType) else (self.of(owner),)
            return _hash("built in", _name(value), *buffered)
        simple = _simple(value)
        return self._composite(value) if simple is None else _hash(type(value).__name__, simple)

    def _composite(self, value: Any) -> str:
        if isinstance(value, tuple | list):
            return _hash(type(value).__name__, *(self.of(item) for item in value))
        if isinstance(value, set | frozenset):
            return _hash(type(value).__name__, *sorted(self.of(item) for item in value))
        if isinstance(value, dict):
            return _hash("dict", *sorted(_hash(self.of(key), self.of(item)) for key, item in value.items()))
        if self._is_own(type(value)):
            return _hash("object", self.of(type(value)), *self._entries(_attributes(value)))
        # A library's object is known by its type; one that wraps a function of the user's, by that too.
        inner = [getattr(value, name, None) for name in _WRAPPED] if callable(value) else []
        return _hash("of", _name(type(value)), *(self.of(item) for item in inner if item is not None))

    def _function(self, function: types.FunctionType) -> str:
        if not self._is_own(function):
            return _hash("named", _name(function))
        cells = [self._cell(cell) for cell in function.__closure__ or ()]
        return _hash(
            "function",
            self._text(function.__code__) if self._mode == "source" else self.of(function.__code__),
            self.of(function.__defaults__),
            self.of(function.__kwdefaults__),
            *cells,
            *self._entries(_globals_read(function)),
        )

    def _cell(self, cell: types.CellType) -> str:
        try:
            return self.of(cell.cell_contents)
        except ValueError:
            return _hash("empty")

    def _class(self, kind: type) -> str:
        kept = {name: item for name, item in vars(kind).items() if _is_behaviour(name, item)}
        return _hash("class", *(self.of(base) for base in kind.__bases__), *self._entries(kept))

    def _entries(self, entries: Mapping[str, Any]) -> Iterator[str]:
        for name in sorted(entries):
            item = entries[name]
            inner = item.fget if isinstance(item, property) else getattr(item, "__func__", item)
            yield _hash(name, self.of(inner if isinstance(item, property | staticmethod | classmethod) else item))

    def _code(self, code: types.CodeType) -> str:
        """Instructions with operands as values, so that positions in constant tables do not matter."""
        instructions = _instructions(code)
        offsets = [instruction.offset for instruction in instructions]
        parts = []
        for instruction in instructions:
            operand: Any = instruction.arg
            if instruction.opcode in _CONSTANTS or instruction.opcode in _NAMES:
                operand = instruction.argval
            elif instruction.opcode in _JUMPS:
                operand = bisect.bisect_left(offsets, instruction.argval)
            parts.append(_hash(instruction.opname, self.of(operand)))
        shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & ~_HAS_DOCSTRING)
        return _hash("code", repr(shape), code.co_exceptiontable.hex(), *parts)

    def _text(self, code: types.CodeType) -> str:
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
        except (OSError, TypeError, SyntaxError, ValueError) as error:
            raise _NoSource from error
        kinds = (ast.Lambda,) if code.co_name == "<lambda>" else (ast.FunctionDef, ast.AsyncFunctionDef)
        found = [node for node in ast.walk(tree) if isinstance(node, kinds)]
        if not found or (code.co_name == "<lambda>" and len(found) > 1):
            raise _NoSource
        return _hash("source", ast.unparse(_WithoutDocstrings().visit(found[0])))

    def _is_own(self, value: Any) -> bool:
        """Whether a value is the user's own code: in the predicate's package, or in no library."""
        module = str(getattr(value, "__module__", None) or "")
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names and top != "__main__":
            return False
        if top in ("", "__main__") or top == self._package:
            return True
        file = getattr(sys.modules.get(module), "__file__", None)
        return file is None or not str(file).startswith(_LIBRARIES)


class _WithoutDocstrings(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._without(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._without(node)

    def _without(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return self.generic_visit(node)


def _hash(*parts: str) -> str:
    found = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        found.update(len(data).to_bytes(8, "little"))
        found.update(data)
    return found.hexdigest()


def _simple(value: Any) -> str | None:
    """A value without parts as text; None if it has some."""
    if isinstance(value, enum.Enum):
        return f"{_name(type(value))}.{value.name}"
    if type(value) in _PLAIN:
        return repr(value)
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, re.Pattern):
        return f"{value.pattern!r} {value.flags}"
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        array = np.asarray(value)
        return f"{array.dtype.str} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"
    if isinstance(value, _ARROW):
        return f"{getattr(value, 'type', '')} {value.to_pylist() if hasattr(value, 'to_pylist') else value}"
    return repr(value) if isinstance(value, _NAMED_BY_TEXT) else None


def _name(value: Any) -> str:
    kind = value if hasattr(value, "__name__") else type(value)
    owner = getattr(value, "__self__", None)
    module = getattr(kind, "__module__", None) or (_name(owner) if isinstance(owner, types.ModuleType) else "")
    return f"{module}.{getattr(kind, '__qualname__', kind.__name__)}"


def _attributes(value: Any) -> dict[str, Any]:
    """The attributes of an object, in its dictionary and in slots."""
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    buffered = {name: getattr(value, name) for name in slots if hasattr(value, name) and not name.startswith("__")}
    return {**buffered, **getattr(value, "__dict__", {})}


def _is_behaviour(name: str, item: Any) -> bool:
    """Whether an entry of a class is part of its digest: neither added by Python nor documentation."""
    if name.startswith("__") and not callable(item):
        return False
    return not isinstance(item, types.GetSetDescriptorType | types.MemberDescriptorType)


def _globals_read(function: types.FunctionType) -> dict[str, Any]:
    """The globals that a function and its inner functions read, and the attributes they take of modules."""
    found: dict[str, Any] = {}
    for code in _codes(function.__code__):
        path, value = "", None
        for instruction in _instructions(code):
            name = instruction.argval
            if instruction.opname in _GLOBALS and name in function.__globals__:
                path, value = name, function.__globals__[name]
            elif instruction.opname in _ATTRIBUTES and isinstance(value, types.ModuleType) and name in vars(value):
                path, value = f"{path}.{name}", vars(value)[name]
            else:
                path, value = "", None
            if path:
                found[path] = value
    return found


def _instructions(code: types.CodeType) -> list[dis.Instruction]:
    """The instructions without the prefixes of long operands, which the operands already include."""
    return [instruction for instruction in dis.get_instructions(code) if instruction.opname != "EXTENDED_ARG"]


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)
