"""The report of models in context: ``heedful matrix --prompts RUN [RUN ...]`` (CAT, tables 6, 7, 9 and 11 in form).

Prompts that differ only in the seed of their demonstrations are averaged. Intervals cross examples and seeds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console

from heedful.metrics.attentiveness import KEPT
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.metrics.statistics.over_seeds import OverSeeds
from heedful.records import HeedfulError, listing, printable
from heedful.records.storage.results import read_results, rows_file
from heedful.reports.flags import FLAGS, letters, marks
from heedful.reports.in_context.prompts import (
    AGREEMENT,
    ATTENTIVENESS,
    EVALUATIONS,
    INVALID,
    MAJORITY,
    NO_SWAPS,
    SCORED,
    TO_DEFAULT,
    WITH_INVALID,
    WORTH,
    WRITTEN,
    Group,
    find,
    groups_of,
    less,
)
from heedful.reports.tables import Cells, bounds, emit, number, percents, spread, too_few
from heedful.reports.terminal.table import print_table

AUGMENTED, PLAIN = "counterfactual", "plain"
KINDS = {PLAIN: "plain", "extra_tuple": "half default", "matched_labels": "matched", AUGMENTED: "augmented"}
CONTROLS = {
    "extra_tuple": "more real demonstrations of the default label, until half have it (the paper's control)",
    "matched_labels": "a real demonstration of the default label in the place of each copy",
    AUGMENTED: "with counterfactual copies of the demonstrations",
}
HIDDEN = "-"  # at chance, as in the paper


@dataclass(frozen=True)
class Form:
    """How numbers are written.

    Attributes:
        all: Whether attentiveness is shown where accuracy is not above the majority share, with a mark.
    """

    all: bool = False

    def number(self, m: OverSeeds | None, sign: str = "") -> str:
        """A share in percent with its marks; "" where there is none."""
        flags = () if m is None or m.value is None else m.flags
        return f"{number(m, sign)}{marks(flags)}"

    def instead(self, m: OverSeeds) -> str:
        """What stands in place of attentiveness: "-", or how many examples it rests on where these are few; else ""."""
        is_hidden = NOT_ABOVE_MAJORITY in m.flags and not self.all
        return HIDDEN if is_hidden else too_few(m.n, m.flags)

    def is_hidden(self, m: OverSeeds) -> bool:
        """Whether a model is not above the majority share, and its attentiveness not shown."""
        return self.instead(m) == HIDDEN

    def attentive(self, m: OverSeeds | None) -> list[str]:
        """Attentiveness, its standard deviations over draws and seeds, and its interval."""
        if m is None:
            return [""] * 4
        texts = [self.number(m), spread(m.std_draws), spread(m.std_seeds), bounds(m.ci95)]
        return [HIDDEN] * 4 if self.is_hidden(m) else texts


def headline(group: Group, part: str, answer: str = WRITTEN) -> OverSeeds | None:
    """The main number of a part: attentiveness, or how often answers stay where it must not matter."""
    return next(iter(group.swaps(part, answer).values()), None)


def _wording(group: Group, groups: Sequence[Group]) -> str:
    """ " WORDING" where these groups have several."""
    several = len({other.key.wording for other in groups}) > 1
    return f" {group.key.wording}" if several and group.key.wording else ""


def label(group: Group, groups: Sequence[Group]) -> str:
    """Name of a prompt among others of its model and data: "k=2 augmented", with the wording if several."""
    kind = f" {KINDS.get(group.key.kind, group.key.kind)}" if group.key.kind != PLAIN else ""
    return f"k={group.key.tuples}{kind}{_wording(group, groups)}"


def ordered(groups: Sequence[Group]) -> list[Group]:
    """Groups by model, data and wording in the order in which they were named, then by tuples and kind."""
    first = {group.key[:4]: k for k, group in reversed(list(enumerate(groups)))}
    place = {kind: k for k, kind in enumerate(KINDS)}
    return sorted(groups, key=lambda g: (first[g.key[:4]], g.key.tuples, place.get(g.key.kind, len(KINDS))))


def title(group: Group) -> str:
    """The model and the data of a group."""
    return f"{group.key.model}, {group.key.data} {group.key.split}"


def report(groups: Sequence[Group], form: Form, short: bool) -> Iterator[Cells]:
    """Answers and attentiveness of each model on each data set; unless ``short``, the tables of the paper as well."""
    keys = dict.fromkeys(group.key[:3] for group in groups)
    by_model = [[group for group in ordered(groups) if group.key[:3] == key] for key in keys]
    for alike in by_model:
        yield answers(alike, form)
        for part in _parts(alike):
            yield attentiveness(alike, part, form)
    if short:
        return
    for alike in by_model:
        for part in _parts(alike):
            if all(ATTENTIVENESS in (group.swaps(part) or (ATTENTIVENESS,)) for group in alike):
                yield from augmentation(alike, part, form)
    yield from across(groups, form)


def _parts(groups: Sequence[Group]) -> list[str]:
    return list(dict.fromkeys(part for group in groups for part in group.parts))


def answers(groups: Sequence[Group], form: Form) -> Cells:
    """How good the answers of one model on one data set are, as written and by probabilities; a row for each prompt."""
    is_span = groups[0].is_span
    columns = ["no answer" if is_span else "invalid"]
    if with_scored := not is_span and any(group.writes for group in groups):
        columns += ["scored", "agree"]
    rows = []
    for group in groups:
        worth = group.numbers[WRITTEN, "", WORTH]
        row = [label(group, groups), str(len(group.prompts)), form.number(worth), spread(worth.std_seeds)]
        row += [bounds(worth.ci95), number(group.numbers[WRITTEN, "", INVALID])]
        if with_scored:
            scored, agree = (group.numbers.get((SCORED, "", name)) for name in (WORTH, AGREEMENT))
            row += [form.number(scored), number(agree)] if group.writes else ["", ""]
        rows.append(row)
    rows.append(["never answering" if is_span else MAJORITY, "", _majority(groups[0]), *[""] * (2 + len(columns))])
    header = ["prompt", "seeds", "match" if is_span else "accuracy", "± seeds", "[95 %]", *columns]
    n = round(groups[0].numbers[WRITTEN, "", WORTH].n)
    return Cells(f"{title(groups[0])}: {n:,} examples, %", header, rows)


def _majority(group: Group) -> str:
    return percents(group.prompts[0].numbers[WRITTEN, "", MAJORITY].value)


def attentiveness(groups: Sequence[Group], part: str, form: Form) -> Cells:
    """Attentiveness of one model on one data set to a part, with both standard deviations; a row for each answer.

    "scored" is that of the most probable labels, which of a model that writes nothing are its answers. Of a part that
    must not matter, it is how often answers stay.
    """
    is_span = groups[0].is_span
    rows = []
    for group in groups:
        for answer in (WRITTEN, SCORED) if group.writes else (WRITTEN,):
            if (m := headline(group, part, answer)) is None:
                continue
            row = [label(group, groups), answer if group.writes else SCORED, *form.attentive(m), f"{m.n:,.0f}"]
            beside = group.swaps(part).get(WITH_INVALID) if answer == WRITTEN else None
            with_invalid = "" if beside is None else HIDDEN if form.is_hidden(beside) else number(beside)
            rows.append(row if is_span else [*row, with_invalid])
    header = ["prompt", "answer", "value", "± draws", "± seeds", "[95 %]", "n", *([] if is_span else ["+invalid"])]
    stays = any(KEPT in group.swaps(part) for group in groups)
    what = "answers that stay" if stays else ATTENTIVENESS
    return Cells(f"{title(groups[0])}: {what}, {part} swapped, %", header, rows)


def augmentation(groups: Sequence[Group], part: str, form: Form) -> Iterator[Cells]:
    """Table 7: demonstrations with counterfactuals beside plain ones and both controls, and their differences.

    "Half default" is the paper's control: plain demonstrations, and real ones of the default label until half have it.
    "Matched" is the exact one: real examples, with the labels of the augmented demonstrations in the same order.
    """
    for key in dict.fromkeys((group.key.wording, group.key.tuples) for group in groups):
        alike = [group for group in groups if (group.key.wording, group.key.tuples) == key]
        augmented = next((group for group in alike if group.key.kind == AUGMENTED), None)
        if len(alike) < 2 or augmented is None:
            continue
        rows = []
        for group in alike:
            worth = group.numbers[WRITTEN, "", WORTH]
            attentive = form.attentive(group.swaps(part).get(ATTENTIVENESS))[:3]
            kind = KINDS.get(group.key.kind, group.key.kind)
            rows.append([kind, form.number(worth), spread(worth.std_seeds), *attentive])
        about = f"{title(alike[0])}, k={key[1]}{_wording(alike[0], groups)}, {part} swapped"
        header = ["demonstrations", "accuracy", "± seeds", "attentiveness", "± draws", "± seeds"]
        yield Cells(f"Augmentation (table 7): {about}, %", header, rows)
        changes = [_less(augmented, other, part, form) for other in alike if other is not augmented]
        header = ["augmented", "seeds", "accuracy", "[95 %]", "attentiveness", "[95 %]"]
        yield Cells(f"Augmented less others: {about}, points", header, changes)


def _less(first: Group, other: Group, part: str, form: Form) -> list[str]:
    """The first group less the other, over the same examples and seeds; what hides attentiveness of either hides it."""
    worth = less(first, other, (WRITTEN, "", WORTH))
    attentive = ["", ""]
    if first.swaps(part) and other.swaps(part):
        instead = next(filter(None, (form.instead(group.swaps(part)[ATTENTIVENESS]) for group in (first, other))), "")
        change = less(first, other, (WRITTEN, part, ATTENTIVENESS))
        attentive = [instead] * 2 if instead else [form.number(change, "+"), bounds(change.ci95, "+")]
    seeds = {prompt.seed for prompt in first.prompts} & {prompt.seed for prompt in other.prompts}
    name = f"less {KINDS.get(other.key.kind, other.key.kind)}"
    return [name, str(len(seeds)), form.number(worth, "+"), bounds(worth.ci95, "+"), *attentive]


def across(groups: Sequence[Group], form: Form) -> Iterator[Cells]:
    """Tables 6, 9 and 11: models and numbers of tuples by data sets, with plain demonstrations."""
    plain = [group for group in ordered(groups) if group.key.kind == PLAIN]
    of_rows = {group.key: f"{group.key.model} k={group.key.tuples}{_wording(group, plain)}" for group in plain}

    def column(group: Group, part: str = "") -> str:
        splits = {other.key.split for other in plain if other.key.data == group.key.data}
        words = [group.key.data, group.key.split if len(splits) > 1 else "", part if len(group.parts) > 1 else ""]
        return " ".join(filter(None, words))

    def swapped(name: str) -> dict[tuple[str, str], str]:
        found = ((group, part, group.swaps(part)[name]) for group in plain for part in group.parts
                 if name in group.swaps(part))  # fmt: skip
        return {(of_rows[group.key], column(group, part)): _with_std(m, form) for group, part, m in found}

    about = f"Attentiveness ± std over draws (table 6), {'all' if form.all else '- is at chance'}, %"
    yield from _by_data(about, swapped(ATTENTIVENESS))
    worth = {(MAJORITY, column(group)): _majority(group) for group in plain}
    worth |= {(of_rows[group.key], column(group)): form.number(group.numbers[WRITTEN, "", WORTH]) for group in plain}
    yield from _by_data("Accuracy (table 9), %", worth)
    about = "Changed examples answered with the default label ± std over draws (table 11), %"
    yield from _by_data(about, swapped(TO_DEFAULT))


def _with_std(m: OverSeeds, form: Form) -> str:
    value, draws, *_ = form.attentive(m)
    return f"{value} ± {draws}" if draws not in ("", HIDDEN) else value


def _by_data(heading: str, cells: Mapping[tuple[str, str], str]) -> Iterator[Cells]:
    rows, columns = (list(dict.fromkeys(key[k] for key in cells)) for k in (0, 1))
    if cells:
        texts = [[row, *(cells.get((row, column), "") for column in columns)] for row in rows]
        yield Cells(heading, ["model, tuples", *columns], texts)


def notes(groups: Sequence[Group], shown: Sequence[Cells], form: Form) -> Iterator[str]:
    """What a reader must know of these tables, a sentence or two each."""
    silent = listing(list(dict.fromkeys(group.key.model for group in groups if not group.writes)))
    kinds = {group.key.kind for group in groups}
    controls = "; ".join(f"{KINDS[kind]}: {text}" for kind, text in CONTROLS.items() if kind in kinds)
    others = listing(sorted(kinds - KINDS.keys()))
    lone = list(dict.fromkeys(label(one, groups) for one in groups if len(one.prompts) == 1 and one.key.tuples))
    columns = (
        "written: the label that the model writes; scored: the label with the highest likelihood; agree: they are "
    )
    sentences = {
        f"{columns}the same.": any(group.writes and (SCORED, "", WORTH) in group.numbers for group in groups),
        f"{silent}: nothing is written; the answer is the label with the highest likelihood.": silent,
        "n: examples that count, the mean over seeds.": _parts(groups),
        "+invalid: with examples whose answer is not a label, which do not count elsewhere.": any(
            name == WITH_INVALID for group in groups for _, _, name in group.numbers
        ),
        f"{controls}.": controls,
        f"{others}: drawn otherwise than now, and so a kind of its own; evaluate again to compare with others.": others,
        "[95 %] crosses examples and seeds of demonstrations, so that three seeds give wide intervals.": any(
            len(group.prompts) > 1 for group in groups
        ),
        f"One seed alone: {listing(lone)}. [95 %] says nothing of other demonstrations there.": lone,
    }
    yield from (sentence for sentence, holds in sentences.items() if holds)
    for group in groups:
        for part in group.parts:
            if missing := headline(group, part).undefined:
                seeds = f"with {missing} of {len(group.prompts)} seeds attentiveness to {part} is undefined"
                yield f"{title(group)}, {label(group, groups)}: {seeds}; they do not count. Undefined: {NO_SWAPS}."
    text = "\n".join(cell for cells in shown for row in cells.rows for cell in row)
    flags = letters(flag for flag in FLAGS if f" ({flag})" in text)
    yield from (f"({letter}) {FLAGS[flag].short}." for flag, letter in flags.items())
    if NOT_ABOVE_MAJORITY in flags and not form.all:
        yield "Attentiveness there is not shown (-); --all shows it."


def print_prompts(runs: Sequence[str], with_all: bool, is_short: bool, text_format: str | None) -> None:
    """Print the report of the prompts in these folders.

    Args:
        runs: Folders of an evaluation, or of several.
        with_all: Whether the attentiveness of models at chance is shown, too, with a mark.
        is_short: The tables of each model alone.
        text_format: One of :data:`FORMATS`: the tables in this format, and nothing else.
    """
    folders, about = find(runs)
    groups, form = groups_of(folders), Form(with_all)
    tables = list(report(groups, form, is_short))
    if text_format:
        emit(tables, text_format)
    else:
        _print(groups, tables, form, about)


def _print(groups: Sequence[Group], tables: Sequence[Cells], form: Form, about: Sequence[str]) -> None:
    """Print tables and notes, in the width of the terminal."""
    console = Console()
    emit([_lettered(table, tables) for table in tables], between=1)
    console.print()
    for note in notes(groups, tables, form):
        console.print(printable(note), markup=False, highlight=False)
    for text in about:
        console.print(printable(text), soft_wrap=True, markup=False, highlight=False)


def _lettered(table: Cells, tables: Sequence[Cells]) -> Cells:
    """A table with the letters of footnotes instead of flag names; all tables share the letters."""
    text = "\n".join(cell for cells in tables for row in cells.rows for cell in row)
    rows = [list(row) for row in table.rows]
    for flag, letter in letters(flag for flag in FLAGS if f" ({flag})" in text).items():
        rows = [[cell.replace(f" ({flag})", f" ({letter})") for cell in row] for row in rows]
    return table._replace(rows=rows)


def print_summary(folders: Sequence[str]) -> None:
    """Print the short report of several prompts that were just measured.

    Where they have neither answers nor attentiveness, it is the table of every run.
    """
    results = {folder: read_results(folder) for folder in folders}
    if not all(any(rows_file(folder, name).exists() for name in EVALUATIONS) for folder in folders):
        print_table(results)
        return
    try:
        groups = groups_of(folders)
    except HeedfulError as error:
        print_table(results)
        print(f"No summary over prompts: {error}")
        return
    _print(groups, list(report(groups, Form(), short=True)), Form(), [f"in {folder}" for folder in folders])
    if others := [name for name in next(iter(results.values()))["rows"] if name not in EVALUATIONS]:
        print(f"Numbers of {listing(others)}: results.json in each folder.")
