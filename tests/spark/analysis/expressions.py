"""Expressions over the columns of two streams: written by hand, listed, and generated."""

from __future__ import annotations

import random
from collections.abc import Iterator

SEED = 20_260


NUMBERS = ("b", "s", "i", "l", "f", "d")


LITERALS = {
    "b": "1Y", "s": "100S", "i": "7", "l": "-1L", "f": "2.5f", "d": "0.5D", "bo": "true", "str": "'ß'",
    "ts": "TIMESTAMP'1970-01-01 00:00:01'", "n": "TIMESTAMP_NTZ'1970-01-02 00:00:00'", "dt": "DATE'1970-01-02'",
    "dec": "2.50", "big": "1.5", "bin": "X'61'",
}  # fmt: skip


HAND_WRITTEN = """
o.i BETWEEN 1 AND q.l
o.i NOT BETWEEN q.s AND 100
o.d BETWEEN q.d - 1 AND q.d + 1
o.i BETWEEN q.i - 5 AND q.i + 5
o.l BETWEEN q.l - 5 AND q.l + 5
o.i IN (1, 2, 3)
o.i NOT IN (1, 2, NULL)
o.i IN (q.i, o.s, 7)
o.l IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, NULL)
o.l NOT IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 100)
o.d IN (0, 1.5, CAST('NaN' AS double))
o.d IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, CAST('NaN' AS double))
o.f IN (2.5f, q.f)
o.str IN ('a', 'ß', NULL)
o.str NOT IN ('a', q.str)
o.str IN ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'ab', '')
o.dt IN (DATE'1970-01-01', q.dt)
o.dec IN (1, 2.5, q.dec)
o.bo IN (true, q.bo)
o.bo IS TRUE
o.bo IS NOT TRUE
o.bo IS FALSE
o.bo IS NOT FALSE
o.bo IS UNKNOWN
o.bo IS NOT UNKNOWN
o.bo AND q.bo
o.bo OR q.bo
NOT o.bo OR NOT q.bo
o.bo AND (q.bo OR o.i > 0) OR NULL
o.bo = q.bo
o.bo < q.bo
(o.i > q.i) IS NOT TRUE
(o.i > q.i) <=> (o.d > q.d)
o.i IS DISTINCT FROM q.l
o.d IS NOT DISTINCT FROM q.d
o.str IS DISTINCT FROM q.str
o.i IS NULL
o.str IS NULL AND q.str IS NOT NULL
o.d IS NOT NULL
isnull(o.d + q.d)
isnan(o.d)
isnan(o.f) OR isnan(q.d)
isnan(o.d - q.d)
NOT isnan(o.f * q.f)
abs(o.d - q.d) <= 0.05
abs(o.f - q.f) <= 0.5
abs(o.i - q.i) <= 5
abs(o.l - q.l) <= 5
abs(o.b) > 5
abs(o.s) > q.s
abs(o.l) = q.l
-o.b > 5
-o.i > q.i
-o.l > q.l
-o.d > q.d
+o.i = 1
o.b + q.b > 0
o.s - q.s > 0
o.i + q.i > 0
o.i - q.i > 0
o.i * q.i > 0
o.b * q.b > 0
o.s * q.s > 0
o.l + q.l > 0
o.l - q.l > 0
o.l * q.l > 0
o.i + q.l > 0
o.f + q.f > 0
o.f * q.f > q.d
o.f - q.f = 0
o.d * q.d >= o.d
o.d + q.d < q.f
o.d / q.d > 1
o.i / q.i > 1
o.f / q.f < 1
o.d / 2 > q.d
o.b / 4Y > q.b
o.i % q.i = 1
o.l % q.l = 0
o.b % 3Y = q.b
o.l % -1 = 0
o.s % q.b = 0
mod(o.i, 7) = q.i
sqrt(o.d) < q.d
sqrt(o.i) < 3
o.ts - q.ts <= INTERVAL 5 SECONDS
o.n - q.n > INTERVAL '1' DAY
q.ts BETWEEN o.ts - INTERVAL 5 SECONDS AND o.ts + INTERVAL 1 SECOND
o.ts + INTERVAL 2 DAYS > q.ts
o.ts - INTERVAL '1 02:03:04' DAY TO SECOND <= q.ts
o.ts + INTERVAL 5 SECONDS * 2 > q.ts
abs(o.ts - q.ts) <= INTERVAL 1 MINUTE
(o.ts - q.ts) + INTERVAL 5 SECONDS > INTERVAL 0 SECONDS
-(o.ts - q.ts) < INTERVAL '1' HOUR
o.ts + INTERVAL 1 MONTH > q.ts
CAST(o.ts - q.ts AS INTERVAL DAY) = INTERVAL '1' DAY
o.ts = q.n
o.dt = q.ts
o.dt < q.n
o.dt - q.dt > INTERVAL '1' DAY
o.dt + 1 = q.dt
o.ts > '2001-01-01'
o.dt >= '1970-01-02'
o.ts > NULL
o.dec = q.d
o.dec < q.i
o.dec > q.b
o.dec >= q.l
o.dec = q.big
o.dec < 1.5
o.dec <= 1.505
o.dec <=> q.dec
o.dec > 3
o.dec + 1 > q.dec
o.dec = q.f
o.str = 'a'
o.str < q.str
o.str >= 'a'
o.str <=> NULL
o.str = 1
o.str LIKE 'a%'
startswith(o.str, q.str)
upper(o.str) = q.str
length(o.str) > q.i
concat(o.str, q.str) = 'aa'
substring(o.str, 1, 1) = q.str
o.str || 'b' = q.str
o.bin = q.bin
o.bin < q.bin
o.bin > X'00'
CASE WHEN o.i > 1 THEN q.i = 2 WHEN o.bo THEN NULL ELSE q.bo END
CASE WHEN o.i > 1 THEN o.i WHEN q.i > 1 THEN q.i END > 3
CASE o.b WHEN 1 THEN 'a' WHEN 2 THEN q.str ELSE 'z' END = o.str
CASE WHEN q.i <> 0 THEN o.i / q.i ELSE 0 END > 1
CASE WHEN q.i = 0 THEN true ELSE o.i % q.i = 1 END
if(o.bo, o.d, q.d) > 0
if(o.i > 0, o.i + q.i, 0) > 0
if(o.bo, o.str, 'x') = q.str
coalesce(o.i, q.i, 0) = 0
coalesce(o.str, q.str) = 'a'
coalesce(o.l, q.l + 1) > 0
coalesce(o.d, q.f) > 1
nvl(o.i, 3) = 3
nvl2(o.i, q.i, 1) = 1
ifnull(o.d, q.d) = 1
nullif(o.i, q.i) IS NULL
nullif(o.d, 0) > 1
equal_null(o.i, q.i)
q.i = 0 OR o.i / q.i > 2
q.i <> 0 AND o.i % q.i = 1
q.b > 0 AND o.b + q.b > 0
q.b < 0 AND o.b - q.b < 0 OR o.s * q.s > 0
(o.i + 1) IS NULL OR q.i - 1 > 0
o.i = q.i + 1
o.i <=> q.i + 1
q.bo AND o.i + 1 > q.i AND o.l + 1 > q.l
NOT (o.i = q.i) AND o.i <> 2 AND o.i != 3
1 = 1
1 > NULL
TRUE
o.i + 1 + 2 > q.i
o.i > 1 + 1
o.d > 1e300
o.f > 0.1
o.f = 0.1
o.l > 9223372036854775807 - 1
o.b = 1000
o.i > 2147483648
o.i > 2.5
o.l = o.d
o.l < q.f
greatest(o.i, q.i) > 2
o.i & 3 = 1
CAST(o.i AS bigint) + q.i > 0
CAST(o.l AS double) = q.d
CAST(o.i AS float) = q.f
CAST(o.l AS float) = q.f
CAST(o.f AS double) = q.d
CAST(o.d AS float) = q.f
CAST(o.b AS decimal(5,1)) = q.dec
CAST(o.dec AS decimal(12,4)) = q.dec
CAST(o.dec AS double) = q.d
CAST(o.i AS tinyint) = 1
CAST(o.bo AS int) = 1
o.b::int = 2
try_add(o.i, q.i) > 0
try_divide(o.i, q.i) > 0
""".strip().splitlines()


def listed_expressions() -> Iterator[str]:
    yield from HAND_WRITTEN
    for column, literal in LITERALS.items():
        yield from (f"o.{column} {operator} q.{column}" for operator in ("=", "<=>", "<", "<=", ">", ">=", "<>"))
        yield from (f"o.{column} {operator} {literal}" for operator in ("=", "<=>", "<", ">="))
    for left in NUMBERS:
        for right in (*NUMBERS, "dec"):
            yield f"o.{left} <= q.{right}"


def number(generator: random.Random, depth: int) -> str:
    column = f"{generator.choice('oq')}.{generator.choice(NUMBERS)}"
    if depth == 0:
        return generator.choice([column, column, str(generator.choice([0, 1, -3, 100])), "0.25D", "NULL"])
    left, right = number(generator, depth - 1), number(generator, depth - 1)
    forms = [
        "({} + {})",
        "({} - {})",
        "({} * {})",
        "coalesce({}, {})",
        "if(o.bo, {}, {})",
        "nullif({}, {})",
        "({} / {})",
    ]
    return generator.choice([generator.choice(forms).format(left, right), f"abs({left})", f"-({left})", left])


def condition(generator: random.Random, depth: int) -> str:
    if depth == 0:
        left, right = number(generator, generator.choice([0, 1, 1, 2])), number(generator, generator.choice([0, 0, 1]))
        forms = [
            "{} < {}",
            "{} <= {}",
            "{} > {}",
            "{} = {}",
            "{} <=> {}",
            "{} <> {}",
            "{} IN (1, {})",
            "{} BETWEEN {} AND 100",
        ]
        return generator.choice(forms).format(left, right)
    left, right = condition(generator, depth - 1), condition(generator, depth - 1)
    return generator.choice(["({} AND {})", "({} OR {})", "NOT ({} OR {})", "if(q.bo, {}, {})"]).format(left, right)


def generated_expressions(count: int) -> Iterator[str]:
    generator = random.Random(SEED)
    for _ in range(count):
        yield condition(generator, generator.choice([0, 0, 1, 2]))
