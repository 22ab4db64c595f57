"""The tables of the report in context, as texts: details of each prompt, and tables 6, 7, 9 and 11 of CAT in form."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from heedful.metrics.attentiveness import KEPT
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.metrics.statistics.over_seeds import OverSeeds
from heedful.records import SPAN, MetricName
from heedful.reports.in_context.folders import ATTENTIVENESS
from heedful.reports.in_context.groups import (
    AGREEMENT,
    INVALID,
    SCORED,
    TO_DEFAULT,
    WITH_INVALID,
    WORTH,
    Group,
    headline,
    less,
)
from heedful.reports.tables import Cells, bounds, number, percents, spread, too_few
from heedful.reports.terminal.table import FLAGS

AUGMENTED, PLAIN = "counterfactual", "plain"
KINDS = {PLAIN: "plain", "extra_tuple": "half default", "matched_labels": "matched", AUGMENTED: "augmented"}
CONTROLS = {
    "extra_tuple": "more real demonstrations of the default label, until half have it (the paper's control)",
    "matched_labels": "a real demonstration of the default label in the place of each copy",
    AUGMENTED: "with counterfactual copies of the demonstrations",
}
HIDDEN = "-"  # at chance, as in the paper
ANSWERS = ["prompt", "seeds", "{}", "± seeds", "[95 %]"]
SWAPPED = ["prompt", "answer", "value", "± draws", "± seeds", "[95 %]", "n"]


@dataclass(frozen=True)
class Form:
    """How numbers are written.

    Attributes:
        all: Whether attentiveness is shown where accuracy is not above the majority share, with a mark.
        names: Whether marks are written out, for there are no footnotes.
    """

    all: bool = False
    names: bool = False

    def number(self, measured: OverSeeds | None, sign: str = "") -> str:
        """A share in percent with its marks; "" where there is none."""
        flags = () if measured is None or measured.value is None else measured.flags
        marks = "".join(f" ({flag if self.names else FLAGS[flag][0]})" for flag in flags)
        return f"{number(measured, sign)}{marks}"

    def attentive(self, measured: OverSeeds | None, text: Callable[[OverSeeds], str]) -> str:
        """A text about attentiveness; "-" where accuracy is not above the majority share, unless all are shown."""
        if measured is None:
            return ""
        return HIDDEN if self.instead(measured) == HIDDEN else text(measured)

    def instead(self, measured: OverSeeds) -> str:
        """What stands in place of attentiveness: "-", or how many examples it rests on where these are few; else ""."""
        is_hidden = NOT_ABOVE_MAJORITY in measured.flags and not self.all
        return HIDDEN if is_hidden else too_few(measured.n, measured.flags)


def _of_draws(measured: OverSeeds) -> str:
    return spread(measured.std_draws)


def _of_seeds(measured: OverSeeds) -> str:
    return spread(measured.std_seeds)


def _interval(measured: OverSeeds) -> str:
    return bounds(measured.ci95)


def label(group: Group, groups: Sequence[Group]) -> str:
    """What a prompt is called among others of its model and data: "k=2 augmented", with the wording if several."""
    kind = f" {KINDS.get(group.key.kind, group.key.kind)}" if group.key.kind != PLAIN else ""
    several = len({other.key.wording for other in groups}) > 1
    return f"k={group.key.tuples}{kind}{f' {group.key.wording}' if several and group.key.wording else ''}"


def ordered(groups: Sequence[Group]) -> list[Group]:
    """Groups by model, data and wording in the order in which they were named, then by tuples and kind."""
    kinds = list(KINDS)
    first = {group.key[:4]: k for k, group in reversed(list(enumerate(groups)))}
    place = {kind: k for k, kind in enumerate(kinds)}
    return sorted(groups, key=lambda g: (first[g.key[:4]], g.key.tuples, place.get(g.key.kind, len(kinds))))


def by_model(groups: Sequence[Group]) -> list[list[Group]]:
    """The groups of each model on each data set and split."""
    keys = dict.fromkeys(group.key[:3] for group in groups)
    return [[group for group in ordered(groups) if group.key[:3] == key] for key in keys]


def title(group: Group) -> str:
    """The model and the data of a group."""
    return f"{group.key.model}, {group.key.data} {group.key.split}"


def answers(groups: Sequence[Group], form: Form) -> Cells:
    """How good the answers of one model on one data set are, as written and by probabilities; a row for each prompt."""
    is_span = groups[0].asked[0].context.kind is SPAN
    more = {"no answer" if is_span else "invalid": INVALID}
    if not is_span and any(group.writes for group in groups):
        more |= {"scored": SCORED, "agree": AGREEMENT}
    rows = []
    for group in groups:
        worth = group.answers[WORTH]
        about = [form.number(worth), spread(worth.std_seeds), bounds(worth.ci95)]
        shown = {name: group.answers.get(name) for name in more.values() if group.writes or name == INVALID}
        others = [form.number(shown.get(n)) if n == SCORED else number(shown.get(n)) for n in more.values()]
        rows.append([label(group, groups), str(len(group.seeds)), *about, *others])
    never = "never answering" if is_span else "majority"
    rows.append([never, "", percents(groups[0].majority), *[""] * (2 + len(more))])
    header = [name.format("match" if is_span else "accuracy") for name in ANSWERS]
    n = round(groups[0].answers[WORTH].n)
    return Cells(f"{title(groups[0])}: {n:,} examples, %", [*header, *more], rows)


def attentiveness(groups: Sequence[Group], part: str, form: Form) -> Cells:
    """Attentiveness of one model on one data set to a part, with both standard deviations; a row for each answer.

    "scored" is that of the most probable labels, which of a model that writes nothing are its answers.

    Of a part that must not matter, it is how often answers stay.
    """
    rows = []
    is_span = groups[0].asked[0].context.kind is SPAN
    for group in groups:
        several = {"written": group.written, "scored": group.scored} if group.writes else {"scored": group.written}
        for answer, of in several.items():
            if part not in of:
                continue
            measured = headline(of[part])
            beside = of[part].get(WITH_INVALID)
            shown = [form.attentive(measured, text) for text in (form.number, _of_draws, _of_seeds, _interval)]
            row = [label(group, groups), answer, *shown, f"{measured.n:,.0f}"]
            with_invalid = form.attentive(beside, number)
            rows.append(row if is_span else [*row, with_invalid if of is group.written else ""])
    header = SWAPPED if is_span else [*SWAPPED, "+invalid"]
    of_part = next(group.written[part] for group in groups if part in group.written)
    what = "answers that stay" if KEPT in of_part else ATTENTIVENESS
    return Cells(f"{title(groups[0])}: {what}, {part} swapped, %", header, rows)


def wordings(groups: Sequence[Group], form: Form) -> Cells | None:
    """The least and the largest number over wordings; None where no prompt has several."""
    keys = dict.fromkeys((group.key.tuples, group.key.kind) for group in groups)
    parts = list(dict.fromkeys(part for group in groups for part in group.written))
    rows = []
    for tuples, kind in keys:
        alike = [group for group in groups if (group.key.tuples, group.key.kind) == (tuples, kind)]
        if len(alike) > 1:
            of_parts = [_attentive_spread([group.written.get(part) for group in alike], form) for part in parts]
            row = [label(alike[0], alike[:1]), str(len(alike)), _range([group.answers[WORTH] for group in alike])]
            rows.append([*row, *of_parts])
    heading = f"{title(groups[0])}: least and largest over wordings, %"
    header = ["prompt", "wordings", "accuracy", *(f"{part} swapped" for part in parts)]
    return Cells(heading, header, rows) if rows else None


def _attentive_spread(measured: Sequence[dict[str, OverSeeds] | None], form: Form) -> str:
    """The spread over the wordings whose attentiveness is shown."""
    shown = [headline(numbers) for numbers in measured if numbers is not None]
    return _range([m for m in shown if not form.instead(m)])


def _range(measured: Sequence[OverSeeds]) -> str:
    values = [m.value for m in measured if m.value is not None]
    return f"{percents(min(values))} to {percents(max(values))}" if values else HIDDEN


def augmentation(groups: Sequence[Group], part: str, form: Form) -> Iterator[Cells]:
    """Table 7: demonstrations with counterfactuals beside plain ones and both controls, and their differences.

    "Half default" is the paper's control: plain demonstrations, and real ones of the default label until half have it.
    "Matched" is the exact one: real examples, with the labels of the augmented demonstrations in the same order.
    """
    for alike in _augmented(groups):
        rows = []
        for group in alike:
            worth = group.answers[WORTH]
            measured = group.written.get(part, {}).get(ATTENTIVENESS)
            shown = [
                form.attentive(measured, _of_draws),
                form.attentive(measured, _of_seeds),
            ]
            cells = [form.number(worth), spread(worth.std_seeds), form.attentive(measured, form.number), *shown]
            rows.append([KINDS.get(group.key.kind, group.key.kind), *cells])
        about = f"{title(alike[0])}, {_words(alike[0], groups)}"
        header = ["demonstrations", "accuracy", "± seeds", "attentiveness", "± draws", "± seeds"]
        yield Cells(f"Augmentation (table 7): {about}, {part} swapped, %", header, rows)
        yield _differences(alike, part, about, form)


def _words(group: Group, groups: Sequence[Group]) -> str:
    several = len({other.key.wording for other in groups}) > 1
    return f"k={group.key.tuples}{f' {group.key.wording}' if several else ''}"


def _augmented(groups: Sequence[Group]) -> Iterator[list[Group]]:
    """The groups that differ in the kind of demonstrations alone, where one is augmented and another is not."""
    for key in dict.fromkeys((group.key.wording, group.key.tuples) for group in groups):
        alike = [group for group in groups if (group.key.wording, group.key.tuples) == key]
        if len(alike) > 1 and any(group.key.kind == AUGMENTED for group in alike):
            yield alike


def _differences(alike: Sequence[Group], part: str, about: str, form: Form) -> Cells:
    """The augmented group less each other, over the same examples and the same seeds.

    Where attentiveness of either is not shown, what stands in its place does here as well.
    """
    first = next(group for group in alike if group.key.kind == AUGMENTED)
    is_span = first.asked[0].context.kind is SPAN
    data = first.key.data
    rows = []
    for other in alike:
        if other is first:
            continue
        worth = less(first, other, MetricName("exact_match" if is_span else "accuracy", data))
        attentive = ["", ""]
        if part in first.written and part in other.written:
            numbers = [group.written[part][ATTENTIVENESS] for group in (first, other)]
            instead = next(filter(None, map(form.instead, numbers)), "")
            change = less(first, other, MetricName(ATTENTIVENESS, data, part))
            attentive = [instead] * 2 if instead else [form.number(change, "+"), bounds(change.ci95, "+")]
        seeds = str(len(set(first.seeds) & set(other.seeds)))
        name = f"less {KINDS.get(other.key.kind, other.key.kind)}"
        rows.append([name, seeds, form.number(worth, "+"), bounds(worth.ci95, "+"), *attentive])
    header = ["augmented", "seeds", "accuracy", "[95 %]", "attentiveness", "[95 %]"]
    return Cells(f"Augmented less others: {about}, {part} swapped, points", header, rows)


def across(groups: Sequence[Group], form: Form) -> Iterator[Cells]:
    """Tables 6, 9 and 11: models and numbers of tuples by data sets, with plain demonstrations."""
    plain = [group for group in ordered(groups) if group.key.kind == PLAIN]
    swapped = [(group, part) for group in plain for part in group.written]
    about = {
        f"Attentiveness ± std over draws (table 6), {'all' if form.all else '- is at chance'}, %": ATTENTIVENESS,
        "Changed examples answered with the default label ± std over draws (table 11), %": TO_DEFAULT,
    }
    for k, (heading, name) in enumerate(about.items()):
        cells = {
            (_row(group, plain), _column(group, part, plain)): form.attentive(
                group.written[part][name], lambda m: _with_std(m, form)
            )
            for group, part in swapped
            if name in group.written[part]
        }
        if cells:
            yield _by_data(heading, cells)
        if not k and plain:
            best = {("majority", _column(group, "", plain)): percents(group.majority) for group in plain}
            own = {
                (_row(group, plain), _column(group, "", plain)): form.number(group.answers[WORTH]) for group in plain
            }
            yield _by_data("Accuracy (table 9), %", best | own)


def _with_std(measured: OverSeeds, form: Form) -> str:
    std = "" if measured.std_draws is None else f" ± {spread(measured.std_draws)}"
    return f"{form.number(measured)}{std}"


def _row(group: Group, groups: Sequence[Group]) -> str:
    return f"{group.key.model} {_words(group, groups)}"


def _column(group: Group, part: str, groups: Sequence[Group]) -> str:
    """The data, with the split and the part where there are several."""
    splits = {other.key.split for other in groups if other.key.data == group.key.data}
    words = [group.key.data]
    if len(splits) > 1:
        words.append(group.key.split)
    if len(group.written) > 1 and part:
        words.append(part)
    return " ".join(words)


def _by_data(heading: str, cells: dict[tuple[str, str], str]) -> Cells:
    rows = list(dict.fromkeys(key[0] for key in cells))
    columns = list(dict.fromkeys(key[1] for key in cells))
    return Cells(
        heading, ["model, tuples", *columns], [[row, *(cells.get((row, c), "") for c in columns)] for row in rows]
    )
