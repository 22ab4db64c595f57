"""The examples in docstrings are right, in every module."""

import doctest
import pkgutil
from importlib import import_module

import pytest

from heedful import assembly, callbacks, cli, datamodules, interventions, lightning_modules, metrics, records, reports

from registered import restored_registries

TRAINS = "heedful.assembly.training"  # its example trains a model
MODULES = [
    pytest.param(found.name, marks=pytest.mark.slow if found.name == TRAINS else ())
    for package in (records, interventions, metrics, reports, datamodules, lightning_modules, callbacks, assembly, cli)
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_right(name: str) -> None:
    module = import_module(name)
    with restored_registries():
        failed, _ = doctest.testmod(module)
    assert not failed
