"""Sources without gold labels: who may lack them, and how such examples are named."""

import csv
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from heedful.assembly.config import load_data
from heedful.datamodules import Columns, PairedText, Split, to_examples
from heedful.datamodules.base.splits import require_gold
from heedful.records import DataError, Example, Examples, SettingError

from drawn_pictures import nlvr2_rows, write_parquet
from infotabs_files import write_infotabs
from refusals import refused

OWN: dict[str, Any] = {
    "name": "own",
    "parts": {"premise": "p", "hypothesis": "h"},
    "labels": {"yes": [1], "no": [0]},
    "default_label": "no",
}
COLUMNS = Columns({"premise": "p", "hypothesis": "h"}, "label", {"yes": [], "no": []})
ROWS = [{"p": "It rains.", "h": "Rain."}, {"p": "A dog runs.", "h": "A cat."}, {"p": "It rains.", "h": "Rain."}]


def examples(rows: Sequence[dict[str, Any]], columns: Columns = COLUMNS, training: bool = True) -> Any:
    return to_examples(enumerate(rows, 1), "f", columns, Split("", "own/validation", training=training))


def evaluated(rows: Any, **settings: Any) -> PairedText:
    data = load_data(rows, **{**OWN, **settings})
    data.setup("validate")
    return data


def test_one_missing_column_makes_all_unlabelled(capsys: pytest.CaptureFixture[str]) -> None:
    found = examples(ROWS, training=False)
    assert (list(found.column("label")), found.no_gold, found.is_unlabelled) == ([None] * 3, 0, True)
    with refused(DataError, "'label'", "row 1"):
        examples(ROWS)


@pytest.mark.parametrize("name", ["labels", "Label", "lable", "gold_label", "label_2"])
def test_a_name_that_is_nearly_the_same_is_not_overlooked(name: str) -> None:
    for order in (ROWS, ROWS[::-1]):
        with refused(DataError, "'label'", f"Do you mean {name}?"):
            examples([{**row, name: "yes"} for row in order], training=False)


def test_a_column_that_the_settings_name_is_not_meant_by_the_label() -> None:
    columns = Columns(COLUMNS.parts, "label", COLUMNS.labels, meta=("label_source",))
    found = examples([{**row, "label_source": "me"} for row in ROWS], columns, training=False)
    assert found.is_unlabelled
    assert list(found.column("meta.label_source")) == ["me"] * 3


def test_rows_of_which_some_have_the_key_are_refused_in_any_order() -> None:
    rows = [ROWS[0], {**ROWS[1], "label": "yes"}, ROWS[2], {"p": "a", "h": "b", "label": "-"}]
    for order in itertools.permutations(rows):
        lacking = next(i for i, row in enumerate(order, 1) if "label" not in row)
        with refused(DataError, "'label'", f"row {lacking}"):
            examples(order, training=False)


def test_an_empty_cell_is_left_out_and_an_empty_column_refused() -> None:
    rows = [{**row, "label": label} for row, label in zip(ROWS, ["yes", "", "-"], strict=True)]
    found = examples(rows, training=False)
    assert (list(found.column("label")), found.no_gold, found.is_unlabelled) == (["yes"], 2, False)
    with refused(DataError, "label null"):
        examples([{**row, "label": ""} for row in ROWS], training=False)


def test_other_missing_columns_are_refused_as_ever() -> None:
    with refused(DataError, "'h', 'label'"):
        examples([{"p": "x"}], training=False)
    with refused(DataError, "'p'", "'h'", "'label'"):
        examples([{"x": "y", "z": "w"}], training=False)
    with refused(DataError, "commas"):
        examples([{"p;h": "x;y"}], training=False)


def test_names_by_content_do_not_depend_on_the_order() -> None:
    first = examples(ROWS, training=False)
    again = [uid for uid in first.column("uid") if uid.endswith("#2")]
    assert len(again) == 1
    for order in itertools.permutations(ROWS):
        assert examples(order, training=False).table.equals(first.table)
    named_none = examples([{**row, "label": None} for row in ROWS], Columns(COLUMNS.parts, None, COLUMNS.labels))
    assert named_none.table.equals(first.table)
    labelled = examples([{**row, "label": "yes"} for row in ROWS])
    assert set(labelled.column("uid")).isdisjoint(first.column("uid"))


def test_a_label_that_is_called_none_is_another_content() -> None:
    columns = Columns(COLUMNS.parts, "label", {"None": [], "no": []})
    labelled = examples([{**ROWS[0], "label": "None"}], columns)
    bare = examples([ROWS[0]], columns, training=False)
    assert labelled.uid(0) != bare.uid(0)


def test_only_a_column_of_the_default_name_may_be_missing() -> None:
    assert evaluated(ROWS).pool.is_unlabelled
    assert evaluated([{**row, "label": "yes"} for row in ROWS], label=None).pool.is_unlabelled
    with refused(DataError, "'gold'"):
        PairedText(**OWN, path=ROWS, label="gold").setup("validate")
    again = load_data(ROWS, **OWN).with_arguments(label="gold")
    with refused(DataError, "'gold'"):
        again.setup("validate")


def test_one_sentence_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        evaluated(ROWS)
        evaluated(ROWS, label=None)
        evaluated([{**row, "label": "yes"} for row in ROWS])
    told = [record.getMessage() for record in caplog.records if "unlabelled" in record.getMessage()]
    assert told == ["own: the examples are unlabelled: accuracy and what rests on it are not measured."] * 2


def test_splits_are_all_labelled_or_none(tmp_path: Path) -> None:
    labelled = [{"p": f"{i}", "h": "x", "label": "yes"} for i in range(3)]
    splits = {"splits": {"validation": ["a", "b"]}}
    assert evaluated({"a": ROWS, "b": ROWS[:2]}, **splits).pool.is_unlabelled
    with refused(DataError, "splits", "b has no gold labels"):
        evaluated({"a": labelled, "b": ROWS}, **splits)
    assert evaluated({"a": labelled, "b": ROWS}, label=None, **splits).pool.is_unlabelled


@pytest.mark.parametrize("more", [{}, {"hold_out": 1}, {"folds": 2, "fold": 0}, {"augment": "counterfactual"}])
@pytest.mark.parametrize("label", [None, "label"])
def test_what_is_read_to_train_needs_gold(more: dict[str, Any], label: str | None) -> None:
    settings = {**OWN, **more, **({"label": None} if label is None else {})}
    data = load_data({"train": ROWS, "validation": [{"p": "c", "h": "d"}]}, **settings)
    with refused(DataError):
        data.setup("fit")


def test_a_training_example_without_gold_is_refused_wherever_it_is_from() -> None:
    of = [Example(str(i), {"p": str(i)}, label) for i, label in enumerate(["yes", None, "no"])]
    assert require_gold(Examples.of(of[::2]), "own").table.num_rows == 2
    with refused(DataError, "1 of 3 training examples of own"):
        require_gold(Examples.of(of), "own")


def test_other_kinds_that_need_gold_say_so() -> None:
    with refused(SettingError, "label", "own"):
        load_data("nlixy", name="own", path="x", label=None)
    for kind in ("squad2", "vqa2"):
        assert load_data(kind, path="x").loader.needs_gold


def test_pictures_may_lack_labels(tmp_path: Path) -> None:
    rows = [{name: value for name, value in row.items() if name != "label"} for row in nlvr2_rows(4, "dev")]
    write_parquet(tmp_path / "validation.parquet", rows)
    data = load_data("nlvr2", path=str(tmp_path))
    data.setup("validate")
    assert data.pool.is_unlabelled
    assert len(data.pool) == len(rows)


def test_tables_may_lack_labels(tmp_path: Path) -> None:
    write_infotabs(tmp_path)
    folder = tmp_path / "infotabs"
    (file,) = (folder / "maindata").glob("*dev*")
    with open(file, newline="") as opened:
        rows = list(csv.DictReader(opened, delimiter="\t"))
    with open(file, "w", newline="") as opened:
        names = [name for name in rows[0] if name != "label"]
        writer = csv.DictWriter(opened, names, delimiter="\t", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    data = load_data("infotabs", path=str(folder))
    data.setup("validate")
    assert data.pool.is_unlabelled
    assert len(data.pool) == len(rows)
