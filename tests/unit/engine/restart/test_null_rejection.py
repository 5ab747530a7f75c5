"""Which conditions are known to be true of no row with a NULL."""

from __future__ import annotations

import pytest

from braid.engine.restart.null_rejection import columns_in, null_for_nulls_only, rejects_nulls


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


@pytest.mark.parametrize(
    ("sql", "only"),
    [
        ("`q.d`", True),
        ("upper(trim(`q.coalesce`))", True),
        ("`q.d` + 1", True),
        ("CAST(`q.d` AS BIGINT)", True),
        ("try_cast(`q.s` AS BIGINT)", False),
        ("nullif(`q.d`, 1)", False),
        ("`q.m`['a']", False),
        ("`q.s`.part", False),
        ("CASE WHEN `q.d` > 1 THEN 1 END", False),
    ],
)
def test_keys_that_are_null_for_nulls_only(sql: str, only: bool) -> None:
    assert null_for_nulls_only(sql, ansi=True) == only
    assert not null_for_nulls_only("CAST(`q.s` AS INT)", ansi=False)


def test_columns_in_a_text() -> None:
    assert columns_in("concat(`q.a``b`, '`q.c`', `o.d`)") == {"q.a`b", "o.d"}
