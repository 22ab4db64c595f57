"""Models with several right labels, each of its worth: the loss, predictions without probabilities, and heads."""

import json
import math
from pathlib import Path

import pytest
import torch

from heedful.datamodules.base.collate import Collate
from heedful.lightning_modules import NOT_FINITE, Classifier, Encoder, Reader, Seq2Seq
from heedful.records import CLASSIFICATION, SOFT, Example, ModelError, SettingError, Task

from refusals import refused

LABELS = ("hot dog", "hotdog", "yes", "no")
TASK = Task(SOFT, ("question",), LABELS, "no")
GOLDS = ({"yes": 1.0, "no": 0.3}, {"hotdog": 0.6, "cake": 0.9}, {"cake": 1.0})


def examples() -> list[Example]:
    return [Example(f"u{i}", {"question": f"is it {i} ?"}, json.dumps(gold)) for i, gold in enumerate(GOLDS)]


def encoder(backbone: Path | str, task: Task = TASK) -> Encoder:
    torch.manual_seed(0)
    model = Encoder(str(backbone), max_length=32)
    model.prepare(task)
    model.configure_model()
    model.eval()
    model.log = lambda *args, **kwargs: None
    return model


def batch_of(model: Classifier, pool: list[Example]) -> dict:
    return Collate(model.processor, model.task)((range(len(pool)), pool))


def test_the_loss_is_the_binary_one_summed_over_labels(tiny_bert: Path) -> None:
    model = encoder(tiny_bert)
    batch = batch_of(model, examples())
    scores = model.logits(batch["inputs"]).double()
    expected = 0.0
    for row, gold in zip(scores.tolist(), GOLDS, strict=True):
        for score, label in zip(row, LABELS, strict=True):
            p, worth = 1 / (1 + math.exp(-score)), gold.get(label, 0.0)
            expected -= worth * math.log(p) + (1 - worth) * math.log(1 - p)
    assert model.training_step(batch, 0).item() == pytest.approx(expected / 3, rel=1e-5)


def test_one_right_label_keeps_its_loss(tiny_bert: Path) -> None:
    model = encoder(tiny_bert, Task(CLASSIFICATION, ("question",), LABELS))
    pool = [Example(e.uid, e.parts, label) for e, label in zip(examples(), LABELS, strict=False)]
    batch = batch_of(model, pool)
    loss = torch.nn.functional.cross_entropy(model.logits(batch["inputs"]), torch.tensor([0, 1, 2]))
    assert torch.equal(model.training_step(batch, 0), loss)


def test_predictions_have_no_probabilities(tiny_bert: Path) -> None:
    model = encoder(tiny_bert)
    batch = batch_of(model, examples())
    best = model.logits(batch["inputs"]).argmax(dim=-1)
    outputs = model.predict(batch)
    assert outputs.probs is None
    assert torch.equal(outputs.answers, best)
    assert model.predict(batch | {"size": 0}) is None


def test_a_model_that_broke_down_is_seen_in_its_answers(tiny_bert: Path) -> None:
    model = encoder(tiny_bert)
    with torch.no_grad():
        model.network.classifier.bias[2] = math.nan
    batch = batch_of(model, examples())
    assert model.predict(batch).answers.tolist() == [NOT_FINITE] * 3


def test_an_exported_head_is_known_again_though_names_differ_in_a_blank_alone(tiny_bert: Path, tmp_path: Path) -> None:
    model = encoder(tiny_bert)
    model.export(str(tmp_path / "m"), weights=True)
    order = ("no", "hotdog", "yes", "hot dog")
    again = encoder(tmp_path / "m", Task(SOFT, ("question",), order, "no"))
    assert again.head == "kept"
    batch = batch_of(model, examples())
    assert torch.equal(again.logits(batch["inputs"]), model.logits(batch["inputs"])[:, [3, 1, 2, 0]])


def test_models_for_other_kinds_refuse_them(tiny_bert: Path, tiny_t5: Path) -> None:
    with refused(ModelError, "model Reader", "span", "soft"):
        Reader(str(tiny_bert)).prepare(TASK)
    with refused(ModelError, "model Seq2Seq", "classification", "soft"):
        Seq2Seq(str(tiny_t5)).prepare(TASK)


@pytest.mark.slow
def test_thousands_of_labels_make_short_messages(tiny_bert: Path, tmp_path: Path) -> None:
    many = tuple(f"answer {i}" for i in range(3129))
    encoder(tiny_bert, Task(SOFT, ("question",), many)).export(str(tmp_path / "m"), weights=False)
    model = Encoder(str(tmp_path / "m"), max_length=32)
    model.prepare(TASK)
    with refused(ModelError, "answer 4, ... (3,129 in all)", "hot dog, hotdog"):
        model.require_head()
    with refused(SettingError, "'x'", "answer 4, ... (3,129 in all)"):
        Task(SOFT, ("question",), many, "x")


def test_a_checkpoint_knows_that_its_labels_are_soft(tiny_bert: Path) -> None:
    checkpoint: dict = {"state_dict": {}}
    encoder(tiny_bert).on_save_checkpoint(checkpoint)
    fresh = Encoder(str(tiny_bert), max_length=32)
    Classifier.on_load_checkpoint(fresh, checkpoint)
    assert fresh.task == TASK
