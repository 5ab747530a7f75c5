"""A driver on a cluster across network namespaces: joins two streams by each algorithm, and says what it sees.

Run as a process of its own, since its session has another master than those of other tests.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

import braid
from braid.state.checkpoint import Checkpoint
from braid.state.files import LocalFiles
from tests.oracle.feeds import Feed, at

ROW = "id bigint, ts timestamp, k int, text string"
BATCHES, ROWS, KEYS = 2, 60, 20
PAYLOAD = "x" * 400


def add(feeds: list[Feed], batch: int) -> None:
    """Of the keys of each stream, half occur in the other."""
    for number, feed in enumerate(feeds):
        feed.add(*((ROWS * batch + n, at(batch), n % KEYS + number * KEYS // 2, PAYLOAD) for n in range(ROWS)))


def expected_rows() -> int:
    """Rows of the same key, over all batches."""
    each = BATCHES * ROWS // KEYS
    return KEYS // 2 * each * each


def main(place: Path, settings: dict[str, str], hosts: dict[str, str], algorithms: list[str]) -> None:
    """Join by each algorithm; then with a site that has no hosts; then until a site is lost."""
    builder = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.braid.siteWaitSeconds", "1")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    feeds = [Feed(spark, place / "input" / name, ROW) for name in "ab"]
    for batch in range(BATCHES):
        add(feeds, batch)

    def start(name: str, algorithm: str, hosts: dict[str, str], **trigger: object) -> braid.Run:
        sites = [braid.Site(site, hosts=[host], storage=str(place / "sites" / site)) for site, host in hosts.items()]
        made = [
            braid.stream(stream, feed.stream, time="ts", window="1 minute", site=site)
            for stream, feed, site in zip("ab", feeds, sites, strict=True)
        ]
        query = braid.join(*made).on("a.k = b.k").select("a.id AS a", "b.id AS b", "a.text AS text")
        writer = query.using(braid.Semijoin(algorithms=algorithm)).writeStream.format("parquet")
        writer = writer.option("checkpointLocation", f"file://{place}/checkpoint-{name}")
        return writer.trigger(**trigger).start(f"file://{place}/out-{name}")

    for algorithm in algorithms:
        run = start(algorithm, algorithm, hosts, availableNow=True)
        run.awaitTermination()
        links = [record["links"] for record in run.recentProgress]
        found = spark.read.parquet(f"file://{place}/out-{algorithm}").select("a", "b").distinct().count()
        say({"algorithm": algorithm, "rows": found, "links": links, "timed": timed(place / f"checkpoint-{algorithm}")})
    try:
        start("nowhere", "SP-D", {**hosts, "south": "10.77.0.99"}, availableNow=True)
    except braid.BraidError as error:
        say({"refused": str(error)})
    run = start("lost", "SP-D", hosts, processingTime="100 milliseconds")
    while run.lastProgress is None:
        time.sleep(0.05)
    say({"joining": True})
    while run.isActive:
        batch += 1
        add(feeds, batch)
        time.sleep(0.5)
    say({"lost": str(run.exception())})
    spark.stop()


def timed(checkpoint: Path) -> list[str]:
    """The ways of which a round was timed in which something was sent."""
    manifest = Checkpoint(LocalFiles(), str(checkpoint)).last_manifest()
    assert manifest is not None
    assert manifest.sites is not None
    return [f"{link.source} -> {link.target}" for link in manifest.sites.links if link.sent.points > 0]


def say(content: dict[str, object]) -> None:
    print(json.dumps(content), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(json.loads, sys.argv[2:5]))
