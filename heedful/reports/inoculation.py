"""The effect of inoculation: ``heedful compare --inoculation BEFORE AFTER [AFTER ...]``.

Each is a folder that evaluate.py wrote: of the model before inoculation, and of models after it, on the same data with
the same settings. The original test is these data; a challenge test is what one kind of change made of them
(:mod:`heedful.metrics.tables.challenge`), or a set of its own. Of several splits each is a test of its own; a set is
compared with the split of its name, and with all of them where there is none.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

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
from heedful.records import Context, DataError, MetricName, RunError, printable
from heedful.records.rows import of_split
from heedful.records.storage.results import RESULTS, read_evaluation, read_results
from heedful.reports.alike import DATA, KIND, PAIRED, require_alike
from heedful.reports.runs import measured, require_gold
from heedful.reports.tables import Cells, emit, number, percents

ORIGINAL, MADE, SETS = "accuracy", "challenge", "counterfactual_tables"  # evaluations
TIMES = ("before", "after", "change")
PARTS = {"original": "original test", "paired": "paired originals", "challenge": "challenge", "gap": "gap"}
WAYS = {f"/{way}": way.replace("_", " ") for way in FROM} | {f"/{BOTH_WAYS}": "mean of both"}  # of what flips
Families = dict[str, tuple[str, ...]]  # kinds of changes to their interventions


class Test(NamedTuple):
    """A challenge test.

    Attributes:
        evaluation: The evaluation whose rows hold it.
        source: What its uids begin with; "" for all.
        family: What kind of change made its examples: "perturb", "title" or "annotated".
        interventions: The interventions that did.
        kind: "preserved" or "flipped".
        split: The split that it is of, where there are several; "" for all.
    """

    evaluation: str
    source: str
    family: str
    interventions: tuple[str, ...]
    kind: str
    split: str = ""

    def __str__(self) -> str:
        of = f", {self.split}" if self.split and not self.source else ""
        return f"{self.source or self.evaluation}{of}, {self.family}, label {self.kind}"

    def of(self, rows: pa.Table) -> pa.Table:
        """Its rows among those of its evaluation."""
        return rows.filter(pc.starts_with(rows["uid"], f"{self.source}/")) if self.source else _in(rows, self.split)


def _in(rows: pa.Table, split: str) -> pa.Table:
    return of_split(rows, split) if split else rows


def _sets(evaluation: str, context: Context, splits: Sequence[str]) -> Iterator[tuple[str, str, Families]]:
    """The beginning of uids, the split and the families of interventions of each challenge set."""
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
        evaluation: Its name.
        context: The context of the rows.
        splits: The splits of the evaluated data, where there are several.
    """
    for source, split, families in _sets(evaluation, context, splits):
        for family, names in families.items():
            test = Test(evaluation, source, family, names, "", split)
            pairs = challenge_pairs(test.of(rows), names) if names else {}
            yield from (test._replace(kind=kind) for kind in KINDS if pairs.get(kind))


def compare(before: Path, after: Path) -> dict[Test, Numbers]:
    """:func:`heedful.metrics.tables.inoculation.inoculation` for each challenge test of two evaluations.

    Raises:
        HeedfulError: One of them has no rows of the original test, or they have no challenge test in common, or the
            examples or the seeds are not the same.
    """
    if before.resolve() == after.resolve():
        raise RunError(f"{after} is the evaluation before inoculation itself. Name one of another model.")
    rows_before, about_before = _original(before)
    rows_after, _ = _original(after)
    runs = measured([str(before), str(after)])
    seed = runs[0].results["seed"]
    require_alike(runs, (KIND, DATA, *PAIRED), (ORIGINAL, MADE, SETS))
    splits = Context.of(about_before["context"]).splits
    compared = {}
    for evaluation in (MADE, SETS):
        both = _in_common(evaluation, before, after)
        if both is None:
            continue
        challenge_before, challenge_after, context = both
        for test in challenge_tests(challenge_before, evaluation, context, splits):
            original = _in(rows_before, test.split), _in(rows_after, test.split)
            challenge = test.of(challenge_before), test.of(challenge_after)
            compared[test] = inoculation(original, challenge, str(test), test.interventions, test.kind, seed)
    if not compared:
        raise RunError(
            f"{before} and {after} have no rows of {MADE} or {SETS} in common. Evaluate again, with that evaluation "
            "among evaluations."
        )
    return compared


def _original(folder: Path) -> tuple[pa.Table, dict[str, Any]]:
    """The rows of the original test, and their metadata."""
    rows_and_metadata = read_evaluation(folder, ORIGINAL)
    if rows_and_metadata is None:
        raise RunError(
            f"{folder} has no rows/{ORIGINAL}.parquet. Evaluate again, with that evaluation among evaluations."
        )
    require_gold(folder, Context.of(rows_and_metadata[1]["context"]))
    return rows_and_metadata


def _in_common(evaluation: str, before: Path, after: Path) -> tuple[pa.Table, pa.Table, Context] | None:
    """The rows of an evaluation before and after, and the context of the first; None where one of them has none."""
    first = read_evaluation(before, evaluation)
    second = read_evaluation(after, evaluation)
    if first is None or second is None:
        return None
    return first[0], second[0], Context.of(first[1]["context"])


def _cells(test: Test, numbers: Numbers) -> Cells:
    """The table of a challenge test: each part before, after, and its change; of what flips each way as well."""
    rows = []
    for part, label in PARTS.items():
        ways = WAYS if (part, test.kind) == ("challenge", FLIPPED) else {}
        for way, name in {"": label, **ways}.items():
            measured = [numbers[MetricName(INOCULATION, str(test), part, f"{time}{way}")] for time in TIMES]
            cells = [number(m, sign, ci95=True) for m, sign in zip(measured, ("", "", "+"), strict=True)]
            rows.append([name, str(measured[0].n), *cells])
    return Cells(f"challenge: {test}", ["%", "n", *TIMES], rows)


def _chosen_by(folder: Path) -> str:
    """The accuracy by which the best epoch of the run was chosen, where the folder lies in that of its run."""
    run = next((at for at in folder.absolute().parents[1:3] if (at / RESULTS).is_file()), None)
    results = read_results(run) if run is not None else {"metrics": {}, "data": ""}
    value = results["metrics"].get(str(MetricName(ORIGINAL, results["data"])), {"value": None})["value"]
    return "" if value is None else f"accuracy on {results['split']}, when it was trained: {percents(value)}"


def print_comparison(before: Path, after: Path) -> None:
    """Print the effect of inoculation on one model, in percent, for each challenge test."""
    print(f"\nafter: {printable(str(after))}")
    if said := _chosen_by(after):
        print(said)
    for test, numbers in compare(before, after).items():
        emit([_cells(test, numbers)], between=1)
        outcome = inoculation_outcome(numbers, str(test))
        print(fill(f"outcome {outcome}", 80, subsequent_indent="  "))


def print_inoculation(evaluations: Sequence[str]) -> None:
    """Print the comparison of the first folder, of the model before inoculation, with each of the others."""
    if len(evaluations) < 2:
        raise RunError("There is nothing to compare. Name the evaluation before inoculation, and one or more after it.")
    before, *others = map(Path, evaluations)
    if missing := next((folder for folder in (before, *others) if not folder.is_dir()), None):
        raise DataError(f"{missing} is not a folder.")
    print(f"before: {printable(str(before))}")
    for after in others:
        print_comparison(before, after)
