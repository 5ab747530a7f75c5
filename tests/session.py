"""Sessions of Spark as all tests start them: on this machine, in UTC, quiet, and ready soon.

Nothing here imports PySpark before a session is started.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TESTS = Path(__file__).parent
# A JVM of the tests ends before much compiling pays: with the first compiler alone, Spark tests take half the CPU time.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
# Written by `make test`: tests/class_archive.py says why.
CLASS_ARCHIVE = Path(sys.prefix) / ".spark-classes.jsa"
SHARED_CLASSES = f" -XX:SharedArchiveFile={CLASS_ARCHIVE} -Xlog:disable" if CLASS_ARCHIVE.exists() else ""
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # A host name that does not resolve must not stop the tests.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": JAVA_OPTIONS + SHARED_CLASSES,
    "spark.executor.extraJavaOptions": JAVA_OPTIONS + SHARED_CLASSES,
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.metricsEnabled": "false",
}


def start_session(scratch: Path | str, master: str = "local[2]", more: Mapping[str, str] | None = None) -> SparkSession:
    """A session that writes nothing outside the directory."""
    prepare_worker_environment()
    from pyspark.sql import SparkSession

    places = {"spark.local.dir": f"{scratch}/local", "spark.sql.warehouse.dir": f"{scratch}/warehouse"}
    builder = SparkSession.builder.master(master).appName("braid-tests")
    for name, value in {**SETTINGS, **places, **(more or {})}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel((more or SETTINGS).get("spark.log.level", "ERROR"))
    return session


def prepare_worker_environment() -> None:
    """Python workers inherit the environment the JVM is started with, so it is set before that.

    PySpark turns timestamps into naive datetimes in the process's own zone; `TZ=Asia/Tokyo make test` tries another.
    Workers need the repository on their path to find functions that test modules define.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("TZ", "UTC")
    time.tzset()
    paths = [str(TESTS.parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
