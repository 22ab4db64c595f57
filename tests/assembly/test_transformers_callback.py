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
from tiny_models import vary_answers
from transformers import AutoModelForSequenceClassification, AutoTokenizer, TrainerCallback, TrainingArguments
from transformers.integrations import TensorBoardCallback

import heedful
from heedful.datamodules import Planted

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
    """Trains a model with dropout for two epochs of two steps; returns the Trainer."""

    def train(*callbacks: TrainerCallback, **settings: Any) -> transformers.Trainer:
        torch.manual_seed(0)
        model = AutoModelForSequenceClassification.from_pretrained(
            tiny_bert, num_labels=3, id2label=dict(enumerate(NAMES)), label2id={name: i for i, name in enumerate(NAMES)}
        )
        vary_answers(model, tokenizer, [[*encoded[part]] for part in PARTS], std=30)
        given = {"eval_dataset": encoded, "processing_class": tokenizer, "compute_metrics": None}
        given = {name: settings.pop(name, value) for name, value in given.items()}
        usual = {"eval_strategy": "epoch", "save_strategy": "no", "disable_tqdm": True, "use_cpu": True}
        usual |= {"num_train_epochs": 2, "per_device_train_batch_size": 20, "learning_rate": 1e-5}
        args = TrainingArguments(output_dir=tmp_path / "run", **usual | settings)
        trainer = transformers.Trainer(model, args, train_dataset=encoded, callbacks=[*callbacks], **given)
        trainer.train()
        return trainer

    return train


def callback_of(rows: list[Row], **settings: Any) -> heedful.TransformersCallback:
    return heedful.TransformersCallback(rows, PARTS, "neutral", draws=1, **settings)


def logged(trainer: transformers.Trainer, name: str) -> list[float]:
    return [line[name] for line in trainer.state.log_history if name in line]


def test_training_is_left_as_it_is_with_a_function_or_without(
    rows: list[Row], tokenizer: Any, train: Callable[..., Any]
) -> None:
    def predict(model: torch.nn.Module, inputs: list[Row]) -> torch.Tensor:
        assert not model.training
        texts = [[row[part] for row in inputs] for part in PARTS]
        return model(**tokenizer(*texts, padding=True, return_tensors="pt")).logits.softmax(dim=-1)

    usual, live = callback_of(rows), callback_of(rows, predict=predict, labels=NAMES)
    left = []
    for callbacks in ([], [usual], [live]):
        trainer = train(*callbacks)
        weights = torch.cat([weights.flatten() for weights in trainer.model.parameters()])
        modes = [module.training for module in trainer.model.modules()]
        left.append((weights.tolist(), torch.rand(2).tolist(), np.random.rand(2).tolist(), modes))  # noqa: NPY002
    assert left[0] == left[1] == left[2]
    names = [f"attentiveness_{part}{bound}" for part in PARTS for bound in ("", "_low", "_high")]
    assert [usual.history[1][name] for name in names] == [live.history[1][name] for name in names]


def test_numbers_have_the_prefix_of_the_evaluation_and_reach_reporters_behind_the_callback(
    rows: list[Row],
    train: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "board"))
    callback = callback_of(rows, output=tmp_path / "measured", keeps=["hypothesis"])
    trainer = train(callback, TensorBoardCallback(), num_train_epochs=1)
    later = trainer.evaluate()
    other = trainer.evaluate(metric_key_prefix="test")
    value = callback.history[-1]["attentiveness_premise"]
    assert 0 < value < 1
    assert logged(trainer, "eval_attentiveness_premise") == [value, value]
    assert later["eval_attentiveness_premise"] == other["test_attentiveness_premise"] == value
    assert "eval_attentiveness_premise" not in other
    assert 0 < later["eval_attentiveness_hypothesis_kept"] < 1
    board = EventAccumulator(str(tmp_path / "board"))
    board.Reload()
    assert [event.value for event in board.Scalars("eval/attentiveness_premise")] == pytest.approx([value] * 2)
    assert sorted(path.name for path in (tmp_path / "measured").iterdir()) == ["step-2", "step-2-2", "step-2-3"]
    assert "step-2 exists" in caplog.text
    saved = heedful.load(tmp_path / "measured" / "step-2")
    assert saved["attentiveness", "premise"].value == value == callback.results["attentiveness", "premise"].value


def test_an_undefined_number_is_never_the_best(rows: list[Row], train: Callable[..., Any]) -> None:
    best = {"metric_for_best_model": "attentiveness_premise", "greater_is_better": True}
    trainer = train(callback_of(rows, predict=lambda model, inputs: ["neutral"] * len(inputs)), **best)
    assert all(map(math.isnan, logged(trainer, "eval_attentiveness_premise")))
    assert trainer.state.best_model_checkpoint is None
