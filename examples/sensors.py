"""One event seen by three kinds of sensors: readings near each other in time, place and strength.

Seismometers, microphones and cameras report where they think something happened and how strong it was. No column is
equal between two of them. The comparison is a function of arrays that cannot raise, so Braid decides it as soon as two
readings are joined, and time slices spread the comparisons of every reading over all units.
"""

import tempfile

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import braid

EVENTS = 40
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
directory = tempfile.mkdtemp(prefix="braid-sensors-")


def sensors(name: str, seed: int, blur_km: float) -> braid.Stream:
    """Readings of the same events, a little later and a little off, among three times as many of something else."""
    events, own = np.random.default_rng(7), np.random.default_rng(seed)
    seconds, places = events.uniform(0, 600, EVENTS), events.uniform(0, 100, (EVENTS, 3))
    rows = [
        (event, float(t + own.uniform(0, 2)), *(float(v) for v in place + own.normal(0, blur_km, 3)))
        for event, (t, place) in enumerate(zip(seconds, places, strict=True))
    ]
    rows += [(-1, float(own.uniform(0, 600)), *own.uniform(0, 100, 3).tolist()) for _ in range(3 * EVENTS)]
    frame = spark.createDataFrame(rows, "event int, at double, x double, y double, strength double")
    frame = frame.selectExpr("event", "timestamp_millis(1767254400000 + bigint(at * 1000)) AS ts", "x", "y", "strength")
    frame.coalesce(1).write.parquet(f"{directory}/{name}")
    live = spark.readStream.schema(frame.schema).parquet(f"{directory}/{name}")
    return braid.stream(name, live, time="ts", window="5 seconds", lateness="11 minutes")


def near(*columns: pa.Array) -> np.ndarray:
    """Whether two readings, each with x, y and strength, are at most 8 apart in all three together."""
    one, other = (np.stack([c.to_numpy() for c in side]) for side in (columns[:3], columns[3:]))
    return ((one - other) ** 2).sum(axis=0) <= 8**2


def reading(name: str) -> list[str]:
    return [f"{name}.x", f"{name}.y", f"{name}.strength"]


query = braid.join(sensors("ground", 1, 1.0), sensors("sound", 2, 1.5), sensors("camera", 3, 0.5))
for one, other in (("ground", "sound"), ("sound", "camera")):
    query = query.on(braid.udf(near, *reading(one), *reading(other), raises=False))
query = query.select("ground.event", "sound.event AS heard", "camera.event AS seen", "result_time")

run = (
    query.using(braid.TimeSliced()).writeStream.format("memory").queryName("alarms").trigger(availableNow=True).start()
)
run.awaitTermination()
run.explain("layout")
alarms = spark.table("alarms")
right = alarms.where("event >= 0 AND event = heard AND heard = seen").select("event").distinct().count()
print(f"{alarms.count()} alarms by all three kinds of sensors; {right} of {EVENTS} events found")
