"""What a command line says of run folders and of files of settings, before it is parsed."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from heedful.assembly.saved_runs import start_of
from heedful.lightning_modules.pretrained.backbones import allowed_packages
from heedful.records import DataError, SettingError
from heedful.records.storage.run_files import CONFIG
from heedful.records.storage.yaml_files import parse_yaml, read_yaml


def take(argv: Sequence[str], flag: str) -> tuple[str | None, list[str]]:
    """The last value of a flag, or None, and the other arguments.

    Example:
        >>> take(["--resume", "a", "--x=1", "--resume=b"], "--resume")
        ('b', ['--x=1'])
    """
    values, rest = take_all(argv, flag)
    return (values[-1] if values else None), rest


def take_all(argv: Sequence[str], flag: str) -> tuple[list[str], list[str]]:
    """All values of a flag, and the other arguments.

    Raises:
        HeedfulError: One has no value.
    """
    values = []
    rest = []
    argv = list(argv)
    while argv:
        name, has_value, given = argv.pop(0).partition("=")
        if name != flag:
            rest.append(name + has_value + given)
        elif has_value or (argv and not argv[0].startswith("--")):
            values.append(given if has_value else argv.pop(0))
        else:
            raise SettingError(f"{flag} has no value. Write one behind it.")
    return values, rest


def split_configs(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The files given with --config, and the other arguments.

    Raises:
        HeedfulError: A file does not exist.
    """
    configs = []
    rest = []
    argv = list(argv)
    while argv:
        flag, has_value, value = argv.pop(0).partition("=")
        if flag in ("--config", "-c") and (has_value or argv):
            configs.append(value if has_value else argv.pop(0))
        else:
            rest.append(flag + has_value + value)
    for path in configs:
        if not Path(path).is_file():
            raise DataError(f"--config {path} does not exist.")
    return configs, rest


def _kinds_named(path: str) -> set[str]:
    config = read_yaml(path, f"--config {path}")
    sections = {kind: config.get(kind) for kind in ("data", "model")} if isinstance(config, dict) else {}
    return {kind for kind, section in sections.items() if isinstance(section, str) or "class_path" in _mapping(section)}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def classes_in_configs(argv: Sequence[str]) -> dict[str, set[str]]:
    """Each file given with --config to what it names a class for: "data", "model", both, or for settings alone none."""
    return {path: _kinds_named(path) for path in split_configs(argv)[0]}


def settings_in_configs(argv: Sequence[str], section: str) -> set[str]:
    """The settings of a section, such as "natural_logic", that the files given with --config name."""
    configs = [read_yaml(path, f"--config {path}") for path in split_configs(argv)[0]]
    sections = [config.get(section) for config in configs if isinstance(config, dict)]
    return {name for settings in sections if isinstance(settings, dict) for name in settings}


def with_packages(argv: Sequence[str]) -> list[str]:
    """Take each ``--allow_package NAME`` from the command line, the only place where a package may be allowed.

    Raises:
        HeedfulError: One has no name.
    """
    names, rest = take_all(argv, "--allow_package")
    allowed_packages.update(names)
    return rest


def continued(argv: Sequence[str]) -> list[str]:
    """Take everything from the run that ``--resume`` names, and its newest whole checkpoint; other flags override.

    ``--ckpt_path last`` does the same for the run in ``--output``, which need not have begun.

    Raises:
        HeedfulError: There is no such run, or no checkpoint of it is whole.
    """
    resume, rest = take(argv, "--resume")
    ckpt_path, without = take(rest, "--ckpt_path")
    output, without = take(without, "--output")
    if resume is None and ckpt_path != "last":
        return list(argv)
    start = start_of(resume, ckpt_path, output)
    if start.run is None:
        return [*without, "--output", str(start.output)]
    going_on = ["--config", str(start.run / CONFIG), *without, "--resume", str(start.run)]
    return [*going_on, *(["--ckpt_path", start.ckpt_path] if start.ckpt_path else [])]


def require_one_seed(args: Sequence[str], config: Namespace) -> None:
    """Refuse a seed of the data that is not the run's, which the data follow.

    Args:
        args: The command line, expanded.
        config: What the parser made of it.

    Raises:
        HeedfulError: A flag or a file names another seed.
    """
    pairs = [*zip(args, [*args[1:], ""], strict=True)]
    given = [(flag, value) for a, after in pairs for flag, _, value in [a.partition("=")] for value in [value or after]]
    for flag, value in given:
        seed = value if re.fullmatch(r"--data\.(init_args\.)?seed", flag) else None
        run = config.seed_everything
        if flag in ("--config", "--data") and value.endswith((".yaml", ".yml", ".json")):
            seed, run = _seeds_of(read_yaml(value, f"{flag} {value}"), flag == "--config", run)
        elif flag == "--data" and value.startswith("{"):
            seed, run = _seeds_of(parse_yaml(value, "--data"), False, run)
        if seed is not None and str(seed) != str(int(run or 0)):
            shown = value if len(value) < 80 else "..."
            raise SettingError(
                f"{flag} {shown} gives the data the seed {seed}, and they have that of the run. Name it with "
                f"--seed_everything {seed}."
            )


def _seeds_of(content: Any, whole: bool, run: Any) -> tuple[Any, Any]:
    """The seed of the data in a file, and that of the run, in the same file if it names one."""
    content = content if isinstance(content, Mapping) else {}
    data = content.get("data") if whole else content
    settings = data.get("init_args") if isinstance(data, Mapping) else None
    seed = settings.get("seed") if isinstance(settings, Mapping) else None
    return seed, content.get("seed_everything", run) if whole else run
