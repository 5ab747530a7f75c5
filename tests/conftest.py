"""What all tests share: the session of Spark, and the one rule that says which tests need Spark.

A test needs Spark if and only if it asks for the fixture `java`, itself or through `spark`. Such tests get the marker
`spark`, and `make test-fast` leaves them out. All others run where every `java` on the path is one that fails, so a
test that starts a JVM without asking for it fails, also where a child process starts it. Nothing here imports PySpark
until a test asks for `spark`.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

from tests import budget
from tests.session import TESTS, prepare_worker_environment, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_JAVA = TESTS / "no_java"


def pytest_report_header() -> str:
    return budget.describe()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that start a JVM, and keeps them out of `tests/unit`."""
    for item in items:
        if "java" not in getattr(item, "fixturenames", ()):
            continue
        item.add_marker(pytest.mark.spark)
        if item.path.is_relative_to(TESTS / "unit"):
            raise pytest.UsageError(f"{item.nodeid} asks for Spark; unit tests run without: move it to tests/spark")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Around everything a test does, its fixtures too: without the marker, there is no Java that works."""
    if item.get_closest_marker("spark") is not None:
        return (yield)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("JAVA_HOME", str(NO_JAVA))
        environment.setenv("PATH", str(NO_JAVA / "bin"), prepend=os.pathsep)
        return (yield)


@pytest.fixture(scope="session")
def java() -> None:
    """Asked for by tests that start a JVM, in this process or in another."""
    prepare_worker_environment()


@pytest.fixture(scope="session")
def spark(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One local session for the whole run, with UTC times and nothing written outside pytest's own directory."""
    more = {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",
    }
    session = start_session(tmp_path_factory.mktemp("spark"), more=more)
    yield session
    for query in session.streams.active:
        query.stop()
    session.stop()
