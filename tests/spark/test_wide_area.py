"""Streams at sites with links between them: a Spark cluster across network namespaces; the kernel counts bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.semijoin.wide_area import WideArea, why_not
from tests.spark.wide_area_job import expected_rows

ALGORITHMS = ["SP-S", "SP-D", "SM-S1", "SM-S2", "SM-D1", "SM-D2"]
REASON = why_not() if sys.platform == "linux" else "network namespaces are Linux's"

pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


def test_joins_across_links_a_site_without_hosts_and_a_lost_site(java: None, tmp_path: Path) -> None:
    with WideArea(tmp_path / "cluster", ["north", "south"]) as network:
        arguments = [str(tmp_path), *map(json.dumps, (network.settings(), network.hosts, ALGORITHMS))]
        with (tmp_path / "driver.log").open("w") as log:
            driver = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.wide_area_job", *arguments],
                env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.getcwd()},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        with driver:
            try:
                follow(driver, network)
            finally:
                driver.kill()
                # Shown by pytest if the test fails.
                print((tmp_path / "driver.log").read_text()[-5000:])


def follow(driver: subprocess.Popen[str], network: WideArea) -> None:
    """Check what the driver says, and kill a site once it joins without end."""
    assert driver.stdout is not None
    sites, answers = list(network.hosts), []
    sent = {site: network.sent_bytes(site) for site in sites}
    for line in (line for line in driver.stdout if line.startswith("{")):
        said = json.loads(line)
        answers.append(said)
        if "algorithm" in said:
            assert said["rows"] == expected_rows()
            counted = dict.fromkeys(sites, 0)
            for link, found in (one for step in said["links"] for one in step.items()):
                counted[link.split(" -> ")[0]] += found.get("bytes", 0) + found.get("ingestBytes", 0)
            for site in sites:
                before, sent[site] = sent[site], network.sent_bytes(site)
                assert counted[site] < sent[site] - before, f"{said['algorithm']}: {site}"
            assert sum(counted.values()) > 0
            crossed = {link for step in said["links"] for link, found in step.items() if found.get("bytes")}
            assert set(said["timed"]) == crossed
        elif "refused" in said:
            assert "No executor runs at the site south (10.77.0.99)" in said["refused"]
        elif "joining" in said:
            network.kill("south")
    assert [said.get("algorithm") for said in answers[: len(ALGORITHMS)]] == ALGORITHMS
    assert "A task of site south, whose hosts are 10.77.0.11, was started on" in answers[-1]["lost"]
