"""Tables with hypotheses: the real InfoTabS, folders like it, and runs on tables from end to end."""

import json
import logging
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from heedful.cli import evaluation as evaluate
from heedful.cli import training as train
from heedful.datamodules import PairedTables, load_tables
from heedful.datamodules.base.inoculation import Inoculation
from heedful.records import DataError, Example, Examples, HeedfulError, SettingError, Table
from heedful.records.rows import read_rows

from commands import results_of, run
from refusals import refused

ROOT = Path(__file__).parents[2]
SETTINGS = yaml.safe_load((ROOT / "configs" / "data" / "infotabs.yaml").read_text())["init_args"]
NLI = ("entailment", "neutral", "contradiction")
HEADER = "annotater_id\ttable_id\thypothesis\tlabel"


def module(path: Path | None, **others: Any) -> PairedTables:
    return PairedTables(**SETTINGS | {"path": None if path is None else str(path)} | others)


def pairs(first: int, tables: int) -> str:
    """Three pairs for each table, one a label."""
    rows = [
        f"GW1\tT{i}\tit is {'no' * k} thing {i}\t{'ENC'[k]}" for i in range(first, first + tables) for k in range(3)
    ]
    return "\n".join([HEADER, *rows, ""])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """20 tables for training, 5 for dev, 5 for alpha1, with three pairs each; T5k has five rows, the others two."""
    made = tmp_path / "infotabs"
    (made / "maindata").mkdir(parents=True)
    (made / "tables" / "json").mkdir(parents=True)
    splits = {"infotabs_train": (0, 20), "infotabs_dev": (20, 5), "infotabs_test_alpha1": (25, 5)}
    for name, (first, tables) in splits.items():
        (made / "maindata" / f"{name}.tsv").write_text(pairs(first, tables))
    for i in range(30):
        table = {"title": [f"thing {i}"], "a": [f"b {i}"], "c": ["d", "e"]}
        table |= {"f": ["g"], "h": ["i"], "j": [f"it is thing {i}"]} if i % 5 == 0 else {}
        (made / "tables" / "json" / f"T{i}.json").write_text(json.dumps(table))
    rows = [f"T{i}\t{'animal' if i % 2 else 'city'}\n" for i in range(30)]
    (made / "tables" / "table_categories.tsv").write_text("table_id\tcategory\n" + "".join(rows))
    return made


def by_uid(examples: Examples) -> dict[str, Example]:
    return {e.uid: e for e in examples}


# the real data


@pytest.mark.slow
@pytest.mark.parametrize(
    ("split", "numbers"),
    [("train", (16_538, 1_740)), *((split, (1_800, 200)) for split in ("dev", "alpha1", "alpha2", "alpha3"))],
)
def test_the_real_splits_are_whole(shared_data: Path, split: str, numbers: tuple[int, int]) -> None:
    examples = load_tables(shared_data / "infotabs", split=split)
    assert (len(examples), len(set(examples.column("meta.table")))) == numbers
    assert list(examples.column("uid")) == sorted(set(examples.column("uid")))
    assert all(examples.column("meta.category"))
    assert list(examples.column("groups.table")) == list(examples.column("meta.table"))
    labels = Counter(examples.column("label"))
    expected = dict(zip(NLI, (5_495, 5_538, 5_505), strict=True)) if split == "train" else dict.fromkeys(NLI, 600)
    assert labels == expected
    assert not any(h.startswith('""') or '""' in h for h in examples.column("parts.hypothesis"))


@pytest.mark.slow
def test_a_real_pair_is_what_its_files_say(shared_data: Path) -> None:
    claim = "In Rainbows is less than 40 minutes long."
    (example,) = (
        e
        for e in load_tables(shared_data / "infotabs", split="train")
        if (e.meta["table"], e.parts["hypothesis"]) == ("T1769", claim)
    )
    table = example.parts["premise"]
    assert table.title == "In Rainbows"
    assert table.keys == ("Released", "Recorded", "Genre", "Length", "Label", "Producer")
    assert table.values["Label"] == ("Self-released", "Xurbia Xendless", "XL", "TBD")
    assert (example.label, example.meta) == ("contradiction", {"table": "T1769", "category": "Album"})


@pytest.mark.slow
def test_folds_of_the_real_training_set_hold_whole_tables(shared_data: Path) -> None:
    data = module(shared_data / "infotabs", folds=5, fold=3)
    data.setup("fit")
    assert len(data.train_examples) + len(data.pool) == 16_538
    assert abs(len(data.pool) - 16_538 / 5) <= 21  # the most examples of one table
    assert not set(data.train_examples.column("meta.table")) & set(data.pool.column("meta.table"))


# folders like it


def test_splits_go_by_short_names(folder: Path) -> None:
    for split in ("alpha1", "infotabs_test_alpha1", "infotabs_test_alpha1.tsv"):
        data = module(folder, splits={"validation": split})
        data.setup("validate")
        assert data.pool.uid(0).startswith("infotabs/alpha1/")
        assert set(data.pool.column("meta.table")) == {f"T{i}" for i in range(25, 30)}
    data = module(folder)
    data.setup("fit")
    assert (len(data.train_examples), len(data.pool)) == (60, 15)
    first = next(e for e in data.train_examples if e.meta["table"] == "T0" and e.label == "entailment")
    assert first == Example(
        first.uid,
        {"premise": first.parts["premise"], "hypothesis": "it is  thing 0"},
        "entailment",
        first.groups,
        {"table": "T0", "category": "city"},
    )
    assert data.pool.uid(0).startswith("infotabs/dev/")


def test_a_misspelt_split_is_never_another_one(folder: Path) -> None:
    data = module(folder, splits={"validation": "alpha4"})
    with refused(DataError, "maindata", "'alpha4'", "infotabs_test_alpha4", "infotabs_dev.tsv"):
        data.setup("validate")


def test_line_ends_of_other_distributions_change_nothing(folder: Path) -> None:
    expected = list(load_tables(folder, split="dev"))
    file = folder / "maindata" / "infotabs_dev.tsv"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\r\n"))
    categories = folder / "tables" / "table_categories.tsv"
    categories.write_bytes(categories.read_bytes().replace(b"\n", b"\r\r\n"))
    assert list(load_tables(folder, split="dev")) == expected


def test_tables_without_a_category_are_counted(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    categories = folder / "tables" / "table_categories.tsv"
    categories.write_text("table_id\tcategory\nT21\tcity\n")
    with caplog.at_level(logging.INFO):
        examples = load_tables(folder, split="dev")
        categories.unlink()
        assert set(load_tables(folder, split="dev").column("meta.category")) == {""}
    assert set(examples.column("meta.category")) == {"", "city"}
    assert caplog.messages[0].endswith("infotabs_dev.tsv without a category: 4.")
    assert caplog.messages[1].endswith("table_categories.tsv, so that tables have no category.")


def test_other_groups_and_meta_columns_come_beside_the_table(folder: Path) -> None:
    data = module(folder, groups=["annotater_id"], meta=["annotater_id"])
    data.setup("validate")
    assert data.pool.groups == ("premise", "hypothesis", "table", "annotater_id")
    assert data.pool.meta == ("table", "annotater_id")


@pytest.mark.parametrize(
    ("name", "text", "error", "facts"),
    [
        ("maindata/infotabs_dev.tsv", f"{HEADER}\nGW1\tT99\th\tE\n", DataError, ["row 1", "T99.json"]),
        ("maindata/infotabs_dev.tsv", f"{HEADER}\nGW1\tT1\th\tX\n", DataError, ["row 1", "'X'"]),
        ("maindata/infotabs_dev.tsv", f"{HEADER}\nGW1\tT1\t \tE\n", DataError, ["row 1", "'hypothesis'"]),
        ("maindata/infotabs_dev.tsv", f"{HEADER}\nGW1\tT1\th\n", DataError, ["row 1", 3, 4]),
        (
            "maindata/infotabs_dev.tsv",
            "hypothesis\tlabel\nh\tE\n",
            DataError,
            ["row 1", "'table_id'", "hypothesis, label"],
        ),
        ("tables/json/T20.json", '{"a": ["b"]}', DataError, []),
        (
            "tables/table_categories.tsv",
            "table_id\tcategory\nT1\ta\nT1\tb\n",
            DataError,
            ["row 2", "'T1'", "'b'", "'a'"],
        ),
        (
            "tables/table_categories.tsv",
            "id\tcategory\nT1\ta\n",
            DataError,
            ["row 1", "'table_id'", "id, category"],
        ),
    ],
)
def test_a_broken_file_is_named_with_its_row(
    folder: Path, name: str, text: str, error: type[HeedfulError], facts: list
) -> None:
    (folder / name).write_text(text)
    with refused(error, Path(name).name, *facts):
        module(folder).setup("validate")


@pytest.mark.parametrize("path", ["nowhere", "infotabs/maindata", "infotabs/maindata/infotabs_dev.tsv"])
def test_a_path_that_is_no_such_folder_says_what_it_should_hold(folder: Path, path: str) -> None:
    with refused(DataError, f"path {folder.parent / path}", "maindata", "maindata/ and tables/json/"):
        module(folder.parent / path).setup("validate")
    with refused(SettingError, "path"):
        module(None).setup("fit")


def test_the_style_is_a_setting_of_the_task(folder: Path) -> None:
    form = module(folder, table_style="cells", keep_rows=2).task.form
    assert (form.style, form.keep) == ("cells", 2)
    assert module(folder, partial="hypothesis", keep_rows=2).task.parts == ("hypothesis",)
    with refused(SettingError, "keep_rows 0", 1):
        module(folder, keep_rows=0)


def test_tables_that_lose_rows_are_counted(folder: Path) -> None:
    for options, expected in (({"keep_rows": 3}, (4, 1)), ({}, (0, 0)), ({"keep_rows": 5}, (0, 0))):
        data = module(folder, **options)
        data.setup("fit")
        assert data.counts.shortened == expected[1]
    data = module(folder, keep_rows=3, partial="hypothesis")
    data.setup("fit")
    assert data.counts.shortened == 0


def test_tables_that_a_file_names_are_not_trained_on(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    for column in ("table_id", "Table ID", "original_tableid"):
        named = folder / "named.csv"
        named.write_text(f"{column},x\nT1,1\nT2,2\nT1,3\nT25,4\n")
        data = module(folder, without_tables=str(named))
        with caplog.at_level(logging.INFO):
            data.setup("fit")
        said = f"6 examples on tables that {named} names are left out; not in the training set: 1 of 3 tables."
        assert said in caplog.text
        assert set(data.train_examples.column("meta.table")) == {f"T{i}" for i in range(20)} - {"T1", "T2"}
    named.write_text("table_id\nT1.json\nT25\n")
    with refused(SettingError, "without_tables", "named.csv", "'T1.json'", "'T11'"):
        module(folder, without_tables=str(named)).setup("fit")
    named.write_text("table_id\nT1\n")
    with caplog.at_level(logging.INFO):
        module(folder, without_tables=str(named)).setup("fit")
    assert f"3 examples on tables that {named} names are left out." in caplog.text
    named.write_text("table\nT1\n")
    with refused(DataError, "named.csv, row 1", "table_id or Table ID or original_tableid", "are table"):
        module(folder, without_tables=str(named)).setup("fit")
    named.write_text("table_id\n" + "".join(f"T{i}\n" for i in range(20)))
    with refused(DataError, "without_tables", "named.csv"):
        module(folder, without_tables=str(named)).setup("fit")


def test_partners_come_from_other_tables_and_counterfactuals_are_tables(folder: Path) -> None:
    data = module(folder, augment="counterfactual")
    data.setup("fit")
    both = data.training_set()
    assert len(both) == 60 + 40
    assert both.borrowed.sum() == 40
    for base, partner in zip(both.positions[60:], both.lenders["premise"][60:], strict=True):
        assert data.train_examples[int(base)].meta["table"] != data.train_examples[int(partner)].meta["table"]
    assert isinstance(both[99].parts["premise"], Table)
    assert both[99].label == "neutral"


def test_a_challenge_set_may_be_pairs_about_the_same_tables(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "challenge.tsv").write_text(pairs(3, 10))
    inoculation = Inoculation(str(tmp_path / "challenge.tsv"), 12, by_group=True)
    data = module(folder, augment="inoculation", inoculation=inoculation)
    data.setup("fit")
    assert len(data.train_examples) == 12
    assert len(set(data.train_examples.column("meta.table"))) == 4
    assert all(uid.startswith("infotabs/challenge/") for uid in data.train_examples.column("uid"))
    with refused(DataError, "path", "nowhere.tsv"):
        module(folder, augment="inoculation", inoculation=Inoculation("nowhere.tsv")).setup("fit")
    with refused(DataError, 20, "n is 61"):
        module(folder, augment="inoculation", inoculation=Inoculation(n=61, perturbed=True)).setup("fit")


# from end to end


@pytest.mark.slow
@pytest.mark.parametrize(
    ("regime", "argv"),
    [
        pytest.param("plain", ["--data.table_style", "structure", "--data.keep_rows", "3"], marks=pytest.mark.slow),
        pytest.param("partial-hypothesis", ["--partial", "hypothesis"], marks=pytest.mark.slow),
        ("counterfactual-fold-1", ["--augment", "counterfactual", "--data.folds", "4", "--data.fold", "1"]),
    ],
)
def test_runs_on_tables(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
    tiny_bert: Path,
    folder: Path,
    tmp_path: Path,
    regime: str,
    argv: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    model = ["--model.backbone", tiny_bert, "--model.max_length", 64, "--model.max_unknown", 1]
    run(train.main, "--data", "infotabs", "--data.path", folder, *model, *argv, "--trainer.max_epochs", "1")
    (folder_of_run,) = (tmp_path / "runs" / "infotabs").glob(f"*/{regime}/version_0")
    metrics = results_of(folder_of_run)["metrics"]
    assert metrics["accuracy/infotabs"]["n"] == 15
    assert ("attentiveness/infotabs/premise" in metrics) == (regime != "partial-hypothesis")
    checkpoint = folder_of_run / "checkpoints" / "best.ckpt"
    if regime == "partial-hypothesis":
        only = ["--evaluations", "challenge", "--challenge.kinds", "[negation, title]"]
        capsys.readouterr()
        run(evaluate.main, "--checkpoint", checkpoint, *only)
        (made,) = (folder_of_run / "evaluations").glob("infotabs-dev-challenge-negation-title/version_*")
        rows, _ = read_rows(made / "rows" / "challenge.parquet")
        assert set(rows["intervention"].to_pylist()) == {"base", "perturb/negation/flipped", "title"}
        assert "titles: preserved" in capsys.readouterr().out
        return
    run(evaluate.main, "--checkpoint", checkpoint)
    of_split = folder_of_run / "evaluations" / ("infotabs-fold-1" if "fold" in regime else "infotabs-dev") / "version_0"
    rows, _ = read_rows(of_split / "rows" / "attentiveness.parquet")
    table_of = dict(
        pair
        for split in ("train", "dev")
        for pair in zip(*(load_tables(folder, split=split).column(name) for name in ("uid", "meta.table")), strict=True)
    )
    swapped = [row for row in rows.to_pylist() if row["intervention"] == "swap"]
    assert swapped
    assert all(table_of[row["uid"]] != table_of[row["partner"]] for row in swapped)
    splits = ["--data", "infotabs", "--data.path", folder, "--data.splits", "{validation: alpha1}"]
    run(evaluate.main, "--checkpoint", checkpoint, *splits)
    (made,) = (folder_of_run / "evaluations").glob("infotabs-alpha1/version_*")
    rows, _ = read_rows(made / "rows" / "accuracy.parquet")
    assert {row["uid"].rsplit("/", 1)[0] for row in rows.to_pylist()} == {"infotabs/alpha1"}
