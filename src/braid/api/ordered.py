"""`join.ordered(...)`: its arguments, read and checked."""

from __future__ import annotations

from typing import get_args

from braid.control.ordering import Ordering, Policy
from braid.errors import QueryError


def read_ordering(policy: Policy, alpha: float) -> Ordering:
    """The settings as a controller takes them; QueryError for those that have no meaning."""
    if policy not in get_args(Policy):
        raise QueryError(
            f".ordered(policy=...) is one of {', '.join(get_args(Policy))}, but got {policy!r}.",
            hint='Leave it out: "adaptive" is the default.',
        )
    if not 0 <= alpha < 1:
        raise QueryError(
            f".ordered(alpha=...) is a share of the time rows wait, at least 0 and less than 1, but got {alpha!r}.",
            hint="Leave it out: 0.3 is the default.",
        )
    return Ordering(policy, float(alpha))
