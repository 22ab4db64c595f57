"""The command line of train.py and evaluate.py: words to the parts and the settings of a run."""

import sys
from collections.abc import Sequence
from typing import Any

from pytorch_lightning.cli import LightningArgumentParser, LightningCLI
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from heedful.assembly.job import Job
from heedful.assembly.library_errors import first_sentence, refusal_behind
from heedful.assembly.making import KINDS
from heedful.assembly.record import SEED, shown_evaluations, trainer_defaults
from heedful.assembly.reference import meanings
from heedful.assembly.settings import EvaluationSettings, TrainerDefaults, TrainingSettings
from heedful.assembly.starts import settled_seed
from heedful.callbacks import EVALUATIONS, BestCheckpoint
from heedful.cli.allowed_classes import require_kinds
from heedful.cli.messages import Parser, root
from heedful.cli.refused_settings import parsed
from heedful.cli.runs import require_one_seed
from heedful.cli.short_forms import description, of_endpoint
from heedful.datamodules import PairedData
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import Classifier
from heedful.records import SettingError

TYPED = {"init_from": "RUN", "allow_package": "NAME", "resume": "RUN"}  # which no file may name


class HeedfulCLI(LightningCLI):
    """LightningCLI, which makes the parts of a run and leaves the run itself to :mod:`heedful.assembly`.

    Args:
        evaluating: Whether nothing is trained.
        args: The command line, expanded. ``sys.argv`` stays as it is: processes that Lightning starts repeat it.

    Attributes:
        job: The run.
    """

    def __init__(self, evaluating: bool, args: list[str]) -> None:
        self.evaluating = evaluating
        self.of_run = EvaluationSettings if evaluating else TrainingSettings
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
            seed_everything_default=self.of_run.seed,
            parser_class=Parser,
            parser_kwargs={"description": description(evaluating), "usage": "%(prog)s [short forms] [settings]"},
            trainer_defaults=trainer_defaults(),
        )

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        for kind in shown_evaluations(self.evaluating):
            parser.add_lightning_class_args(kind, kind.metric.name)
        if self.evaluating:
            parser.add_class_arguments(Prompting, "prompt")
            parser.add_argument("--dry_run", action="store_true", default=self.of_run.dry_run)
        else:
            parser.add_lightning_class_args(BestCheckpoint, "checkpoint")
        parser.add_class_arguments(self.of_run, None, skip={"seed", "dry_run"})
        of_run = meanings(self.of_run)
        of_run["evaluations"] += f" Known are {', '.join(EVALUATIONS)}."
        of_trainer = {f"trainer.{name}": meaning for name, meaning in meanings(TrainerDefaults).items()}
        parser.explain({SEED: of_run.pop("seed"), **of_run, **of_trainer})
        parser.link_arguments(SEED, "data.init_args.seed", compute_fn=int)

    def parse_arguments(self, parser: LightningArgumentParser, args: list[str]) -> None:
        self.config = parsed(parser, args)
        require_kinds(self.config)
        for flag, value in TYPED.items():
            if self.config.get(flag) and f"--{flag}" not in args:
                raise SettingError(f"--{flag} stands in a file of settings. Type it, as --{flag} {value}.")
        self.config[SEED] = self.config.data.init_args.seed = settled_seed(self.config[SEED])
        require_one_seed(args, self.config)

    def instantiate_classes(self) -> None:
        try:
            made = self.parser.instantiate(self.config, instantiators=[(_marked, kind, True) for kind in KINDS[2:]])
        except (MisconfigurationException, ImportError, ValueError) as error:
            raise refusal_behind(error) or SettingError(f"{first_sentence(root(error))}") from error
        given = typed(sys.argv[1:])
        made["model"].given = frozenset()  # a parser gives each all of its settings
        made["data"].given = frozenset(name.removeprefix("data.") for name in given if name.startswith("data."))
        run_settings = {field: made[field] for field in vars(self.of_run()) if field != "seed"}
        self.job = Job(
            made["model"],
            made["data"],
            self.of_run(seed=self.config[SEED], **run_settings),
            [made[kind.metric.name] for kind in shown_evaluations(self.evaluating)],
            vars(made["trainer"]),
            checkpoint=None if self.evaluating else made["checkpoint"],
            prompting=made.get("prompt"),
            given=given,
        )


def typed(argv: Sequence[str]) -> list[str]:
    """The names of the settings that stand on a command line, in their order, without "init_args"."""
    words = (word for word in of_endpoint(argv) if word.startswith("--"))
    return [word.partition("=")[0].removeprefix("--").replace("init_args.", "").removesuffix("+") for word in words]


def _marked(kind: type, *args: Any, **settings: Any) -> Any:
    """An object of a class of Lightning, which remembers what it was made of as those of Heedful do."""
    made = kind(*args, **settings)
    made.__dict__["made_of"] = settings
    return made
