"""Read a folder of results as a ``Run``: model, training, data, numbers and rows, for reports."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from heedful.metrics.hits import SwapSettings
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import Context, MetricName, RunError
from heedful.records.rows import read_rows
from heedful.records.storage.results import RESULTS, distinct, measurements_by_name, read_results, read_run, rows_file
from heedful.reports.results import Evaluated

PLAIN = "plain"
ATTENTIVENESS = "attentiveness"
HASHES = {"weights": 8, "server": 12, "source": 8}  # hashes that identify a model: characters of each in a label
# Settings in which runs of the same model may differ
FITTED = {"collapse", "compiled", "labels", "learning_rate", "max_length", "max_unknown", "warmup", "weight_decay"}
UNKNOWN_WORTH = "whether the model is better than a single answer is not known"


@dataclass(frozen=True, eq=False)
class Run:
    """The results of one model on one data set."""

    folder: str  # the folder, as the user wrote it
    results: Mapping[str, Any]  # content of results.json
    label: str = ""  # name of the run in tables
    members: tuple["Run", ...] = ()  # runs that differ in a seed, if the results are means over them

    @property
    def identity(self) -> Mapping[str, Any]:
        """The description of the model in results.json: name, settings, training; empty if it was not recorded."""
        return self.results.get("identity", {})

    @property
    def model(self) -> str:
        """Short name of the model, followed by its training set if it was evaluated on another data set."""
        name = self.identity.get("model") or Path(self.folder).resolve().name
        trained_on = self.identity.get("trained_on")
        return name if trained_on in (None, self.data) else f"{name} trained on {trained_on}"

    @property
    def regime(self) -> str:
        """Name of the training regime, such as "plain", "counterfactual" or "partial-hypothesis"."""
        return self.identity.get("regime", PLAIN)

    @property
    def partial(self) -> str | None:
        """The input parts that a partial-input model was trained on, joined by "+"; None for a full-input model."""
        return self.identity.get("partial")

    @property
    def data(self) -> str:
        """Name of the data set."""
        return self.results["data"]

    @property
    def split(self) -> str:
        """Name of the evaluated split."""
        return self.results["split"]

    @property
    def fold(self) -> int | None:
        """Number of the validation fold; None without cross-validation."""
        return self.identity.get("fold")

    @property
    def seed(self) -> int:
        """Seed of the training, or of the evaluation if the model was not trained."""
        return (self.identity.get("seeds") or [self.results["seed"]])[0]

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the training and of earlier trainings of the same weights, then the seed of the demonstrations."""
        prompt = self.identity.get("prompt")
        return (*self.identity.get("seeds", ()), *([prompt["seed"]] if prompt else []))

    @property
    def unlabelled(self) -> bool:
        """Whether the examples have no gold labels."""
        return bool(self.results["counts"].get("unlabelled"))

    @property
    def kind(self) -> Mapping[str, Any]:
        """Properties that distinguish models of one name; empty if the model is unknown.

        They are the backbone of a trained model; of other models, the settings except :data:`FITTED`, and a short hash
        of weights, server or source (of a function). "trained" is whether the model was trained.
        """
        settings = self.identity.get("settings", {})
        if "model" not in self.identity:
            return {}
        if self.identity.get("trained"):
            return {"backbone": settings.get("backbone"), "trained": True}
        hashes = {name: str(self.identity[name])[:n] for name, n in HASHES.items() if self.identity.get(name)}
        return {name: value for name, value in settings.items() if name not in FITTED} | {"trained": False} | hashes

    @property
    def prompt(self) -> Mapping[str, Any]:
        """Wording of the prompt, and kind and number (tuples) of its demonstrations; empty without a prompt."""
        prompt = self.identity.get("prompt") or {}
        return {name: prompt[name] for name in ("wording", "kind", "tuples") if name in prompt}

    @property
    def fingerprint(self) -> str | None:
        """A text that is equal for two runs if they measure the same model with the same format of the input.

        None without a hash of the weights or of the server.
        """
        identity = self.identity
        origin = identity.get("weights") or identity.get("server")
        settings = {name: value for name, value in identity.get("settings", {}).items() if name != "backbone"}
        content = [origin, settings, identity.get("reads"), identity.get("prompt")]
        return json.dumps(content, sort_keys=True) if origin else None

    @cached_property
    def about(self) -> Mapping[str, Any]:
        """Content of run.json, such as command and versions of packages; empty if there is no file."""
        return read_run(self.folder)

    @cached_property
    def numbers(self) -> Mapping[MetricName, Mapping[str, Any]]:
        """The entries of results.json (value, n, ci95, ...) by metric name."""
        return measurements_by_name(self.results)

    @cached_property
    def rows(self) -> Mapping[str, Evaluated]:
        """The rows (one per prediction) and their metadata by evaluation; an evaluation without a file is left out."""
        files = {name: rows_file(self.folder, name) for name in self.results["rows"]}
        return {name: read_rows(file) for name, file in files.items() if file.exists()}

    @cached_property
    def contexts(self) -> dict[str, Context]:
        """The context (data set, labels, parts, settings) of the rows by evaluation."""
        return {name: Context.of(metadata["context"]) for name, (_, metadata) in self.rows.items()}

    @property
    def score(self) -> Mapping[str, Any] | None:
        """The entry of results.json for accuracy, or for exact match if answers are texts; None without one."""
        return self._quality("")

    @property
    def majority(self) -> Mapping[str, Any] | None:
        """The entry of results.json for the score of the best constant answer; None without one."""
        return self._quality("majority")

    def _quality(self, statistic: str) -> Mapping[str, Any] | None:
        names = (MetricName(family, self.data, statistic=statistic) for family in ("accuracy", "exact_match"))
        return next((self.numbers[name] for name in names if name in self.numbers), None)

    def attentiveness(self) -> dict[str, Mapping[str, Any]]:
        """The entries of results.json for attentiveness, by swapped part."""
        numbers = {name: m for name, m in self.numbers.items() if name.part}
        return {name.part: m for name, m in numbers.items() if name == MetricName(ATTENTIVENESS, self.data, name.part)}

    def other_parts(self, part: str) -> str | None:
        """The parts that are kept when ``part`` is swapped, joined by "+"; None without rows of attentiveness."""
        if ATTENTIVENESS not in self.rows:
            return None
        return "+".join(name for name in self.contexts[ATTENTIVENESS].parts if name not in part.split("+"))

    def swaps(self) -> tuple[pa.Table, Context]:
        """Return the rows of the attentiveness evaluation, and their context.

        Raises:
            RunError: The run has no such rows, or no part was swapped.
        """
        if ATTENTIVENESS not in self.rows:
            raise RunError(f"{self.folder} has no rows of {ATTENTIVENESS}. Evaluate again, with it among evaluations.")
        context = self.contexts[ATTENTIVENESS]
        if not SwapSettings.from_context(context).parts:
            raise RunError(f"{self.folder}: no part was swapped, since the model reads one part. Leave the run out.")
        return self.rows[ATTENTIVENESS][0], context


def is_above_majority(m: Mapping[str, Any]) -> bool:
    """Whether the accuracy is above the majority share, according to the flags of ``m``, an entry of results.json."""
    return NOT_ABOVE_MAJORITY not in m["flags"]


def unlabelled_notes(runs: Sequence[Run]) -> list[str]:
    """Return a note for each run without gold labels."""
    return [f"{run.folder} has no gold labels: {UNKNOWN_WORTH}." for run in runs if run.unlabelled]


def require_gold(folder: str | Path, context: Context) -> None:
    """Raise a RunError, which names ``folder``, if rows with this context have no gold labels."""
    if context.unlabelled:
        raise RunError(f"{folder} has no gold labels, which this report needs. Evaluate examples with gold labels.")


def result_folders(folders: Sequence[str]) -> list[str]:
    """Replace each folder without results by its subfolders with results, such as the folders of several prompts."""
    paths = []
    for folder in folders:
        within = [] if (Path(folder) / RESULTS).exists() else sorted(Path(folder).rglob(RESULTS))
        paths += [str(file.parent) for file in within] or [folder]
    return paths


def read_runs(folders: Sequence[str]) -> list[Run]:
    """Read the results in folders, each folder once, and give runs on the same data different labels.

    Raises:
        HeedfulError: A folder has no results, or its files were changed.
    """
    runs = [Run(folder, read_results(folder)) for folder in distinct(folders)]
    names = []
    for run in runs:
        state = f" ({run.results['unfinished']})" if run.results.get("unfinished") else ""
        names.append((run.model if run.partial or run.regime == PLAIN else f"{run.model} {run.regime}") + state)
    labels = distinguished(names, [{**run.kind, **run.prompt} for run in runs])
    for suffix in (lambda run: f", seed {run.seed}", lambda run: f": {run.folder}"):
        keys = [(label, run.data, run.split, run.partial) for label, run in zip(labels, runs, strict=True)]
        labels = [key[0] + (suffix(run) if keys.count(key) > 1 else "") for key, run in zip(keys, runs, strict=True)]
    return [replace(run, label=label) for run, label in zip(runs, labels, strict=True)]


def distinguished(names: Sequence[str], settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of models; if several have the same name, append the settings in which they differ.

    Example:
        >>> distinguished(["bert", "gpt", "gpt"], [{}, {"seed": 0, "chat": True}, {"seed": 1, "chat": True}])
        ['bert', 'gpt, seed 0', 'gpt, seed 1']
    """
    labels = []
    for name, mine in zip(names, settings, strict=True):
        namesakes = [theirs for other_name, theirs in zip(names, settings, strict=True) if other_name == name]
        values = {key: [theirs[key] for theirs in namesakes if key in theirs] for theirs in namesakes for key in theirs}
        differ = [key for key, several in sorted(values.items()) if any(value != several[0] for value in several)]
        labels.append(", ".join([name, *(f"{key} {mine[key]}" for key in differ if key in mine)]))
    return labels


def short_names(folders: Sequence[str]) -> list[str]:
    """Shorten paths: remove the leading and the trailing components that all paths have in common.

    If different paths would become equal, they are returned as they are.

    Example:
        >>> short_names(["runs/nlixy/bert/plain", "runs/nlixy/roberta/plain"])
        ['bert', 'roberta']
    """
    paths = [Path(folder).resolve().parts for folder in folders]
    start = len(os.path.commonprefix(paths))
    end = min(len(os.path.commonprefix([path[::-1] for path in paths])), min(map(len, paths)) - start)
    names = ["/".join(path[start : len(path) - end]) or path[-1] for path in paths]
    return names if len(set(names)) == len(set(paths)) else list(folders)


def columns(runs: Sequence[Run]) -> dict[tuple[str, str], str]:
    """Return the column heading of each (data set, split): the name of the data set, and the split if runs use several
    of its splits.
    """
    pairs = list(dict.fromkeys((run.data, run.split) for run in runs))
    data = [name for name, _ in pairs]
    return {(name, split): name if data.count(name) == 1 else f"{name} {split}" for name, split in pairs}
