"""A small run of what is counted with the engine, beside sites simulated on the same rows."""

from __future__ import annotations

import pytest

from experiments.semijoin.choice import random_setting
from experiments.semijoin.engine_runs import count_all
from experiments.semijoin.one_way import LINK, NAMES, Arriving, OneWay, link_seconds, modelled, simulated, total

SETTING = OneWay(Arriving(80, 400, 20), Arriving(120, 300, 5), window_ms=300)


def test_the_engine_sends_what_simulated_sites_send() -> None:
    batches = SETTING.batches(4, seed=3)
    counted = count_all(SETTING, batches)
    for name in NAMES:
        other = simulated(SETTING, name, batches)
        for way in ("forward", "backward"):
            assert counted[name][way]["bytes"] == pytest.approx(other[way]["bytes"], rel=0.1, abs=300)
            assert counted[name][way]["messages"] <= other[way]["messages"]
    assert counted["SM-S1"]["results"] == counted["SM-S2"]["results"] == counted["SM-D1"]["results"]
    assert sum(counted["SM-D2"]["results"]) > 0


def test_the_seconds_of_a_link_are_latency_and_bytes() -> None:
    one = {"bytes": 125_000.0, "messages": 4.0, "framing": 12_500.0}
    found = {"forward": one, "backward": {"bytes": 0.0, "messages": 0.0, "framing": 0.0}}
    assert link_seconds(found) == pytest.approx(1.1)
    assert link_seconds(found, LINK, "bytes", "framing") == pytest.approx(1.2)
    assert total(found, "bytes") == 125_000.0


def test_skewed_values_are_those_of_the_uniform_setting() -> None:
    setting = OneWay(Arriving(500, 100, 10), Arriving(500, 100, 10), 100, skew=1.0)
    keys = [key for source, _ in setting.batches(20, 1) for key in source[1].tolist()]
    assert keys.count(0) > 1.5 * keys.count(1) > 0
    assert max(keys) <= 9
    assert modelled(setting, "SP-D") == modelled(OneWay(setting.source, setting.stored, 100), "SP-D")


def test_random_settings_are_of_the_papers_table() -> None:
    found = {random_setting(seed).stored.row_bytes for seed in range(60)}
    assert found == {50, 250, 500, 750, 1000}
