"""The report ``heedful compare --inoculation BEFORE AFTER [AFTER ...]``: the effect of inoculation.

A challenge test consists of edited examples; inoculation is training on a few of them. The report compares the accuracy
before and after inoculation on the original test, on the challenge test, and on the originals of the edited examples.

Each split of the evaluated data is an original test. A challenge test is an original test after one kind of change, or
a separate data set: the original test of "counterfactuals-alpha1" is the split "alpha1" if there is one, else all data.
"""

from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.number import Numbers
from heedful.metrics.tables.challenge import (
    BOTH_WAYS,
    FLIPPED,
    FROM,
    KINDS,
    TITLE,
    ChallengeSettings,
    challenge_pairs,
    perturbations,
)
from heedful.metrics.tables.counterfactual_tables import CounterfactualTablesSettings, set_changes, set_data
from heedful.metrics.tables.inoculation import INOCULATION, inoculation, inoculation_outcome
from heedful.records import Context, MetricName, RunError
from heedful.records.rows import of_split
from heedful.reports.alike import DATA, KIND, PAIRED, require_alike
from heedful.reports.runs import Run, read_runs, require_gold
from heedful.reports.tables import Cells, emit, number

ORIGINAL, CHALLENGE, SETS = "accuracy", "challenge", "counterfactual_tables"  # names of evaluations
TIMES = ("before", "after", "change")
PARTS = {"original": "original test", "paired": "paired originals", "challenge": "challenge", "gap": "gap"}
# Directions in which a change flips the label: label in the table by ending of the statistic
WAYS = {f"/{way}": way.replace("_", " ") for way in FROM} | {f"/{BOTH_WAYS}": "mean of both"}


class Test(NamedTuple):
    """Description of a challenge test: examples after one kind of change, and the evaluation that has measured them."""

    evaluation: str  # the evaluation that measured the test
    source: str  # name of a separate data set, the prefix of its uids; "" for changed examples of the evaluated data
    family: str  # kind of change: "perturb", "title" or "annotated"
    interventions: tuple[str, ...]  # interventions of this kind
    kind: str = ""  # "preserved" or "flipped", the effect of the change on the label
    split: str = ""  # split of the original examples; "" for all splits

    def __str__(self) -> str:
        split = f", {self.split}" if self.split and not self.source else ""
        return f"{self.source or self.evaluation}{split}, {self.family}, label {self.kind}"

    def select(self, rows: pa.Table) -> pa.Table:
        """Select the rows with the source or the split of this test from the rows of its evaluation."""
        return rows.filter(pc.starts_with(rows["uid"], f"{self.source}/")) if self.source else self.originals(rows)

    def originals(self, rows: pa.Table) -> pa.Table:
        """Select the rows with the split of this test from the rows of the original test."""
        return of_split(rows, self.split) if self.split else rows


def _families(evaluation: str, context: Context, splits: Sequence[str]) -> Iterator[Test]:
    """Yield the possible tests of an evaluation, without the kind: a test per set or split, and kind of change."""
    if evaluation == SETS:
        for name in CounterfactualTablesSettings.from_context(context).sets:
            source = set_data(name)
            *annotated, title = set_changes(name)
            split = next((split for split in splits if source.endswith(f"-{split}")), "")
            yield Test(evaluation, source, "annotated", tuple(annotated), split=split)
            yield Test(evaluation, source, "title", (title,), split=split)
        return
    settings = ChallengeSettings.from_context(context)
    for split in splits or ("",):
        yield Test(evaluation, "", "perturb", tuple(perturbations(settings.kinds)), split=split)
        yield Test(evaluation, "", "title", (TITLE,) if settings.title else (), split=split)


def challenge_tests(rows: pa.Table, evaluation: str, context: Context, splits: Sequence[str] = ()) -> Iterator[Test]:
    """Yield each challenge test with ``rows`` in an evaluation; ``splits`` are empty if the data have one split."""
    for test in _families(evaluation, context, splits):
        pairs = challenge_pairs(test.select(rows), test.interventions) if test.interventions else {}
        yield from (test._replace(kind=kind) for kind in KINDS if pairs.get(kind))


def compare(first: Run, second: Run) -> dict[Test, Numbers]:
    """Compute the numbers of :func:`heedful.metrics.tables.inoculation.inoculation` (accuracies before and after) for
    each challenge test.

    Args:
        first: The evaluation before inoculation.
        second: The evaluation after inoculation.

    Raises:
        HeedfulError: The evaluations have no original test or no common challenge test, or cannot be compared.
    """
    runs = (first, second)
    for run in runs:
        if ORIGINAL not in run.rows:
            raise RunError(f"{run.folder} has no rows/{ORIGINAL}.parquet. Evaluate again, with it among evaluations.")
        require_gold(run.folder, run.contexts[ORIGINAL])
    require_alike(runs, (KIND, DATA, *PAIRED), (ORIGINAL, CHALLENGE, SETS))
    splits = first.contexts[ORIGINAL].splits
    compared = {}
    for evaluation in (name for name in (CHALLENGE, SETS) if name in first.rows and name in second.rows):
        rows = [run.rows[evaluation][0] for run in runs]
        for test in challenge_tests(rows[0], evaluation, first.contexts[evaluation], splits):
            original = tuple(test.originals(run.rows[ORIGINAL][0]) for run in runs)
            challenge = tuple(map(test.select, rows))
            seed = first.results["seed"]
            compared[test] = inoculation(original, challenge, str(test), test.interventions, test.kind, seed)
    if not compared:
        raise RunError(
            f"{first.folder} and {second.folder} have no common rows of {CHALLENGE} or {SETS}. Evaluate again, with "
            "one among evaluations."
        )
    return compared


def _cells(test: Test, numbers: Numbers) -> Cells:
    """Return the table of a challenge test; if labels flip, also with accuracies by direction of the flip."""
    rows = []
    for part, label in PARTS.items():
        ways = WAYS if (part, test.kind) == ("challenge", FLIPPED) else {}
        for way, name in {"": label, **ways}.items():
            before, after, less = (numbers[MetricName(INOCULATION, str(test), part, f"{time}{way}")] for time in TIMES)
            cells = number(before, ci95=True), number(after, ci95=True), number(less, "+", ci95=True)
            rows.append([name, str(before.n), *cells])
    outcome = fill(f"outcome {inoculation_outcome(numbers, str(test))}", 80, subsequent_indent="  ")
    return Cells(f"challenge: {test}", ["%", "n", *TIMES], rows, outcome)


def print_inoculation(folders: Sequence[str], text_format: str | None = None) -> None:
    """Print the tables of all challenge tests; the first folder holds the evaluation before inoculation."""
    before, *after = read_runs(folders)
    if not after:
        raise RunError("There is nothing to compare. Name the evaluation before inoculation, and one or more after it.")
    for run in after:
        tables = [_cells(test, numbers) for test, numbers in compare(before, run).items()]
        emit(tables, text_format, footer=[f"before: {before.folder}", f"after: {run.folder}"])
