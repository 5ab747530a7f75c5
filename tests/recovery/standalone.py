"""A standalone cluster of Spark on this machine: a master and workers, each a process that a test may kill."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil
import pyspark

from tests.session import JAVA_OPTIONS

HOST = "127.0.0.1"
START_SECONDS = 180.0
POLL_SECONDS = 0.02
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
EXECUTOR = "CoarseGrainedExecutorBackend"
ADDRESS = re.compile(rf"spark://{re.escape(HOST)}:\d+")
REGISTERED = "Successfully registered with master"


def wait_until(condition: Callable[[], object], what: str, seconds: float = START_SECONDS) -> None:
    """Wait for a condition; AssertionError if it does not come true in time."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"waited {seconds:g} s for {what}"
        time.sleep(POLL_SECONDS)


class Daemon:
    """A process of the cluster, in a session of its own, with its log."""

    def __init__(self, name: str, place: Path, *arguments: str) -> None:
        self.log = place / f"{name}.log"
        home = str(Path(pyspark.__file__).parent)
        environment = {
            **os.environ,
            "SPARK_HOME": home,
            "SPARK_LOCAL_IP": HOST,
            "SPARK_LOCAL_DIRS": str(place / f"{name}-local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS,
            "SPARK_NO_DAEMONIZE": "1",
        }
        command = [f"{home}/bin/spark-class", *arguments, "--host", HOST, "--port", "0", "--webui-port", "0"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=place, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True
            )

    def says(self, text: str) -> bool:
        assert self.process.poll() is None, f"{self.log.name}: ended\n{self.read()}"
        return text in self.read()

    def read(self) -> str:
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class StandaloneCluster:
    """A master and workers of one core each; whatever they started is killed at the end."""

    def __init__(self, place: Path, workers: int) -> None:
        self._place = place
        self._started: list[Daemon] = []
        self._seen: dict[int, psutil.Process] = {}
        self._count = workers
        self.workers: list[Daemon] = []
        self.address = ""

    def __enter__(self) -> Self:
        self._place.mkdir(parents=True)
        try:
            master = self._start(Daemon("master", self._place, MASTER))
            wait_until(lambda: master.says("Starting Spark master at"), "the master")
            found = ADDRESS.search(master.read())
            assert found is not None, master.read()
            self.address = found[0]
            for _ in range(self._count):
                self.add_worker()
            wait_until(lambda: all(worker.says(REGISTERED) for worker in self.workers), "the workers")
        except BaseException:  # an interrupt too: no process may stay
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._look()
        for daemon in self._started:
            daemon.kill()
        for process in self._seen.values():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(self._seen.values(), timeout=START_SECONDS)

    def add_worker(self) -> Daemon:
        """Start a worker; it registers with the master by itself."""
        name = f"worker-{len(self._started)}"
        resources = ["--cores", "1", "--memory", "1100m", "--work-dir", str(self._place / name)]
        worker = self._start(Daemon(name, self._place, WORKER, self.address, *resources))
        self.workers.append(worker)
        return worker

    def executors(self) -> list[psutil.Process]:
        """The executors that run now."""
        self._look()
        return [process for process in self._seen.values() if _is_executor(process)]

    def kill_executor(self, number: int) -> None:
        """Kill one of the executors there are, once there is one."""
        wait_until(self.executors, "an executor")
        found = self.executors()
        found[number % len(found)].kill()

    def kill_worker(self, number: int) -> None:
        """Kill a worker, not its executor: that has to notice by itself."""
        self._look()
        self.workers.pop(number % len(self.workers)).kill()

    def _start(self, daemon: Daemon) -> Daemon:
        self._started.append(daemon)
        return daemon

    def _look(self) -> None:
        """Remember every process below the daemons: it may outlive the one that started it."""
        for daemon in self._started:
            with suppress(psutil.NoSuchProcess):
                for process in psutil.Process(daemon.process.pid).children(recursive=True):
                    self._seen[process.pid] = process


def _is_executor(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE and EXECUTOR in " ".join(process.cmdline())
    return False
