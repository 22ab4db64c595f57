"""The command that draws: the figures of runs, each of which says itself what it takes."""

from importlib import import_module

from heedful.records import SettingError
from heedful.records.command_lines import CommandParser
from heedful.records.errors import guess

KINDS = {  # module, example and what it draws
    "partial": ("heedful.reports.partial_figure", "RUN RUN RUN", "attentiveness and one part alone (CAT, figure 2)"),
    "transitions": ("heedful.reports.figures.transitions", "RUN", "predictions of edited tables (InfoTabS, figure 3)"),
    "causal_effects": ("heedful.reports.figures.causal_effects", "RUN RUN", "total and direct causal effects"),
}


def main(argv: list[str]) -> None:
    """Draw the figure that the first word names.

    Raises:
        HeedfulError: There is no such figure.
    """
    if not argv or argv[0].startswith("-"):
        examples = [(f"{kind} {runs}", drawn) for kind, (_, runs, drawn) in KINDS.items()]
        about = "Draw a figure of runs again. heedful figure KIND --help says the rest."
        parser = CommandParser("figure", about, examples)
        parser.add_argument("kind", metavar="KIND", help=f"one of {', '.join(KINDS)}")
        parser.parse_args(argv)
    kind, *words = argv
    if kind not in KINDS:
        raise SettingError(f"There is no figure {kind!r}. {guess(kind, KINDS)}")
    import_module(KINDS[kind][0]).main(words)
