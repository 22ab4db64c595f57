"""Tables, their hypotheses, counterfactual tables and annotated rows: the real files, and what is refused."""

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules import load_counterfactuals, load_evidence, load_tables
from heedful.datamodules.base.inoculation import Inoculation
from heedful.datamodules.loaders.table_files import TableFolder, parse_table
from heedful.records import DataError, HeedfulError, SettingError, Table

from infotabs_files import write_infotabs
from own_data import configured, twin_path, uids
from refusals import refused

HEADER = "annotater_id\ttable_id\thypothesis\tlabel\n"
words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6).filter(str.strip)
objects = st.dictionaries(words.filter(lambda key: key.strip() != "title"), st.lists(words, min_size=1), min_size=1)

# files of tables


def flat(text: str) -> str:
    return " ".join(text.split())


@given(title=words, rows=objects, where=st.integers(0, 5))
def test_a_table_is_its_object_with_single_spaces_wherever_the_title_stands(
    title: str, rows: dict[str, list[str]], where: int
) -> None:
    """Keys that differ in white space alone are one key, whose values are joined."""
    items = list(rows.items())
    items.insert(where, ("title", [title]))
    table = parse_table(json.dumps(dict(items)).encode(), "T1.json")
    expected: dict[str, list[str]] = {}
    for key, values in rows.items():
        expected.setdefault(flat(key), []).extend(map(flat, values))
    assert table == Table(flat(title), tuple((key, tuple(values)) for key, values in expected.items()))


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (b"", ["JSON"]),
        (b"\xff", ["UTF-8"]),
        (b"[]", ["[]", "'title'"]),
        (b'{"B": ["C"]}', ["0 titles"]),
        (b'{"title": ["A"]}', ["0 rows"]),
        (b'{"title": ["A"], "B": []}', ["key 'B'", "[]"]),
        (b'{"title": ["A"], "B": ["C", "\\n"]}', ["key 'B'", "value 2 of 2"]),
        (b'{"title": ["A"], "B": [3]}', ["key 'B'", "3"]),
    ],
)
def test_what_is_not_a_table_is_refused_by_file_and_key(content: bytes, facts: list[str]) -> None:
    with refused(DataError, "T1.json", *facts):
        parse_table(content, "T1.json")


def write_table(folder: Path, name: str, rows: str) -> None:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / f"{name}.json").write_text(f'{{"title": ["A"], {rows}}}')


def test_a_table_is_read_once_from_its_folder_alone(tmp_path: Path) -> None:
    write_table(tmp_path, "T1", '"B": ["C"]')
    write_table(tmp_path, "T2", '"": ["x"], "B": ["y"], "B ": ["z"]')
    tables = TableFolder(tmp_path)
    first = tables.table("T1", "dev.tsv, row 1")
    (tmp_path / "T1.json").unlink()
    assert tables.table("T1", "dev.tsv, row 2") is first
    assert tables.table("T2", "").rows == (("", ("x",)), ("B", ("y", "z")))
    for name in ("T9", "", "T1.json"):
        with refused(DataError, "dev.tsv, row 3", f"{name}.json"):
            tables.table(name, "dev.tsv, row 3")
    (tmp_path / "inner").mkdir()
    for name in ("../T2", str(tmp_path / "T2")):
        with refused(DataError, tmp_path / "inner", "T2.json'"):
            TableFolder(tmp_path / "inner").table(name, "dev.tsv, row 3")


# folders like that of InfoTabS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The twin, in which each table has five pairs: T0 to T3 for training, T4 to T11 in dev, T8 to T11 in alpha1."""
    return shutil.copytree(twin_path("infotabs"), tmp_path / "infotabs")


def test_splits_go_by_short_names(folder: Path) -> None:
    for split in ("alpha1", "infotabs_test_alpha1", "infotabs_test_alpha1.tsv"):
        pool = configured("infotabs", folder, "validate", splits={"validation": split}).pool
        assert pool.uid(0).startswith("infotabs/alpha1/")
        assert {*pool.column("meta.table")} == {"T8", "T9", "T10", "T11"}
    data = configured("infotabs", folder, groups=["annotater_id"], meta=["annotater_id"])
    assert data.pool.groups == ("premise", "hypothesis", "table", "annotater_id")
    assert data.pool.meta == ("table", "annotater_id")
    assert list(data.pool.column("cluster")) == list(data.pool.column("meta.table"))
    (e,) = [e for e in load_tables(folder, split="train") if e.parts["hypothesis"] == "Album 0 has over 2 songs."]
    assert (e.label, e.parts["premise"].keys[:2]) == ("entailment", ("Genre", "Year"))
    assert e.meta == {"table": "T0", "category": "Album"}


def test_tables_without_a_category_are_counted(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    categories = folder / "tables" / "table_categories.tsv"
    categories.write_text("table_id\tcategory\nT5\tcity\n")
    with caplog.at_level("INFO"):
        assert {*load_tables(folder, split="dev").column("meta.category")} == {"", "city"}
        categories.unlink()
        assert {*load_tables(folder, split="dev").column("meta.category")} == {""}
    assert caplog.messages[0].endswith("infotabs_dev.tsv without a category: 7.")
    assert caplog.messages[1].endswith("table_categories.tsv, so that tables have no category.")


@pytest.mark.parametrize(
    ("name", "text", "facts"),
    [
        ("maindata/infotabs_dev.tsv", f"{HEADER}GW1\tT99\th\tE\n", ["row 1", "T99.json"]),
        ("maindata/infotabs_dev.tsv", "hypothesis\tlabel\nh\tE\n", ["row 1", "'table_id'", "hypothesis, label"]),
        ("tables/json/T4.json", '{"a": ["b"]}', []),
        ("tables/table_categories.tsv", "table_id\tcategory\nT1\ta\nT1\tb\n", ["row 2", "'T1'", "'b'", "'a'"]),
    ],
)
def test_a_broken_file_is_named_with_its_row(folder: Path, name: str, text: str, facts: list[str]) -> None:
    (folder / name).write_text(text)
    with refused(DataError, Path(name).name, *facts):
        configured("infotabs", folder)


def test_the_form_of_tables_is_part_of_the_task_and_lost_rows_are_counted(folder: Path) -> None:
    data = configured("infotabs", folder, table_style="cells", keep_rows=3)
    assert (data.task.form.style, data.task.form.keep, data.counts.shortened) == ("cells", 3, 4)
    for settings in ({}, {"keep_rows": 4}, {"keep_rows": 3, "partial": "hypothesis"}):
        assert configured("infotabs", folder, **settings).counts.shortened == 0


def test_tables_that_a_file_names_are_not_trained_on(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    named = folder / "named.csv"
    for column in ("table_id", "Table ID", "original_tableid"):
        named.write_text(f"{column},x\nT1,1\nT2,2\nT1,3\nT9,4\n")
        with caplog.at_level("INFO"):
            data = configured("infotabs", folder, without_tables=str(named))
        said = f"10 examples are left out by {named}; not in the training set: 1 of 3 tables."
        assert said in caplog.text
        assert {*data.trained.column("meta.table")} == {"T0", "T3"}
    for text, error, facts in (
        ("table_id\nT1.json\nT9\n", SettingError, ["without_tables", "'T1.json'"]),
        ("table\nT1\n", DataError, ["row 1", "table_id or Table ID or original_tableid", "are table"]),
        ("table_id\n" + "".join(f"T{i}\n" for i in range(4)), DataError, ["without_tables"]),
    ):
        named.write_text(text)
        with refused(error, "named.csv", *facts):
            configured("infotabs", folder, without_tables=str(named))


def test_a_challenge_set_may_be_pairs_about_the_same_tables(folder: Path) -> None:
    challenge = (folder / "maindata" / "infotabs_test_alpha1.tsv").rename(folder / "challenge.tsv")
    inoculation = Inoculation(str(challenge), 10, by_group=True)
    trained = configured("infotabs", folder, augment="inoculation", inoculation=inoculation).trained
    assert (len(trained), len({*trained.column("meta.table")})) == (10, 2)
    assert all(uid.startswith("infotabs/challenge/") for uid in uids(trained))


# counterfactual tables

SIDES = [f"{side}_{what}" for side in ("original", "modified") for what in ("tableid", "hypothesis", "label")]


def write_rows(file: Path, rows: list[list[str]], header: list[str] = SIDES) -> Path:
    with file.open("w", newline="") as opened:
        csv.writer(opened, delimiter="\t" if file.suffix == ".tsv" else ",").writerows([header, *rows])
    return file


@pytest.fixture
def flipped(tmp_path: Path) -> Path:
    return write_infotabs(tmp_path) / "flips"


def test_a_folder_and_its_file_in_any_order_are_the_same_challenge(flipped: Path) -> None:
    both = load_counterfactuals(flipped)
    for examples, genres in zip(both, (("rock", "pop"), ("folk",)), strict=True):
        assert [e.parts["premise"].values["Genre"] for e in examples if e.meta["table"] == "T1"] == [genres] * 2
        assert {(e.meta["table"], e.meta["modified"]) for e in examples} == {("T1", "T1_mod"), ("T3", "T3_mod")}
    originals, modified = both
    labels = {"Genre: pop": "contradiction", "Genre: folk": "entailment", "Year: 2000": "entailment"}
    assert {e.parts["hypothesis"]: e.label for e in modified} == labels
    assert uids(modified) == uids(originals)
    assert all(re.fullmatch("counterfactuals/flips/[0-9a-f]{16}", uid) for uid in uids(modified))
    assert load_counterfactuals(flipped, "own/x")[0].uid(0).startswith("own/x/")
    header, *rows = (flipped / "flips.tsv").read_text().splitlines()
    (flipped / "flips.tsv").write_text("\n".join([header, *rows[::-1], rows[0]]) + "\n")
    for one, other in zip(both, load_counterfactuals(flipped / "flips.tsv"), strict=True):
        assert (list(one), len(other)) == ([e for e in other if not e.uid.endswith("#2")], 4)


def test_a_pair_that_changes_nothing_is_left_out_and_counted(flipped: Path, caplog: pytest.LogCaptureFixture) -> None:
    shutil.copy(flipped / "tables_json" / "T2.json", flipped / "tables_mod_json" / "T2_mod.json")
    rows = [[table, "h", "E", f"{table}_mod", "h", "C"] for table in ("T1", "T2")]
    with caplog.at_level("INFO"):
        assert len(load_counterfactuals(write_rows(flipped / "flips.tsv", rows))[0]) == 1
    (said,) = caplog.messages
    assert said.endswith("flips.tsv: pairs without a change of table or hypothesis, left out: 1 (row 2).")


@pytest.mark.parametrize(
    ("row", "facts"),
    [
        (["T9", "h", "E", "T1_mod", "h", "C"], ["row 1", "tables_json/T9.json"]),
        (["T1", "h", "E", "T1_mod", "h", "x"], ["row 1", "'x'"]),
        (["T1", "h", "", "T1_mod", "h", "C"], ["1 label"]),
    ],
)
def test_a_broken_counterfactual_is_named(flipped: Path, row: list[str], facts: list[str]) -> None:
    with refused(DataError, "flips.tsv", *facts):
        load_counterfactuals(write_rows(flipped / "flips.tsv", [["T1", "g", "E", "T1_mod", "g", "C"], row][::-1]))


def test_what_is_no_challenge_says_what_it_should_hold(flipped: Path, tmp_path: Path) -> None:
    write_rows(flipped / "flips.tsv", [["x"] * 3], SIDES[:3])
    with refused(DataError, "flips.tsv, row 1", "'modified_tableid'", "original_tableid"):
        load_counterfactuals(flipped)
    (flipped / "second.tsv").touch()
    (tmp_path / "alone.tsv").touch()
    for path, *facts in (
        (flipped, "flips.tsv, second.tsv", "one .tsv", "tables_json/", "tables_mod_json/"),
        (tmp_path / "nowhere",),
        (tmp_path / "alone.tsv", "tables_mod_json/"),
    ):
        with refused(DataError, path, *facts):
            load_counterfactuals(path)


@pytest.mark.parametrize(
    "parts", [{"table": "premise", "claim": "hypothesis"}, {"premise": "hypothesis", "hypothesis": "premise"}]
)
def test_modified_tables_inoculate_data_that_call_their_parts_otherwise(tmp_path: Path, parts: dict[str, str]) -> None:
    folder = write_infotabs(tmp_path)
    settings = {"swap": [], "augment": "inoculation", "inoculation": Inoculation(str(folder / "flips"), 2)}
    usual = configured("infotabs", folder / "infotabs", template=None, **settings)
    data = configured("infotabs", folder / "infotabs", template=None, parts=parts, **settings)
    assert data.trained.parts == tuple(parts)
    part_of = {column: part for part, column in parts.items()}
    assert data.trained.tables == (part_of["premise"],)
    for column in ("premise", "hypothesis"):
        assert list(data.trained.column(f"parts.{part_of[column]}")) == list(usual.trained.column(f"parts.{column}"))
    assert data.trained.groups == tuple(data.load("train").groups)


# annotated rows

ANNOTATED = ["Table ID", "Hypothesis", "Truth Label", "Majority Label", "JSON"]
KEYS = ["Genre", "Length", "Label"]  # of T1


def annotation(majority: str, hypothesis: str = "Genre: pop", label: str = "E", keys: Any = KEYS) -> list[str]:
    return ["T1", hypothesis, label, majority, json.dumps(dict(zip([*keys, "none"], majority, strict=False)))]


def evidence(folder: Path, rows: list[list[str]]) -> Any:
    examples = load_tables(write_infotabs(folder) / "infotabs", split="train")
    return examples, load_evidence(write_rows(folder / "a.csv", rows, ANNOTATED[: len(rows[0])]), examples)


def test_each_reason_is_counted(tmp_path: Path) -> None:
    neutral = ["T2", "Year: 1999", "N", "100", '{"Genre": "1", "Producer": "0", "none": "0"}']
    rows = [annotation(bits) for bits in ("1010", "0001", "1001", "0000")] + [annotation("0100", "Length: 9:00", "C")]
    examples, (found, left_out) = evidence(tmp_path, [*rows, neutral])
    by_hypothesis = {examples[uid].parts["hypothesis"]: keys for uid, keys in found.items()}
    assert by_hypothesis == {"Genre: pop": ("Genre", "Label"), "Length: 9:00": ("Length",)}
    assert left_out == {"neutral": 1, "no relevant row": 2, "relevant rows and none": 1}


@pytest.mark.parametrize(
    ("row", "facts"),
    [
        (annotation("10000"), ["'10000'", "4 bits"]),
        (annotation("1000", keys=["Genre", "Length", "x"]), ["JSON", "'x'"]),
        ([*annotation("1000")[:4], "[1]"], ["JSON", "[1]"]),
        (annotation("1000", "h9"), ["'h9'", "'T1'"]),
        (annotation("1000", label="C"), ["'C'", "infotabs/train/", "'entailment'"]),
        (annotation("1000")[:3], ["'Majority Label'", "Table ID, Hypothesis"]),
    ],
)
def test_an_annotation_that_does_not_fit_is_named(tmp_path: Path, row: list[str], facts: list[str]) -> None:
    with refused(HeedfulError, "a.csv, row 1", *facts):
        evidence(tmp_path, [row])


def test_hypotheses_that_inoculate_are_perturbed() -> None:
    train = load_tables(twin_path("infotabs"), split="train")
    few, perturbed = (
        list(configured("infotabs", twin_path("infotabs"), augment="inoculation", inoculation=some).trained)
        for some in (Inoculation(n=3, perturbed=True), Inoculation(n=8, perturbed=True))
    )
    assert few == perturbed[:3]
    bases = [train[e.uid.removesuffix("#perturbed")] for e in perturbed]
    for e, base in zip(perturbed, bases, strict=True):
        assert e.parts["premise"] == base.parts["premise"]
        assert e.parts["hypothesis"] != base.parts["hypothesis"]
        assert {base.label, e.label} <= {"entailment", "contradiction"}
    assert {e.label == base.label for e, base in zip(perturbed, bases, strict=True)} == {True, False}
