"""The effect of inoculation: ``heedful compare --inoculation BEFORE AFTER [AFTER ...]``.

Each argument is a folder of evaluate.py: the model before inoculation, then models after it, on the same data with the
same settings. These data are the original test. A challenge test holds their examples after one kind of change
(:mod:`heedful.metrics.tables.challenge`), or is a separate set. If there are several splits, each is a test; a set is
compared with the split that its name ends with, or with all splits.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
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
from heedful.records import Context, DataError, MetricName, RunError
from heedful.records.rows import of_split
from heedful.records.storage.results import RESULTS, read_results
from heedful.reports.alike import DATA, KIND, PAIRED, require_alike
from heedful.reports.runs import Run, read_runs, require_gold
from heedful.reports.tables import Cells, emit, number, percents

ORIGINAL, CHALLENGE, SETS = "accuracy", "challenge", "counterfactual_tables"  # evaluations
TIMES = ("before", "after", "change")
PARTS = {"original": "original test", "paired": "paired originals", "challenge": "challenge", "gap": "gap"}
WAYS = {f"/{way}": way.replace("_", " ") for way in FROM} | {f"/{BOTH_WAYS}": "mean of both"}  # of flipped labels
Families = dict[str, tuple[str, ...]]  # kind of change to its interventions


class Test(NamedTuple):
    """A challenge test."""

    evaluation: str  # the evaluation that has its rows
    source: str  # prefix of its uids; "" for all
    family: str  # kind of change: "perturb", "title" or "annotated"
    interventions: tuple[str, ...]  # the interventions of this kind
    kind: str  # "preserved" or "flipped"
    split: str = ""  # its split, if there are several; "" for all

    def __str__(self) -> str:
        split = f", {self.split}" if self.split and not self.source else ""
        return f"{self.source or self.evaluation}{split}, {self.family}, label {self.kind}"

    def select(self, rows: pa.Table) -> pa.Table:
        """Select the rows of the test from the rows of its evaluation."""
        if self.source:
            return rows.filter(pc.starts_with(rows["uid"], f"{self.source}/"))
        return _in_split(rows, self.split)


def _in_split(rows: pa.Table, split: str) -> pa.Table:
    return of_split(rows, split) if split else rows


def _sets(evaluation: str, context: Context, splits: Sequence[str]) -> Iterator[tuple[str, str, Families]]:
    """The prefix of uids, the split and the families of interventions by challenge set."""
    if evaluation == SETS:
        for name in CounterfactualTablesSettings.from_context(context).sets:
            source = set_data(name)
            *annotated, title = set_changes(name)
            split = next((split for split in splits if source.endswith(f"-{split}")), "")
            yield source, split, {"annotated": tuple(annotated), "title": (title,)}
        return
    settings = ChallengeSettings.from_context(context)
    perturbed = tuple(perturbations(settings.kinds))
    titles = (TITLE,) if settings.title else ()
    for split in splits or ("",):
        yield "", split, {"perturb": perturbed, "title": titles}


def challenge_tests(rows: pa.Table, evaluation: str, context: Context, splits: Sequence[str] = ()) -> Iterator[Test]:
    """The challenge tests in the rows of an evaluation.

    Args:
        rows: The rows.
        evaluation: Name of the evaluation.
        context: Context of the rows.
        splits: The splits of the evaluated data, if there are several.
    """
    for source, split, families in _sets(evaluation, context, splits):
        for family, names in families.items():
            test = Test(evaluation, source, family, names, "", split)
            pairs = challenge_pairs(test.select(rows), names) if names else {}
            yield from (test._replace(kind=kind) for kind in KINDS if pairs.get(kind))


def compare(before: Path, after: Path) -> dict[Test, Numbers]:
    """:func:`heedful.metrics.tables.inoculation.inoculation` by challenge test of two evaluations.

    Raises:
        HeedfulError: The evaluations have no original test, no common challenge test, or other examples or seeds.
    """
    if before.resolve() == after.resolve():
        raise RunError(f"{after} is the evaluation before inoculation. Name an evaluation after inoculation.")
    runs = first, second = read_runs([str(before), str(after)])
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
            original = tuple(_in_split(run.rows[ORIGINAL][0], test.split) for run in runs)
            challenge = tuple(map(test.select, rows))
            seed = first.results["seed"]
            compared[test] = inoculation(original, challenge, str(test), test.interventions, test.kind, seed)
    if not compared:
        raise RunError(
            f"{before} and {after} have no common rows of {CHALLENGE} or {SETS}. Evaluate again, with one among "
            "evaluations."
        )
    return compared


def _cells(test: Test, numbers: Numbers) -> Cells:
    """The table of a challenge test: each part before, after, and its change; for flipped labels also by direction."""
    rows = []
    for part, label in PARTS.items():
        ways = WAYS if (part, test.kind) == ("challenge", FLIPPED) else {}
        for way, name in {"": label, **ways}.items():
            entries = [numbers[MetricName(INOCULATION, str(test), part, f"{time}{way}")] for time in TIMES]
            cells = [number(m, sign, ci95=True) for m, sign in zip(entries, ("", "", "+"), strict=True)]
            rows.append([name, str(entries[0].n), *cells])
    outcome = fill(f"outcome {inoculation_outcome(numbers, str(test))}", 80, subsequent_indent="  ")
    return Cells(f"challenge: {test}", ["%", "n", *TIMES], rows, outcome)


def _chosen_by(run: Run) -> Iterator[str]:
    """The validation accuracy that selected the best epoch, if the evaluation lies in the folder of its run."""
    parent = next((at for at in Path(run.folder).absolute().parents[1:3] if (at / RESULTS).is_file()), None)
    results = read_results(parent) if parent is not None else {"metrics": {}, "data": ""}
    value = results["metrics"].get(str(MetricName(ORIGINAL, results["data"])), {"value": None})["value"]
    if value is not None:
        yield f"accuracy on {results['split']} during training: {percents(value)}"


def print_inoculation(evaluations: Sequence[str], text_format: str | None = None) -> None:
    """Compare the first folder, the model before inoculation, with each of the others.

    Args:
        evaluations: The folders.
        text_format: One of :data:`FORMATS`, or None for a terminal.
    """
    if len(evaluations) < 2:
        raise RunError("There is nothing to compare. Name the evaluation before inoculation, and one or more after it.")
    before, *after = map(Path, evaluations)
    if missing := next((folder for folder in (before, *after) if not folder.is_dir()), None):
        raise DataError(f"{missing} is not a folder.")
    for folder in after:
        tables = [_cells(test, numbers) for test, numbers in compare(before, folder).items()]
        footer = [f"before: {before}", f"after: {folder}", *_chosen_by(read_runs([str(folder)])[0])]
        emit(tables, text_format, footer=footer)
