"""What inoculation did: ``python -m reports.inoculation BEFORE AFTER [AFTER ...]``.

Each is a folder that evaluate.py wrote: of the model before inoculation, and of models after it, on the same data with
the same settings. The original test is these data; a challenge test is what one kind of change made of them
(:mod:`metrics.tables.challenge`), or a set of its own. Of several splits each is a test of its own; a set is compared
with the split of its name, and with all of them where there is none.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from interventions.tables.allowed_transitions import LABELS
from metrics.tables.challenge import KINDS, challenge_pairs
from metrics.tables.inoculation import inoculation, inoculation_outcome
from records import HeedError, Measurement, printable, run_command
from records.rows import BASE, contents, difference, sliced, strings
from records.storage.results import RESULTS, read_evaluation, read_results

NEUTRAL = LABELS[1]
ORIGINAL, MADE, SETS = "accuracy", "challenge", "counterfactual_tables"  # evaluations


class Test(NamedTuple):
    """A challenge test.

    Attributes:
        evaluation: The evaluation whose rows hold it.
        source: What its uids begin with; "" for all.
        interventions: What made its examples.
        kind: "preserved" or "flipped".
        split: The split that it is of, where there are several; "" for all.
    """

    evaluation: str
    source: str
    interventions: tuple[str, ...]
    kind: str
    split: str = ""

    def __str__(self) -> str:
        family = self.interventions[0].partition("/")[0]
        of = f", {self.split}" if self.split and not self.source else ""
        return f"{self.source or self.evaluation}{of}, {family}, label {self.kind}"


def _of(rows: pa.Table, source: str) -> pa.Table:
    return rows.filter(pc.starts_with(rows["uid"], f"{source}/")) if source else rows


def _in(rows: pa.Table, split: str) -> pa.Table:
    if not split:
        return rows
    of, names = sliced(rows, "split")
    return rows.filter(pa.array(np.array([name == split for name in names])[of]))


def challenge_tests(rows: pa.Table, evaluation: str, splits: Sequence[str] = ()) -> Iterator[Test]:
    """The challenge tests in the rows of an evaluation.

    Interventions belong together where their names begin alike ("perturb/numbers/flipped").

    Args:
        rows: The rows.
        evaluation: Its name.
        splits: The splits of the evaluated data, where there are several.
    """
    families: dict[str, list[str]] = {}
    for name in sorted(set(strings(rows, "intervention")) - {BASE}):
        families.setdefault(name.partition("/")[0], []).append(name)
    places = [("", split) for split in splits or [""]]
    if evaluation == SETS:
        sources = sorted({uid.partition("/")[0] for uid in strings(rows, "uid")})
        places = [(source, next((s for s in splits if source.endswith(f"-{s}")), "")) for source in sources]
    for source, split in places:
        mine = _of(rows, source) if source else _in(rows, split)
        for names in families.values():
            pairs = challenge_pairs(mine, names, NEUTRAL)
            yield from (Test(evaluation, source, tuple(names), kind, split) for kind in KINDS if pairs[kind])


def compare(before: Path, after: Path) -> dict[Test, dict[str, Measurement]]:
    """:func:`metrics.tables.inoculation.inoculation` for each challenge test of two evaluations.

    Raises:
        HeedError: One of them has no rows of the original test, or they have no challenge test in common, or the
            examples or the seeds are not the same.
    """
    if before.resolve() == after.resolve():
        raise HeedError(f"{after} is the evaluation before inoculation itself: name one of another model.")
    found = [read_evaluation(folder, ORIGINAL) for folder in (before, after)]
    for folder, rows in zip((before, after), found, strict=True):
        if rows is None:
            raise HeedError(
                f"{folder} has no rows/{ORIGINAL}.parquet: name folders that evaluate.py wrote, without --evaluations "
                f"or with {ORIGINAL} among them."
            )
    original, seeds = tuple(rows for rows, _ in found), [metadata["seed"] for _, metadata in found]
    if len(set(seeds)) > 1:
        raise HeedError(f"{before} was evaluated with the seed {seeds[0]} and {after} with {seeds[1]}: use one.")
    if differ := difference(*map(contents, original)):
        raise HeedError(f"{before} and {after} were evaluated on different examples: {differ}.")
    splits = sorted({s.partition("=")[2] for cell in original[0]["slices"].to_pylist() for s in cell if _is_split(s)})
    compared = {}
    for evaluation in (MADE, SETS):
        runs = [read_evaluation(folder, evaluation) for folder in (before, after)]
        if None in runs:
            continue
        if runs[0][1]["manifest"] != runs[1][1]["manifest"]:
            raise HeedError(
                f"The examples of {evaluation} in {before} and in {after} were not made alike (their manifests "
                "differ): evaluate both on the same data, with the same settings and version of Heed."
            )
        for test in challenge_tests(runs[0][0], evaluation, splits):
            first = tuple(_in(rows, test.split) for rows in original)
            both = tuple(_of(rows, test.source) if test.source else _in(rows, test.split) for rows, _ in runs)
            chosen = str(test), test.interventions, NEUTRAL, test.kind
            compared[test] = inoculation(first, both, *chosen, seeds[0])
    if not compared:
        raise HeedError(f"{before} and {after} have no rows of {MADE} or {SETS} in common.")
    return compared


def _is_split(slice_: str) -> bool:
    return slice_.startswith("split=")


def _points(m: Measurement, sign: str = "") -> str:
    if m.value is None:
        return f"undefined: {m.reason}"
    low, high = (100 * x for x in m.ci95)
    return f"{100 * m.value:{sign}.1f} [{low:{sign}.1f}, {high:{sign}.1f}]"


def _chosen_by(folder: Path) -> str:
    """The accuracy by which the best epoch of the run was chosen, where the folder lies in that of its run."""
    run = folder.absolute().parent.parent
    results = read_results(run) if (run / RESULTS).is_file() else {"metrics": {}, "data": ""}
    found = results["metrics"].get(f"accuracy/{results['data']}", {"value": None})
    return (
        f"accuracy on {results['split']}, when it was trained: {100 * found['value']:.1f}"
        if found["value"] is not None
        else ""
    )


def print_comparison(before: Path, after: Path) -> None:
    """Print what inoculation did to one model, in percent, for each challenge test."""
    print(f"\nafter: {printable(str(after))}")
    if said := _chosen_by(after):
        print(said)
    for test, found in compare(before, after).items():
        name = f"inoculation/{test}"
        print(f"\n  challenge: {test}")
        print(f"  {'':9} {'before':>18} {'after':>18} {'change':>20}")
        for row in ("original", "challenge"):
            cells = (_points(found[f"{name}/{row}/{time}"]) for time in ("before", "after"))
            print(f"  {row:9} {' '.join(f'{cell:>18}' for cell in cells)}", end=" ")
            print(f"{_points(found[f'{name}/{row}/change'], '+'):>20}")
        outcome = inoculation_outcome(found, str(test))
        print(fill(f"outcome {outcome}", 80, initial_indent="  ", subsequent_indent="    "))


def main(folders: Sequence[str]) -> None:
    """Print the comparison of the first folder with each of the others."""
    if len(folders) < 2:
        raise HeedError("name the evaluation before inoculation, and one or more after it")
    before, *others = map(Path, folders)
    if missing := next((folder for folder in (before, *others) if not folder.is_dir()), None):
        raise HeedError(f"{missing} is no folder.")
    print(f"before: {printable(str(before))}")
    for after in others:
        print_comparison(before, after)


if __name__ == "__main__":
    run_command("inoculation_report", main)
