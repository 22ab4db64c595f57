"""A T5 learns from random weights what is planted, and everything that is measured of an encoder is measured of it."""

import json

import pytest
import torch
import yaml
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from heedful.cli import command
from heedful.records import ModelError, SettingError
from heedful.records.rows import read_rows

from commands import results_of, run
from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

PLANTED = ["--data.shortcut", "1", "--data.n_validation", "60"]
CONTEXTS = [("A x ran.", "up"), ("No x ran.", "down"), ("A x sat.", "up"), ("No x sat here.", "down")]
PAIRS = [("dog", "animal", "leq"), ("boy", "child", "leq"), ("cat", "child", "none")]


@pytest.fixture(scope="module")
def trained(tiny_t5, tmp_path_factory):
    """The folder of a run from random weights, on hypotheses with a word that gives the label away."""
    folder = tmp_path_factory.mktemp("runs") / "planted" / "tiny" / "plain" / "version_0"
    argv = ["--model", "t5", "--model.backbone", tiny_t5, "--model.learning_rate", "0.003", *PLANTED]
    argv += ["--data.n_train", "480", "--data.batch_size", "16", "--trainer.max_epochs", "4"]
    argv += ["--trainer.check_val_every_n_epoch", "2"]
    run(command.train, *argv, "--output", folder)
    return folder


@pytest.fixture(scope="module")
def nlixy(tmp_path_factory, write_nlixy):
    return write_nlixy(tmp_path_factory.mktemp("nlixy") / "files", CONTEXTS, PAIRS)


def test_it_learns_what_is_planted_and_its_attentiveness_is_measured(trained):
    metrics = results_of(trained)["metrics"]
    assert metrics["accuracy/planted"]["value"] > 0.8
    assert metrics["null/planted/flips"]["value"] == 0
    score = metrics["attentiveness/planted/premise"]
    assert (score["draws"], score["value"] < 0.5) == (1, True)  # the hypothesis says it all
    assert score["n"] == results_of(trained)["counts"]["attentiveness/premise"]["eligible"] > 0


def test_the_export_answers_without_heedful(trained):
    """Whoever loads the folder scores the labels with a few lines, offline."""
    backbone = trained / "checkpoints" / "backbone"
    network, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(backbone), AutoTokenizer.from_pretrained(backbone)
    words = network.config.heedful
    assert words["template"] == "mnli hypothesis: {hypothesis} premise: {premise}"
    read = tokenizer(["mnli hypothesis: The boy supposedly left. premise: The boy left."] * 3, return_tensors="pt")
    written = tokenizer(words["targets"], padding=True, return_tensors="pt")
    labels = written["input_ids"].masked_fill(written["attention_mask"] == 0, -100)
    with torch.no_grad():
        losses = torch.nn.functional.cross_entropy(
            network(**read, labels=labels).logits.transpose(1, 2), labels, reduction="none"
        )
    assert network.config.id2label[int(losses.sum(dim=1).argmin())] == "contradiction"


def test_evaluation_of_a_checkpoint_with_data_of_its_own(capsys, trained, nlixy, tmp_path):
    checkpoint = trained / "checkpoints" / "best.ckpt"
    rte = tmp_path / "rte.tsv"
    rte.write_text("sentence1\tsentence2\tlabel\nA dog ran.\tAn animal ran.\t0\nA boy ran.\tA dog ran.\t1\n")
    argv = ["--natural_logic.path", nlixy, "--natural_logic.seeds", "10", "--two_class.benchmarks"]
    run(command.evaluate, "--checkpoint", checkpoint, *argv, json.dumps({"rte": str(rte)}))
    (folder,) = (trained / "evaluations").glob("planted-validation-natural_logic-two_class/version_*")
    found, before = results_of(folder), results_of(trained)
    kinds = {"accuracy", "attentiveness", "loss", "natural_logic", "null", "two_class"}
    assert {name.split("/")[0] for name in found["metrics"]} == kinds
    assert found["metrics"]["accuracy/planted"] == before["metrics"]["accuracy/planted"]
    assert found["metrics"]["null/planted/flips"]["value"] == 0
    assert found["metrics"]["natural_logic/nlixy/context/tce"]["n"] > 0
    assert "TCE context" in capsys.readouterr().out


def test_the_words_of_the_training_are_kept_on_other_data(caplog, trained, tmp_path):
    """The same pairs under another name, with another template, get the same answers to the bit."""
    argv = ["--checkpoint", trained / "checkpoints" / "best.ckpt", "--data", "planted", *PLANTED]
    argv += ["--data.template", "do these agree? {premise} {hypothesis}", "--evaluations", "accuracy"]
    caplog.set_level("INFO")
    run(command.evaluate, *argv, "--output", tmp_path / "out")
    said = "was trained on 'mnli hypothesis: {hypothesis} premise: {premise}' with the answers"
    assert said in caplog.text
    rows, before = (read_rows(f / "rows" / "accuracy.parquet")[0] for f in (tmp_path / "out", trained))
    assert rows.num_rows == before.num_rows == 120
    assert rows["y"].to_pylist() == before["y"].to_pylist()


def test_one_part_is_read_alone(trained, tmp_path):
    argv = ["--init_from", trained, "--data.n_train", "32", *PLANTED, "--trainer.max_epochs", "1"]
    run(command.train, *argv, "--partial", "hypothesis", "--output", tmp_path)
    assert results_of(tmp_path)["metrics"]["accuracy/planted"]["value"] > 0.6  # the majority is 0.38
    words = json.loads((tmp_path / "checkpoints" / "backbone" / "config.json").read_text())["heedful"]
    assert words["template"] == "mnli hypothesis: {hypothesis}"


def test_greedy_answers_of_a_trained_model(trained, tmp_path):
    """A model that has learned its labels writes them."""
    argv = ["--checkpoint", trained / "checkpoints" / "best.ckpt", "--model.decoding", "greedy"]
    run(command.evaluate, *argv, "--output", tmp_path / "out")
    found = results_of(tmp_path / "out")
    assert found["metrics"]["accuracy/planted"]["value"] > 0.8
    assert found["counts"]["no_label"] < 6


def test_a_model_that_was_never_trained_here_and_mistakes(tiny_t5, nlixy, tmp_path):
    argv = ["--model", "flan-t5", "--model.backbone", tiny_t5, "--data.n_validation", "9"]
    only = ["--evaluations", "natural_logic", "--natural_logic.path", nlixy]
    run(command.evaluate, *argv, *only, "--output", tmp_path / "only")
    assert results_of(tmp_path / "only")["counts"]["natural_logic/examples"] == 24
    saved = yaml.safe_load((tmp_path / "only" / "config.yaml").read_text())
    assert saved["model"]["class_path"] == "heedful.lightning_modules.Seq2Seq"
    for words, error, *facts in (
        (["--trainer.precision", "16-mixed"], SettingError, "trainer.precision 16-mixed", "bf16-mixed"),
        (["--model.max_length", "6"], ModelError, "model.max_length 6 "),
        (["--data.template", "{premise}"], SettingError, "data.template '{premise}'", "premise, hypothesis"),
        (["--model.decoding", "beam"], SettingError, "model.decoding: beam ", "likelihood or greedy"),
    ):
        with refused(error, *facts):
            run(command.train, *argv, "--data.n_train", "16", *words, "--output", tmp_path / "out")
        assert not (tmp_path / "out").exists()
