"""``heedful.Watch``: attentiveness in the training of any LightningModule, of both packages of Lightning."""

from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any

import torch
from pytorch_lightning import Callback, LightningModule, Trainer

from heedful.assembly.results import Results
from heedful.assembly.while_training import Asks, Live, WhileTraining, require_function
from heedful.records import RunError


def _bases() -> tuple[type, ...]:
    """The class of callbacks, in each of the two packages that has one: each Trainer knows its own."""
    try:
        return (Callback, import_module("lightning.pytorch").Callback)
    except ImportError:
        return (Callback,)


if TYPE_CHECKING:

    class Base(Callback): ...

else:
    Base = type("Base", _bases(), {})


class Watch(Base):
    """Measure, at the end of each validation, whether a model heeds every part of some rows.

    A callback for the Trainer of ``pytorch_lightning`` and for that of ``lightning``. It logs ``attentiveness_PART``,
    ``attentiveness_PART_low`` and ``_high`` (the 95 % interval), ``attentiveness_PART_kept`` of parts that must not
    matter, and ``null_flips``, for ModelCheckpoint, EarlyStopping and every logger. Data with a ``name`` have it in
    front: ``NAME_attentiveness_PART``. What is undefined, as where a model gives the default label alone, is NaN:
    never the best, and no reason to stop at once.

    The first process measures, the others wait and get the same numbers. Training goes on as if nothing had been
    measured: with the same random numbers, and the same weights at its end.

    Args:
        predict: A function that gets the module and a list of dictionaries, part name to text, and returns as many
            answers, as that of ``heedful.measure`` does. The module evaluates, without gradients.
        rows: The examples, as for ``heedful.measure``.
        parts: As for ``heedful.measure``.
        default_label: As for ``heedful.measure``.
        output: Folder that gets a folder of results for each validation, ``step-N``.
        **settings: Further arguments of ``heedful.measure``, such as ``labels``, ``draws`` and ``keeps``.

    Raises:
        HeedfulError: A setting is unknown or of another type.

    Examples:
        >>> import heedful
        >>> rows = [{"premise": f"Dog {i} runs.", "hypothesis": f"Animal {i} moves."} for i in range(40)]
        >>> def predict(module, inputs):
        ...     return module.answers([x["premise"] for x in inputs], [x["hypothesis"] for x in inputs])
        >>> watch = heedful.Watch(predict, rows, ["premise", "hypothesis"], "neutral")
        >>> watch.history  # after a training, a dictionary of numbers for each validation
        []
    """

    def __init__(
        self,
        predict: Asks,
        rows: Any,
        parts: Any = None,
        default_label: str | int | None = None,
        *,
        output: str | PathLike[str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        require_function(predict)
        self._predict = predict
        settings = {"parts": parts, "default_label": default_label, **settings}
        self.measuring = WhileTraining(rows, settings, output)
        self._logged: dict[str, str] = {}  # the numbers that Lightning has been given, as it holds them

    @property
    def results(self) -> Results | None:
        """The results of the last validation; their rows are on the machine of the first process."""
        return self.measuring.results

    @property
    def history(self) -> list[dict[str, float]]:
        """The numbers of each validation, with its step and its epoch."""
        return self.measuring.history

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        prefix = self.measuring.prefix
        for callback in trainer.callbacks:  # type: ignore[attr-defined]
            if isinstance(callback, Watch) and callback is not self and callback.measuring.prefix == prefix:
                raise RunError("Two Watch callbacks would log numbers of the same names. Give the rows of each a name.")
            if hasattr(callback, "check_finite") and str(callback.monitor).startswith(f"{prefix}attentiveness_"):
                callback.check_finite = False  # an untrained model may give the default label alone

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.sanity_checking:
            return
        asked = Live(self._predict, pl_module)
        numbers = self.measuring.measured(pl_module, asked, trainer.global_step, trainer.current_epoch)
        there = trainer.callback_metrics
        if clash := [name for name in numbers if name in there and self._logged.get(name) != str(float(there[name]))]:
            raise RunError(
                f"Something else logs {clash[0]} already, such as the module. Give the rows a name: it stands in front."
            )
        for name, value in numbers.items():  # equal on all processes: their maximum is exact, their mean might not be
            pl_module.log(name, value, reduce_fx="max", sync_dist=True, batch_size=1)
        self._logged = {name: str(float(torch.tensor(value))) for name, value in numbers.items()}

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._logged = {}
        self.measuring.require_rows()

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.measuring.tell_if_never("The Trainer never validated")
