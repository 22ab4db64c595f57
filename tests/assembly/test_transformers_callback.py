"""``heedful.TransformersCallback`` in the Trainer of transformers on one process; on two: test_while_training.py."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from datasets import Dataset
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from transformers import AutoModelForSequenceClassification, AutoTokenizer, TrainerCallback, TrainingArguments
from transformers.integrations import TensorBoardCallback

import heedful
from heedful.datamodules import Planted
from heedful.records import RunError, SettingError

from refusals import refused

pytestmark = pytest.mark.slow  # whole trainings, on two processes too

PARTS, NAMES = ["premise", "hypothesis"], ["entailment", "neutral", "contradiction"]
Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    pool = Planted(n_train=3, n_validation=40).load("validation")
    return [{**example.parts, "label": example.label} for example in pool]


@pytest.fixture(scope="module")
def tokenizer(tiny_bert: Path) -> Any:
    return AutoTokenizer.from_pretrained(tiny_bert)


@pytest.fixture(scope="module")
def encoded(rows: list[Row], tokenizer: Any) -> Dataset:
    data = Dataset.from_list([row | {"label": NAMES.index(row["label"])} for row in rows])
    return data.map(lambda some: tokenizer(some["premise"], some["hypothesis"]), batched=True)


@pytest.fixture
def train(tiny_bert: Path, tokenizer: Any, encoded: Dataset, tmp_path: Path) -> Callable[..., transformers.Trainer]:
    """Trains a model for two epochs of two steps, with dropout; returns the Trainer."""

    def train(*callbacks: TrainerCallback, fit: bool = True, **settings: Any) -> transformers.Trainer:
        torch.manual_seed(0)
        model = AutoModelForSequenceClassification.from_pretrained(
            tiny_bert, num_labels=3, id2label=dict(enumerate(NAMES)), label2id={name: i for i, name in enumerate(NAMES)}
        )
        with torch.no_grad():  # answers of every kind
            model.classifier.weight.normal_(std=30)
            texts = [[*encoded[part]] for part in PARTS]
            scores = model.eval()(**tokenizer(*texts, padding=True, return_tensors="pt")).logits
            model.classifier.bias.sub_(scores.mean(dim=0))
        own = {name: settings.pop(name) for name in ("compute_metrics",) if name in settings}
        data = {"eval_dataset": settings.pop("eval_dataset", encoded), "processing_class": tokenizer}
        args = TrainingArguments(
            output_dir=tmp_path / "run",
            **{"eval_strategy": "epoch", "save_strategy": "no", "report_to": "none", "disable_tqdm": True}
            | {"num_train_epochs": 2, "per_device_train_batch_size": 20, "learning_rate": 1e-5, "use_cpu": True}
            | {name: value for name, value in settings.items() if name != "processing_class"},
        )
        data |= {name: value for name, value in settings.items() if name == "processing_class"}
        trainer = transformers.Trainer(
            model=model, args=args, train_dataset=encoded, callbacks=[*callbacks], **data, **own
        )
        if fit:
            trainer.train()
        return trainer

    return train


def heeds(rows: list[Row], **settings: Any) -> heedful.TransformersCallback:
    return heedful.TransformersCallback(rows, PARTS, "neutral", draws=1, **settings)


def of(trainer: transformers.Trainer, name: str) -> list[float]:
    return [line[name] for line in trainer.state.log_history if name in line]


def test_weights_and_random_numbers_are_what_they_are_without(rows: list[Row], train: Callable[..., Any]) -> None:
    left = []
    for callbacks in ([], [heeds(rows)]):
        trainer = train(*callbacks)
        weights = {name: value.clone() for name, value in trainer.model.state_dict().items()}
        modes = [module.training for module in trainer.model.modules()]
        left.append((weights, torch.rand(2), np.random.rand(2), modes))  # noqa: NPY002
    assert left[0][0].keys() == left[1][0].keys()
    assert all(torch.equal(left[0][0][name], left[1][0][name]) for name in left[0][0])
    assert torch.equal(left[0][1], left[1][1])
    assert np.array_equal(left[0][2], left[1][2])
    assert left[0][3] == left[1][3]


def test_numbers_are_logged_under_the_prefix_of_the_evaluation(
    rows: list[Row], train: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And by reporters that follow the callback."""
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "board"))
    callback = heeds(rows, output=tmp_path / "measured", keeps=["hypothesis"])
    trainer = train(callback, TensorBoardCallback(), num_train_epochs=1)
    later = trainer.evaluate()
    other = trainer.evaluate(metric_key_prefix="test")
    value = callback.history[-1]["attentiveness_premise"]
    assert 0 < value < 1
    assert of(trainer, "eval_attentiveness_premise") == [value, value]
    assert later["eval_attentiveness_premise"] == other["test_attentiveness_premise"] == value
    assert "eval_attentiveness_premise" not in other
    assert 0 < later["eval_attentiveness_hypothesis_kept"] < 1
    board = EventAccumulator(str(tmp_path / "board"))
    board.Reload()
    assert [event.value for event in board.Scalars("eval/attentiveness_premise")] == pytest.approx([value] * 2)
    assert sorted(path.name for path in (tmp_path / "measured").iterdir()) == ["step-2", "step-2-2", "step-2-3"]
    saved = heedful.load(tmp_path / "measured" / "step-2")
    assert saved["attentiveness", "premise"].value == value == callback.results["attentiveness", "premise"].value


def test_several_data_sets_are_measured_once(rows: list[Row], encoded: Dataset, train: Callable[..., Any]) -> None:
    callback = heeds(rows, name="pairs")
    best = {"metric_for_best_model": "eval_pairs_attentiveness_premise", "greater_is_better": True}
    trainer = train(callback, eval_dataset={"one": encoded, "two": encoded}, **best)
    assert len(callback.history) == 2
    found = of(trainer, "eval_pairs_attentiveness_premise")
    assert found == [one["pairs_attentiveness_premise"] for one in callback.history]
    assert trainer.state.best_metric == max(found)


def test_the_live_model_is_asked(rows: list[Row], tokenizer: Any, train: Callable[..., Any]) -> None:
    def predict(model: torch.nn.Module, inputs: list[Row]) -> torch.Tensor:
        assert not model.training
        texts = [[row[part] for row in inputs] for part in PARTS]
        return model(**tokenizer(*texts, padding=True, return_tensors="pt")).logits.softmax(dim=-1)

    copied, live = heeds(rows), heeds(rows, predict=predict, labels=NAMES)
    train(copied)
    train(live)
    names = [f"attentiveness_{part}{bound}" for part in PARTS for bound in ("", "_low", "_high")]
    assert [copied.history[1][name] for name in names] == [live.history[1][name] for name in names]


def test_what_is_undefined_is_never_the_best(rows: list[Row], train: Callable[..., Any]) -> None:
    def predict(model: torch.nn.Module, inputs: list[Row]) -> list[str]:
        return ["neutral"] * len(inputs)

    best = {"metric_for_best_model": "attentiveness_premise", "greater_is_better": True}
    trainer = train(heeds(rows, predict=predict), **best)
    assert all(map(math.isnan, of(trainer, "eval_attentiveness_premise")))
    assert trainer.state.best_model_checkpoint is None


def test_what_is_refused(rows: list[Row], train: Callable[..., Any]) -> None:
    with refused(SettingError, "drawn"):
        heedful.TransformersCallback(rows, PARTS, "neutral", drawn=3)
    with refused(SettingError, "draws"):
        heedful.TransformersCallback(rows, PARTS, "neutral", draws="many")
    with refused(SettingError, "predict"):
        heedful.TransformersCallback(rows, PARTS, "neutral", predict="bert-base-uncased")
    with refused(SettingError, "tokenizer"):
        train(heeds(rows), processing_class=None)
    with refused(RunError, "eval_attentiveness_premise", "name"):
        train(heeds(rows), compute_metrics=lambda predicted: {"attentiveness_premise": 0.5})
