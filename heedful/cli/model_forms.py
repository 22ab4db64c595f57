"""A model that the command line names: by its hub id or its folder, or by a run (--checkpoint, --init_from)."""

import json
from collections.abc import Sequence

from heedful.assembly.saved_runs import initial_model, source_of
from heedful.cli.runs import classes_in_configs, settings_in_configs, take
from heedful.records import SettingError


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
    rooms_with_classes = _without_model(rest, "--checkpoint")
    source = source_of(given)
    words = ["--model", json.dumps(source.model)]
    in_files = settings_in_configs(rest, "natural_logic")
    words += [f"--natural_logic.{name}={value}" for name, value in source.natural_logic.items() if name not in in_files]
    if "data" not in rooms_with_classes and not any(a == "--data" or a.startswith("--data=") for a in argv):
        words += ["--data", json.dumps(source.data)]
    return [*words, *rest, "--checkpoint", str(source.checkpoint)]


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
        raise SettingError(f"--init_from and {clash[0]} both say where the model comes from. Leave {clash[0]} out.")
    _without_model(rest, "--init_from")
    return ["--model", json.dumps(initial_model(given)), *rest]


def _without_model(argv: Sequence[str], flag: str) -> set[str]:
    """What the files of --config name a class for: at most "data".

    Raises:
        HeedfulError: One names a model.
    """
    classes = classes_in_configs(argv)
    if clash := [path for path, kinds in classes.items() if "model" in kinds]:
        raise SettingError(
            f"{flag} and --config {clash[0]} both say where the model comes from. Leave the model out of that file."
        )
    return set().union(*classes.values())
