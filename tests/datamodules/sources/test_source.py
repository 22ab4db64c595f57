"""Rows become examples or an error with file and row; files, saved data sets and the hub give the same rows."""

import gzip
import json
import math
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import datasets
import pytest
import yaml
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value

from heedful.datamodules import Columns, Hub, PairedText, Source, Split, to_examples
from heedful.records import DataError, Example, HeedfulError, SettingError

from content_uids import content_uid
from refusals import refused

LABELS = {"entailment": [0], "neutral": [1], "contradiction": [2]}
CONFIGS = Path(__file__).parents[3] / "configs" / "data"
NLI = Columns({"premise": "premise", "hypothesis": "hypothesis"}, "label", LABELS)


def configured(name: str) -> dict[str, Any]:
    """The arguments that a config gives to PairedText."""
    arguments = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())["init_args"]
    return arguments | {"hub": Hub(**arguments["hub"])}


def pair(label: Any = 0, **others: Any) -> dict[str, Any]:
    return {"premise": "A dog runs.", "hypothesis": "A cat sits.", "label": label} | others


def converted(rows: Sequence[Mapping[str, Any]], columns: Columns = NLI) -> tuple[list[Example], int]:
    examples = to_examples(iter(enumerate(rows, 1)), "file.csv", columns, Split("", "nli/train", training=True))
    return list(examples), examples.no_gold


def refuses(
    rows: Sequence[Mapping[str, Any]], error: type[HeedfulError], *facts: object, columns: Columns = NLI
) -> None:
    """Rows are refused with the name of the file."""
    with refused(error, "file.csv", *facts):
        converted(rows, columns)


def texts(source: Source, split: str, aliases: Sequence[str] = ()) -> list[str]:
    """The premises of a split."""
    return [values["premise"] for _, values in source.rows(Split(split, aliases=aliases))[1]]


def write(path: Path, *premises: str) -> Path:
    path.write_text("".join(json.dumps(pair(premise=premise)) + "\n" for premise in premises))
    return path


# rows to examples


def test_spellings_are_text_or_numbers() -> None:
    columns = Columns({"premise": "premise"}, "label", {"yes": ["True", 1], "no": ["False", 0]})
    assert [e.label for e in converted([pair(v) for v in (True, "True", 1, "no", False, 0.0)], columns)[0]] == [
        *("yes", "yes", "yes"),
        *("no", "no", "no"),
    ]


def test_rows_without_gold_are_left_out_and_counted() -> None:
    examples, no_gold = converted([pair(0), pair("-"), pair(2), pair(None)])
    assert sorted(e.label for e in examples) == ["contradiction", "entailment"]
    assert no_gold == 2


@pytest.mark.parametrize("spelling", ["none", "-1", "-"])
def test_a_declared_label_is_gold_even_if_elsewhere_it_means_none(spelling: str) -> None:
    """Some data have a relation called "none", and some call the second class -1."""
    columns = Columns({"premise": "premise"}, "label", {"some": [1], "other": [spelling]})
    examples, no_gold = converted([pair("some"), pair(spelling)], columns)
    assert [e.label for e in examples] == ["some", "other"]
    assert no_gold == 0


def test_one_spelling_of_two_labels_is_refused() -> None:
    """Otherwise one of the labels would silently never occur."""
    with refused(SettingError, "'1'", "neutral", "contradiction"):
        converted([pair(1)], Columns(NLI.parts, "label", {"entailment": [0], "neutral": [1], "contradiction": [1]}))


def test_parts_labels_and_groups_come_from_the_named_columns() -> None:
    columns = Columns({"text": "b", "claim": "a"}, "gold", {"yes": [], "no": []}, uid="id", groups=("doc",))
    (example,), _ = converted([{"a": "A", "b": "B", "gold": "yes", "id": 7, "doc": 12, "more": None}], columns)
    assert (example.uid, example.label) == ("nli/train/7", "yes")
    assert list(example.parts.items()) == [("text", "B"), ("claim", "A")]
    assert list(example.groups) == ["text", "claim", "doc"]
    assert example.groups["doc"] == "12"


def test_rows_without_an_id_are_named_by_their_label_and_texts() -> None:
    """Whatever their order; blanks and how letters are composed do not count, and repeats are numbered."""
    texts = [("It  is caf\u00e9.", 0), ("It is cafe\u0301. ", 0), ("It is caf\u00e9.", 1), ("It is Caf\u00e9.", 0)]
    rows = [pair(label) | {"premise": text, "hypothesis": "h"} for text, label in texts]
    labels = ["entailment", "entailment", "neutral", "entailment"]
    expected = {
        content_uid("nli/train", label, {"premise": text, "hypothesis": "h"}, repeat)
        for (text, _), label, repeat in zip(texts, labels, (1, 2, 1, 1), strict=True)
    }
    found = [{e.uid: e.parts["premise"] for e in converted(list(order))[0]} for order in permutations(rows)]
    assert set(found[0]) == expected
    assert all(list(one.items()) == list(found[0].items()) for one in found)
    assert list(found[0]) == sorted(found[0])


def test_a_missing_column_is_named_with_those_that_there_are() -> None:
    refuses([pair(), {"premise": "x", "gold": "0"}], DataError, "row 2", "'hypothesis'", "premise, gold")


@pytest.mark.parametrize("column", ["label", "id", "doc"])
def test_missing_label_uid_and_group_columns_are_errors(column: str) -> None:
    row = pair(id=1, doc="d")
    del row[column]
    columns = Columns(NLI.parts, "label", LABELS, uid="id", groups=("doc",))
    refuses([row], DataError, "row 1", repr(column), columns=columns)


@pytest.mark.parametrize("label", ["Neutral?", 3, "2.5", "entail", 1.5, -2])
def test_an_unknown_label_is_named_with_the_known_ones(label: Any) -> None:
    refuses([pair(), pair(label)], DataError, "row 2", repr(label), *LABELS)


@pytest.mark.parametrize("empty", ["", "  \n", None])
@pytest.mark.parametrize("column", ["premise", "hypothesis"])
def test_an_empty_part_is_an_error(column: str, empty: str | None) -> None:
    refuses([pair(), pair(), pair(**{column: empty})], DataError, "row 3", repr(column))


def test_an_empty_part_of_a_row_without_gold_does_not_matter() -> None:
    assert converted([pair(), pair("-", premise="")])[1] == 1


@pytest.mark.parametrize("again", [7, "7"])
def test_a_repeated_uid_is_named_with_both_rows(again: Any) -> None:
    columns = Columns(NLI.parts, "label", LABELS, uid="id")
    refuses([pair(id=7), pair(id=8), pair(id=again)], DataError, "row 3", "row 1", "'7'", columns=columns)


def test_a_source_without_any_gold_label_is_refused_with_the_count() -> None:
    refuses([pair("-"), pair(None)], DataError, "2 without")


def test_text_is_taken_over_to_the_letter() -> None:
    text = ' a\u2028b\x85c\r\n"NA"\U0001f642 '
    assert converted([pair(premise=text)])[0][0].parts["premise"] == text


# local files


def test_a_folder_has_one_file_per_split(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", "t")
    write(tmp_path / "validation.jsonl", "v")
    (tmp_path / "README.md").write_text("about")
    (tmp_path / ".train.jsonl").write_text("hidden")
    assert texts(Source(tmp_path), "train") == ["t"]
    assert texts(Source(tmp_path), "validation") == ["v"]
    assert Source(tmp_path).rows(Split("train"))[0] == str(tmp_path / "train.jsonl")


@pytest.mark.parametrize("name", ["dev", "valid", "validation"])
def test_validation_has_other_names(tmp_path: Path, name: str) -> None:
    write(tmp_path / f"{name}.jsonl", name)
    assert texts(Source(tmp_path), "validation", ("validation", "dev", "valid")) == [name]


def test_the_split_itself_comes_before_its_other_names(tmp_path: Path) -> None:
    for name in ("dev", "validation", "validation_matched"):
        write(tmp_path / f"{name}.jsonl", name)
    assert texts(Source(tmp_path), "validation_matched", ("validation", "dev")) == ["validation_matched"]


@pytest.mark.parametrize("split", ["sample_2.v1", "sample_2.v1.jsonl"])
def test_a_file_is_named_through_its_split_with_or_without_its_suffix(tmp_path: Path, split: str) -> None:
    write(tmp_path / "sample_2.v1.jsonl", "s")
    write(tmp_path / "train.jsonl", "t")
    assert texts(Source(tmp_path), split, ("train",)) == ["s"]


def test_capitals_in_the_name_of_a_file_do_not_hide_it(tmp_path: Path) -> None:
    write(tmp_path / "MNLI_Train.jsonl", "t")
    assert texts(Source(tmp_path), "MNLI_Train") == ["t"]


def test_compressed_files_are_files_of_their_split(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl.gz").write_bytes(gzip.compress(json.dumps(pair(premise="z")).encode()))
    assert texts(Source(tmp_path), "train") == ["z"]


def test_several_files_for_a_split_are_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", "a")
    write(tmp_path / "train.csv", "b")
    with refused(DataError, "'train'", "train.csv, train.jsonl", "splits '{train: NAME}'"):
        Source(tmp_path).rows(Split("train"))
    assert texts(Source(tmp_path), "train.jsonl") == ["a"]


def test_a_folder_without_the_split_lists_what_there_is(tmp_path: Path) -> None:
    write(tmp_path / "training.jsonl", "a")
    (tmp_path / "validation.doc").write_text("x")
    with refused(DataError, "training.jsonl", "splits '{validation: NAME}'", "hold_out N") as caught:
        Source(tmp_path).rows(Split("validation", aliases=("validation", "dev")))
    assert "validation.doc" not in str(caught.value)  # which is of a format that is not read
    with refused(DataError, "'train'", "splits '{train: NAME}'") as caught:
        Source(tmp_path).rows(Split("train"))
    assert "hold_out" not in str(caught.value)


def test_a_text_file_is_taken_where_there_is_no_other(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("premise\tlabel\nt\tx\n")
    assert texts(Source(tmp_path), "train") == ["t"]
    write(tmp_path / "train.jsonl", "j")
    assert texts(Source(tmp_path), "train") == ["j"]


def test_a_file_without_a_header_says_how_to_name_its_columns(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("A dog ran.\tIt ran.\t0\nA cat sat.\tIt ran.\t1\n")
    where, rows = Source(tmp_path / "a.tsv").rows(Split("train"))
    with refused(DataError, "row 1", "columns '[NAME, ...]'", "'premise', 'hypothesis', 'label'"):
        to_examples(rows, where, NLI, Split("", "d/train"))
    where, rows = Source(tmp_path / "a.tsv", header=("premise", "hypothesis", "label")).rows(Split("train"))
    examples = to_examples(rows, where, NLI, Split("", "d/train"))
    assert sorted(examples.column("label")) == ["entailment", "neutral"]


def test_an_empty_folder_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    with refused(DataError, tmp_path, "'train'", "none"):
        Source(tmp_path).rows(Split("train"))
    with refused(DataError, f"path {tmp_path / 'none'}"):
        Source(tmp_path / "none").rows(Split("train"))


def test_a_single_file_is_every_split(tmp_path: Path) -> None:
    path = write(tmp_path / "some.jsonl", "a", "b")
    assert texts(Source(path), "train") == texts(Source(path), "validation") == ["a", "b"]


def test_the_only_file_of_a_folder_is_read_and_that_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "README.md").write_text("about")
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n")
    where, rows = Source(tmp_path).rows(Split("validation_matched", aliases=["dev_matched"]))
    assert (where, [dict(values) for _, values in rows]) == (str(tmp_path / "mine.csv"), [{"a": "1", "b": "2"}])
    assert "holds one file, mine.csv, which is read as validation_matched" in caplog.text
    (tmp_path / "mine.csv").rename(tmp_path / "train.csv")
    with refused(DataError, "'validation'", "train.csv"):
        Source(tmp_path).rows(Split("validation"))


@pytest.mark.parametrize(
    ("column", "facts"), [("Premise", ["mean Premise?"]), ("premises", ["mean premises?"]), ("x", ["gold. Set"])]
)
def test_a_column_that_is_like_the_missing_one_is_named(column: str, facts: list[str]) -> None:
    rows = [{column: "p", "hypothesis": "h", "gold": "0"}]
    refuses(rows, DataError, "row 1", "'premise'", f"{column}, hypothesis, gold", *facts)


@pytest.mark.parametrize(
    ("name", "mark"), [("train.csv", "\t"), ("train.csv", ";"), ("train.tsv", ","), ("train.csv", "|")]
)
def test_another_mark_between_columns_is_named(tmp_path: Path, name: str, mark: str) -> None:
    (tmp_path / name).write_text(f"premise{mark}hypothesis{mark}gold\np{mark}h{mark}0\n")
    with refused(DataError, name, repr(f"premise{mark}hypothesis{mark}gold")):
        to_examples(Source(tmp_path).rows(Split("train"))[1], name, NLI, Split("", "d/train"))


def test_quoting_reaches_the_reader(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text('premise\n"Yes," he said.\n')
    assert texts(Source(tmp_path, quoting=False), "train") == ['"Yes," he said.']


# saved data sets

FEATURES = Features(
    {"premise": Value("string"), "hypothesis": Value("string"), "label": ClassLabel(names=list(LABELS))}
)


def saved(*premises: str) -> Dataset:
    rows = [pair(label=i % 3, premise=premise) for i, premise in enumerate(premises)]
    return Dataset.from_list(rows, features=FEATURES)


def test_a_saved_data_set_is_every_split(tmp_path: Path) -> None:
    saved("a", "b").save_to_disk(tmp_path / "d")
    assert texts(Source(tmp_path / "d"), "train") == texts(Source(tmp_path / "d"), "validation") == ["a", "b"]


def test_a_saved_dictionary_has_the_splits_that_it_has(tmp_path: Path) -> None:
    DatasetDict(train=saved("t"), dev=saved("v"), test=saved("x")).save_to_disk(tmp_path / "d")
    assert texts(Source(tmp_path / "d"), "train", ("train",)) == ["t"]
    assert texts(Source(tmp_path / "d"), "validation", ("validation", "dev")) == ["v"]
    with refused(DataError, "'other'", "train, dev, test"):
        Source(tmp_path / "d").rows(Split("other"))


def test_saved_data_become_examples(tmp_path: Path) -> None:
    saved("a", "b", "c").save_to_disk(tmp_path / "d")
    where, rows = Source(tmp_path / "d").rows(Split("train"))
    examples = to_examples(rows, where, NLI, Split("", "s/train"))
    assert sorted(examples.column("label")) == ["contradiction", "entailment", "neutral"]
    assert examples.no_gold == 0


@pytest.mark.parametrize("damage", ["no state", "no data", "cut data", "broken json"])
def test_a_damaged_saved_data_set_is_refused_by_name(tmp_path: Path, damage: str) -> None:
    saved(*"abc").save_to_disk(tmp_path / "d")
    (data,) = (tmp_path / "d").glob("*.arrow")
    if damage == "no state":
        (tmp_path / "d" / "state.json").unlink()
    elif damage == "no data":
        data.unlink()
    elif damage == "cut data":
        data.write_bytes(data.read_bytes()[:100])
    else:
        (tmp_path / "d" / "dataset_info.json").write_text("{")
    with refused(DataError, tmp_path / "d", "save_to_disk"):
        list(Source(tmp_path / "d").rows(Split("train"))[1])


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), (math.nan, ""), ("", ""), (3, "3"), (2.5, "2.5"), (" a ", " a ")]
)
def test_a_meta_column_is_text_and_may_be_empty(value: Any, text: str) -> None:
    columns = Columns(NLI.parts, "label", LABELS, meta=("topic",))
    assert dict(converted([pair(topic=value)], columns)[0][0].meta) == {"topic": text}
    refuses([pair(topic=[1])], DataError, "row 1", "'topic'", "[1]", columns=columns)


# the hub


class FakeHub:
    """``datasets.load_dataset`` over data sets in memory, which are loaded as the hub would."""

    def __init__(self, found: Mapping[tuple[str, str | None, str], Dataset]) -> None:
        self.found, self.asked = found, []

    def __call__(self, path: str, name: str | None = None, *, split: str, revision: str | None = None) -> Dataset:
        self.asked.append((path, name, split, revision))
        return self.found[path, name, split]


def features(labels: Sequence[str] | None, *columns: str) -> Features:
    kinds = {c: Value("int32") if c in ("idx", "id") else Value("string") for c in columns}
    return Features(kinds | ({"label": ClassLabel(names=list(labels))} if labels else {}))


NAMES = ("entailment", "neutral", "contradiction")
SCHEMAS = {
    "mnli": ("nyu-mll/glue", "mnli", "validation_matched", features(NAMES, "premise", "hypothesis", "idx")),
    "mnli-mismatched": (
        *("nyu-mll/glue", "mnli", "validation_mismatched"),
        features(NAMES, "premise", "hypothesis", "idx"),
    ),
    "rte": (
        *("nyu-mll/glue", "rte", "validation"),
        features(["entailment", "not_entailment"], "sentence1", "sentence2", "idx"),
    ),
    "qqp": (
        *("nyu-mll/glue", "qqp", "validation"),
        features(["not_duplicate", "duplicate"], "question1", "question2", "idx"),
    ),
    "snli": ("stanfordnlp/snli", "plain_text", "validation", features(NAMES, "premise", "hypothesis")),
    "paws": (
        *("google-research-datasets/paws", "labeled_final", "validation"),
        features(["0", "1"], "id", "sentence1", "sentence2"),
    ),
}


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_each_config_reads_the_schema_of_its_hub_id(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """ClassLabel integers become label names in their order; -1, which is no gold, is left out and counted."""
    hub, subset, split, schema = SCHEMAS[name]
    names = schema["label"].names
    rows = [
        {c: i if schema[c].dtype == "int32" else f"{c} {i}" for c in schema} | {"label": label}
        for i, label in enumerate([*range(len(names)), -1, 0])
    ]
    fake = FakeHub({(hub, subset, split): Dataset.from_list(rows, features=schema)})
    monkeypatch.setattr(datasets, "load_dataset", fake)
    data = PairedText(**configured(name))
    examples = data.load("validation")
    assert fake.asked == [(hub, subset, split, None)]
    expected = names if names != ["0", "1"] else ["not_paraphrase", "paraphrase"]
    assert examples.no_gold == 1
    assert {tuple(e.parts.values()): e.label for e in examples} == {
        tuple(f"{c} {i}" for c in data.full_task.parts): label
        for i, label in [*enumerate(expected), (len(rows) - 1, expected[0])]
    }
    assert set(data.load("validation").column("uid")) == {
        content_uid(f"{name}/validation", e.label, e.parts) for e in examples
    }


def test_the_rounds_of_anli_are_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    schema, rounds = features(NAMES, "uid", "premise", "hypothesis", "reason"), ("dev_r1", "dev_r2", "dev_r3")
    rows = {r: [{"premise": f"p {r}", "hypothesis": f"h {i}", "label": i % 3} for i in range(4)] for r in rounds}
    empty = {"uid": "u", "reason": ""}
    found = {
        ("facebook/anli", "plain_text", r): Dataset.from_list([empty | row for row in rows[r]], features=schema)
        for r in rounds
    }
    monkeypatch.setattr(datasets, "load_dataset", FakeHub(found))
    data = PairedText(**configured("anli"))
    examples = data.load("validation")
    assert data.splits_evaluated == rounds
    assert [e.meta["split"] for e in examples] == [r for r in rounds for _ in range(4)]
    assert sorted(e.label for e in examples[:4]) == sorted([*NAMES, NAMES[0]])
    assert len(set(examples.column("cluster"))) == 3  # a premise of each round
    assert data.splits["train"] == "train_r3"


def test_wanli_has_gold_as_text_and_no_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = features(None, "id", "premise", "hypothesis", "gold", "genre", "pairID")
    rows = [
        {"id": 1000 + i, "premise": f"p {i}", "hypothesis": f"h {i}", "gold": NAMES[i % 3], "genre": "g", "pairID": "1"}
        for i in range(30)
    ]
    fake = FakeHub({("alisawuffles/WANLI", None, "train"): Dataset.from_list(rows, features=schema)})
    monkeypatch.setattr(datasets, "load_dataset", fake)
    data = PairedText(**configured("wanli") | {"hold_out": 10})
    train, held = data.load("train"), data.load("validation")
    assert (len(train), len(held)) == (20, 10)
    assert {e.uid for e in (*train, *held)} == {f"wanli/train/{1000 + i}" for i in range(30)}
    assert all(e.label == NAMES[int(e.parts["premise"].split()[1]) % 3] for e in (*train, *held))


def test_the_revision_reaches_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeHub({("o/x", None, "train"): saved("a")})
    monkeypatch.setattr(datasets, "load_dataset", fake)
    assert texts(Source(hub=Hub("o/x", revision="abc")), "train") == ["a"]
    assert fake.asked == [("o/x", None, "train", "abc")]


def test_the_training_split_may_be_in_another_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeHub({("o/y", None, "train"): saved("a"), ("o/x", "s", "validation"): saved("b")})
    monkeypatch.setattr(datasets, "load_dataset", fake)
    hub = Hub("o/x", "s", "abc", train="o/y")
    assert (texts(Source(hub=hub), "train"), texts(Source(hub=hub), "validation")) == (["a"], ["b"])
    assert fake.asked == [("o/y", None, "train", None), ("o/x", "s", "validation", "abc")]
    assert hub.rows("train")[0] == "o/y (train)"


@pytest.mark.parametrize(
    "error",
    [
        ConnectionError("Couldn't reach 'o/x' on the Hub (LocalEntryNotFoundError)\nmore\nlines"),
        FileNotFoundError("Couldn't find any data file."),
        ValueError("Couldn't find cache for o/x."),
        RuntimeError("Dataset scripts are no longer supported"),
        OSError(),
    ],
)
def test_a_hub_that_fails_is_one_line_with_what_to_do(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise error

    monkeypatch.setattr(datasets, "load_dataset", fail)
    monkeypatch.setattr(datasets, "get_dataset_split_names", fail)
    first = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    with refused(DataError, "o/x", first, "path", "data planted", "HF_HUB_OFFLINE") as caught:
        Hub("o/x").rows("validation")
    assert ".." not in str(caught.value)


def test_a_split_that_the_hub_does_not_have_is_named_with_those_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise ValueError("Unknown split \"validation\". Should be one of ['train'].")

    monkeypatch.setattr(datasets, "load_dataset", fail)
    monkeypatch.setattr(datasets, "get_dataset_split_names", lambda *args, **kwargs: ["train", "extra"])
    with refused(DataError, "o/x", "'validation'", "['train']", "splits '{validation: NAME}'"):
        Hub("o/x").rows("validation")
    with refused(DataError, "o/x"):
        Hub("o/x").rows("train")


def test_a_data_set_that_is_not_cached_is_refused_offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    with refused(DataError, "nyu-mll/glue", "path"):
        PairedText(**configured("mnli")).load("validation")


def test_without_hub_and_path_the_flag_is_named() -> None:
    with refused(SettingError, "path"):
        PairedText("own", dict(NLI.parts), LABELS).load("train")
