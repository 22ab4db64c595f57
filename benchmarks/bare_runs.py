"""Train and evaluate without the checks of train.py and evaluate.py and without checkpoints.

By default, nothing is written.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytorch_lightning import Callback, Trainer

from heedful.assembly.trainers import make_trainer
from heedful.callbacks import Evaluation, EvaluationCallback, RunFolder
from heedful.callbacks.engine.evaluation import Plans
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
    """Evaluate a model, and return the engine's measurements, or None if the engine has measured nothing.

    Args:
        model: The model.
        data: The data.
        evaluations: The evaluations, and other callbacks that run before the engine.
        exhaustive: Whether to measure on all examples, as evaluate.py does, instead of on as many as in training.
        only: Names of the evaluations to run; None for the evaluations that run by default.
        outputs: Callbacks that run after the engine, and after the results are written.
        folder: Folder to which the results and an empty config.yaml are written; None writes nothing.
        ckpt_path: Checkpoint with the weights; None keeps the weights of the model.
        **settings: Settings of the Trainer, which by default logs nothing and shows no progress.
    """
    engine, first = _engine(evaluations, exhaustive, only)
    trainer = _bare_trainer(engine, first, folder, outputs, settings, "validate")
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
    """Train a model, and return the measurements of the last epoch; see :func:`measured` for the arguments."""
    engine, first = _engine(evaluations, exhaustive=False)
    trainer = _bare_trainer(engine, first, folder, outputs, settings, "fit")
    trainer.fit(model, data, ckpt_path=ckpt_path, weights_only=True)
    return engine.measurements


def _engine(
    items: Sequence[Any], exhaustive: bool, only: Sequence[str] | None = None
) -> tuple[EvaluationCallback, list[Callback]]:
    """Return the callback that runs the evaluations among the items, and the other items."""
    evaluations = [item for item in items if isinstance(item, Evaluation)]
    chosen = [item for item in evaluations if (item.by_default if only is None else item.name in only)]
    plans = None if chosen else Plans({})  # an empty list of evaluations is refused
    return EvaluationCallback(chosen, exhaustive, plans), [item for item in items if item not in evaluations]


def _bare_trainer(
    engine: EvaluationCallback,
    callbacks: Sequence[Callback],
    folder: Path | None,
    outputs: Sequence[Callback],
    settings: Mapping[str, Any],
    stage: str,
) -> Trainer:
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    files = [] if folder is None else [RunFolder(folder, Path.touch)]
    engine.writers += [item for item in (*files, *outputs) if hasattr(item, "write")]
    return make_trainer([*callbacks, engine, *files, *outputs], quiet | dict(settings), stage, folder=folder)
