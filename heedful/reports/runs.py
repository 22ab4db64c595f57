"""What a folder of results is about: which model, trained how, on which data, and its numbers by name.

Whether the numbers of two folders belong together is decided here, by :func:`differences`, for all reports.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa

from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import HeedfulError, MetricName
from heedful.records.rows import BASE, contents, difference, select
from heedful.records.storage.named_configs import backbones
from heedful.records.storage.regime import regime_name
from heedful.records.storage.results import (
    ACCEPTED,
    distinct,
    named,
    read_evaluation,
    read_results,
    read_run,
    rows_file,
)
from heedful.records.storage.run_files import require_config
from heedful.records.storage.schema import whole
from heedful.records.storage.yaml_files import read_yaml

CONFIG = "config.yaml"
EXPORTED = ("checkpoints", "backbone")
PLAIN = "plain"
PROMPT = "prompt"  # in run.json
EXAMPLE = ("example", "sent")  # of a prompt: what it is for the first example
WHO = ("server", "weights")  # hashes of who answers, where nobody trained it here
HOW = {"cache", "concurrency", "max_requests", "prices", "share_prefix", "timeout"}  # settings that change no answer
PATHS = {"backbone", "sha256"}  # settings that say where weights are from
FITTED = {"collapse", "compiled", "labels", "learning_rate", "max_length", "max_unknown", "warmup", "weight_decay"}
READS = ("template", "verbalisers", "prompts", "partial")  # settings of the data that say how a model reads them
UNCHANGED = ("accuracy", "answers", "two_class")  # evaluations whose numbers rest on base examples alone
WHOLE = ("accuracy", "answers", "attentiveness")  # evaluations whose base examples no seed draws
DEEPEST = 9  # runs that began with the weights of each other
Numbers = Mapping[MetricName, Mapping[str, Any]]
MODEL, KIND, REGIME, TRAINING, DATA, DEFAULT, SEED = "model", "kind", "regime", "training", "data", "default", "seed"
EXAMPLES, GROUPS, CHANGES, SECTIONS = "examples", "groups", "changes", "sections"
PAIRED = (MODEL, DEFAULT, SEED, EXAMPLES, GROUPS, CHANGES)  # matters where rows of different models are joined
OF_ROWS = {DEFAULT, SEED, EXAMPLES, GROUPS, CHANGES}
REMEDIES = {
    MODEL: "name one of them",
    KIND: "name runs of one of them",
    REGIME: "name runs that were trained alike",
    TRAINING: "name one of them",
    DATA: "name runs on the same examples",
    DEFAULT: "evaluate both with the same --data.default_label",
    SEED: "evaluate both with one --seed_everything",
    EXAMPLES: "evaluate both on the same data",
    GROUPS: "evaluate both with the same --data.groups and --data.cluster, and by one version of the data set's YAML",
    CHANGES: "evaluate both with the same settings and version of Heedful",
}


@dataclass(frozen=True)
class Measured:
    """The results of one model on one data set.

    Attributes:
        folder: As it was named.
        model: The short name of the model, with the data that it was trained on where they are others.
        regime: How it was trained: "plain", "counterfactual", "partial-hypothesis", ...
        partial: The part that it reads, where it reads one alone.
        data: Name of the data set.
        split: Name of the examples that were evaluated.
        seed: That the model was trained with; of one that was not trained, that it was evaluated with.
        numbers: Measurements as results.json has them.
        label: What tables call it.
        of: Settings that tell this model from another of the same name.
        seeds: Of its training, and of those that it began with; empty where nobody knows.
        fold: That it was validated on, of a cross-validation.
        same: Identifies what was measured: weights, how they are asked, and what they read. None where nobody knows.
        started: When and how it was measured, which a copy of the folder says as well. None where nobody knows.
    """

    folder: str
    model: str
    regime: str
    partial: str | None
    data: str
    split: str
    seed: int
    numbers: Numbers
    label: str
    of: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = ()
    fold: int | None = None
    same: str | None = None
    started: str | None = None

    @property
    def score(self) -> Mapping[str, Any] | None:
        """Accuracy, or exact match of texts."""
        names = (MetricName(family, self.data) for family in ("accuracy", "exact_match"))
        return next((self.numbers[name] for name in names if name in self.numbers), None)

    @property
    def majority(self) -> Mapping[str, Any] | None:
        """The score of the best single answer."""
        names = (MetricName(family, self.data, statistic="majority") for family in ("accuracy", "exact_match"))
        return next((self.numbers[name] for name in names if name in self.numbers), None)

    def attentiveness(self) -> dict[str, Mapping[str, Any]]:
        """Part to attentiveness to it."""
        return {
            name.part: m
            for name, m in self.numbers.items()
            if name == MetricName("attentiveness", self.data, name.part) and name.part
        }


def is_above_majority(m: Mapping[str, Any]) -> bool:
    """Whether a measurement is of a model whose accuracy is above the majority share."""
    return NOT_ABOVE_MAJORITY not in m["flags"]


def measured(folders: Sequence[str]) -> list[Measured]:
    """The results in these folders, each once, with labels that tell models apart, and runs on the same data.

    Raises:
        HeedfulError: One of them has no results, or a damaged configuration.
    """
    found = [_read(folder) for folder in distinct(folders)]
    labels = told_apart([run.label for run in found], [run.of for run in found])
    found = [replace(run, label=label) for run, label in zip(found, labels, strict=True)]
    for more in (lambda run: f"{run.label}, seed {run.seed}", lambda run: f"{run.label}: {run.folder}"):
        keys = [(run.label, run.data, run.split, run.partial) for run in found]
        found = [
            replace(run, label=more(run)) if keys.count(key) > 1 else run for run, key in zip(found, keys, strict=True)
        ]
    return found


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
    rows = {name: found for name in there if (found := read_evaluation(run.folder, name)) is not None}
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
        yield from (found for found in _of_models(first, other) if found[0] in what)
    for first, other in pairs[: len(runs) - 1]:
        if first.run.data != other.run.data or (first.run.split != other.run.split and not _folds(first, other)):
            sets = f"{' '.join(_set(first.run))} and {' '.join(_set(other.run))}"
            yield from [(DATA, f"{_both(first, other)} were evaluated on {sets}")] if DATA in what else ()
        elif OF_ROWS.intersection(what):
            yield from (found for found in _of_rows(first, other) if found[0] in what)
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
        raise HeedfulError(f"{sentence}: {remedies[aspect]}.")


def notes(runs: Sequence[Basis], what: Collection[str]) -> list[str]:
    """What :func:`differences` says, a sentence for each thing that matters: about two runs, and how many more."""
    found: dict[str, list[str]] = {}
    for aspect, sentence in differences(runs, what):
        found.setdefault(aspect, []).append(sentence)
    told = []
    for aspect, several in found.items():
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
    is_copy = one.started is not None and (one.started, first.hashes) == (two.started, other.hashes)
    if is_copy or (one.same is not None and one.same == two.same):
        yield MODEL, f"{_both(first, other)} hold results of the same model"
    if None not in (one.same, two.same):  # else nobody knows what they are of
        if (one.model, one.of) != (two.model, two.of):
            yield KIND, f"{_both(first, other)} are of different models, {one.label} and {two.label}"
        regimes = [run.regime.removesuffix(f"-fold-{run.fold}") for run in (one, two)]
        if regimes[0] != regimes[1]:
            yield REGIME, f"{_both(first, other)} were trained otherwise, {regimes[0]} and {regimes[1]}"
    if one.seeds and (one.seeds, one.fold) == (two.seeds, two.fold):
        of_fold = "" if one.fold is None else f" on the fold {one.fold}"
        yield TRAINING, f"{_both(first, other)} have the same seed, {one.seeds[0]}{of_fold}"


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
            yield CHANGES, f"The changes of {name} in {both} were not made alike (their manifests differ)"


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


def told_apart(names: Sequence[str], of: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of models; of those that share one, with the settings in which they differ, as far as these are known.

    Example:
        >>> told_apart(["bert", "gpt", "gpt"], [{}, {"seed": 0, "chat": True}, {"seed": 1, "chat": True}])
        ['bert', 'gpt, seed 0', 'gpt, seed 1']
    """
    found = []
    for name, own in zip(names, of, strict=True):
        alike = [other for other_name, other in zip(names, of, strict=True) if other_name == name]
        values = {key: [other[key] for other in alike if key in other] for other in alike for key in other}
        differ = [key for key, several in sorted(values.items()) if any(value != several[0] for value in several)]
        found.append(", ".join([name, *(f"{key} {own[key]}" for key in differ if key in own)]))
    return found


def columns(runs: Sequence[Measured]) -> dict[tuple[str, str], str]:
    """(data, split) of all runs to what a column is called: the data, with the split where there are several."""
    pairs = list(dict.fromkeys((run.data, run.split) for run in runs))
    data = [name for name, _ in pairs]
    return {(name, split): name if data.count(name) == 1 else f"{name} {split}" for name, split in pairs}


def settings(folder: Path) -> dict[str, Any]:
    """Settings of the model and of the data, in the folder of a run or of an evaluation; nothing where there are none.

    Returns:
        "model" and "data", each with its "class_path"; "checkpoint", of an evaluation; "seed"; and whether the model
        was "trained" there.

    Raises:
        HeedfulError: They are damaged, or were changed.
    """
    path = folder / CONFIG
    if not path.is_file():
        return {}
    require_config(folder)
    saved = read_yaml(str(path), str(path))
    try:
        found = {
            kind: saved[kind]["init_args"] | {"class_path": whole(kind, saved[kind]["class_path"])}
            for kind in ("model", "data")
        }
    except (KeyError, TypeError):
        raise HeedfulError(f"{path} is damaged: train.py wrote no such configuration.") from None
    checkpoint = saved.get("checkpoint")  # of a run, settings of how they are kept
    seed = saved.get("seed_everything")
    return {
        **found,
        "checkpoint": checkpoint if isinstance(checkpoint, str) else None,
        "seed": seed if isinstance(seed, int) and not isinstance(seed, bool) else None,
        "trained": isinstance(checkpoint, dict),
    }


def short_name(backbone: str, class_path: str | None) -> str | None:
    """The short name of a model, as --model takes it; None where no file in configs/model names the backbone."""
    fitting = {name: of_class for name, (of, of_class) in backbones().items() if of == backbone}
    same = [name for name, of_class in fitting.items() if class_path and of_class == whole("model", class_path)]
    return next(iter([*same, *fitting]), None)


def _read(folder: str) -> Measured:
    results = read_results(folder)
    own = settings(Path(folder))
    run = read_run(folder)
    states = results.get("unfinished"), "rows accepted" if ACCEPTED in results else None
    state = "".join(f" ({text})" for text in states if text)
    about = results["data"], results["split"], results["seed"], named(results)
    started = json.dumps(run, sort_keys=True) if "started" in run else None
    if not own:
        name = Path(folder).resolve().name
        return Measured(folder, name, PLAIN, None, *about, name + state, started=started)
    trained = own
    if own["checkpoint"]:
        of = Path(own["checkpoint"]).parents[1]
        trained = settings(of) or settings(Path(folder).resolve().parents[1]) or own
    chain = _trainings(trained)
    model = _name(chain[-1])
    data = trained["data"]
    partial = own["data"].get("partial")
    n = (data.get("inoculation") or {}).get("n", 0)
    mixed = bool(data.get("mixture")), data.get("control")
    regime = regime_name(partial, data.get("augment"), n, data.get("fold"), *mixed)
    if (of_data := data.get("name")) and own["data"].get("name") not in (None, of_data):
        model = f"{model} trained on {of_data}"
    seeds = [before["seed"] for before in chain if before["trained"] and before["seed"] is not None]
    prompt = run.get(PROMPT)
    label = model if partial or regime == PLAIN else f"{model} {regime}"
    return replace(
        Measured(folder, model, regime, partial, *about, label + state),
        of=_told_by(chain[-1], trained["trained"], results, run),
        seed=seeds[0] if seeds else results["seed"],
        seeds=(*seeds, *([prompt["seed"]] if isinstance(prompt, dict) and "seed" in prompt else [])),
        fold=data.get("fold"),
        same=_identity(results, folder, own, run),
        started=started,
    )


def _told_by(
    began: Mapping[str, Any], is_trained: bool, results: Mapping[str, Any], run: Mapping[str, Any]
) -> dict[str, Any]:
    """What tells a model from another of the same name: what it began with, or where nobody trained it all of it."""
    model = began["model"]
    if is_trained:
        return {"backbone": model.get("backbone"), "trained": True}
    found = {key: value for key, value in model.items() if key not in HOW | FITTED} | {"trained": False}
    known = {"weights": str(results["weights"])[:8]} if results.get("weights") else {}
    return found | known | ({"server": run["server"]} if "server" in run else {})


def _identity(results: Mapping[str, Any], folder: str, own: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    """Identifies what was measured: by the hash of its weights, or else by where they are from."""
    weights: Any = results.get("weights") or run.get("server")
    if weights is None and own["checkpoint"]:
        weights = [str(Path(own["checkpoint"]).resolve()), (run.get("evaluation") or {}).get("steps")]
    elif weights is None:
        weights = str(Path(folder).resolve()) if own["trained"] else own["model"].get("backbone")
    model = {key: value for key, value in own["model"].items() if key not in HOW | PATHS}
    reads = {key: own["data"].get(key) for key in READS}
    prompt = {key: value for key, value in (run.get(PROMPT) or {}).items() if key not in EXAMPLE}
    return json.dumps([weights, model, reads, prompt], sort_keys=True, default=str)


def _trainings(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The settings of a training, of the one whose weights it began with, and so on; the last has others' weights."""
    found = [config]
    while len(found) < DEEPEST:
        backbone = Path(_backbone(found[-1]))
        before = settings(backbone.parents[1]) if backbone.parts[-2:] == EXPORTED else {}
        if not before:
            break
        found.append(before)
    return found


def _backbone(config: Mapping[str, Any]) -> str:
    own = config["model"]
    return str(own.get("backbone") or own.get("name") or own["class_path"].rpartition(".")[2])


def _name(began: Mapping[str, Any]) -> str:
    """The short name of the model that the first training began with."""
    backbone = _backbone(began)
    if Path(backbone).parts[-2:] == EXPORTED:
        return Path(backbone).parents[1].name
    name = short_name(backbone, began["model"]["class_path"])
    return name or re.sub(r"[^\w.-]+", "-", backbone).strip("-").lower()
