"""The common part of both hooks for other people's training: it measures, and returns numbers to be logged."""

import logging
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.utilities import rank_zero_warn
from torch import nn

from heedful.assembly.alone import by_first_alone, require_whole, undisturbed
from heedful.assembly.measuring import FREE, measure, require_known, require_rows
from heedful.assembly.results import Results
from heedful.records import MetricName, RunError, SettingError
from heedful.records.parser import require_types

Asks = Callable[[Any, list[dict[str, Any]]], Any]  # (model, inputs) to answers
RANK_ZERO_LOGS = (  # where lines for the user go
    "pytorch_lightning.utilities.rank_zero",
    "lightning.pytorch.utilities.rank_zero",
    "lightning_fabric.utilities.rank_zero",
)
SPLIT = "Train with DDP, or measure the checkpoints afterwards."
OWN = ("predict", "rows", "output", "dry_run", "config")  # arguments of measure that are not settings of a hook


class WhileTraining:
    """Measures a model that is being trained, again and again, on the first process alone.

    Args:
        rows: The examples, as :func:`heedful.measure` takes them.
        settings: Further arguments of :func:`heedful.measure`.
        output: Folder with a folder of results for each measurement; by default only the last results are kept, until
            the program ends.

    Attributes:
        results: Those of the last measurement.
        history: The numbers of all, with the step and the epoch of each.

    Raises:
        HeedfulError: A setting is unknown or of another type.
    """

    def __init__(self, rows: Any, settings: Mapping[str, Any], output: str | PathLike[str] | None) -> None:
        own_arguments = signature(measure).parameters.keys() - {*OWN, "settings"}
        if taken := [name for name in settings if name in OWN]:
            raise SettingError(f"There is no setting {taken[0]} here. Leave it out.")
        require_types(measure, {name: value for name, value in settings.items() if name in own_arguments}, FREE)
        require_known(
            {name: value for name, value in settings.items() if name not in own_arguments}, dict.fromkeys(own_arguments)
        )
        self.rows = rows
        self.settings = dict(settings)
        self.output = None if output is None else Path(fspath(output))
        self.results: Results | None = None
        self.history: list[dict[str, float]] = []

    @property
    def prefix(self) -> str:
        """The beginning of the names of numbers: the name of the data, where they have been given one."""
        name = self.settings.get("name")
        return f"{name}_" if name else ""

    def measured(self, model: nn.Module, predict: Any, step: int, epoch: float, **trainer: Any) -> dict[str, float]:
        """Measure once, on every process at once.

        Args:
            model: The model, without what wraps it to train.
            predict: What :func:`heedful.measure` is to ask.
            step: After how many steps; names the folder.
            epoch: In which epoch.
            **trainer: Settings of the Trainer that measures.

        Returns:
            The numbers to be logged, by their names, on every process.

        Raises:
            HeedfulError: As of :func:`heedful.measure`; or the weights of the model are split. Every process raises it.
        """
        require_whole(model, SPLIT)
        own: list[Results] = []

        def make() -> Results:
            with undisturbed(model), _silent(bool(self.history)):
                own.append(self._measure(predict, step, trainer))
            return replace(own[0], kept=None)

        told = by_first_alone(make)
        self.results = own[0] if own else told
        numbers = {f"{self.prefix}{name}": value for name, value in shown_numbers(self.results).items()}
        if not any("attentiveness_" in name for name in numbers):
            raise RunError(
                "Attentiveness is not among what is measured. Evaluate again, with that evaluation among evaluations."
            )
        self.history.append({"step": step, "epoch": epoch, **numbers})
        return numbers

    def require_rows(self) -> None:
        """Read the rows before anything is trained.

        Raises:
            HeedfulError: They cannot be read, or a setting does not fit them. Every process raises it.
        """
        by_first_alone(lambda: require_rows(self.rows, **self.settings))

    def tell_if_never(self, why: str) -> None:
        """Warn at the end of a training in which nothing was measured."""
        if not self.history:
            rank_zero_warn(f"{why}, so that attentiveness was not measured.")

    def _measure(self, predict: Any, step: int, trainer: Mapping[str, Any]) -> Results:
        given = self.settings.get("trainer") or {}
        settings = {**self.settings, "trainer": {"enable_progress_bar": False, **trainer, **given}}
        return measure(predict, self.rows, output=self._folder(step), **settings)

    def _folder(self, step: int) -> Path | None:
        """A folder that is not there yet: after training, the best weights may be measured at the last step again."""
        if self.output is None:
            return None
        folder = self.output / f"step-{step}"
        again = 2
        while folder.exists():
            folder = self.output / f"step-{step}-{again}"
            again += 1
        return folder


def shown_numbers(results: Results) -> dict[str, float]:
    """The numbers that are logged: attentiveness to each part with its interval, and flips of the null control.

    What is undefined, as for a model that gives the default label alone, is NaN: a number that is missing ends a
    training that watches it, and NaN is never the best one.

    Examples:
        >>> import heedful
        >>> rows = [{"premise": f"Dog {i} runs.", "hypothesis": f"Animal {i} moves."} for i in range(40)]
        >>> def predict(inputs):
        ...     return ["entailment" if "1" in x["hypothesis"] else "neutral" for x in inputs]
        >>> quiet = {"enable_progress_bar": False}
        >>> result = heedful.measure(predict, rows, ["premise", "hypothesis"], "neutral", trainer=quiet)
        >>> numbers = shown_numbers(result)
        >>> numbers["attentiveness_premise"], numbers["null_flips"], "attentiveness_premise_low" in numbers
        (0.0, 0.0, True)
    """
    numbers = {}
    for name, measured in results.numbers.items():
        shown = _shown(name)
        if shown is not None:
            value = measured["value"]
            numbers[shown] = math.nan if value is None else float(value)
            if name.part:
                low, high = measured["ci95"] or (math.nan, math.nan)
                numbers |= {f"{shown}_low": float(low), f"{shown}_high": float(high)}
    return numbers


def _shown(name: MetricName) -> str | None:
    if name.family == "attentiveness" and name.part and name.statistic in ("", "kept") and not name.slice:
        return "_".join(filter(None, [name.family, name.part, name.statistic]))
    return "null_flips" if (name.family, name.statistic, name.slice) == ("null", "flips", "") else None


class Live:
    """A model in training as a function of inputs alone.

    Args:
        predict: (model, inputs) to answers.
        model: The model.
    """

    def __init__(self, predict: Asks, model: nn.Module) -> None:
        self.predict = predict
        self.model = model
        self.__name__ = getattr(predict, "__name__", type(predict).__name__)

    def __call__(self, inputs: list[dict[str, Any]]) -> Any:
        with torch.inference_mode(False), torch.no_grad():  # what a model keeps of inference mode cannot be trained on
            return self.predict(self.model, inputs)


def require_function(predict: Any) -> None:
    """Refuse what cannot be called with a model and inputs."""
    if not callable(predict) or isinstance(predict, nn.Module):
        raise SettingError(
            f"predict is of the type {type(predict).__name__}, and not a function. Write one: predict(model, inputs) "
            "returns an answer for each input."
        )


@contextmanager
def _silent(is_silent: bool) -> Iterator[None]:
    """Say nothing of what was said at the first measurement already."""
    levels = {name: logging.getLogger(name).level for name in RANK_ZERO_LOGS if is_silent}
    try:
        for name in levels:
            logging.getLogger(name).setLevel(logging.WARNING)
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
