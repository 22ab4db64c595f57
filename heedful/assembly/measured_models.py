"""``heedful.measure`` for models that Heedful loads (folders, hub ids, runs, servers), with a Trainer."""

from os import PathLike, fspath
from pathlib import Path
from typing import Any

from torch import nn

from heedful.assembly.evaluation import job_of, measured_in_memory, prepare, requests_of
from heedful.assembly.loading import load_model, model_config
from heedful.assembly.measured_rows import RowSettings, data_of, order_of_outputs
from heedful.assembly.prompting import Requests
from heedful.assembly.results import Results
from heedful.assembly.saved import source_of
from heedful.assembly.settings import several
from heedful.assembly.trainers import session
from heedful.callbacks.checkpoints.files import outline
from heedful.datamodules import PairedText
from heedful.lightning_modules import Predictor
from heedful.lightning_modules.learned import names_of_outputs
from heedful.lightning_modules.pretrained import open_config, positions_of, resolve
from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier
from heedful.lightning_modules.transformers_pair import restored_generators
from heedful.records import SettingError, Task
from heedful.records.storage.results import BACKBONE, CONFIG


def measure_model(predict: Any, rows: RowSettings, settings: dict[str, Any]) -> Results | list[Results] | Requests:
    """Measure a model that Heedful loads, with a Trainer; the global random generators are restored."""
    config, dry_run, packages = (settings.pop(name, None) for name in ("config", "dry_run", "allow_package"))
    of_data = {name: value for name in ("partial", "slices") if (value := settings.pop(name, None)) is not None}
    with restored_generators(), session(packages):
        model, checkpoint, backbone = _resolve_model(predict)
        learned = () if model is None else model.task.labels if model.task else model.learned.names
        if checkpoint is not None and not (backbone / "config.json").is_file():  # a user's own network
            learned = Task.from_dict(outline(source_of(checkpoint)[0])["task"]).labels
        outputs = learned or (names_of_outputs(model_config(resolve(fspath(backbone)))) if backbone else ())
        data = data_of(rows, outputs, is_function=False, kind=PairedText)
        if isinstance(model, PretrainedClassifier) and model is not predict and not outputs:
            model = model.with_arguments(labels=order_of_outputs(data, rows))
        data = data.with_arguments(**of_data) if of_data else data
        call = {**settings, "model": model, "data": data, "output": None, "dry_run": dry_run or None}
        job = job_of(call, several(config), checkpoint=checkpoint)
        prepare(job)
        return requests_of(job) if dry_run else measured_in_memory(job)


def _resolve_model(predict: Any) -> tuple[Predictor | None, str | None, Any]:
    """Return the model, or the name of a run or checkpoint; and the folder or hub id whose config names the labels."""
    if isinstance(predict, Predictor):
        return predict, None, getattr(predict, "backbone", None)
    if isinstance(predict, str | PathLike):
        path = Path(predict)
        if (path / CONFIG).is_file() or path.suffix == ".ckpt":
            run = path.absolute().parent.parent if path.suffix == ".ckpt" else path
            return None, fspath(predict), run / BACKBONE
        model = load_model(fspath(predict))
        if isinstance(model, PretrainedClassifier):
            most = positions_of(open_config(resolve(model.backbone)))  # tokens per input
            if most is not None and most < model.max_length:
                model = model.with_arguments(max_length=most)
        return model, None, getattr(model, "backbone", predict)
    if isinstance(predict, nn.Module) and hasattr(predict, "config"):
        raise SettingError(f"predict is a {type(predict).__name__} without its tokenizer. Give (model, tokenizer).")
    raise SettingError(
        f"predict has the type {type(predict).__name__}. Give a function from a list of dictionaries to labels, "
        "(model, tokenizer) or a pipeline of transformers, or a folder."
    )
