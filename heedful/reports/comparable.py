"""The report ``heedful compare --agreed RUN RUN [RUN ...]``: attentiveness of models on the same examples.

Other reports measure each model on the examples that are eligible for it. This report measures all models on the set U:
the examples for which all models predict the same label, other than the default label. Source: CAT, appendix D.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from heedful.metrics.hits import SwapSettings, hits
from heedful.metrics.metric import has_too_few_answers
from heedful.metrics.one_text import OneText
from heedful.metrics.statistics.draws import Drawn, few_examples, mean_over_draws
from heedful.metrics.statistics.paired import change, recording
from heedful.records import MANY, Context, Measurement, RunError, percent
from heedful.records.rows import BASE, rows_with, strings
from heedful.records.text import normal_form
from heedful.reports.alike import PAIRED, by_data, require_alike
from heedful.reports.flags import FLAGS
from heedful.reports.runs import ATTENTIVENESS, UNKNOWN_WORTH, is_above_majority, read_runs
from heedful.reports.tables import Cells, emit, number

TOO_FEW_ANSWERS = "more than half of the answers of a model are none, or one text"
UNFLAGGED: Mapping[str, tuple[str, ...]] = MappingProxyType({"flags": ()})
MEANING = "U holds the examples for which all models predict the same label, other than the default label."
HEADER = ("run", "on U", "n", "own score", "n", "on U - own")


@dataclass(frozen=True)
class Swaps:
    """The predictions of a run for the original examples, and the swaps of one part that count for attentiveness."""

    answers: np.ndarray  # predictions for the original examples, normalised if they are spans: object [examples]
    eligible: np.ndarray  # whether any swap of the example counts: bool [examples]
    hit: np.ndarray  # whether the swap changes the prediction: bool [swaps]
    columns: Drawn  # example, draw and clusters of the swaps
    has_too_few: bool  # whether no swap counts because too many inputs got no answer

    @classmethod
    def of(cls, rows: pa.Table, part: str, context: Context) -> "Swaps":
        """Read the swaps of a part from rows of the attentiveness evaluation, in canonical order."""
        answers = strings(rows.filter(pa.array(rows_with(rows, intervention=BASE))), "y")
        if context.kind.has_spans:
            answers = np.array([normal_form(answer) for answer in answers], dtype=object)
        swapped = hits(rows, part, context)
        one_text = OneText.of_rows(rows, part, context)
        is_withheld = one_text is not None and one_text.is_withheld
        has_too_few = is_withheld or has_too_few_answers(rows, swapped.base_answered)
        counted = np.zeros_like(swapped.counted) if has_too_few else swapped.counted
        columns = Drawn.of(rows).where(counted)
        eligible = np.bincount(columns.uid, minlength=len(answers)) > 0
        return cls(answers, eligible, swapped.hit[counted], columns, has_too_few)

    def score(self, examples: np.ndarray, reason: str) -> Measurement:
        """Return the attentiveness over the examples of a mask, bool [examples]; ``reason`` if none of them counts."""
        among = examples[self.columns.uid]
        columns = self.columns.where(among)
        return mean_over_draws(self.hit[among].astype(float), columns, few_examples(columns.examples), reason)


@dataclass(frozen=True)
class Comparison:
    """The attentiveness to one part in several runs: per run, the share of swaps of the part that change a prediction.

    An example is eligible in a run if at least one of its swaps counts: the model answers it, but not with the default
    label. U is the set of examples that are eligible in all runs and have the same prediction in all runs.
    """

    labels: Mapping[str, int]  # number of examples in U by predicted label
    examples: int  # number of predicted examples
    on_u: Sequence[Measurement]  # attentiveness on the examples in U, by run
    eligible: Sequence[Measurement]  # attentiveness on all eligible examples of a run, by run
    less: Sequence[Measurement]  # on_u minus eligible, by run
    pairs: Mapping[tuple[int, int], Measurement]  # for runs (i, j), on_u of run j minus on_u of run i


def comparison(tables: Sequence[pa.Table], context: Context, part: str) -> Comparison:
    """Compare the attentiveness to a part; ``tables`` are the rows of runs, with the same swaps of the same examples.

    Values and intervals are computed as in :mod:`heedful.metrics.attentiveness`.
    """
    swaps = [Swaps.of(rows, part, context) for rows in tables]
    in_u = np.logical_and.reduce([s.eligible & (s.answers == swaps[0].answers) for s in swaps])
    labels, count = np.unique(swaps[0].answers[in_u].astype(str), return_counts=True)
    none = "these models agree on no prediction" + (" but the default label" if context.default_label else "")
    if any(s.has_too_few for s in swaps):
        none = TOO_FEW_ANSWERS
    reasons = [TOO_FEW_ANSWERS if s.has_too_few else "no prediction of this model counts" for s in swaps]
    with recording():
        on_u = [s.score(in_u, none) for s in swaps]
        eligible = [s.score(s.eligible, reason) for s, reason in zip(swaps, reasons, strict=True)]
    n = int(in_u.sum())

    def difference(first: Measurement, second: Measurement) -> Measurement:
        return replace(change(first, second) or Measurement(None, n, reason=none), n=n, flags=few_examples(n))

    return Comparison(
        labels=dict(zip(labels.tolist(), count.tolist(), strict=True)),
        examples=len(in_u),
        on_u=on_u,
        eligible=eligible,
        less=[difference(*pair) for pair in zip(eligible, on_u, strict=True)],
        pairs={(i, j): difference(on_u[i], on_u[j]) for i, j in combinations(range(len(swaps)), 2)},
    )


def table(compared: Comparison, heading: str, names: Sequence[str]) -> Cells:
    """Return a comparison as a table of runs with these names; the caption has U and the differences of all pairs."""
    rows = []
    for name, on_u, eligible, less in zip(names, compared.on_u, compared.eligible, compared.less, strict=True):
        scores = [cell for m in (on_u, eligible) for cell in (number(m, ci95=True), str(m.n))]
        rows.append([name, *scores, number(less, "+", ci95=True)])
    u = sum(compared.labels.values())
    by_label = ", ".join(f"{label} {count:,}" for label, count in compared.labels.items())
    labels = f": {len(compared.labels):,} labels" if len(compared.labels) > MANY else f": {by_label}" if u else ""
    share_of_u = f"U: {u:,} of {compared.examples:,} examples ({percent(u / max(1, compared.examples))})"
    lines = [MEANING, share_of_u + labels] + ([] if u else [f"Undefined: {compared.on_u[0].reason}."])
    flags = (flag for m in (*compared.on_u, *compared.eligible, *compared.less) for flag in m.flags)
    lines += [f"Note: {FLAGS[flag].short}." for flag in dict.fromkeys(flags)]
    for (i, j), m in compared.pairs.items() if u else ():
        lines.append(f"on U, {names[j]} - {names[i]}: {number(m, '+', ci95=True)}")
    return Cells(heading, HEADER, rows, "\n".join(lines))


def print_agreed(folders: Sequence[str], with_all: bool, text_format: str | None) -> None:
    """Print a :class:`Comparison` for each data set and swapped part.

    Args:
        folders: Folders of runs.
        with_all: Whether to include models that are not above the majority share.
        text_format: One of :data:`.FORMATS`; None for a terminal.
    """
    measured = read_runs(folders)
    if len(measured) < 2:
        raise RunError("There is nothing to compare. Name the folders of two runs or more.")
    names = {run.folder: run.folder if text_format else f"({i})" for i, run in enumerate(measured, 1)}
    swaps = {run.folder: run.swaps() for run in measured}
    tables, notes = [], []
    for group in by_data(measured):
        require_alike(group, PAIRED, (ATTENTIVENESS,))
        _, context = swaps[group[0].folder]
        for part in SwapSettings.from_context(context).parts:
            heading = f"{context.data}, {group[0].split}: {part} swapped"
            above_majority = [run for run in group if is_above_majority(run.attentiveness().get(part, UNFLAGGED))]
            included = group if with_all else above_majority
            left_out = [names[run.folder] for run in group if run not in included]
            notes += [f"{name} -: accuracy not above the majority share (see --all)" for name in left_out]
            if len(included) < 2:
                notes.append(f"{heading}: fewer than two models have an accuracy above the majority share.")
                continue
            compared = comparison([swaps[run.folder][0] for run in included], context, part)
            tables.append(table(compared, heading, [names[run.folder] for run in included]))
    footer = []
    for run in measured:
        state = f" (a run that had not ended: {run.results['unfinished']})" if run.results.get("unfinished") else ""
        footer += [f"{names[run.folder]} {run.folder}{state}"]
        footer += [f"{names[run.folder]} has no gold labels: {UNKNOWN_WORTH}."] if run.unlabelled else []
    emit(tables, text_format, dict.fromkeys(notes), footer)
