"""What the rules of the translation share: what they see of it, and how they leave a node to the JVM."""

from __future__ import annotations

from typing import Protocol

from braid.analysis.catalyst import Node
from braid.analysis.platform import Platform
from braid.plan.expressions import Expression


class Untranslatable(Exception):
    """A node outside the whitelist."""


class Translation(Protocol):
    """The translation of a whole tree, as a rule sees it."""

    @property
    def platform(self) -> Platform: ...
    def of(self, node: Node) -> Expression: ...
    def all(self, node: Node) -> tuple[Expression, ...]: ...


def require(condition: bool) -> None:
    if not condition:
        raise Untranslatable
