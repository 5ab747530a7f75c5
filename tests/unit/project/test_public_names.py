"""The names of the package: each is loaded when it is used, and a worker's task loads none of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

import braid

TASK = """
import sys
import braid.engine.tasks.ingest, braid.engine.tasks.probe
import braid.spark.jvm_functions, braid.spark.slot_functions
print(sorted({"braid.api", "braid.analysis", "braid.spark.jobs", "sqlglot"} & set(sys.modules)))
"""


@pytest.mark.parametrize("name", braid.__all__)
def test_every_public_name_is_loaded_from_its_module(name: str) -> None:
    found = getattr(braid, name)
    assert found is getattr(sys.modules[type(found).__module__ if name == "unbounded" else found.__module__], name)
    assert name in dir(braid)


def test_other_names_are_refused_as_of_any_module() -> None:
    assert not hasattr(braid, "joim")
    with pytest.raises(AttributeError, match="module 'braid' has no attribute 'joim'"):
        braid.joim  # noqa: B018 (the access is what is tested)


def test_tasks_load_neither_the_api_nor_the_analyzer() -> None:
    ran = subprocess.run([sys.executable, "-c", TASK], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
