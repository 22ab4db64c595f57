"""``heedful.measure`` of networks, runs and servers, which evaluate.py measures as well."""

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from pytorch_lightning import LightningModule
from torch import nn

from heedful.assembly.config import Call, load_model
from heedful.assembly.evaluation import configured, measured_in_memory, requests_of
from heedful.assembly.measured_rows import RowSettings, data_of, order_of_outputs
from heedful.assembly.plan import prepare
from heedful.assembly.short_names import model_config
from heedful.assembly.starts import restored_generators
from heedful.assembly.trainers import allowing, calm_lightning, restored_flags
from heedful.datamodules import PairedData, PairedText
from heedful.lightning_modules import BasePredictor
from heedful.lightning_modules.pretrained.backbone_config import open_config, positions_of
from heedful.lightning_modules.pretrained.backbones import resolve
from heedful.lightning_modules.pretrained.labels import names_of_outputs
from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier
from heedful.records import ModelError, SettingError
from heedful.records.storage.results import CONFIG


def measure_model(predict: Any, rows: Any, of_rows: RowSettings, is_ordered: bool, settings: dict[str, Any]) -> Any:
    """Measure a model that is not a function; restores the global generators.

    Args:
        predict: The model, as for :func:`heedful.measure`.
        rows: As for :func:`heedful.measure`.
        of_rows: The arguments about the rows.
        is_ordered: Whether the call or the rows give the labels in order.
        settings: All other arguments of :func:`heedful.measure`.

    Returns:
        The results; with ``dry_run``, the number of requests.
    """
    config, allowed, partial, slices, dry_run = (
        settings.pop(name, None) for name in ("config", "allow_package", "partial", "slices", "dry_run")
    )
    source = _source(predict, is_ordered)
    data, _ = data_of(rows, of_rows, source.outputs, is_function=False, kind=PairedText)
    settings = {**settings, "dry_run": dry_run or None}
    call = Call(source.model(data), data, partial=partial, slices=slices, settings=settings)
    with restored_generators(), allowing(allowed), calm_lightning(), restored_flags():
        plan = prepare(configured(call, [] if config is None else [config], source.checkpoint))
        return requests_of(plan) if dry_run else measured_in_memory(plan)


class _Source(NamedTuple):
    """The source of a model.

    Attributes:
        model: Builds the model for the data; returns None for a run.
        outputs: Names of the model's labels in order; empty if they have no names.
        checkpoint: Run or checkpoint of the model.
    """

    model: Callable[[Any], Any]
    outputs: Sequence[str] = ()
    checkpoint: str | None = None


def _source(predict: Any, is_ordered: bool) -> _Source:
    if isinstance(predict, BasePredictor):
        learned = predict.task.labels if predict.task else predict.known_labels
        backbone = getattr(predict, "backbone", None)
        return _Source(lambda data: predict, learned or (names_of_outputs(model_config(backbone)) if backbone else ()))
    if isinstance(predict, str | PathLike):
        return _named(fspath(predict), is_ordered)
    if isinstance(predict, nn.Module) and hasattr(predict, "config"):
        raise SettingError(f"predict is a {type(predict).__name__} without its tokenizer. Give (model, tokenizer).")
    if isinstance(predict, LightningModule):
        raise ModelError(
            f"predict is a {type(predict).__name__}, whose inputs are unknown. Give a function from a list of "
            "dictionaries to labels that calls it."
        )
    raise SettingError(
        f"predict has the type {type(predict).__name__}. Give a function from a list of dictionaries to labels, "
        "(model, tokenizer) or a pipeline of transformers, or a folder."
    )


def _named(name: str, is_ordered: bool) -> _Source:
    """The source of a run, a checkpoint, a short name, a folder or a hub id."""
    path = Path(name)
    if (path / CONFIG).is_file() or path.suffix == ".ckpt":
        run = path.absolute().parent.parent if path.suffix == ".ckpt" else path
        outputs = names_of_outputs(model_config(run / "checkpoints" / "backbone"))
        return _Source(lambda data: None, outputs, checkpoint=name)
    model = _within_positions(load_model(name))
    outputs = names_of_outputs(model_config(getattr(model, "backbone", name)))
    return _Source(lambda data: model if outputs else _with_outputs(model, data, is_ordered), outputs)


def _with_outputs(model: BasePredictor, data: PairedData, is_ordered: bool) -> BasePredictor:
    """Name the outputs of a model after the labels, if their order is known."""
    names = order_of_outputs(data, is_ordered) if isinstance(model, PretrainedClassifier) else None
    return model if names is None else model.with_arguments(labels=names)


def _within_positions(model: BasePredictor) -> BasePredictor:
    """Limit the length of inputs to the number of positions of a model."""
    if not isinstance(model, PretrainedClassifier):
        return model
    most = positions_of(open_config(resolve(model.backbone)))
    return model if most is None or most >= model.max_length else model.with_arguments(max_length=most)
