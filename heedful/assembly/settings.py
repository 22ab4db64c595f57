"""Settings that belong to a run and not to its data or model, such as seed and output folder, and their defaults."""

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from heedful.callbacks.engine.evaluation import Evaluation
from heedful.callbacks.evaluations import EVALUATIONS, chosen, shown_evaluations
from heedful.parser import dump, section
from heedful.records import SettingError, inform
from heedful.records.arguments import IN_MEMORY, is_importable

Settings = dict[str, Any]  # nested, as in config.yaml

SEED = "seed_everything"  # the name of the seed in config.yaml, as LightningCLI has it


def name_list(names: Any) -> Any:
    """Split a text such as "a, b" into a list of names; return other values unchanged."""
    return [name for name in re.split(r"[\s,]+", names.strip("[] ")) if name] if isinstance(names, str) else names


def several(value: Any) -> list[Any]:
    """Convert a setting to a list: None becomes an empty list, and a single value a list with one element."""
    return list(value) if isinstance(value, list | tuple) else [] if value is None else [value]


def write_settings(settings: Mapping[str, Any], path: Path) -> None:
    """Write settings to a YAML file that ``--config`` reads."""
    path.write_text(dump(settings), encoding="utf-8")


def imported(path: str) -> Any:
    """Import and return the object at an import path, also from the working folder; None if it does not exist.

    Raises:
        ImportError: The module exists, but an import in it fails.
    """
    module, _, name = path.rpartition(".")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return getattr(import_module(module), name, None)
    except ImportError as error:
        if f"{module}.".startswith(f"{error.name}."):
            return None
        raise


def named_evaluation(path: str) -> type[Evaluation]:
    """Return the class of evaluations at an import path; raise SettingError if there is none."""
    owner = imported(path)
    if not (isinstance(owner, type) and issubclass(owner, Evaluation)):
        raise SettingError(f"evaluations {path} is not the import path of an evaluation.")
    inform(f"The evaluation {path} is called {owner.metric.name}.")
    return owner


def complete_evaluations(
    evaluating: bool, configured: Sequence[Evaluation], names: Sequence[str] | None
) -> tuple[list[Evaluation], list[str] | None]:
    """Add all other evaluations of a training or an evaluation, with their defaults, to the evaluations that are
    ``configured``; return them in the order in which they run, and the ``names`` of those to run, which are checked.
    """
    if twice := [name for name, n in Counter(evaluation.name for evaluation in configured).items() if n > 1]:
        raise SettingError(f"This call has two evaluations called {twice[0]}. Leave one of them out.")
    kinds = [kind for kind in EVALUATIONS.values() if not kind.has_settings] + shown_evaluations(evaluating)
    by_name = {evaluation.name: evaluation for evaluation in configured}
    defaults = {kind.metric.name: by_name.get(kind.metric.name) or kind() for kind in kinds}
    by_name = defaults | by_name
    return list(by_name.values()), chosen(names, by_name)


def record_of_evaluations(evaluations: Sequence[Evaluation], names: Sequence[str] | None) -> Settings:
    """Return the settings of evaluations as config.yaml stores them, and the names of those that a call names.

    An evaluation that another process cannot create, such as a perturbation in a notebook, is :data:`IN_MEMORY`.
    """
    kinds = {item.name: type(item) for item in evaluations}
    lost = {name for name, kind in kinds.items() if EVALUATIONS.get(name) is not kind or not is_importable(kind)}
    record: Settings = {}
    for evaluation in evaluations:
        settings = section(evaluation, evaluation.name)["init_args"]
        record |= {evaluation.name: IN_MEMORY if evaluation.name in lost else settings} if settings else {}
    return record | {"evaluations": names and [IN_MEMORY if name in lost else name for name in names]}


@dataclass
class TrainerDefaults:
    """Settings of Lightning's Trainer for which Heedful has other defaults than Lightning.

    Args:
        max_epochs: Number of epochs.
        gradient_clip_val: Largest norm of the gradients.
        use_distributed_sampler: Whether Lightning replaces the sampler; Heedful's own sampler already serves all ranks.
        num_sanity_val_steps: Number of validation batches before training.
        log_every_n_steps: Number of steps between two logged losses.
        enable_model_summary: Whether to print the layers of the network.
    """

    max_epochs: int = 2
    gradient_clip_val: float = 1.0
    use_distributed_sampler: bool = False
    num_sanity_val_steps: int = 0
    log_every_n_steps: int = 10
    enable_model_summary: bool = False


@dataclass
class RunSettings:
    """Settings that training and evaluation share.

    Args:
        seed_everything: Seed of everything random, from 0 to 4294967295.
        evaluations: Evaluations to run: a list, or names with commas between them.
        output: Folder of the results; by default a new folder in runs/.
    """

    seed_everything: int = 0
    evaluations: list[str] | str | None = None
    output: str | None = None


@dataclass
class TrainingSettings(RunSettings):
    """Settings of training.

    Args:
        allow_changed_data: Resume although the examples have changed.
    """

    allow_changed_data: bool = False


@dataclass
class EvaluationSettings(RunSettings):
    """Settings of evaluation.

    Args:
        checkpoint: Run or checkpoint to evaluate; its model and, by default, its data are used.
        dry_run: Count the requests to a server, and send none.
    """

    checkpoint: str | None = None
    dry_run: bool = False
