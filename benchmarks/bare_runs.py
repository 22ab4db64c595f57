"""Training and measuring without a command: no checks of settings, no checkpoints, nothing written by default."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytorch_lightning import Callback, Trainer

from heedful.assembly.trainers import make_trainer
from heedful.callbacks import Engine, RunFolder
from heedful.datamodules import PairedData
from heedful.lightning_modules import Classifier
from heedful.lightning_modules.predictor import Predictor
from heedful.lightning_modules.predictor_module import module_of


def measured(
    model: Predictor,
    data: PairedData,
    evaluations: Sequence[Any],
    exhaustive: bool = True,
    only: Sequence[str] | None = None,
    outputs: Sequence[Callback] = (),
    folder: Path | None = None,
    ckpt_path: str | None = None,
    **settings: Any,
) -> Any:
    """Evaluate a model as it is, without the checks of a command.

    Args:
        model: The model.
        data: The data.
        evaluations: What to measure; other callbacks among them have their turn before the engine.
        exhaustive: Whether to measure on all examples, as evaluate.py does, or as in training.
        only: Names of the evaluations that run; None for all of them.
        outputs: Callbacks that follow the engine and the folder.
        folder: Folder of the results, with an empty config.yaml; by default nothing is written.
        ckpt_path: Checkpoint whose weights are taken; by default, the weights stay.
        **settings: Of the Trainer; it logs nothing and shows no progress unless they say so.

    Returns:
        The measurements; None if nothing was measured.
    """
    engine = Engine(exhaustive, only)
    trainer = _bare_trainer(engine, evaluations, folder, outputs, settings, evaluating=True)
    trainer.validate(module_of(model), data, ckpt_path=ckpt_path, weights_only=True, verbose=False)
    return engine.measurements


def fitted(
    model: Classifier,
    data: PairedData,
    evaluations: Sequence[Any],
    outputs: Sequence[Callback] = (),
    folder: Path | None = None,
    ckpt_path: str | None = None,
    **settings: Any,
) -> Any:
    """Train a model, without the checks of a command and without checkpoints.

    Args:
        model: The model.
        data: The data.
        evaluations: What to measure in each epoch; other callbacks among them have their turn before the engine.
        outputs: Callbacks that follow the engine and the folder.
        folder: Folder of the outputs, with an empty config.yaml; by default nothing is written.
        ckpt_path: Checkpoint from which training goes on.
        **settings: Of the Trainer; it logs nothing and shows no progress unless they say so.

    Returns:
        The measurements of the last epoch; None if nothing was measured.
    """
    engine = Engine(exhaustive=False)
    trainer = _bare_trainer(engine, evaluations, folder, outputs, settings, evaluating=False)
    trainer.fit(model, data, ckpt_path=ckpt_path, weights_only=True)
    return engine.measurements


def _bare_trainer(
    engine: Engine,
    evaluations: Sequence[Any],
    folder: Path | None,
    outputs: Sequence[Callback],
    settings: Mapping[str, Any],
    evaluating: bool,
) -> Trainer:
    """A Trainer that logs nothing and shows no progress; with the files of a run in a folder, if one is named."""
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    files = [] if folder is None else [RunFolder(folder, Path.touch)]
    engine.writers += [item for item in (*files, *outputs) if hasattr(item, "write")]
    return make_trainer([*evaluations, engine, *files, *outputs], quiet | dict(settings), evaluating, folder=folder)
