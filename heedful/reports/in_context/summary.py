"""The report of models in context, as it is printed: tables, and what a reader must know of them."""

from collections.abc import Iterator, Sequence

from rich.console import Console

from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import HeedfulError, listing, printable
from heedful.records.storage.results import read_results, rows_file
from heedful.reports.in_context import tables
from heedful.reports.in_context.folders import ATTENTIVENESS, Below, read
from heedful.reports.in_context.groups import NO_SWAPS, WITH_INVALID, Group, groups_of, headline
from heedful.reports.in_context.tables import Form
from heedful.reports.tables import Cells, print_cells
from heedful.reports.terminal.table import FLAGS, print_table

SEEN = ("accuracy", "answers", ATTENTIVENESS)


def short(groups: Sequence[Group], form: Form) -> Iterator[Cells]:
    """The tables of each model on each data set: its answers, its attentiveness, and the spread over wordings."""
    for alike in tables.by_model(groups):
        yield tables.answers(alike, form)
        for part in _parts(alike):
            yield tables.attentiveness(alike, part, form)
        if (over_wordings := tables.wordings(alike, form)) is not None:
            yield over_wordings


def whole(groups: Sequence[Group], form: Form) -> Iterator[Cells]:
    """The short tables, those of augmentation, and the tables of models by data sets."""
    yield from short(groups, form)
    for alike in tables.by_model(groups):
        for part in _parts(alike):
            if all(part not in group.written or ATTENTIVENESS in group.written[part] for group in alike):
                yield from tables.augmentation(alike, part, form)
    yield from tables.across(groups, form)


def _parts(groups: Sequence[Group]) -> list[str]:
    return list(dict.fromkeys(part for group in groups for part in group.written))


def notes(groups: Sequence[Group], shown: Sequence[Cells], form: Form) -> Iterator[str]:
    """What a reader must know of these tables, a sentence or two each."""
    if any(group.writes and (group.scored or "scored" in group.answers) for group in groups):
        yield (
            "written: the label that the model writes; scored: the label with the highest likelihood; agree: they are "
            "the same."
        )
    if silent := listing(list(dict.fromkeys(group.key.model for group in groups if not group.writes))):
        yield f"{silent}: nothing is written; the answer is the label with the highest likelihood."
    if any(group.written for group in groups):
        yield "n: examples that count, the mean over seeds."
    if any(WITH_INVALID in numbers for group in groups for numbers in group.written.values()):
        yield "+invalid: with examples whose answer is not a label, which do not count elsewhere."
    if kinds := {group.key.kind for group in groups} & tables.CONTROLS.keys():
        texts = (f"{tables.KINDS[kind]}: {text}" for kind, text in tables.CONTROLS.items() if kind in kinds)
        yield f"{'; '.join(texts)}."
    if others := listing(sorted({group.key.kind for group in groups} - tables.KINDS.keys())):
        yield f"{others}: drawn otherwise than now, and so a kind of its own; evaluate again to compare with others."
    if any(len(group.seeds) > 1 for group in groups):
        yield "[95 %] crosses examples and seeds of demonstrations, so that three seeds give wide intervals."
    if lone := [tables.label(group, groups) for group in groups if len(group.seeds) == 1 and group.key.tuples]:
        labels = listing(list(dict.fromkeys(lone)))
        yield f"One seed alone: {labels}. [95 %] says nothing of other demonstrations there."
    yield from _undefined(groups)
    text = "\n".join(cell for cells in shown for row in cells.rows for cell in row)
    flags = [flag for flag, (mark, _) in FLAGS.items() if f" ({mark})" in text]
    yield from (f"({FLAGS[flag][0]}) {FLAGS[flag][1]}." for flag in flags)
    if NOT_ABOVE_MAJORITY in flags and not form.all:
        yield "Attentiveness there is not shown (-); --all shows it."


def _undefined(groups: Sequence[Group]) -> Iterator[str]:
    """Which seeds have no attentiveness, as all examples are predicted as the default label."""
    for group in groups:
        for part, numbers in group.written.items():
            if missing := headline(numbers).undefined:
                where = f"{tables.title(group)}, {tables.label(group, groups)}"
                no = f"attentiveness to {part} is undefined"
                if missing == len(group.seeds):
                    yield f"{where}: {no}, as {NO_SWAPS}."
                else:
                    yield f"{where}: with {missing} of {len(group.seeds)} seeds {no}; they do not count."


def about_folders(below: Below) -> Iterator[str]:
    """Which folders the numbers are of, and which were left out."""
    for folder, inside in below.prompted.items():
        yield f"in {folder}" if inside == [folder] else f"in {folder}: {len(inside)} folders"
    if below.others:
        yield f"Left out, as they hold no prompt: {len(below.others)} folders, such as {below.others[0]}."
    if below.unfinished:
        yield f"Left out, as their evaluation has not ended: {len(below.unfinished)}, such as {below.unfinished[0]}."


def print_report(groups: Sequence[Group], below: Below, form: Form, is_short: bool) -> None:
    """Print tables and notes, in the width of the terminal."""
    console = Console()
    shown = list(short(groups, form) if is_short else whole(groups, form))
    for cells in shown:
        print_cells(cells, console, between=1)
    console.print()
    for note in notes(groups, shown, form):
        console.print(printable(note), markup=False, highlight=False)
    for text in about_folders(below):
        console.print(printable(text), soft_wrap=True, markup=False, highlight=False)


def print_summary(folders: Sequence[str]) -> None:
    """Print the short report of several prompts that were just measured.

    Where they have neither answers nor attentiveness, it is the table of every run.
    """
    results = {folder: read_results(folder) for folder in folders}
    if not all(any(rows_file(folder, name).exists() for name in SEEN) for folder in folders):
        print_table(results)
        return
    try:
        groups = groups_of(read(folders))
    except HeedfulError as error:
        print_table(results)
        print(f"No summary over prompts: {error}")
        return
    print_report(groups, Below({folder: [folder] for folder in folders}, [], []), Form(), is_short=True)
    if others := [name for name in next(iter(results.values()))["rows"] if name not in SEEN]:
        print(f"Numbers of {listing(others)}: results.json in each folder.")
