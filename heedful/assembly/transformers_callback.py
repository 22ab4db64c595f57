"""``heedful.TransformersCallback``: attentiveness in the training of transformers' Trainer."""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import Any

from torch import nn
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.modeling_utils import unwrap_model
from transformers.trainer_callback import CallbackHandler
from transformers.utils import logging

from heedful.assembly.results import Results
from heedful.assembly.while_training import Asks, Live, WhileTraining, require_function
from heedful.records import RunError, SettingError

TIME = "_runtime"  # a number that each evaluation of the Trainer has, behind the prefix of its names
EVAL = "eval"


class TransformersCallback(TrainerCallback):
    """Measure, in each evaluation of transformers' Trainer, whether the model heeds every part of some rows.

    The numbers are among those of the evaluation: ``eval_attentiveness_PART``, ``eval_attentiveness_PART_low`` and
    ``_high`` (the 95 % interval), ``eval_attentiveness_PART_kept`` of parts that must not matter, and
    ``eval_null_flips``. They are logged wherever the Trainer logs, and ``metric_for_best_model`` and
    ``EarlyStoppingCallback`` find them, whichever callback is listed first. Data with a ``name`` have it in front:
    ``eval_NAME_attentiveness_PART``. What is undefined, as where a model gives the default label alone, is NaN, which
    is never the best.

    Measured is a copy of the model in float32, exactly as ``heedful.measure((model, tokenizer), rows)`` does: the
    numbers are those of the checkpoint that is saved. A model that is too large for a copy beside it is asked itself
    by ``predict``.

    The first process measures, the others wait and get the same numbers. Training goes on as if nothing had been
    measured: with the same random numbers, and the same weights at its end.

    Args:
        rows: The examples, as for ``heedful.measure``.
        parts: As for ``heedful.measure``.
        default_label: As for ``heedful.measure``.
        predict: A function that gets the model and a list of dictionaries, part name to text, and returns as many
            answers, as that of ``heedful.measure`` does; the model evaluates, without gradients. By default the
            model reads the parts as its tokenizer, the ``processing_class`` of the Trainer, pairs them.
        output: Folder that gets a folder of results for each evaluation, ``step-N``.
        **settings: Further arguments of ``heedful.measure``, such as ``labels``, ``draws`` and ``keeps``.

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
        predict: Asks | None = None,
        output: str | PathLike[str] | None = None,
        **settings: Any,
    ) -> None:
        if predict is not None:
            require_function(predict)
        self._predict = predict
        settings = {"parts": parts, "default_label": default_label, **settings}
        self._measuring = WhileTraining(rows, settings, output)
        self._is_training = False
        self._is_evaluating = False
        self._measured_at: int | None = None  # the step of the numbers below, while the weights of a step are the same
        self._numbers: dict[str, float] = {}
        self._told: dict[str, float] = {}  # of the evaluation that is going on, by whole names

    @property
    def results(self) -> Results | None:
        """The results of the last evaluation; their rows are on the machine of the first process."""
        return self._measuring.results

    @property
    def history(self) -> list[dict[str, float]]:
        """The numbers of each evaluation, with its step and its epoch."""
        return self._measuring.history

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._is_training, self._measured_at = True, None
        self._measuring.require_rows()
        if self._predict is None:
            _require_tokenizer(kwargs.get("processing_class"))

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._is_training = False  # the best weights may be loaded now, at the same step
        self._measuring.tell_if_never("The Trainer never evaluated")

    def on_prediction_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if not self._is_evaluating:
            self._is_evaluating = True
            self._go_first()

    def on_predict(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, metrics: Any, **kwargs: Any
    ) -> None:
        self._is_evaluating = False

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        prefix = next((name.removesuffix(TIME) for name in logs or {} if name.endswith(TIME)), None)
        if not self._is_evaluating or logs is None or prefix is None:
            return
        self._is_evaluating = False
        self._told = self._numbers_of(prefix, logs, state, kwargs["model"], kwargs.get("processing_class"))
        logs.update(self._told)
        state.log_history[-1].update(self._told)  # a copy from before the callbacks

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if metrics is not None:
            metrics.update(self._told)  # the same dictionary, unless the log of a Trainer was given another one
        self._told = {}

    def _numbers_of(
        self, prefix: str, logs: Mapping[str, Any], state: TrainerState, model: nn.Module, tokenizer: Any
    ) -> dict[str, float]:
        """The numbers of an evaluation by their whole names.

        Of several data sets, each of which the Trainer evaluates, only the first one has them, under the prefix of all:
        they are about other rows.
        """
        whole = EVAL if prefix.startswith(f"{EVAL}_") else prefix
        if self._is_training and self._measured_at == state.global_step:
            if whole != prefix:
                return {}
        else:
            self._numbers = self._measured(unwrap_model(model), tokenizer, state)
            self._measured_at = state.global_step
        told = {f"{whole}_{name}": value for name, value in self._numbers.items()}
        if twice := sorted(told.keys() & logs.keys()):
            raise RunError(
                f"Something else logs {twice[0]} already, such as compute_metrics or another callback. Give the rows a "
                "name: it stands in front."
            )
        return told

    def _measured(self, model: nn.Module, tokenizer: Any, state: TrainerState) -> dict[str, float]:
        step, epoch = state.global_step, state.epoch or 0
        if self._predict is not None:
            return self._measuring.measured(model, Live(self._predict, model), step, epoch)
        _require_tokenizer(tokenizer)
        device = next(model.parameters()).device
        where = {"accelerator": device.type, "devices": 1 if device.index is None else [device.index]}
        with _quietly():
            return self._measuring.measured(model, (model, tokenizer), step, epoch, **where)

    def _go_first(self) -> None:
        """Go to the front of the Trainer's callbacks, of which those behind see the numbers, as loggers do.

        The Trainer gives a callback no way to the others but in the frame of its caller.
        """
        frame = inspect.currentframe()
        while frame is not None:
            handler = frame.f_locals.get("self")
            if isinstance(handler, CallbackHandler):
                handler.callbacks.remove(self)
                handler.callbacks.insert(0, self)
                return
            frame = frame.f_back


def _require_tokenizer(tokenizer: Any) -> None:
    if not hasattr(tokenizer, "save_pretrained"):
        raise SettingError("The Trainer has no tokenizer. Give it one, as Trainer(processing_class=tokenizer).")


@contextmanager
def _quietly() -> Iterator[None]:
    """Have transformers say nothing of the copy that is written and read."""
    level, has_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    try:
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        yield
    finally:
        logging.set_verbosity(level)
        if has_bars:
            logging.enable_progress_bar()
