"""What a folder of results is about: which model, trained how, on which data, and its numbers by name."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import Context, MetricName, RunError
from heedful.records.storage.results import distinct, named, read_evaluation, read_results, rows_file

PLAIN = "plain"
HASHES = {"weights": 8, "server": 12}  # hashes of who answers, and how many characters of each are shown
FITTED = {"collapse", "compiled", "labels", "learning_rate", "max_length", "max_unknown", "warmup", "weight_decay"}
UNKNOWN_WORTH = "whether the model is better than a single answer is not known"
Evaluated = tuple[pa.Table, Mapping[str, Any]]  # the rows of an evaluation, and their metadata


@dataclass(frozen=True, eq=False)
class Measured:
    """The results of one model on one data set.

    Attributes:
        folder: As it was named.
        results: Content of results.json, whose "identity" says who was measured.
        label: Name in tables.
    """

    folder: str
    results: Mapping[str, Any]
    label: str = ""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Who was measured; empty where nobody knows."""
        return self.results.get("identity", {})

    @property
    def model(self) -> str:
        """The short name of the model, with the data that it was trained on where they are others."""
        name = self.identity.get("model") or Path(self.folder).resolve().name
        trained_on = self.identity.get("trained_on")
        return name if trained_on in (None, self.data) else f"{name} trained on {trained_on}"

    @property
    def regime(self) -> str:
        """How it was trained: "plain", "counterfactual", "partial-hypothesis", ..."""
        return self.identity.get("regime", PLAIN)

    @property
    def partial(self) -> str | None:
        """The part that it reads, where it reads one alone."""
        return self.identity.get("partial")

    @property
    def data(self) -> str:
        """Name of the data set."""
        return self.results["data"]

    @property
    def split(self) -> str:
        """Name of the examples that were evaluated."""
        return self.results["split"]

    @property
    def fold(self) -> int | None:
        """The fold of a cross-validation that it was validated on."""
        return self.identity.get("fold")

    @property
    def seed(self) -> int:
        """The seed of the training; of a model that was not trained, of the evaluation."""
        return (self.identity.get("seeds") or [self.results["seed"]])[0]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of its training, of those that it began with, and of its demonstrations."""
        prompt = self.identity.get("prompt")
        return (*self.identity.get("seeds", ()), *([prompt["seed"]] if prompt else []))

    @property
    def unlabelled(self) -> bool:
        """Whether its examples have no gold labels: nobody knows whether it is above the majority share."""
        return bool(self.results["counts"].get("unlabelled"))

    @property
    def kind(self) -> Mapping[str, Any]:
        """Settings that tell a model from another one of its name; of a trained one what its training began with."""
        settings = self.identity.get("settings", {})
        if "model" not in self.identity:
            return {}
        if self.identity.get("trained"):
            return {"backbone": settings.get("backbone"), "trained": True}
        hashes = {name: str(self.identity[name])[:n] for name, n in HASHES.items() if self.identity.get(name)}
        return {name: value for name, value in settings.items() if name not in FITTED} | {"trained": False} | hashes

    @property
    def fingerprint(self) -> str | None:
        """Identifies what was measured: weights or server, how it is asked, and what it reads; None if unknown."""
        who = self.identity
        origin = who.get("weights") or who.get("server")
        settings = {name: value for name, value in who.get("settings", {}).items() if name != "backbone"}
        return json.dumps([origin, settings, who.get("reads"), who.get("prompt")], sort_keys=True) if origin else None

    @cached_property
    def numbers(self) -> Mapping[MetricName, Mapping[str, Any]]:
        """Measurements as results.json has them."""
        return named(self.results)

    @cached_property
    def rows(self) -> Mapping[str, Evaluated]:
        """Evaluation to its rows and their metadata, of those whose files are there."""
        there = [name for name in self.results["rows"] if rows_file(self.folder, name).exists()]
        return {name: found for name in there if (found := read_evaluation(self.folder, name)) is not None}

    @property
    def score(self) -> Mapping[str, Any] | None:
        """Accuracy, or exact match of texts."""
        return self._quality("")

    @property
    def majority(self) -> Mapping[str, Any] | None:
        """The score of the best single answer."""
        return self._quality("majority")

    def _quality(self, statistic: str) -> Mapping[str, Any] | None:
        names = (MetricName(family, self.data, statistic=statistic) for family in ("accuracy", "exact_match"))
        return next((self.numbers[name] for name in names if name in self.numbers), None)

    def attentiveness(self) -> dict[str, Mapping[str, Any]]:
        """Part to attentiveness to it."""
        of = {name: m for name, m in self.numbers.items() if name.part}
        return {n.part: m for n, m in of.items() if n == MetricName("attentiveness", self.data, n.part)}


def is_above_majority(m: Mapping[str, Any]) -> bool:
    """Whether a measurement is of a model whose accuracy is above the majority share; true where nobody knows."""
    return NOT_ABOVE_MAJORITY not in m["flags"]


def unlabelled_notes(runs: Sequence[Measured]) -> list[str]:
    """A sentence for each run without gold labels."""
    return [f"{run.folder} has no gold labels: {UNKNOWN_WORTH}." for run in runs if run.unlabelled]


def require_gold(folder: str | Path, context: Context) -> None:
    """Refuse rows without gold labels, for a report that is about right and wrong answers.

    Raises:
        RunError: They are such.
    """
    if context.unlabelled:
        raise RunError(
            f"{folder} was evaluated without gold labels, so that no answer is known to be right. Evaluate examples "
            "with gold labels."
        )


def measured(folders: Sequence[str]) -> list[Measured]:
    """The results in these folders, each once, with labels that tell models apart, and runs on the same data.

    Raises:
        HeedfulError: One of them has no results, or damaged ones.
    """
    runs = [Measured(folder, read_results(folder)) for folder in distinct(folders)]
    names = []
    for run in runs:
        state = f" ({run.results['unfinished']})" if run.results.get("unfinished") else ""
        names.append((run.model if run.partial or run.regime == PLAIN else f"{run.model} {run.regime}") + state)
    labels = told_apart(names, [run.kind for run in runs])
    for more in (lambda run: f", seed {run.seed}", lambda run: f": {run.folder}"):
        keys = [(label, run.data, run.split, run.partial) for label, run in zip(labels, runs, strict=True)]
        labels = [key[0] + (more(run) if keys.count(key) > 1 else "") for key, run in zip(keys, runs, strict=True)]
    return [replace(run, label=label) for run, label in zip(runs, labels, strict=True)]


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
    """(data, split) of all runs to the heading of a column: the data, with the split where there are several."""
    pairs = list(dict.fromkeys((run.data, run.split) for run in runs))
    data = [name for name, _ in pairs]
    return {(name, split): name if data.count(name) == 1 else f"{name} {split}" for name, split in pairs}
