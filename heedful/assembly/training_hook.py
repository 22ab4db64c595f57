"""Base class of ``heedful.Watch`` and ``heedful.TransformersCallback``, which measure a model while it trains."""

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import nn

from heedful.assembly.measuring import measure, require_known, require_rows
from heedful.assembly.results import Results
from heedful.datamodules.base.processes import by_first_isolated
from heedful.lightning_modules.function import name_of
from heedful.lightning_modules.transformers_pair import evaluating, restored_generators
from heedful.metrics.statistics.draws import is_known
from heedful.records import RunError, SettingError
from heedful.records.messages import inform, quiet_log

Predict = Callable[[Any, list[dict[str, Any]]], Any]  # (model, inputs) to answers


class TrainingHook:
    """Base class of callbacks that measure attentiveness during a training, on rank 0; all ranks get the numbers."""

    def __init__(
        self,
        predict: Predict | None,
        rows: Any,
        parts: Any = None,
        default_label: str | int | None = None,
        *,
        output: str | PathLike[str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        if isinstance(predict, nn.Module) or not (predict is None or callable(predict)):
            raise SettingError(
                f"predict has the type {type(predict).__name__}. Give a function: predict(model, inputs) returns an "
                "answer per input."
            )
        if fixed := settings.keys() & {"dry_run", "config"}:
            raise SettingError(f"{type(self).__name__} has no setting {min(fixed)}. Leave it out.")
        require_known(settings)
        self.results: Results | None = None
        self.history: list[dict[str, float]] = []
        self.prefix = f"{settings['name']}_" if settings.get("name") else ""  # prefix of logged names
        if parts is None:  # data by name have a name; here it is only the prefix
            settings.pop("name", None)
        self._predict, self._rows = predict, rows
        self._settings = {"parts": parts, "default_label": default_label, **settings}
        self._output = None if output is None else Path(output)

    def require_rows(self) -> None:
        """Read the rows and check the settings before the training."""
        by_first_isolated(lambda: require_rows(self._rows, **self._settings))

    def try_predict(self, model: nn.Module) -> None:
        """Measure one batch, so that errors of ``predict`` are raised before the training; call it on all ranks."""
        with warnings.catch_warnings(action="ignore"):  # on the answers of an untrained model
            self._measure_on_rank_0(model, None, None, True, limit_val_batches=1)

    def measure(self, model: nn.Module, step: int, epoch: float, tokenizer: Any = None) -> dict[str, float]:
        """Measure the unwrapped model on rank 0, add the numbers to ``history``, return them; call it on all ranks."""
        self.results = self._measure_on_rank_0(model, tokenizer, self._folder(step), bool(self.history))
        numbers = {self.prefix + name: value for name, value in _logged_numbers(self.results).items()}
        if numbers.keys() <= {f"{self.prefix}null_flips"}:
            raise RunError("Attentiveness was not measured. Add it to evaluations, and give two parts or more.")
        self.history.append({"step": step, "epoch": epoch, **numbers})
        return numbers

    def _measure_on_rank_0(
        self, model: nn.Module, tokenizer: Any, output: Path | None, is_quiet: bool, **trainer: Any
    ) -> Results:
        """Return the results on all ranks, with their rows on rank 0."""
        if any(map(_is_sharded, model.parameters())):
            raise SettingError(
                f"The weights of {type(model).__name__} are sharded over ranks. Train with DDP, or measure the "
                "checkpoints after the training."
            )
        predict = (model, tokenizer) if self._predict is None else _function(self._predict, model)
        trainer = {"enable_progress_bar": False, **(self._settings.get("trainer") or {}), **trainer}
        settings = {**self._settings, "trainer": trainer, "output": output}
        complete: list[Results] = []

        def measured() -> Results:
            with restored_generators(), evaluating(model), quiet_log(is_quiet):
                complete.append(measure(predict, self._rows, **settings))
            return replace(complete[0], unsaved=None)  # rows and examples stay on rank 0

        received = by_first_isolated(measured)
        return complete[0] if complete else received

    def _folder(self, step: int) -> Path | None:
        """Return an unused folder: ``step-N``, or ``step-N-K`` with K from 2 if it exists; None without ``output``."""
        if self._output is None:
            return None
        first = self._output / f"step-{step}"
        if not first.exists():
            return first
        folder = next(path for k in count(2) if not (path := first.with_name(f"{first.name}-{k}")).exists())
        inform(f"{first} exists. The new results are in {folder}.")
        return folder


def _logged_numbers(results: Results) -> dict[str, float]:
    """Return attentiveness to each part with its interval, and "null_flips"; NaN if undefined or of few examples."""
    logged = {}
    # NaN instead of no number: a Trainer fails if a monitored number is missing, and NaN is never the best
    for name in results:
        number = results[name]
        values = (number.value, number.low, number.high) if is_known(number) else (None,) * 3
        value, low, high = (math.nan if x is None else float(x) for x in values)
        if (name.family, name.statistic, name.slice) == ("null", "flips", ""):
            logged["null_flips"] = value
        elif name.family == "attentiveness" and name.part and name.statistic in ("", "kept") and not name.slice:
            key = "_".join(filter(None, (name.family, name.part, name.statistic)))
            logged |= {key: value, f"{key}_low": low, f"{key}_high": high}
    return logged


def _is_sharded(weights: torch.Tensor) -> bool:
    """Whether weights are sharded by FSDP, tensor parallelism or stage 3 of DeepSpeed."""
    kinds = {type(weights).__name__, type(weights.data).__name__}
    return bool(kinds & {"DTensor", "FlatParameter"}) or hasattr(weights, "ds_shape")


def _function(predict: Predict, model: nn.Module) -> Callable[[list[dict[str, Any]]], Any]:
    def function(inputs: list[dict[str, Any]]) -> Any:
        with torch.inference_mode(False), torch.no_grad():  # a cached tensor of inference mode could not be trained on
            return predict(model, inputs)

    function.__name__ = name_of(predict)
    return function
