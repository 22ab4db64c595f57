"""The command that draws: the figures of runs, each of which says itself what it takes."""

from importlib import import_module

from heedful.records import SettingError
from heedful.records.command_lines import CommandParser
from heedful.records.errors import guess

KINDS = {
    "partial": "heedful.reports.partial_figure",
    "transitions": "heedful.reports.figures.transitions",
    "causal_effects": "heedful.reports.figures.causal_effects",
    "attributions": "heedful.reports.html.attributions",
}


def main(argv: list[str]) -> None:
    """Draw the figure that the first word names.

    Raises:
        HeedfulError: There is no such figure.
    """
    if not argv or argv[0].startswith("-"):
        _parser().parse_args(argv)
    kind, *words = argv
    if kind not in KINDS:
        raise SettingError(f"There is no figure {kind!r}. {guess(kind, KINDS)}")
    import_module(KINDS[kind]).main(words)


def _parser() -> CommandParser:
    about = "Draw a figure of runs again: of their results and rows alone."
    examples = [
        ("partial RUN RUN RUN", "attentiveness against what one part alone can do (CAT, figure 2)"),
        ("transitions RUN", "how predictions move when tables are edited (InfoTabS, figure 3)"),
        ("causal_effects RUN RUN", "total and direct causal effects"),
        ("attributions RUN", "words coloured by what they add, as HTML and PNG"),
    ]
    parser = CommandParser("figure", f"{about} heedful figure KIND --help says the rest.", examples)
    parser.add_argument("kind", metavar="KIND", help=f"one of {', '.join(KINDS)}")
    return parser
