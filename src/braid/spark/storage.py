"""Locations, as Spark would read them, and the check that driver and tasks use the same storage."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from braid.errors import BraidError, StorageError
from braid.spark.session import is_one_host, use_this_python
from braid.state.files import locate
from braid.state.locations import scheme_of

PATTERNS = frozenset("*?[]{}\\")


def qualify(spark: SparkSession, location: str, what: str) -> str:
    """The location as Spark reads it: below its working directory, on its default filesystem, without patterns.

    A local path is refused where tasks run on other hosts; a `file:` URI says that it is shared.
    """
    if not location.strip():
        raise StorageError(f"The {what} is empty.", hint="Give a directory, as a path or a URI.")
    if scheme_of(location):
        locate(location)
        return location.rstrip("/")
    qualified = hadoop_location(spark, location)
    if scheme_of(qualified) != "file":
        return qualified
    if not is_one_host(spark):
        raise StorageError(
            f"The {what} {location!r} is a path of this machine, but the session runs on {spark.sparkContext.master}: "
            "its executors cannot read or write it.",
            hint="Give a location that all hosts share: hdfs://, s3a://, gs://, abfss://, file:/// for a shared mount.",
        )
    return locate(qualified)[1]


def hadoop_location(spark: SparkSession, location: str) -> str:
    """A location with its scheme, as Spark would complete it."""
    if scheme_of(location):
        return location.rstrip("/")
    try:
        # By its whole name: asked for part by part, the JVM searches all its archives for each package's name.
        path = getattr(spark.sparkContext._jvm, "org.apache.hadoop.fs.Path")(location)
        return str(path.getFileSystem(spark._jsc.hadoopConfiguration()).makeQualified(path).toString())
    except (PySparkException, Py4JError) as error:
        raise StorageError(
            f"The location {location!r} is not one that Spark can read: {str(error).splitlines()[0]}",
            hint="Give an absolute path, or a URI such as s3a://bucket/directory.",
        ) from None


def read_parquet(
    spark: SparkSession,
    directory: str,
    names: Sequence[str] = (),
    schema: StructType | None = None,
    *,
    merged: bool = False,
) -> DataFrame:
    """The named Parquet files of a directory, or all of them; the directory name is taken literally.

    `merged`: the files may have different columns. Spark reads `*`, `?`, `[`, `{` and backslashes in a path as
    patterns. This can be disabled, but then it reads several such paths several times each. So the directory is given
    once, and the names as a filter.
    """
    reader = spark.read.option("mergeSchema", str(merged).lower())
    reader = reader if schema is None else reader.schema(schema)
    if not PATTERNS & set(directory):
        return reader.parquet(*(f"{directory}/{name}" for name in names)) if names else reader.parquet(directory)
    if names:
        reader = reader.option("pathGlobFilter", "{" + ",".join(names) + "}")
    return reader.option("__globPaths__", "false").parquet(directory)


def prove_shared(spark: SparkSession, location: str, what: str) -> None:
    """Write from the driver, read and write from tasks, to fail early if storage is not shared."""
    if str(spark.sparkContext.master).startswith("local["):
        return
    use_this_python(spark)
    files, path = locate(location)
    token = uuid.uuid4().hex
    directory = f"{path}/.probe-{token}"
    files.write_new(f"{directory}/driver", token.encode())
    try:
        answers = (
            spark.range(0, 2, 1, 2).mapInArrow(_ProbeFunction(location, directory, token), "answer string").collect()
        )
        problems = [row["answer"] for row in answers if row["answer"]]
        if problems or not any(name.startswith("task-") for name in files.list(directory)):
            raise StorageError(
                f"The {what} {location!r} is not the same storage for the driver and the executors.",
                detail=problems[0] if problems else "What a task wrote there is not visible to the driver.",
                hint="Give a location that all hosts share.",
            )
    finally:
        files.delete_tree(directory)


class _ProbeFunction:
    def __init__(self, location: str, directory: str, token: str) -> None:
        self._location, self._directory, self._token = location, directory, token

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            answers = [self._answer(slot) for slot in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_pydict({"answer": pa.array(answers, pa.string())})

    def _answer(self, slot: int) -> str | None:
        try:
            files, _ = locate(self._location)
            if files.read(f"{self._directory}/driver").decode() != self._token:
                return "A task read other bytes than the driver wrote."
            files.write_new(f"{self._directory}/task-{slot}-{uuid.uuid4().hex}", b"")
        except (OSError, BraidError) as error:
            return f"A task could not use it: {error}"
        return None
