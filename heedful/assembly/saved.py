"""Runs as their folders hold them: where a command takes a model from, or goes on, and with which settings."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from heedful.assembly.identity import HOW
from heedful.assembly.settings import SEED
from heedful.callbacks.checkpoints.files import LAST, best_of, outline, progress
from heedful.callbacks.outputs.run_folder import is_finished
from heedful.lightning_modules.pretrained.backbones import has_weights
from heedful.records import HeedfulError, RunError, SettingError, inform
from heedful.records.storage.files import remove_abandoned
from heedful.records.storage.results import BACKBONE, CONFIG
from heedful.records.storage.yaml_files import parse_yaml, read_text, read_yaml

LONGEST = 200  # characters of a value that a message shows
NO_NUMBER = re.compile(  # settings that change no number: of the command, where it runs, what it prints
    r"config|checkpoint|output|dry_run|ckpt_path|allow_\w+|data\.init_args\.(num_workers|seed)"
    rf"|model\.init_args\.({'|'.join(sorted(HOW))})"
    r"|trainer\.(accelerator|devices|num_nodes|strategy|logger|enable_\w+|log_every_n_steps|profiler|default_root_dir)"
    r"(\..+)?"
)
FOLLOWED = re.compile(  # settings that take effect when a run goes on; other examples are refused by their fingerprints
    r"(attentiveness|natural_logic|data)\..*|data|checkpoint\.last_every_n_steps|model\.init_args\.cache|"
    r"trainer\.(accelerator|strategy|devices|num_nodes|precision|plugins|deterministic|benchmark|detect_anomaly|profiler|"
    r"logger|log_every_n_steps|enable_\w+|(min|max)_(epochs|steps)|max_time|limit_val_batches|val_check_interval|"
    r"check_val_every_n_epoch|accumulate_grad_batches|gradient_clip_\w+)(\..*)?"
)

Settings = dict[str, Any]  # nested, as config.yaml has them


def config_of(run: Path, display_name: str) -> Path:
    """The configuration in a run folder; ``display_name`` begins the message.

    Raises:
        RunError: There is none.
    """
    if not (run / CONFIG).is_file():
        raise RunError(
            f"{display_name} is not a run or a checkpoint of one: it has no {CONFIG}. Name a folder that train.py or "
            "evaluate.py wrote."
        )
    return run / CONFIG


def source_of(given: str) -> tuple[Path, dict[str, Any]]:
    """The checkpoint that ``checkpoint`` names, of a run the best or else the last, and the settings that it brings.

    Returns:
        The file; and the model with the weights and labels that the run exported, the data without a seed, and the
        settings of natural logic while the run trained, which is measured again.

    Raises:
        HeedfulError: It does not exist, is damaged, or lies in no run folder.
    """
    display_name = f"checkpoint {given}"
    checkpoint = Path(given)
    if checkpoint.is_dir():
        run = config_of(checkpoint, display_name).parent
        checkpoint = best_of(run, display_name, is_finished(run))
    outline(checkpoint, display_name)
    run = checkpoint.absolute().parent.parent
    saved = _saved(config_of(run, display_name), run / BACKBONE)
    saved["data"]["init_args"].pop("seed", None)
    natural_logic = {name: value for name, value in (saved.get("natural_logic") or {}).items() if value is not None}
    return checkpoint, {"model": saved["model"], "data": saved["data"], "natural_logic": natural_logic}


def _saved(config: Path, backbone: Path) -> dict[str, Any]:
    """The configuration of a run, with the model that it exported, which knows the names of its labels.

    Raises:
        HeedfulError: It is damaged.
    """
    try:
        saved = read_yaml(str(config), str(config))
        settings = saved["model"]["init_args"]
        of_export = {"backbone": str(backbone), "labels": None}
        settings |= {name: value for name, value in of_export.items() if name in settings}
        data = saved["data"]["init_args"]
        data |= dict.fromkeys({"max_validation"} & data.keys())  # an evaluation takes all examples
        if isinstance(data.get("answers"), int):  # that many of the training split, which need not be at hand
            data["answers"] = str(backbone / "config.json")
    except (HeedfulError, KeyError, TypeError):
        raise RunError(
            f"{config} is not as train.py writes it. Bring the file back that was written, or begin a new run."
        ) from None
    return saved


def initial_model(given: str) -> dict[str, Any]:
    """The model of the finished run that ``init_from`` names, as config.yaml names it, with its weights.

    Raises:
        HeedfulError: There is no such run, or it is not done.
    """
    run = Path(given)
    if not run.is_dir():
        raise RunError(f"init_from {given} is not a folder. Name a folder that train.py or evaluate.py wrote.")
    config = config_of(run, f"init_from {given}")
    backbone = run / BACKBONE
    if not (backbone.is_dir() and has_weights(str(backbone))):
        raise RunError(
            f"init_from {given} has no weights in checkpoints/backbone. Finish that run with resume {given}."
        )
    return _saved(config, backbone)["model"]


class Start(NamedTuple):
    """Where a run begins, or goes on.

    Attributes:
        run: The run that goes on; None for a new one.
        ckpt_path: The checkpoint that it goes on from; None for the beginning, or where the run is finished.
        output: The folder of a new run, where one is named.
        may_exist: Whether that folder may hold something.
    """

    run: Path | None
    ckpt_path: str | None
    output: str | None
    may_exist: bool = False


def start_of(resume: str | None, ckpt_path: str | None, output: str | None) -> Start:
    """Where a run begins, or resumes: from ``last.ckpt`` of ``resume``, or from the checkpoint that it names.

    ``ckpt_path="last"`` does the same for the run in ``output``, which need not have begun.

    Raises:
        HeedfulError: There is no such run, its checkpoint is damaged, or two settings say the same.
    """
    if resume is not None and (ckpt_path or output):
        flags = " and ".join(name for name, value in {"ckpt_path": ckpt_path, "output": output}.items() if value)
        raise SettingError(f"resume says already what {flags} says. Leave {flags} out.")
    if resume is None and ckpt_path != "last":
        return Start(None, ckpt_path, output)
    if resume is None and output is None:
        raise SettingError("ckpt_path last goes on with the run in output, and that is missing. Add output RUN.")
    if resume is None and not (Path(str(output)) / CONFIG).is_file():
        return Start(None, None, output, may_exist=True)  # it was stopped before it wrote its settings
    return _going_on(Path(resume or str(output)), f"resume {resume}" if resume else f"output {output}")


def _going_on(given: Path, display_name: str) -> Start:
    """The start of a run that goes on, given as its folder or as one of its checkpoints."""
    if not given.exists():
        raise RunError(f"{display_name} does not exist.")
    run = given.absolute().parent.parent if given.is_file() else given
    config_of(run, display_name)
    if is_finished(run) and not given.is_file():
        return Start(run, None, None)  # and its results are shown
    checkpoint = given if given.is_file() else run / "checkpoints" / LAST
    if not checkpoint.is_file():
        inform(f"{run}: no checkpoint was saved yet, so the run starts from the beginning.")
        return Start(run, None, None)
    epoch, step = progress(checkpoint)
    inform(f"{run}: going on from {checkpoint.name} (epoch {epoch}, step {step:,}).")
    return Start(run, str(checkpoint), None)


def tidy(run: Path) -> None:
    """Remove the unfinished files of a killed process from a folder that is used again."""
    for folder in (run, run / "rows", run / "figures", run / "checkpoints"):
        remove_abandoned(folder)
    for path in (run / "checkpoints").glob(".backbone.*"):  # whose owner has the lock of the run
        if re.fullmatch(r"\.backbone\.\w{8}", path.name):
            shutil.rmtree(path)


def max_epochs_of(run: Path, display_name: str) -> int:
    """The epochs that a run was to have; -1 where it has no end."""
    settings: Mapping[str, Any] = read_yaml(str(run / CONFIG), display_name)
    return (settings.get("trainer") or {}).get("max_epochs") or -1


def settings_of_file(path: str, display_name: str) -> Settings:
    """The settings in a YAML file.

    Raises:
        HeedfulError: It cannot be read, or it is no mapping; the message begins with ``display_name``.
    """
    values = parse_yaml(read_text(path, display_name), display_name)
    if not isinstance(values, Mapping):
        raise RunError(f"{display_name} does not hold settings: write NAME: VALUE for each.")
    return dict(values)


def saved_settings(run: Path) -> Settings:
    """The settings of a run or of an evaluation.

    Raises:
        HeedfulError: They cannot be read.
    """
    return settings_of_file(str(run / CONFIG), str(run / CONFIG))


def differences(before: Settings, now: Settings) -> dict[str, tuple[Any, Any]]:
    """The settings of both that differ and may change a number: dotted name to both values."""
    began, ended = _flat(before), _flat(now)
    names = sorted(name for name in began.keys() & ended.keys() if not NO_NUMBER.fullmatch(name))
    return {name: (began[name], ended[name]) for name in names if began[name] != ended[name]}


def _flat(settings: Settings) -> Settings:
    """Settings by dotted name; a setting of data or model is "data.init_args.NAME"."""
    flat: Settings = {}
    for name, value in settings.items():
        for inner_name, inner in value.items() if isinstance(value, Mapping) else ():
            if inner_name == "init_args":
                flat |= {f"{name}.init_args.{last}": setting for last, setting in inner.items()}
            else:
                flat[f"{name}.{inner_name}"] = inner
        if not isinstance(value, Mapping):
            flat[name] = value
    return flat


def require_same_settings(settings: Settings, run: Path) -> None:
    """Refuse settings that a run would record and not follow: of one that goes on, since its checkpoint wins over them.

    Args:
        settings: The settings of the command.
        run: The run that it resumes.

    Raises:
        HeedfulError: A setting is not the one that the run began with, or is finished with; the message names it.
    """
    ended = is_finished(run)
    for name, (began, now) in differences(saved_settings(run), settings).items():
        setting = "seed" if name == SEED else name.replace("init_args.", "")
        here, before = f"{setting} {str(now)[:LONGEST]}: {run}", str(began)[:LONGEST]
        if ended:
            raise RunError(f"{here} is finished, with {before}. Begin a new run from its weights with init_from {run}.")
        if not FOLLOWED.fullmatch(name):
            raise SettingError(
                f"{here} began with {before}, and its checkpoint keeps that. Leave the setting out, or train a new run."
            )
