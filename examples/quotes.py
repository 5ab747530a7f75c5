"""Orders and quotes of one symbol whose prices differ by at most five cents: the join of the README, on files."""

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import braid

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
directory = Path(tempfile.mkdtemp(prefix="braid-quotes-")).as_posix()

# Two little feeds: an order a second, three quotes a second, prices that wander.
rows = spark.range(300).selectExpr(
    "id",
    "timestamp_seconds(1767254400 + id) AS ts",
    "element_at(array('AAA', 'BBB', 'CCC'), int(id % 3) + 1) AS symbol",
    "round(100 + 2 * sin(id / 20), 2) AS price",
)
rows.coalesce(1).write.parquet(f"{directory}/orders")
quotes = rows.selectExpr("explode(array(0, 1, 2)) AS n", "*").selectExpr(
    "id * 3 + n AS id",
    "ts + make_interval(0, 0, 0, 0, 0, 0, n) AS ts",
    "symbol",
    "round(price + n / 20 - 0.04, 2) AS price",
)
quotes.coalesce(1).write.parquet(f"{directory}/quotes")

orders_df = spark.readStream.schema(rows.schema).parquet(f"{directory}/orders")
quotes_df = spark.readStream.schema(quotes.schema).parquet(f"{directory}/quotes")

orders = braid.stream("o", orders_df, time="ts", window="10 minutes", lateness="5 seconds")
quotes = braid.stream("q", quotes_df, time="ts", window="10 minutes", lateness="5 seconds")

query = (
    braid.join(orders, quotes)
    .on("o.symbol = q.symbol AND abs(o.price - q.price) <= 0.05")
    .select("o.id AS order_id", "q.id AS quote_id", "o.price - q.price AS slip")
)
query.explain()
run = (
    query.writeStream.format("parquet")
    .option("path", f"{directory}/out")
    .option("checkpointLocation", f"{directory}/ckpt")
    .trigger(availableNow=True)
    .start()
)
run.awaitTermination()

matches = spark.read.parquet(f"{directory}/out")
print(f"{matches.count()} matches of {matches.select('order_id').distinct().count()} orders")
matches.orderBy("order_id", "quote_id").show(5)
