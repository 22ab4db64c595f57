"""The settings of a run, with their defaults: the commands and the functions of Python take them from here."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.records import SettingError
from heedful.records.parser import dump

SEED = "seed_everything"  # the name of the seed in config.yaml, as LightningCLI has it


def require_seed(seed: int) -> int:
    """Refuse a seed that is out of range, and return it.

    Raises:
        SettingError: It is not from 0 to 4294967295.
    """
    if not 0 <= seed < 2**32:
        raise SettingError(f"seed {seed} is not from 0 to {2**32 - 1}.")
    return seed


def write_settings(settings: Mapping[str, Any], path: Path) -> None:
    """Write settings as a file that ``--config`` reads."""
    path.write_text(dump(settings), encoding="utf-8")


@dataclass
class TrainerDefaults:
    """Settings of Lightning's Trainer whose defaults are others here than there.

    Args:
        max_epochs: Stop after so many epochs.
        gradient_clip_val: Largest norm of the gradients.
        use_distributed_sampler: Whether Lightning shares out the examples; here the data do so themselves.
        num_sanity_val_steps: Batches that are evaluated before training, to see whether that works.
        log_every_n_steps: Log the loss after so many steps.
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
        seed: From 0 to 4294967295; all that is random follows from it.
        evaluations: Only these; a list, or names with commas between them.
        output: Folder of the results, instead of the one in runs/.
    """

    seed: int = 0
    evaluations: list[str] | str | None = None
    output: str | None = None


@dataclass
class TrainingSettings(RunSettings):
    """Settings of training.

    Args:
        allow_changed_data: Go on though the examples are not the same.
        ckpt_path: Continue the run of this checkpoint; last: the one in the folder of the results.
    """

    allow_changed_data: bool = False
    ckpt_path: str | None = None


@dataclass
class EvaluationSettings(RunSettings):
    """Settings of evaluation.

    Args:
        checkpoint: Run to evaluate, or one of its checkpoints; brings its model, and its data if none are named.
        dry_run: Say how many requests a server would get, and send none.
    """

    checkpoint: str | None = None
    dry_run: bool = False
