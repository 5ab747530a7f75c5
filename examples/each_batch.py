"""foreachBatch: the results of each step as a DataFrame, here as alarms of sensors that disagree with a neighbour."""

import tempfile

from pyspark.sql import DataFrame, SparkSession

import braid

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
directory = tempfile.mkdtemp(prefix="braid-sensors-")

rows = spark.range(400).selectExpr(
    "id % 10 AS sensor",
    "timestamp_seconds(1767254400 + id) AS ts",
    "20 + id % 10 / 10.0D + IF(id % 97 = 0, 5, 0) AS celsius",
)
rows.repartitionByRange(4, "ts").write.parquet(f"{directory}/readings")
readings = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1).parquet(f"{directory}/readings")

# Two streams may read one source: each is independent, and the files of both may come in any order.
one = braid.stream("one", readings, time="ts", window="5 seconds", lateness=braid.unbounded)
next_to = braid.stream("next_to", readings, time="ts", window="5 seconds", lateness=braid.unbounded)

alarms: dict[int, int] = {}


def raise_alarms(results: DataFrame, batch_id: int) -> None:
    """Called at least once a step, with the same rows for the same number: so an overwrite makes it exactly once."""
    alarms[batch_id] = results.count()


query = (
    braid.join(one, next_to)
    .on("next_to.sensor = one.sensor + 1 AND abs(one.celsius - next_to.celsius) > 3")
    .select("one.sensor", "one.ts", "one.celsius - next_to.celsius AS difference")
)
run = (
    query.writeStream.foreachBatch(raise_alarms)
    .option("checkpointLocation", f"{directory}/checkpoint")
    .trigger(availableNow=True)
    .start()
)
run.awaitTermination()

print(f"{len(alarms)} steps, {sum(alarms.values())} alarms")
