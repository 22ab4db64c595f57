"""Rows in memory give what the same rows give from a file, whatever holds them, or are refused like those."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules import Columns, Source, Split, to_examples
from heedful.datamodules.sources.values import is_empty
from heedful.records import DataError, HeedfulError, SettingError

from refusals import refused

LABELS = {"entailment": [0], "neutral": [1], "contradiction": [2]}
COLUMNS = Columns({"premise": "premise", "hypothesis": "hypothesis"}, "label", LABELS, groups=("doc",), meta=("genre",))
Rows = Sequence[Mapping[str, Any]]


class ToArrow:
    """All that is known of a polars frame, which is not a dependency."""

    def __init__(self, rows: Rows) -> None:
        self.table = pa.Table.from_pylist(list(rows))
        self.columns = self.table.column_names

    def __len__(self) -> int:
        return len(self.table)

    def to_arrow(self) -> pa.Table:
        return self.table


CONTAINERS: dict[str, Callable[[Rows], Any]] = {
    "pandas": pd.DataFrame,
    "nullable": lambda rows: pd.DataFrame(rows).convert_dtypes(),
    "pyarrow in pandas": lambda rows: pd.DataFrame(rows).convert_dtypes(dtype_backend="pyarrow"),
    "indexed": lambda rows: pd.DataFrame(rows).set_index(pd.Index([7] * len(rows), name="own")),
    "arrow": lambda rows: pa.Table.from_pylist(list(rows)),
    "dataset": lambda rows: datasets.Dataset.from_list(list(rows)),
    "to_arrow": ToArrow,
    "list": list,
}


def row(i: int = 0, **others: Any) -> dict[str, Any]:
    pair = {"premise": f"Dog  {i % 3} runs.", "hypothesis": f"A cat {i} sits.", "label": i % 3}
    return pair | {"doc": 100 + i % 2, "genre": f"g{i % 2}"} | others


def rows_of(content: Any, split: str = "train", aliases: Sequence[str] = ()) -> list[tuple[int, Any]]:
    return list(Source(content).rows(Split(split, aliases=aliases))[1])


def outcome(source: Any, columns: Columns = COLUMNS) -> Any:
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
    elif ending == "csv":
        pd.DataFrame(rows).to_csv(file, index=False)
    else:
        file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return Source(file)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rows")


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_the_examples_are_those_of_a_file(container: str, ending: str, folder: Path) -> None:
    rows = [row(i) for i in range(10)] + [row(3), row(4, label=-1), row(5, genre="")]
    examples, no_gold = outcome(Source(CONTAINERS[container](rows)))
    assert (len(examples["uid"]), no_gold) == (12, 1)
    assert (examples, no_gold) == outcome(written(folder, rows, ending))


# any content

JSON = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=4)
LABEL = st.sampled_from([0, 1, 2, "neutral", "1", 1.0, "-", None, -1, 3])
ANY_ROW = st.fixed_dictionaries(
    {"premise": st.text(min_size=1, max_size=4) | JSON, "hypothesis": st.sampled_from("abc"), "label": LABEL | JSON},
    optional={"doc": JSON, "genre": JSON | st.lists(st.integers(0, 1), max_size=2)},
)


@given(rows=st.lists(ANY_ROW, min_size=1, max_size=5))
def test_a_list_is_read_as_jsonl_is(rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = written(tmp_path_factory.getbasetemp(), rows, "jsonl")
    assert outcome(Source(rows)) == outcome(file)


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


@pytest.mark.slow
@given(rows=st.lists(TYPED_ROW, min_size=1, max_size=5))
def test_columns_of_one_type_are_read_as_parquet_is(rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> None:
    expected = outcome(written(tmp_path_factory.getbasetemp(), rows, "parquet"))
    for container in ("pandas", "nullable", "pyarrow in pandas", "arrow", "dataset"):
        assert outcome(Source(CONTAINERS[container](rows))) == expected, container


# values


MISSING = (None, float("nan"), np.float32("nan"), pd.NA, pd.NaT)


@pytest.mark.parametrize("container", [list, lambda rows: pd.DataFrame(rows, dtype=object)])
@pytest.mark.parametrize("missing", MISSING)
def test_any_missing_value_is_none(missing: Any, container: Callable[[Rows], Any]) -> None:
    ((_, values),) = rows_of(container([{"a": missing}]))
    assert is_empty(values["a"])
    with refused(DataError, "row 1", "'premise'"):
        to_examples(Source(container([row(premise=missing)])).rows(Split("train"))[1], "f", COLUMNS, Split("", "n/t"))


def test_values_of_numpy_are_those_of_python() -> None:
    values = {
        "int": np.int8(3),
        "float": np.float64(0.5),
        "bool": np.bool_(True),
        "text": np.str_("a"),
        "list": np.array(["a", "b"], dtype=object),
        "nested": {"text": np.array([["a"], ["b"]]), "start": (np.int64(1), 2)},
        "bytes": b"a",
    }
    ((number, found),) = rows_of([values])
    assert number == 1
    assert [type(value) for value in found.values()] == [int, float, bool, str, list, dict, bytes]
    assert found == {"int": 3, "float": 0.5, "bool": True, "text": "a", "bytes": b"a"} | {
        "list": ["a", "b"],
        "nested": {"text": [["a"], ["b"]], "start": [1, 2]},
    }


@pytest.mark.parametrize("odd", [pd.Timestamp(0), np.datetime64("2020-01-01"), np.ones(2), 1j, pd.Series([1, 2]), {1}])
def test_what_is_not_text_is_refused_where_it_is_read_and_only_there(odd: Any) -> None:
    content = [row(genre="", extra=odd)]
    assert outcome(Source(content))[1] == 0
    with refused(DataError, "row 1", "'premise'"):
        source = Source([row(premise=odd)])
        to_examples(source.rows(Split("train"))[1], "the list", COLUMNS, Split("", "n/t"))


def test_a_category_is_its_value() -> None:
    frame = pd.DataFrame({"a": pd.Categorical(["x", None, "x"]), "b": pd.Categorical([1, None, 1])})
    assert [values for _, values in rows_of(frame)] == [{"a": "x", "b": 1}, {"a": None, "b": None}, {"a": "x", "b": 1}]
    assert [type(values["b"]) for _, values in rows_of(frame)][0] is int


# integers that pandas made floats


@pytest.fixture(params=[None, "category"])
def gaps(request: pytest.FixtureRequest) -> pd.DataFrame:
    """Labels, documents and genres are whole numbers, and the second of each is missing."""
    numbers = [{name: 0 if name == "label" else i for name in ("label", "doc", "genre")} for i in (1, 2, 3)]
    frame = pd.DataFrame([row(i) | more for i, more in enumerate(numbers)])
    frame.loc[1, ["label", "doc", "genre"]] = None
    return frame.astype({"label": float, "doc": float, "genre": float}).astype(
        dict.fromkeys(("label", "doc", "genre"), request.param or float)
    )


def test_a_label_that_became_a_float_is_the_label(gaps: pd.DataFrame) -> None:
    columns = Columns(COLUMNS.parts, "label", LABELS)
    examples, no_gold = outcome(Source(gaps), columns)
    assert (examples["label"], no_gold) == (["entailment"] * 2, 1)
    kept = [row(i, label=0) for i in (0, 2)] + [row(1, label=None)]
    assert (examples, no_gold) == outcome(Source(kept), columns)


def test_floats_that_are_not_all_whole_are_text_as_in_a_file(folder: Path) -> None:
    rows = [row(i, genre=value) for i, value in enumerate([0.5, 1.0, 1e16])]
    examples, _ = outcome(Source(pd.DataFrame(rows)))
    assert sorted(examples["meta.genre"]) == ["0.5", "1.0", "1e+16"]
    for ending in ("jsonl", "csv", "parquet"):
        assert outcome(written(folder, rows, ending))[0] == examples


# splits


def test_rows_without_splits_are_read_for_any(folder: Path) -> None:
    source = Source(pd.DataFrame([row()]))
    assert [source.rows(Split(split))[0] for split in ("train", "validation")] == ["the frame"] * 2


@pytest.mark.parametrize("mapping", [dict, datasets.DatasetDict])
def test_a_split_is_found_by_its_name_and_then_by_its_others(mapping: type) -> None:
    splits = {name: datasets.Dataset.from_list([row(premise=name)]) for name in ("train", "dev", "validation_matched")}
    source = Source(mapping(splits))
    for asked, found in (("train", "train"), ("validation", "dev"), ("validation_matched", "validation_matched")):
        where, rows = source.rows(Split(asked, aliases=("dev", "valid")))
        assert where == f"the data set ({found})"
        assert [values["premise"] for _, values in rows] == [found]


def test_a_split_that_is_missing_is_named_with_those_that_there_are() -> None:
    content = {"train": [row()], "test": [row()]}
    with refused(DataError, "path has no split 'validation' (or dev)", "train, test", "splits", "hold_out"):
        Source(content).rows(Split("validation", aliases=("dev",)))
    with refused(DataError, "none"):
        Source({}).rows(Split("train"))
    with refused(DataError, "premise, hypothesis, label"):  # columns, and no splits
        Source({name: ["a"] for name in ("premise", "hypothesis", "label")}).rows(Split("train"))


# refusals


class Once:
    """Rows that can be gone through once."""

    def __iter__(self) -> Iterator[Any]:
        return iter([row()])


@pytest.mark.parametrize("content", [3, iter([row()]), Once(), np.ones(3), {"train": "train.csv"}, {"train": None}])
def test_what_is_not_rows_is_refused_by_its_type(content: Any) -> None:
    held = content["train"] if isinstance(content, dict) else content
    with refused(SettingError, "path", "None" if held is None else type(held).__name__):
        Source(content).rows(Split("train"))


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    ("error", "mistake", "facts"),
    [
        (DataError, {"premise": None}, ("row 1", "'premise'", "hypothesis, label, doc, genre")),
        (DataError, {"premise": " "}, ("row 3", "'premise'")),
        (DataError, {"label": 7}, ("row 3", "7", "neutral")),
    ],
)
def test_mistakes_are_refused_like_those_of_files(
    container: str, error: type[HeedfulError], mistake: dict[str, Any], facts: Sequence[str], folder: Path
) -> None:
    rows = [row(i) for i in range(4)]
    rows[2] |= mistake
    if mistake == {"premise": None}:
        rows = [{name: value for name, value in one.items() if name != "premise"} for one in rows]
    source = Source(CONTAINERS[container](rows))
    where, numbered = source.rows(Split("train"))
    with refused(error, where, *facts):
        to_examples(numbered, where, COLUMNS, Split("", "n/t"))
    assert outcome(source) == outcome(written(folder, rows, "jsonl"))


@pytest.mark.parametrize("container", ["pandas", "arrow", "dataset", "list"])
def test_repeated_ids_and_rows_without_gold_are_refused(container: str) -> None:
    rows = [row(i, id=i % 2) for i in range(3)]
    error, message = outcome(Source(CONTAINERS[container](rows)), Columns(COLUMNS.parts, "label", LABELS, uid="id"))
    assert error is DataError
    assert "row 3" in message
    assert "row 1" in message
    assert outcome(Source(CONTAINERS[container]([row(label=-1)])))[0] is DataError


@pytest.mark.parametrize("container", ["pandas", "arrow", "list"])
def test_no_rows_are_refused(container: str) -> None:
    with refused(DataError, "has no rows"):
        list(Source(CONTAINERS[container]([])).rows(Split("train"))[1])
    with refused(DataError, "(train) has no rows"):
        list(Source({"train": CONTAINERS[container]([])}).rows(Split("train"))[1])


def test_columns_have_names_of_their_own() -> None:
    table = pa.table([pa.array(["a"])] * 2, names=["premise", "premise"])
    for twice in (table, pd.DataFrame([["a", "b"]], columns=["premise", "premise"])):
        with refused(DataError, "premise"):
            rows_of(twice)
    with refused(DataError, "the column"):
        rows_of([{1: "a"}])


def test_a_row_of_a_list_that_is_not_a_dictionary_is_named() -> None:
    with refused(DataError, "the list, row 2", "'premise'"):
        rows_of([row(), ["premise"]])


def test_nothing_is_imported_to_recognise_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "datasets", "polars"):
        monkeypatch.setitem(sys.modules, name, None)  # an import of it would fail
    assert rows_of([row()]) == [(1, row())]
    assert rows_of(pa.Table.from_pylist([row()])) == [(1, row())]
    assert rows_of(ToArrow([row()])) == [(1, row())]
