"""What a folder of results is about: which model, trained how, on which data, and its numbers by name."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import HeedfulError, MetricName
from heedful.records.storage.named_configs import backbones
from heedful.records.storage.regime import regime_name
from heedful.records.storage.results import ACCEPTED, distinct, named, read_results
from heedful.records.storage.run_files import require_config
from heedful.records.storage.schema import whole
from heedful.records.storage.yaml_files import read_yaml

CONFIG = "config.yaml"
EXPORTED = ("checkpoints", "backbone")
PLAIN = "plain"
DEEPEST = 9  # runs that began with the weights of each other
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
        seed: Of the run.
        numbers: Measurements as results.json has them.
        label: What tables call it.
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
    """The results in these folders, each once, with labels that tell apart what is measured on the same data.

    Raises:
        HeedfulError: One of them has no results, or a damaged configuration.
    """
    found = [_read(folder) for folder in distinct(folders)]
    for more in (lambda run: f"{run.label}, seed {run.seed}", lambda run: f"{run.label}: {run.folder}"):
        keys = [(run.label, run.data, run.split, run.partial) for run in found]
        found = [
            replace(run, label=more(run)) if keys.count(key) > 1 else run for run, key in zip(found, keys, strict=True)
        ]
    return found


def columns(runs: Sequence[Measured]) -> dict[tuple[str, str], str]:
    """(data, split) of all runs to what a column is called: the data, with the split where there are several."""
    pairs = list(dict.fromkeys((run.data, run.split) for run in runs))
    data = [name for name, _ in pairs]
    return {(name, split): name if data.count(name) == 1 else f"{name} {split}" for name, split in pairs}


def settings(folder: Path) -> dict[str, Any]:
    """Settings of the model and of the data, in the folder of a run or of an evaluation; nothing where there are none.

    Returns:
        "model" and "data", each with its "class_path", and "checkpoint", of an evaluation.

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
    return {**found, "checkpoint": checkpoint if isinstance(checkpoint, str) else None}


def short_name(backbone: str, class_path: str | None) -> str | None:
    """The short name of a model, as --model takes it; None where no file in configs/model names the backbone."""
    fitting = {name: of_class for name, (of, of_class) in backbones().items() if of == backbone}
    same = [name for name, of_class in fitting.items() if class_path and of_class == whole("model", class_path)]
    return next(iter([*same, *fitting]), None)


def _read(folder: str) -> Measured:
    results = read_results(folder)
    own = settings(Path(folder))
    trained = own
    model = Path(folder).resolve().name
    regime = PLAIN
    partial = None
    if own:
        if own["checkpoint"]:
            run = Path(own["checkpoint"]).parents[1]
            trained = settings(run) or settings(Path(folder).resolve().parents[1]) or own
        model = _model(trained)
        data = trained["data"]
        partial = own["data"].get("partial")
        n = (data.get("inoculation") or {}).get("n", 0)
        mixed = bool(data.get("mixture")), data.get("control")
        regime = regime_name(partial, data.get("augment"), n, data.get("fold"), *mixed)
        if (of := data.get("name")) and own["data"].get("name") not in (None, of):
            model = f"{model} trained on {of}"
    label = model if partial or regime == PLAIN else f"{model} {regime}"
    if how_far := results.get("unfinished"):
        label = f"{label} ({how_far})"
    if ACCEPTED in results:
        label = f"{label} (rows accepted)"
    about = results["data"], results["split"], results["seed"], named(results)
    return Measured(folder, model, regime, partial, *about, label)


def _model(config: Mapping[str, Any]) -> str:
    """The short name of a model, through the runs whose weights it began with."""
    for _ in range(DEEPEST):
        own = config["model"]
        backbone = str(own.get("backbone") or own.get("name") or own["class_path"].rpartition(".")[2])
        if Path(backbone).parts[-2:] != EXPORTED:
            break
        run = Path(backbone).parents[1]
        before = settings(run)
        if not before:
            return run.name
        config = before
    name = short_name(backbone, config["model"]["class_path"])
    return name or re.sub(r"[^\w.-]+", "-", backbone).strip("-").lower()
