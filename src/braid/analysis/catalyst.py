"""Spark's expression trees, read over py4j into plain nodes.

A node keeps its class name, its children and its Java object. Everything else is read when needed, since each call is a
round trip to the JVM.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

_DAY_TIME = re.compile(r"interval (day|hour|minute|second)( to (hour|minute|second))?")


class Node:
    """One node of a Catalyst tree, parsed or resolved."""

    def __init__(self, java: Any) -> None:
        self.java = java

    @cached_property
    def kind(self) -> str:
        """The simple name of its class."""
        return str(self.java.getClass().getSimpleName()).rstrip("$")

    @cached_property
    def children(self) -> tuple[Node, ...]:
        children = self.java.children()
        return tuple(Node(children.apply(index)) for index in range(children.size()))

    @cached_property
    def type(self) -> str:
        """Its Spark type; every day-time interval is `interval`."""
        return braid_type(str(self.java.dataType().catalogString()))

    @cached_property
    def foldable(self) -> bool:
        """Whether its value is the same for every row."""
        return bool(self.java.foldable())

    @cached_property
    def eval_mode(self) -> str:
        """ANSI, LEGACY or TRY, for arithmetic and casts."""
        context = self.java if self.kind == "Cast" else self.java.evalContext()
        return str(context.evalMode().toString())

    @cached_property
    def fails_on_error(self) -> bool:
        """Whether a function raises in ANSI mode; the class of an older Spark may have no such mode."""
        try:
            return bool(self.java.failOnError())
        except Py4JError:
            return False

    def walk(self) -> Iterator[Node]:
        """This node and everything below it, parents first; trees may be deeper than Python's stack."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending += reversed(node.children)

    @cached_property
    def depth(self) -> int:
        """The number of nodes on the longest path down."""
        level, depth = [self], 0
        while level:
            level, depth = [child for node in level for child in node.children], depth + 1
        return depth

    def constant(self) -> Any:
        """The value of a foldable node in Spark's internal form; `NotConstant` when it has none."""
        if not self.foldable:
            raise NotConstant
        try:
            with quiet():
                return self.java.eval(None)
        except (PySparkException, Py4JJavaError) as error:
            raise NotConstant from error


def operands(node: Node, kind: str) -> tuple[Node, ...]:
    """The operands of a chain of one associative operator, in order, however it is nested."""
    found, pending = [], [node]
    while pending:
        node = pending.pop()
        if node.kind == kind:
            pending += reversed(node.children)
        else:
            found.append(node)
    return tuple(found)


class NotConstant(Exception):
    """A node without a constant value: it reads rows, or raises."""


def braid_type(catalog_string: str) -> str:
    """A type as Braid names it. Spark's calendar interval, also called `interval`, gets another name."""
    if catalog_string == "interval":
        return "calendar interval"
    return "interval" if _DAY_TIME.fullmatch(catalog_string) else catalog_string


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps PySpark from logging errors that Braid converts into its own."""
    # PySpark's own class: a plain logger of this name would break PySpark when it logs.
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
