"""The same story in three feeds, in other words: near-duplicate documents by the similarity of their vectors.

Comparing two documents is expensive, and nothing but time says which ones to compare. Both comparisons cannot raise, so
Braid makes each as soon as its two documents are joined, and the cheap selective one first, as it measures them. Time
slices spread the comparisons of every document over all units.
"""

import tempfile

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import braid

LENGTH = 256  # of the vector that a model makes of a document
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
directory = tempfile.mkdtemp(prefix="braid-news-")


def feed(name: str, seed: int) -> braid.Stream:
    """A story every five seconds. All feeds bring the same 60 stories, each with some words of its own."""
    stories, own = np.random.default_rng(7).normal(size=(60, LENGTH)), np.random.default_rng(seed)
    written = stories + own.normal(scale=0.2, size=stories.shape)
    rows = [
        (story, 1767254400 + 5 * story + int(own.integers(0, 20)), 300 + 20 * (story % 9), vector.tolist())
        for story, vector in enumerate(written)
    ]
    frame = spark.createDataFrame(rows, "story int, at long, words int, vector array<double>")
    frame = frame.selectExpr("story", "timestamp_seconds(at) AS ts", "words", "vector")
    frame.coalesce(1).write.parquet(f"{directory}/{name}")
    live = spark.readStream.schema(frame.schema).parquet(f"{directory}/{name}")
    return braid.stream(name, live, time="ts", window="30 seconds", lateness="1 minute")


def similar(one: pa.Array, other: pa.Array) -> np.ndarray:
    """Whether the angle between two documents is small: a product of 256 numbers for every pair."""
    left, right = (array.flatten().to_numpy().reshape(-1, LENGTH) for array in (one, other))
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return (left * right).sum(axis=1) >= 0.9 * lengths


def of_like_length(one: pa.Array, other: pa.Array) -> np.ndarray:
    """Whether two documents have about as many words."""
    return np.abs(one.to_numpy() - other.to_numpy()) <= 10


query = braid.join(feed("agency", 1), feed("paper", 2), feed("blog", 3))
for one, other in (("agency", "paper"), ("paper", "blog")):
    query = query.on(braid.udf(similar, f"{one}.vector", f"{other}.vector", raises=False))
    query = query.on(braid.udf(of_like_length, f"{one}.words", f"{other}.words", raises=False))
query = query.select("agency.story", "agency.ts AS first_seen", "result_time").using(braid.TimeSliced())

run = query.writeStream.format("memory").queryName("copies").trigger(availableNow=True).start()
run.awaitTermination()
run.explain("physical")
print(f"{spark.table('copies').count()} stories were in all three feeds")
