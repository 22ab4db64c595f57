"""Models on equal terms: ``heedful compare --agreed RUN RUN [RUN ...]`` (CAT, appendix D and table 16).

Attentiveness rests on the examples that a model does not predict as the default label, so that each model has its own.
Here all models are scored on U, the examples on which their base predictions agree. Rows are enough for that. Runs on
several data sets are compared within each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
from rich.console import Console

from heedful.metrics.hits import SwapSettings, hits
from heedful.metrics.metric import has_too_few_answers
from heedful.metrics.one_text import OneText
from heedful.metrics.statistics.draws import few_examples
from heedful.metrics.statistics.shares import difference, share
from heedful.records import MANY, SPAN, Context, Measurement, RunError, percent, printable
from heedful.records.answers import normalised
from heedful.records.rows import BASE, cluster_of, runs, strings, where
from heedful.reports.alike import PAIRED, of_each_set, require_alike
from heedful.reports.flags import FLAGS
from heedful.reports.runs import UNKNOWN_WORTH, Measured, is_above_majority, measured
from heedful.reports.tables import Cells, emit, grid, number

ATTENTIVENESS = "attentiveness"
ALONE, TOO_FEW_ANSWERS = (
    "no prediction of this model counts",
    "more than half of the answers of a model are none, or one text",
)
NOTHING = {"flags": ()}
HEADER = ("run", "on U", "n", "own score", "n", "on U - own")


@dataclass(frozen=True)
class Swaps:
    """The swaps of one part in one run, by base example.

    Attributes:
        answers: Texts [examples], the base predictions; of spans normalised.
        eligible: bool [examples], whether the example was swapped and its answer counts.
        changed: float64 [examples], how many of its swaps change the prediction.
        swaps: float64 [examples], how many of its swaps count.
        has_too_few: Whether none counts, since the run has too few answers.
    """

    answers: np.ndarray
    eligible: np.ndarray
    changed: np.ndarray
    swaps: np.ndarray
    has_too_few: bool

    @classmethod
    def of(cls, rows: pa.Table, part: str, context: Context) -> "Swaps":
        """Count those with an answer, in rows in their canonical order."""
        base = where(rows, intervention=BASE)
        answers = strings(rows.filter(pa.array(base)), "y")
        example = runs(rows, "uid")
        swapped = hits(rows, part, context)
        one_text = OneText.of_rows(rows, part, context)
        has_too_few = has_too_few_answers(rows, swapped.base_answered) or (
            one_text is not None and one_text.is_withheld
        )
        counted = np.zeros_like(base) if has_too_few else swapped.counted
        swaps = np.bincount(example[counted], minlength=len(answers))
        changed = np.bincount(example[counted & swapped.hit], minlength=len(answers))
        if context.kind is SPAN:
            answers = np.array([normalised(answer) for answer in answers], dtype=object)
        return cls(answers, swaps > 0, changed.astype(np.float64), swaps.astype(np.float64), has_too_few)


@dataclass(frozen=True)
class Comparison:
    """Runs on the examples on which their base predictions agree, for one part.

    Attributes:
        labels: The agreed prediction to how many examples of U have it.
        examples: How many were predicted.
        on_u: The score of each run on U.
        own: The score of each on all that it may be scored on.
        less: The first less the second.
        pairs: (i, j) to the score of run j less that of run i, on U.
    """

    labels: Mapping[str, int]
    examples: int
    on_u: Sequence[Measurement]
    own: Sequence[Measurement]
    less: Sequence[Measurement]
    pairs: Mapping[tuple[int, int], Measurement]


def swaps_of(run: Measured) -> tuple[pa.Table, Context]:
    """The rows of the attentiveness test, and their context.

    Raises:
        RunError: There are none, or no part was swapped.
    """
    if ATTENTIVENESS not in run.rows:
        raise RunError(
            f"{run.folder} has no rows of {ATTENTIVENESS}. Evaluate again, with that evaluation among evaluations."
        )
    rows, metadata = run.rows[ATTENTIVENESS]
    context = Context.of(metadata["context"])
    if not SwapSettings.from_context(context).swap:
        raise RunError(f"{run.folder}: no part was swapped, as for a model of one part alone. Leave it out.")
    return rows, context


def comparison(tables: Sequence[pa.Table], context: Context, part: str) -> Comparison:
    """Score runs on the examples that were swapped in all, and on which they predict the same, not the default label.

    Clusters of intervals are what examples share (``group``), or else examples.

    Args:
        tables: The rows of each run, of the same swaps of the same examples.
        context: The context of the rows of any.
        part: The part that was swapped.
    """
    of_runs = [Swaps.of(rows, part, context) for rows in tables]
    clusters = cluster_of(tables[0])[where(tables[0], intervention=BASE)]
    in_u = np.logical_and.reduce([s.eligible & (s.answers == of_runs[0].answers) for s in of_runs])
    agreed = of_runs[0].answers[in_u]
    labels, count = np.unique(agreed.astype(str), return_counts=True)
    none = "these models agree on no prediction" + (" but the default label" if context.default_label else "")
    if any(s.has_too_few for s in of_runs):
        none = TOO_FEW_ANSWERS
    n = int(in_u.sum())
    few = few_examples(n)

    def score(s: Swaps, here: np.ndarray, reason: str) -> Measurement:
        flags = few_examples(here.sum())
        return share(s.changed[here], clusters[here], flags, reason, counts=s.swaps[here])

    def less(s: Swaps) -> Measurement:
        here = s.eligible
        of = {"counts": (s.swaps * in_u)[here], "other_counts": s.swaps[here]}
        return difference((s.changed * in_u)[here], s.changed[here], clusters[here], few, none, n=n, **of)

    def between(one: Swaps, other: Swaps) -> Measurement:
        of = {
            "counts": one.swaps[in_u],
            "other_counts": other.swaps[in_u],
        }  # not the same where one of them gave no answer
        return difference(one.changed[in_u], other.changed[in_u], clusters[in_u], few, none, **of)

    return Comparison(
        labels=dict(zip(labels.tolist(), count.tolist(), strict=True)),
        examples=len(in_u),
        on_u=[score(s, in_u, none) for s in of_runs],
        own=[score(s, s.eligible, TOO_FEW_ANSWERS if s.has_too_few else ALONE) for s in of_runs],
        less=[less(s) for s in of_runs],
        pairs={(i, j): between(of_runs[j], of_runs[i]) for i, j in combinations(range(len(of_runs)), 2)},
    )


def cells(compared: Comparison, names: Sequence[str]) -> list[list[str]]:
    """The rows of the table, below :data:`HEADER`."""
    columns = zip(names, compared.on_u, compared.own, compared.less, strict=True)
    return [
        [name, number(u, ci95=True), str(u.n), number(own, ci95=True), str(own.n), number(less, "+", ci95=True)]
        for name, u, own, less in columns
    ]


def _print(compared: Comparison, heading: str, names: Sequence[str], console: Console) -> None:
    u = sum(compared.labels.values())
    by_label = ", ".join(f"{label} {count:,}" for label, count in compared.labels.items())
    console.print(f"\n{printable(heading)}", style="bold", markup=False)
    console.print("U holds the examples that all are tested on and predict alike.", highlight=False)
    told = f"U: {u:,} of {compared.examples:,} examples ({percent(u / max(1, compared.examples))})"
    many = f"{len(compared.labels):,} labels" if len(compared.labels) > MANY else by_label
    console.print(printable(f"{told}{': ' if u else ''}{many}"), markup=False, highlight=False)
    console.print(grid(HEADER, cells(compared, names), between=1))
    if not u:
        console.print(f"Undefined: {compared.on_u[0].reason}.", markup=False, highlight=False)
    for flag in dict.fromkeys(flag for m in (*compared.on_u, *compared.own, *compared.less) for flag in m.flags):
        console.print(f"Note: {FLAGS[flag].short}.", markup=False, highlight=False)
    for (i, j), m in compared.pairs.items() if u else ():
        console.print(f"on U, {names[j]} - {names[i]}: {number(m, '+', ci95=True)}", markup=False, highlight=False)


def print_agreed(folders: Sequence[str], with_all: bool, text_format: str | None) -> None:
    """Print the comparison of runs on each data set, for each part that was swapped.

    Args:
        folders: Folders of runs or of evaluations.
        with_all: Whether models that are not above the majority share are compared, too.
        text_format: One of :data:`FORMATS`: the tables in this format, and nothing else.
    """
    runs = measured(folders)
    if len(runs) < 2:
        raise RunError("There is nothing to compare. Name the folders of two runs or more.")
    names = {run.folder: f"({i})" for i, run in enumerate(runs, 1)}
    console = Console()
    swaps = {run.folder: swaps_of(run) for run in runs}
    for alike in of_each_set(runs):
        require_alike(alike, PAIRED, (ATTENTIVENESS,))
        _, context = swaps[alike[0].folder]
        for part in SwapSettings.from_context(context).swap:
            included = [run for run in alike if with_all or is_above_majority(run.attentiveness().get(part, NOTHING))]
            heading = f"{context.data}, {alike[0].split}: {part} swapped"
            if len(included) < 2:
                told = "fewer than two models have an accuracy above the majority share; --all compares the others, too"
                console.print(f"\n{heading}: {told}.", markup=False)
                continue
            compared = comparison([swaps[run.folder][0] for run in included], context, part)
            if text_format:
                rows = cells(compared, [run.folder for run in included])
                emit([Cells(heading, HEADER, rows)], text_format)
                continue
            _print(compared, heading, [names[run.folder] for run in included], console)
            for run in (run for run in alike if run not in included):
                console.print(f"{names[run.folder]} -: accuracy not above the majority share (see --all)")
    for run in runs if not text_format else ():
        unfinished = run.results.get("unfinished")
        how_far = f" (a run that had not ended: {unfinished})" if unfinished else ""
        shown = printable(f"{names[run.folder]} {run.folder}{how_far}")
        console.print(shown, soft_wrap=True, highlight=False, markup=False)
        if run.unlabelled:
            console.print(f"{names[run.folder]} has no gold labels: {UNKNOWN_WORTH}.", highlight=False, markup=False)
