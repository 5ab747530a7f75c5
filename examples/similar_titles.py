"""A join on a Python function: listings of two shops, within an hour, whose titles share most of their words."""

import tempfile

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import braid

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
directory = tempfile.mkdtemp(prefix="braid-titles-")

LEFT = ["red city bike 28 inch", "walnut writing desk", "cast iron pan 26 cm", "wool blanket grey large"]
RIGHT = ["city bike red 28 inch used", "iron pan cast 26 cm", "oak writing desk small", "large grey wool blanket"]


def share_words(left: pa.Array, right: pa.Array) -> np.ndarray:
    """Whether the common words are at least 60 % of all words, for each candidate pair."""
    answers = []
    for one, other in zip(left.to_pylist(), right.to_pylist(), strict=True):
        words, others = set(one.split()), set(other.split())
        answers.append(len(words & others) >= 0.6 * len(words | others))
    return np.array(answers, dtype=bool)


def feed(name: str, titles: list[str]) -> braid.Stream:
    rows = spark.createDataFrame(list(enumerate(titles)), "id int, title string").selectExpr(
        "id", "title", "timestamp_seconds(1767254400 + 60 * id) AS ts"
    )
    rows.coalesce(1).write.parquet(f"{directory}/{name}")
    live = spark.readStream.schema(rows.schema).parquet(f"{directory}/{name}")
    return braid.stream(name, live, time="ts", window="1 hour")


query = (
    braid.join(feed("a", LEFT), feed("b", RIGHT))
    .on(braid.udf(share_words, "a.title", "b.title", selectivity=0.1))
    .select("a.title AS here", "b.title AS there")
)
run = query.writeStream.format("memory").queryName("similar").trigger(availableNow=True).start()
run.awaitTermination()

similar = spark.table("similar").orderBy("here").collect()
for row in similar:
    print(f"{row.here}  ~  {row.there}")
print(f"{len(similar)} similar titles")
