"""Several splits that are evaluated together: each is read as it would be alone, and rows say which is which."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from heedful.cli import evaluation as evaluate
from heedful.cli import training as train
from heedful.datamodules import NaturalLogic, PairedTables, PairedText
from heedful.datamodules.sources.source import Hub
from heedful.records import DataError, Examples, HeedfulError, SettingError
from heedful.records.rows import read_rows

from commands import results_of
from content_uids import content_uid
from refusals import refused

ROOT = Path(__file__).parents[2]
NLI = {
    "name": "own",
    "parts": {"premise": "premise", "hypothesis": "hypothesis"},
    "labels": {"entailment": ["E"], "neutral": ["N"], "contradiction": ["C"]},
    "default_label": "neutral",
}


def infotabs(path: Path, validation: str | list[str], **others: Any) -> PairedTables:
    settings = yaml.safe_load((ROOT / "configs" / "data" / "infotabs.yaml").read_text())["init_args"]
    return PairedTables(**settings | {"path": str(path), "splits": {"validation": validation}} | others)


def read(data: PairedText) -> Examples:
    data.setup("validate")
    return data.pool


def write(path: Path, n: int, labels: str = "ENC", **more: str) -> None:
    rows = [{"premise": f"{path.stem} {i}", "hypothesis": f"h {i}", "label": labels[i % len(labels)]} for i in range(n)]
    path.write_text("".join(json.dumps(row | more) + "\n" for row in rows))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Training data and three other files, of which the second has rows without a gold label."""
    for name, n, labels in (("train", 30, "ENC"), ("one", 6, "ENC"), ("two", 9, "EN-"), ("three", 4, "ENC-")):
        write(tmp_path / f"{name}.jsonl", n, labels, genre="g")
    return tmp_path


def own(folder: Path, validation: str | list[str], **others: Any) -> PairedText:
    return PairedText(**NLI, path=str(folder), splits={"validation": validation}, **others)


@pytest.mark.slow
def test_the_real_splits_are_read_together_as_alone(shared_data: Path) -> None:
    names = ["alpha1", "alpha2", "alpha3"]
    data = infotabs(shared_data / "infotabs", names)
    pool = read(data)
    assert (len(pool), data.evaluated, data.splits_evaluated) == (5_400, "alpha1+alpha2+alpha3", tuple(names))
    assert pool.meta == ("table", "category", "split")
    for k, name in enumerate(names):
        alone = infotabs(shared_data / "infotabs", name)
        expected = read(alone)
        assert (alone.evaluated, alone.splits_evaluated, expected.meta) == (name, (), ("table", "category"))
        here = pool.take(range(1_800 * k, 1_800 * (k + 1)))
        assert here.table.drop_columns("meta.split").equals(expected.table)
        assert set(here.column("meta.split")) == {name}
        assert pool[expected.uid(7)].meta == expected[7].meta | {"split": name}


@pytest.mark.parametrize("names", [["one", "two", "three"], ["three", "one"], ["two.jsonl", "one.jsonl"]])
def test_the_pool_is_the_splits_in_their_order_with_uids_that_name_them(folder: Path, names: list[str]) -> None:
    data = own(folder, names, meta=["genre"], groups=["genre"])
    pool, no_gold = read(data), 0
    stems = [name.removesuffix(".jsonl") for name in names]
    expected: list[tuple[str, Any, Any]] = []
    for stem in stems:
        alone = own(folder, stem)
        expected += [(e.uid.replace("/validation/", f"/{stem}/"), dict(e.parts), stem) for e in read(alone)]
        no_gold += alone.counts.no_gold
    assert [(e.uid, dict(e.parts), e.meta["split"]) for e in pool] == expected
    assert len(set(pool.column("uid"))) == len(pool)
    assert (data.counts.no_gold, data.evaluated) == (no_gold, "+".join(stems))
    assert (pool.meta, pool.groups) == (("genre", "split"), ("premise", "hypothesis", "genre"))


def test_one_split_is_as_it_was_however_it_is_given(folder: Path) -> None:
    data, listed = own(folder, "one"), own(folder, ["one"])
    assert read(data).table.equals(read(listed).table)
    assert (listed.evaluated, listed.splits_evaluated, listed.pool.meta) == ("one", (), ())
    assert list(data.pool.column("uid")) == sorted(content_uid("own/validation", e.label, e.parts) for e in data.pool)


def test_training_goes_on_beside_several_splits(folder: Path) -> None:
    data = own(folder, ["one", "three"], max_validation=5, partial="hypothesis")
    data.setup("fit")
    assert len(data.train_examples) == 30
    assert (len(data.pool), data.pool.parts, data.train_examples.meta) == (5, ("hypothesis",), ())
    assert set(data.pool.column("meta.split")) == {"one", "three"}


def test_a_file_of_the_validation_is_never_taken_for_training(tmp_path: Path) -> None:
    for name in ("train", "dev"):
        write(tmp_path / f"{name}.jsonl", 3)
    data = PairedText(**NLI, path=str(tmp_path), splits={"train": "training", "validation": ["dev", "train"]})
    with refused(DataError, tmp_path, "'training'"):
        data.setup("fit")


def test_a_missing_split_is_named_with_the_files_that_are_there(tmp_path: Path) -> None:
    write(tmp_path / "dev.jsonl", 3)
    data = PairedText(**NLI, path=str(tmp_path))
    with refused(DataError, tmp_path, "'train'", "dev.jsonl", "'{train: NAME}'"):
        data.setup("fit")


def test_of_several_each_goes_by_its_own_name(folder: Path) -> None:
    write(folder / "dev.jsonl", 3)
    with refused(DataError, folder, "'validation'"):
        read(own(folder, ["validation", "one"]))


def test_splits_of_composed_data(tmp_path: Path, write_nlixy: Any) -> None:
    for name, contexts in (("dev", [("No x ran.", "down")]), ("test", [("Some x ran.", "up"), ("An x ran.", "up")])):
        write_nlixy(tmp_path / name, contexts, [("dog", "animal", "leq")])
    settings = yaml.safe_load((ROOT / "configs" / "data" / "nlixy.yaml").read_text())["init_args"]
    data = NaturalLogic(**settings | {"path": str(tmp_path), "splits": {"validation": ["dev", "test"]}})
    counts = {name: list(read(data).column("meta.split")).count(name) for name in ("dev", "test")}
    assert counts == {"dev": 2, "test": 4}
    assert all(e.uid.startswith(f"nlixy/{e.meta['split']}/") for e in data.pool)


@pytest.mark.parametrize(
    ("splits", "others", "error", "facts"),
    [
        ({"train": ["train", "one"]}, {}, SettingError, ["splits: train is a list"]),
        ({"validation": []}, {}, SettingError, ["splits: validation names no split"]),
        ({"validation": ["one", "two", "one"]}, {}, SettingError, ["splits: validation", "one, two, one"]),
        ({"validation": ["One", "two", "one.tsv"]}, {}, SettingError, ["splits: validation", "One, two, one"]),
        (
            {"validation": ["one", "two"]},
            {"hold_out": 3},
            SettingError,
            ["hold_out 3", "default of own", "splits names one, two", "hold_out null"],
        ),
        (
            {"validation": ["one", "two"]},
            {"folds": 3, "fold": 0},
            SettingError,
            ["folds 3", "default of own", "splits names one, two", "data.folds null data.fold null"],
        ),
        ({"validation": ["one", "two"]}, {"meta": ["split"]}, SettingError, ["meta", "'split'"]),
    ],
)
def test_lists_that_make_no_sense(
    folder: Path, splits: Any, others: dict[str, Any], error: type[HeedfulError], facts: list[str]
) -> None:
    with refused(error, *facts):
        PairedText(**NLI, path=str(folder), splits=splits, **others)


def test_two_names_of_one_file_of_tables_are_one_split(tmp_path: Path) -> None:
    with refused(SettingError, "validation", "alpha1, alpha1"):
        infotabs(tmp_path, ["alpha1", "infotabs_test_alpha1.tsv"])


def test_one_file_has_no_splits(folder: Path) -> None:
    with refused(DataError, "splits names one and two"):
        read(PairedText(**NLI, path=str(folder / "one.jsonl"), splits={"validation": ["one", "two"]}))


def test_several_splits_of_the_hub_are_asked_for_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def rows(self: Hub, split: str) -> Any:
        asked.append(split)
        return split, iter([(1, {"premise": "p", "hypothesis": split, "label": "E"})])

    monkeypatch.setattr(Hub, "rows", rows)
    data = PairedText(**NLI, hub=Hub("o/x"), splits={"validation": ["test_r1", "test_r2"]})
    assert list(read(data).column("uid")) == [
        content_uid(f"own/{name}", "entailment", {"premise": "p", "hypothesis": name})
        for name in ("test_r1", "test_r2")
    ]
    assert asked == ["test_r1", "test_r2"]


@pytest.mark.slow
def test_the_command_line_takes_a_list_and_the_folder_names_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tiny_bert: Path, folder: Path
) -> None:
    monkeypatch.chdir(folder)
    quiet = ["--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false"]
    data = ["--data", "snli", "--data.path", str(folder)]
    data += ["--data.labels", "{entailment: [E], neutral: [N], contradiction: [C]}"]
    model = [
        "--model.backbone",
        str(tiny_bert),
        "--model.max_length",
        "32",
        "--model.max_unknown",
        "1",
        "--trainer.max_epochs",
        "1",
    ]
    argv = [*data, *model, *quiet, "--trainer.log_every_n_steps", "1"]
    monkeypatch.setattr(sys, "argv", ["train.py", *argv, "--data.splits", "{validation: [one, two]}"])
    train.main(sys.argv[1:])
    (run,) = (folder / "runs" / "snli").glob("*/plain/version_0")
    checkpoint = ["--checkpoint", str(run / "checkpoints" / "best.ckpt"), *quiet]
    others = [*data, "--data.splits.validation", "[one, two, three]"]
    for settings, expected in (([], {"one": 6, "two": 6}), (others, {"one": 6, "two": 6, "three": 3})):
        monkeypatch.setattr(sys, "argv", ["evaluate.py", *checkpoint, *settings])
        evaluate.main(sys.argv[1:])
        name = "+".join(expected)
        made = run / "evaluations" / f"snli-{name}" / "version_0"
        results = results_of(made)
        assert (results["split"], results["counts"]["examples"]) == (name, sum(expected.values()))
        rows = read_rows(made / "rows" / "accuracy.parquet")[0].to_pylist()
        found = Counter((row["uid"].split("/")[1], *row["slices"]) for row in rows if row["intervention"] == "base")
        assert found == {(split, f"split={split}"): n for split, n in expected.items()}
        assert f"snli, {name}" in capsys.readouterr().out
