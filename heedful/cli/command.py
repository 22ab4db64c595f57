"""The command ``heedful``, which runs its subcommands; showing help does not import torch."""

from functools import partial
from importlib import import_module

from heedful.cli.help import HELP
from heedful.records import SettingError
from heedful.records.command_lines import command_name, run_command
from heedful.records.errors import nearest

# The main function of each module parses the words; it may return a function that imports torch and Lightning.
COMMANDS = {
    "train": ("heedful.cli.training", "train a classifier, and measure whether it uses every part"),
    "evaluate": ("heedful.cli.evaluation", "measure a trained model on all examples"),
    "measure": ("heedful.cli.measure", "measure a Python function, or any model, on rows"),
    "list": ("heedful.cli.list_names", "names that --data, --model and --evaluations take"),
    "compare": ("heedful.cli.compare", "print the numbers of one run, or compare runs"),
    "matrix": ("heedful.reports.matrix", "tabulate models by data sets, as papers do"),
    "page": ("heedful.reports.page.command", "write one HTML page about runs, to share"),
    "card": ("heedful.reports.card", "export a model for the hub, with a card of its numbers"),
    "rank": ("heedful.reports.ranking", "predict by attributions which model generalises best"),
    "suite": ("heedful.cli.suite", "run a recipe: train, evaluate and rank many models"),
    "rescore": ("heedful.reports.rescore", "compute results.json again from the rows of a run"),
    "sheet": ("heedful.reports.sheet", "write sheets on which people label swapped examples"),
    "figure": ("heedful.cli.figure", "draw a figure of runs"),
}
IN_PYTHON = {"inputs": "write_inputs", "write_inputs": "write_inputs", "score": "score"}  # functions without a command


def main(argv: list[str]) -> None:
    """Run a subcommand of ``heedful``.

    Args:
        argv: Name and arguments of the subcommand.

    Raises:
        SettingError: The name is unknown.
    """
    name, *words = argv or ["--help"]
    if name in ("-h", "--help"):
        print(overview())
        return
    if name in IN_PYTHON:
        raise SettingError(f"There is no command {name!r}. Call heedful.{IN_PYTHON[name]} in Python.")
    if name not in COMMANDS:
        near = nearest(name, COMMANDS)
        raise SettingError(f"There is no command {name!r}. {f'Do you mean {near}?' if near else 'See heedful --help.'}")
    if name in HELP and {"-h", "--help"} & {*words}:
        if "all" not in words:
            program = command_name()
            print(HELP[name].format(program=program if program.startswith("heedful") else f"python {program}"))
            return
        import_module("heedful.cli.words").print_help(name, words)
        return
    if name in HELP:
        import_module("heedful.cli.known_settings").require_known_names(name, words)
    module = import_module(COMMANDS[name][0])
    run = partial(module.main, words) if name in HELP else module.main(words)
    if run is not None:
        import_module("heedful.cli.guard").guarded(run)


def overview() -> str:
    """Return the text of ``heedful --help``."""
    width = max(map(len, COMMANDS)) + 2
    commands = (f"  {name:<{width}}{summary}" for name, (_, summary) in COMMANDS.items())
    return "\n".join(["usage: heedful COMMAND ...", "", *commands, "", "Options of a command: heedful COMMAND --help"])


def run(*words: str) -> None:
    """Run the command line of the process; an error of the user ends it with one sentence and exit status 2.

    Args:
        *words: Words to insert before the arguments: "train" for train.py.
    """
    run_command(lambda argv: main([*words, *argv]))
