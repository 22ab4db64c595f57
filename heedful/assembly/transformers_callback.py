"""``heedful.TransformersCallback``: attentiveness in the training of transformers' Trainer."""

from os import PathLike
from typing import Any

from transformers import TrainerCallback
from transformers.modeling_utils import unwrap_model

from heedful.assembly.training_hook import Predict, TrainingHook
from heedful.records import RunError, SettingError, warn

RUNTIME = "_runtime"  # ends the name of a number that each evaluation has, behind the prefix of all its names


class TransformersCallback(TrainingHook, TrainerCallback):
    """Measure, in each evaluation of transformers' Trainer, whether the model heeds every part of some rows.

    The numbers are among those of the evaluation: ``eval_attentiveness_PART``, ``eval_attentiveness_PART_low`` and
    ``_high`` (the 95 % interval), ``eval_attentiveness_PART_kept`` of parts that must not matter, and
    ``eval_null_flips``. ``trainer.evaluate()`` returns them, ``state.log_history`` has them, and
    ``metric_for_best_model`` and ``EarlyStoppingCallback`` find them. A reporter logs them if it follows this callback
    in ``callbacks``, as ``transformers.integrations.TensorBoardCallback()`` can; the reporters of ``report_to`` precede
    it. With ``name=``, the names begin with it: ``eval_NAME_attentiveness_PART``. An undefined number, as of a model
    that always gives the default label, is NaN, which is never the best.

    The model itself is measured, on its device and in its dtype; it is neither copied nor written. Without ``predict``,
    this is ``heedful.measure((model, tokenizer), rows)``.

    Rank 0 measures, the others wait for it and get the same numbers. Training goes on with the random numbers and the
    weights that it would have without the callback.

    Args:
        rows: The examples, as for ``heedful.measure``.
        parts: As for ``heedful.measure``.
        default_label: As for ``heedful.measure``.
        predict: A function that gets the model and a list of dictionaries, part name to text, and returns as many
            answers, as that of ``heedful.measure`` does; the model evaluates, without gradients, on rank 0 alone. By
            default the model reads the parts as its tokenizer, the ``processing_class`` of the Trainer, pairs them.
        output: Folder that gets a folder of results for each evaluation, ``step-N``.
        **settings: Further arguments of ``heedful.measure``, such as ``labels``, ``draws`` and ``keeps``.

    Attributes:
        results: The results of the last evaluation; their rows are on the machine of rank 0.
        history: The numbers of each evaluation, with its step and its epoch.

    Raises:
        HeedfulError: A setting is unknown or of another type.

    Examples:
        >>> import heedful
        >>> rows = [{"premise": f"Dog {i} runs.", "hypothesis": f"Animal {i} moves."} for i in range(40)]
        >>> callback = heedful.TransformersCallback(rows, ["premise", "hypothesis"], "neutral")
        >>> callback.history  # after a training, a dictionary of numbers for each evaluation
        []
    """

    def __init__(
        self,
        rows: Any,
        parts: Any = None,
        default_label: str | int | None = None,
        *,
        predict: Predict | None = None,
        output: str | PathLike[str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(predict, rows, {"parts": parts, "default_label": default_label, **settings}, output)
        self._is_evaluating = False
        self._step: int | None = None  # last measured step of a training; None outside trainings
        self._logged: dict[str, float] = {}  # by the evaluation that is going on

    def on_train_begin(self, args: Any, state: Any, control: Any, processing_class: Any = None, **kwargs: Any) -> None:
        self._is_evaluating, self._step = False, -1
        self.require_rows()
        self._require_tokenizer(processing_class)
        if args.report_to:
            warn(
                f"The reporters of report_to {args.report_to} precede this callback and do not log attentiveness. Set "
                'report_to="none" and list them after it, as callbacks=[callback, TensorBoardCallback()].'
            )

    def on_train_end(self, *args: Any, **kwargs: Any) -> None:
        self._step = None  # the best weights may be evaluated now, at the same step
        self.warn_if_unused()

    def on_prediction_step(self, *args: Any, **kwargs: Any) -> None:
        self._is_evaluating = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        prefix = next((name.removesuffix(RUNTIME) for name in logs if name.endswith(RUNTIME)), None)
        if not self._is_evaluating or prefix is None:
            return
        self._is_evaluating = False
        if self._step == state.global_step:  # of several data sets, the first one has the numbers, under a common name
            return
        if self._step is not None:
            self._step = state.global_step
        prefix = "eval" if prefix.startswith("eval_") else prefix
        numbers = self._numbers(state, unwrap_model(kwargs["model"]), kwargs.get("processing_class"))
        self._logged = {f"{prefix}_{name}": value for name, value in numbers.items()}
        if both := sorted(self._logged.keys() & logs.keys()):
            raise RunError(
                f"compute_metrics or another callback logs {both[0]} too. Give the rows a name, which stands in front."
            )
        logs.update(self._logged)
        state.log_history[-1].update(self._logged)  # a copy of logs

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any) -> None:
        metrics.update(self._logged)  # which is logs, unless a Trainer's log makes another dictionary of it
        self._logged = {}

    def _numbers(self, state: Any, model: Any, tokenizer: Any) -> dict[str, float]:
        self._require_tokenizer(tokenizer)
        return self.measure(model, state.global_step, state.epoch or 0, tokenizer)

    def _require_tokenizer(self, tokenizer: Any) -> None:
        if self._predict is None and not callable(tokenizer):
            raise SettingError("The Trainer has no tokenizer. Give it one, as Trainer(processing_class=tokenizer).")
