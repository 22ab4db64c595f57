"""The report ``heedful matrix --prompts RUN [RUN ...]`` on prompted models (CAT, tables 6, 7, 9 and 11).

Numbers are means over prompts that differ only in the seed of their demonstrations. Their intervals are over examples
and seeds.
"""

from collections.abc import Iterator, Sequence

from heedful.metrics.attentiveness import KEPT
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.metrics.statistics.over_seeds import OverSeeds
from heedful.records import HeedfulError, listing
from heedful.reports.flags import marks
from heedful.reports.in_context.prompts import (
    AGREEMENT,
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
    groups_of,
    less,
    result_folders,
)
from heedful.reports.runs import ATTENTIVENESS, read_runs
from heedful.reports.tables import Cells, bounds, cross_table, emit, number, percents, spread, too_few
from heedful.reports.terminal.table import print_table

AUGMENTED, PLAIN = "counterfactual", "plain"
KINDS = {PLAIN: "plain", "extra_tuple": "half default", "matched_labels": "matched", AUGMENTED: "augmented"}
CONTROLS = {
    "extra_tuple": "more real demonstrations of the default label, until half have it (the paper's control)",
    "matched_labels": "a real demonstration of the default label in the place of every copy",
    AUGMENTED: "with counterfactual copies of the demonstrations",
}
HIDDEN = "-"  # replaces attentiveness of models that are not above the majority share, as in the paper
ANSWERS = (WRITTEN, "", WORTH)  # name of the number: accuracy or exact match of the answers


def marked(m: OverSeeds | None, sign: str = "") -> str:
    """Format a share in percent, followed by its flags; "" for None. ``sign`` is "+" for a difference."""
    return f"{number(m, sign)}{marks(() if m is None or m.value is None else m.flags)}"


def _hidden_text(m: OverSeeds, with_all: bool) -> str:
    """Return the text that is shown instead of an attentiveness; "" if the attentiveness is shown.

    The text is "-" for a model not above the majority share (unless ``with_all``), and "n=..." for too few examples.
    """
    return HIDDEN if NOT_ABOVE_MAJORITY in m.flags and not with_all else too_few(m.n, m.flags)


def _attentiveness_cells(m: OverSeeds | None, with_all: bool) -> list[str]:
    """Return four cells for an attentiveness: value, standard deviations over draws and over seeds, and interval."""
    if m is None or _hidden_text(m, with_all) == HIDDEN:
        return ["" if m is None else HIDDEN] * 4
    return [marked(m), spread(m.std_draws), spread(m.std_seeds), bounds(m.ci95)]


def headline(group: Group, part: str, answer: str = WRITTEN) -> OverSeeds | None:
    """Return the main number about swaps of a part: attentiveness; for a distractor (a part that should not matter),
    the share of unchanged answers; None without swaps.
    """
    return next(iter(group.swaps(part, answer).values()), None)


def _wording(group: Group, groups: Sequence[Group]) -> str:
    """Return the suffix, such as " <wording>", that tables append to the label of a group of prompts.

    The suffix names the wording of the group's prompts. It is "" if all groups have the same wording, or if the wording
    of the group has no name.
    """
    has_several = len({each.key.wording for each in groups}) > 1
    return f" {group.key.wording}" if has_several and group.key.wording else ""


def label(group: Group, groups: Sequence[Group]) -> str:
    """Return the label of a group in tables of one model and data set, such as "k=2 augmented"."""
    kind = f" {KINDS.get(group.key.kind, group.key.kind)}" if group.key.kind != PLAIN else ""
    return f"k={group.key.tuples}{kind}{_wording(group, groups)}"


def ordered(groups: Sequence[Group]) -> list[Group]:
    """Sort groups by the first occurrence of model, data and wording, then by number and kind of demonstrations."""
    first = {group.key[:4]: k for k, group in reversed(list(enumerate(groups)))}
    place = {kind: k for k, kind in enumerate(KINDS)}
    return sorted(groups, key=lambda g: (first[g.key[:4]], g.key.tuples, place.get(g.key.kind, len(KINDS))))


def title(group: Group) -> str:
    """Return the title of the tables of a group: model, data set and split."""
    return f"{group.key.model}, {group.key.data} {group.key.split}"


def build(groups: Sequence[Group], with_all: bool, is_short: bool) -> Iterator[Cells]:
    """Build the tables of accuracy and of attentiveness for each model and data set, then the tables of the paper.

    Args:
        groups: The groups of prompts, with means over seeds.
        with_all: Whether to show attentiveness of models that are not above the majority share.
        is_short: Whether to omit the tables of the paper.
    """
    keys = dict.fromkeys(group.key[:3] for group in groups)
    by_model = [[group for group in ordered(groups) if group.key[:3] == key] for key in keys]
    for of_model in by_model:
        yield answers(of_model)
        for part in _parts(of_model):
            yield attentiveness(of_model, part, with_all)
    for of_model in by_model if not is_short else ():
        for part in _parts(of_model):
            if all(ATTENTIVENESS in (group.swaps(part) or (ATTENTIVENESS,)) for group in of_model):
                yield from augmentation(of_model, part, with_all)
    if not is_short:
        yield from tables_across_data(groups, with_all)


def _parts(groups: Sequence[Group]) -> list[str]:
    return list(dict.fromkeys(part for group in groups for part in group.parts))


def answers(groups: Sequence[Group]) -> Cells:
    """Build the table of accuracy (or exact match) of one model on one data set, with a row for each prompt."""
    is_span = groups[0].is_span
    columns = ["no answer" if is_span else "invalid"]
    if with_scored := not is_span and any(group.writes for group in groups):
        columns += ["scored", "agree"]
    rows = []
    for group in groups:
        worth = group.numbers[ANSWERS]
        row = [label(group, groups), str(len(group.prompts)), marked(worth), spread(worth.std_seeds)]
        row += [bounds(worth.ci95), number(group.numbers[WRITTEN, "", INVALID])]
        if with_scored:
            scored, agree = (group.numbers.get((SCORED, "", name)) for name in (WORTH, AGREEMENT))
            row += [marked(scored), number(agree)] if group.writes else ["", ""]
        rows.append(row)
    rows.append(["never answering" if is_span else MAJORITY, "", _majority(groups[0]), *[""] * (2 + len(columns))])
    header = ["prompt", "seeds", "match" if is_span else "accuracy", "± seeds", "[95 %]", *columns]
    return Cells(f"{title(groups[0])}: {round(groups[0].numbers[ANSWERS].n):,} examples, %", header, rows)


def _majority(group: Group) -> str:
    return percents(group.prompts[0].numbers[WRITTEN, "", MAJORITY].value)


def attentiveness(groups: Sequence[Group], part: str, with_all: bool) -> Cells:
    """Build the table of attentiveness to a part, of one model on one data set, with rows for each prompt.

    Rows "written" use the generated answers, rows "scored" the most probable labels.
    """
    is_span = groups[0].is_span
    rows = []
    for group in groups:
        for answer in (WRITTEN, SCORED) if group.writes else (WRITTEN,):
            if (m := headline(group, part, answer)) is None:
                continue
            name = answer if group.writes else SCORED
            row = [label(group, groups), name, *_attentiveness_cells(m, with_all), f"{m.n:,.0f}"]
            invalid = group.swaps(part).get(WITH_INVALID) if answer == WRITTEN else None
            is_hidden = invalid is not None and _hidden_text(invalid, with_all) == HIDDEN
            rows.append(row if is_span else [*row, HIDDEN if is_hidden else number(invalid)])
    header = ["prompt", "answer", "value", "± draws", "± seeds", "[95 %]", "n", *([] if is_span else ["with invalid"])]
    what = "answers that stay" if any(KEPT in group.swaps(part) for group in groups) else ATTENTIVENESS
    return Cells(f"{title(groups[0])}: {what}, {part} swapped, %", header, rows)


def augmentation(groups: Sequence[Group], part: str, with_all: bool) -> Iterator[Cells]:
    """Yield tables that compare counterfactual demonstrations with other kinds, as table 7 of Elazar et al. (2023).

    The other kinds are plain demonstrations and two controls. The control "half default" of the paper adds real
    demonstrations of the default label until half of all demonstrations have this label. The control "matched" has real
    demonstrations with the same labels as the counterfactual demonstrations.

    Yields:
        For each wording and number of demonstrations, two tables: accuracy and attentiveness of each kind of
        demonstrations, and the same numbers of counterfactual demonstrations minus those of each other kind.
    """
    for key in dict.fromkeys((group.key.wording, group.key.tuples) for group in groups):
        same = [group for group in groups if (group.key.wording, group.key.tuples) == key]
        augmented = next((group for group in same if group.key.kind == AUGMENTED), None)
        if len(same) < 2 or augmented is None:
            continue
        rows = []
        for group in same:
            worth = group.numbers[ANSWERS]
            attentive = _attentiveness_cells(group.swaps(part).get(ATTENTIVENESS), with_all)[:3]
            kind = KINDS.get(group.key.kind, group.key.kind)
            rows.append([kind, marked(worth), spread(worth.std_seeds), *attentive])
        about = f"{title(same[0])}, k={key[1]}{_wording(same[0], groups)}, {part} swapped"
        header = ["demonstrations", "accuracy", "± seeds", "attentiveness", "± draws", "± seeds"]
        yield Cells(f"Augmentation (table 7): {about}, %", header, rows)
        changes = [_difference_row(augmented, group, part, with_all) for group in same if group is not augmented]
        header = ["augmented", "seeds", "accuracy", "[95 %]", "attentiveness", "[95 %]"]
        yield Cells(f"Augmented less others: {about}, points", header, changes)


def _difference_row(first: Group, second: Group, part: str, with_all: bool) -> list[str]:
    """Return a row of a table: accuracy and attentiveness of the first group minus those of the second, with intervals.

    The difference of attentiveness is hidden if the attentiveness of either group is.
    """
    worth = less(first, second, ANSWERS)
    attentive = ["", ""]
    if first.swaps(part) and second.swaps(part):
        instead = [_hidden_text(group.swaps(part)[ATTENTIVENESS], with_all) for group in (first, second)]
        change = less(first, second, (WRITTEN, part, ATTENTIVENESS))
        attentive = [marked(change, "+"), bounds(change.ci95, "+")]
        attentive = [next(filter(None, instead))] * 2 if any(instead) else attentive
    seeds = {prompt.seed for prompt in first.prompts} & {prompt.seed for prompt in second.prompts}
    name = f"less {KINDS.get(second.key.kind, second.key.kind)}"
    return [name, str(len(seeds)), marked(worth, "+"), bounds(worth.ci95, "+"), *attentive]


def tables_across_data(groups: Sequence[Group], with_all: bool) -> Iterator[Cells]:
    """Build up to three tables across data sets, as tables 6, 9 and 11 of Elazar et al. (2023).

    Rows are models, columns are data sets. One table shows attentiveness, one the accuracy and the majority share, and
    one how often a swap changes the answer to the default label. Only groups with plain demonstrations (real examples)
    count. ``with_all`` includes attentiveness of models whose accuracy is not above the majority share.
    """
    plain = [group for group in ordered(groups) if group.key.kind == PLAIN]
    labels = {group.key: f"{group.key.model} k={group.key.tuples}{_wording(group, plain)}" for group in plain}

    def column(group: Group, part: str = "") -> str:
        splits = {each.key.split for each in plain if each.key.data == group.key.data}
        words = [group.key.data, group.key.split if len(splits) > 1 else "", part if len(group.parts) > 1 else ""]
        return " ".join(filter(None, words))

    def swapped(name: str) -> dict[tuple[str, str], str]:
        cells = {}
        for group in plain:
            for part in (part for part in group.parts if name in group.swaps(part)):
                value, draws, *_ = _attentiveness_cells(group.swaps(part)[name], with_all)
                text = f"{value} ± {draws}" if draws not in ("", HIDDEN) else value
                cells[labels[group.key], column(group, part)] = text
        return cells

    note = "all" if with_all else "- is at chance"
    worth = {(MAJORITY, column(group)): _majority(group) for group in plain}
    worth |= {(labels[group.key], column(group)): marked(group.numbers[ANSWERS]) for group in plain}
    tables = {
        f"Attentiveness ± std over draws (table 6), {note}, %": swapped(ATTENTIVENESS),
        "Accuracy (table 9), %": worth,
        "Changed examples answered with the default label ± std over draws (table 11), %": swapped(TO_DEFAULT),
    }
    for heading, cells in tables.items():
        if cells:
            yield cross_table(heading, "model, tuples", cells)


def notes(groups: Sequence[Group], tables: Sequence[Cells], with_all: bool) -> Iterator[str]:
    """Yield the notes below the tables: abbreviations, models at chance, and seeds with undefined attentiveness."""
    silent = listing(list(dict.fromkeys(group.key.model for group in groups if not group.writes)))
    kinds = {group.key.kind for group in groups}
    controls = "; ".join(f"{KINDS[kind]}: {text}" for kind, text in CONTROLS.items() if kind in kinds)
    lone = list(dict.fromkeys(label(group, groups) for group in groups if len(group.prompts) == 1 and group.key.tuples))
    has_both = any(group.writes and (SCORED, "", WORTH) in group.numbers for group in groups)
    has_invalid = any(name == WITH_INVALID for group in groups for _, _, name in group.numbers)
    sentences = {
        "written: the label that the model writes; scored: the label with the highest likelihood; agree: share of "
        "inputs for which both are equal.": has_both,
        f"{silent}: nothing is written; the answer is the label with the highest likelihood.": silent,
        "n: examples that count, the mean over seeds.": _parts(groups),
        "with invalid: with examples whose answer is not a label, which do not count elsewhere.": has_invalid,
        f"{controls}.": controls,
        "[95 %] crosses examples and seeds of demonstrations, so that three seeds give wide intervals.": any(
            len(group.prompts) > 1 for group in groups
        ),
        f"One seed alone: {listing(lone)}. [95 %] does not hold for other demonstrations there.": lone,
    }
    yield from (sentence for sentence, applies in sentences.items() if applies)
    for group in groups:
        for part in group.parts:
            if missing := headline(group, part).undefined:
                seeds = f"with {missing} of {len(group.prompts)} seeds attentiveness to {part} is undefined"
                yield f"{title(group)}, {label(group, groups)}: {seeds}; they do not count. Undefined: {NO_SWAPS}."
    if not with_all and any(HIDDEN in row for table in tables for row in table.rows):
        yield "-: attentiveness of a model whose accuracy is not above the majority share; --all shows it."


def print_prompts(folders: Sequence[str], with_all: bool, text_format: str | None) -> None:
    """Print accuracy and attentiveness of prompted models, averaged over seeds of demonstrations.

    Args:
        folders: Folders of results, or folders that contain these.
        with_all: Whether to show attentiveness of models that are not above the majority share.
        text_format: One of :data:`FORMATS`, or None for a terminal.
    """
    groups = groups_of(read_runs(result_folders(folders)))
    tables = list(build(groups, with_all, False))
    prompts = sum(len(group.prompts) for group in groups)
    emit(tables, text_format, notes(groups, tables, with_all), [f"in {', '.join(folders)}: {prompts} prompts"])


def print_summary(folders: Sequence[str]) -> None:
    """Print the results of several prompts that were just measured, as means over seeds.

    If means cannot be computed, print a table with a column for each prompt.
    """
    runs = read_runs(folders)
    results = {run.folder: run.results for run in runs}
    if not all(run.rows.keys() & {*EVALUATIONS} for run in runs):
        print_table(results)
        return
    try:
        groups = groups_of(runs)
    except HeedfulError as error:
        print_table(results)
        print(f"No summary over prompts: {error}")
        return
    tables = list(build(groups, False, True))
    more = [name for name in runs[0].results["rows"] if name not in EVALUATIONS]
    footer = [f"Numbers of {listing(more)}: results.json in each folder."] if more else []
    emit(tables, None, notes(groups, tables, False), [*(f"in {folder}" for folder in folders), *footer])
