"""Trainings of other libraries select their best checkpoint by attentiveness, on one process and on two alike.

One script forks all trainings, with transformers and with ``pytorch_lightning``.
"""

import json
from pathlib import Path

import pytest

from refusals import holds
from run_lab import Forks

pytestmark = pytest.mark.slow  # whole trainings, on two processes too

SCRIPT = """
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
BATCH = len(train)  # of all processes together: each step has all examples


def keep(case, rank, history, **more):
    (output / f"{case}-{rank}.json").write_text(json.dumps(more | {"history": history}))


def transformers(rank, world):
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
    case = f"transformers-{world}"
    args = TrainingArguments(
        output_dir=output / case, eval_strategy="epoch", save_strategy="epoch", num_train_epochs=4, learning_rate=2e-3,
        per_device_train_batch_size=BATCH // world, average_tokens_across_devices=False, disable_tqdm=True,
        use_cpu=True, load_best_model_at_end=True, metric_for_best_model="eval_attentiveness_premise",
        greater_is_better=True,
    )
    hook = heedful.TransformersCallback(validation, parts=PARTS, default_label="neutral", draws=2)
    trainer = Trainer(
        model, args, DataCollatorWithPadding(tokenizer), *splits, processing_class=tokenizer,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=3), hook],
    )
    trainer.train()
    keep(case, rank, hook.history, score=trainer.state.best_metric)


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
        callbacks=callbacks, logger=False, enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(module, *loaders)
    return trainer


def lightning(rank, world):
    case = f"lightning-{world}"
    watch = heedful.Watch(predict, validation, PARTS, "neutral", draws=2, labels=NAMES)
    best = ModelCheckpoint(output / case, "{epoch}", monitor="attentiveness_premise", mode="max")
    stop = EarlyStopping("attentiveness_premise", mode="max", patience=4, check_finite=False)
    trainer = fit(world, [best, stop, watch])
    last, score = float(trainer.callback_metrics["attentiveness_premise"]), float(best.best_model_score)
    alone = None
    if rank == 0:  # the other rank is not asked
        assert watch.results.rows.num_rows
        module = trainer.lightning_module.eval()
        again = heedful.measure(
            lambda inputs: module(*numbers(inputs)).softmax(dim=-1), validation, PARTS, "neutral", draws=2,
            labels=NAMES, output=output / f"{case}-alone",
        )
        alone = again["attentiveness", "premise"].value
    keep(case, rank, watch.history, score=score, best=Path(best.best_model_path).name, last=last, alone=alone)


def failing(rank, world):
    try:
        fit(world, [heedful.Watch(fail, validation, PARTS, "neutral", draws=2)])
    except HeedfulError as error:
        (output / f"failed-{rank}").write_text(json.dumps([type(error).__name__, str(error)]))


for train_it in (transformers, lightning):
    for world in (1, 2):
        fork(world, train_it)
fork(2, failing)
"""


@pytest.fixture(scope="module")
def folder(forks: Forks, tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all trainings."""
    folder = tmp_path_factory.mktemp("trainings")
    forks.script(SCRIPT, tiny_bert, folder)
    return folder


@pytest.mark.parametrize("kind", ["transformers", "lightning"])
def test_numbers_on_two_processes_are_those_on_one(folder: Path, kind: str) -> None:
    one, *two = (json.loads((folder / f"{kind}-{case}.json").read_text()) for case in ("1-0", "2-0", "2-1"))
    attentiveness = [line["attentiveness_premise"] for line in one["history"]]
    assert len(attentiveness) == 4
    assert len(set(attentiveness)) > 2
    for run in (one, *two):
        assert run["history"] == one["history"]
        assert run["score"] == pytest.approx(max(attentiveness))
        if kind == "lightning":
            assert run["last"] == pytest.approx(attentiveness[-1])
            assert run["best"] == f"epoch={attentiveness.index(max(attentiveness))}.ckpt"
            assert run["alone"] in (None, attentiveness[-1])
    assert kind == "transformers" or one["alone"] == two[0]["alone"] is not None


def test_every_process_raises_the_error_of_the_first(folder: Path) -> None:
    errors = [json.loads((folder / f"failed-{rank}").read_text()) for rank in (0, 1)]
    assert errors[0] == errors[1]
    assert errors[0][0] == "ModelError"
    holds(errors[0][1], "fail raised ValueError (no such table)")
