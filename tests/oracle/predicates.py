"""Random Spark SQL over the columns of some streams, typed, so that nearly everything written is a valid expression.

What can really raise on the generated values (a division by a column, a cast of text) is made only by
`raising_condition`, with its guard; all else may be "able to raise" for the analyser but never does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

CLASSES = {
    "int": ("long", "whole", "small"),
    "real": ("real", "single"),
    "money": ("money",),
    "text": ("text",),
    "flag": ("flag",),
    "day": ("day",),
    "time": ("moment",),
    "bytes": ("bytes",),
    "list": ("list",),
    "pair": ("pair",),
    "wide": ("wide",),
    "local": ("local",),
}
COMPARED = ("=", "=", "=", "<", "<=", ">", ">=", "<>", "<=>")
ORDERED = ("<", "<=", ">", ">=")
INTERVALS = ("INTERVAL 1 SECOND", "INTERVAL 3 SECONDS", "INTERVAL '0.5' SECOND", "INTERVAL 2 MINUTES", "INTERVAL 1 DAY")


class Expressions:
    """Writes expressions over `columns`: stream name to column name to kind."""

    def __init__(self, random_: random.Random, columns: Mapping[str, Mapping[str, str]]) -> None:
        self.random = random_
        self.columns = columns

    def column(self, kind_class: str, streams: Sequence[str]) -> str | None:
        """A column of one of the streams; its bare name now and then where no other stream has it."""
        found = [
            (stream, name)
            for stream in streams
            for name, kind in self.columns[stream].items()
            if kind in CLASSES[kind_class]
        ]
        if not found:
            return None
        stream, name = self.random.choice(found)
        holders = sum(name in columns for columns in self.columns.values())
        return name if holders == 1 and self.random.random() < 0.3 else f"{stream}.{name}"

    def write(self, kind_class: str, streams: Sequence[str], depth: int = 2) -> str:
        """An expression of a class over some of the streams, or a constant where they have nothing of it."""
        column = self.column(kind_class, streams)
        if column is not None and (depth == 0 or self.random.random() < 0.55):
            return column
        if depth == 0 or self.random.random() < 0.1:
            return self.constant(kind_class)
        forms = getattr(self, f"_{kind_class}_forms")(lambda other: self.write(other, streams, depth - 1), streams)
        return str(self.random.choice(forms)())

    def constant(self, kind_class: str) -> str:
        values = {
            "int": ("0", "1", "2", "3", "-1", "2L", "CAST(1 AS SMALLINT)"),
            "real": ("0.5D", "1e0", "CAST('NaN' AS DOUBLE)", "-0.0D", "CAST(1.5 AS FLOAT)"),
            "money": ("1.50", "0.3", "2", "CAST(NULL AS DECIMAL(4,1))"),
            "text": ("'a'", "'Ab%'", "''", "'😀'", "'x\\'y'"),
            "flag": ("true", "false", "CAST(NULL AS BOOLEAN)"),
            "day": ("DATE'2024-03-10'", "DATE'2024-03-01'"),
            "time": ("TIMESTAMP'2024-03-10 07:00:00Z'", "TIMESTAMP'2024-03-10 06:59:45.000001Z'"),
            "bytes": ("X'61'", "X''"),
            "list": ("array(1, 2)", "CAST(array() AS ARRAY<INT>)", "array(1)"),
            "pair": ("named_struct('a', 1, 'b', 'x')",),
            "wide": ("9223372036854775807", "9007199254740993"),
            "local": ("TIMESTAMP_NTZ'2024-03-10 06:59:41'",),
        }
        return self.random.choice(values[kind_class])

    def condition(self, streams: Sequence[str], depth: int = 2) -> str:
        """A boolean over the streams."""
        forms: list[Callable[[], str]] = [
            lambda: self._comparison(streams),
            lambda: self._comparison(streams),
            lambda: self._comparison(streams),
            lambda: self._across_types(streams),
            lambda: self._band(streams),
            lambda: self._membership(streams),
            lambda: self._pattern(streams),
            lambda: self._null_test(streams),
            lambda: self._nested(streams),
        ]
        if depth:
            forms += [
                lambda: f"({self.condition(streams, depth - 1)} OR {self.condition(streams, depth - 1)})",
                lambda: f"({self.condition(streams, depth - 1)} OR {self.condition(streams, depth - 1)})",
                lambda: f"NOT ({self.condition(streams, depth - 1)})",
                lambda: (
                    f"({self.condition(streams, 0)} AND {self.condition(streams, 0)} OR {self.condition(streams, 0)})"
                ),
                lambda: (
                    f"CASE WHEN {self.condition(streams, 0)} THEN {self.condition(streams, 0)} ELSE "
                    f"{self.write('flag', streams, 1)} END"
                ),
                lambda: f"if({self.condition(streams, 0)}, {self.condition(streams, 0)}, NULL)",
                lambda: f"coalesce({self.condition(streams, 0)}, {self.write('flag', streams, 0)})",
            ]
        return self.random.choice(forms)()

    def equality(self, left: str, right: str) -> str:
        """An equality of expressions, one stream a side: what a hash or a partition can use."""
        kind = self.random.choice(
            ("int", "int", "text", "text", "real", "money", "day", "flag", "bytes", "list", "pair", "time")
        )
        depth = self.random.choice((0, 0, 1))
        sign = self.random.choice(("=", "=", "=", "<=>"))
        return f"{self.write(kind, [left], depth)} {sign} {self.write(kind, [right], depth)}"

    def raising_condition(self, left: str, right: str) -> tuple[str, str] | None:
        """A guard and a condition that raises where the guard does not hold; None without the columns for it."""
        number, divisor = self.column("int", [left]), self.column("int", [right])
        text, items = self.column("text", [right]), self.column("list", [right])
        forms = []
        if number and divisor:
            forms.append((f"{divisor} <> 0", f"{number} / {divisor} >= 1"))
            forms.append((f"{divisor} <> 0", f"{number} % {divisor} = 0"))
            forms.append((f"{divisor} IS NOT NULL AND NOT ({divisor} = 0)", f"{number} div {divisor} <= 1"))
        if number and text:
            forms.append((f"{text} IN ('12', '-3')", f"CAST({text} AS INT) > {number}"))
        if number and items:
            forms.append((f"size({items}) > 1", f"{items}[1] >= {number}"))
        return self.random.choice(forms) if forms else None

    def _comparison(self, streams: Sequence[str]) -> str:
        kind = self.random.choice(tuple(CLASSES))
        left, right = self._sides(streams)
        return f"{self.write(kind, left)} {self.random.choice(COMPARED)} {self.write(kind, right)}"

    def _across_types(self, streams: Sequence[str]) -> str:
        first, second = self.random.choice(
            (
                ("int", "real"),
                ("int", "money"),
                ("money", "real"),
                ("wide", "int"),
                ("wide", "real"),
                ("day", "time"),
                ("local", "time"),
            )
        )
        left, right = self._sides(streams)
        return f"{self.write(first, left, 1)} {self.random.choice(COMPARED)} {self.write(second, right, 1)}"

    def _band(self, streams: Sequence[str]) -> str:
        left, right = self._sides(streams)
        kind = self.random.choice(("int", "real", "money", "time", "day"))
        a, b = self.write(kind, left, 1), self.write(kind, right, 1)
        if kind == "time":
            first, second = self.random.sample(INTERVALS, 2)
            return self.random.choice(
                (
                    f"{a} BETWEEN {b} - {first} AND {b} + {second}",
                    f"{a} - {b} <= {first}",
                    f"{a} + {first} >= {b}",
                    f"abs(unix_micros({a}) - unix_micros({b})) < 2500000",
                )
            )
        if kind == "day":
            return f"abs(datediff({a}, {b})) <= 1"
        width = {"int": "1", "real": "0.2D", "money": "0.25"}[kind]
        return self.random.choice(
            (
                f"abs({a} - {b}) <= {width}",
                f"{a} BETWEEN {b} - {width} AND {b} + {width}",
                f"{a} - {b} {self.random.choice(ORDERED)} {width}",
                f"{a} + {b} {self.random.choice(ORDERED)} {width}",
                f"{a} NOT BETWEEN {b} AND {width}",
                f"{width} > abs({b} - {a})",
            )
        )

    def _membership(self, streams: Sequence[str]) -> str:
        kind = self.random.choice(("int", "text", "day", "real"))
        left, right = self._sides(streams)
        word = self.random.choice(("IN", "NOT IN"))
        members = self.constant(kind), self.write(kind, right, 1), self.constant(kind)
        return f"{self.write(kind, left, 1)} {word} ({', '.join(members)})"

    def _pattern(self, streams: Sequence[str]) -> str:
        left, right = self._sides(streams)
        a, b = self.write("text", left, 1), self.write("text", right, 1)
        return self.random.choice(
            (
                f"{a} LIKE 'a%'",
                f"{a} NOT LIKE '_b%'",
                f"{a} LIKE concat(replace({b}, '\\\\', ''), '%')",
                f"{a} ILIKE 'A%'",
                f"{a} RLIKE '^[a-z]+$'",
                f"startswith({a}, {b})",
                f"levenshtein({a}, {b}) <= 1",
                f"{a} = 'a' OR contains({b}, 'b')",
            )
        )

    def _null_test(self, streams: Sequence[str]) -> str:
        kind = self.random.choice(tuple(CLASSES))
        test = self.random.choice(("IS NULL", "IS NOT NULL"))
        if kind == "real" and self.random.random() < 0.5:
            return f"isnan({self.write('real', streams, 1)})"
        return f"{self.write(kind, streams, 1)} {test}"

    def _nested(self, streams: Sequence[str]) -> str:
        left, right = self._sides(streams)
        items, number = self.write("list", left, 1), self.write("int", right, 0)
        return self.random.choice(
            (
                f"array_contains({items}, CAST({number} AS INT))",
                f"exists({items}, x -> x >= {number})",
                f"size({items}) > {number}",
                f"arrays_overlap({items}, {self.write('list', right, 0)})",
                f"{self.write('pair', left, 0)}.a = {number}",
                f"{self.write('pair', left, 0)} IN ({self.write('pair', right, 0)}, {self.constant('pair')})",
            )
        )

    def _sides(self, streams: Sequence[str]) -> tuple[list[str], list[str]]:
        """Mostly one stream a side; now and then all on both."""
        if len(streams) < 2 or self.random.random() < 0.15:
            return list(streams), list(streams)
        left, right = self.random.sample(list(streams), 2)
        return [left], [right]

    # The forms of each class: functions, arithmetic, casts. `of(class)` writes an argument.

    def _int_forms(self, of: Callable[[str], str], streams: Sequence[str]) -> list[Callable[[], str]]:
        return [
            lambda: f"({of('int')} + {of('int')})",
            lambda: f"({of('int')} - 1)",
            lambda: f"{of('int')} * 2",
            lambda: f"-{self.write('int', streams, 0)}" if self.column("int", streams) else "1",
            lambda: f"abs({of('int')})",
            lambda: f"({of('int')}) % 3",
            lambda: f"pmod({of('int')}, 2)",
            lambda: f"length({of('text')})",
            lambda: f"octet_length({of('bytes')})",
            lambda: f"coalesce({of('int')}, 0)",
            lambda: f"nullif({of('int')}, 2)",
            lambda: f"greatest({of('int')}, 1)",
            lambda: f"year({of('day')}) - 2023",
            lambda: f"dayofmonth({of('day')})",
            lambda: f"minute({of('time')})",
            lambda: f"datediff({of('day')}, DATE'2024-03-09')",
            lambda: f"size({of('list')})",
            lambda: f"try_element_at({of('list')}, 1)",
            lambda: f"{self.write('pair', streams, 0)}.a",
            lambda: f"CASE WHEN {of('flag')} THEN {of('int')} ELSE 1 END",
            lambda: f"try_cast({of('text')} AS INT)",
            lambda: f"CAST({of('flag')} AS INT)",
            lambda: f"CAST({of('int')} AS BIGINT)",
            lambda: f"({of('int')} & 3)",
        ]

    def _real_forms(self, of: Callable[[str], str], streams: Sequence[str]) -> list[Callable[[], str]]:
        return [
            lambda: f"({of('real')} + {of('real')})",
            lambda: f"({of('real')} - {of('real')})",
            lambda: f"{of('real')} * 0.5D",
            lambda: f"abs({of('real')})",
            lambda: f"sqrt({of('real')})",
            lambda: f"CAST({of('int')} AS DOUBLE)",
            lambda: f"CAST({of('money')} AS DOUBLE)",
            lambda: f"CAST({of('real')} AS FLOAT)",
            lambda: f"({of('int')}) / 4",
            lambda: f"nanvl({of('real')}, 0.5D)",
            lambda: f"round({of('real')}, 1)",
            lambda: f"coalesce({of('real')}, 1e0)",
            lambda: f"try_divide({of('real')}, {of('real')})",
        ]

    def _money_forms(self, of: Callable[[str], str], streams: Sequence[str]) -> list[Callable[[], str]]:
        return [
            lambda: f"({of('money')} + {of('money')})",
            lambda: f"{of('money')} * 2",
            lambda: f"abs({of('money')})",
            lambda: f"CAST({of('int')} AS DECIMAL(12,2))",
            lambda: f"round({of('money')}, 1)",
            lambda: f"coalesce({of('money')}, 1)",
        ]

    def _text_forms(self, of: Callable[[str], str], streams: Sequence[str]) -> list[Callable[[], str]]:
        return [
            lambda: f"upper({of('text')})",
            lambda: f"lower({of('text')})",
            lambda: f"substring({of('text')}, 1, 2)",
            lambda: f"concat({of('text')}, {of('text')})",
            lambda: f"{of('text')} || 'b'",
            lambda: f"trim({of('text')})",
            lambda: f"coalesce({of('text')}, 'a')",
            lambda: f"CAST({of('int')} AS STRING)",
            lambda: f"CAST({of('day')} AS STRING)",
            lambda: f"{self.write('pair', streams, 0)}.b",
            lambda: f"date_format({of('time')}, 'HH:mm')",
            lambda: f"hex({of('bytes')})",
        ]

    def _flag_forms(self, of: Callable[[str], str], streams: Sequence[str]) -> list[Callable[[], str]]:
        return [
            lambda: f"NOT {of('flag')}",
            lambda: f"({of('flag')} OR {of('flag')})",
            lambda: f"({of('int')} > 1)",
            lambda: f"({of('text')} IS NULL)",
            lambda: f"isnan({of('real')})",
        ]

    def _day_forms(self, of: Callable[[str], str], streams: Sequence[str]) -> list[Callable[[], str]]:
        return [
            lambda: f"date_add({of('day')}, 1)",
            lambda: f"date_sub({of('day')}, CAST(2 AS INT))",
            lambda: f"CAST({of('time')} AS DATE)",
            lambda: f"last_day({of('day')})",
            lambda: f"trunc({of('day')}, 'MM')",
            lambda: f"add_months({of('day')}, 1)",
        ]

    def _time_forms(self, of: Callable[[str], str], streams: Sequence[str]) -> list[Callable[[], str]]:
        return [
            lambda: f"({of('time')} + {self.random.choice(INTERVALS)})",
            lambda: f"({of('time')} - {self.random.choice(INTERVALS)})",
            lambda: f"date_trunc('MINUTE', {of('time')})",
            lambda: f"timestampadd(SECOND, 2, {of('time')})",
            lambda: f"CAST({of('day')} AS TIMESTAMP)",
            lambda: f"timestamp_seconds({of('int')} + 1710053980)",
        ]

    def _bytes_forms(self, of: Callable[[str], str], streams: Sequence[str]) -> list[Callable[[], str]]:
        return [lambda: f"CAST({of('text')} AS BINARY)", lambda: f"concat({of('bytes')}, X'61')"]

    def _list_forms(self, of: Callable[[str], str], streams: Sequence[str]) -> list[Callable[[], str]]:
        return [
            lambda: f"array_distinct({of('list')})",
            lambda: f"transform({of('list')}, x -> x + 1)",
            lambda: f"array(CAST({of('int')} AS INT), 2)",
        ]

    def _pair_forms(self, of: Callable[[str], str], streams: Sequence[str]) -> list[Callable[[], str]]:
        return [lambda: f"named_struct('a', CAST({of('int')} AS INT), 'b', {of('text')})"]

    def _wide_forms(self, of: Callable[[str], str], streams: Sequence[str]) -> list[Callable[[], str]]:
        return [lambda: f"coalesce({of('wide')}, 0L)", lambda: f"CAST({of('int')} AS BIGINT)"]

    def _local_forms(self, of: Callable[[str], str], streams: Sequence[str]) -> list[Callable[[], str]]:
        return [lambda: f"({of('local')} + INTERVAL 1 SECOND)", lambda: f"CAST({of('time')} AS TIMESTAMP_NTZ)"]
