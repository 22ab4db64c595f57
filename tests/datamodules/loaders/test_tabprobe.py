"""Counterfactual tables and annotated rows: the numbers of the real files, and what is refused."""

import csv
import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from heedful.datamodules import PairedTables, load_counterfactuals, load_evidence, load_tables
from heedful.datamodules.base.inoculation import Inoculation
from heedful.records import Composed, DataError, Example, Examples, HeedfulError, Table

from infotabs_files import write_infotabs
from refusals import refused

ROOT = Path(__file__).parents[3]
SETTINGS = yaml.safe_load((ROOT / "configs" / "data" / "infotabs.yaml").read_text())["init_args"]
OPEN = {"template": None, "prompts": None}  # what names the parts
FLIP = {"entailment": "contradiction", "contradiction": "entailment"}
HEADER = ["original_tableid", "original_hypothesis", "original_label"]
HEADER = [*HEADER, *(name.replace("original", "modified") for name in HEADER)]


# counterfactual tables


@pytest.mark.slow
@pytest.mark.parametrize(
    ("split", "n", "tables", "entailed"), [("alpha1", 1_127, 200, 576), ("training", 1_108, 171, 567)]
)
def test_the_real_counterfactuals_flip_the_label_by_the_table(
    shared_data: Path, caplog: pytest.LogCaptureFixture, split: str, n: int, tables: int, entailed: int
) -> None:
    with caplog.at_level(logging.INFO):
        originals, modified = load_counterfactuals(shared_data / "tabprobe" / "counterfactuals" / split)
    assert len(originals) == len(modified) == n
    assert len(set(originals.column("meta.table"))) == tables
    assert list(originals.column("label")).count("entailment") == entailed
    for a, b in zip(originals, modified, strict=True):
        assert (a.uid, a.meta, a.groups["table"]) == (b.uid, b.meta, b.groups["table"])
        assert a.uid.startswith(f"counterfactuals/{split}/")
        assert a.parts["hypothesis"] == b.parts["hypothesis"]
        assert a.parts["premise"] != b.parts["premise"]
        assert a.parts["premise"].keys == b.parts["premise"].keys
        assert FLIP[a.label] == b.label
    unchanged = [message for message in caplog.messages if "hypothesis is changed: 1 (row " in message]
    assert len(unchanged) == (split == "training")


@pytest.mark.slow
def test_the_real_counterfactuals_inoculate(shared_data: Path) -> None:
    path = shared_data / "tabprobe" / "counterfactuals" / "training"
    _, modified = load_counterfactuals(path)
    texts = {json.dumps([e.parts["premise"].encode(), e.parts["hypothesis"], e.label]) for e in modified}
    for by_group in (False, True):
        chosen: list[set[str]] = []
        for n in (100, 300):
            inoculation = Inoculation(str(path), n, by_group)
            data = PairedTables(
                **SETTINGS | {"path": str(shared_data / "infotabs")}, augment="inoculation", inoculation=inoculation
            )
            data.setup("fit")
            assert (len(data.train_examples), data.regime) == (n, f"inoculation-{n}")
            chosen.append(set(data.train_examples.column("uid")))
            named = [[e.parts["premise"].encode(), e.parts["hypothesis"], e.label] for e in data.train_examples]
            assert {json.dumps(values) for values in named} <= texts
            tables = set(data.train_examples.column("meta.table"))
            assert by_group == (len(tables) < n * 171 / 1_108 * 1.5)
        assert chosen[0] < chosen[1]


def perturbed(path: Path, n: int, **settings: Any) -> Examples:
    data = PairedTables(
        **SETTINGS | {"path": str(path)} | settings, augment="inoculation", inoculation=Inoculation(perturbed=True, n=n)
    )
    data.setup("fit")
    return data.train_examples


@pytest.mark.slow
def test_perturbed_hypotheses_of_the_training_set_inoculate(shared_data: Path) -> None:
    path = shared_data / "infotabs"
    train = load_tables(path, split="train")
    chosen = {n: list(perturbed(path, n)) for n in (10, 30)}
    assert chosen[10] == chosen[30][:10]
    assert perturbed(path, 10, partial="hypothesis").parts == ("hypothesis",)
    for e in chosen[30]:
        base = train[e.uid.removesuffix("#perturbed")]
        assert e.parts["premise"] == base.parts["premise"]
        assert e.parts["hypothesis"] != base.parts["hypothesis"]
        assert {base.label, e.label} <= {"entailment", "contradiction"}
    assert len({e.uid for e in chosen[30]}) == 30
    assert {e.label == train[e.uid.removesuffix("#perturbed")].label for e in chosen[30]} == {True, False}


def table(folder: Path, name: str, **rows: Any) -> None:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / f"{name}.json").write_text(json.dumps({"title": ["A"]} | rows))


@pytest.fixture
def flipped(tmp_path: Path) -> Path:
    """A folder with two pairs on one table."""
    table(tmp_path / "flipped" / "tables_json", "T1", b=["c"])
    table(tmp_path / "flipped" / "tables_mod_json", "T1_mod_1", b=["d"])
    table(tmp_path / "flipped" / "tables_mod_json", "T1_mod_2", b=[" c"])
    rows = [["T1", "it is c", "E", "T1_mod_1", "it is c", "C"], ["T1", "it is d", "C", "T1_mod_1", "it is d", "E"]]
    write(tmp_path / "flipped" / "cf.tsv", rows)
    return tmp_path / "flipped"


def write(file: Path, rows: list[list[str]], header: list[str] = HEADER) -> Path:
    with file.open("w", newline="") as opened:
        csv.writer(opened, delimiter="\t" if file.suffix == ".tsv" else ",").writerows([header, *rows])
    return file


def test_a_folder_and_its_file_are_the_same_challenge(flipped: Path) -> None:
    for path in (flipped, flipped / "cf.tsv"):
        originals, modified = load_counterfactuals(path)
        assert [e.parts["premise"].values["b"] for e in (originals[0], modified[0])] == [("c",), ("d",)]
        assert {(e.parts["hypothesis"], e.label) for e in modified} == {
            ("it is c", "contradiction"),
            ("it is d", "entailment"),
        }
        assert modified[1].meta == {"table": "T1", "modified": "T1_mod_1"}
        assert list(modified.column("uid")) == list(originals.column("uid"))
        assert all(re.fullmatch("counterfactuals/flipped/[0-9a-f]{16}", uid) for uid in modified.column("uid"))
    assert load_counterfactuals(flipped, "own/x")[0].uid(0).startswith("own/x/")


def test_the_order_of_the_pairs_decides_nothing(flipped: Path) -> None:
    before = load_counterfactuals(flipped)
    header, *rows = (flipped / "cf.tsv").read_text().splitlines()
    (flipped / "cf.tsv").write_text("\n".join([header, *rows[::-1], rows[0]]) + "\n")
    after = load_counterfactuals(flipped)
    for one, other in zip(before, after, strict=True):
        assert list(one) == [e for e in other if not e.uid.endswith("#2")]
        assert len(other) == 3


def test_a_pair_that_changes_nothing_is_left_out_and_counted(flipped: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [["T1", "it is c", "E", f"T1_mod_{k}", "it is c", "C"] for k in (1, 2)]
    with caplog.at_level(logging.INFO):
        originals, _ = load_counterfactuals(write(flipped / "cf.tsv", rows))
    assert len(originals) == 1
    assert caplog.messages == [
        f"{flipped / 'cf.tsv'}: pairs left out since neither the table nor the hypothesis is changed: 1 (row 2)."
    ]


@pytest.mark.parametrize(
    ("row", "error", "facts"),
    [
        (["T2", "h", "E", "T1_mod_1", "h", "C"], DataError, ["row 1", "tables_json/T2.json"]),
        (["T1", "h", "E", "T1_mod_9", "h", "C"], DataError, ["row 1", "tables_mod_json/T1_mod_9.json"]),
        (["T1", "h", "E", "T1_mod_1", "h", "x"], DataError, ["row 1", "'x'"]),
        (["T1", "h", "", "T1_mod_1", "h", "C"], DataError, ["1 without"]),
        (["T1", "", "E", "T1_mod_1", "h", "C"], DataError, ["row 1", "'hypothesis'"]),
    ],
)
def test_a_broken_row_is_named(flipped: Path, row: list[str], error: type[HeedfulError], facts: list[str]) -> None:
    with refused(error, "cf.tsv", *facts):
        load_counterfactuals(write(flipped / "cf.tsv", [row]))


def test_what_is_no_challenge_says_what_it_should_hold(flipped: Path, tmp_path: Path) -> None:
    write(flipped / "cf.tsv", [["x"] * 3], HEADER[:3])
    with refused(DataError, "cf.tsv, row 1", "'modified_tableid'", "original_tableid"):
        load_counterfactuals(flipped)
    (flipped / "second.tsv").touch()
    with refused(DataError, flipped, "cf.tsv, second.tsv", "one .tsv", "tables_json/", "tables_mod_json/"):
        load_counterfactuals(flipped)
    with refused(DataError, f"path {tmp_path / 'nowhere'}"):
        load_counterfactuals(tmp_path / "nowhere")
    (tmp_path / "alone.tsv").touch()
    with refused(DataError, "alone.tsv", "tables_mod_json/"):
        load_counterfactuals(tmp_path / "alone.tsv")


def test_one_label_that_is_missing_is_no_shorter_list(flipped: Path) -> None:
    rows = [["T1", "h", label, "T1_mod_1", "h", "C"] for label in ("E", "")]
    with refused(DataError, "cf.tsv", "1 label"):
        load_counterfactuals(write(flipped / "cf.tsv", rows))


# annotated rows

ANNOTATED = ["Table ID", "Hypothesis", "Truth Label", "Labels", "Majority Label", "JSON"]
PREMISE = Table("A", (("b", ("c",)), ("d", ("e",))))


def examples() -> Examples:
    rows = [("h1", "entailment"), ("h2", "neutral"), ("h3", "contradiction"), ("h1", "contradiction")]
    return Examples.of(
        Example(f"i/train/{i}", {"premise": PREMISE, "hypothesis": h}, label, {"table": "T1"}, {"table": "T1"})
        for i, (h, label) in enumerate(rows)
    )


def annotation(bits: list[str], majority: str, hypothesis: str = "h1", label: str = "E", keys: str = "bd") -> list[str]:
    marks = dict(zip([*keys, "none"], majority, strict=False))
    return ["T1", hypothesis, label, repr(bits), majority, json.dumps(marks)]


@pytest.mark.slow
def test_the_real_annotations_leave_71_pairs_of_18_tables(shared_data: Path) -> None:
    """140 pairs: 59 are neutral; of the others 4 have no relevant row, and 6 have relevant rows and "none"."""
    path = shared_data / "tabprobe" / "annotation" / "results" / "remaining_annotations.csv"
    training = load_tables(shared_data / "infotabs", split="train")
    found, left_out = load_evidence(path, training)
    assert left_out == {"neutral": 59, "no relevant row": 4, "relevant rows and none": 6}
    assert len(found) == 71
    assert len({evidence.table for evidence in found}) == 18
    assert sum(evidence.label == "entailment" for evidence in found) == 32
    for evidence in found:
        example = training[evidence.uid]
        assert (example.parts["hypothesis"], example.label) == (evidence.hypothesis, evidence.label)
        assert evidence.keys
        assert set(evidence.keys) <= set(example.parts["premise"].keys)
    music = next(e for e in found if e.hypothesis == "Hollywood Undead has made music on 5 or more music labels.")
    assert (music.table, music.keys) == ("T1976", ("Labels",))


@pytest.mark.slow
def test_the_annotated_tables_are_kept_out_of_training(shared_data: Path) -> None:
    path = shared_data / "tabprobe" / "annotation" / "results" / "remaining_annotations.csv"
    data = PairedTables(**SETTINGS | {"path": str(shared_data / "infotabs")}, without_tables=str(path))
    data.setup("fit")
    found, _ = load_evidence(path, load_tables(shared_data / "infotabs", split="train"))
    assert len(set(data.train_examples.column("meta.table"))) == 1_740 - 18
    assert not {evidence.table for evidence in found} & set(data.train_examples.column("meta.table"))


def test_each_reason_is_counted(tmp_path: Path) -> None:
    rows = [
        annotation(["100", "110", "110"], "110"),
        annotation(["010", "010", "101"], "010", "h3", "C"),
        annotation(["100", "110", "110"], "110", "h2", "N"),
        annotation(["001", "001", "110"], "001"),
        annotation(["001", "101", "110"], "101"),
        annotation(["100", "010", "001", "000"], "000"),
    ]
    found, left_out = load_evidence(write(tmp_path / "a.csv", rows, ANNOTATED), examples())
    assert [(e.uid, e.keys) for e in found] == [("i/train/0", ("b", "d")), ("i/train/2", ("d",))]
    assert left_out == {"neutral": 1, "no relevant row": 2, "relevant rows and none": 1}


@pytest.mark.parametrize(
    ("row", "error", "facts"),
    [
        (annotation(["1000"], "1000"), DataError, ["'1000'", "3 bits"]),
        (annotation(["100", "10"], "100"), DataError, ["'10'", "3 bits"]),
        (annotation(["100"], "010"), DataError, ["Majority Label is 010", "Labels is 100"]),
        (annotation(["100"], "100", keys="bx"), DataError, ["JSON", "'x'"]),
        (annotation(["100"], "100", keys="db"), DataError, ["JSON", "'d'"]),
        (annotation(["100"], "100", keys="b"), DataError, ["JSON"]),
        ([*annotation(["100"], "100")[:5], "[1]"], DataError, ["JSON", "[1]"]),
        ([*annotation(["100"], "100")[:5], "{}"], DataError, ["JSON"]),
        ([*annotation(["100"], "100")[:3], "[]", "100", "{}"], DataError, ["Labels", "'[]'"]),
        (annotation(["100"], "100", "h9"), DataError, ["'h9'", "'T1'"]),
        (annotation(["100"], "100", "h1", "C"), DataError, ["'C'", "i/train/0", "'entailment'"]),
        (annotation(["100"], "100", "h1", "Q"), DataError, ["'Q'"]),
    ],
)
def test_an_annotation_that_does_not_fit_is_named(
    tmp_path: Path, row: list[str], error: type[HeedfulError], facts: list[str]
) -> None:
    with refused(error, "a.csv, row 1", *facts):
        load_evidence(write(tmp_path / "a.csv", [row], ANNOTATED), examples())


def test_an_annotation_needs_its_columns(tmp_path: Path) -> None:
    with refused(DataError, "a.csv, row 1", "'Majority Label'", "Table ID, Hypothesis"):
        load_evidence(write(tmp_path / "a.csv", [annotation(["100"], "100")[:4]], ANNOTATED[:4]), examples())


@pytest.mark.parametrize(
    "parts",
    [
        {"grid": "premise", "claim": "hypothesis"},
        {"table": "premise", "claim": "hypothesis"},
        {"claim": "hypothesis", "grid": "premise"},
        {"premise": "hypothesis", "hypothesis": "premise"},
    ],
)
def test_modified_tables_inoculate_data_that_call_their_parts_otherwise(tmp_path: Path, parts: dict[str, str]) -> None:
    folder = write_infotabs(tmp_path)
    settings = {"path": str(folder / "infotabs"), "swap": [], "parts": parts, "augment": "inoculation"} | OPEN
    data, usual = (
        PairedTables(**SETTINGS | settings | named, inoculation=Inoculation(str(folder / "flips"), 2))
        for named in ({}, {"parts": SETTINGS["parts"]})
    )
    data.setup("fit")
    usual.setup("fit")
    assert data.train_examples.parts == tuple(parts)
    table, text = (next(part for part in parts if parts[part] == column) for column in ("premise", "hypothesis"))
    assert data.train_examples.tables == (table,)
    whole = Composed.whole(data.train_examples)
    assert list(whole.column(f"parts.{table}")) == list(usual.train_examples.column("parts.premise"))
    assert list(whole.column(f"parts.{text}")) == list(usual.train_examples.column("parts.hypothesis"))
    assert data.train_examples.groups == tuple(data.load("train").groups)


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"parts": {"hypothesis": "hypothesis", "other": "table_id"}}, ["parts", "hypothesis, other"]),
        (
            {"parts": {"premise": "premise", "a": "hypothesis", "b": "annotater_id"}},
            ["parts", "premise, a, b"],
        ),
        ({"labels": {"yes": ["E"], "no": ["C", "N"]}, "default_label": None}, ["'entailment'", "infotabs"]),
    ],
)
def test_hypotheses_are_perturbed_where_there_is_one_and_a_table(tmp_path: Path, settings: Any, facts: Any) -> None:
    with refused(DataError, "perturbed", *facts):
        perturbed(write_infotabs(tmp_path) / "infotabs", 2, **OPEN | settings)
