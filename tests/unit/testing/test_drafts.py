"""Drafts refuse what no query could mean."""

from __future__ import annotations

import pytest

from braid.testing import (
    Draft,
    equal,
)


def test_an_unknown_column_or_type_mix_is_refused() -> None:
    draft = Draft()
    stream = draft.stream("a", {"k": "int"}, window_us=None)
    with pytest.raises(KeyError, match=r"it has a\.ts, a\.k"):
        stream["x"]
    with pytest.raises(TypeError, match="int and timestamp"):
        equal(stream["k"], stream["ts"])
