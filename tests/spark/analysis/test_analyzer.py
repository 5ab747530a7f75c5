"""Analysis of predicates and selections: names, cuts, equalities, what can raise, and every mistake's message."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from braid import errors
from braid.analysis import AnalyzedStream, Analyzer
from braid.plan.expressions import Constant
from braid.plan.predicate import Conjunct

COLUMNS = "b tinyint, i int, str string, ts timestamp, n timestamp_ntz, dt date"


def stream(name: str, ddl: str, time: str = "ts") -> AnalyzedStream:
    return AnalyzedStream(name, StructType.fromDDL(ddl), time)


@pytest.fixture(scope="module")
def analyzer(spark: SparkSession) -> Analyzer:
    shared = "ts timestamp, id int, price double, symbol string"
    orders = stream("o", f"{shared}, big bigint, addr struct<city:string,no:int>, tags array<int>")
    quotes = stream("q", f"{shared}, size smallint, `od``d na.me` int, `end` int, v interval second")
    return Analyzer(spark, [orders, quotes])


def sqls(conjuncts: Sequence[Conjunct]) -> list[str]:
    return [conjunct.sql for conjunct in conjuncts]


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("o.price > 1", "`o.price` > 1"),
        ("O.PRICE > 1", "`o.price` > 1"),
        ("size > 1", "`q.size` > 1"),
        ("o.addr.city = 'x'", "`o.addr`.city = 'x'"),
        ("addr.no = 1", "`o.addr`.no = 1"),
        ("o.tags[q.id] = o.tags[0]", "`o.tags`[`q.id`] = `o.tags`[0]"),
        ("q.`od``d na.me` = 1", "`q.od``d na.me` = 1"),
        ("`q`.`end` = 1", "`q.end` = 1"),
        ("q . price /* o.x */ > 1 -- o.y", "`q.price` /* o.x */ > 1"),
        ("'😀 o.id' = o.symbol", "'😀 o.id' = `o.symbol`"),
        ("exists(o.tags, id -> id > q.id + size)", "exists(`o.tags`, id -> id > `q.id` + `q.size`)"),
        (
            "exists(tags, x -> exists(tags, y -> x > y + big))",
            "exists(`o.tags`, x -> exists(`o.tags`, y -> x > y + `o.big`))",
        ),
    ],
)
def test_names_become_flat(analyzer: Analyzer, text: str, sql: str) -> None:
    (conjunct,) = analyzer.predicate(text)
    assert conjunct.sql == sql


def test_names_are_case_sensitive_when_spark_is(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        strict = Analyzer(spark, [stream("o", "ts timestamp, a int"), stream("q", "ts timestamp, A int")])
        (conjunct,) = strict.predicate("a = A")
        assert conjunct.sql == "`o.a` = `q.A`"
        with pytest.raises(errors.UnknownColumnError):
            strict.predicate("o.A = 1")
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_a_stream_wins_over_a_column_of_its_name(spark: SparkSession) -> None:
    analyzer = Analyzer(
        spark, [stream("o", "ts timestamp, q struct<x:int>, x int"), stream("q", "ts timestamp, x int")]
    )
    assert sqls(analyzer.predicate("q.x = o.q.x")) == ["`q.x` = `o.q`.x"]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("o.id = 1 AND q.id = 2", ["o.id = 1", "q.id = 2"]),
        ("(o.id = 1 AND ((q.id = 2) and o.id > 3))", ["o.id = 1", "q.id = 2", "o.id > 3"]),
        (
            "o.id BETWEEN 1 AND 2 AND q.id NOT BETWEEN q.id AND 5",
            ["o.id BETWEEN 1 AND 2", "q.id NOT BETWEEN q.id AND 5"],
        ),
        ("o.id = 1 AND q.id = 2 OR o.id = 3", ["o.id = 1 AND q.id = 2 OR o.id = 3"]),
        ("(o.id = 1 OR q.id = 2) AND o.id = 3", ["o.id = 1 OR q.id = 2", "o.id = 3"]),
        (
            "CASE WHEN o.id = 1 AND q.id = 2 THEN true END AND o.id = 3",
            ["CASE WHEN o.id = 1 AND q.id = 2 THEN true END", "o.id = 3"],
        ),
        ("NOT (o.id = 1 AND q.id = 2) AND o.id = 3", ["NOT (o.id = 1 AND q.id = 2)", "o.id = 3"]),
        ("o.symbol = 'a AND b' AND q.symbol = \"c' AND (\"", ["o.symbol = 'a AND b'", 'q.symbol = "c\' AND ("']),
        ("o.id = 1 /* AND */ AND -- AND\n q.id = 2", ["o.id = 1", "q.id = 2"]),
        ("(o.id) = (q.id) AND (o.id, q.id) IN ((1, 2))", ["(o.id) = (q.id)", "(o.id, q.id) IN ((1, 2))"]),
        ("q.end = 1 AND o.id = 2", ["q.end = 1", "o.id = 2"]),
        ("exists(o.tags, x -> x > 1 AND x < 3) AND q.id = 2", ["exists(o.tags, x -> x > 1 AND x < 3)", "q.id = 2"]),
    ],
)
def test_conjuncts_are_cut_at_the_outermost_and(analyzer: Analyzer, text: str, pieces: list[str]) -> None:
    assert [conjunct.written for conjunct in analyzer.predicate(text)] == pieces


@pytest.mark.parametrize(
    ("text", "left", "right", "type"),
    [
        ("o.id = q.id", "`o.id`", "`q.id`", "int"),
        ("o.big == q.id", "`o.big`", "CAST(`q.id` AS BIGINT)", "bigint"),
        ("upper(o.symbol) = concat(q.symbol, '=')", "upper(`o.symbol`)", "concat(`q.symbol`, '=')", "string"),
        ("(o.id + 1) = q.id", "(`o.id` + 1)", "`q.id`", "int"),
        ("o.id -- left\n = /* = */ q.size -- right", "`o.id`", "CAST(`q.size` AS INT)", "int"),
        ("o.addr.no = q.id", "`o.addr`.no", "`q.id`", "int"),
        (
            "CAST(o.id AS decimal(12,2)) = q.size",
            "CAST(`o.id` AS decimal(12,2))",
            "CAST(`q.size` AS DECIMAL(12,2))",
            "decimal(12,2)",
        ),
    ],
)
def test_equalities(analyzer: Analyzer, text: str, left: str, right: str, type: str) -> None:
    (conjunct,) = analyzer.predicate(text)
    assert conjunct.equality is not None
    assert not conjunct.equality.null_safe
    assert (conjunct.equality.left.sql, conjunct.equality.right.sql) == (left, right)
    assert conjunct.equality.left.type == conjunct.equality.right.type == type
    assert (conjunct.equality.left.stream, conjunct.equality.right.stream) == (0, 1)


def test_null_safe_equality(analyzer: Analyzer) -> None:
    (conjunct,) = analyzer.predicate("q.id <=> o.id")
    assert conjunct.equality is not None
    assert conjunct.equality.null_safe
    assert conjunct.equality.left.stream == 1


@pytest.mark.parametrize(
    "text",
    [
        "o.id = 1",
        "o.id + q.id = 3",
        "o.id = o.big",
        "o.id < q.id",
        "o.symbol COLLATE UTF8_LCASE = q.symbol",
        "NOT o.id = q.id",
    ],
)
def test_no_equality(analyzer: Analyzer, text: str) -> None:
    assert analyzer.predicate(text)[0].equality is None


def test_collations_stay_in_the_jvm(analyzer: Analyzer) -> None:
    assert analyzer.predicate("o.symbol COLLATE UTF8_LCASE = q.symbol")[0].in_jvm


def test_null_is_a_boolean(analyzer: Analyzer) -> None:
    (conjunct,) = analyzer.predicate("NULL")
    assert (conjunct.sql, conjunct.expression) == ("CAST(NULL AS BOOLEAN)", Constant(None, "boolean"))


@pytest.mark.parametrize(
    ("text", "raises"),
    [
        ("o.price / 2 > q.price", False),
        ("o.price / q.price > 1", True),
        ("o.id + 1 > q.id", True),
        ("o.id % 3 = q.id", False),
        ("abs(o.price - q.price) < 1", False),
        ("CAST(o.symbol AS int) = q.id", True),
        ("o.symbol LIKE 'a%'", False),
        ("o.symbol LIKE q.symbol", True),
        ("o.tags[0] = 1", True),
        ("upper(o.symbol) = substring(q.symbol, 1, 3)", False),
        ("year(o.ts) = 2020 AND date_trunc('hour', o.ts) = q.ts", False),
        ("o.ts - q.ts < INTERVAL 1 DAY", False),
        ("o.ts + q.v > q.ts", True),
        ("q.ts > TIMESTAMP '2020-01-01' AND q.ts > '2020-01-01'", False),
        ("raise_error('x')", True),
        ("try_add(o.id, 1) = q.id", False),
        ("assert_true(o.id = 1) IS NULL", True),
    ],
)
def test_what_can_raise(analyzer: Analyzer, text: str, raises: bool) -> None:
    assert any(conjunct.raises for conjunct in analyzer.predicate(text)) is raises


def test_without_ansi_arithmetic_does_not_raise(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        lenient = Analyzer(spark, [stream("o", COLUMNS), stream("q", COLUMNS)])
        for conjunct in lenient.predicate("o.i + q.i > 0 AND o.i / q.i > 0 AND CAST(o.str AS int) > 0 AND -o.b > 0"):
            assert not conjunct.raises, conjunct
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_time_zones_with_changing_offsets_keep_day_intervals_in_the_jvm(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Vienna")
    try:
        local = Analyzer(spark, [stream("o", COLUMNS), stream("q", COLUMNS)])
        kept = ["o.ts + INTERVAL 1 DAY > q.ts", "o.ts - q.ts > INTERVAL 1 SECOND", "o.dt = q.ts", "o.n = q.ts"]
        assert all(local.predicate(text)[0].in_jvm for text in kept)
        ours = [
            "o.ts + INTERVAL 23 HOURS > q.ts",
            "o.n + INTERVAL 1 DAY > q.n",
            "o.n - q.n > INTERVAL 1 SECOND",
            "o.dt = q.n",
        ]
        assert not any(local.predicate(text)[0].in_jvm for text in ours)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


MISTAKES = [
    ("o.prize = 1", errors.UnknownColumnError, ["reads o.prize", "ts, id, price", "did you mean o.price?"]),
    ("prize = 1", errors.UnknownColumnError, ["no stream has", "o.price", "q.size", "did you mean price?"]),
    ("z.price = 1", errors.UnknownStreamError, ["z is no stream", "Streams: o, q."]),
    ("price = 1", errors.AmbiguousColumnError, ["several streams have: o, q", "o.price or q.price"]),
    ("result_time > o.ts", errors.UnknownColumnError, ["only in selections"]),
    ("o.id = = 1", errors.SyntaxProblem, ["near '='", "o.id = = 1\n       ^"]),
    ("'😀' = \n  o.id) ", errors.SyntaxProblem, ["  o.id) \n      ^"]),
    ("", errors.SyntaxProblem, ["empty"]),
    (" \n", errors.SyntaxProblem, ["empty"]),
    ("o.id = 1 AS x", errors.SyntaxProblem, ["ends with a name, x"]),
    ("o.id", errors.PredicateTypeError, ["has type int, not boolean"]),
    ("o.id = 1 AND q.symbol", errors.PredicateTypeError, ["q.symbol has type string"]),
    ("rand() > 0.5", errors.NondeterministicError, ["rand()"]),
    ("uuid() = o.symbol", errors.NondeterministicError, ["uuid()"]),
    ("o.ts < current_timestamp()", errors.NondeterministicError, ["current_timestamp()"]),
    ("o.ts < current_timestamp", errors.NondeterministicError, ["current_timestamp()"]),
    ("o.ts < now()", errors.NondeterministicError, ["now()"]),
    ("current_date = DATE'2020-01-01'", errors.NondeterministicError, ["current_date()"]),
    ("o.id IN (SELECT 1)", errors.UnsupportedExpressionError, ["a subquery"]),
    ("EXISTS (SELECT 1)", errors.UnsupportedExpressionError, ["a subquery"]),
    ("o.id = (SELECT 1)", errors.UnsupportedExpressionError, ["a subquery"]),
    ("sum(o.id) > 1", errors.UnsupportedExpressionError, ["an aggregate"]),
    ("sum(o.id) OVER () > 1", errors.UnsupportedExpressionError, ["a window function"]),
    ("explode(o.tags) > 1", errors.UnsupportedExpressionError, ["a generator"]),
    ("explode(o.tags)", errors.UnsupportedExpressionError, ["a generator"]),
    ("struct(o.*) = o.addr", errors.UnsupportedExpressionError, ["name the columns"]),
    ("o.id + true > 1", errors.QueryError, ["data type mismatch"]),
    ("nonsense(o.id)", errors.QueryError, ["nonsense"]),
    ("o.addr.street = 'x'", errors.QueryError, ["street", "city"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "fragments"), MISTAKES)
def test_mistakes_in_predicates(analyzer: Analyzer, text: str, kind: type[Exception], fragments: list[str]) -> None:
    with pytest.raises(kind) as caught:
        analyzer.predicate(text)
    message = str(caught.value)
    assert all(fragment in message for fragment in fragments), message
    assert "Hint: " in message
    assert "Project [" not in message
    assert "SQLSTATE" not in message


def test_python_predicates(analyzer: Analyzer) -> None:
    def close(left: pa.Array, right: pa.Array) -> pa.Array:
        return left

    conjunct = analyzer.python_predicate(close, ["O.price", "size"], 0.1, None)
    assert conjunct.function is not None
    assert conjunct.function.columns == ("o.price", "q.size")
    assert (conjunct.function.name, conjunct.streams, conjunct.raises) == ("close", {0, 1}, True)


@pytest.mark.parametrize(
    ("column", "kind", "fragment"),
    [
        ("o.price + 1", errors.QueryError, "not a whole column"),
        ("o.addr.city", errors.QueryError, "not a whole column"),
        ("o.prize", errors.UnknownColumnError, "no column prize"),
        ("price", errors.AmbiguousColumnError, "several streams"),
        ("current_date", errors.QueryError, "not a whole column"),
    ],
)
def test_mistakes_in_python_predicates(analyzer: Analyzer, column: str, kind: type[Exception], fragment: str) -> None:
    with pytest.raises(kind, match=fragment):
        analyzer.python_predicate(len, [column], None, None)


def test_selection_names(analyzer: Analyzer) -> None:
    texts = ["o.price", "q.price AS q_price", "o.addr.city", "o.price - q.price", "size + o.id", "result_time",
             "upper(o.symbol) `Up per`", "q.id other", "'o.id'", "o.addr AS `as`", "CAST(o.big AS int)"]  # fmt: skip
    names = [output.name for output in analyzer.selection(texts)]
    assert names == ["price", "q_price", "city", "(o.price - q.price)", "(size + o.id)", "result_time",
                     "Up per", "other", "o.id", "as", "big"]  # fmt: skip


def test_selection_text_and_types(analyzer: Analyzer) -> None:
    texts = ["o.id AS `x``y`", "q.id one", "/* a */ o.addr -- b", "result_time", "o.id + size AS total -- c"]
    outputs = analyzer.selection(texts)
    assert [output.name for output in outputs] == ["x`y", "one", "addr", "result_time", "total"]
    assert [output.sql for output in outputs] == ["`o.id`", "`q.id`", "`o.addr`", "`result_time`", "`o.id` + `q.size`"]
    assert [json.loads(output.type_json) for output in outputs][0:2] == ["integer", "integer"]
    assert outputs[3].columns[0].stream == -1
    assert outputs[3].columns[0].type == "timestamp"
    assert all(output.expression is not None for output in outputs)


def test_stars(analyzer: Analyzer) -> None:
    assert [o.name for o in analyzer.selection(["o.*"])] == ["ts", "id", "price", "symbol", "big", "addr", "tags"]
    with pytest.raises(errors.QueryError, match="several columns with one name: id, price, symbol, ts"):
        analyzer.selection(["*"])


def test_default_selection(analyzer: Analyzer) -> None:
    outputs = analyzer.default_selection()
    assert [output.name for output in outputs] == ["o", "q", "result_time"]
    assert outputs[0].fields is not None
    assert [name for name, _ in outputs[0].fields] == ["ts", "id", "price", "symbol", "big", "addr", "tags"]
    fields = json.loads(outputs[1].type_json)["fields"]
    assert [field["name"] for field in fields] == ["ts", "id", "price", "symbol", "size", "od`d na.me", "end", "v"]


@pytest.mark.parametrize(
    ("texts", "kind", "fragment"),
    [
        (["o.id", "q.ID"], errors.QueryError, "ID, id"),
        (["o.id AS a", "q.id AS A"], errors.QueryError, "alias"),
        (["z.*"], errors.UnknownStreamError, "Streams: o, q"),
        (["struct(o.*)"], errors.UnsupportedExpressionError, "name the columns"),
        (["count(*)"], errors.UnsupportedExpressionError, "an aggregate"),
        (["explode(o.tags)"], errors.UnsupportedExpressionError, "a generator"),
        (["stack(2, 1, 2) AS (x, y)"], errors.UnsupportedExpressionError, "several names"),
        (["rand()"], errors.NondeterministicError, "rand"),
        (["o.id, q.id"], errors.SyntaxProblem, "near ','"),
        ([], errors.QueryError, "without expressions"),
    ],
)
def test_mistakes_in_selections(analyzer: Analyzer, texts: list[str], kind: type[Exception], fragment: str) -> None:
    with pytest.raises(kind, match=fragment):
        analyzer.selection(texts)
