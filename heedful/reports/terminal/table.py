"""The table of runs: every number of one run, or the headlines of runs side by side.

results.json holds the lines, their labels and their order (:mod:`heedful.records.numbers.display`).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from rich.console import Console
from rich.text import Text

from heedful.metrics import METRICS
from heedful.metrics.metric import UNREAD_CHANGES
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import Line, MetricName, agree, percent, printable
from heedful.records.rows import UNREAD
from heedful.records.word_lists import word_lists
from heedful.reports.flags import FLAGS, MARK, marks
from heedful.reports.runs import UNKNOWN_WORTH
from heedful.reports.tables import Cells, basis, emit, precise, too_few

NO_MERIT = "A high attentiveness is no merit here: guesses change, too. A low one still means an ignored part."
TERMS: dict[str, str] = word_lists(__file__)  # meanings of labels
TITLE = "% ± std over draws [95 %]"
Content = Mapping[str, Any]  # of a results.json


def lines_of(run: Content) -> list[Line]:
    """The lines of a run."""
    return [Line(**entry) for entry in run["display"]["lines"]]


def merged(runs: Sequence[Content]) -> list[Line]:
    """The lines of all runs, each once; a line that only a later run has follows its predecessor in that run."""
    lines: list[Line] = []
    keys: list[tuple[str, str]] = []
    for run in map(lines_of, runs):
        by_key = {(line.metric, line.label): line for line in run}
        place = next((i for i, key in enumerate(keys) if key in by_key), len(keys))
        for key, line in by_key.items():
            if key not in keys:
                lines.insert(place, line)
                keys.insert(place, key)
            place = keys.index(key) + 1
    return lines


def _labels(runs: Sequence[Content], lines: Sequence[Line]) -> list[str]:
    """The labels of lines, with the name of its data set if the lines have several."""
    names = {text: MetricName(*fields) for run in runs for text, fields in run["names"].items()}
    data = [names[line.metric].data if line.metric in names else "" for line in lines]
    has_several = len(runs) > 1 and len(set(data) - {""}) > 1
    return [
        f"{line.label} {name}" if has_several and name and name not in line.label.split() else line.label
        for line, name in zip(lines, data, strict=True)
    ]


def _shown(runs: Sequence[Content]) -> list[Line]:
    """All lines of one run, or the headlines if there are more runs."""
    return [line for line in merged(runs) if line.beside] if len(runs) > 1 else lines_of(runs[0])


def cell_text(m: Mapping[str, Any] | None, line: Line, separator: str = " ") -> str:
    """Format a measurement with the names of its flags; ``separator`` precedes the interval."""
    if line.text or m is None:
        return line.text
    if m["value"] is None:
        return f"undefined: {m['reason']}{marks(m['flags'])}"
    if few := too_few(m["n"], m["flags"]):
        return f"{few}{marks(m['flags'])}"
    text, interval = precise(m, line.unit)
    return f"{text}{separator if interval else ''}{interval} {basis(m)}{marks(m['flags'])}"


def build(results: Mapping[str, Content], title: str = TITLE, in_terminal: bool = False) -> Cells:
    """The table of runs.

    Args:
        results: Folder to content of its results.json.
        title: Above the labels of the lines.
        in_terminal: Whether to indent labels, with headings and numbers of runs; otherwise an indented label follows
            the headline above it.
    """
    runs = list(results.values())
    lines = _shown(runs)
    is_single = len(runs) == 1
    separator = "\n" if in_terminal and not is_single else " "
    headline = section = ""
    rows: list[list[str | Text]] = []
    for line, label in zip(lines, _labels(runs, lines), strict=True):
        if in_terminal and line.section not in ("", section):
            section = line.section
            abouts = [run["display"]["sections"].get(section, {"about": ()})["about"] for run in runs]
            texts = [printable(section), *(separator.join(map(printable, about)) for about in abouts)]
            rows.append([Text(text, "bold") for text in texts])
        headline = headline if line.level else label
        prefix = "  " * line.level if in_terminal else f"{headline} " if line.level else ""
        rows.append([prefix + label, *(cell_text(run["metrics"].get(line.metric), line, separator) for run in runs)])
    if not in_terminal:
        return Cells("", [title, *map(printable, results)], rows)
    data = dict.fromkeys(run["data"] for run in runs if run["counts"].get("examples", 1))
    splits = dict.fromkeys(run["split"] for run in runs)
    numbers = ["" if is_single else f"({i})" for i in range(1, len(runs) + 1)]
    return Cells(f"{', '.join(data)}, {', '.join(splits)}" if data else "", [title, *numbers], rows)


def print_table(
    results: Mapping[str, Content],
    console: Console | None = None,
    title: str = TITLE,
    notes: Sequence[str] = (),
    footer: Sequence[str] = (),
) -> None:
    """Print the numbers of one run, or the headlines of runs side by side.

    Args:
        results: Folder to content of its results.json.
        console: The terminal.
        title: Above the labels of the lines.
        notes: Further notes.
        footer: Lines below the names of the folders.
    """
    runs = list(results.values())
    lines = _shown(runs)
    texts = [*_no_merit(runs, lines), *filter(None, [_terms(lines)])]
    if len(runs) == 1:
        texts += [*asides_of(runs[0]), *_identical(runs[0]), *_not_shown(runs[0])]
    sentences = dict.fromkeys([*(run.get("note") for run in runs), *about_model(runs), *notes])
    texts += [f"Note: {text}" for text in sentences if text]
    folders = [f"in {name}" if len(runs) == 1 else f"({i}) {name}" for i, name in enumerate(results, 1)]
    emit([build(results, title, in_terminal=True)], notes=texts, footer=[*folders, *footer], console=console)


def footnotes(run: Content) -> list[str]:
    """The sentences below the table of one run whose cells have names of flags."""
    lines = lines_of(run)
    cells = (cell_text(run["metrics"].get(line.metric), line) for line in lines)
    raised = {flag for cell in cells for flag in MARK.findall(cell)}
    texts = [*filter(None, [_terms(lines)]), *(f"{flag}: {FLAGS[flag].short}." for flag in FLAGS if flag in raised)]
    texts += _no_merit([run], lines)
    return texts + [f"Note: {note}" for note in [run.get("note"), *about_model([run])] if note]


def _no_merit(runs: Sequence[Content], lines: Sequence[Line]) -> list[str]:
    """The warning of attentiveness of a model that is not above the majority."""
    flags = (run["metrics"].get(line.metric, {"flags": ()})["flags"] for run in runs for line in lines)
    is_attentiveness = any(line.metric.startswith("attentiveness/") for line in lines)
    return [NO_MERIT] if is_attentiveness and any(NOT_ABOVE_MAJORITY in each for each in flags) else []


def asides_of(run: Content) -> list[str]:
    """Further counts of the examples and the answers of a run, a sentence each."""
    return [*_examples(run, _shown([run])), *_answers(run)]


def _terms(lines: Sequence[Line]) -> str:
    """The meanings of labels that do not explain themselves, in one line."""
    used = {term for line in lines for term in _terms_of(line.label)}
    terms = [term for term in TERMS if term in used]
    return "; ".join(f"{term}: {TERMS[term]}" for term in terms) + "." if terms else ""


def meaning(label: str) -> str:
    """The meaning of the label of a line; "" if the label explains itself."""
    return next((TERMS[term] for term in _terms_of(label)), "")


def _terms_of(label: str) -> list[str]:
    """The terms in the label of a line: the longest at its end, and the one at its beginning.

    Labels of the null control, as "default label null_total_variation", are no share and have no term at the beginning.
    """
    ends = sorted((term for term in TERMS if f" {label}".endswith(f" {term}")), key=len)
    begins = [term for term in TERMS if "..." in term and label.startswith(term.removesuffix("..."))]
    return ends[-1:] + ([] if " null_" in label else begins)


def _not_shown(run: Content) -> Iterator[str]:
    """Names the kinds of numbers that only results.json has."""
    if run["display"]["asides"]:
        *words, last = dict.fromkeys(run["display"]["asides"])
        text = f"{', '.join(words)} and {last}" if words else last
        yield f"{text[0].upper()}{text[1:]}: results.json"


def _answers(run: Content) -> Iterator[str]:
    """Lines about answers: the most frequent texts that are no answer, and parts that get the same answer often."""
    counts = run["counts"]
    if texts := counts.get("no_answers"):
        quoted = ", ".join(f"{text!r} ({n:,} times)" for text, n in texts)
        yield f"The most frequent texts that are no answer: {quoted}."
    for evaluation in METRICS:
        for part, (text, n, total) in counts.get(f"{evaluation}/one_text", {}).items():
            share = f"{percent(n / total)} ({n:,} of {total:,})"
            yield f"With another {part}, {share} get the answer {text!r}, and no base input does."


def _examples(run: Content, lines: Sequence[Line]) -> Iterator[str]:
    """Count changes that never reach the model, truncated examples, repeated examples and training examples."""
    flagged = [
        f"{percent(run['metrics'][following.metric]['value'])} for {line.label!r}"
        for line, following in pairwise(lines)
        if following.label == UNREAD and UNREAD_CHANGES in run["metrics"][line.metric]["flags"]
    ]
    if flagged:
        yield f"Changes that never reach the model: {', '.join(flagged)}."
    counts = run["counts"]
    for prefix in ("", *(f"{name}/" for name in METRICS)):  # an evaluation may have examples of its own
        source = f" of {prefix[:-1]}" if prefix else ""
        if parts := counts.get(f"{prefix}tokens_kept"):
            n = counts[f"{prefix}examples"] + counts.get(f"{prefix}not_predicted", 0)
            read = [f"{part} {k:,} of {total:,} ({percent(k / max(1, total))})" for part, (k, total) in parts.items()]
            examples = f"of {agree(n, 'example', 'examples')}{source}"
            longer = agree(counts[f"{prefix}truncated"], f"{examples} is", f"{examples} are")
            yield f"{longer} longer than the model reads. Tokens that it reads: {', '.join(read)}."
            yield "A larger --model.max_length reads more."
        repeats, trained = ("is a repeat of another", "are repeats of others"), ("was trained on", "were trained on")
        for key, forms in (("repeats", repeats), ("trained_on", trained)):
            if count := counts.get(f"{prefix}{key}"):
                examples = f"of {agree(counts[f'{prefix}examples'], 'example', 'examples')}{source}"
                yield f"{agree(count, *(f'{examples} {form}' for form in forms))}."


def _identical(run: Content) -> Iterator[str]:
    """Counts the changed inputs that equal another input for the model and were not predicted again."""
    if identical := sum(run["counts"].get(f"{name}/identical", 0) for name in METRICS):
        same = agree(identical, "changed input was the same as another", "changed inputs were the same as others")
        yield f"{same} to the model; to save time they were predicted once."


def about_model(runs: Sequence[Content]) -> Iterator[str]:
    """A note on each run that was not finished, on each without gold labels, and on columns of the same weights."""
    columns: dict[str, list[str]] = {}
    for i, run in enumerate(runs, 1):
        if how_far := run.get("unfinished"):
            numbers = f"The numbers of ({i})" if len(runs) > 1 else "These numbers"
            yield f"{numbers} are from a run that had not ended: {how_far}."
        if run["counts"].get("unlabelled"):
            yield f"No gold labels{f' ({i})' if len(runs) > 1 else ''}: {UNKNOWN_WORTH}."
        if weights := run.get("identity", {}).get("weights"):
            columns.setdefault(weights, []).append(f"({i})")
    for numbers_of_columns in columns.values():
        if len(numbers_of_columns) > 1:
            yield f"{' and '.join(numbers_of_columns)} have the same weights."
