"""``heedful``: one command, with a subcommand for each thing that people do. Its own help imports no torch."""

from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path

from heedful.cli.help import HELP
from heedful.records import SettingError
from heedful.records.command_lines import called, run_command
from heedful.records.errors import nearest
from heedful.records.storage.named_configs import FOLDER_OF, config_path

# A module whose main takes the words after the name; where it returns a function, that one imports torch and Lightning.
COMMANDS = {
    "train": ("heedful.cli.training", "train a classifier, and watch whether it heeds every part"),
    "evaluate": ("heedful.cli.evaluation", "measure a trained model on everything that Heedful knows"),
    "measure": ("heedful.cli.measure", "measure a function of yours, or any model, on rows"),
    "inputs": ("heedful.cli.inputs", "write all inputs to a file, for a model that runs elsewhere"),
    "score": ("heedful.cli.score", "make results of a file of answers to these inputs"),
    "compare": ("heedful.cli.compare", "numbers of one run, or of several side by side"),
    "matrix": ("heedful.reports.matrix", "models by data sets, as tables of a paper"),
    "page": ("heedful.reports.page.command", "one page of HTML about runs, to send to a colleague"),
    "card": ("heedful.reports.card", "a model for the hub, with a card of its numbers"),
    "rank": ("heedful.reports.ranking", "which models will hold on other data, by attributions"),
    "suite": ("heedful.cli.suite", "train, measure and rank many models; finished steps stay"),
    "rescore": ("heedful.reports.rescore", "make results.json anew from the rows beside it"),
    "sheet": ("heedful.reports.sheet", "does a swap make the label wrong? sheets for people"),
    "figure": ("heedful.cli.figure", "draw a figure of runs again"),
}


def main(argv: list[str]) -> None:
    """Run the subcommand that the first word names.

    Raises:
        SettingError: There is none of this name.
    """
    name, *words = argv or ["--help"]
    if name in ("-h", "--help"):
        print(overview())
        return
    if name not in COMMANDS:
        near = nearest(name, COMMANDS)
        raise SettingError(f"There is no command {name!r}. {f'Do you mean {near}?' if near else 'See heedful --help.'}")
    if name in HELP and {"-h", "--help"} & {*words}:
        if "all" not in words:
            print(HELP[name].format(program=called() if called().startswith("heedful") else f"python {called()}"))
            return
        import_module("heedful.cli.words").print_help(name, words)
        return
    if name in HELP:
        _require_names(words)
    module = import_module(COMMANDS[name][0])
    run = partial(module.main, words) if name in HELP else module.main(words)
    if run is not None:
        import_module("heedful.cli.guard").guarded(run)


def _require_names(words: list[str]) -> None:
    """Refuse an unknown short name before torch is imported, which takes seconds."""
    for word, value in pairwise(words):
        kind = word.removeprefix("--")
        is_model = kind == "model" and ("/" in value or Path(value).is_dir())
        if word.startswith("--") and kind in FOLDER_OF and not is_model and not value.startswith("--"):
            config_path(kind, value)


def overview() -> str:
    """The text of ``heedful --help``."""
    width = max(map(len, COMMANDS)) + 2
    commands = (f"  {name:<{width}}{summary}" for name, (_, summary) in COMMANDS.items())
    return "\n".join(["usage: heedful COMMAND ...", "", *commands, "", "heedful COMMAND --help says the rest."])


def run(*words: str) -> None:
    """The entry point; a mistake of the user becomes one sentence and exit status 2.

    Args:
        *words: Those before the ones that the user typed: "train" of train.py.
    """
    run_command(lambda argv: main([*words, *argv]))
