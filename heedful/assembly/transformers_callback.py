"""``heedful.TransformersCallback``: measure attentiveness while transformers' Trainer trains."""

from typing import Any

from transformers import TrainerCallback
from transformers.modeling_utils import unwrap_model

from heedful.assembly.training_hook import Predict, TrainingHook
from heedful.records import RunError, SettingError

RUNTIME = "_runtime"  # every evaluation logs PREFIX_runtime


class TransformersCallback(TrainingHook, TrainerCallback):
    """Measure, in each evaluation of transformers' Trainer, whether the model uses every part of its input.

    Adds ``eval_attentiveness_PART`` with ``_low`` and ``_high`` (the 95 % interval), ``eval_attentiveness_PART_kept``
    for parts that must not matter, and ``eval_null_flips`` (the share of predictions that change if an unchanged input
    is repeated) to the metrics, for ``trainer.evaluate()``, ``metric_for_best_model`` and ``EarlyStoppingCallback``.
    Reporters log these metrics if they follow this callback in ``callbacks``; the reporters of ``report_to`` precede
    it. Undefined numbers, as for a model that always predicts the default label, are NaN, which is never the best.

    Rank 0 measures the model on its device and in its dtype. Weights and random numbers of the training do not change.

    Args:
        rows: As for ``heedful.measure``, as are ``parts`` and ``default_label``.
        predict: As for ``heedful.Watch``; by default the ``processing_class`` of the Trainer tokenizes the parts.
        **settings: As for ``heedful.Watch``.

    Attributes:
        results: The results of the last evaluation; rank 0 has their rows.
        history: The numbers per evaluation, a dictionary with step and epoch.
    """

    def __init__(
        self,
        rows: Any,
        parts: Any = None,
        default_label: str | int | None = None,
        *,
        predict: Predict | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(predict, rows, parts, default_label, **settings)
        self._is_evaluating = False
        self._step: int | None = None  # last measured step of a training; None outside of trainings
        self._logged: dict[str, float] = {}  # numbers of the current evaluation

    def on_train_begin(self, args: Any, state: Any, control: Any, processing_class: Any = None, **kwargs: Any) -> None:
        self._is_evaluating, self._step = False, -1
        self.require_rows()
        if self._predict is None and not callable(processing_class):
            raise SettingError("The Trainer has no tokenizer. Give it one, as Trainer(processing_class=tokenizer).")

    def on_train_end(self, *args: Any, **kwargs: Any) -> None:
        self._step = None  # the best weights may be evaluated at the same step

    def on_prediction_step(self, *args: Any, **kwargs: Any) -> None:
        self._is_evaluating = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        prefix = next((name.removesuffix(RUNTIME) for name in logs if name.endswith(RUNTIME)), None)
        if not self._is_evaluating or prefix is None:
            return
        self._is_evaluating = False
        if self._step == state.global_step:  # with several data sets, the first evaluation measures
            return
        if self._step is not None:
            self._step = state.global_step
        prefix = "eval" if prefix.startswith("eval_") else prefix
        model, tokenizer = unwrap_model(kwargs["model"]), kwargs.get("processing_class")
        numbers = self.measure(model, state.global_step, state.epoch or 0, tokenizer)
        self._logged = {f"{prefix}_{name}": value for name, value in numbers.items()}
        if conflicts := sorted(self._logged.keys() & logs.keys()):
            raise RunError(f"compute_metrics or another callback logs {conflicts[0]} too. Set name, a prefix.")
        logs.update(self._logged)
        state.log_history[-1].update(self._logged)  # holds a copy of logs

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any) -> None:
        metrics.update(self._logged)  # Trainer.log may copy the dictionary
        self._logged = {}
