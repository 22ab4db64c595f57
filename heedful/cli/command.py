"""``heedful``: one command, with a subcommand for each thing that people do. Its own help imports no torch."""

from functools import partial
from importlib import import_module
from typing import NamedTuple

from heedful.cli import pages
from heedful.cli.first_look import look
from heedful.cli.pages import PAGES
from heedful.records import SettingError
from heedful.records.command_lines import called, run_command
from heedful.records.errors import nearest


class Command(NamedTuple):
    """A subcommand.

    Attributes:
        module: Its ``main`` takes the words behind the name. What it returns, if anything, is run as a model is: torch
            and Lightning are imported, whose errors have to be told in a sentence as well.
        told: What it does, in one line.
        is_heavy: Whether the module itself imports these.
    """

    module: str
    told: str
    is_heavy: bool = False


COMMANDS = {
    "train": Command("heedful.cli.training", "train a classifier, and watch whether it heeds every part", True),
    "evaluate": Command("heedful.cli.evaluation", "measure a trained model on everything that Heedful knows", True),
    "measure": Command("heedful.cli.measure", "measure a function of yours, or any model, on rows"),
    "inputs": Command("heedful.cli.inputs", "write all inputs to a file, for a model that runs elsewhere"),
    "score": Command("heedful.cli.score", "make results of a file of answers to these inputs"),
    "plan": Command("heedful.cli.plan", "how many examples a study needs, and what it costs"),
    "compare": Command("heedful.cli.compare", "numbers of one run, or of several side by side"),
    "matrix": Command("heedful.reports.matrix", "models by data sets, as tables of a paper"),
    "page": Command("heedful.reports.page.command", "one page of HTML about runs, to send to a colleague"),
    "card": Command("heedful.reports.card.command", "a model for the hub, with a card of its numbers"),
    "rank": Command("heedful.reports.ranking", "which models will hold on other data, by attributions"),
    "suite": Command("heedful.cli.suite.command", "train, measure and rank many models; what is done stays"),
    "rescore": Command("heedful.reports.rescore", "make results.json anew from the rows beside it"),
    "sheet": Command("heedful.reports.sheet", "does a swap make the label wrong? sheets for people"),
    "figure": Command("heedful.cli.figure", "draw a figure of runs again"),
    "info": Command("heedful.cli.info", "versions, machine and settings, for a report of a fault"),
}


def main(argv: list[str]) -> None:
    """Run the subcommand that the first word names.

    Raises:
        HeedfulError: There is none of this name.
    """
    name, *words = argv or ["--help"]
    if name in ("-h", "--help"):
        print(page())
        return
    if name not in COMMANDS:
        near = nearest(name, COMMANDS)
        do = f"Do you mean {near}?" if near else "See heedful --help."
        raise SettingError(f"There is no command {name!r}. {do}")
    command = COMMANDS[name]
    if name in PAGES:
        if "-h" in words or "--help" in words:
            if "all" not in words:
                print(pages.page(name, called() if called().startswith("heedful") else f"python {called()}"))
                return
            words.remove("all")
        else:
            look(words)
    module = import_module(command.module)
    left = partial(module.main, words) if command.is_heavy else module.main(words)
    if left is not None:
        import_module("heedful.cli.messages").guarded(left)


def page() -> str:
    """The text of ``heedful --help``."""
    width = max(map(len, COMMANDS)) + 2
    commands = (f"  {name:<{width}}{command.told}" for name, command in COMMANDS.items())
    return "\n".join(["usage: heedful COMMAND ...", "", *commands, "", "heedful COMMAND --help says the rest."])


def run(*words: str) -> None:
    """The entry point; a user's mistake becomes one sentence and exit status 2.

    Args:
        *words: Those before the ones that the user typed: "train" of train.py.
    """
    run_command(lambda argv: main([*words, *argv]))
