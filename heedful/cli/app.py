"""The parts that train.py and evaluate.py share: the settings, the checks of them, the callbacks of every run."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning import Callback
from pytorch_lightning.accelerators import AcceleratorRegistry
from pytorch_lightning.callbacks import (
    BatchSizeFinder,
    EarlyStopping,
    LearningRateFinder,
    ProgressBar,
    StochasticWeightAveraging,
    WeightAveraging,
)
from pytorch_lightning.cli import LightningArgumentParser, LightningCLI
from pytorch_lightning.plugins import CheckpointIO
from pytorch_lightning.strategies import FSDPStrategy, ModelParallelStrategy
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from heedful.assembly.names import config_path, model_folder
from heedful.callbacks import EVALUATIONS, BestCheckpoint, Board, ContactSheet, Engine, RunFolder, Setting, WordSheet
from heedful.callbacks.checkpoints.files import (
    AtomicCheckpointIO,
    outline,
    progress,
    require_of_run,
    require_own,
    require_whole,
)
from heedful.callbacks.engine.engine import Planned
from heedful.callbacks.outputs.board import BoardLogger
from heedful.callbacks.outputs.progress import Progress
from heedful.callbacks.outputs.run_folder import is_finished
from heedful.cli.allowed_classes import require_kinds
from heedful.cli.held_out import require_held_out
from heedful.cli.idle_settings import require_effect, require_one_seed
from heedful.cli.messages import Parser, as_flag, first_sentence, root, user_mistake
from heedful.cli.named_folder import claim_named, require_inside
from heedful.cli.prompting import prompts_of, show_requests
from heedful.cli.refused_settings import parsed
from heedful.cli.remedies import require_head
from heedful.cli.runs import drawn_seed, is_first, require_same_settings, show_if_finished
from heedful.cli.short_forms import description
from heedful.datamodules import PairedData
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import Classifier
from heedful.lightning_modules.lightning_internals import start_method
from heedful.records import ExamplesBuilder, HeedfulError
from heedful.records.errors import nearest
from heedful.records.storage.claim import release
from heedful.records.storage.run_files import CONFIG
from heedful.records.storage.yaml_files import read_yaml

UNFIT = {  # callbacks of Lightning by which a run is not what its folder says, and what to do instead
    WeightAveraging: ("would have other weights measured than best.ckpt holds", "Leave it out."),
    StochasticWeightAveraging: ("makes weights behind the last measurement, which nothing measures", "Leave it out."),
    LearningRateFinder: ("finds a rate that config.yaml would not say", "Name one with --model.learning_rate."),
    BatchSizeFinder: ("finds a size that config.yaml would not say", "Name one with --data.batch_size."),
}
GPUS = {"gpu": ("cuda", "mps")}  # accelerators behind a name of Lightning


class HeedfulCLI(LightningCLI):
    """LightningCLI with Heedful's callbacks and run folders.

    Args:
        evaluating: Whether nothing is trained: every evaluation is exhaustive and in full precision.
        folder: Makes the folder for the run's output from (data name, model name, regime).
        args: The command line, expanded. ``sys.argv`` stays as it is: processes that Lightning starts repeat it.
    """

    def __init__(self, evaluating: bool, folder: Callable[["HeedfulCLI"], Path], args: list[str]) -> None:
        self.evaluating = evaluating
        self.make_folder = folder
        self.about: dict[str, Any] = {}  # goes into run.json
        self.plain = [kind() for kind in EVALUATIONS.values() if not kind.has_settings]
        self.engine: Engine | None = None
        self.planned: dict[str, Planned] = {}  # the evaluations that have something to do
        self.prompts: list[Any] = []  # of a model that is asked in context
        try:
            self._make(args)
        except BaseException as error:
            release()  # and leave no empty folder behind
            if isinstance(error, HeedfulError):
                error.name_settings(as_flag)
            raise

    def _make(self, args: list[str]) -> None:
        super().__init__(
            Classifier,
            PairedData,
            subclass_mode_model=True,
            subclass_mode_data=True,
            save_config_callback=None,
            args=args,
            run=False,
            auto_configure_optimizers=False,
            load_from_checkpoint_support=False,
            seed_everything_default=0,
            parser_class=Parser,
            parser_kwargs={"description": description(self.evaluating), "usage": "%(prog)s [short forms] [settings]"},
            trainer_defaults={
                "max_epochs": 2,
                "gradient_clip_val": 1.0,
                "use_distributed_sampler": False,
                "num_sanity_val_steps": 0,
                "log_every_n_steps": 10,
                "enable_model_summary": False,
            },
        )

    def parse_arguments(self, parser: LightningArgumentParser, args: list[str]) -> None:
        self.config = parsed(parser, args)
        require_kinds(self.config)
        for flag, value in {"init_from": "RUN", "allow_package": "NAME", "resume": "RUN"}.items():
            if self.config.get(flag) and f"--{flag}" not in args:
                raise HeedfulError(
                    "command-line-only", f"--{flag} stands in a file of settings.", f"Type it, as --{flag} {value}."
                )
        if self.config.seed_everything is True:
            self.config.seed_everything = self.config.data.init_args.seed = drawn_seed()
        if not 0 <= int(self.config.seed_everything or 0) < 2**32:
            raise HeedfulError(
                "bad-setting", f"--seed_everything {self.config.seed_everything} is not from 0 to {2**32 - 1}."
            )
        require_one_seed(args, self.config)
        if not self.evaluating:
            require_same_settings(self.config, parser)
        require_inside(self.config, sys.argv[1:])
        claim_named(self.config, self.evaluating, parser)  # before anything is read

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        shown = [kind for kind in EVALUATIONS.values() if kind.has_settings and (kind.in_training or self.evaluating)]
        for kind in sorted(shown, key=lambda kind: not kind.in_training):
            parser.add_lightning_class_args(kind, kind.metric.name)
        if not self.evaluating:
            parser.add_lightning_class_args(BestCheckpoint, "checkpoint")
            parser.add_argument(
                "--init_from", type=str | None, help="Finished run to take the model from, to train it on other data."
            )
            parser.add_argument(
                "--allow_changed_data", type=bool, default=False, help="Go on though the examples are not the same."
            )
            parser.add_argument("--resume", type=str | None, help="Run that was stopped: go on with it, as configured.")
            help_ = "Continue the run of this checkpoint; last: the one in --output."
            parser.add_argument("--ckpt_path", type=str | None, help=help_)
        else:
            help_ = "What to evaluate: a run, or one of its checkpoints."
            parser.add_argument("--checkpoint", type=str | None, help=help_)
            help_ = f"Only these, of {', '.join(EVALUATIONS)}."
            parser.add_argument("--evaluations", type=list[str] | str | None, help=help_)
            parser.add_class_arguments(Prompting, "prompt")
            help_ = "Say how many requests a server would get, and send none."
            parser.add_argument("--dry_run", action="store_true", help=help_)
        parser.add_argument(
            "--allow_package", type=str | None, help="Python package that weights may come from; only named here."
        )
        parser.add_argument("--output", type=str | None, help="Folder of the results, instead of the one in runs/.")
        parser.link_arguments("seed_everything", "data.init_args.seed", compute_fn=int)

    @property
    def model_name(self) -> str:
        """The short name of the backbone, or its id as a folder name."""
        settings = self.config.model.init_args
        backbone = str(settings.get("backbone") or settings.get("name") or type(self.model).__name__)
        return model_folder(backbone, self.config.model.class_path)

    def before_instantiate_classes(self) -> None:
        if not self.evaluating and show_if_finished(self.config, self.parser):
            sys.exit(0)

    def instantiate_classes(self) -> None:
        try:
            super().instantiate_classes()
        except (MisconfigurationException, ImportError, ValueError) as error:
            raise user_mistake(error) or HeedfulError("bad-setting", first_sentence(root(error))) from error

    def check(self) -> None:
        """Let mistakes show before a run folder is made.

        Raises:
            HeedfulError: The data cannot be read, the model does not fit them, or the checkpoint is damaged.
        """
        self._require_callbacks()
        self._require_accelerator()
        if (batches := self.config.trainer.accumulate_grad_batches) < 1:
            raise HeedfulError("bad-setting", f"--trainer.accumulate_grad_batches {batches} is less than 1.")
        if not (norm := self.config.trainer.gradient_clip_val or 0) >= 0:  # gradients would be turned around
            raise HeedfulError("bad-setting", f"--trainer.gradient_clip_val {norm} is not 0 or more.")
        strategy = self.config_init["trainer"]["strategy"]
        if re.search("spawn|fork|notebook", start_method(strategy)):
            raise HeedfulError(
                "unfit-trainer",
                "--trainer.strategy copies this process, and each has to run the command from its beginning.",
                "Take --trainer.strategy ddp.",
            )
        if isinstance(strategy, (FSDPStrategy, ModelParallelStrategy)) or "fsdp" in str(strategy):
            raise HeedfulError(
                "unfit-trainer",
                "--trainer.strategy splits the model, which cannot be evaluated so while it trains.",
                "Take --trainer.strategy ddp.",
            )
        if not self.evaluating and self.config.checkpoint.get("dirpath"):
            raise HeedfulError(
                "clashing-settings",
                f"--checkpoint.dirpath {self.config.checkpoint.dirpath}: checkpoints lie in the folder of the run.",
                "Choose that with --output.",
            )
        self.datamodule.allow_changed = not self.evaluating and self.config.allow_changed_data
        self._prepare_model()
        self.prompts = prompts_of(self.config_init.get("prompt"), self.model, self.datamodule)
        self.model.require_precision(str(self.precision()))
        self._plan_evaluations()
        if self.evaluating and self.config.dry_run:
            limit = self.config.trainer.limit_val_batches
            show_requests(self.model, self.datamodule, self.planned.values(), self.prompts, limit)
            sys.exit(0)
        checkpoint = self.config.get("checkpoint" if self.evaluating else "ckpt_path")
        if checkpoint is None:
            self.model.require_weights()
        else:
            flag = f"--{'checkpoint' if self.evaluating else 'ckpt_path'} {checkpoint}"
            require_whole(Path(checkpoint), flag)
            require_of_run(outline(Path(checkpoint)), flag)
            require_own(Path(checkpoint), flag)
            self.engine.unfinished = self.unfinished
            if not self.evaluating:
                progress(Path(checkpoint))  # training goes on from more than weights
        require_held_out(self)

    def _require_callbacks(self) -> None:
        """Refuse callbacks by which a run is not what its folder says, and training of nothing."""
        for callback in self.own_callbacks:
            for kind, (reason, do) in UNFIT.items():
                if isinstance(callback, kind):
                    raise HeedfulError("unfit-trainer", f"--trainer.callbacks {type(callback).__name__} {reason}.", do)
        for setting, value in {"barebones": True, "enable_checkpointing": False}.items():
            if self.config.trainer.get(setting) is value and not self.evaluating:
                wrong = f"--trainer.{setting} {value} leaves out what a run needs: checkpoints, logs, evaluations."
                raise HeedfulError("unfit-trainer", wrong, "Leave it out.")
        for setting in ("max_epochs", "max_steps", "limit_train_batches"):
            if not self.evaluating and self.config.trainer.get(setting) == 0:
                raise HeedfulError(
                    "bad-setting",
                    f"--trainer.{setting} 0 trains nothing.",
                    "Measure a model as it is with evaluate.py.",
                )

    def _require_accelerator(self) -> None:
        """Refuse an accelerator that torch does not find here."""
        name = self.config_init["trainer"]["accelerator"]
        named = [kind for kind in GPUS.get(str(name), (str(name),)) if kind in AcceleratorRegistry]
        if named and not any(AcceleratorRegistry[kind]["accelerator"].is_available() for kind in named):
            raise HeedfulError(
                "unfit-trainer",
                f"--trainer.accelerator {name}: torch finds none here.",
                "Take --trainer.accelerator cpu, or a torch that is built for it.",
            )

    @property
    def only(self) -> list[str] | None:
        """The evaluations that were asked for, or None for all.

        Raises:
            HeedfulError: One is unknown, or none is named.
        """
        chosen = self.config.get("evaluations")
        chosen = re.split(r"[\s,]+", chosen.strip()) if isinstance(chosen, str) else chosen
        if unknown := [name for name in chosen or [] if name not in EVALUATIONS]:
            near = nearest(unknown[0], EVALUATIONS)
            do = f"Do you mean {near}?" if near else "See --help for all names."
            raise HeedfulError("unknown-name", f"--evaluations {unknown[0]} is not an evaluation.", do)
        if chosen == []:
            raise HeedfulError("bad-setting", "--evaluations names nothing.", "Name some, or leave it out.")
        return chosen

    @property
    def unfinished(self) -> str | None:
        """How far the run is whose checkpoint is evaluated, such as "epoch 1 of 4, step 30"; None of a finished run."""
        checkpoint = Path(self.config.checkpoint).absolute() if self.evaluating and self.config.checkpoint else None
        if checkpoint is None or is_finished(checkpoint.parent.parent):
            return None
        saved = outline(checkpoint)
        settings = read_yaml(str(checkpoint.parent.parent / CONFIG), f"--checkpoint {checkpoint}")
        of = (settings.get("trainer") or {}).get("max_epochs") or -1
        return f"epoch {saved['epoch'] + 1}{f' of {of}' if of > 0 else ''}, step {saved['global_step']:,}"

    @property
    def without_data(self) -> bool:
        """Whether the evaluations that were asked for all bring examples of their own."""
        return self.only is not None and all(EVALUATIONS[name].own for name in self.only)

    def _prepare_model(self) -> None:
        """Have the data read and the model fitted to them; without data, to the labels of its own head."""
        if self.without_data:
            self.datamodule.name = "-".join(self.only)
            self.datamodule.pool = ExamplesBuilder(self.datamodule.task.parts).finish()
        self.datamodule.setup("validate" if self.evaluating else "fit")
        self.model.require_parts(self.datamodule.task)
        self.model.keeps_head = self.evaluating
        self.model.prepare(self.datamodule.task)
        if self.without_data and self.model.answers:
            self.datamodule.settle_labels(self.model.answers, default_label=None)
            self.model.prepare(self.datamodule.task)
        if self.evaluating:
            self.model.require_learned_parts(self.datamodule.full_task.parts)
            require_head(self.model, self.datamodule, self.config.checkpoint)

    def _plan_evaluations(self) -> None:
        """Have the evaluations make their plans, for which they read the examples that they bring."""
        callbacks = [*self.plain, *map(self.config_init.get, self.parser.callback_keys)]
        self.engine = Engine(self.evaluating, self.only)
        of_model = self.model.repeated, self.model.has_probabilities
        self.engine.prepare(callbacks, Setting(self.datamodule, not self.evaluating, self._read, *of_model))
        self.planned = self.engine.planned
        for name, nothing in self.engine.idle.items() if self.only else ():
            do = "Leave it out, or add what is missing."
            raise HeedfulError("idle-setting", f"--evaluations {name} {nothing.reason}.", do)
        require_effect(self, sys.argv[1:])
        for plan in (planned.plan for planned in self.planned.values() if planned.plan.inquiry is not None):
            plan.inquiry.require(self.model.processor, plan.pool)
        if not self.evaluating:
            self.config_init["checkpoint"].require_known(self.engine, self.datamodule)
            for callback in self.own_callbacks:
                if isinstance(callback, EarlyStopping) and callback.strict:
                    self.engine.require_monitored(callback.monitor, "--trainer.callbacks.monitor")

    @property
    def own_callbacks(self) -> list[Callback]:
        """The callbacks that the command line names."""
        own = self.config_init["trainer"]["callbacks"] or []
        return own if isinstance(own, list) else [own]

    @staticmethod
    def _read(name: str, path: str | None) -> PairedData:
        """A data module, set up, from the short name of a data set and its path."""
        parser = Parser()
        parser.add_subclass_arguments(PairedData, "data", required=True)
        settings = [] if path is None else [f"--data.path={path}"]
        config = parsed(parser, ["--data", config_path("data", name), *settings])
        require_kinds(config)
        data = parser.instantiate_classes(config).data
        data.setup("validate")
        return data

    def precision(self) -> str:
        """The precision that the user chose; else bf16 to train on a GPU that has it, and fp32."""
        config = self.config_init["trainer"]
        on_gpu = config["accelerator"] in ("auto", "gpu", "cuda") and torch.cuda.is_available()
        half = on_gpu and not self.evaluating and torch.cuda.is_bf16_supported()
        return config["precision"] or ("bf16-mixed" if half else "32-true")

    def instantiate_trainer(self, **kwargs: Any) -> Any:
        self.check()
        config = self.config_init["trainer"]
        folder = self.make_folder(self) if is_first() else None
        outputs = [RunFolder(folder, self.save_config, self.about), ContactSheet(), WordSheet()]
        callbacks = [*self.plain, self.engine, *outputs]
        if self.evaluating:
            kwargs["logger"] = config["logger"] or False
        else:
            callbacks.append(Board(self.hyperparameters()))
            if config["logger"] in (None, True) and not config["fast_dev_run"]:
                kwargs["logger"] = BoardLogger(str(folder), name="", version="", default_hp_metric=False)
        own = self.own_callbacks
        if config["enable_progress_bar"] is not False and not any(isinstance(c, ProgressBar) for c in own):
            callbacks.append(Progress())
        config["callbacks"] = [*callbacks, *own]
        if folder is not None and config["default_root_dir"] is None:  # for profilers, and for what loggers do not take
            kwargs["default_root_dir"] = str(folder)
        plugins = config["plugins"] or []
        plugins = plugins if isinstance(plugins, list) else [plugins]
        if not any(isinstance(plugin, CheckpointIO) for plugin in plugins):
            config["plugins"] = [*plugins, AtomicCheckpointIO()]
        try:
            return super().instantiate_trainer(**kwargs | {"precision": self.precision()})
        except (MisconfigurationException, ImportError, RuntimeError, TypeError, ValueError) as error:
            wrong = f"--trainer: {first_sentence(error)}"
            raise user_mistake(error) or HeedfulError("unfit-trainer", wrong) from error

    def hyperparameters(self) -> dict[str, Any]:
        """The settings by which runs are compared; TensorBoard shows the first five of the alphabet at once."""
        data = self.datamodule
        chosen = {"data": data.name, "model": self.model_name, "regime": data.regime, "seed": data.seed}
        chosen |= {"epochs": self.config.trainer.max_epochs, "learning_rate": self.model.learning_rate}
        return chosen | {"train_batch_size": data.batch_size}

    def save_config(self, path: Path) -> None:
        """Write the whole configuration, so that ``--config`` repeats the run, in a folder of its own."""
        config = self.config.clone()
        config["output"] = None
        if not self.evaluating:
            config["ckpt_path"] = config["resume"] = config["init_from"] = None
            config["allow_changed_data"] = False
        self.parser.save(config, path, skip_unset=False, overwrite=True, multifile=False)

    def callback(self, kind: type) -> Any:
        """The trainer's callback of a class."""
        return next(c for c in self.trainer.callbacks if isinstance(c, kind))
