"""Which conditions are known to be true of no row with a NULL."""

from __future__ import annotations

import pytest

from braid.engine.restart.null_rejection import rejects_nulls


@pytest.mark.parametrize(
    ("sql", "rejects"),
    [
        ("try_divide(`o.v`, `q.d`) > 2", True),
        ("TRY_CAST(`q.s` AS BIGINT) = `o.v`", True),
        ("upper(`q.coalesce`) <> 'a OR (b'", True),
        ("coalesce(`q.d`, 1) > 2", False),
        ("`q.d` > 2 OR `o.v` = 1", False),
        ("`q.d` <=> `o.v`", False),
        ("CASE WHEN `q.d` > 1 THEN true ELSE true END", False),
        ("`q.d` IS NULL", False),
        ("my_function(`q.d`) > 1", False),
        ("NOT (`q.d` > 1 AND `o.v` > 1)", False),
        ("if(`q.d` > 1, true, true)", False),
    ],
)
def test_what_is_known_to_be_true_of_no_row_with_a_null(sql: str, rejects: bool) -> None:
    assert rejects_nulls(sql) == rejects
