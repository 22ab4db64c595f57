"""Run folders: where a command writes, and how it takes up what a run left behind."""

import json
import os
import re
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace
from pytorch_lightning.utilities import rank_zero_info, rank_zero_only

from heedful.callbacks.checkpoints.files import LAST, newest, progress, remove_states, require_whole
from heedful.callbacks.outputs.run_folder import is_finished
from heedful.lightning_modules.pretrained.backbones import allowed_packages
from heedful.records import HeedfulError
from heedful.records.storage.files import WRITING, remove_abandoned
from heedful.records.storage.results import read_results
from heedful.records.storage.run_files import require_config
from heedful.records.storage.yaml_files import read_yaml
from heedful.reports.runs import HOW
from heedful.reports.terminal.table import print_table

TEMPORARY = re.compile(  # what a process was writing when it ended; earlier versions had no last word
    rf"\..+\.(ckpt|json|md|parquet|png|yaml)\.\w{{8}}({re.escape(WRITING)})?"
)

FOLLOWED = re.compile(  # settings that take effect when a run goes on; other examples are refused by their fingerprints
    r"(attentiveness|natural_logic|data)\..*|data|checkpoint\.last_every_n_steps|model\.init_args\.cache|"
    r"trainer\.(accelerator|strategy|devices|num_nodes|precision|plugins|deterministic|benchmark|detect_anomaly|profiler|"
    r"logger|log_every_n_steps|enable_\w+|(min|max)_(epochs|steps)|max_time|limit_val_batches|val_check_interval|"
    r"check_val_every_n_epoch|accumulate_grad_batches|gradient_clip_\w+)(\..*)?"
)
LONGEST = 40  # characters of a value that a message shows
NO_NUMBER = re.compile(  # settings that change no number: of the command, where it runs, what it prints
    r"config|checkpoint|output|dry_run|resume|ckpt_path|init_from|allow_changed_data|data\.init_args\.(num_workers|seed)"
    rf"|model\.init_args\.({'|'.join(sorted(HOW))})"
    r"|trainer\.(accelerator|devices|num_nodes|strategy|logger|enable_\w+|log_every_n_steps|profiler|default_root_dir)"
    r"(\..+)?"
)


def is_first() -> bool:
    """Whether this is the process that makes folders, before Lightning has connected the processes."""
    return rank_zero_only.rank == 0 and int(os.environ.get("NODE_RANK", os.environ.get("GROUP_RANK", 0))) == 0


def drawn_seed() -> int:
    """A seed for ``--seed_everything true``. Processes that Lightning starts find it in their environment.

    Raises:
        HeedfulError: Something else started this process beside others, which would each draw a seed of their own.
    """
    if "LOCAL_RANK" not in os.environ and int(os.environ.get("SLURM_NTASKS", 1)) == 1:
        return secrets.randbelow(2**32)
    if "PL_GLOBAL_SEED" not in os.environ:
        wrong = "--seed_everything true would have each process draw a seed of its own."
        raise HeedfulError("bad-setting", wrong, "Name a seed, as --seed_everything 1.")
    return int(os.environ["PL_GLOBAL_SEED"])


def take(argv: Sequence[str], flag: str) -> tuple[str | None, list[str]]:
    """The last value of a flag, or None, and the other arguments.

    Example:
        >>> take(["--resume", "a", "--x=1", "--resume=b"], "--resume")
        ('b', ['--x=1'])
    """
    found, rest = take_all(argv, flag)
    return (found[-1] if found else None), rest


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
            raise HeedfulError("missing-setting", f"{flag} has no value.", "Write one behind it.")
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
            raise HeedfulError("missing-file", f"--config {path} does not exist.")
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


def config_of(run: Path, named: str) -> Path:
    """The configuration in a run folder; ``named`` begins the message.

    Raises:
        HeedfulError: There is none, or it was changed.
    """
    if not (run / "config.yaml").is_file():
        raise HeedfulError("not-a-run", f"{named} is not a run or a checkpoint of one: it has no config.yaml.")
    require_config(run)
    return run / "config.yaml"


def continued(argv: Sequence[str]) -> list[str]:
    """Take everything from the run that ``--resume`` names, and its newest whole checkpoint; other flags override.

    ``--ckpt_path last`` does the same for the run in ``--output``, which need not have begun.

    Raises:
        HeedfulError: There is no such run, or no checkpoint of it is whole.
    """
    run, rest = take(argv, "--resume")
    checkpoint, without = take(rest, "--ckpt_path")
    output, without = take(without, "--output")
    if run is not None and (checkpoint or output):
        given = [flag for flag, value in {"--ckpt_path": checkpoint, "--output": output}.items() if value]
        flags = " and ".join(given)
        raise HeedfulError("clashing-settings", f"--resume says already what {flags} says.", f"Leave {flags} out.")
    if run is None and checkpoint != "last":
        return list(argv)
    if run is None and output is None:
        wrong = "--ckpt_path last goes on with the run in --output, and that is missing."
        raise HeedfulError("missing-setting", wrong, "Add --output RUN.")
    if run is None and not (Path(output) / "config.yaml").is_file():
        return [*without, "--output", output]
    return _from_run(Path(run or output), f"--resume {run}" if run else f"--output {output}", without)


def _from_run(given: Path, named: str, rest: list[str]) -> list[str]:
    """The arguments that go on with a run, given as its folder or as one of its checkpoints."""
    if not given.exists():
        raise HeedfulError("missing-file", f"{named} does not exist.")
    folder = given.absolute().parent.parent if given.is_file() else given
    first = ["--config", str(config_of(folder, named)), *rest, "--resume", str(folder)]
    if is_finished(folder) and not given.is_file():
        return first  # and its results are shown
    if given.is_file():
        require_whole(given, named)
        checkpoint, damaged = given, False
    else:
        checkpoint, damaged = newest(folder / "checkpoints")
    if checkpoint is None:
        rank_zero_info(f"{folder}: no checkpoint was saved yet, so the run starts from the beginning.")
        return first
    epoch, step = progress(checkpoint)
    aside = f", since {LAST} is damaged" if damaged else ""
    rank_zero_info(f"{folder}: going on from {checkpoint.name} (epoch {epoch}, step {step:,}){aside}.")
    return [*first, "--ckpt_path", str(checkpoint)]


def differences(before: Namespace, now: Namespace, parser: ArgumentParser) -> dict[str, tuple[Any, Any]]:
    """The settings that differ and may change a number: dotted name to both values, as JSON has them."""
    dumps = (parser.dump(config, format="json", skip_unset=False, skip_validation=True) for config in (before, now))
    began, ended = (_flat(json.loads(dump)) for dump in dumps)
    names = sorted(name for name in began.keys() | ended.keys() if not NO_NUMBER.fullmatch(name))
    return {name: (began.get(name), ended.get(name)) for name in names if began.get(name) != ended.get(name)}


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value:
        return {prefix.removesuffix("."): value}
    return {name: v for key, inner in value.items() for name, v in _flat(inner, f"{prefix}{key}.").items()}


def changed_settings(config: Namespace, run: Path, parser: ArgumentParser) -> dict[str, tuple[Any, Any]]:
    """The settings of a command that are not those of a run: see :func:`differences` and :func:`saved_settings`."""
    return differences(saved_settings(run, parser), config, parser)


def saved_settings(run: Path, parser: ArgumentParser) -> Namespace:
    """The configuration of a run.

    Raises:
        HeedfulError: It cannot be read, or was changed.
    """
    require_config(run)
    config = run / "config.yaml"
    try:
        return parser.parse_args(["--config", str(config)])
    except HeedfulError as error:
        wrong = f"{config} is damaged, or of another version of Heedful: {error.wrong}"
        raise HeedfulError("changed-run-file", wrong) from None


def require_same_settings(config: Namespace, parser: ArgumentParser) -> None:
    """Refuse settings that a run that goes on would record and not follow, since its checkpoint wins over them.

    Args:
        config: The configuration of the command, which may name a checkpoint to go on from.
        parser: Reads the configuration of the run.

    Raises:
        HeedfulError: A setting is not the one that the run began with; the message names it.
    """
    if not config.ckpt_path:
        return
    run = Path(config.resume or Path(config.ckpt_path).absolute().parent.parent)
    if not (run / "config.yaml").is_file():
        return
    for name, (began, now) in changed_settings(config, run, parser).items():
        if not FOLLOWED.fullmatch(name):
            raise HeedfulError(
                "resumed-setting",
                f"--{flag_of(name)} {brief(now)}: {run} began with {brief(began)}, and its checkpoint goes on so.",
            )


def brief(value: Any) -> str:
    """A value as a message shows it: a text or path whole, of a long list the beginning."""
    text = str(value)
    return text if isinstance(value, str) or len(text) <= LONGEST else f"{text[:LONGEST]}..."


def flag_of(name: str) -> str:
    """A setting as it is written on the command line."""
    return name.replace("init_args.", "")


def show_if_finished(config: Namespace, parser: ArgumentParser) -> bool:
    """Whether the run that a command is to go on with is finished; then print its results again.

    Args:
        config: The configuration of the command.
        parser: Reads the configuration of the run.

    Raises:
        HeedfulError: The run is finished, and the command has other settings.
    """
    run = Path(config.resume or "")
    if not config.resume or not is_finished(run):
        return False
    for name, (began, now) in changed_settings(config, run, parser).items():
        raise HeedfulError(
            "finished-run",
            f"--{flag_of(name)} {brief(now)}: {run} is finished, with {brief(began)}.",
            f"Begin a new run from its weights with --init_from {run}.",
        )
    if is_first():
        remove_states(run / "checkpoints")  # which a process that was killed may have left
        print(f"{run} is finished, and stays as it is.")
        print_table({str(run): read_results(run)})
    return True


def tidy(run: Path) -> None:
    """Before a folder is used again: remove what a killed process was writing, and set a damaged ``last.ckpt`` aside.

    Otherwise the damaged file would become ``previous.ckpt`` when the next one is written.
    """
    for folder in (run, run / "rows", run / "figures", run / "checkpoints"):
        remove_abandoned(folder)
    for path in (run / "checkpoints").glob(".backbone.*"):  # whose owner has the lock of the run
        if re.fullmatch(r"\.backbone\.\w{8}", path.name):
            shutil.rmtree(path)
    if newest(run / "checkpoints")[1]:
        (run / "checkpoints" / LAST).replace(run / "checkpoints" / "damaged.ckpt")
