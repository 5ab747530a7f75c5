"""Positions to split a condition's text: at its outermost ANDs, and at the operator of an equality.

Only text positions are found here. Spark's parser decides whether a split is right: a caller compares the trees of the
pieces with the tree of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})
_EQUALITIES = frozenset({TokenType.EQ, TokenType.NULLSAFE_EQ})


def conjuncts(text: str) -> tuple[str, ...]:
    """The text split at every outermost AND, also inside redundant parentheses."""
    return tuple(_pieces(text, tokens_of(text))) or (trimmed(text),)


def equality_sides(text: str) -> tuple[str, str] | None:
    """The texts around the only outermost `=`, `==` or `<=>`, None when there is not exactly one."""
    found = [token for token in _outermost(tokens_of(text)) if token.token_type in _EQUALITIES]
    if len(found) != 1:
        return None
    return trimmed(text[: found[0].start]), trimmed(text[found[0].end + 1 :])


def prefixes(text: str) -> Iterator[str]:
    """The text, and the text without its last tokens, longest first: one of them ends before an alias."""
    tokens = tokens_of(text)
    for last in range(len(tokens) - 1, -1, -1):
        yield text[tokens[0].start : tokens[last].end + 1]


def trimmed(text: str) -> str:
    """The text without surrounding comments and blanks; a comment at the end would hide what is appended."""
    return next(prefixes(text), text.strip())


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text; none when it is not Spark SQL as sqlglot reads it."""
    try:
        return list(Spark().tokenize(text))
    except SqlglotError:
        return []


def _pieces(text: str, tokens: Sequence[Token]) -> Iterator[str]:
    tokens = _without_parentheses(tokens)
    if not tokens:
        return
    cuts = [-1, *_cuts(tokens), len(tokens)]
    if len(cuts) == 2:
        yield text[tokens[0].start : tokens[-1].end + 1]
        return
    for start, stop in pairwise(cuts):
        yield from _pieces(text, tokens[start + 1 : stop])


def _without_parentheses(tokens: Sequence[Token]) -> Sequence[Token]:
    while len(tokens) > 2 and tokens[0].token_type == TokenType.L_PAREN and _closes(tokens) == len(tokens) - 1:
        tokens = tokens[1:-1]
    return tokens


def _closes(tokens: Sequence[Token]) -> int:
    depths = _depths(tokens)
    return next((index for index, depth in enumerate(depths) if index and depth == 0), -1)


def _cuts(tokens: Sequence[Token]) -> list[int]:
    """Indexes of the outermost ANDs; none below an OR."""
    cuts, betweens = [], 0
    for index, (token, depth) in enumerate(zip(tokens, _depths(tokens), strict=True)):
        if depth or _is_name(tokens, index):
            continue
        if token.token_type == TokenType.OR:
            return []
        if token.token_type == TokenType.BETWEEN:
            betweens += 1
        elif token.token_type == TokenType.AND and betweens:
            betweens -= 1
        elif token.token_type == TokenType.AND:
            cuts.append(index)
    return cuts


def _outermost(tokens: Sequence[Token]) -> Iterator[Token]:
    for token, depth in zip(tokens, _depths(tokens), strict=True):
        if depth == 0:
            yield token


def _depths(tokens: Sequence[Token]) -> list[int]:
    """The nesting after each token, so that the last bracket of a pair has the depth outside it."""
    depths, depth = [], 0
    for index, token in enumerate(tokens):
        if not _is_name(tokens, index):
            depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        depths.append(depth)
    return depths


def _is_name(tokens: Sequence[Token], index: int) -> bool:
    """Whether a keyword is only the name of a column or field, as in `o.end`."""
    return index > 0 and tokens[index - 1].token_type == TokenType.DOT
