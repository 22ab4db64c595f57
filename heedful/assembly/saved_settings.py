"""The settings of a run as config.yaml holds them, and what differs between two of them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from heedful.assembly.parser import SEED
from heedful.records import RunError, SettingError
from heedful.records.parser import dump
from heedful.records.storage.run_files import CONFIG, require_config
from heedful.records.storage.schema import with_present_classes
from heedful.records.storage.yaml_files import parse_yaml, read_text
from heedful.reports.runs import HOW

LONGEST = 40  # characters of a value that a message shows
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


def write_settings(settings: Mapping[str, Any], path: Path) -> None:
    """Write settings as a file that ``--config`` reads."""
    path.write_text(dump(settings), encoding="utf-8")


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
        HeedfulError: They cannot be read, or were changed.
    """
    require_config(run)
    path = str(run / CONFIG)
    return cast(Settings, with_present_classes(settings_of_file(path, path)))


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


def setting_name(dotted: str) -> str:
    """A dotted name in config.yaml as a message names the setting."""
    return "seed" if dotted == SEED else dotted.replace("init_args.", "")


def brief(value: Any) -> str:
    """A value as a message shows it: a text or path whole, of a long list the beginning."""
    text = str(value)
    return text if isinstance(value, str) or len(text) <= LONGEST else f"{text[:LONGEST]}..."


def require_same_settings(settings: Settings, run: Path) -> None:
    """Refuse settings that a resumed run would record and not follow, since its checkpoint wins over them.

    Args:
        settings: The settings of the command.
        run: The run that it resumes.

    Raises:
        SettingError: A setting is not the one that the run began with; the message names it.
    """
    for name, (began, now) in differences(saved_settings(run), settings).items():
        if not FOLLOWED.fullmatch(name):
            raise SettingError(
                f"{setting_name(name)} {brief(now)}: {run} began with {brief(began)}, and its checkpoint keeps that."
                " Leave the setting out, or train a new run."
            )


def require_as_finished(settings: Settings, run: Path) -> None:
    """Refuse settings that a finished run, which stays as it is, does not have.

    Raises:
        RunError: There is one; the message names it.
    """
    for name, (began, now) in differences(saved_settings(run), settings).items():
        raise RunError(
            f"{setting_name(name)} {brief(now)}: {run} is finished, with {brief(began)}. Begin a new run from its"
            f" weights with init_from {run}."
        )
