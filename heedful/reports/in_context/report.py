"""Models asked in context: ``heedful matrix --prompts RUN [RUN ...]`` (CAT, tables 6, 7, 9 and 11).

RUN is a folder that evaluate.py wrote for one prompt, or a folder that holds several. Prompts that differ only in the
seed of their demonstrations are averaged: accuracy as written and by likelihood, attentiveness with its standard
deviation over draws and over seeds, and intervals that cross examples and seeds.
"""

from collections.abc import Sequence

from heedful.reports.in_context.folders import folders_of, read
from heedful.reports.in_context.groups import groups_of
from heedful.reports.in_context.summary import print_report, short, whole
from heedful.reports.in_context.tables import Form
from heedful.reports.tables import table_text


def print_prompts(runs: Sequence[str], with_all: bool, is_short: bool, text_format: str | None) -> None:
    """Print the report of the prompts in these folders.

    Args:
        runs: Folders of an evaluation, or of several.
        with_all: Whether the attentiveness of models at chance is shown, too, with a mark.
        is_short: The tables of each model alone.
        text_format: One of :data:`FORMATS`: the tables in this format, and nothing else.
    """
    below = folders_of(runs)
    groups = groups_of(read(below.folders))
    form = Form(with_all, names=bool(text_format))
    if not text_format:
        print_report(groups, below, form, is_short)
        return
    tables = short(groups, form) if is_short else whole(groups, form)
    texts = [table_text([cells.heading, *cells.header[1:]], cells.rows, text_format) for cells in tables]
    print("\n".join(texts), end="")
