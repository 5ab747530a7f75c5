"""How a rule of the translation says that a node must stay in the JVM."""

from __future__ import annotations


class Untranslatable(Exception):
    """A node outside the whitelist."""


def require(condition: bool) -> None:
    if not condition:
        raise Untranslatable
