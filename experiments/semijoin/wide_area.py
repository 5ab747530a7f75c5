"""A wide-area network on one machine: sites as network namespaces, with links of limited rate, and Spark across them.

Each site has a namespace of its own, connected to a bridge by a pair of virtual interfaces whose both ends have a token
bucket (`tc tbf`). A standalone master runs outside, a worker in each namespace. What crosses a link is counted by the
kernel at the interface of the site.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil
import pyspark

NAME = "braid"
NETWORK = "10.77.0"
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
ADDRESS = re.compile(r"spark://[\d.]+:\d+")
START_SECONDS = 180.0
POLL_SECONDS = 0.05
# A bucket as large as what the link carries in some ten milliseconds: TCP needs bursts of several segments.
BURST_KILOBYTES = 64
QUEUE_MILLISECONDS = 400
WORKER_MEMORY = "1100m"


def why_not() -> str | None:
    """Why no wide-area network can be made here; None if it can."""
    if not (shutil.which("ip") and shutil.which("tc")):
        return "the commands ip and tc are missing (Debian: iproute2)"
    probe = f"{NAME}-probe-{os.getpid()}"
    try:
        _run("ip", "netns", "add", probe)
        _run("ip", "netns", "delete", probe)
    except subprocess.CalledProcessError as error:
        return f"network namespaces are not permitted: {error.stderr.strip()}"
    return None


class WideArea:
    """Sites with links of some rate, a master and a worker for each site; everything is removed at the end.

    Two of them on one machine need different names, networks (the first three numbers of addresses) and sites.
    """

    def __init__(
        self,
        place: Path,
        sites: Sequence[str],
        rate: str = "50mbit",
        cores: int = 1,
        name: str = NAME,
        network: str = NETWORK,
    ) -> None:
        self._place = place
        self._name = name
        self._driver = f"{network}.1"
        self._rate = rate
        self._cores = cores
        self.hosts = {site: f"{network}.{10 + number}" for number, site in enumerate(sites)}
        self._processes: list[subprocess.Popen[bytes]] = []
        self._workers: dict[str, subprocess.Popen[bytes]] = {}
        self.address = ""

    def __enter__(self) -> Self:
        self._place.mkdir(parents=True, exist_ok=True)
        self._remove()
        try:
            self._connect()
            self._start_cluster()
        except BaseException:  # an interrupt too: neither processes nor interfaces may stay
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            self._kill(process)
        self._remove()

    @staticmethod
    def _kill(process: subprocess.Popen[bytes]) -> None:
        with suppress(psutil.NoSuchProcess):
            own = psutil.Process(process.pid)
            for child in (*own.children(recursive=True), own):
                with suppress(psutil.NoSuchProcess):
                    child.kill()
        process.wait()

    def kill(self, site: str) -> None:
        """Kill the worker of a site and all that it started."""
        self._kill(self._workers[site])

    def sent_bytes(self, site: str) -> int:
        """The bytes that a site's interface has sent, as the kernel counts them."""
        found = _run(
            "ip", "netns", "exec", self._space(site), "cat", f"/sys/class/net/{_inside(site)}/statistics/tx_bytes"
        )
        return int(found)

    def received_bytes(self, site: str) -> int:
        found = _run(
            "ip", "netns", "exec", self._space(site), "cat", f"/sys/class/net/{_inside(site)}/statistics/rx_bytes"
        )
        return int(found)

    def settings(self) -> dict[str, str]:
        """How a session reaches the cluster; shuffles are not compressed, so that what is sent is what is counted."""
        return {
            "spark.master": self.address,
            "spark.driver.host": self._driver,
            "spark.driver.bindAddress": self._driver,
            "spark.executor.memory": "600m",
            "spark.shuffle.compress": "false",
            "spark.shuffle.spill.compress": "false",
            "spark.shuffle.reduceLocality.enabled": "false",
            "spark.locality.wait": "10s",
            "spark.task.maxFailures": "8",
        }

    def _connect(self) -> None:
        bridge = f"{self._name}-br"
        _run("ip", "link", "add", bridge, "type", "bridge")
        _run("ip", "address", "add", f"{self._driver}/24", "dev", bridge)
        _run("ip", "link", "set", bridge, "up")
        for site, address in self.hosts.items():
            space, inside, outside = self._space(site), _inside(site), _outside(site)
            _run("ip", "netns", "add", space)
            _run("ip", "link", "add", outside, "type", "veth", "peer", "name", inside, "netns", space)
            _run("ip", "link", "set", outside, "master", bridge, "up")
            _run("ip", "-n", space, "address", "add", f"{address}/24", "dev", inside)
            for device in (inside, "lo"):
                _run("ip", "-n", space, "link", "set", device, "up")
            bucket = ("rate", self._rate, "burst", f"{BURST_KILOBYTES}kb", "latency", f"{QUEUE_MILLISECONDS}ms")
            limit = ("root", "tbf", *bucket)
            _run("tc", "qdisc", "add", "dev", outside, *limit)
            _run("tc", "-n", space, "qdisc", "add", "dev", inside, *limit)

    def _start_cluster(self) -> None:
        master = self._start("master", (), self._driver, MASTER)
        _wait(lambda: "Starting Spark master at" in master.read_text(errors="replace"), "the master")
        found = ADDRESS.search(master.read_text(errors="replace"))
        assert found is not None, master.read_text(errors="replace")
        self.address = found[0]
        resources = ("--cores", str(self._cores), "--memory", WORKER_MEMORY)
        logs = []
        for site, host in self.hosts.items():
            inside = ("ip", "netns", "exec", self._space(site))
            work = ("--work-dir", str(self._place / site))
            logs.append(self._start(site, inside, host, WORKER, self.address, *resources, *work))
            self._workers[site] = self._processes[-1]
        registered = "Successfully registered with master"
        _wait(lambda: all(registered in log.read_text(errors="replace") for log in logs), "the workers")

    def _start(self, name: str, inside: Sequence[str], host: str, *arguments: str) -> Path:
        log, home = self._place / f"{name}.log", str(Path(pyspark.__file__).parent)
        environment = {
            **os.environ,
            "SPARK_HOME": home,
            "SPARK_LOCAL_IP": host,
            "SPARK_LOCAL_DIRS": str(self._place / f"{name}-local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_NO_DAEMONIZE": "1",
        }
        command = [*inside, f"{home}/bin/spark-class", *arguments, "--host", host, "--port", "0", "--webui-port", "0"]
        with log.open("wb") as output:
            self._processes.append(
                subprocess.Popen(
                    command,
                    cwd=self._place,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    start_new_session=True,
                )
            )
        return log

    def _space(self, site: str) -> str:
        return f"{self._name}-{site}"

    def _remove(self) -> None:
        """Remove what an earlier network of the same names has left."""
        for site in self.hosts:
            with suppress(subprocess.CalledProcessError):
                _run("ip", "link", "delete", _outside(site))
            with suppress(subprocess.CalledProcessError):
                _run("ip", "netns", "delete", self._space(site))
        with suppress(subprocess.CalledProcessError):
            _run("ip", "link", "delete", f"{self._name}-br")


def _inside(site: str) -> str:
    return f"{site[:10]}-in"


def _outside(site: str) -> str:
    return f"{site[:10]}-out"


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _wait(condition: Callable[[], object], what: str) -> None:
    until = time.monotonic() + START_SECONDS
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"waited {START_SECONDS:g} s for {what}")
        time.sleep(POLL_SECONDS)
