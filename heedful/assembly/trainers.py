"""Lightning's Trainer with Heedful's callbacks: the only place that makes one."""

import logging
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning import Callback, Trainer
from pytorch_lightning.callbacks import (
    BackboneFinetuning,
    BatchSizeFinder,
    DeviceStatsMonitor,
    GradientAccumulationScheduler,
    LearningRateFinder,
    ModelPruning,
    ProgressBar,
    StochasticWeightAveraging,
    WeightAveraging,
)
from pytorch_lightning.plugins import CheckpointIO
from pytorch_lightning.plugins.environments import LightningEnvironment
from pytorch_lightning.strategies import FSDPStrategy, ModelParallelStrategy
from pytorch_lightning.utilities.exceptions import MisconfigurationException
from pytorch_lightning.utilities.rank_zero import rank_zero_module

from heedful.assembly.settings import TrainerDefaults, several
from heedful.assembly.starts import is_first
from heedful.callbacks.checkpoints.files import AtomicCheckpointIO
from heedful.callbacks.outputs.progress import Progress
from heedful.datamodules.base.processes import is_alone, is_isolated
from heedful.lightning_modules.lightning_internals import prunes_for_good
from heedful.lightning_modules.pretrained.backbones import allowed_packages
from heedful.records import HeedfulError, SettingError
from heedful.reports.html.table import has_bars

UNFIT = {  # callbacks of Lightning, why they do not fit, and what to do
    BackboneFinetuning: "freezes model.backbone, which is a name here. Take a BaseFinetuning of your own that freezes "
    "model.network.base_model.",
    BatchSizeFinder: "would train with another data.batch_size than config.yaml says. Leave it out, and set "
    "data.batch_size.",
    LearningRateFinder: "would train with another model.learning_rate than config.yaml says. Leave it out, and set "
    "model.learning_rate.",
    StochasticWeightAveraging: "changes the weights after the last measurement. Take WeightAveraging or "
    "EMAWeightAveraging.",
}
LATE = 1_000_000  # an epoch that comes after all that a callback waits for
ADVERTISING = {"configure_logger", "_maybe_show_litmodels_tip", "_log_device_info"}  # functions of Lightning that log
FALSE_ALARMS = (
    ".isinstance.treespec, LeafSpec.. is deprecated",  # pytorch-lightning 2.6.6 with torch 2.13
    "The '.*_dataloader' does not have many workers",  # joining token ids is cheap
    "Be aware that when using `ckpt_path`, callbacks",
    "You.re using the WeightAveraging callback with a model that overrides",  # the network is there by then
    "Checkpoint directory .* exists and is not empty",  # it holds the backbone's config
)
SEEDS = ("PL_GLOBAL_SEED", "PL_SEED_WORKERS")  # which Lightning's seed_everything leaves in the environment
Settings = Mapping[str, Any]


def require_fit(settings: Settings, goes_on: bool = False) -> None:
    """Refuse settings of the Trainer with which other weights are measured than saved, or that Lightning fails at.

    Args:
        settings: Those of the Trainer.
        goes_on: Whether a training goes on from a checkpoint.

    Raises:
        SettingError: A callback does not fit, or the strategy splits the model.
    """
    for callback in several(settings["callbacks"]):
        if reason := _misfit(callback, settings, goes_on):
            raise SettingError(f"trainer.callbacks {type(callback).__name__} {reason}")
    strategy = settings["strategy"]
    if isinstance(strategy, (FSDPStrategy, ModelParallelStrategy)) or "fsdp" in str(strategy):
        raise SettingError("trainer.strategy splits the model, and evaluations need all of it. Use ddp.")


def _misfit(callback: Callback, settings: Settings, goes_on: bool) -> str | None:
    """Why a callback of Lightning does not fit, and what to do; None where it does."""
    if isinstance(callback, ModelPruning):
        if goes_on:
            return "has masks that no checkpoint holds, so that the run cannot go on. Begin a new run."
        if not prunes_for_good(callback):
            return "has other weights measured than saved. Leave prune_on_train_epoch_end and make_pruning_permanent."
    if isinstance(callback, WeightAveraging) and callback.should_update(epoch_idx=LATE):
        return "would change the average after the measurement of an epoch. Update it after steps alone."
    if isinstance(callback, GradientAccumulationScheduler) and settings.get("accumulate_grad_batches") not in (None, 1):
        return "and trainer.accumulate_grad_batches both say how many batches make a step. Leave one of them out."
    if isinstance(callback, DeviceStatsMonitor) and find_spec("psutil") is None:
        return "needs the package psutil. Install it."
    return next((reason for kind, reason in UNFIT.items() if isinstance(callback, kind)), None)


@contextmanager
def calm_lightning() -> Iterator[None]:
    """Leave out advertising and false alarms of Lightning; raise KeyboardInterrupt where it makes SystemExit of it.

    Raises:
        SettingError: Lightning, or a callback of it, refuses a setting when the Trainer begins.
    """
    logger = rank_zero_module.log  # of one package of Lightning or the other
    logger.addFilter(_is_wanted)
    try:
        with warnings.catch_warnings():
            for message in FALSE_ALARMS:
                warnings.filterwarnings("ignore", message)
            yield
    except MisconfigurationException as error:
        raise SettingError(f"trainer: {error}") from error
    except SystemExit as stop:
        if isinstance(stop.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
    finally:
        logger.removeFilter(_is_wanted)


def _is_wanted(record: logging.LogRecord) -> bool:
    return record.funcName not in ADVERTISING


@contextmanager
def allowing(packages: str | Sequence[str] | None) -> Iterator[None]:
    """Allow weights to come from these Python packages, until the context ends."""
    before = set(allowed_packages)
    allowed_packages.update([packages] if isinstance(packages, str) else packages or ())
    try:
        yield
    finally:
        allowed_packages.intersection_update(before)


@contextmanager
def restored_flags() -> Iterator[None]:
    """Give this process back what a Trainer changes, when the context ends: settings of torch, and Lightning's seed.

    Lightning seeds every later Trainer of several processes by the seed that it finds in the environment.
    """
    is_deterministic = torch.are_deterministic_algorithms_enabled()
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    benchmark = torch.backends.cudnn.benchmark
    seeds = {name: os.environ.get(name) for name in SEEDS}
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(is_deterministic, warn_only=warns)
        torch.backends.cudnn.benchmark = benchmark
        for name, seed in seeds.items():
            os.environ.pop(name, None) if seed is None else os.environ.update({name: seed})


def precision_of(settings: Settings, evaluating: bool) -> str:
    """The precision that the user chose; else bf16 to train on a GPU that has it, and fp32."""
    on_gpu = settings.get("accelerator") in ("auto", "gpu", "cuda") and torch.cuda.is_available()
    half = on_gpu and not evaluating and torch.cuda.is_bf16_supported()
    return str(settings.get("precision") or ("bf16-mixed" if half else "32-true"))


def make_trainer(
    callbacks: Iterable[Callback],
    settings: Settings,
    evaluating: bool,
    own: Sequence[Callback] = (),
    folder: Path | None = None,
) -> Trainer:
    """A Trainer with these callbacks, those that the settings name, and a progress bar unless it is switched off.

    Args:
        callbacks: Heedful's, in the order in which they have their turn.
        settings: Those of the Trainer; Heedful's defaults for all others.
        evaluating: Whether nothing is trained.
        own: Callbacks that stand behind those that the settings name.
        folder: Where profilers write that name no folder; by default, where Lightning has it.

    Raises:
        HeedfulError: Lightning refuses a setting.
    """
    settings = {**vars(TrainerDefaults()), **settings}
    from_settings = several(settings.get("callbacks"))
    is_wanted = settings.get("enable_progress_bar") is not False and has_bars()
    has_bar = is_wanted and not any(isinstance(c, ProgressBar) for c in from_settings)
    plugins = several(settings.get("plugins"))
    if not any(isinstance(plugin, CheckpointIO) for plugin in plugins):
        plugins.append(AtomicCheckpointIO())
    if is_isolated():  # else torchrun's or SLURM's variables count the other ranks in
        plugins.append(LightningEnvironment())
    root = settings.get("default_root_dir") or (None if folder is None else str(folder))
    loggers = [
        item(save_dir=str(folder)) if isinstance(item, partial) else item for item in several(settings.get("logger"))
    ]
    whole = {
        **settings,
        **({"logger": loggers} if len(loggers) > 1 else {"logger": loggers[0]} if loggers else {}),
        **({} if has_bars() else {"enable_progress_bar": False}),
        "default_root_dir": root,
        "callbacks": [*callbacks, *([Progress()] if has_bar else []), *from_settings, *own],
        "plugins": plugins,
        "precision": precision_of(settings, evaluating),
    }
    is_on_cpu = settings.get("accelerator") == "cpu" or not torch.accelerator.is_available()
    if is_on_cpu and str(whole["precision"]) in ("16", "16-mixed"):
        raise SettingError("trainer.precision 16-mixed needs a GPU. Set bf16-mixed on a CPU.")
    first = is_first()
    try:
        trainer = Trainer(**whole)
    except HeedfulError:
        raise
    except KeyError as error:  # Lightning looks up each variable of the launcher that it detects
        raise SettingError(
            f"The environment variable {error} is missing, and others of its launcher are set. Set it, or unset them."
        ) from error
    except (MisconfigurationException, ImportError, RuntimeError, TypeError, ValueError) as error:
        raise SettingError(f"trainer: {error}") from error
    is_among_others = not is_alone() and torch.distributed.get_world_size() > 1
    if trainer.world_size == 1 and (is_among_others or not first):
        raise SettingError(
            "trainer.devices 1: other calls in this script run on several processes, each of which runs all of it. "
            "Name as many trainer.devices in each call, or write two scripts."
        )
    return trainer
