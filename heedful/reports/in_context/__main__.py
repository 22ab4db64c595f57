"""Models asked in context: ``python -m heedful.reports.in_context RUN [RUN ...]`` (CAT, tables 6, 7, 9 and 11).

RUN is a folder that evaluate.py wrote for one prompt, or a folder that holds several. Prompts that differ only in the
seed of their demonstrations are averaged: accuracy as written and by likelihood, attentiveness with its standard
deviation over draws and over seeds, and intervals that cross examples and seeds.
"""

from argparse import ArgumentParser

from heedful.records import HeedfulError
from heedful.reports.in_context.folders import folders_of, read
from heedful.reports.in_context.groups import groups_of
from heedful.reports.in_context.summary import print_report, short, whole
from heedful.reports.in_context.tables import Form
from heedful.reports.tables import FORMATS, table_text


def main(arguments: list[str]) -> None:
    """Print the report of the prompts in these folders."""
    parser = ArgumentParser("python -m heedful.reports.in_context", description=__doc__.partition("\n\n")[2])
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folder of an evaluation, or one that holds several")
    parser.add_argument("--all", action="store_true", help="attentiveness of models at chance, too, with a mark")
    parser.add_argument("--short", action="store_true", help="the tables of each model alone")
    parser.add_argument("--format", choices=list(FORMATS), help="print the tables in this format, and nothing else")
    options = parser.parse_intermixed_args(arguments)
    if not options.runs:
        remedy = "Name the folders of one evaluation in context or more."
        raise HeedfulError("too-few-runs", "No evaluation is named.", remedy)
    below = folders_of(options.runs)
    groups = groups_of(read(below.folders))
    form = Form(options.all, names=bool(options.format))
    if not options.format:
        print_report(groups, below, form, options.short)
        return
    tables = short(groups, form) if options.short else whole(groups, form)
    texts = [table_text([cells.heading, *cells.header[1:]], cells.rows, options.format) for cells in tables]
    print("\n".join(texts), end="")
