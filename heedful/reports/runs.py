"""What a folder of results is about: which model, trained how, on which data, and its numbers by name."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import Context, MetricName, RunError
from heedful.records.storage.results import distinct, named, read_results

PLAIN = "plain"
HASHES = {"weights": 8, "server": 12}  # hashes of who answers, and how many characters of each are shown
FITTED = {"collapse", "compiled", "labels", "learning_rate", "max_length", "max_unknown", "warmup", "weight_decay"}
UNKNOWN_WORTH = "whether the model is better than a single answer is not known"
Numbers = Mapping[MetricName, Mapping[str, Any]]


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
        unlabelled: Whether its examples have no gold labels: nobody knows whether it is above the majority share.
        identity: What results.json says of who was measured.
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
    unlabelled: bool = False
    identity: Mapping[str, Any] = field(default_factory=dict)

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
    """Whether a measurement is of a model whose accuracy is above the majority share; true where nobody knows."""
    return NOT_ABOVE_MAJORITY not in m["flags"]


def unlabelled_notes(runs: Sequence[Measured]) -> list[str]:
    """A sentence for each run without gold labels."""
    return [f"{run.folder} has no gold labels: {UNKNOWN_WORTH}." for run in runs if run.unlabelled]


def require_gold(folder: str | Path, context: Context) -> None:
    """Refuse rows without gold labels, for a report that is about right and wrong answers.

    Raises:
        HeedfulError: They are such.
    """
    if context.unlabelled:
        raise RunError(
            f"{folder} was evaluated without gold labels, so that no answer is known to be right. Evaluate examples "
            "with gold labels."
        )


def measured(folders: Sequence[str]) -> list[Measured]:
    """The results in these folders, each once, with labels that tell models apart, and runs on the same data.

    Raises:
        HeedfulError: One of them has no results, or a damaged configuration.
    """
    results = [_read(folder) for folder in distinct(folders)]
    labels = told_apart([run.label for run in results], [run.of for run in results])
    results = [replace(run, label=label) for run, label in zip(results, labels, strict=True)]
    for more in (lambda run: f"{run.label}, seed {run.seed}", lambda run: f"{run.label}: {run.folder}"):
        keys = [(run.label, run.data, run.split, run.partial) for run in results]
        results = [
            replace(run, label=more(run)) if keys.count(key) > 1 else run
            for run, key in zip(results, keys, strict=True)
        ]
    return results


def told_apart(names: Sequence[str], of: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of models; of those that share one, with the settings in which they differ, as far as these are known.

    Example:
        >>> told_apart(["bert", "gpt", "gpt"], [{}, {"seed": 0, "chat": True}, {"seed": 1, "chat": True}])
        ['bert', 'gpt, seed 0', 'gpt, seed 1']
    """
    labels = []
    for name, own in zip(names, of, strict=True):
        alike = [other for other_name, other in zip(names, of, strict=True) if other_name == name]
        values = {key: [other[key] for other in alike if key in other] for other in alike for key in other}
        differ = [key for key, several in sorted(values.items()) if any(value != several[0] for value in several)]
        labels.append(", ".join([name, *(f"{key} {own[key]}" for key in differ if key in own)]))
    return labels


def short_names(folders: Sequence[str]) -> list[str]:
    """Folders by the parts of their paths that are not the same in all, from the first that differs to the last.

    Example:
        >>> short_names(["runs/nlixy/bert/plain", "runs/nlixy/roberta/plain"])
        ['bert', 'roberta']
    """
    paths = [Path(folder).resolve().parts for folder in folders]
    start = len(os.path.commonprefix(paths))
    end = min(len(os.path.commonprefix([path[::-1] for path in paths])), min(map(len, paths)) - start)
    names = ["/".join(path[start : len(path) - end]) or path[-1] for path in paths]
    return names if len(set(names)) == len(set(paths)) else list(folders)


def columns(runs: Sequence[Measured]) -> dict[tuple[str, str], str]:
    """(data, split) of all runs to what a column is called: the data, with the split where there are several."""
    pairs = list(dict.fromkeys((run.data, run.split) for run in runs))
    data = [name for name, _ in pairs]
    return {(name, split): name if data.count(name) == 1 else f"{name} {split}" for name, split in pairs}


def _read(folder: str) -> Measured:
    results = read_results(folder)
    data, split, seed = results["data"], results["split"], results["seed"]
    who = results.get("identity", {})
    model = who.get("model") or Path(folder).resolve().name
    if who.get("trained_on") not in (None, data):
        model = f"{model} trained on {who['trained_on']}"
    regime, partial = who.get("regime", PLAIN), who.get("partial")
    prompt = who.get("prompt")
    seeds = (*who.get("seeds", ()), *([prompt["seed"]] if prompt else []))
    state = f" ({results['unfinished']})" if results.get("unfinished") else ""
    return Measured(
        folder,
        model,
        regime,
        partial,
        data,
        split,
        who["seeds"][0] if who.get("seeds") else seed,
        named(results),
        (model if partial or regime == PLAIN else f"{model} {regime}") + state,
        of=_told_by(who) if "model" in who else {},
        seeds=seeds,
        fold=who.get("fold"),
        same=_same(who),
        unlabelled=bool(results["counts"].get("unlabelled")),
        identity=who,
    )


def _told_by(who: Mapping[str, Any]) -> dict[str, Any]:
    """What tells a model from another of the same name: what it began with, or where nobody trained it all of it."""
    of_model = who.get("settings", {})
    if who.get("trained"):
        return {"backbone": of_model.get("backbone"), "trained": True}
    hashes = {name: str(who[name])[:length] for name, length in HASHES.items() if who.get(name)}
    return {name: value for name, value in of_model.items() if name not in FITTED} | {"trained": False} | hashes


def _same(who: Mapping[str, Any]) -> str | None:
    """Identifies what was measured, by the hash of its weights or of its server; None where nobody knows."""
    origin = who.get("weights") or who.get("server")
    of_model = {name: value for name, value in who.get("settings", {}).items() if name != "backbone"}
    return json.dumps([origin, of_model, who.get("reads"), who.get("prompt")], sort_keys=True) if origin else None
