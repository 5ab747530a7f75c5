"""TPC-H as streams, and the three joins that the BiStream paper measures on it: Q5, Q7 and Band.

As in the paper, the small tables are joined beforehand: one stream has the suppliers with their nation and region, the
other the line items, each with only the columns its query needs. The selections stay in the question, so that every
system sees the same rows and may drop them as early as it can.

Each stream is spread evenly over the whole time of the workload, so its rate follows the size of its table. Rows
arrive shuffled by the seed: the time of a row says nothing about its keys, nor about when its partner comes. A window
therefore keeps only a part of the answer; the paper's figures, and the defaults here, are of the whole history.

A table of suppliers is tiny beside one of line items. To join streams of equal volume, as the paper does, a scale may
have all its suppliers and only a part of its line items, and the second stream of Band only a sample of its rows.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.workloads.workload import FIRST_SECOND, SECOND_US, TIME, Feed, Workload, named, window_text

SEED = 20_260
PROGRAM = "tpchgen-cli"
REQUIREMENT = "tpchgen-cli>=4,<5"  # its command line changes between majors
TABLES = ("region", "nation", "supplier", "lineitem")
DIRECTORY = Path(tempfile.gettempdir()) / "braid-tpch"
TYPES = {
    "orderkey": pa.int64(),
    "linenumber": pa.int64(),
    "suppkey": pa.int64(),
    "quantity": pa.int64(),  # whole numbers, though TPC-H calls them decimal
    "extendedprice": pa.float64(),
    "discount": pa.float64(),
    "shipdate": pa.date32(),
    "shipmode": pa.string(),
    "shipinstruct": pa.string(),
    "nation": pa.string(),
    "region": pa.string(),
}


class MissingGenerator(Exception):
    """The program that makes TPC-H's rows is not installed."""

    def __init__(self) -> None:
        super().__init__(f"TPC-H's rows are made by {PROGRAM}, which is not installed: pip install '{REQUIREMENT}'.")


@dataclass(frozen=True)
class Source:
    """The rows of a stream before they have a time: columns, and the query over TPC-H's tables that finds them.

    The query names its tables as `{tables}/lineitem.parquet` and orders by a key, so its rows always come alike.
    """

    columns: tuple[str, ...]
    query: str


@dataclass(frozen=True)
class Arrivals:
    """How tables become streams: the scale factor, the time over which rows arrive, where tables are kept.

    Of the line items, the table has the first of so many parts.
    """

    scale_factor: float
    seconds: float
    directory: Path
    line_item_parts: int = 1

    @property
    def length_us(self) -> int:
        return round(self.seconds * SECOND_US)


SUPPLIERS = Source(
    ("suppkey", "nation", "region"),
    """
    SELECT s_suppkey, n_name, r_name
    FROM '{tables}/supplier.parquet'
    JOIN '{tables}/nation.parquet' ON s_nationkey = n_nationkey
    JOIN '{tables}/region.parquet' ON n_regionkey = r_regionkey
    ORDER BY s_suppkey
    """,
)


def line_items(*columns: str) -> Source:
    """The line items with these columns and their key."""
    taken = ("orderkey", "linenumber", *columns)
    names = ", ".join(f"l_{column}" for column in taken)
    return Source(taken, f"SELECT {names} FROM '{{tables}}/lineitem.parquet' ORDER BY l_orderkey, l_linenumber")


def line_items_with_nation(*columns: str) -> Source:
    """The line items with the nation of their supplier beside these columns."""
    plain = line_items(*columns)
    query = f"""
    SELECT {", ".join(f"l_{column}" for column in plain.columns)}, n_name
    FROM '{{tables}}/lineitem.parquet'
    JOIN '{{tables}}/supplier.parquet' ON l_suppkey = s_suppkey
    JOIN '{{tables}}/nation.parquet' ON s_nationkey = n_nationkey
    ORDER BY l_orderkey, l_linenumber
    """
    return Source((*plain.columns, "nation"), query)


def q5(
    scale_factor: float = 0.1,
    window_seconds: float | None = None,
    seconds_per_batch: float = 1,
    batches: int = 30,
    directory: Path = DIRECTORY,
    line_item_parts: int = 1,
) -> Workload:
    """Line items and the suppliers of one region, the largest join inside TPC-H's Q5."""
    arrivals = Arrivals(scale_factor, seconds_per_batch * batches, directory, line_item_parts)
    return Workload(
        name="tpch-q5",
        title=f"TPC-H Q5, ((region ⋈ nation) ⋈ supplier) ⋈ lineitem, {window_text(window_seconds)}",
        feeds=(
            _feed("supplier", 0, SUPPLIERS, arrivals),
            _feed("lineitem", 1, line_items("suppkey", "extendedprice", "discount"), arrivals),
        ),
        on="supplier.suppkey = lineitem.suppkey AND supplier.region = 'ASIA'",
        select=(
            *named("supplier", "suppkey", "nation"),
            *named("lineitem", "orderkey", "linenumber", "extendedprice", "discount"),
        ),
        seconds_per_batch=seconds_per_batch,
        batches=batches,
        window_seconds=window_seconds,
    )


def q7(
    scale_factor: float = 0.1,
    window_seconds: float | None = None,
    seconds_per_batch: float = 1,
    batches: int = 30,
    directory: Path = DIRECTORY,
    line_item_parts: int = 1,
) -> Workload:
    """Line items shipped in two years and the suppliers of two nations, the largest join inside TPC-H's Q7."""
    arrivals = Arrivals(scale_factor, seconds_per_batch * batches, directory, line_item_parts)
    return Workload(
        name="tpch-q7",
        title=f"TPC-H Q7, (supplier ⋈ nation) ⋈ lineitem, {window_text(window_seconds)}",
        feeds=(
            _feed("supplier", 0, SUPPLIERS, arrivals),
            _feed("lineitem", 1, line_items("suppkey", "extendedprice", "discount", "shipdate"), arrivals),
        ),
        on=(
            "supplier.suppkey = lineitem.suppkey AND supplier.nation IN ('FRANCE', 'GERMANY')"
            " AND lineitem.shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'"
        ),
        select=(
            *named("supplier", "suppkey", "nation"),
            *named("lineitem", "orderkey", "linenumber", "shipdate", "extendedprice", "discount"),
        ),
        seconds_per_batch=seconds_per_batch,
        batches=batches,
        window_seconds=window_seconds,
    )


def band(
    scale_factor: float = 0.1,
    window_seconds: float | None = None,
    seconds_per_batch: float = 1,
    batches: int = 30,
    directory: Path = DIRECTORY,
    one_in: int = 1,
    with_nation: bool = False,
) -> Workload:
    """Line items of the same order or a neighbouring one: a band, with selections on both sides.

    The second stream has one row in so many, the first may have the nation of the supplier.
    """
    arrivals = Arrivals(scale_factor, seconds_per_batch * batches, directory)
    selections = "l1.shipmode = 'TRUCK' AND l2.shipinstruct = 'NONE' AND l1.quantity > 48"
    return Workload(
        name="tpch-band",
        title=f"TPC-H Band, |l1.orderkey - l2.orderkey| <= 1, {window_text(window_seconds)}",
        feeds=(
            _feed("l1", 1, (line_items_with_nation if with_nation else line_items)("quantity", "shipmode"), arrivals),
            _feed("l2", 2, line_items("shipinstruct"), arrivals, one_in),
        ),
        on=f"abs(l1.orderkey - l2.orderkey) <= 1 AND {selections}",
        select=(
            *(f"{s}.{column} AS {s}_{column}" for s in ("l1", "l2") for column in ("orderkey", "linenumber")),
            *(("l1.nation AS nation",) if with_nation else ()),
        ),
        seconds_per_batch=seconds_per_batch,
        batches=batches,
        window_seconds=window_seconds,
        expected_on=f"l1.orderkey BETWEEN l2.orderkey - 1 AND l2.orderkey + 1 AND {selections}",
    )


def generator() -> str | None:
    """The program that makes the rows: beside this Python, or on the path."""
    places = (str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
    return shutil.which(PROGRAM, path=os.pathsep.join(places))


def tables(scale_factor: float, directory: Path, line_item_parts: int = 1) -> Path:
    """A directory with the tables as parquet files, made now unless it is there. It appears whole or not at all."""
    made = directory / f"scale-{scale_factor:g}{'' if line_item_parts == 1 else f'-of-{line_item_parts}'}"
    if made.exists():
        return made
    program = generator()
    if program is None:
        raise MissingGenerator
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix="making-") as scratch:
        output = Path(scratch) / "tables"
        options = ("parquet", "--quiet", "--scale-factor", f"{scale_factor:g}", "--output-dir", str(output))
        whole = [table for table in TABLES if line_item_parts == 1 or table != "lineitem"]
        subprocess.run([program, *options, "--tables", ",".join(whole)], check=True)
        if line_item_parts > 1:
            part = ("--tables", "lineitem", "--parts", str(line_item_parts), "--part", "1")
            subprocess.run([program, *options, *part], check=True)
            (output / "lineitem" / "lineitem.1.parquet").rename(output / "lineitem.parquet")
        output.rename(made)
    return made


def arrived(source: Source, number: int, arrivals: Arrivals, one_in: int = 1) -> pa.Table:
    """A whole stream: the rows of a source, shuffled, with their times. Streams of other numbers shuffle otherwise.

    A sample has one row in so many.
    """
    made = tables(arrivals.scale_factor, arrivals.directory, arrivals.line_item_parts)
    with duckdb.connect() as connection:
        rows = connection.sql(source.query.format(tables=made)).to_arrow_table()
    order = np.random.default_rng([SEED, number]).permutation(rows.num_rows)[::one_in]
    times_us = FIRST_SECOND * SECOND_US + np.arange(len(order)) * arrivals.length_us // max(1, len(order))
    columns = [*rows.take(pa.array(order)).columns, pa.array(times_us)]
    schema = _schema(source)
    return pa.table([column.cast(field.type) for column, field in zip(columns, schema, strict=True)], schema=schema)


def _feed(name: str, number: int, source: Source, arrivals: Arrivals, one_in: int = 1) -> Feed:
    """The stream a second at a time; its tables are read when the first second is asked for."""

    @cache
    def whole() -> pa.Table:
        return arrived(source, number, arrivals, one_in)

    def second(at: int) -> pa.Table:
        begin, end = (_first_row(whole().num_rows, edge, arrivals) for edge in (at, at + 1))
        return whole().slice(begin, end - begin)

    return Feed(name, _schema(source), second)


def _first_row(rows: int, second: int, arrivals: Arrivals) -> int:
    """The first of the evenly spread rows that does not come before a second."""
    return min(rows, -(-second * SECOND_US * rows // arrivals.length_us))


def _schema(source: Source) -> pa.Schema:
    return pa.schema([*((column, TYPES[column]) for column in source.columns), ("ts", TIME)])
