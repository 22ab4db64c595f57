"""A model for the hub, with its numbers: ``heedful card RUN [--push USER/NAME]``."""

import re
from collections.abc import Sequence
from pathlib import Path

from heedful.records import RunError, SettingError, printable
from heedful.records.command_lines import CommandParser
from heedful.reports.card.folder import write_card

CARD = "card"  # in the folder of a run


def main(arguments: Sequence[str]) -> None:
    """Write the folder of a card, and upload it where that was asked for."""
    options = _parser().parse_intermixed_args(arguments)
    if options.public and not options.push:
        raise SettingError("public is of an upload. Add push USER/NAME.")
    if options.push and not re.fullmatch(r"[\w.-]+/[\w.-]+", options.push, re.ASCII):
        raise SettingError(f"push {options.push} is not a name of the hub. Write it as USER/NAME.")
    to = Path(options.output or Path(options.run) / CARD)
    write_card(options.run, to, options.push, options.examples)
    print(printable(f"in {to}"))
    if options.push:
        print(printable(push(to, options.push, options.public)))


def push(folder: Path, name: str, public: bool = False) -> str:
    """Upload a folder to the hub, and return where it is there.

    Args:
        folder: The folder.
        name: USER/NAME.
        public: Whether everybody may see it, who is asked for a new one and compared of one that is there.

    Raises:
        HeedfulError: The hub cannot be reached, refuses it, or shows to everybody what nobody should see.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HTTPError

    api = HfApi()
    try:
        address = api.create_repo(name, private=not public, exist_ok=True)
        if not public and not api.model_info(name).private:
            raise RunError(f"{name} is there already, and everybody can see it. Take another name, or add public.")
        api.upload_folder(repo_id=name, folder_path=folder, commit_message="Model, card and results by Heedful")
    except (HTTPError, OSError, ValueError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise RunError(
            f"push {name}: the hub did not take it ({reason[:120].rstrip('.')}). See your token (hf auth login) and "
            "the network."
        ) from error
    return str(address)


def _parser() -> CommandParser:
    parser = CommandParser(
        "card",
        "A folder for the hub: the model that a run has trained, as transformers loads it, with a README of its "
        "numbers, their intervals and flags, results.json and report.html. Nothing in it names this machine.",
        [
            ("RUN", f"RUN/{CARD}"),
            ("RUN/evaluations/NAME/version_0 -o card", "the model of RUN, with the numbers of this evaluation"),
            ("RUN --push USER/NAME", "the same on the hub, where you alone see it"),
        ],
    )
    parser.add_argument("run", metavar="RUN", help="folder of a run that is finished, or of an evaluation of one")
    parser.add_argument("-o", "--output", metavar="FOLDER", help=f"where to write it; by default {CARD} in RUN")
    parser.add_argument("--push", metavar="USER/NAME", help="upload it to the hub under this name")
    parser.add_argument("--public", action="store_true", help="with --push: for everybody to see")
    parser.add_argument("--examples", action="store_true", help="with texts and pictures of the data")
    return parser
