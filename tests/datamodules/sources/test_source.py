"""Where rows come from: files, saved data sets, rows in memory and the hub give the same rows."""

import gzip
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules import Columns, Hub, PairedText, Source, Split, to_examples
from heedful.datamodules.sources.row_filter import ANY_SPLIT, conditions_of, filtered
from heedful.datamodules.sources.values import is_empty
from heedful.records import DataError, HeedfulError, SettingError

from own_data import LABELS, NLI, set_up, write_jsonl
from refusals import refused

COLUMNS = Columns(NLI["parts"], "label", NLI["labels"], groups=("doc",), meta=("genre",))
VALIDATION = Split("validation", aliases=("validation", "dev"))
Rows = Sequence[Mapping[str, Any]]


def row(i: int = 0, **others: Any) -> dict[str, Any]:
    pair = {"premise": f"Dog  {i % 3} runs.", "hypothesis": f"A cat {i} sits.", "label": i % 3}
    return pair | {"doc": 100 + i % 2, "genre": f"g{i % 2}"} | others


def rows_of(content: Any, split: Split | str = "train", **settings: Any) -> list[tuple[int, Any]]:
    split = Split(split) if isinstance(split, str) else split
    return list(Source(content, **settings).rows(split)[1])


def premises(content: Any, split: Split | str = "train", **settings: Any) -> list[str]:
    return [values["premise"] for _, values in rows_of(content, split, **settings)]


# local files


def test_a_split_is_the_file_of_its_name_or_of_another_name_of_it(tmp_path: Path) -> None:
    for name in ("train", "dev", "validation_matched", "sample_2.v1", "MNLI_Test"):
        write_jsonl(tmp_path / f"{name}.jsonl", [{"premise": name}])
    (tmp_path / "extra.jsonl.gz").write_bytes(gzip.compress(b'{"premise": "extra"}'))
    (tmp_path / "README.md").write_text("about")
    (tmp_path / ".train.jsonl").write_text("hidden")
    matched = Split("validation_matched", aliases=("validation", "dev"))
    for split, found in [(VALIDATION, "dev"), (matched, "validation_matched"), ("MNLI_Test", "MNLI_Test")] + [
        (name, name.removesuffix(".jsonl")) for name in ("train", "extra", "sample_2.v1", "sample_2.v1.jsonl")
    ]:
        assert premises(tmp_path, split) == [found]
        assert premises(tmp_path / "dev.jsonl", split) == ["dev"]  # one file is every split
    assert Source(tmp_path).rows(Split("train"))[0] == str(tmp_path / "train.jsonl")
    (tmp_path / "linked.jsonl").symlink_to(tmp_path / "dev.jsonl")  # as large data and the hub's cache are
    assert premises(tmp_path, "linked") == ["dev"]


def test_a_folder_without_the_split_lists_what_there_is(tmp_path: Path) -> None:
    with refused(DataError, tmp_path, "'train'", "none"):
        rows_of(tmp_path)
    with refused(DataError, f"path {tmp_path / 'none'}"):
        rows_of(tmp_path / "none")
    write_jsonl(tmp_path / "training.jsonl", [row()])
    (tmp_path / "validation.doc").write_text("x")
    with refused(DataError, "training.jsonl", "data.splits", "hold_out N") as caught:
        rows_of(tmp_path, VALIDATION)
    assert "validation.doc" not in str(caught.value)  # of a format that is not read
    with refused(DataError, "'train'", "data.splits") as caught:
        rows_of(tmp_path)
    assert "hold_out" not in str(caught.value)
    write_jsonl(tmp_path / "training.csv", [])
    with refused(DataError, "'training'", "training.csv, training.jsonl", "data.splits"):
        rows_of(tmp_path, "training")


def test_the_only_file_of_a_folder_is_read_and_that_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n")
    assert rows_of(tmp_path, "validation_matched") == [(1, {"a": "1", "b": "2"})]
    assert "holds one file, mine.csv, which is read as validation_matched" in caplog.text
    (tmp_path / "mine.csv").rename(tmp_path / "train.csv")
    with refused(DataError, "'validation'", "train.csv"):
        rows_of(tmp_path, "validation")


# saved data sets


def saved(*texts: str) -> Dataset:
    rows = [{"premise": text, "hypothesis": "h", "label": i % 3} for i, text in enumerate(texts)]
    text = Value("string")
    schema = Features({"premise": text, "hypothesis": text, "label": ClassLabel(names=list(LABELS))})
    return Dataset.from_list(rows, features=schema)


def test_saved_data_sets_have_splits_or_are_every_split(tmp_path: Path) -> None:
    saved("a", "b", "c").with_format("torch").save_to_disk(tmp_path / "one")
    assert premises(tmp_path / "one") == premises(tmp_path / "one", "validation") == ["a", "b", "c"]
    DatasetDict(train=saved("t"), dev=saved("v"), test=saved("x")).save_to_disk(tmp_path / "d")
    assert (premises(tmp_path / "d"), premises(tmp_path / "d", VALIDATION)) == (["t"], ["v"])
    with refused(DataError, "'other'", "train, dev, test"):
        rows_of(tmp_path / "d", "other")
    data = set_up(PairedText(**NLI, path=str(tmp_path / "one"), hold_out=1))
    assert {*data.trained.column("label"), *data.pool.column("label")} == {*LABELS}


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("state.json", None),
        *(("state.json", state) for state in ("[]", '{"_data_files": [3]}', "[" * 10**5, "\xff")),
        ("data-00000-of-00001.arrow", None),
        ("data-00000-of-00001.arrow", "ARROW1"),
        ("dataset_info.json", "{"),
    ],
)
def test_a_damaged_saved_data_set_is_refused_by_name(tmp_path: Path, file: str, content: str | None) -> None:
    saved(*"abc").save_to_disk(tmp_path / "d")
    if content is None:
        (tmp_path / "d" / file).unlink()
    else:
        (tmp_path / "d" / file).write_text(content, encoding="latin-1")
    with refused(DataError, tmp_path / "d", "save_to_disk"):
        rows_of(tmp_path / "d")


# rows in memory


def to_arrow(rows: Rows) -> Any:
    """All that is known of a polars frame, which is not a dependency."""
    table = pa.Table.from_pylist(list(rows))
    return SimpleNamespace(columns=table.column_names, to_arrow=lambda: table)


CONTAINERS: dict[str, Callable[[Rows], Any]] = {
    "pandas": pd.DataFrame,
    "nullable": lambda rows: pd.DataFrame(rows).convert_dtypes(),
    "pyarrow in pandas": lambda rows: pd.DataFrame(rows).convert_dtypes(dtype_backend="pyarrow"),
    "indexed": lambda rows: pd.DataFrame(rows).set_index(pd.Index([7] * len(rows), name="own")),
    "arrow": lambda rows: pa.Table.from_pylist(list(rows)),
    "dataset": lambda rows: Dataset.from_list(list(rows)),
    "to_arrow": to_arrow,
}


def outcome(source: Source, columns: Columns = COLUMNS) -> Any:
    """The examples of a source and how many rows have no gold; or the class and the message of its error."""
    where = ""
    try:
        where, rows = source.rows(Split("train"))
        examples = to_examples(rows, where, columns, Split("", "nli/train"))
    except HeedfulError as error:
        return type(error), str(error).removeprefix(where)
    return examples.table.to_pydict(), examples.no_gold


def written(folder: Path, rows: Rows, ending: str) -> Source:
    file = folder / f"rows.{ending}"
    if ending == "parquet":
        pq.write_table(pa.Table.from_pylist(list(rows)), file)
    else:
        write_jsonl(file, rows)
    return Source(file)


JSON = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=4)
GOLDS = st.sampled_from([0, 1, 2, "neutral", "1", 1.0, "-", None, -1, 3])
ANY_ROW = st.fixed_dictionaries(
    {"premise": st.text(min_size=1, max_size=4) | JSON, "hypothesis": st.sampled_from("abc"), "label": GOLDS | JSON},
    optional={"doc": JSON, "genre": JSON | st.lists(st.integers(0, 1), max_size=2)},
)
TYPED_ROW = st.fixed_dictionaries(
    {
        "premise": st.text("ab \u00e9\u0301\0", max_size=3) | st.none(),
        "hypothesis": st.sampled_from("abc"),
        "label": st.sampled_from([0, 1, 2, -1, None]),
        "doc": st.integers(0, 2),
        "genre": st.floats(width=32).filter(lambda value: not value.is_integer()) | st.none(),
        "given": st.lists(st.sampled_from("ab"), max_size=2),
    }
)


@given(rows=st.lists(ANY_ROW, min_size=1, max_size=5), typed=st.lists(TYPED_ROW, min_size=1, max_size=5))
def test_lists_are_read_as_jsonl_and_typed_columns_as_parquet(
    rows: Rows, typed: Rows, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    assert outcome(Source(rows)) == outcome(written(folder, rows, "jsonl"))
    expected = outcome(written(folder, typed, "parquet"))
    for container in CONTAINERS:
        assert outcome(Source(CONTAINERS[container](typed))) == expected, container


@pytest.mark.parametrize("container", [list, lambda rows: pd.DataFrame(rows, dtype=object)])
@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT])
def test_any_missing_value_is_none(missing: Any, container: Callable[[Rows], Any]) -> None:
    assert is_empty(rows_of(container([{"a": missing}]))[0][1]["a"])


def test_values_of_numpy_are_those_of_python() -> None:
    values = {"i": np.int8(3), "f": np.float64(0.5), "b": np.bool_(True), "t": np.str_("a"), "y": b"a"}
    nested = {"list": np.array(["a"], dtype=object), "in": {"x": np.array([["a"]]), "y": (np.int64(1), 2)}}
    ((number, found),) = rows_of([values | nested])
    assert [type(value) for value in found.values()] == [int, float, bool, str, bytes, list, dict]
    expected = {"i": 3, "f": 0.5, "b": True, "t": "a", "y": b"a", "list": ["a"], "in": {"x": [["a"]], "y": [1, 2]}}
    assert (number, found) == (1, expected)
    frame = pd.DataFrame({"a": pd.Categorical(["x", None]), "b": pd.Categorical([1, None])})
    assert [values for _, values in rows_of(frame)] == [{"a": "x", "b": 1}, {"a": None, "b": None}]


@pytest.mark.parametrize("odd", [pd.Timestamp(0), np.datetime64("2020-01-01"), np.ones(4), 1j, pd.Series([1, 2]), {1}])
def test_what_is_not_text_is_refused_where_it_is_read_and_only_there(odd: Any) -> None:
    """A list of more values than there are labels is no list of options."""
    assert outcome(Source([row(genre="", extra=odd)]))[1] == 0
    error, message = outcome(Source([row(premise=odd)]))
    assert error is DataError
    assert "row 1" in message
    assert "'premise'" in message


@pytest.mark.parametrize("kind", [None, "category"])
def test_whole_numbers_that_pandas_made_floats_are_the_label(kind: str | None) -> None:
    """As it does where one is missing; floats that are not all whole are text, as in a file."""
    columns = Columns(COLUMNS.parts, "label", NLI["labels"])
    frame = pd.DataFrame([row(0), row(1, label=None), row(2)]).astype({"label": float}).astype({"label": kind or float})
    assert outcome(Source(frame), columns) == outcome(Source([row(0), row(1, label=None), row(2)]), columns)
    floats = [row(i, genre=value) for i, value in enumerate([0.5, 1.0, 1e16])]
    assert sorted(outcome(Source(pd.DataFrame(floats)))[0]["meta.genre"]) == ["0.5", "1.0", "1e+16"]


@pytest.mark.parametrize("mapping", [dict, DatasetDict])
def test_a_split_in_memory_is_found_by_its_name_and_then_by_its_others(mapping: type) -> None:
    content = mapping({name: Dataset.from_list([row(premise=name)]) for name in ("train", "dev", "test")})
    for split, found in (("train", "train"), (VALIDATION, "dev"), ("test", "test")):
        assert premises(content, split) == [found]
    with refused(DataError, "path has no split 'validation' (or dev_r1)", "train, dev, test", "splits", "hold_out"):
        rows_of(content, Split("validation", aliases=("dev_r1",)))
    with refused(DataError, "none"):
        rows_of({})
    with refused(DataError, "premise, hypothesis"):  # columns, and no splits
        rows_of({"premise": ["a"], "hypothesis": ["a"]})


def test_a_split_may_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(row(premise="from a file")) + "\n")
    content = {"train": str(tmp_path / "a.jsonl"), "dev": [row(premise="from memory")]}
    assert premises(content, "train") == ["from a file"]
    assert premises(content, VALIDATION) == ["from memory"]
    with refused(DataError, "b.jsonl"):
        rows_of({"train": tmp_path / "b.jsonl"})


@pytest.mark.parametrize("content", [3, iter([row()]), np.ones(3), {"train": None}])
def test_what_is_not_rows_is_refused_by_its_type(content: Any) -> None:
    held = content["train"] if isinstance(content, dict) else content
    with refused(SettingError, "path", "None" if held is None else type(held).__name__):
        rows_of(content)


def test_rows_in_memory_that_cannot_be_read_are_named() -> None:
    for empty in (pd.DataFrame([]), pa.table({}), []):
        for content, *facts in ((empty,), ({"train": empty}, "(train)")):
            with refused(DataError, "has no rows", *facts):
                rows_of(content)
    table = pa.table([pa.array(["a"])] * 2, names=["premise", "premise"])
    for content in (table, pd.DataFrame([["a", "b"]], columns=["premise", "premise"])):
        with refused(DataError, "premise"):
            rows_of(content)
    with refused(DataError, "the column"):
        rows_of([{1: "a"}])
    with refused(DataError, "the list, row 2", "'premise'"):
        rows_of([row(), ["premise"]])
    with refused(DataError, "memory of a Python program", "data.path"):
        rows_of("(in memory)")


def test_nothing_is_imported_to_recognise_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "datasets", "polars"):
        monkeypatch.setitem(sys.modules, name, None)  # an import of it would fail
    for content in ([row()], pa.Table.from_pylist([row()]), to_arrow([row()])):
        assert rows_of(content) == [(1, row())]


# the hub


def fake_hub(monkeypatch: pytest.MonkeyPatch, found: Mapping[tuple[str, str | None, str], Any]) -> list[Any]:
    """Let ``datasets.load_dataset`` read data sets in memory; returns what is asked for."""
    asked: list[Any] = []

    def load(path: str, name: str | None = None, *, split: str, revision: str | None = None) -> Dataset:
        asked.append((path, name, split, revision))
        return found[path, name, split]

    monkeypatch.setattr(datasets, "load_dataset", load)
    return asked


def test_the_revision_and_another_repository_for_training_reach_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = fake_hub(monkeypatch, {("o/y", None, "train"): saved("a"), ("o/x", "s", "validation"): saved("b")})
    hub = Hub("o/x", "s", "abc", train="o/y")
    assert (premises(None, "train", hub=hub), premises(None, "validation", hub=hub)) == (["a"], ["b"])
    assert asked == [("o/y", None, "train", None), ("o/x", "s", "validation", "abc")]
    assert hub.rows("train")[0] == "o/y (train)"


@pytest.mark.parametrize(
    "error",
    [
        ConnectionError("Couldn't reach 'o/x' on the Hub (LocalEntryNotFoundError)\nmore\nlines"),
        ValueError("Unknown split \"validation\". Should be one of ['train']."),
        OSError(),
    ],
)
def test_a_hub_that_fails_is_one_line_with_what_to_do(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(datasets, "load_dataset", Mock(side_effect=error))
    first = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    with refused(DataError, "'validation'", "o/x", first):
        Hub("o/x").rows("validation")


VALUES = st.sampled_from(["a", "b", 1, 2.0, None])
SHOWN = {"a": "a", "b": "b", 1: "1", 2.0: "2", None: ""}


def kept(rows, where, split=ANY_SPLIT):
    """The rows that are kept."""
    return list(filtered(iter(enumerate(rows, 1)), "FILE", conditions_of(where, split)))


@given(
    st.lists(st.fixed_dictionaries({"x": VALUES, "y": VALUES}), min_size=1),
    st.dictionaries(st.sampled_from(["x", "y"]), st.lists(VALUES, min_size=1, max_size=3)),
)
def test_rows_are_those_of_a_plain_loop(rows, where):
    wanted = {column: {SHOWN[value] for value in values} for column, values in where.items()}
    expected = []
    for number, row in enumerate(rows, 1):
        if all(SHOWN[row[column]] in wanted[column] for column in wanted):
            expected.append((number, row))
    occur = all(wanted[column] <= {SHOWN[row[column]] for row in rows} for column in wanted)
    if not expected or not occur:
        with refused(DataError if occur else SettingError, "where", "FILE"):
            kept(rows, where)
    else:
        assert kept(rows, where) == expected


def test_a_value_is_one_or_a_list_and_a_split_has_conditions_of_its_own():
    where = {"x": "a", "y": ["a", 1, 1.0], "validation": {"x": "b"}}
    assert conditions_of(where, "train") == {"x": ("a",), "y": ("a", "1")}
    assert conditions_of(where, "validation") == {"x": ("b",), "y": ("a", "1")}


def test_a_text_file_is_read_if_it_is_named(tmp_path):
    (tmp_path / "SICK_train.txt").write_text("a\tb\nx\ty\n")
    (tmp_path / "readme.txt").write_text("Any text.\n")
    for name in ("SICK_train.txt", "SICK_train"):
        assert list(Source(tmp_path).rows(Split(name))[1]) == [(1, {"a": "x", "b": "y"})]
    with refused(DataError, tmp_path, "train", "SICK_train.txt"):
        Source(tmp_path).rows(Split("train"))
