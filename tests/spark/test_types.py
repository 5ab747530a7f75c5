"""Columns of every type and of any name: kept and given back, or refused while the query is built, by name."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf
from pyspark.testing.objects import PythonOnlyPoint, PythonOnlyUDT

import braid
from braid import errors

NOON = time(12, 0)
DURATION = timedelta(days=1, hours=2, seconds=4.5)
POINT = "X'0101000000000000000000F03F0000000000000040'"
KEPT: dict[str, tuple[str, Any]] = {
    "time": ("CAST('12:00:00' AS time)", NOON),
    "interval": ("INTERVAL '1 02:00:04.5' DAY TO SECOND", DURATION),
    "days": ("INTERVAL 3 DAYS", timedelta(days=3)),
    "nothing": ("NULL", None),
    "nothings": ("array(NULL)", [None]),
    "collated": ("'Ab' COLLATE UTF8_LCASE", "Ab"),
    "char": ("CAST('ab' AS char(5))", "ab"),
    "varchar": ("CAST('ab' AS varchar(5))", "ab"),
    "wide": ("CAST(1.5 AS decimal(38, 10))", Decimal("1.5000000000")),
    "keyed": ("map(INTERVAL 1 SECOND, 1)", {timedelta(seconds=1): 1}),
    "times": ("array(CAST('12:00:00' AS time))", [NOON]),
    "nested": ("named_struct('x', array(INTERVAL 1 SECOND))", Row(x=[timedelta(seconds=1)])),
    "bytes": ("X'00ff'", b"\x00\xff"),
}
REFUSED: dict[str, tuple[str, list[str]]] = {
    "months": ("INTERVAL '1-2' YEAR TO MONTH", ["interval year to month", "CAST(c AS STRING)", "df.drop('c')"]),
    "calendar": ("make_interval(1, 2, 3, 4)", ["c has type interval", "CAST(c AS STRING)"]),
    "months inside": ("array(named_struct('x', INTERVAL '1' YEAR))", ["c.element.x has type interval year"]),
    "no fields": ("named_struct()", ["a struct without fields"]),
    "no fields inside": ("map('a', named_struct())", ["c.value is a struct without fields"]),
    "fields of one name": ("named_struct('x', 1, 'x', 2)", ["several fields named x", "named_struct(...)"]),
    "fields but for case": ("named_struct('x', 1, 'X', 2)", ["several fields named x"]),
    "an empty array": ("array()", ["array<void>", "Arrow cannot hold"]),
}
NAMES = [
    "#time",
    "#TIME2",
    "##time",
    "#hash",
    "#a0",
    "#report",
    "#out:0",
    "g0",
    "#keep",
    "#id:0",
    "a.b",
    "x`y",
    " ",
    "é",
]


@pytest.fixture(scope="module", autouse=True)
def times_of_day(spark: SparkSession) -> Any:
    spark.conf.set("spark.sql.timeType.enabled", "true")
    yield
    spark.conf.unset("spark.sql.timeType.enabled")


def join_of(frame: DataFrame) -> braid.Join:
    streams = [braid.stream(name, frame, time="ts", window="1 day") for name in ("o", "q")]
    return braid.join(*streams).on("o.id = q.id")


def one_row(spark: SparkSession, columns: str) -> DataFrame:
    return spark.sql(f"SELECT timestamp'2024-01-01' ts, 1 id, {columns}")


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def test_what_can_be_kept_comes_back(spark: SparkSession) -> None:
    frame = one_row(spark, ", ".join(f"{sql} AS {name}" for name, (sql, _) in KEPT.items()))
    computed = [f"coalesce(o.{name}, q.{name}) AS c_{name}" for name in KEPT]
    found = join_of(frame).select(*(f"o.{name}" for name in KEPT), *computed).batch().collect()
    assert len(found) == 1
    for name, (_, value) in KEPT.items():
        assert found[0][name] == value, name
        assert found[0][f"c_{name}"] == value, name


def test_what_can_be_compared_is_a_key_and_nulls_compare_as_nulls(spark: SparkSession) -> None:
    names = ["time", "interval", "collated", "wide", "bytes", "times", "varchar"]
    frame = one_row(spark, ", ".join(f"{KEPT[name][0]} AS {name}" for name in (*names, "nothing")))
    joined = join_of(frame).on(" AND ".join(f"o.{name} = q.{name} AND o.{name} <= q.{name}" for name in names))
    nulls = "o.nothing IS NULL AND (q.nothing IS NOT NULL OR o.nothing <=> q.nothing)"
    assert joined.on(nulls).select("o.id").batch().count() == 1


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_kept_is_refused_by_name(spark: SparkSession, case: str) -> None:
    sql, fragments = REFUSED[case]
    with pytest.raises(errors.StreamError) as caught:
        join_of(one_row(spark, f"{sql} AS c"))
    message = str(caught.value)
    assert all(fragment in message for fragment in ["The stream 'o'", "the column 'c'", *fragments]), message
    with pytest.raises(errors.QueryError) as caught_later:
        join_of(one_row(spark, "1 AS n")).select("o.id", f"{sql} AS c").plan()
    message = str(caught_later.value)
    assert "The selection cannot have the column 'c'" in message, message


def test_shapes_are_joined_but_not_selected_whole(spark: SparkSession) -> None:
    frame = one_row(spark, f"st_geomfromwkb({POINT}) AS geometry, st_geogfromwkb({POINT}) AS geography")
    joined = join_of(frame).on("st_srid(o.geometry) = st_srid(q.geometry) AND o.geography IS NOT NULL")
    for kind in ("geometry", "geography"):
        for selected in (joined.select(f"o.{kind}"), joined.select(f"array(o.{kind}) AS c")):
            with pytest.raises(errors.QueryError, match=rf"has type {kind}.*\n.*\nHint: .*st_asbinary"):
                selected.plan()
    with pytest.raises(errors.QueryError, match=r"column 'o': o\.geometry has type geometry"):
        joined.plan()
    found = joined.select("st_asbinary(o.geometry) AS a", "st_asbinary(q.geography) AS b").batch().collect()
    assert bytes(found[0]["a"]) == bytes(found[0]["b"]) == bytes.fromhex(POINT[2:-1])


@pytest.mark.parametrize(
    ("sql", "fragment"),
    [
        ("max(o.ts - q.ts) AS m", "unix_micros(o.ts) - unix_micros(q.ts)"),
        ("max(o.time) AS m", "CAST(... AS STRING)"),
        ("count(DISTINCT o.collated) AS m", "COLLATE UTF8_BINARY"),
        ("max(o.keyed) AS m", "to_json"),
        ("min(o.nothing) AS m", "CAST(... AS STRING)"),
        ("sum(o.interval) AS m", "unix_micros"),
    ],
)
def test_what_cannot_be_added_up_says_what_to_write(spark: SparkSession, sql: str, fragment: str) -> None:
    joined = join_of(one_row(spark, ", ".join(f"{made} AS {name}" for name, (made, _) in KEPT.items())))
    with pytest.raises(errors.QueryError) as caught:
        joined.groupBy("o.id").agg(sql)
    assert fragment in str(caught.value)
    assert sql.removesuffix(" AS m") in str(caught.value)


def test_a_user_defined_type(spark: SparkSession) -> None:
    schema = "ts timestamp, id int"
    frame = spark.createDataFrame([(datetime(2024, 1, 1), 1)], schema)
    point = sf.udf(lambda: PythonOnlyPoint(1.0, 2.0), PythonOnlyUDT())
    made = frame.withColumn("c", point()).localCheckpoint()
    found = join_of(made).select("o.c", "coalesce(o.c, q.c) AS d").batch().collect()
    assert found[0]["c"] == found[0]["d"] == PythonOnlyPoint(1.0, 2.0)


@pytest.mark.parametrize("how", ["selected", "ordered", "grouped"])
def test_result_columns_may_have_any_name(spark: SparkSession, how: str) -> None:
    frame = one_row(spark, ", ".join(f"{number} AS {quoted(name)}" for number, name in enumerate(NAMES)))
    columns = [f"o.{quoted(name)}" for name in NAMES]
    joined = join_of(frame)
    query = {
        "selected": lambda: joined.select(*columns, "bit_count(o.id) AS `#head`"),
        "ordered": lambda: joined.select(*columns).ordered(),
        "grouped": lambda: joined.groupBy(*columns).agg("count(*) AS `#rows`", "max(o.`g0`) AS `#a1`").ordered(),
    }[how]()
    found = query.batch().collect()
    assert [list(row)[: len(NAMES)] for row in found] == [list(range(len(NAMES)))]
    assert found[0].__fields__[: len(NAMES)] == NAMES


def test_a_column_named_as_the_time_of_release_reaches_a_function_in_order(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(datetime(2024, 1, 1, second=second), second) for second in (5, 1, 3)]
    spark.createDataFrame(rows, "ts timestamp, id int").coalesce(1).write.parquet(str(tmp_path / "in"))
    frame = spark.readStream.schema("ts timestamp, id int").parquet(str(tmp_path / "in"))
    seen: list[Any] = []
    query = join_of(frame).select("-o.id AS `#time`", "o.id AS `##TIME`").ordered()
    writer = query.writeStream.foreachBatch(lambda found, _: seen.extend(tuple(row) for row in found.collect()))
    writer = writer.options(checkpointLocation=str(tmp_path / "checkpoint"), endOfInput="flush")
    writer.trigger(availableNow=True).start().awaitTermination()
    assert seen == [(-1, 1), (-3, 3), (-5, 5)]


def test_files_of_others_beside_late_rows(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    late = spark.sql("SELECT * FROM VALUES (timestamp'2024-01-01', 1), (NULL, 2) AS t(ts, id)")
    late.coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
    frame = spark.readStream.schema("ts timestamp, id int").parquet(str(tmp_path / "in"))
    writer = join_of(frame).select("o.id").writeStream.format("noop").trigger(availableNow=True)
    directory = tmp_path / "checkpoint" / "late" / "o"

    def run() -> braid.Run:
        run = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        run.awaitTermination()
        return run

    run()
    ours = [path for path in directory.iterdir() if not path.name.startswith(".")]
    for name in ("_SUCCESS", ".DS_Store", ".notes.txt.crc", "notes.txt", "copy of a file.parquet", "x-1.parquet"):
        (directory / name).write_bytes(b"not a table")
    (directory / "1-2-3.parquet.d").mkdir()
    again = run()
    assert sorted(row["stream"] for row in again.late_rows().collect()) == ["o", "q"]

    whole = ours[0].read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], whole[:-9] + b"\xff" * 9):
        ours[0].write_bytes(damaged)
        with pytest.raises(errors.CorruptStateError) as caught:
            again.late_rows()
        assert ours[0].name in str(caught.value)
        assert "move it away" in str(caught.value)
