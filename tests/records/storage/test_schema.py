"""Files of earlier versions, as they are read today."""

import doctest

import pytest

from heedful.records import RunError
from heedful.records.storage import schema
from heedful.records.storage.schema import SCHEMA, as_written, of_today, own_entry, present, whole, with_present_classes

from refusals import refused


@pytest.mark.parametrize("number", [{"format": 4}, {"schema": 4}, {"schema": SCHEMA}])
def test_every_known_schema_is_read_as_the_present_one_which_says_what_stood_there(number):
    found = of_today({"data": "d", "written": "by hand", **number}, "x")
    assert found == {"schema": SCHEMA, "data": "d", "written": max(number.values())}
    assert as_written(found) == {"schema": max(number.values()), "data": "d"}


def test_what_had_no_number_is_written_without_one():
    assert as_written({"data": "d"}) == {"data": "d"}


@pytest.mark.parametrize("found", [{}, [], None, 3, {"data": "d"}])
def test_what_has_no_number_is_not_ours(found):
    with refused(RunError, "x ", "'schema'"):
        of_today(found, "x")


@pytest.mark.parametrize("number", [3, SCHEMA + 1, "5", None, True, 4.0, float("nan")])
def test_another_number_is_refused(number):
    for key in ("schema", "format"):
        with refused(RunError, "x ", f"4 to {SCHEMA}"):
            of_today({key: number}, "x")


def test_the_entry_of_a_file_had_another_name():
    assert own_entry({b"heed": b"old", b"pandas": b"{}"}) == b"old"
    assert own_entry({b"heed": b"old", b"heedful": b"new"}) == b"new"
    assert own_entry({b"pandas": b"{}"}) is None
    assert own_entry(None) is None


@pytest.mark.parametrize(
    ("written", "today"),
    [
        ("datamodules.PairedText", "heedful.datamodules.PairedText"),
        ("lightning_modules.text.encoder.Encoder", "heedful.lightning_modules.text.encoder.Encoder"),
        ("callbacks.Board", "heedful.callbacks.Board"),
        ("heedful.datamodules.PairedText", "heedful.datamodules.PairedText"),
        ("mine.datamodules.PairedText", "mine.datamodules.PairedText"),
        ("datamodules_of_mine.PairedText", "datamodules_of_mine.PairedText"),
        ("torch.nn.Linear", "torch.nn.Linear"),
    ],
)
def test_import_paths_of_earlier_versions_are_those_of_today(written, today):
    assert present(written) == today
    assert whole("data", written) == today
    config = {"data": {"class_path": written, "init_args": {"name": written}}, "callbacks": [{"class_path": written}]}
    made = {"data": {"class_path": today, "init_args": {"name": written}}, "callbacks": [{"class_path": today}]}
    assert with_present_classes(config) == made


def test_short_names_are_those_of_the_room():
    assert whole("data", "PairedText") == "heedful.datamodules.PairedText"
    assert whole("model", "Encoder") == "heedful.lightning_modules.Encoder"


def test_the_examples_in_the_docstrings_are_right():
    failed, tried = doctest.testmod(schema)
    assert tried == 2
    assert not failed
