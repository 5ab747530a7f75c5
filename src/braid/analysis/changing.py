"""Expressions whose value is not a function of their rows: random ones, clocks, and session state.

Spark reads the texts 'now', 'today', 'tomorrow' and 'yesterday' as the clock wherever a constant text becomes a date or
a timestamp: in a literal when it is parsed, in a cast when the query is optimized. Both would have another value after
a restart. 'epoch' is a constant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from braid.analysis.catalyst import Node, NotConstant
from braid.errors import NondeterministicError

_CLOCKS = frozenset({"CurrentTimestamp", "Now", "CurrentDate", "LocalTimestamp", "CurrentTime"})
_SESSION = frozenset(
    {"CurrentUser", "CurrentTimeZone", "CurrentDatabase", "CurrentCatalog", "CurrentPath", "SparkVersion"}
)
_TIMES = ("date", "timestamp", "timestamp_ntz")
_PARSERS = ("ParseToDate", "ParseToTimestamp")
_CLOCK_WORD = re.compile(r"\b(now|today|tomorrow|yesterday)\b", re.IGNORECASE)
_CLOCK_TEXT = re.compile(r"\s*(now|today|tomorrow|yesterday)\b.*", re.IGNORECASE | re.DOTALL)
_CLOCK_LITERAL = re.compile(r"\w+\s*r?['\"]\s*(now|today|tomorrow|yesterday)\b.*", re.IGNORECASE | re.DOTALL)


def refuse_clock_literals(parsed: Node, text: str, place: str) -> None:
    """Raise for a literal such as `timestamp'now'`, which only its text can show."""
    if not _CLOCK_WORD.search(text):
        return
    for node in parsed.walk():
        if node.kind != "Literal" or node.type not in _TIMES:
            continue
        origin = node.java.origin()
        if origin.startIndex().isDefined() and origin.stopIndex().isDefined():
            written = text[int(origin.startIndex().get()) : int(origin.stopIndex().get()) + 1]
            if _CLOCK_LITERAL.fullmatch(written):
                raise _refusal(written, text, place)


def refuse_changing(node: Node, text: str, place: str) -> None:
    """Raise for a resolved expression that may give another value for the same rows."""
    found = [inner for inner in node.walk() if inner.kind in _CLOCKS or inner.kind in _SESSION]
    if not found and not node.java.deterministic():
        found = [inner for inner in node.walk() if not inner.java.deterministic()]
    if found:
        raise _refusal(f"{found[-1].java.prettyName()}()", text, place)
    for word in _clock_casts(node):
        raise _refusal(f"the text {word!r} as a time", text, place)


def _clock_casts(node: Node) -> Iterator[str]:
    """The constant texts that Spark would replace by the clock."""
    for inner in node.walk():
        cast = inner.kind == "Cast" or (inner.kind in _PARSERS and len(inner.children) == 1)
        if not cast or inner.type not in _TIMES:
            continue
        source = inner.children[0]
        if source.type.startswith("string") and source.foldable:
            try:
                value = str(source.constant())
            except NotConstant:
                continue
            if _CLOCK_TEXT.fullmatch(value):
                yield value


def _refusal(what: str, text: str, place: str) -> NondeterministicError:
    return NondeterministicError(
        f"The {place} {text.strip()} contains {what}, whose value may differ between evaluations.",
        "The same rows must give the same result at any time, also after a restart.",
        "write the value as a constant, compute it as a column of a stream's DataFrame, or use the event-time columns.",
    )
