"""Read saved runs: their settings, their models, and the checkpoints from which they resume."""

import re
import shutil
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from heedful.assembly.identity import HOW
from heedful.assembly.settings import SEED, Settings
from heedful.callbacks.checkpoints.files import LAST, best_of, outline, progress
from heedful.callbacks.outputs.run_folder import is_finished
from heedful.lightning_modules import Classifier
from heedful.lightning_modules.pretrained import has_weights
from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier
from heedful.records import HeedfulError, RunError, SettingError, inform
from heedful.records.storage.files import remove_abandoned
from heedful.records.storage.results import BACKBONE, CONFIG, RUN
from heedful.records.storage.yaml_files import read_yaml

LONGEST = 200  # maximum number of characters of a value in a message
NO_NUMBER = re.compile(  # settings that change no number: places, devices, output
    r"config|checkpoint|output|dry_run|allow_\w+|data\.init_args\.num_workers"
    rf"|model\.init_args\.({'|'.join(sorted(HOW))})"
    r"|trainer\.(accelerator|devices|num_nodes|strategy|logger|enable_\w+|log_every_n_steps|profiler|default_root_dir)"
    r"(\..+)?"
)
RESUMABLE = re.compile(  # further settings that a resumed run may change; fingerprints detect changed examples
    r"(attentiveness|natural_logic|data)\..*|data|checkpoint\.last_every_n_steps|"
    r"trainer\.(precision|plugins|deterministic|benchmark|detect_anomaly|(min|max)_(epochs|steps)|max_time|"
    r"limit_val_batches|val_check_interval|check_val_every_n_epoch|accumulate_grad_batches|gradient_clip_\w+)(\..*)?"
)


def config_of(run: Path, display_name: str) -> Path:
    """Return the path of config.yaml in the folder of a run; raise RunError if there is none."""
    if not (run / CONFIG).is_file():
        raise RunError(f"{display_name} is not a run or its checkpoint: there is no {CONFIG}. Name a run.")
    return run / CONFIG


def source_of(name: str) -> tuple[Path, dict[str, Any]]:
    """Find the checkpoint to evaluate: of a run the best one, or ``last.ckpt`` if a finished run has no best one.

    Return it, and the settings of its run for the model (with the exported weights), the data and natural_logic.
    """
    display_name = f"checkpoint {name}"
    checkpoint = Path(name)
    if checkpoint.is_dir():
        run = config_of(checkpoint, display_name).parent
        checkpoint = best_of(run, display_name, is_finished(run))
    outline(checkpoint, display_name)
    run = checkpoint.absolute().parent.parent
    saved = _settings_with_exported_model(config_of(run, display_name), run / BACKBONE)
    natural_logic = {name: value for name, value in (saved.get("natural_logic") or {}).items() if value is not None}
    return checkpoint, {"model": saved["model"], "data": saved["data"], "natural_logic": natural_logic}


def _settings_with_exported_model(config: Path, backbone: Path) -> dict[str, Any]:
    """Return the settings of a run, changed for all examples and for the exported model in the folder ``backbone``."""
    try:
        saved = read_yaml(str(config), str(config))
        settings = saved["model"]["init_args"]
        if (backbone / "config.json").is_file():  # else a checkpoint has all that a user's own network needs
            exported = {"backbone": str(backbone), "labels": None}
            settings |= {name: value for name, value in exported.items() if name in settings}
        data = saved["data"]["init_args"]
        data |= dict.fromkeys({"max_validation"} & data.keys())  # an evaluation takes all examples
        if isinstance(data.get("answers"), int):  # number of most frequent answers, from the training split
            data["answers"] = str(backbone / "config.json")
    except (HeedfulError, KeyError, TypeError):
        raise RunError(f"{config} is damaged. Restore the file, or start a new run.") from None
    return saved


def initial_model(name: str) -> dict[str, Any]:
    """Return the section of a model (class and settings) with the exported weights of the finished run ``name``."""
    run = Path(name)
    config = config_of(run, f"init_from {name}")
    backbone = run / BACKBONE
    if not (backbone.is_dir() and has_weights(str(backbone))):
        raise RunError(f"init_from {name} has no weights in checkpoints/backbone. Finish that run: resume {name}.")
    model = _settings_with_exported_model(config, backbone)["model"]
    if "backbone" not in model["init_args"]:
        raise RunError(
            f"init_from {name}: {model['class_path']} has no setting backbone, the folder from which it would load the "
            "weights. Add the setting, as the documentation shows (A new model)."
        )
    model["init_args"]["backbone"] = str(backbone)
    return model


def learn_from_run(model: Classifier) -> None:
    """Let a user's own network, whose weights name no labels, learn parts and labels from the run in its backbone."""
    folder = Path(getattr(model, "backbone", None) or "")
    run = folder.parent.parent
    if isinstance(model, PretrainedClassifier) or run / BACKBONE != folder or not (run / CONFIG).is_file():
        return
    model.learn(outline(best_of(run, f"init_from {run}", True)) | {"global_step": None})


def start_of(resume: str) -> tuple[Path, str | None]:
    """Find the run and the checkpoint from which a training resumes: the last one, or the one that ``resume`` names.

    The checkpoint is None if the training begins at the first step or is already finished.
    """
    path = Path(resume)
    run = path.absolute().parent.parent if path.is_file() else path
    if not is_begun(run):
        if path.is_file() or (run / CONFIG).is_file():
            raise RunError(f"resume {resume} is not a run: there is no {RUN}. Name a run.")
        return run, None
    if is_finished(run) and not path.is_file():
        return run, None
    checkpoint = path if path.is_file() else run / "checkpoints" / LAST
    if not checkpoint.is_file():
        inform(f"{run}: no checkpoint was saved yet, so the run starts from the beginning.")
        return run, None
    epoch, step = progress(checkpoint)  # raises for a checkpoint without the state of the Trainer
    inform(f"{run}: resuming from {checkpoint.name} (epoch {epoch}, step {step:,}).")
    return run, str(checkpoint)


def is_begun(run: Path) -> bool:
    """Whether a folder has the files with which a run begins, run.json and config.yaml."""
    return all((run / name).is_file() for name in (RUN, CONFIG))


def remove_unfinished_files(run: Path) -> None:
    """Remove unfinished files, which a killed process left in the folder of a run."""
    for folder in (run, run / "rows", run / "figures", run / "checkpoints"):
        remove_abandoned(folder)
    for path in (run / "checkpoints").glob(".backbone.*"):
        if re.fullmatch(r"\.backbone\.\w{8}", path.name):
            shutil.rmtree(path)


def unfinished_of(checkpoint: str) -> str | None:
    """Return how far an unfinished training had got, such as "epoch 1 of 4, step 30"; None if it is finished."""
    run = Path(checkpoint).absolute().parent.parent
    if is_finished(run):
        return None
    saved = outline(Path(checkpoint))
    epochs = (read_yaml(str(run / CONFIG), f"checkpoint {checkpoint}").get("trainer") or {}).get("max_epochs") or -1
    return f"epoch {saved['epoch'] + 1}{f' of {epochs}' if epochs > 0 else ''}, step {saved['global_step']:,}"


def settings_of_file(path: str | PathLike[str], where: str = "") -> tuple[str, Settings]:
    """Read the settings in a YAML file; return the beginning of messages (by default the path), and the settings."""
    where = where or fspath(path)
    values = read_yaml(fspath(path), where)
    if not isinstance(values, Mapping):
        raise RunError(f"{where} has no settings. Write NAME: VALUE for each setting.")
    return where, dict(values)


def _flat(settings: Settings, prefix: str = "") -> Settings:
    """Flatten nested settings: map dotted names, such as "trainer.max_epochs" or "data.init_args.path", to values."""
    flat: Settings = {}
    for name, value in settings.items():
        is_section = isinstance(value, Mapping) and (prefix == "" or name == "init_args")
        flat |= _flat(value, f"{prefix}{name}.") if is_section else {f"{prefix}{name}": value}
    return flat


def require_same_settings(settings: Settings, run: Path) -> None:
    """Raise an error if a run cannot be resumed with these settings.

    A finished run allows no changes. An unfinished run allows changes of settings that its checkpoint does not
    override, such as ``max_epochs``. Settings that only the command or only the run has are not compared.
    """
    is_done, before, after = is_finished(run), _flat(settings_of_file(run / CONFIG)[1]), _flat(settings)
    for name in sorted(before.keys() & after.keys()):
        old, new = before[name], after[name]
        if old == new or NO_NUMBER.fullmatch(name):
            continue
        setting = "seed" if name == SEED else name.replace("init_args.", "")
        change, old = f"{setting} {str(new)[:LONGEST]}: {run}", str(old)[:LONGEST]
        if is_done:
            raise RunError(f"{change} is finished, with {old}. Train its weights further with init_from {run}.")
        if not RESUMABLE.fullmatch(name):
            raise SettingError(f"{change} started with {old}. Leave the setting out, or train a new run.")
