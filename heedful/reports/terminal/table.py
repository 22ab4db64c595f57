"""Results in a terminal 80 columns wide: of one run, or of several side by side.

The lines, their labels and their order stand in results.json (:mod:`heedful.records.numbers.display`).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from heedful.metrics import METRICS
from heedful.metrics.metric import READ, UNREAD_CHANGES, WITHOUT_BASE, WITHOUT_CHANGED
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import Line, MetricName, agree, percent, printable
from heedful.records.rows import UNREAD
from heedful.reports.flags import FLAGS, letters, marks
from heedful.reports.runs import UNKNOWN_WORTH
from heedful.reports.tables import Cells, basis, grid, precise, too_few

# where attentiveness is flagged as of a model that is not above the majority
WARNING = " A high attentiveness is no merit here: guesses change, too. A low one still means an ignored part."
TERMS = {  # how the label of a line ends, or begins where dots follow: what it means
    "to_default": "changes to the default label",
    "eligible": "share not predicted as the default label",
    "kept": "share of answers that stay, wanted where the part should not matter",
    UNREAD: "share of the changes after which the model receives what it did before",
    READ: "over the other changes",
    WITHOUT_BASE: "share of the inputs that get no answer",
    WITHOUT_CHANGED: "share of the changed ones that get none",
    "no answer": "share of answers that are none, and wrong",
    "with_invalid": "as if no answer were one more label",
    "max_change": "largest change of a probability",
    "default label ...": "of predictions of the default label, the share that stays",
    "total_variation": "how far all probabilities move",
    "default_probability": "how far that of the default label moves",
    "siblings": "share that changes where the example becomes a sibling of another label",
    "siblings_gold": "share that becomes the label of the sibling",
    "default label eligible": "share predicted as the default label",
}
TITLE = "% ± std over draws [95 %]"
Results = Mapping[str, Any]  # the content of a results.json


def lines_of(run: Results) -> list[Line]:
    """The lines of a run."""
    return [Line(**entry) for entry in run["display"]["lines"]]


def merged(runs: Sequence[Results]) -> list[Line]:
    """The lines of all runs, each once: what only a later run has stands beside its neighbours there."""
    lines: list[Line] = []
    keys: list[tuple[str, str]] = []  # of the lines
    for run in map(lines_of, runs):
        own = {(line.metric, line.label): line for line in run}
        place = next((i for i, key in enumerate(keys) if key in own), len(keys))
        for key, line in own.items():
            if key not in keys:
                lines.insert(place, line)
                keys.insert(place, key)
            place = keys.index(key) + 1
    return lines


def _labels(runs: Sequence[Results], lines: Sequence[Line]) -> list[str]:
    """The label of each line; where the lines are about several data sets, with the name of its own."""
    names = {text: MetricName(*fields) for run in runs for text, fields in run["names"].items()}
    data = [names[line.metric].data if line.metric in names else "" for line in lines]
    several = len(runs) > 1 and len(set(data) - {""}) > 1
    return [
        f"{line.label} {own}" if several and own and own not in line.label.split() else line.label
        for line, own in zip(lines, data, strict=True)
    ]


def table_cells(results: Mapping[str, Results], title: str = TITLE) -> Cells:
    """The table of :func:`print_table` as texts, with a column for each run.

    Flags have their names, for there are no footnotes; what is indented in a terminal has the label above it in front.

    Args:
        results: Folder to content of its results.json.
        title: Above the labels of the lines.
    """
    runs = list(results.values())
    above = ""
    rows = []
    lines = _shown(runs)
    for line, label in zip(lines, _labels(runs, lines), strict=True):
        above = above if line.level else label
        cells = (cell_text(run["metrics"].get(line.metric), line, " ") for run in runs)
        rows.append([f"{above} {label}" if line.level else label, *cells])
    return Cells("", [title, *map(printable, results)], rows)


def _shown(runs: Sequence[Results]) -> list[Line]:
    """All lines of one run, or the headlines of several."""
    return [line for line in merged(runs) if line.beside] if len(runs) > 1 else lines_of(runs[0])


def cell_text(
    m: Mapping[str, Any] | None, line: Line, separator: str, footnotes: Mapping[str, str] | None = None
) -> str:
    """A measurement as text; the separator stands before its interval. Flags have letters of footnotes, or names."""
    if line.text or m is None:
        return line.text
    behind = marks(m["flags"], footnotes)
    if m["value"] is None:
        return f"undefined: {m['reason']}{behind}"
    if few := too_few(m["n"], m["flags"]):
        return f"{few}{behind}"
    text, interval = precise(m, line.unit)
    return f"{text}{separator if interval else ''}{interval} {basis(m)}{behind}"


def _table(runs: Sequence[Results], lines: Sequence[Line], title: str) -> Table:
    """The lines, with a column for each run."""
    several, footnotes = len(runs) > 1, raised(runs, lines)
    separator = "\n" if several else " "
    heading = ""
    rows: list[list[str | Text]] = []
    for line, label in zip(lines, _labels(runs, lines), strict=True):
        if line.section not in ("", heading):
            heading = line.section
            sections = [run["display"]["sections"].get(heading, {"about": ()}) for run in runs]
            texts = [printable(heading), *(separator.join(map(printable, section["about"])) for section in sections)]
            rows.append([Text(text, "bold") for text in texts])
        cells = [Text(cell_text(run["metrics"].get(line.metric), line, separator, footnotes)) for run in runs]
        rows.append(["  " * line.level + label, *cells])
    table = grid([title, *(f"({i + 1})" if several else "" for i in range(len(runs)))], rows)
    table.columns[0].no_wrap = True
    return table


def raised(runs: Sequence[Results], lines: Sequence[Line]) -> dict[str, str]:
    """Known flags of the lines to the letters of their footnotes."""
    measured = (run["metrics"].get(line.metric, {"flags": ()}) for run in runs for line in lines)
    return letters(flag for m in measured for flag in m["flags"])


def explained(runs: Sequence[Results], lines: Sequence[Line]) -> Iterator[tuple[str, str]]:
    """Each known flag of what is shown, and what it means."""
    for flag in raised(runs, lines):
        warning = WARNING if flag == NOT_ABOVE_MAJORITY and _is_attentiveness(lines) else ""
        yield flag, f"{FLAGS[flag].short}.{warning}"


def footnotes(run: Results) -> list[str]:
    """What stands below the table of one run whose flags have their names: what these mean, and its notes."""
    lines = lines_of(run)
    told = [*filter(None, [_terms(lines)]), *(f"{flag}: {text}" for flag, text in explained([run], lines))]
    return told + [f"Note: {note}" for note in [run.get("note"), *about_model([run])] if note]


def asides_of(run: Results) -> list[str]:
    """What else was counted of the examples and the answers of a run, a sentence each."""
    return [*_examples(run, _shown([run])), *_answers(run)]


def _is_attentiveness(lines: Sequence[Line]) -> bool:
    """Whether one of these lines shows attentiveness."""
    return any(line.metric.startswith("attentiveness/") for line in lines)


def _terms(lines: Sequence[Line]) -> str:
    """Explains the labels that do not explain themselves, in one line."""
    of_lines = {term for line in lines for term in _terms_of(line.label)}
    terms = [term for term in TERMS if term in of_lines]
    return "; ".join(f"{term}: {TERMS[term]}" for term in terms) + "." if terms else ""


def meaning(label: str) -> str:
    """What the label of a line means; "" where it explains itself."""
    return next((TERMS[term] for term in _terms_of(label)), "")


def _terms_of(label: str) -> list[str]:
    """The terms in the label of a line: the longest one that it ends with, and the one that it begins with.

    Those of the null control, as "default label null_total_variation", are no share that begins so.
    """
    ends = sorted((term for term in TERMS if f" {label}".endswith(f" {term}")), key=len)
    begins = [term for term in TERMS if "..." in term and label.startswith(term.removesuffix("..."))]
    begins = [] if " null_" in label else begins
    return ends[-1:] + begins


def _data(runs: Sequence[Results]) -> str:
    """The data sets of which examples were predicted, and their splits; "" where only other data were predicted."""
    data = dict.fromkeys(run["data"] for run in runs if run["counts"].get("examples", 1))
    splits = dict.fromkeys(run["split"] for run in runs)
    return f"{', '.join(data)}, {', '.join(splits)}" if data else ""


def _asides(run: Results) -> str:
    """Names the kinds of numbers that stand in results.json only."""
    *words, last = dict.fromkeys(run["display"]["asides"])
    text = f"{', '.join(words)} and {last}" if words else last
    return f"{text[0].upper()}{text[1:]}: results.json"


def _answers(run: Results) -> Iterator[str]:
    """Quotes the commonest texts that are no answers, and says what else was counted of the answers."""
    counts = run["counts"]
    if texts := counts.get("no_answers"):
        quoted = ", ".join(f"{text!r} ({n:,} times)" for text, n in texts)
        yield f"The commonest of what is no answer: {quoted}."
    if several := counts.get("several_labels"):
        phrases = "answer names several labels, and was", "answers name several labels, and were"
        yield f"{agree(several, *phrases)} read as the wording says."
    for evaluation in METRICS:
        for part, (text, n, of) in counts.get(f"{evaluation}/one_text", {}).items():
            share = percent(n / of)
            yield f"With another {part}, {share} ({n:,} of {of:,}) get the answer {text!r}, and no base input does."


def _examples(run: Results, lines: Sequence[Line]) -> Iterator[str]:
    """Says of which numbers too many changes never reach the model, how much of the examples it reads, and how many
    repeat others or were trained on."""
    flagged = [
        f"{percent(run['metrics'][below.metric]['value'])} of those behind {line.label!r}"
        for line, below in pairwise(lines)
        if below.label == UNREAD and UNREAD_CHANGES in run["metrics"][line.metric]["flags"]
    ]
    if flagged:
        yield f"Changes that never reach the model: {', '.join(flagged)}."
    counts = run["counts"]
    for evaluation in ("", *(f"{name}/" for name in METRICS)):  # an evaluation may have examples of its own
        of = f" of {evaluation[:-1]}" if evaluation else ""
        if parts := counts.get(f"{evaluation}tokens_kept"):
            n = counts[f"{evaluation}examples"] + counts.get(f"{evaluation}not_predicted", 0)
            read = [
                f"{part} {tokens_read:,} of {there:,} ({percent(tokens_read / max(1, there))})"
                for part, (tokens_read, there) in parts.items()
            ]
            examples = f"of {agree(n, 'example', 'examples')}{of}"
            longer = agree(counts[f"{evaluation}truncated"], f"{examples} is", f"{examples} are")
            yield (
                f"{longer} longer than the model reads. "
                f"Tokens that it reads: {', '.join(read)}. A larger --model.max_length reads more."
            )
        repeats, trained = ("is a repeat of another", "are repeats of others"), ("was trained on", "were trained on")
        for key, forms in (("repeats", repeats), ("trained_on", trained)):
            if count := counts.get(f"{evaluation}{key}"):
                examples = f"of {agree(counts[f'{evaluation}examples'], 'example', 'examples')}{of}"
                yield f"{agree(count, *(f'{examples} {form}' for form in forms))}."


def _identical(run: Results) -> Iterator[str]:
    """Says how many changed inputs the model was not asked about, since they were others to it."""
    if identical := sum(run["counts"].get(f"{name}/identical", 0) for name in METRICS):
        same = agree(identical, "changed input was the same as another", "changed inputs were the same as others")
        yield f"{same} to the model; to save time they were predicted once."


def about_model(runs: Sequence[Results]) -> Iterator[str]:
    """A note for each run that had not ended when it was evaluated, for each without gold labels, and for each model
    of several columns."""
    for i, run in enumerate(runs, 1):
        if how_far := run.get("unfinished"):
            these = f"The numbers of ({i})" if len(runs) > 1 else "These numbers"
            yield f"{these} are of a run that had not ended: {how_far}."
        if run["counts"].get("unlabelled"):
            yield f"No gold labels{f' ({i})' if len(runs) > 1 else ''}: {UNKNOWN_WORTH}."
    columns: dict[str, list[str]] = {}
    for i, run in enumerate(runs, 1):
        if weights := run.get("identity", {}).get("weights"):
            columns.setdefault(weights, []).append(f"({i})")
    for of in columns.values():
        if len(of) > 1:
            yield f"{' and '.join(of)} are of the same weights."


def print_table(results: Mapping[str, Results], console: Console | None = None, title: str = TITLE) -> None:
    """Print the numbers of one run, or the headlines of several side by side; in percent, but for ratios.

    Args:
        results: Folder to content of its results.json.
        console: Where to print; the terminal by default.
        title: Above the labels of the lines.
    """
    console = console or Console()
    runs = list(results.values())
    several = len(results) > 1
    lines = _shown(runs)
    console.print()
    if data := _data(runs):
        console.print(printable(data), style="bold", markup=False)
    console.print(_table(runs, lines, title))
    if terms := _terms(lines):
        console.print(terms, highlight=False, markup=False)
    footnotes = raised(runs, lines)
    for flag, told in explained(runs, lines):
        console.print(f"({footnotes[flag]}) {told}")
    for text in () if several else [*asides_of(runs[0]), *_identical(runs[0])]:
        console.print(printable(text), highlight=False, markup=False)
    if not several and runs[0]["display"]["asides"]:
        console.print(_asides(runs[0]), highlight=False, markup=False)
    for note in dict.fromkeys([*(run.get("note") for run in runs), *about_model(runs)]):
        if note:
            console.print(printable(f"Note: {note}"), markup=False)
    for i, folder in enumerate(results, 1):
        shown = printable(f"({i}) {folder}" if several else f"in {folder}")
        console.print(shown, soft_wrap=True, highlight=False, markup=False)
