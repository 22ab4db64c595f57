"""Whether the numbers of runs belong together: all reports ask :func:`differences`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import pyarrow as pa

from heedful.records import RunError
from heedful.records.rows import BASE, contents, difference, select
from heedful.reports.runs import Measured, measured

OF_SEEDS = {"seeds", "fold", "split", "steps", "weights"}  # of an identity: what a seed or a fold changes
OF_PROMPT = {("prompt", "seed"), ("prompt", "demonstrations")}
UNCHANGED = ("accuracy", "answers", "two_class")  # evaluations whose numbers rest on base examples alone
WHOLE = ("accuracy", "answers", "attentiveness")  # evaluations whose base examples no seed draws
MODEL, KIND, REGIME, TRAINING, DATA, DEFAULT, SEED = "model", "kind", "regime", "training", "data", "default", "seed"
STEPS = "steps"
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
Found = Iterator[tuple[str, str]]


def differences(runs: Sequence[Measured], what: Collection[str], evaluations: Collection[str] | None = None) -> Found:
    """In what runs differ that should be alike, and in what they are alike that should differ.

    Any two runs may be the same model; in all else the others are compared with the first.

    Args:
        runs: The runs.
        what: What matters, of :data:`REMEDIES`, :data:`SECTIONS` and :data:`STEPS`.
        evaluations: Those whose rows count, where they are at hand; by default all.

    Yields:
        Which of it, and a sentence about two runs, without its full stop.
    """
    pairs = list(combinations(runs, 2))
    for pair in pairs:
        yield from (entry for entry in _of_models(*pair) if entry[0] in what)
    for first, other in pairs[: len(runs) - 1]:
        both = f"{first.folder} and {other.folder}"
        if IDENTITY in what:
            yield from _of_identities(first, other, both)
        if first.data != other.data or (first.split != other.split and first.fold == other.fold):
            if DATA in what:
                yield DATA, f"{both} were evaluated on {first.data} {first.split} and {other.data} {other.split}"
        elif OF_ROWS.intersection(what):
            names = [name for name in first.rows if name in other.rows and (not evaluations or name in evaluations)]
            names = [] if evaluations is not None and not evaluations else names
            yield from (entry for entry in _of_rows(first, other, both, names) if entry[0] in what)
        if SECTIONS in what:
            sections = [run.results["display"]["sections"] for run in (first, other)]
            for heading in (heading for heading in sections[0] if heading in sections[1]):
                of = [section[heading]["examples"] for section in sections]
                if all(of) and of[0] != of[1]:
                    yield SECTIONS, f"The numbers below {heading!r} rest on different examples in these runs"


def require_alike(
    runs: Sequence[Measured],
    what: Collection[str],
    evaluations: Collection[str] | None = None,
    remedies: Mapping[str, str] = REMEDIES,
) -> None:
    """Refuse runs of which :func:`differences` says something.

    Raises:
        RunError: Two runs differ in what matters; ``remedies`` says what to do then.
    """
    for aspect, sentence in differences(runs, what, evaluations):
        raise RunError(f"{sentence}. {remedies[aspect]}")


def notes(runs: Sequence[Measured], what: Collection[str]) -> list[str]:
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
    runs = measured(folders)
    of_sets = [note for of_set in of_each_set(runs) for note in notes(of_set, (MODEL, STEPS, DEFAULT, EXAMPLES))]
    return [*of_sets, *notes(runs, (SECTIONS,))]


def of_each_set(runs: Sequence[Measured]) -> list[list[Measured]]:
    """The runs on each data set and split."""
    keys = dict.fromkeys((run.data, run.split) for run in runs)
    return [[run for run in runs if (run.data, run.split) == key] for key in keys]


def _of_models(one: Measured, two: Measured) -> Found:
    """Whether one model was measured twice, or was trained twice with one seed."""
    both = f"{one.folder} and {two.folder}"
    is_copy = bool(one.kind and one.results["rows"]) and one.results["rows"] == two.results["rows"]
    if is_copy or (one.fingerprint is not None and one.fingerprint == two.fingerprint):
        yield MODEL, f"{both} hold results of the same model"
    steps = [run.identity.get("steps") for run in (one, two)]
    if all(steps) and steps[0] != steps[1]:
        yield STEPS, f"The weights of {both} are those after {steps[0]:,} and {steps[1]:,} training steps"
    if one.kind and two.kind:  # else nobody knows what they are of
        if (one.model, one.kind) != (two.model, two.kind):
            yield KIND, f"{both} are of different models, {one.label} and {two.label}"
        regimes = [run.regime.removesuffix(f"-fold-{run.fold}") for run in (one, two)]
        if regimes[0] != regimes[1]:
            yield REGIME, f"{both} were trained otherwise, {regimes[0]} and {regimes[1]}"
    if one.seeds and (one.seeds, one.fold) == (two.seeds, two.fold):
        of_fold = "" if one.fold is None else f" on the fold {one.fold}"
        yield TRAINING, f"{both} have the same seed, {one.seeds[0]}{of_fold}"


def _of_identities(first: Measured, other: Measured, both: str) -> Found:
    """In what else than the seed of its training, and the fold, a run is not the other."""
    one, two = (_flat(run.identity) for run in (first, other))
    for name in sorted(one.keys() | two.keys()):
        if one.get(name) != two.get(name):
            yield IDENTITY, f"{both} differ in {name}, {one.get(name)} and {two.get(name)}"
    seeds = [run.results["seed"] for run in (first, other)]
    is_of_training = [seed == (run.seeds or (None,))[0] for seed, run in zip(seeds, (first, other), strict=True)]
    if seeds[0] != seeds[1] and not all(is_of_training):
        yield IDENTITY, f"{both} were evaluated with the seeds {seeds[0]} and {seeds[1]}, and swaps differ"
    if "model" in one and not (first.seeds or other.seeds or one["trained"]):
        yield IDENTITY, f"{both} were not trained, so that they have no seed of a training"


def _flat(who: Mapping[str, Any]) -> dict[str, Any]:
    """An identity but for what a seed or a fold changes; a setting of the model is "settings.NAME"."""
    flat = {name: value for name, value in who.items() if name not in OF_SEEDS and not isinstance(value, Mapping)}
    for name, value in who.items():
        inner = value.items() if isinstance(value, Mapping) else ()
        flat |= {f"{name}.{key}": of for key, of in inner if (name, key) not in OF_PROMPT}
    regime = who.get("regime", "")
    return flat | ({"regime": regime.removesuffix(f"-fold-{who.get('fold')}")} if regime else {})


def _of_rows(first: Measured, other: Measured, both: str, names: Sequence[str]) -> Found:
    """In what the examples and the changes of two runs differ."""
    seeds = first.results["seed"], other.results["seed"]
    abouts = {name: (first.rows[name][1], other.rows[name][1]) for name in names}
    defaults = [[about["context"].get("default_label") for about in two] for two in abouts.values()]
    if apart := next((two for two in defaults if two[0] != two[1]), None):
        yield DEFAULT, f"{both} have other default labels, {apart[0]!r} and {apart[1]!r}"
    if seeds[0] != seeds[1]:
        yield SEED, f"{both} were evaluated with the seeds {seeds[0]} and {seeds[1]}, so that changes differ"
    same_base = [name for name in names if seeds[0] == seeds[1] or name in WHOLE]
    if differ := _other_examples(first, other, same_base):
        yield EXAMPLES, f"{both} were evaluated on different examples: {differ}"
        return
    for name, (one, two) in abouts.items():
        groups = [select(run.rows[name][0], intervention=BASE)["group"] for run in (first, other)]
        if name in WHOLE and not groups[0].equals(groups[1]):
            yield GROUPS, f"{both} name other groups as clusters of intervals"
        if name not in UNCHANGED and one["manifest"] != two["manifest"]:
            how = "in the parts that are swapped, the draws, or other settings"
            yield CHANGES, f"The changes of {name} in {both} were not made alike: {how}"


def _contents(rows: pa.Table) -> dict[str, str]:
    """uid to content of the examples that rows are about; attributions have no base rows."""
    return contents(rows) or dict(zip(rows["uid"].to_pylist(), rows["content"].to_pylist(), strict=True))


def _other_examples(first: Measured, other: Measured, evaluations: Sequence[str]) -> str | None:
    """How the examples of two runs differ; None where they are the same, or are those of two folds."""
    for name in evaluations:
        one, two = (_contents(run.rows[name][0]) for run in (first, other))
        of_folds = first.fold != other.fold and one.keys().isdisjoint(two)
        if not of_folds and (differ := difference(one, two)):
            return differ
    if evaluations or first.fold != other.fold:
        return None
    told = [(run.score["n"], run.majority and run.majority["value"]) for run in (first, other) if run.score]
    if len(told) < 2 or told[0] == told[1]:
        return None
    return f"there are {told[0][0]:,} and {told[1][0]:,}, or their best single answer is not worth the same"
