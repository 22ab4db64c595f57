"""Heedful as its command line builds it: MNLI over local files, MiniLM, and the defaults of the trainer."""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import yaml
from pytorch_lightning import Callback, LightningModule, Trainer

from heedful.callbacks import Engine, Evaluation, RunFolder
from heedful.datamodules import PairedImages, PairedText
from heedful.lightning_modules import Encoder, LateFusion
from heedful.records import HeedfulError

CONFIGS = Path(__file__).parents[1] / "configs"


def from_config(kind: str, name: str) -> dict[str, Any]:
    """The settings of a config."""
    return yaml.safe_load((CONFIGS / kind / f"{name}.yaml").read_text())["init_args"]


def mnli(path: str, **settings: Any) -> PairedText:
    """The data module of ``--data mnli --data.path PATH``."""
    return PairedText(**from_config("data", "mnli") | {"hub": None, "path": path} | settings)


def questions(path: str, **settings: Any) -> PairedImages:
    """The data module of ``--data easy_vqa --data.path PATH``, of which the pictures alone are swapped."""
    return PairedImages(**from_config("data", "easy_vqa") | {"path": path, "swap": ["image"]} | settings)


def fusion(folder: str | None, **settings: Any) -> LateFusion:
    """The model of ``--model timm``, its text encoder from a folder if one is named."""
    chosen = from_config("model", "timm")
    if folder:
        chosen |= {"backbone": folder, "sha256": None}
    return LateFusion(**chosen | settings)


def encoder(folder: str | None, **settings: Any) -> Encoder:
    """The model of ``--model minilm``, or of ``--model.backbone FOLDER``."""
    chosen = from_config("model", "minilm")
    if folder:
        chosen |= {"backbone": folder, "sha256": None}
    return Encoder(**chosen | settings)


def ready(module: Encoder, data: PairedText) -> Encoder:
    """The model with its weights, before any trainer has seen it."""
    module.prepare(data.task)
    module.configure_model()
    return module


def exported(checkpoint: str) -> str:
    """The folder of weights that lies beside a checkpoint; a folder stands for itself.

    Raises:
        HeedfulError: There is none.
    """
    path = Path(checkpoint)
    folder = path if path.is_dir() else path.parent / "backbone"
    if not (folder / "config.json").is_file():
        raise HeedfulError(f"--checkpoint {checkpoint}: there is no {folder / 'config.json'}.")
    return str(folder)


def trainer(callbacks: Sequence[Callback], **settings: Any) -> Trainer:
    """A trainer with the defaults of train.py, without checkpoints and loggers."""
    defaults = {
        "accelerator": "cpu",
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "use_distributed_sampler": False,
        "num_sanity_val_steps": 0,
        "gradient_clip_val": 1.0,
        "log_every_n_steps": 10,
    }
    return Trainer(callbacks=list(callbacks), **defaults | settings)


class Clock(Callback):
    """When training began and ended, and when the end of a validation epoch passed this callback."""

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.began = time.perf_counter()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.seconds = time.perf_counter() - self.began

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.passed = time.perf_counter()


def evaluate(
    module: Encoder,
    data: PairedText,
    evaluations: Sequence[Evaluation],
    exhaustive: bool = True,
    only: Sequence[str] | None = None,
    **settings: Any,
) -> tuple[Engine, dict[str, float]]:
    """Validate as evaluate.py does, files included; ``only`` names the evaluations that run.

    Returns:
        The engine, and seconds: of the ``whole``, and of what came ``after`` the base predictions.
    """
    engine, before, behind = Engine(exhaustive, only), Clock(), Clock()
    with tempfile.TemporaryDirectory() as folder:
        files = RunFolder(Path(folder), lambda path: path.touch())
        judge = trainer([*evaluations, before, engine, files, behind], **settings)
        module.has_learned = True  # what is timed need not be
        start = time.perf_counter()
        judge.validate(module, data, verbose=False)
        whole = time.perf_counter() - start
    return engine, {"whole": whole, "after": behind.passed - before.passed}


def train(module: Encoder, data: PairedText, callbacks: Sequence[Callback] = (), **settings: Any) -> float:
    """Train one epoch as train.py does, without validation unless ``settings`` ask for it; returns seconds."""
    pl.seed_everything(data.seed, verbose=False)
    clock = Clock()
    trainer([clock, *callbacks], **{"max_epochs": 1, "limit_val_batches": 0} | settings).fit(module, data)
    return clock.seconds
