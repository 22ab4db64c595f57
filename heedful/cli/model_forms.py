"""A model that the command line names: by its hub id or its folder, or by a run (--checkpoint, --init_from)."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import PretrainedConfig

from heedful.assembly.saved_runs import initial_model, source_of
from heedful.cli.runs import classes_in_configs, settings_in_configs, take
from heedful.lightning_modules.families import family_of, import_path
from heedful.lightning_modules.pretrained.backbones import is_hub_id, quiet
from heedful.records import HeedfulError
from heedful.records.storage.folder_names import folder_name
from heedful.records.storage.named_configs import backbones
from heedful.reports.runs import short_name


def backbone_form(name: str) -> list[str] | None:
    """The arguments that ``--model NAME`` stands for, where it is a hub id or the folder of a model; None of others.

    Args:
        name: What follows ``--model``; a named model with this backbone brings its settings.

    Raises:
        HeedfulError: It is a folder of something else, or a path where there is none.
    """
    path = Path(name)
    if path.is_dir() and not (path / "config.json").is_file():
        if (path / "config.yaml").is_file():
            do = "Use --init_from of train.py, or --checkpoint of evaluate.py."
            raise HeedfulError("missing-weights", f"--model {name} is a run.", do)
        raise HeedfulError("missing-weights", f"--model {name} has no config.json.")
    if not path.is_dir():
        if "/" not in name or path.suffix in (".yaml", ".yml", ".json"):
            return None
        if not is_hub_id(name):
            raise HeedfulError(
                "missing-file", f"--model {name} is not a folder that exists, and cannot be a model of the hub."
            )
    for known, (backbone, _) in backbones().items():
        if backbone == name:
            return ["--model", known]
    return ["--model", import_path(family_of(_config(name))), "--model.backbone", name]


def model_folder(backbone: str, class_path: str) -> str:
    """What the folder of a model's results is called: its short name, that of the run that it is from, or its id."""
    if name := short_name(backbone, class_path):
        return name
    run = Path(backbone).resolve()
    if run.parts[-2:] == ("checkpoints", "backbone"):  # exported by a run: named as that run
        of_run = run.parents[1].name
        return run.parents[3].name if re.fullmatch(r"version_\d+", of_run) else of_run
    return (folder_name(backbone) or class_path.rpartition(".")[2]).lower()


def _config(name: str) -> dict[str, Any]:
    try:
        with quiet():
            return PretrainedConfig.get_config_dict(name)[0]
    except Exception:  # which is said when the model is loaded
        return {}


def with_run(argv: Sequence[str]) -> list[str]:
    """Take the model, and the data if they are not named, from the run that ``--checkpoint`` names, or lies in.

    Of a run, ``best.ckpt`` is taken, or ``last.ckpt`` if it kept no best.

    Raises:
        HeedfulError: The checkpoint does not exist, is damaged or lies in no run folder; or a file says where the model
            comes from.
    """
    given, rest = take(argv, "--checkpoint")
    if given is None:
        return list(argv)
    named = _without_model(rest, "--checkpoint")
    source = source_of(given)
    found = ["--model", json.dumps(source.model)]
    in_files = settings_in_configs(rest, "natural_logic")
    found += [f"--natural_logic.{name}={value}" for name, value in source.natural_logic.items() if name not in in_files]
    if "data" not in named and not any(a == "--data" or a.startswith("--data=") for a in argv):
        found += ["--data", json.dumps(source.data)]
    return [*found, *rest, "--checkpoint", str(source.checkpoint)]


def initialised(argv: Sequence[str]) -> list[str]:
    """Take the model, its settings and its weights from the run that ``--init_from`` names; other flags override.

    The weights are those that the run exported when it was done, of its best checkpoint. Everything else, the data and
    the trainer among them, is as if the flag were not there.

    Raises:
        HeedfulError: There is no such run, it is not done, or another flag says where the model comes from.
    """
    given, rest = take(argv, "--init_from")
    if given is None:
        return list(argv)
    sources = ["--model", "--model.backbone", "--model.init_args.backbone", "--resume"]
    if take(rest, "--ckpt_path")[0] != "last":  # which only repeats the command, and is nothing at the first start
        sources.append("--ckpt_path")
    if clash := [flag for flag in sources if flag in {a.partition("=")[0] for a in rest}]:
        raise HeedfulError(
            "clashing-settings",
            f"--init_from and {clash[0]} both say where the model comes from.",
            f"Leave {clash[0]} out.",
        )
    _without_model(rest, "--init_from")
    return ["--model", json.dumps(initial_model(given)), *rest]


def _without_model(argv: Sequence[str], flag: str) -> set[str]:
    """What the files of --config name a class for: at most "data".

    Raises:
        HeedfulError: One names a model.
    """
    classes = classes_in_configs(argv)
    if clash := [path for path, kinds in classes.items() if "model" in kinds]:
        raise HeedfulError(
            "clashing-settings",
            f"{flag} and --config {clash[0]} both say where the model comes from.",
            "Leave the model out of that file.",
        )
    return set().union(*classes.values())
