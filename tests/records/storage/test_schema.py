"""The newest schema alone is read."""

import doctest

import pytest

from heedful.records import RunError
from heedful.records.storage import schema
from heedful.records.storage.schema import SCHEMA, full_path, require_schema

from refusals import refused


def test_what_has_the_newest_schema_is_read():
    assert require_schema({"data": "d", "schema": SCHEMA}, "x") == {"data": "d"}


@pytest.mark.parametrize("found", [{}, [], None, 3, {"data": "d"}, {"format": 4}])
def test_what_has_no_number_is_not_ours(found):
    with refused(RunError, "x ", "'schema'"):
        require_schema(found, "x")


@pytest.mark.parametrize("number", [3, SCHEMA - 1, "5", None, True, float("nan")])
def test_another_number_is_refused(number):
    with refused(RunError, "x ", f"{SCHEMA} is read", "Evaluate again"):
        require_schema({"schema": number}, "x")


def test_short_names_are_those_of_the_room():
    assert full_path("data", "PairedText") == "heedful.datamodules.PairedText"
    assert full_path("model", "Encoder") == "heedful.lightning_modules.Encoder"
    assert full_path("data", "mine.PairedText") == "mine.PairedText"


def test_the_examples_in_the_docstrings_are_right():
    failed, tried = doctest.testmod(schema)
    assert tried == 1
    assert not failed
