"""Whether the numbers of runs belong together: all reports ask :func:`differences`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pyarrow as pa

from heedful.records import RunError
from heedful.records.rows import BASE, contents, difference, select
from heedful.records.storage.results import read_evaluation, read_results, rows_file
from heedful.reports.runs import Measured, measured

OF_SEEDS = {"seeds", "fold", "split", "weights"}  # of an identity: what a seed or a fold changes
OF_PROMPT = {("prompt", "seed"), ("prompt", "demonstrations")}
UNCHANGED = ("accuracy", "answers", "two_class")  # evaluations whose numbers rest on base examples alone
WHOLE = ("accuracy", "answers", "attentiveness")  # evaluations whose base examples no seed draws
MODEL, KIND, REGIME, TRAINING, DATA, DEFAULT, SEED = "model", "kind", "regime", "training", "data", "default", "seed"
IDENTITY = "identity"  # all that results.json says of who was measured, but for what a seed changes
EXAMPLES, GROUPS, CHANGES, SECTIONS = "examples", "groups", "changes", "sections"
PAIRED = (MODEL, DEFAULT, SEED, EXAMPLES, GROUPS, CHANGES)  # matters where rows of different models are joined
OF_ROWS = {DEFAULT, SEED, EXAMPLES, GROUPS, CHANGES}
REMEDIES = {
    MODEL: "Name one of them.",
    KIND: "Name runs of one of them.",
    REGIME: "Name runs that were trained alike.",
    IDENTITY: "A mean is over runs that differ in the seed of their training alone.",
    TRAINING: "Name one of them.",
    DATA: "Name runs on the same examples.",
    DEFAULT: "Evaluate both with the same data.default_label.",
    SEED: "Evaluate both with one seed_everything.",
    EXAMPLES: "Evaluate both on the same data.",
    GROUPS: "Evaluate both with the same data.groups and data.cluster, and by one version of the data set's YAML.",
    CHANGES: "Evaluate both with the same settings and version of Heedful.",
}


@dataclass(frozen=True)
class Basis:
    """What the numbers of a run rest on.

    Attributes:
        run: The run.
        seed: That it was evaluated with.
        rows: Evaluation to its rows and their metadata.
        hashes: Evaluation to the sha256 of its rows.
        sections: Heading to what identifies the examples below it, in results.json.
    """

    run: Measured
    seed: int
    rows: Mapping[str, tuple[pa.Table, Mapping[str, Any]]]
    hashes: Mapping[str, str]
    sections: Mapping[str, str]


def basis(run: Measured, evaluations: Sequence[str] | None = None) -> Basis:
    """Read what the numbers of a run rest on.

    Args:
        run: The run.
        evaluations: Those whose rows count, where they are at hand; by default all.

    Raises:
        HeedfulError: The results or the rows are damaged.
    """
    results = read_results(run.folder)
    wanted = [name for name in results["rows"] if evaluations is None or name in evaluations]
    there = [name for name in wanted if rows_file(run.folder, name).exists()]
    rows = {name: evaluation for name in there if (evaluation := read_evaluation(run.folder, name)) is not None}
    sections = {heading: of["examples"] for heading, of in results["display"]["sections"].items() if of["examples"]}
    return Basis(run, results["seed"], rows, results["rows"], sections)


def differences(runs: Sequence[Basis], what: Collection[str]) -> Iterator[tuple[str, str]]:
    """In what runs differ that should be alike, and in what they are alike that should differ.

    Every report that averages runs, joins their rows, or shows them side by side, asks here, and says which of it
    matters there. Two runs of any may be the same model; all others are held against the first.

    Args:
        runs: The runs.
        what: What matters, of :data:`REMEDIES` and :data:`SECTIONS`.

    Returns:
        Which of it, and a sentence about two runs, without its full stop.
    """
    pairs = list(combinations(runs, 2))
    for first, other in pairs:
        yield from (entry for entry in _of_models(first, other) if entry[0] in what)
    for first, other in pairs[: len(runs) - 1]:
        yield from _of_identities(first, other) if IDENTITY in what else ()
        if first.run.data != other.run.data or (first.run.split != other.run.split and not _folds(first, other)):
            sets = f"{' '.join(_set(first.run))} and {' '.join(_set(other.run))}"
            yield from [(DATA, f"{_both(first, other)} were evaluated on {sets}")] if DATA in what else ()
        elif OF_ROWS.intersection(what):
            yield from (entry for entry in _of_rows(first, other) if entry[0] in what)
        for heading in first.sections.keys() & other.sections.keys() if SECTIONS in what else ():
            if first.sections[heading] != other.sections[heading]:
                yield SECTIONS, f"The numbers below {heading!r} rest on different examples in these runs"


def require_alike(runs: Sequence[Basis], what: Collection[str], remedies: Mapping[str, str] = REMEDIES) -> None:
    """Refuse runs of which :func:`differences` says something.

    Args:
        runs: The runs.
        what: What matters.
        remedies: What to do then.

    Raises:
        HeedfulError: Two runs differ in it.
    """
    for aspect, sentence in differences(runs, what):
        raise RunError(f"{sentence}. {remedies[aspect]}")


def notes(runs: Sequence[Basis], what: Collection[str]) -> list[str]:
    """What :func:`differences` says, a sentence for each thing that matters: about two runs, and how many more."""
    sentences: dict[str, list[str]] = {}
    for aspect, sentence in differences(runs, what):
        sentences.setdefault(aspect, []).append(sentence)
    told = []
    for aspect, several in sentences.items():
        more = len(set(several)) - 1 if aspect != SECTIONS else 0
        told.append(f"{several[0]}{f' (and {more:,} more such pairs)' if more else ''}.")
    return told


def side_by_side(folders: Sequence[str]) -> list[str]:
    """What a reader must know of runs whose numbers stand beside each other, a sentence each.

    Raises:
        HeedfulError: One of them has no results, or damaged ones.
    """
    runs = [basis(run) for run in measured(folders)]
    of_sets = [note for of_set in of_each_set(runs) for note in notes(of_set, (MODEL, DEFAULT, EXAMPLES))]
    return [*of_sets, *notes(runs, (SECTIONS,))]


def of_each_set(runs: Sequence[Basis]) -> list[list[Basis]]:
    """The runs on each data set and split."""
    return [[one for one in runs if _set(one.run) == key] for key in dict.fromkeys(_set(one.run) for one in runs)]


def _folds(first: Basis, other: Basis) -> bool:
    """Whether two runs are of two folds, each of which is evaluated on its own."""
    return first.run.fold != other.run.fold


def _both(first: Basis, other: Basis) -> str:
    return f"{first.run.folder} and {other.run.folder}"


def _set(run: Measured) -> tuple[str, str]:
    return run.data, run.split


def _of_models(first: Basis, other: Basis) -> Iterator[tuple[str, str]]:
    """Whether one model was measured twice, or was trained twice with one seed."""
    one, two = first.run, other.run
    is_copy = bool(one.of and first.hashes) and first.hashes == other.hashes
    if is_copy or (one.same is not None and one.same == two.same):
        yield MODEL, f"{_both(first, other)} hold results of the same model"
    if one.of and two.of:  # else nobody knows what they are of
        if (one.model, one.of) != (two.model, two.of):
            yield KIND, f"{_both(first, other)} are of different models, {one.label} and {two.label}"
        regimes = [run.regime.removesuffix(f"-fold-{run.fold}") for run in (one, two)]
        if regimes[0] != regimes[1]:
            yield REGIME, f"{_both(first, other)} were trained otherwise, {regimes[0]} and {regimes[1]}"
    if one.seeds and (one.seeds, one.fold) == (two.seeds, two.fold):
        of_fold = "" if one.fold is None else f" on the fold {one.fold}"
        yield TRAINING, f"{_both(first, other)} have the same seed, {one.seeds[0]}{of_fold}"


def _of_identities(first: Basis, other: Basis) -> Iterator[tuple[str, str]]:
    """In what else than the seed of its training, and the fold, a run is not the other."""
    one, two = (_flat(side.run.identity) for side in (first, other))
    both = _both(first, other)
    for name in sorted(one.keys() | two.keys()):
        if one.get(name) != two.get(name):
            yield IDENTITY, f"{both} differ in {name}, {one.get(name)} and {two.get(name)}"
    own = [side.seed == (side.run.seeds or (None,))[0] for side in (first, other)]  # of its training
    if first.seed != other.seed and not all(own):
        yield IDENTITY, f"{both} were evaluated with the seeds {first.seed} and {other.seed}, and swaps differ"
    if "model" in one and not (first.run.seeds or other.run.seeds or one["trained"]):
        yield IDENTITY, f"{both} were not trained, so that they have no seed of a training"


def _flat(who: Mapping[str, Any]) -> dict[str, Any]:
    """An identity but for what a seed or a fold changes; a setting of the model is "settings.NAME"."""
    flat = {name: value for name, value in who.items() if name not in OF_SEEDS and not isinstance(value, Mapping)}
    for name, value in who.items():
        inner = value.items() if isinstance(value, Mapping) else ()
        flat |= {f"{name}.{key}": of for key, of in inner if (name, key) not in OF_PROMPT}
    regime = who.get("regime", "")
    return flat | ({"regime": regime.removesuffix(f"-fold-{who.get('fold')}")} if regime else {})


def _of_rows(first: Basis, other: Basis) -> Iterator[tuple[str, str]]:
    """In what the examples and the changes of two runs differ."""
    both = _both(first, other)
    common = [name for name in first.rows if name in other.rows]
    abouts = [(first.rows[name][1], other.rows[name][1]) for name in common]
    defaults = [tuple(about["context"].get("default_label") for about in two) for two in abouts]
    if apart := next((two for two in defaults if two[0] != two[1]), None):
        yield DEFAULT, f"{both} have other default labels, {apart[0]!r} and {apart[1]!r}"
    if first.seed != other.seed:
        yield SEED, f"{both} were evaluated with the seeds {first.seed} and {other.seed}, so that changes differ"
    if differ := _other_examples(first, other, [name for name in common if first.seed == other.seed or name in WHOLE]):
        yield EXAMPLES, f"{both} were evaluated on different examples: {differ}"
        return
    for name, (one, two) in zip(common, abouts, strict=True):
        groups = [select(side.rows[name][0], intervention=BASE)["group"] for side in (first, other)]
        if name in WHOLE and not groups[0].equals(groups[1]):
            yield GROUPS, f"{both} name other groups as clusters of intervals"
        if name not in UNCHANGED and one["manifest"] != two["manifest"]:
            how = "in the parts that are swapped, the draws, or other settings"
            yield CHANGES, f"The changes of {name} in {both} were not made alike: {how}"


def _contents(rows: pa.Table) -> dict[str, str]:
    """uid to content of the examples that rows are about; attributions have no base rows."""
    return contents(rows) or dict(zip(rows["uid"].to_pylist(), rows["content"].to_pylist(), strict=True))


def _other_examples(first: Basis, other: Basis, evaluations: Sequence[str]) -> str | None:
    """How the examples of two runs differ; None where they are the same, or are those of two folds."""
    for name in evaluations:
        one, two = (_contents(side.rows[name][0]) for side in (first, other))
        of_folds = _folds(first, other) and one.keys().isdisjoint(two)
        if not of_folds and (differ := difference(one, two)):
            return differ
    if evaluations or _folds(first, other):
        return None
    told = [(run.score["n"], run.majority and run.majority["value"]) for run in (first.run, other.run) if run.score]
    if len(told) < 2 or told[0] == told[1]:
        return None
    return f"there are {told[0][0]:,} and {told[1][0]:,}, or their best single answer is not worth the same"
