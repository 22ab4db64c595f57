"""Print the table of runs: all numbers of one run, or the main numbers of several runs side by side."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from rich.console import Console

from heedful.metrics import METRICS
from heedful.metrics.attentiveness import DEFAULT_UNSEEN, unseen_default_text
from heedful.metrics.metric import UNREAD_CHANGES
from heedful.metrics.statistics.draws import is_known
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import MetricName, agree, percent, printable
from heedful.records.rows import UNREAD
from heedful.records.storage.yaml_files import word_lists
from heedful.reports.flags import FLAGS, MARK, marks
from heedful.reports.lines import Line, count_hidden, lines_of
from heedful.reports.runs import UNKNOWN_WORTH
from heedful.reports.tables import Cells, Number, basis, emit, precise, too_few

NO_MERIT = "A high attentiveness is no merit here: guesses change, too. A low one still means an ignored part."
TERMS: dict[str, str] = word_lists(__file__)  # table.yaml: explanations of labels
TITLE = "% ± std over draws [95 %]"
Content = Mapping[str, Any]  # content of results.json


def merged(runs: Sequence[Content]) -> list[Line]:
    """Return the lines of all runs in the order of the runs; a line that several runs have occurs once."""
    lines: dict[tuple[str, str], Line] = {}
    for line in (line for run in runs for line in lines_of(run)):
        lines.setdefault((line.metric, line.label), line)
    return list(lines.values())


def _labels(runs: Sequence[Content], lines: Sequence[Line], in_terminal: bool) -> list[str]:
    """Return the labels of lines, with data sets for several; see :func:`build` for ``in_terminal``."""
    names = {str(name): name for run in runs for name in (MetricName(*fields) for fields in run["names"])}
    data = [names[line.metric].data if line.metric in names else "" for line in lines]
    has_several = len(runs) > 1 and len(set(data) - {""}) > 1
    labels, headline = [], ""
    for line, name in zip(lines, data, strict=True):
        label = f"{line.label} {name}" if has_several and name and name not in line.label.split() else line.label
        headline = headline if line.level else label
        prefix = "  " * line.level if in_terminal else f"{headline} " if line.level else ""
        labels.append(prefix + label)
    return labels


def _shown(runs: Sequence[Content]) -> list[Line]:
    """Return the lines that the table shows: all lines of a single run, or the headlines of several runs."""
    return [line for line in merged(runs) if line.is_headline] if len(runs) > 1 else lines_of(runs[0])


def cell_text(m: Mapping[str, Any] | None, line: Line, separator: str = " ") -> str:
    """Format a measurement with its interval, sample size and flags.

    Args:
        m: Entry of results.json; None for a run that lacks the metric.
        line: The line of the table.
        separator: Text between the value and its interval.
    """
    if line.text or m is None:
        return line.text
    text = f"undefined: {m['reason']}" if m["value"] is None else too_few(m["n"], m["flags"])
    if not text:
        value, interval = precise(m, line.unit)
        text = f"{value}{separator if interval else ''}{interval} {basis(m)}"
    return Number(text + marks(m["flags"]), m)


def build(results: Mapping[str, Content], title: str = TITLE, in_terminal: bool = False) -> Cells:
    """Build the table of runs: a column of labels, a row for each number, and a column for each run.

    Args:
        results: Content of results.json by folder.
        title: Title of the column of labels.
        in_terminal: Whether labels are indented by level, and columns of several runs are numbered; if not, the label
            of a detail begins with the label of its main row, and columns are named by folder.
    """
    runs = list(results.values())
    lines = _shown(runs)
    is_single = len(runs) == 1
    separator = "\n" if in_terminal and not is_single else " "
    rows = [
        [label, *(cell_text(run["metrics"].get(line.metric), line, separator) for run in runs)]
        for line, label in zip(lines, _labels(runs, lines, in_terminal), strict=True)
    ]
    if not in_terminal:
        return Cells("", [title, *map(printable, results)], rows)
    data = dict.fromkeys(run["data"] for run in runs if run["counts"].get("examples", 1))
    splits = dict.fromkeys(run["split"] for run in runs)
    numbers = ["" if is_single else f"({i})" for i in range(1, len(runs) + 1)]
    return Cells(f"{', '.join(data)}, {', '.join(splits)}" if data else "", [title, *numbers], rows)


def in_columns(results: Mapping[str, Content]) -> Cells:
    """Build a table of results by folder for CSV: a row for each number of each run, and a column for each field."""
    runs = list(results.values())
    lines = _shown(runs)
    rows = [
        [printable(folder), label, line.metric, line.unit, Number("", m)]
        for folder, run in results.items()
        for line, label in zip(lines, _labels(runs, lines, False), strict=True)
        if not line.text and (m := run["metrics"].get(line.metric)) is not None
    ]
    return Cells("", ("run", "label", "metric", "unit", ""), rows)


def print_table(
    results: Mapping[str, Content],
    console: Console | None = None,
    title: str = TITLE,
    notes: Sequence[str] = (),
    footer: Sequence[str] = (),
) -> None:
    """Print the table of runs, with notes.

    Args:
        results: Content of results.json by folder.
        console: The terminal.
        title: Title of the column of labels.
        notes: Further notes.
        footer: Lines below the paths of the folders.
    """
    runs = list(results.values())
    lines = _shown(runs)
    texts = [*_no_merit(runs, lines), *_terms(lines)]
    if len(runs) == 1:
        texts += [*asides_of(runs[0]), *_remarks(runs[0])]
    sentences = dict.fromkeys([*(run.get("note") for run in runs), *about_model(runs), *notes])
    texts += [f"Note: {text}" for text in sentences if text]
    folders = [f"in {name}" if len(runs) == 1 else f"({i}) {name}" for i, name in enumerate(results, 1)]
    emit([build(results, title, in_terminal=True)], notes=texts, footer=[*folders, *footer], console=console)


def footnotes(run: Content) -> list[str]:
    """Return the sentences that stand below the table of a single run: explanations of labels and flags, and notes."""
    lines = lines_of(run)
    cells = (cell_text(run["metrics"].get(line.metric), line) for line in lines)
    raised = {flag for cell in cells for flag in MARK.findall(cell)}
    flags = [f"{flag}: {FLAGS[flag].short}." for flag in FLAGS if flag in raised]
    notes = [f"Note: {note}" for note in [run.get("note"), *about_model([run])] if note]
    return [*_terms(lines), *flags, *_no_merit([run], lines), *notes]


def _no_merit(runs: Sequence[Content], lines: Sequence[Line]) -> list[str]:
    """Return a warning about a high attentiveness if the accuracy of a model is not above the majority share."""
    names = [line.metric for line in lines if line.metric.startswith("attentiveness/")]
    measured = [m for run in runs for name in names if is_known(m := run["metrics"].get(name))]
    return [NO_MERIT] if any(NOT_ABOVE_MAJORITY in m["flags"] for m in measured) else []


def asides_of(run: Content) -> list[str]:
    """Return sentences about the counts of a run, such as unread changes, truncated examples, and no answers."""
    return [*_examples(run, _shown([run])), *_answers(run)]


def _terms(lines: Sequence[Line]) -> list[str]:
    """Explain the labels of a table in one sentence; none if no label needs an explanation."""
    used = {term for line in lines for term in _term_keys(line.label)}
    texts = [f"{term}: {TERMS[term]}" for term in TERMS if term in used]
    return [f"{'; '.join(texts)}."] if texts else []


def meaning(label: str) -> str:
    """Return the explanation of a label in table.yaml; "" for none."""
    return next((TERMS[term] for term in _term_keys(label)), "")


def _term_keys(label: str) -> list[str]:
    """Return the keys of table.yaml that explain the end of a label (the longest one), then those of its beginning."""
    # Keys with dots, such as "default label ...", explain shares of predictions. Numbers of the null control (which
    # predicts the same inputs again), such as "default label null_total_variation", are no such shares
    ends = sorted((term for term in TERMS if f" {label}".endswith(f" {term}")), key=len)
    begins = [term for term in TERMS if "..." in term and label.startswith(term.removesuffix("..."))]
    return ends[-1:] + ([] if " null_" in label else begins)


def _answers(run: Content) -> Iterator[str]:
    """Yield notes on texts that are no answer, on an unseen default label, and on texts that swapped inputs share."""
    counts = run["counts"]
    if texts := counts.get("no_answers"):
        quoted = ", ".join(f"{text!r} ({n:,} times)" for text, n in texts)
        yield f"The most frequent texts that are no answer: {quoted}."
    if halved := counts.get("halved_batches"):
        were = agree(halved, "batch was", "batches were")
        yield f"{were} too large for the memory of the device, and predicted in halves."
    if unseen := counts.get(f"attentiveness/{DEFAULT_UNSEEN}"):
        yield unseen_default_text(unseen[0], unseen[1:])
    for evaluation in METRICS:
        for part, (text, n, total) in counts.get(f"{evaluation}/one_text", {}).items():
            share = f"{percent(n / total)} ({n:,} of {total:,})"
            often = f"With another {part}, {share} get the answer {text!r}, and no base input does."
            yield f"{often} If this answer is right for unrelated parts, it is the default label."


def _examples(run: Content, lines: Sequence[Line]) -> Iterator[str]:
    """Yield notes with shares of unread changes, and with numbers of truncated, repeated and training examples."""
    flagged = [
        f"{percent(run['metrics'][following.metric]['value'])} for {line.label!r}"
        for line, following in pairwise(lines)
        if following.label == UNREAD and UNREAD_CHANGES in run["metrics"][line.metric]["flags"]
    ]
    if flagged:
        yield f"Changes that never reach the model: {', '.join(flagged)}."
    counts = run["counts"]
    for prefix in ("", *(f"{name}/" for name in METRICS)):  # some evaluations have other examples
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


def _remarks(run: Content) -> Iterator[str]:
    """Yield notes on changed inputs that equal another input, and on numbers that are only in results.json."""
    if identical := sum(run["counts"].get(f"{name}/identical", 0) for name in METRICS):
        same = agree(identical, "changed input was the same as another", "changed inputs were the same as others")
        yield f"{same} to the model; to save time they were predicted once."
    if hidden := count_hidden(run):
        yield f"results.json has {agree(hidden, 'more number', 'more numbers')}."


def about_model(runs: Sequence[Content]) -> Iterator[str]:
    """Yield notes on unfinished runs, runs without gold labels, and columns (runs) with the same weights."""
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
