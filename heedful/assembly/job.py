"""A training or an evaluation before it runs: its objects, and the steps that both share."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from heedful.assembly.identity import identity_of
from heedful.assembly.measured_rows import load_other_data
from heedful.assembly.settings import Settings
from heedful.assembly.trainers import precision_of, require_fit
from heedful.callbacks import BestCheckpoint, Evaluation, EvaluationCallback, Setting
from heedful.callbacks.engine.callback import Writer
from heedful.callbacks.engine.evaluation import Plans
from heedful.datamodules import PairedData
from heedful.datamodules.prompting import Prompting
from heedful.records.prompts import Prompt

Stage = Literal["fit", "validate"]  # as Lightning names training and evaluation


@dataclass
class Job:
    """The objects of a training or an evaluation. :meth:`set_up` binds the model to the data and plans the evaluations.

    Attributes:
        stage: "fit" or "validate".
        model: The model.
        data: The data module.
        evaluations: The evaluations that may run.
        only: Names of the evaluations that the call names; None for all that run by default.
        trainer: Arguments of Lightning's Trainer, with the user's callbacks.
        seed: Seed of everything random.
        record: All settings, as in config.yaml.
        output: Folder of the results; None for a new folder.
        resumes: Whether ``output`` may be a run, which the training resumes.
        checkpoint: The checkpoint that is evaluated, or from which a training resumes.
        best: Saves the checkpoints of a training.
        prompting: Settings of the prompts of an evaluation.
        allow_changed_data: Whether a training resumes with changed examples.
        dry_run: Whether an evaluation only counts requests.
        plans: The plans of the evaluations.
        prompts: The prompts to measure; empty for a model without prompts.
        unfinished: How far the training of the evaluated checkpoint had got, such as "epoch 1 of 4, step 30".
    """

    stage: Stage
    model: Any  # a Predictor; a Classifier in training
    data: PairedData
    evaluations: Sequence[Evaluation]
    only: list[str] | None
    trainer: Settings
    seed: int
    record: Settings
    output: str | None = None
    resumes: bool = False
    checkpoint: str | None = None
    best: BestCheckpoint = field(default_factory=BestCheckpoint)
    prompting: Prompting = field(default_factory=Prompting)
    allow_changed_data: bool = False
    dry_run: bool = False
    plans: Plans = field(default_factory=lambda: Plans({}))
    prompts: Sequence[Prompt] = ()
    unfinished: str | None = None

    def set_up(self) -> None:
        """Read the data and bind the model to their task."""
        require_fit(self.trainer)
        self.data.setup(self.stage, seed=self.seed, allow_changed=self.allow_changed_data)
        self.model.bind(self.data.task, trains=self.stage == "fit")

    def plan(self) -> None:
        """Plan the evaluations."""
        self.model.require_precision(precision_of(self.trainer, self.stage))
        setting = Setting(self.data, self.stage == "fit", load_other_data, self.model.capabilities)
        self.plans = Plans.of(self.evaluations, setting, self.only)
        self.plans.require(self.model)

    def engine(self, writers: Sequence[Writer] = ()) -> EvaluationCallback:
        """Create the callback that measures. It passes its measurements to ``writers``, which save or log them."""
        identity = partial(identity_of, self.record, self.model)
        is_evaluation = self.stage == "validate"
        return EvaluationCallback(None, is_evaluation, self.plans, writers, self.unfinished, identity)
