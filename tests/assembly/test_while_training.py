"""Trainings of other libraries that choose their best checkpoint by attentiveness, on one process and on two.

One script forks all trainings: with transformers and ``pytorch_lightning``, and each without the hook.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from refusals import holds
from run_lab import Forks

pytestmark = pytest.mark.slow  # whole trainings, on two processes too

PARTS = ["premise", "hypothesis"]
KINDS = ["transformers", "lightning"]

SCRIPT = """
import hashlib
import json
import os
import sys
import zlib
from pathlib import Path

import heedful
import pytorch_lightning as L
import torch
import torch.nn.functional as F
from datasets import Dataset
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from ranks import fork
from tiny_models import vary_answers
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding
from transformers import EarlyStoppingCallback, Trainer, TrainingArguments
from heedful.datamodules import Planted
from heedful.records import HeedfulError

backbone, output = sys.argv[1], Path(sys.argv[2])
PARTS, NAMES = ["premise", "hypothesis"], ["entailment", "neutral", "contradiction"]
pool = Planted(n_train=32, n_validation=60)
train, validation = ([{**e.parts, "label": e.label} for e in pool.load(split)] for split in ("train", "validation"))
BATCH = len(train)  # of all processes: a step is of all examples, in whatever order


def keep(case, rank, model, history, **more):
    weights = b"".join(w.detach().numpy().tobytes() for w in model.parameters())
    more |= {"weights": hashlib.sha256(weights).hexdigest(), "random": torch.rand(3).tolist(), "history": history}
    more |= {"environment": {name: value for name, value in os.environ.items() if "RANK" in name or "WORLD" in name}}
    (output / f"{case}-{rank}.json").write_text(json.dumps(more))


def transformers(rank, world, hooked):
    torch.set_num_threads(1)
    os.environ |= {"RANK": str(rank), "GROUP_RANK": "0", "LOCAL_WORLD_SIZE": str(world)}  # as torchrun does
    os.environ["TORCHELASTIC_RUN_ID"] = "test"
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(backbone)
    labels = {"id2label": dict(enumerate(NAMES)), "label2id": {name: i for i, name in enumerate(NAMES)}}
    without_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    of_model = {"num_labels": 3, "dtype": torch.float64, **labels, **without_dropout}
    model = AutoModelForSequenceClassification.from_pretrained(backbone, **of_model)
    vary_answers(model, tokenizer, [[row[part] for row in validation] for part in PARTS], std=30)
    model.bert.requires_grad_(False)
    splits = [
        Dataset.from_list([row | {"label": NAMES.index(row["label"])} for row in rows]).map(
            lambda some: tokenizer(some["premise"], some["hypothesis"], truncation=True), batched=True
        )
        for rows in (train, validation)
    ]
    case = f"transformers-{hooked}-{world}"
    args = TrainingArguments(
        output_dir=output / case, eval_strategy="epoch", save_strategy="epoch", num_train_epochs=4, learning_rate=2e-3,
        per_device_train_batch_size=BATCH // world, average_tokens_across_devices=False, disable_tqdm=True,
        use_cpu=True, load_best_model_at_end=hooked, greater_is_better=True,
        metric_for_best_model="eval_attentiveness_premise" if hooked else None,
    )
    hook = heedful.TransformersCallback(validation, parts=PARTS, default_label="neutral", draws=2)
    trainer = Trainer(
        model, args, DataCollatorWithPadding(tokenizer), *splits, processing_class=tokenizer,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=3), hook] if hooked else None,
    )
    trainer.train()
    best = {"best": trainer.state.best_model_checkpoint, "score": trainer.state.best_metric}
    keep(case, rank, model, hook.history, **best, log=trainer.state.log_history)


def numbers(rows):
    words = [[[zlib.crc32(word.encode()) % 500 for word in row[part].split()][:16] for row in rows] for part in PARTS]
    return [torch.tensor([line + [500] * (16 - len(line)) for line in of_part]) for of_part in words]


class Pairs(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(501, 32)
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, premise, hypothesis):
        return self.head(torch.cat([self.words(x).mean(dim=1) for x in (premise, hypothesis)], dim=-1))

    def training_step(self, batch, batch_idx):
        return F.cross_entropy(self(*batch[:2]), batch[2])

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", F.cross_entropy(self(*batch[:2]), batch[2]), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.03)


def predict(module, inputs):
    assert not module.training and not torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    return module(*numbers(inputs)).softmax(dim=-1)


def fail(module, inputs):
    raise ValueError("no such table")


def fit(world, callbacks):
    torch.set_num_threads(1)
    L.seed_everything(1)
    module = Pairs()
    loaders = [
        DataLoader(TensorDataset(*numbers(rows), torch.tensor([NAMES.index(row["label"]) for row in rows])), size)
        for rows, size in ((train, BATCH // world), (validation, 32))
    ]
    trainer = L.Trainer(
        max_epochs=4, accelerator="cpu", devices=world, strategy="ddp" if world > 1 else "auto", precision="64-true",
        callbacks=callbacks, logger=False, enable_checkpointing=bool(callbacks), enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, *loaders)
    return module, trainer.callback_metrics


def lightning(rank, world, hooked):
    case = f"lightning-{hooked}-{world}"
    watch = heedful.Watch(predict, validation, PARTS, "neutral", draws=2, labels=NAMES)
    best = ModelCheckpoint(output / case, "{epoch}", monitor="attentiveness_premise", mode="max")
    stop = EarlyStopping("attentiveness_premise", mode="max", patience=4, check_finite=False)
    module, logged = fit(world, [best, stop, watch] if hooked else [])
    score = None if best.best_model_score is None else float(best.best_model_score)
    keep(case, rank, module, watch.history, score=score, best=Path(best.best_model_path).name,
         last=float(logged.get("attentiveness_premise", -1)))


def failing(rank, world):
    try:
        fit(world, [heedful.Watch(fail, validation, PARTS, "neutral", draws=2)])
    except HeedfulError as error:
        (output / f"failed-{rank}").write_text(json.dumps([type(error).__name__, str(error)]))


for train_it in (transformers, lightning):
    for world, hooked in ((1, True), (2, True), (2, False)):
        fork(world, train_it, hooked)
fork(2, failing)
"""


@pytest.fixture(scope="module")
def folder(forks: Forks, tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all trainings."""
    folder = tmp_path_factory.mktemp("trainings")
    forks.script(SCRIPT, tiny_bert, folder)
    return folder


def kept(folder: Path, kind: str, processes: int, rank: int = 0, hooked: bool = True) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{kind}-{hooked}-{processes}-{rank}.json").read_text())
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_on_two_processes_are_those_on_one(folder: Path, kind: str) -> None:
    one, *two = kept(folder, kind, 1), kept(folder, kind, 2), kept(folder, kind, 2, rank=1)
    attentiveness = [line["attentiveness_premise"] for line in one["history"]]
    assert len(attentiveness) == 4
    assert len(set(attentiveness)) > 2
    for run in (one, *two):
        assert run["history"] == one["history"]
        assert run["score"] == pytest.approx(max(attentiveness))
        if kind == "lightning":
            assert run["last"] == pytest.approx(attentiveness[-1])
            assert run["best"] == f"epoch={attentiveness.index(max(attentiveness))}.ckpt"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [0, 1])
def test_training_on_two_processes_is_what_it_is_without(folder: Path, kind: str, rank: int) -> None:
    hooked, without = (kept(folder, kind, 2, rank, with_hook) for with_hook in (True, False))
    assert hooked["random"] == without["random"]
    assert hooked["environment"] == without["environment"]
    if kind == "lightning":
        assert hooked["weights"] == without["weights"]
    else:  # transformers loads the best weights at the end
        last = [folder / f"transformers-{hook}-2" / "checkpoint-4" / "model.safetensors" for hook in (True, False)]
        assert last[0].read_bytes() == last[1].read_bytes()


def test_every_process_raises_the_error_of_the_first(folder: Path) -> None:
    errors = [json.loads((folder / f"failed-{rank}").read_text()) for rank in (0, 1)]
    assert errors[0] == errors[1]
    assert errors[0][0] == "ModelError"
    holds(errors[0][1], "fail raised ValueError (no such table)")
