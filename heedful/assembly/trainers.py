"""Create Lightning's Trainer with the callbacks and defaults of Heedful."""

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb

import torch
from pytorch_lightning import Callback, Trainer
from pytorch_lightning.callbacks import (
    BackboneFinetuning,
    BatchSizeFinder,
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

from heedful.assembly.settings import Settings, TrainerDefaults, several
from heedful.callbacks.checkpoints.files import AtomicCheckpointIO
from heedful.callbacks.outputs.progress import Progress, TrainingPace
from heedful.datamodules.base.processes import is_alone, is_isolated
from heedful.lightning_modules.pretrained import allowed_packages
from heedful.records import HeedfulError, SettingError
from heedful.records.messages import has_bars, is_first

UNSUPPORTED = {  # callbacks of Lightning
    BackboneFinetuning: "freezes model.backbone, which is a name. Write a BaseFinetuning for model.network.base_model.",
    BatchSizeFinder: "would train with another data.batch_size than config.yaml records. Set data.batch_size.",
    LearningRateFinder: "would train with another rate than config.yaml records. Set model.learning_rate.",
    ModelPruning: "changes the weights after each measurement. Prune a trained model, and evaluate it.",
    StochasticWeightAveraging: "changes the weights after the last measurement. Use WeightAveraging.",
}
LATE = 1_000_000  # so late that every schedule has started
ADVERTISING = {"configure_logger", "_maybe_show_litmodels_tip", "_log_device_info"}  # whose messages are hidden
FALSE_ALARMS = (
    ".isinstance.treespec, LeafSpec.. is deprecated",  # pytorch-lightning 2.6.6 with torch 2.13
    "The '.*_dataloader' does not have many workers",  # batches are cheap to build
    "Be aware that when using `ckpt_path`, callbacks",
    "You.re using the WeightAveraging callback with a model that overrides",  # bind builds the network early enough
    "Checkpoint directory .* exists and is not empty",  # it holds the config of the backbone
)
SEEDS = ("PL_GLOBAL_SEED", "PL_SEED_WORKERS")  # set by Lightning's seed_everything


def require_fit(settings: Settings) -> None:
    """Raise SettingError if a callback would change weights that were measured, or if the strategy shards the model."""
    for callback in several(settings["callbacks"]):
        if reason := _why_unsupported(callback):
            raise SettingError(f"trainer.callbacks {type(callback).__name__} {reason}")
    strategy = settings["strategy"]
    zero = getattr(strategy, "config", None) or {}  # of DeepSpeed
    is_stage_3 = "stage_3" in str(strategy) or zero.get("zero_optimization", {}).get("stage") == 3
    if isinstance(strategy, (FSDPStrategy, ModelParallelStrategy)) or is_stage_3 or "fsdp" in str(strategy):
        raise SettingError("trainer.strategy shards the model, and evaluations need all of its weights. Use ddp.")


def _why_unsupported(callback: Callback) -> str | None:
    """Return why Heedful does not support a callback, for a message; None for a supported callback."""
    if isinstance(callback, WeightAveraging) and callback.should_update(epoch_idx=LATE):
        return "would change the average after an epoch was measured. Update it after steps only."
    return next((reason for kind, reason in UNSUPPORTED.items() if isinstance(callback, kind)), None)


@contextmanager
def session(allow_package: str | Sequence[str] | None = None) -> Iterator[None]:
    """Context manager of a training or an evaluation.

    It hides Lightning's advertising and false warnings. At its end, it restores flags of torch and the environment
    variables with the seed, which a Trainer changes, and which would seed later Trainers with processes. Ctrl-C
    raises KeyboardInterrupt again, which Lightning would turn into SystemExit.
    """
    flags = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    benchmark, seeds = torch.backends.cudnn.benchmark, {name: os.environ.get(name) for name in SEEDS}
    logger, allowed = rank_zero_module.log, set(allowed_packages)
    listed = [allow_package] if isinstance(allow_package, str) else allow_package or ()
    allowed_packages.update(name for text in listed for name in text.split(","))
    logger.addFilter(is_wanted := lambda record: record.funcName not in ADVERTISING)
    try:
        with warnings.catch_warnings():
            for message in FALSE_ALARMS:
                warnings.filterwarnings("ignore", message)
            yield
    except (MisconfigurationException, ValueError) as error:
        if isinstance(error, ValueError) and "pytorch_lightning" not in extract_tb(error.__traceback__)[-1].filename:
            raise
        raise SettingError(f"trainer: {' '.join(str(error).split())}") from error
    except SystemExit as stop:
        if isinstance(stop.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
    finally:
        logger.removeFilter(is_wanted)
        allowed_packages.intersection_update(allowed)
        torch.use_deterministic_algorithms(flags[0], warn_only=flags[1])
        torch.backends.cudnn.benchmark = benchmark
        for name, seed in seeds.items():
            os.environ.pop(name, None) if seed is None else os.environ.update({name: seed})


def precision_of(settings: Settings, stage: str) -> str:
    """Return the precision in the settings, or else bf16 for training on a GPU that supports it, and else fp32."""
    on_gpu = settings.get("accelerator") in ("auto", "gpu", "cuda") and torch.cuda.is_available()
    half = on_gpu and stage == "fit" and torch.cuda.is_bf16_supported()
    return str(settings.get("precision") or ("bf16-mixed" if half else "32-true"))


def make_trainer(
    callbacks: Iterable[Callback],
    settings: Settings,
    stage: str,
    last: Sequence[Callback] = (),
    folder: Path | None = None,
) -> Trainer:
    """Create a Trainer with ``callbacks``, those of the settings, ``last`` and a progress bar, in this order.

    ``stage`` is "fit" or "validate"; ``folder`` is the default folder of profilers and loggers.
    """
    settings = {**vars(TrainerDefaults()), **settings}
    from_settings = several(settings.get("callbacks"))
    shows_bar = settings.get("enable_progress_bar") is not False and has_bars()
    has_bar = shows_bar and not any(isinstance(c, ProgressBar) for c in from_settings)
    paces = [TrainingPace()] if stage == "fit" else []
    plugins = several(settings.get("plugins"))
    if not any(isinstance(plugin, CheckpointIO) for plugin in plugins):
        plugins.append(AtomicCheckpointIO())
    if is_isolated():  # ignores the variables that torchrun and SLURM set for all ranks
        plugins.append(LightningEnvironment())
    root = settings.get("default_root_dir") or (None if folder is None else str(folder))
    arguments = {
        **settings,
        **({} if has_bars() else {"enable_progress_bar": False}),
        "default_root_dir": root,
        "callbacks": [*callbacks, *([Progress()] if has_bar else []), *paces, *from_settings, *last],
        "plugins": plugins,
        "precision": precision_of(settings, stage),
    }
    is_on_cpu = settings.get("accelerator") == "cpu" or not torch.accelerator.is_available()
    if is_on_cpu and str(arguments["precision"]) in ("16", "16-mixed"):
        raise SettingError("trainer.precision 16-mixed needs a GPU. Set bf16-mixed on a CPU.")
    first = is_first()
    try:
        trainer = Trainer(**arguments)
    except (MisconfigurationException, ImportError, RuntimeError, TypeError, ValueError) as error:
        raise error if isinstance(error, HeedfulError) else SettingError(f"trainer: {error}") from error
    is_among_others = not is_alone() and torch.distributed.get_world_size() > 1
    if trainer.world_size == 1 and (is_among_others or not first):
        raise SettingError(
            "trainer.devices 1: another call in this script uses several processes, which all run this call. Set the "
            "same trainer.devices in each call, or write two scripts."
        )
    return trainer
