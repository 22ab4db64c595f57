"""Names of splits: a name that is not there never leads to another split."""

import json
from pathlib import Path

import pytest

from heedful.datamodules import PairedText
from heedful.datamodules.base.splits import ALIASES, aliases_of
from heedful.datamodules.kinds import OF_READING
from heedful.records import DataError, SettingError

from refusals import refused

SETTINGS = {
    "name": "nli",
    "parts": {"premise": "premise", "hypothesis": "hypothesis"},
    "labels": {"yes": [0], "no": [1]},
    "default_label": "no",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("train", "dev", "test"):
        rows = [{"premise": f"{name} {i}", "hypothesis": f"h {i}", "label": i % 2} for i in range(8)]
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path


@pytest.mark.parametrize(
    ("splits", "names"),
    [
        (None, ("train", "dev")),
        ({"validation": "valid"}, ("train", "dev")),
        ({"validation": "test"}, ("train", "test")),
        ({"train": "validation", "validation": "test"}, ("dev", "test")),
        ({"train": "test", "validation": "train"}, ("test", "train")),
    ],
)
def test_a_split_is_the_one_that_is_asked_for(folder: Path, splits: dict | None, names: tuple[str, str]) -> None:
    data = PairedText(**SETTINGS, path=str(folder), splits=splits)
    found = [sorted(data.load(split).column("parts.premise")) for split in ("train", "validation")]
    assert found == [[f"{name} {i}" for i in range(8)] for name in names]


@pytest.mark.parametrize("splits", [{"train": "trian"}, {"validation": "tset"}, {"validation": "dev_matched"}])
def test_a_name_that_is_not_there_is_refused(folder: Path, splits: dict) -> None:
    (name,) = splits.values()
    data = PairedText(**SETTINGS, path=str(folder), splits=splits)
    with refused(DataError, folder, repr(name)):
        data.load(next(iter(splits)))


def test_the_names_of_a_split_with_an_ending() -> None:
    assert aliases_of("validation-matched", ALIASES) == [
        "validation-matched",
        "dev-matched",
        "valid-matched",
    ]
    assert aliases_of("validation-v2.0", OF_READING) == list(OF_READING["validation"])
    assert aliases_of("development", ALIASES) == []


@pytest.mark.parametrize("settings", [{"hold_out": 2}, {"folds": 2, "fold": 0}])
@pytest.mark.parametrize(
    ("other", "fact"),
    [
        ({"splits": {"validation": "test"}}, "splits names test"),
        ({"where": {"validation": {"genre": "x"}}}, "where chooses rows"),
    ],
)
def test_what_is_held_out_is_no_other_split(folder: Path, settings: dict, other: dict, fact: str) -> None:
    with refused(SettingError, *settings, fact):
        PairedText(**SETTINGS, path=str(folder), **settings, **other)
    for splits in ({"validation": "validation_matched"}, {"validation": "train"}):
        PairedText(**SETTINGS, path=str(folder), **settings, splits=splits)
