"""Three streams in one join: an advert shown, clicked within a minute, and followed by a purchase within ten.

The time limits are predicates; with window="auto" Braid derives from them how long each stream's rows are kept.
"""

import tempfile

from pyspark.sql import SparkSession

import braid

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
directory = tempfile.mkdtemp(prefix="braid-adverts-")


def feed(name: str, every: int, delay_seconds: int) -> braid.Stream:
    """Every so many visitors do it, so many seconds after they came."""
    rows = spark.range(0, 600, every).selectExpr(
        "id AS visitor", f"timestamp_seconds(1767254400 + id + {delay_seconds} + id % 90) AS ts"
    )
    rows.coalesce(1).write.parquet(f"{directory}/{name}")
    live = spark.readStream.schema(rows.schema).parquet(f"{directory}/{name}")
    return braid.stream(name, live, time="ts", window="auto", lateness="2 minutes")


query = (
    braid.join(feed("shown", 1, 0), feed("clicked", 5, 20), feed("bought", 25, 300))
    .on("shown.visitor = clicked.visitor AND clicked.visitor = bought.visitor")
    .on("clicked.ts BETWEEN shown.ts AND shown.ts + INTERVAL 1 MINUTE")
    .on("bought.ts BETWEEN clicked.ts AND clicked.ts + INTERVAL 10 MINUTES")
    .select("shown.visitor", "shown.ts AS shown_at", "bought.ts AS bought_at", "result_time")
)
query.explain("physical")
run = query.writeStream.format("memory").queryName("sales").trigger(availableNow=True).start()
run.awaitTermination()

print(f"{spark.table('sales').count()} purchases after a click")
