"""The settings of a run as config.yaml holds them, and what differs between two of them."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pytorch_lightning import Trainer

from heedful.assembly.making import read_settings
from heedful.assembly.settings import EvaluationSettings, RunSettings, TrainerDefaults, TrainingSettings
from heedful.callbacks import EVALUATIONS, BestCheckpoint, Evaluation
from heedful.datamodules import PairedData
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import Classifier
from heedful.records import RunError, SettingError
from heedful.records.made import class_path, defaults_of, settings_of
from heedful.records.storage.run_files import CONFIG, require_config
from heedful.records.storage.schema import ROOMS, present
from heedful.records.storage.yaml_files import read_yaml
from heedful.reports.runs import HOW

LONGEST = 40  # characters of a value that a message shows
SEED = "seed_everything"  # what config.yaml calls the seed, as LightningCLI does
NO_NUMBER = re.compile(  # settings that change no number: of the command, where it runs, what it prints
    r"config|checkpoint|output|dry_run|resume|ckpt_path|init_from|allow_\w+|data\.init_args\.(num_workers|seed)"
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
LINE_ENDS = re.compile("[\x85\u2028\u2029]")  # beside \\n: YAML would read them as spaces
NUMBER_LIKE = re.compile(r"[-+]?[\d.][\d._]*(e[-+]?\d+)?", re.IGNORECASE)

Record = dict[str, Any]


def trainer_defaults() -> Record:
    """All settings of Lightning's Trainer, with the defaults of Heedful."""
    return defaults_of(Trainer) | defaults_of(TrainerDefaults)


def defaults(evaluating: bool) -> Record:
    """The settings of a command but for its model and its data, where nobody names any."""
    of_run = defaults_of(EvaluationSettings if evaluating else TrainingSettings)
    record = {SEED: of_run.pop("seed"), "trainer": trainer_defaults(), **of_run}
    record |= {kind.metric.name: defaults_of(kind) for kind in shown_evaluations(evaluating)}
    return record | ({"prompt": defaults_of(Prompting)} if evaluating else {"checkpoint": defaults_of(BestCheckpoint)})


def shown_evaluations(evaluating: bool) -> list[type[Evaluation]]:
    """The evaluations with settings, those of training first."""
    shown = [kind for kind in EVALUATIONS.values() if kind.has_settings and (kind.in_training or evaluating)]
    return sorted(shown, key=lambda kind: not kind.in_training)


def write_record(record: Mapping[str, Any], path: Path) -> None:
    """Write a record as a file that ``--config`` reads."""
    path.write_text(yaml.dump(dict(record), Dumper=_Dumper, sort_keys=False, allow_unicode=True), encoding="utf-8")


class _Dumper(yaml.SafeDumper):
    """Quotes texts that readers of YAML 1.2 take for numbers, and writes nothing twice by reference."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "'" if NUMBER_LIKE.fullmatch(text) else '"' if LINE_ENDS.search(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def file_record(path: str, evaluating: bool) -> Record:
    """The settings that a file names, such as the config.yaml of a run.

    Raises:
        HeedfulError: It cannot be read, a setting is unknown or of another type, or may not stand in a file.
    """
    display_name = f"config {path}"
    of_run = EvaluationSettings if evaluating else TrainingSettings
    groups: dict[str, Any] = {kind.metric.name: kind for kind in shown_evaluations(evaluating)} | {"trainer": Trainer}
    groups |= {"prompt": Prompting} if evaluating else {"checkpoint": BestCheckpoint}
    hints = {name: setting.hint for name, setting in settings_of(of_run).items()} | {"allow_package": str | None}
    hints |= {name: {own: setting.hint for own, setting in settings_of(kind).items()} for name, kind in groups.items()}
    hints |= {SEED: hints.pop("seed"), "data": PairedData, "model": Classifier}
    plain = read_yaml(path, display_name)
    for name in ROOMS if isinstance(plain, dict) else ():
        if isinstance(plain.get(name), dict) and "class_path" not in plain[name]:
            hints[name] = dict[str, Any]  # of a class that others name, who check them
    values = read_settings(path, display_name, hints) or {}
    for name in ("init_from", "resume", "allow_package"):
        if values.get(name):
            raise SettingError(f"{display_name}: {name} stands in a file of settings. Give it in the call, as {name}.")
    return {name: _completed(value) for name, value in values.items()}


def merged(before: Any, now: Any) -> Any:
    """Settings on top of others; those of another class take the place of all."""
    if not (isinstance(before, Mapping) and isinstance(now, Mapping)):
        return now
    if now.get("class_path", before.get("class_path")) != before.get("class_path"):
        return now
    return {**before, **{name: merged(before.get(name), value) for name, value in now.items()}}


def saved_record(run: Path, evaluating: bool = False) -> Record:
    """The record of a run or of an evaluation, with the defaults of settings that it did not have yet.

    Raises:
        HeedfulError: It cannot be read, or was changed.
    """
    require_config(run)
    path = str(run / CONFIG)
    saved = read_yaml(path, path)
    if not isinstance(saved, dict):
        raise RunError(
            f"{path} is damaged: it does not name settings. Bring the file back that was written, or begin a new run."
        )
    return completed(saved, evaluating)


def completed(saved: Mapping[str, Any], evaluating: bool) -> Record:
    """A record with the defaults of settings that it does not name, and with today's import paths of classes."""
    base = defaults(evaluating)
    whole = {**base, **{name: _completed(value) for name, value in saved.items()}}
    for name, settings in base.items():
        if isinstance(settings, dict) and isinstance(whole[name], dict):
            whole[name] = {**settings, **whole[name]}
    if isinstance(whole["evaluations"], str):
        whole["evaluations"] = RunSettings(evaluations=whole["evaluations"]).evaluations
    return whole


def _completed(value: Any) -> Any:
    if isinstance(value, list):
        return [_completed(inner) for inner in value]
    if not isinstance(value, Mapping):
        return value
    inner = {name: _completed(setting) for name, setting in value.items()}
    if not isinstance(value.get("class_path"), str):
        return inner
    module, _, name = present(value["class_path"]).rpartition(".")
    kind = getattr(sys.modules.get(module), name, None)
    if not isinstance(kind, type):
        return inner
    given = inner.get("init_args") or {}
    more = {name: setting for name, setting in inner.items() if name == "dict_kwargs" and setting}
    return {"class_path": class_path(kind), "init_args": {**defaults_of(kind), **given}, **more}


def differences(before: Record, now: Record) -> dict[str, tuple[Any, Any]]:
    """The settings that differ and may change a number: dotted name to both values."""
    began, ended = _flat(before), _flat(now)
    names = sorted(name for name in began.keys() | ended.keys() if not NO_NUMBER.fullmatch(name))
    return {name: (began.get(name), ended.get(name)) for name in names if began.get(name) != ended.get(name)}


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value:
        return {prefix.removesuffix("."): value}
    return {name: v for key, inner in value.items() for name, v in _flat(inner, f"{prefix}{key}.").items()}


def setting_of(name: str) -> str:
    """A dotted name in a record as a message names the setting."""
    return "seed" if name == SEED else name.replace("init_args.", "")


def brief(value: Any) -> str:
    """A value as a message shows it: a text or path whole, of a long list the beginning."""
    text = str(value)
    return text if isinstance(value, str) or len(text) <= LONGEST else f"{text[:LONGEST]}..."


def require_same_settings(record: Record, run: Path) -> None:
    """Refuse settings that a run that goes on would record and not follow, since its checkpoint wins over them.

    Args:
        record: The settings of the command.
        run: The run that it goes on with.

    Raises:
        HeedfulError: A setting is not the one that the run began with; the message names it.
    """
    for name, (began, now) in differences(saved_record(run), record).items():
        if not FOLLOWED.fullmatch(name):
            raise SettingError(
                f"{setting_of(name)} {brief(now)}: {run} began with {brief(began)}, and its checkpoint goes on so. "
                "Leave it as it was, or begin a new run."
            )


def require_as_finished(record: Record, run: Path) -> None:
    """Refuse settings that a finished run, which stays as it is, does not have.

    Raises:
        HeedfulError: There is one; the message names it.
    """
    for name, (began, now) in differences(saved_record(run), record).items():
        raise RunError(
            f"{setting_of(name)} {brief(now)}: {run} is finished, with {brief(began)}. Begin a new run from its "
            f"weights with init_from {run}."
        )
