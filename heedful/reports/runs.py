"""What a folder of results is about: which model, trained how, on which data, and its numbers by name."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import Context, MetricName, RunError
from heedful.records.arguments import IN_MEMORY
from heedful.records.storage.folder_names import folder_name, regime_name
from heedful.records.storage.named_configs import backbones
from heedful.records.storage.results import ACCEPTED, distinct, named, read_results, read_run
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
UNKNOWN_WORTH = "whether the model is better than a single answer is not known"
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
        seed: That the model was trained with; of one that was not trained, that it was evaluated with.
        numbers: Measurements as results.json has them.
        label: What tables call it.
        of: Settings that tell this model from another of the same name.
        seeds: Of its training, and of those that it began with; empty where nobody knows.
        fold: That it was validated on, of a cross-validation.
        same: Identifies what was measured: weights, how they are asked, and what they read. None where nobody knows.
        unlabelled: Whether its examples have no gold labels: nobody knows whether it is above the majority share.
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
    unlabelled: bool = False

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
        sections = {
            kind: saved[kind]["init_args"] | {"class_path": whole(kind, saved[kind]["class_path"])}
            for kind in ("model", "data")
        }
    except (KeyError, TypeError):
        raise RunError(
            f"{path} is not a configuration that train.py wrote. Bring the file back that was written, or begin a new "
            "run."
        ) from None
    checkpoint = saved.get("checkpoint")  # of a run, settings of how they are kept
    seed = saved.get("seed_everything")
    return {
        **sections,
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
    unlabelled = bool(results["counts"].get("unlabelled"))
    if not own:
        name = Path(folder).resolve().name
        return Measured(folder, name, PLAIN, None, *about, name + state, started=started, unlabelled=unlabelled)
    trained = own
    if own["checkpoint"]:
        of = Path(own["checkpoint"]).parents[1]
        trained = settings(of) or settings(Path(folder).resolve().parents[1]) or own
    chain = trainings(trained)
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
        unlabelled=unlabelled,
    )


def _told_by(
    began: Mapping[str, Any], is_trained: bool, results: Mapping[str, Any], run: Mapping[str, Any]
) -> dict[str, Any]:
    """What tells a model from another of the same name: what it began with, or where nobody trained it all of it."""
    model = began["model"]
    if is_trained:
        return {"backbone": model.get("backbone"), "trained": True}
    model_settings = {key: value for key, value in model.items() if key not in HOW | FITTED} | {"trained": False}
    weights = {"weights": str(results["weights"])[:8]} if results.get("weights") else {}
    return model_settings | weights | ({"server": run["server"]} if "server" in run else {})


def _identity(results: Mapping[str, Any], folder: str, own: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    """Identifies what was measured: by the hash of its weights, or else by where they are from."""
    origin: Any = results.get("weights") or run.get("server")
    if origin is None and own["checkpoint"]:
        origin = [str(Path(own["checkpoint"]).resolve()), (run.get("evaluation") or {}).get("steps")]
    elif origin is None:
        is_unknown = own["trained"] or IN_MEMORY in own["model"].values()  # as of a function
        origin = str(Path(folder).resolve()) if is_unknown else own["model"].get("backbone")
    model = {key: value for key, value in own["model"].items() if key not in HOW | PATHS}
    reads = {key: own["data"].get(key) for key in READS}
    prompt = {key: value for key, value in (run.get(PROMPT) or {}).items() if key not in EXAMPLE}
    return json.dumps([origin, model, reads, prompt], sort_keys=True, default=str)


def trainings(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The settings of a training, of the one whose weights it began with, and so on; the last has others' weights."""
    configs = [config]
    while len(configs) < DEEPEST:
        backbone = Path(backbone_of(configs[-1]))
        before = settings(backbone.parents[1]) if backbone.parts[-2:] == EXPORTED else {}
        if not before:
            break
        configs.append(before)
    return configs


def backbone_of(config: Mapping[str, Any]) -> str:
    own = config["model"]
    return str(own.get("backbone") or own.get("name") or own["class_path"].rpartition(".")[2])


def _name(began: Mapping[str, Any]) -> str:
    """The short name of the model that the first training began with."""
    backbone = backbone_of(began)
    if Path(backbone).parts[-2:] == EXPORTED:
        return Path(backbone).parents[1].name
    name = short_name(backbone, began["model"]["class_path"])
    is_place = Path(backbone).is_absolute()  # of a machine, whose other folders are nobody's business
    return name or folder_name(Path(backbone).name if is_place else backbone).lower()
