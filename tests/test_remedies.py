"""The command that works where a model does not know the labels of the data is one that does."""

import shlex
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

from heedful.cli import evaluation as evaluate
from heedful.cli import training as train
from heedful.cli.remedies import remedy
from heedful.records import HeedfulError

from commands import results_of, run

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

NLI = {"entailment": [0], "neutral": [1], "contradiction": [2]}


def model(tiny_bert: Path, folder: Path, *labels: str) -> Path:
    """The folder of a classifier of random weights with these outputs."""
    torch.manual_seed(0)
    names = dict(enumerate(labels))
    config = BertConfig.from_pretrained(tiny_bert, id2label=names, label2id={v: k for k, v in names.items()})
    BertForSequenceClassification(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(folder)
    return folder


def named_by_refusal(*argv: str | Path) -> list[str]:
    """The command that a refusal names; it is as long as the one that was typed."""
    with pytest.raises(HeedfulError) as caught:
        run(evaluate.main, *argv)
    assert caught.value.code == "other-question"
    return shlex.split(named(caught.value.do))


def named(sentence: str) -> str:
    """The command in brackets at the end of a sentence."""
    return sentence.partition("(python ")[2].removesuffix(").")


def test_a_model_of_two_classes_is_measured_on_data_of_three(tiny_bert: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mnli.tsv").write_text(
        "premise\thypothesis\tlabel\nA dog.\tA cat.\t2\nA cow.\tA cow.\t0\nA.\tB.\tneutral\n"
    )
    head = model(tiny_bert, tmp_path / "head", "not_entailment", "entailment")
    argv = ["--model", head, "--model.max_length", "64", "--data", "mnli", "--data.path", tmp_path / "mnli.tsv"]
    argv += ["--data.groups", "[]", "--model.max_unknown", "1"]
    script, *command = named_by_refusal(*argv)
    assert script == "evaluate.py"
    run(evaluate.main, *command)
    (results,) = (tmp_path / "runs").rglob("results.json")
    assert results_of(results.parent)["metrics"]["accuracy/mnli"]["n"] == 3


def test_a_model_of_other_labels_is_trained_on_the_data(tiny_bert: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    head = model(tiny_bert, tmp_path / "head", "duplicate", "different")
    argv = ["--model", head, "--model.max_length", "64", "--data.n_train", "40", "--data.n_validation", "9"]
    script, *command = named_by_refusal(*argv)
    assert (script, command) == ("train.py", [str(a) for a in argv])
    run(train.main, *command, "--trainer.max_epochs", "1")
    assert list((tmp_path / "runs").rglob("best.ckpt"))


def test_a_run_is_where_training_begins() -> None:
    argv = ["--checkpoint", "runs/x", "--data=qqp", "--data.path", "D", "--output", "o", "--partial", "question1"]
    sentence = remedy(argv, list(NLI), {"yes": (), "no": ()}, "runs/x")
    assert named(sentence) == "train.py --init_from runs/x --data=qqp --data.path D --partial question1"
