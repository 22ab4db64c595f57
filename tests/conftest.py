"""Processes that run tests have the fixtures of shared_fixtures.py; the one that deals them out imports nothing."""

import gc
import os
import sys

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported: on small arrays threads wait for each other
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or each of the processes that tests start compiles all of it anew
sys.dont_write_bytecode = False


def pytest_configure(config: pytest.Config) -> None:
    """With -n, the process that deals the tests out to the others has no need of torch, which takes seconds."""
    if hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None):
        config.pluginmanager.import_plugin("shared_fixtures")


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end: the collector of garbage need not look through them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)  # what tests leave in circles is small
