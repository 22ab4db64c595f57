"""Trainings of other people, written as they write them, choose their best checkpoint by attentiveness.

One script forks all trainings, on one process and on two: with transformers, ``pytorch_lightning`` and ``lightning``,
the hook listed first, last, and left out.
"""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import heedful
from heedful.datamodules import Planted

from refusals import read
from run_lab import Forks

pytestmark = pytest.mark.slow  # whole trainings, on two processes too

PARTS, NAMES = ["premise", "hypothesis"], ["entailment", "neutral", "contradiction"]
LIGHTNINGS = ["pytorch_lightning", "lightning"]
QUIET = {"enable_progress_bar": False}

SCRIPT = """
import hashlib
import json
import os
import sys
import zlib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import heedful
import torch
import torch.nn.functional as F
from datasets import Dataset
from ranks import fork
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
packages = {name: import_module(name) for name in ("pytorch_lightning", "lightning") if find_spec(name)}
BATCH = len(train)  # of all processes: a step is of all examples, in whatever order


def keep(case, rank, model, hook, **more):
    weights = b"".join(w.detach().numpy().tobytes() for w in model.parameters())
    more |= {"weights": hashlib.sha256(weights).hexdigest(), "random": torch.rand(3).tolist()}
    more |= {"environment": {name: value for name, value in os.environ.items() if "RANK" in name or "WORLD" in name}}
    (output / f"{case}-{rank}.json").write_text(json.dumps(more | {"history": hook.history if hook else []}))


def transformers(rank, world, order):
    torch.set_num_threads(1)
    os.environ |= {"RANK": str(rank), "GROUP_RANK": "0", "LOCAL_WORLD_SIZE": str(world)}  # as torchrun does
    os.environ["TORCHELASTIC_RUN_ID"] = "test"
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(backbone)
    labels = {"id2label": dict(enumerate(NAMES)), "label2id": {name: i for i, name in enumerate(NAMES)}}
    without_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    model = AutoModelForSequenceClassification.from_pretrained(
        backbone, num_labels=3, dtype=torch.float64, **labels, **without_dropout
    )

    with torch.no_grad():  # answers of every kind from the beginning
        model.bert.embeddings.word_embeddings.weight.mul_(8)
        model.classifier.weight.normal_(std=30)
        texts = [[row[part] for row in validation] for part in PARTS]
        scores = model.eval()(**tokenizer(*texts, padding=True, return_tensors="pt")).logits
        model.classifier.bias.sub_(scores.mean(dim=0))
    model.bert.requires_grad_(False)

    def encode(rows):
        return tokenizer(rows["premise"], rows["hypothesis"], truncation=True)

    splits = [Dataset.from_list([row | {"label": NAMES.index(row["label"])} for row in rows]).map(encode, batched=True)
              for rows in (train, validation)]
    case = f"transformers-{order}-{world}"
    args = TrainingArguments(
        output_dir=output / case,
        eval_strategy="epoch",
        save_strategy="epoch",
        num_train_epochs=4,
        learning_rate=2e-3,
        per_device_train_batch_size=BATCH // world,
        average_tokens_across_devices=False,
        load_best_model_at_end=order != "without",
        metric_for_best_model="eval_attentiveness_premise",
        greater_is_better=True,
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
    )
    heeds = heedful.TransformersCallback(validation, parts=PARTS, default_label="neutral", draws=2)
    stops = EarlyStoppingCallback(early_stopping_patience=3)
    callbacks = {"first": [heeds, stops], "last": [stops, heeds], "without": []}[order]
    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=splits[0],
        eval_dataset=splits[1],
        processing_class=tokenizer,
        data_collator=DataCollatorWithPadding(tokenizer),
        callbacks=callbacks,
    )
    if order == "without":
        args.metric_for_best_model = None
    trainer.train()
    best = {"best": trainer.state.best_model_checkpoint, "score": trainer.state.best_metric}
    keep(case, rank, model, heeds if callbacks else None, **best, log=trainer.state.log_history)


def numbers(rows, part):
    words = [[zlib.crc32(word.encode()) % 500 for word in row[part].lower().split()][:16] for row in rows]
    return torch.tensor([line + [500] * (16 - len(line)) for line in words])


def lightning_module(L):
    class Pairs(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(501, 32)
            self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 3))

        def forward(self, premise, hypothesis):
            return self.head(torch.cat([self.words(x).mean(dim=1) for x in (premise, hypothesis)], dim=-1))

        def training_step(self, batch, batch_idx):
            *texts, label = batch
            return F.cross_entropy(self(*texts), label)

        def validation_step(self, batch, batch_idx):
            *texts, label = batch
            self.log("val_loss", F.cross_entropy(self(*texts), label), sync_dist=True)

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.03)

    return Pairs()


def predict(module, inputs):
    assert not module.training and not torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    return module(*(numbers(inputs, part) for part in PARTS)).softmax(dim=-1)


def lightning(rank, world, package, order):
    torch.set_num_threads(1)
    L = packages[package]
    callbacks = import_module({"lightning": "lightning.pytorch"}.get(package, package) + ".callbacks")
    L.seed_everything(1)
    case = f"{package}-{order}-{world}"
    watch = heedful.Watch(predict=predict, rows=validation, parts=PARTS, default_label="neutral", draws=2, labels=NAMES)
    best = callbacks.ModelCheckpoint(output / case, "{epoch}", monitor="attentiveness_premise", mode="max")
    stop = callbacks.EarlyStopping("attentiveness_premise", mode="max", patience=4)
    trainer = L.Trainer(
        max_epochs=4,
        accelerator="cpu",
        devices=world,
        strategy="ddp" if world > 1 else "auto",
        precision="64-true",
        callbacks={"first": [watch, stop, best], "last": [best, stop, watch], "without": None}[order],
        logger=False,
        enable_checkpointing=order != "without",
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    module = lightning_module(L)
    loaders = [
        DataLoader(TensorDataset(*(numbers(rows, part) for part in PARTS),
                                 torch.tensor([NAMES.index(row["label"]) for row in rows])), BATCH // world)
        for rows in (train, validation)
    ]
    trainer.fit(module, *loaders)
    monitored = float(trainer.callback_metrics.get("attentiveness_premise", -1))
    score = None if best.best_model_score is None else float(best.best_model_score)
    keep(case, rank, module, watch if order != "without" else None, monitored=monitored, score=score,
         best=Path(best.best_model_path).name, is_callback=isinstance(watch, L.Callback))


def failing(rank, world):
    def broken(module, inputs):
        raise ValueError("no such table")

    L = packages["pytorch_lightning"]
    watch = heedful.Watch(broken, validation, PARTS, "neutral", draws=2)
    trainer = L.Trainer(
        max_epochs=1, accelerator="cpu", devices=world, strategy="ddp", callbacks=[watch], logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0,
    )
    texts = [*(numbers(validation, part) for part in PARTS), torch.zeros(60, dtype=torch.long)]
    try:
        trainer.fit(lightning_module(L), *[DataLoader(TensorDataset(*texts), 8)] * 2)
    except HeedfulError as error:
        (output / f"failed-{rank}").write_text(json.dumps([error.code, str(error)]))


for world in (1, 2):
    for order in ("first", "last", "without"):
        for package in packages:
            fork(world, lightning, package, order)
        if (world, order) != (1, "without"):
            fork(world, transformers, order)
fork(2, failing)
"""


@pytest.fixture(scope="module")
def folder(forks: Forks, tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all trainings."""
    folder = tmp_path_factory.mktemp("trainings")
    forks.script(SCRIPT, tiny_bert, folder)
    return folder


def kept(folder: Path, case: str, processes: int, rank: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{case}-{processes}-{rank}.json").read_text())
    return found


def require_installed(package: str) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed: pip install {package}")


@pytest.mark.parametrize("package", ["transformers", *LIGHTNINGS])
def test_equal_numbers_on_one_process_and_on_two_in_both_orders(folder: Path, package: str) -> None:
    require_installed(package)
    runs = [
        kept(folder, f"{package}-{order}", processes, rank)
        for order in ("first", "last")
        for processes in (1, 2)
        for rank in range(processes)
    ]
    attentiveness = [one["attentiveness_premise"] for one in runs[0]["history"]]
    assert len(attentiveness) == 4
    assert len(set(attentiveness)) > 2
    for run in runs:
        assert run["history"] == runs[0]["history"]
        assert Path(run["best"]).name == Path(runs[0]["best"]).name
        assert run["score"] == pytest.approx(max(attentiveness))


@pytest.mark.parametrize("package", ["transformers", *LIGHTNINGS])
@pytest.mark.parametrize("rank", [0, 1])
def test_training_on_two_processes_is_what_it_is_without(folder: Path, package: str, rank: int) -> None:
    require_installed(package)
    with_it, without = (kept(folder, f"{package}-{order}", 2, rank) for order in ("first", "without"))
    for name in ("random", "environment", *(["weights"] if package != "transformers" else [])):
        assert with_it[name] == without[name], name
    if package == "transformers":  # which loads the best weights at the end
        files = [
            folder / f"transformers-{order}-2" / "checkpoint-4" / "model.safetensors" for order in ("first", "without")
        ]
        assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("package", LIGHTNINGS)
def test_lightning_watches_the_numbers(folder: Path, package: str) -> None:
    require_installed(package)
    run = kept(folder, f"{package}-first", 2, rank=1)
    attentiveness = [one["attentiveness_premise"] for one in run["history"]]
    assert run["is_callback"]
    assert run["monitored"] == pytest.approx(attentiveness[-1])
    assert run["best"] == f"epoch={attentiveness.index(max(attentiveness))}.ckpt"


def test_what_transformers_logs_is_what_measure_says_of_the_best_checkpoint(folder: Path) -> None:
    run = kept(folder, "transformers-last", 2)
    logged = [line for line in run["log"] if "eval_loss" in line]
    assert [line["eval_attentiveness_premise"] for line in logged] == [
        one["attentiveness_premise"] for one in run["history"]
    ]
    best = Path(run["best"])
    model = AutoModelForSequenceClassification.from_pretrained(best)
    rows = [
        {**example.parts, "label": example.label} for example in Planted(n_train=32, n_validation=60).load("validation")
    ]
    pair = (model, AutoTokenizer.from_pretrained(best))
    result = heedful.measure(pair, rows, PARTS, "neutral", draws=2, trainer=QUIET)
    line = next(line for line in logged if line["eval_attentiveness_premise"] == run["score"])
    for part in PARTS:
        number = result["attentiveness", part]
        names = [f"eval_attentiveness_{part}{bound}" for bound in ("", "_low", "_high")]
        assert [line[name] for name in names] == [number.value, number.low, number.high]
    assert line["eval_null_flips"] == 0


def test_what_fails_fails_on_every_process(folder: Path) -> None:
    errors = [json.loads((folder / f"failed-{rank}").read_text()) for rank in (0, 1)]
    assert errors[0] == errors[1]
    read(*errors[0], "failed-function", "broken raised ValueError (no such table)")
