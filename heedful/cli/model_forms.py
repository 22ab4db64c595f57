"""A model that the command line names: by its hub id or its folder, or by a run (--checkpoint, --init_from)."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heedful.callbacks.checkpoints.files import best_of, require_whole
from heedful.callbacks.outputs.run_folder import is_finished
from heedful.cli.runs import classes_in_configs, config_of, settings_in_configs, take
from heedful.lightning_modules.pretrained.backbones import has_weights
from heedful.records import HeedfulError
from heedful.records.storage.results import RUN
from heedful.records.storage.run_files import require_exported, require_files
from heedful.records.storage.yaml_files import read_yaml


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
    checkpoint = Path(given)
    if checkpoint.is_dir():
        run = config_of(checkpoint, f"--checkpoint {given}").parent
        checkpoint = best_of(run, f"--checkpoint {given}", is_finished(run))
        argv = [*rest, "--checkpoint", str(checkpoint)]
    require_whole(checkpoint, f"--checkpoint {given}")
    run = checkpoint.absolute().parent.parent
    saved = _saved(config_of(run, f"--checkpoint {given}"), run / "checkpoints" / "backbone")
    require_files(run, [checkpoint.absolute().relative_to(run).as_posix()])
    found = ["--model", json.dumps(saved["model"])]
    settings = saved.get("natural_logic") or {}
    in_files = settings_in_configs(rest, "natural_logic")
    for name, value in settings.items():  # what was measured in training is measured again
        if value is not None and name not in in_files:
            found.append(f"--natural_logic.{name}={value}")
    if "data" not in named and not any(a == "--data" or a.startswith("--data=") for a in argv):
        saved["data"]["init_args"].pop("seed", None)
        found += ["--data", json.dumps(saved["data"])]
    return [*found, *argv]


def _saved(config: Path, backbone: Path) -> dict[str, Any]:
    """The configuration of a run, with the model that it exported, which knows the names of its labels.

    Raises:
        HeedfulError: It is damaged.
    """
    try:
        saved = read_yaml(str(config), str(config))
        settings = saved["model"]["init_args"]
        settings |= {"backbone": str(backbone)} | dict.fromkeys({"labels"} & settings.keys())
        data = saved["data"]["init_args"]
        data["max_validation"] = None  # an evaluation takes all examples
        if isinstance(data.get("answers"), int):  # that many of the training split, which need not be at hand
            data["answers"] = str(backbone / "config.json")
    except (HeedfulError, KeyError, TypeError):
        raise HeedfulError("changed-run-file", f"{config} is not as train.py writes it.") from None
    return saved


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
    run = Path(given)
    if not run.is_dir():
        raise HeedfulError("not-a-run", f"--init_from {given} is not a folder.")
    config = config_of(run, f"--init_from {given}")
    backbone = run / "checkpoints" / "backbone"
    if (run / RUN).is_file():
        require_exported(backbone)
    if not (backbone.is_dir() and has_weights(str(backbone))):
        raise HeedfulError(
            "missing-run-file",
            f"--init_from {given} has no weights in checkpoints/backbone.",
            f"Finish that run with --resume {given}.",
        )
    return ["--model", json.dumps(_saved(config, backbone)["model"]), *rest]


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
