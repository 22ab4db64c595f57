"""evaluate.py with evaluations that bring data of their own."""

import json

import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

from heedful.cli import command
from heedful.records import ModelError
from heedful.records.rows import read_rows

from commands import results_of, run
from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

SMALL = ["--model.max_length", "64", "--data.n_train", "64", "--data.n_validation", "9"]
PAIRS = [("dog", "animal", "leq"), ("boy", "child", "leq"), ("cat", "child", "none")]
CONTEXTS = [("A x ran.", "up"), ("No x ran.", "down"), ("A x sat.", "up"), ("No x sat here.", "down")]


@pytest.fixture(scope="module")
def checkpoint(tiny_bert, tmp_path_factory):
    """best.ckpt of a run on the embedded data."""
    folder = tmp_path_factory.mktemp("run")
    argv = ["--model.backbone", tiny_bert, *SMALL]
    run(command.train, *argv, "--trainer.max_epochs", "1", "--output", folder)
    return folder / "checkpoints" / "best.ckpt"


@pytest.fixture
def nlixy(tmp_path, write_nlixy):
    return write_nlixy(tmp_path / "nlixy", CONTEXTS, PAIRS)


@pytest.fixture
def rte(tmp_path):
    """Two classes, and parts of other names than those of the model."""
    rows = ["A dog ran.\tAn animal ran.\t0", "A boy ran.\tA dog ran.\t1", "No cat sat.\tA cat sat.\t1"]
    (tmp_path / "rte.tsv").write_text("\n".join(["sentence1\tsentence2\tlabel", *rows]))
    return tmp_path / "rte.tsv"


def test_only_what_was_asked_for_is_predicted(capsys, checkpoint, nlixy):
    only = ["--evaluations", "natural_logic", "--natural_logic.path", nlixy, "--natural_logic.seeds", "10"]
    run(command.evaluate, "--checkpoint", checkpoint, *only)
    (folder,) = (checkpoint.parents[1] / "evaluations").glob("natural_logic/version_*")
    assert [path.name for path in (folder / "rows").iterdir()] == ["natural_logic.parquet"]
    found = results_of(folder)
    assert {name.split("/")[0] for name in found["metrics"]} == {"natural_logic"}
    assert (found["counts"]["examples"], found["counts"]["natural_logic/examples"]) == (0, 24)
    assert "TCE context" in capsys.readouterr().out


def test_an_export_says_which_parts_it_was_trained_on(checkpoint, tmp_path):
    argv = ["--model", checkpoint.parent / "backbone", *SMALL, "--output", tmp_path / "out"]
    with refused(ModelError, "premise and hypothesis", "give hypothesis", "partial null"):
        run(command.evaluate, *argv, "--partial", "hypothesis")
    assert not (tmp_path / "out").exists()


def test_everything_at_once_beside_benchmarks(capsys, checkpoint, nlixy, rte):
    benchmarks = ["--two_class.benchmarks", json.dumps({"rte": str(rte), "nlixy": str(nlixy)})]
    run(command.evaluate, "--checkpoint", checkpoint, "--natural_logic.path", nlixy, *benchmarks)
    (folder,) = (checkpoint.parents[1] / "evaluations").glob("planted-validation-natural_logic-two_class/version_*")
    found = results_of(folder)
    kinds = {"accuracy", "attentiveness", "loss", "natural_logic", "null", "two_class"}
    assert {name.split("/")[0] for name in found["metrics"]} == kinds
    assert (found["metrics"]["two_class/rte"]["n"], found["metrics"]["two_class/nlixy"]["n"]) == (3, 24)
    rows, _ = read_rows(folder / "rows" / "two_class.parquet")
    right = {"rte": 0, "nlixy": 0}
    for row in rows.to_pylist():
        p = dict(zip(("entailment", "neutral", "contradiction"), row["p"], strict=True))
        right[row["uid"].split("/")[0]] += (2 * p["entailment"] > sum(row["p"])) == (row["gold"] == "entailment")
    assert found["metrics"]["two_class/rte"]["value"] == pytest.approx(right["rte"] / 3)
    assert found["metrics"]["two_class/nlixy"]["value"] == pytest.approx(right["nlixy"] / 24)
    assert "two-class accuracy rte" in capsys.readouterr().out


def test_a_model_of_one_part_reads_one_part_of_other_data_as_well(tiny_bert, tmp_path, nlixy):
    argv = ["--model.backbone", tiny_bert, *SMALL]
    argv += ["--partial", "hypothesis", "--trainer.max_epochs", "1", "--output", tmp_path / "partial"]
    run(command.train, *argv, "--natural_logic.path", nlixy)
    found = results_of(tmp_path / "partial")["metrics"]
    rows, _ = read_rows(tmp_path / "partial" / "rows" / "natural_logic.parquet")
    answers = {}
    for row in rows.to_pylist():  # "A dog ran." and "A cat ran." before "A child ran."
        if row["intervention"] == "base":
            context, words = row["uid"].split("/")[2], row["uid"].split("|")[2]
            answers.setdefault((context, words), set()).add(tuple(row["p"]))
    assert {len(p) for p in answers.values()} == {1}
    assert found["natural_logic/nlixy/context/tce"]["n"] > 0
    assert (tmp_path / "partial" / "figures" / "natural_logic.png").is_file()


@pytest.mark.parametrize("labels", [("entailment", "not_entailment"), ("contradiction", "neutral", "entailment")])
def test_without_data_the_labels_are_those_of_the_head(monkeypatch, tiny_bert, tmp_path, nlixy, labels):
    torch.manual_seed(0)
    names = dict(enumerate(labels))
    config = BertConfig.from_pretrained(tiny_bert, id2label=names, label2id={v: k for k, v in names.items()})
    BertForSequenceClassification(config).save_pretrained(tmp_path / "head")
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(tmp_path / "head")
    monkeypatch.chdir(tmp_path)
    argv = ["--model.backbone", tmp_path / "head", "--model.max_length", "64", "--evaluations", "natural_logic"]
    run(command.evaluate, *argv, "--natural_logic.path", nlixy)
    (folder,) = (tmp_path / "runs" / "natural_logic").glob("*/pretrained/version_0")
    rows, meta = read_rows(folder / "rows" / "natural_logic.parquet")
    assert (tuple(meta["context"]["labels"]), rows.schema.field("p").type.list_size) == (labels, len(labels))
    assert set(rows["y"].to_pylist()) <= set(labels)


@pytest.mark.parametrize("rule", ["sum", "argmax"])
def test_a_run_of_three_classes_is_measured_on_data_of_two(capsys, checkpoint, rte, rule):
    run_folder, settings = checkpoint.parents[1], [] if rule == "sum" else ["--model.collapse", rule]
    before = set((run_folder / "evaluations").glob("rte-*/*"))
    run(command.evaluate, "--checkpoint", run_folder, "--data", "rte", "--data.path", rte, *settings)
    (folder,) = set((run_folder / "evaluations").glob("rte-*/*")) - before
    rows, meta = read_rows(folder / "rows" / "attentiveness.parquet")
    assert meta["context"]["labels"] == ["entailment", "not_entailment"]
    assert meta["context"]["default_label"] == "not_entailment"
    assert rows.schema.field("p").type.list_size == 2
    assert set(rows["y"].to_pylist()) <= {"entailment", "not_entailment"}
    metrics = results_of(folder)["metrics"]
    assert metrics["accuracy/rte"]["n"] == 3
    assert "attentiveness/rte/sentence1" in metrics
    if rule == "sum":
        argmax = {tuple(row["p"]): row["y"] for row in rows.to_pylist() if row["intervention"] == "base"}
        assert all(y == ("entailment" if p[0] >= p[1] else "not_entailment") for p, y in argmax.items())
