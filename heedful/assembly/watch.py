"""``heedful.Watch``: attentiveness in the training of any LightningModule, of both packages of Lightning."""

from importlib.util import find_spec
from os import PathLike
from typing import TYPE_CHECKING, Any

import pytorch_lightning as pl

from heedful.assembly.training_hook import Predict, TrainingHook
from heedful.records import RunError, warn

if TYPE_CHECKING or not find_spec("lightning"):

    class Base(pl.Callback): ...

else:
    import lightning

    class Base(pl.Callback, lightning.pytorch.Callback): ...  # each package's Trainer takes its own callbacks


class Watch(TrainingHook, Base):
    """Measure, at the end of each validation, whether a model heeds every part of some rows.

    A callback for the Trainer of ``pytorch_lightning`` and for that of ``lightning``. It logs ``attentiveness_PART``,
    ``attentiveness_PART_low`` and ``_high`` (the 95 % interval), ``attentiveness_PART_kept`` of parts that must not
    matter, and ``null_flips``, for ModelCheckpoint, EarlyStopping and every logger. With ``name=``, the names begin
    with it: ``NAME_attentiveness_PART``. An undefined number, as of a model that always gives the default label, is
    NaN, which is never the best; EarlyStopping ends the training there unless it has ``check_finite=False``.

    Rank 0 measures, the others wait for it and get the same numbers. Training goes on with the random numbers and the
    weights that it would have without the callback.

    Args:
        predict: A function that gets the module and a list of dictionaries, part name to text, and returns as many
            answers, as that of ``heedful.measure`` does. The module evaluates, without gradients, on rank 0 alone.
        rows: The examples, as for ``heedful.measure``.
        parts: As for ``heedful.measure``.
        default_label: As for ``heedful.measure``.
        output: Folder that gets a folder of results for each validation, ``step-N``.
        **settings: Further arguments of ``heedful.measure``, such as ``labels``, ``draws`` and ``keeps``.

    Attributes:
        results: The results of the last validation; their rows are on the machine of rank 0.
        history: The numbers of each validation, with its step and its epoch.

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
        predict: Predict,
        rows: Any,
        parts: Any = None,
        default_label: str | int | None = None,
        *,
        output: str | PathLike[str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(predict, rows, {"parts": parts, "default_label": default_label, **settings}, output)

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        for callback in trainer.callbacks:  # type: ignore[attr-defined]
            if isinstance(callback, Watch) and callback is not self and callback.prefix == self.prefix:
                raise RunError("Two Watch callbacks would log numbers of the same names. Give the rows of each a name.")
            monitor = str(getattr(callback, "monitor", None))
            if getattr(callback, "check_finite", False) and monitor.startswith(f"{self.prefix}attentiveness_"):
                warn(
                    f"EarlyStopping on {monitor} ends the training where that is undefined, as while the model always "
                    "gives the default label. Set check_finite=False to go on."
                )

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.require_rows()

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.sanity_checking:
            return
        numbers = self.measure(pl_module, trainer.global_step, trainer.current_epoch)
        for name, value in numbers.items():  # equal on all ranks: their maximum is exact, their mean might not be
            pl_module.log(name, value, reduce_fx="max", sync_dist=True, batch_size=1)

    def on_fit_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.warn_if_unused()
