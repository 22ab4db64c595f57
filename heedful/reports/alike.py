"""Find out whether the numbers of several runs can be compared.

:func:`differences` lists the reasons why they cannot. Reports that join or average runs raise an error for the first
reason (:func:`require_alike`); reports that show runs side by side print the reasons (:func:`notes`).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import pyarrow as pa

from heedful.records import RunError, agree
from heedful.records.rows import BASE, contents, describe_difference, select
from heedful.reports.runs import Run

# Entries of the identity of a run (results.json) that differ between seeds or folds of the same training
CHANGED_BY_SEED = {"seeds", "fold", "split", "steps", "weights"}
CHANGED_BY_PROMPT_SEED = {("prompt", "seed"), ("prompt", "demonstrations")}  # (entry, key) in the identity
UNCHANGED = ("accuracy", "answers", "two_class")  # evaluations that predict unchanged examples only
ALL_EXAMPLES = ("accuracy", "answers", "attentiveness")  # evaluations of all examples; others draw a sample by seed
MODEL, KIND, REGIME, TRAINING, DATA, DEFAULT, SEED = "model", "kind", "regime", "training", "data", "default", "seed"
STEPS, SOURCE = "steps", "source"
IDENTITY = "identity"  # all entries of the identity except the entries that a seed or a fold changes
EXAMPLES, GROUPS, CHANGES, SECTIONS = "examples", "groups", "changes", "sections"
SAME = (KIND, REGIME, DATA, DEFAULT, EXAMPLES, IDENTITY)  # for means of runs that differ in a seed or a fold
PAIRED = (MODEL, DEFAULT, SEED, EXAMPLES, GROUPS, CHANGES)  # for reports that join the rows of models by example
ASPECTS_OF_ROWS = {DEFAULT, SEED, EXAMPLES, GROUPS, CHANGES}
REMEDIES = {
    MODEL: "Name one of them.",
    KIND: "Name runs of one model.",
    REGIME: "Name runs with the same training.",
    IDENTITY: "A mean is over runs that differ only in the seed of their training.",
    TRAINING: "Name one of them.",
    DATA: "Name runs on the same examples.",
    DEFAULT: "Evaluate both with the same data.default_label.",
    SEED: "Evaluate both with one seed_everything.",
    EXAMPLES: "Evaluate both on the same data, with the same --seed if data.max_validation draws a sample.",
    GROUPS: "Evaluate both with the same data.groups, data.cluster and version of the data set's YAML.",
    CHANGES: "Evaluate both with the same settings and version of Heedful.",
}
Differences = Iterator[tuple[str, str]]  # (aspect, sentence about two runs without its full stop)


def differences(
    runs: Sequence[Run], aspects: Collection[str], evaluations: Collection[str] | None = None
) -> Differences:
    """Yield the reasons why the numbers of runs cannot be compared.

    An aspect is a property in which runs must be equal, such as EXAMPLES, or must differ, such as MODEL. For MODEL,
    STEPS, SOURCE, KIND, REGIME and TRAINING, every pair of runs is compared; for others, each run with the first.

    Args:
        runs: The runs.
        aspects: The aspects to compare: keys of :data:`REMEDIES`, :data:`SECTIONS`, :data:`STEPS` or
            :data:`SOURCE`.
        evaluations: The evaluations whose rows are compared; by default all.

    Yields:
        Pairs of an aspect and a reason, a sentence without its full stop.
    """
    pairs = list(combinations(runs, 2))
    for pair in pairs:
        yield from (entry for entry in _model_differences(*pair) if entry[0] in aspects)
    for first, second in pairs[: len(runs) - 1]:
        names = f"{first.folder} and {second.folder}"
        if IDENTITY in aspects:
            yield from _identity_differences(first, second, names)
        if first.data != second.data or (first.split != second.split and first.fold == second.fold):
            if DATA in aspects:
                yield DATA, f"{names} were evaluated on {_describe_data(first, second)}"
        elif ASPECTS_OF_ROWS.intersection(aspects):
            common = [name for name in first.rows if name in second.rows]
            common = [name for name in common if evaluations is None or name in evaluations]
            yield from (entry for entry in _row_differences(first, second, names, common) if entry[0] in aspects)
        if SECTIONS in aspects:
            hashes, other_hashes = _hashes_of_pairs(first), _hashes_of_pairs(second)
            for evaluation in hashes:
                if hashes[evaluation] != other_hashes.get(evaluation, hashes[evaluation]):
                    yield SECTIONS, f"The numbers of {evaluation} rest on different pairs of examples in these runs"


def _describe_data(first: Run, second: Run) -> str:
    """Name the data sets and splits of two runs, with a hint if only their names differ."""
    sets = f"{first.data} {first.split} and {second.data} {second.split}"
    common = [name for name in ALL_EXAMPLES if name in first.rows and name in second.rows]
    if first.data == second.data or not common:
        return sets
    hashes = [sorted(_content_hashes(run.rows[common[0]][0]).values()) for run in (first, second)]
    return f"{sets}, whose examples are the same: measure both with one name=" if hashes[0] == hashes[1] else sets


def _hashes_of_pairs(run: Run) -> dict[str, list[str]]:
    """Map evaluations that count pairs of examples to the hashes of the pairs, in results.json."""
    hashes: dict[str, list[str]] = {}
    for name, counts in run.results["counts"].items():
        if isinstance(counts, Mapping) and "sha256" in counts:
            hashes.setdefault(name.partition("/")[0], []).append(counts["sha256"])
    return hashes


def require_alike(
    runs: Sequence[Run],
    aspects: Collection[str],
    evaluations: Collection[str] | None = None,
    remedies: Mapping[str, str] = REMEDIES,
) -> None:
    """Raise an error with the first of the :func:`differences` of runs, and with the advice for its aspect.

    Raises:
        RunError: The numbers of the runs cannot be compared.
    """
    for aspect, sentence in differences(runs, aspects, evaluations):
        raise RunError(f"{sentence}. {remedies[aspect]}")


def notes(runs: Sequence[Run], aspects: Collection[str]) -> list[str]:
    """Return a note per aspect of the :func:`differences`: the first difference, and how many further pairs differ."""
    sentences: dict[str, list[str]] = {}
    for aspect, sentence in differences(runs, aspects):
        sentences.setdefault(aspect, []).append(sentence)
    texts = []
    for aspect, several in sentences.items():
        more = len(set(several)) - 1 if aspect != SECTIONS else 0
        pairs = f" (and {agree(more, 'more such pair', 'more such pairs')})" if more else ""
        texts.append(f"{several[0]}{pairs}.")
    return texts


def side_by_side(runs: Sequence[Run]) -> list[str]:
    """Return the notes below a table of runs: the :func:`differences` that make their numbers incomparable.

    Models, steps, default labels and examples are compared only among runs on the same data set and split.
    """
    by_set = [note for group in by_data(runs) for note in notes(group, (MODEL, SOURCE, STEPS, DEFAULT, EXAMPLES))]
    return [*by_set, *notes(runs, (SECTIONS,))]


def by_data(runs: Sequence[Run]) -> list[list[Run]]:
    """Return the groups of runs with the same data set and split, in the order of the runs."""
    keys = dict.fromkeys((run.data, run.split) for run in runs)
    return [[run for run in runs if (run.data, run.split) == key] for key in keys]


def _model_differences(first: Run, second: Run) -> Differences:
    """Yield the differences of the aspects MODEL, STEPS, SOURCE, KIND, REGIME and TRAINING."""
    names = f"{first.folder} and {second.folder}"
    is_copy = bool(first.kind and first.results["rows"]) and first.results["rows"] == second.results["rows"]
    if is_copy or (first.fingerprint is not None and first.fingerprint == second.fingerprint):
        yield MODEL, f"{names} hold results of the same model"
    regimes = [run.regime.removesuffix(f"-fold-{run.fold}") for run in (first, second)]
    steps = [run.identity.get("steps") for run in (first, second)]
    if all(steps) and steps[0] != steps[1]:
        yield STEPS, f"{names} have weights from different training steps, {steps[0]:,} and {steps[1]:,}"
    if first.kind and second.kind:  # otherwise the model is not known
        if (first.model, first.kind) != (second.model, second.kind):
            yield KIND, f"{names} hold different models, {first.label} and {second.label}"
        if regimes[0] != regimes[1]:
            yield REGIME, f"{names} have different training regimes, {regimes[0]} and {regimes[1]}"
    sources = [run.identity.get("source") for run in (first, second)]
    if all(sources) and sources[0] != sources[1] and first.model == second.model:
        yield SOURCE, f"{names} have measured two functions of one name, {first.model}"
    if first.seeds and (first.seeds, first.fold) == (second.seeds, second.fold):
        fold = "" if first.fold is None else f" on the fold {first.fold}"
        yield TRAINING, f"{names} have the same seed, {first.seeds[0]}{fold}"


def _identity_differences(first: Run, second: Run, names: str) -> Differences:
    """Yield the differences of the aspect IDENTITY; ``names`` is the subject, such as "runs/a and runs/b"."""
    identities = [_flat_identity(run.identity) for run in (first, second)]
    for name in sorted(identities[0].keys() | identities[1].keys()):
        values = [identity.get(name) for identity in identities]
        if values[0] != values[1]:
            yield IDENTITY, f"{names} differ in {name}, {values[0]} and {values[1]}"
    seeds = [run.results["seed"] for run in (first, second)]
    is_seed_of_training = [seed == (run.seeds or (None,))[0] for seed, run in zip(seeds, (first, second), strict=True)]
    if seeds[0] != seeds[1] and not all(is_seed_of_training):
        yield IDENTITY, f"{names} were evaluated with the seeds {seeds[0]} and {seeds[1]}, so that swaps differ"
    if "model" in identities[0] and not (first.seeds or second.seeds or identities[0]["trained"]):
        yield IDENTITY, f"{names} were not trained and have no seed of a training"


def _flat_identity(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return entries such as {"settings.max_length": 64}, without those that depend on a seed or a fold."""
    simple = {k: v for k, v in identity.items() if k not in CHANGED_BY_SEED and not isinstance(v, Mapping)}
    for name, value in identity.items():
        inner = value.items() if isinstance(value, Mapping) else ()
        simple |= {f"{name}.{key}": entry for key, entry in inner if (name, key) not in CHANGED_BY_PROMPT_SEED}
    regime = identity.get("regime", "")
    return simple | ({"regime": regime.removesuffix(f"-fold-{identity.get('fold')}")} if regime else {})


def _row_differences(first: Run, second: Run, names: str, evaluations: Sequence[str]) -> Differences:
    """Yield the differences between the rows of evaluations that both runs have: :data:`ASPECTS_OF_ROWS`."""
    seeds = first.results["seed"], second.results["seed"]
    metadata = {name: (first.rows[name][1], second.rows[name][1]) for name in evaluations}
    defaults = [[about["context"].get("default_label") for about in pair] for pair in metadata.values()]
    if unequal := next((pair for pair in defaults if pair[0] != pair[1]), None):
        yield DEFAULT, f"{names} use different default labels, {unequal[0]!r} and {unequal[1]!r}"
    if seeds[0] != seeds[1]:
        yield SEED, f"{names} were evaluated with the seeds {seeds[0]} and {seeds[1]}, so that changes differ"
    same_base = [name for name in evaluations if seeds[0] == seeds[1] or name in ALL_EXAMPLES]
    if differ := _unequal_examples(first, second, same_base):
        yield EXAMPLES, f"{names} were evaluated on different examples: {differ}"
        return
    for name, pair in metadata.items():
        groups = [select(run.rows[name][0], intervention=BASE)["group"] for run in (first, second)]
        if name in ALL_EXAMPLES and not groups[0].equals(groups[1]):
            yield GROUPS, f"{names} use different groups as clusters of intervals"
        if name not in UNCHANGED and pair[0]["manifest"] != pair[1]["manifest"]:
            cause = "swapped parts, draws or other settings"
            yield CHANGES, f"{names} have different changes of {name}: they differ in {cause}"


def _content_hashes(rows: pa.Table) -> dict[str, str]:
    """Return the hash of the content (label and parts) of each example of an evaluation, by uid."""
    # The evaluation "attributions" has no base rows (predictions for unchanged examples), and a hash in every row
    return contents(rows) or dict(zip(rows["uid"].to_pylist(), rows["content"].to_pylist(), strict=True))


def _unequal_examples(first: Run, second: Run, evaluations: Sequence[str]) -> str | None:
    """Describe how the examples of two runs differ; None if they are equal or two folds of a cross-validation."""
    for name in evaluations:
        uids = [_content_hashes(run.rows[name][0]) for run in (first, second)]
        are_folds = first.fold != second.fold and uids[0].keys().isdisjoint(uids[1])
        if not are_folds and (differ := describe_difference(*uids)):
            return differ
    if evaluations or first.fold != second.fold:
        return None
    # Without rows, only the numbers of examples and the majority shares can be compared
    counts = [(run.score["n"], run.majority and run.majority["value"]) for run in (first, second) if run.score]
    if len(counts) < 2 or counts[0] == counts[1]:
        return None
    return f"there are {counts[0][0]:,} and {counts[1][0]:,}, or their majority shares differ"
