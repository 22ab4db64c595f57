"""Runs from Python on a tiny model and planted pairs, and the files and numbers to compare between runs."""

from pathlib import Path
from typing import Any

import yaml
from pytorch_lightning import Callback, LightningModule, Trainer

from heedful.assembly.loading import load_data, load_model
from heedful.datamodules import Planted
from heedful.lightning_modules import Classifier
from heedful.records.rows import read_rows
from heedful.records.storage.results import read_results

QUIET = {"accelerator": "cpu", "enable_progress_bar": False, "log_every_n_steps": 1}
ONCE = QUIET | {"max_epochs": 1}
MEASURED = ["accuracy", "attentiveness"]


def small(tiny_bert: Path, **settings: Any) -> Classifier:
    """A model before its weights are loaded."""
    return load_model(tiny_bert, max_length=64, **settings)


def pairs(**settings: Any) -> Planted:
    """A batch or two of planted pairs."""
    return load_data("planted", **{"n_train": 32, "n_validation": 12} | settings)


def written(folder: Path) -> dict[str, bytes]:
    """The bytes of results, rows and exported weights of a run, by path."""
    names = [
        folder / "results.json",
        *folder.glob("rows/*.parquet"),
        *folder.glob("checkpoints/backbone/*.safetensors"),
    ]
    return {str(path.relative_to(folder)): path.read_bytes() for path in names}


def measurements(folder: Path) -> dict[str, bytes]:
    """The bytes of results and rows of a run, by path."""
    return {name: content for name, content in written(folder).items() if not name.endswith(".safetensors")}


def numbers(folder: Path) -> dict[str, Any]:
    """Numbers and rows of a run, without the identity of its model."""
    content = read_results(folder)
    tables = {name: read_rows(folder / "rows" / f"{name}.parquet")[0].to_pylist() for name in content["rows"]}
    return content | {"identity": None, "rows": tables}


def config(folder: Path) -> dict[str, Any]:
    """The content of config.yaml."""
    return yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))


class Fall(Callback):
    """Raises an error at a step, by default never."""

    def __init__(self, at: int = -1) -> None:
        self.at = at

    def on_train_batch_end(self, trainer: Trainer, module: LightningModule, *_: Any) -> None:
        if trainer.global_step == self.at:
            raise ZeroDivisionError
