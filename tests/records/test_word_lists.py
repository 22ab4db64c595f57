"""The lists of words beside the modules."""

from pathlib import Path

import pytest

from heedful.records.storage.yaml_files import parse_yaml
from heedful.records.word_lists import word_lists

ROOT = Path(__file__).parents[2]
LISTS = sorted(path for room in ("heedful/interventions", "datamodules") for path in (ROOT / room).rglob("*.yaml"))


def texts(value):
    if isinstance(value, str):
        return [value]
    return [text for inner in (value.items() if isinstance(value, dict) else value) for text in texts(inner)]


def test_every_word_is_a_text(tmp_path):
    (tmp_path / "some.yaml").write_text("none: [no, on, 1, null, 2020-01-01]\nno: {yes: y}\n")
    expected = {"none": ["no", "on", "1", "null", "2020-01-01"], "no": {"yes": "y"}}
    assert word_lists(str(tmp_path / "some.py")) == expected


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_lists_lie_beside_their_module_and_name_no_key_twice(path):
    assert path.with_suffix(".py").is_file()
    parse_yaml(path.read_text(), path.name)
    assert all(text == text.strip() != "" for text in texts(word_lists(str(path))))


def test_they_are_part_of_the_package():
    assert len(LISTS) >= 6
    assert "[options.package_data]\n* = *.yaml," in (ROOT / "setup.cfg").read_text()
