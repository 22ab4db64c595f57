"""``heedful.Watch``: measure attentiveness while a LightningModule trains."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytorch_lightning as pl

from heedful.assembly.training_hook import TrainingHook
from heedful.records import RunError
from heedful.records.messages import warn

if TYPE_CHECKING or not find_spec("lightning"):

    class Base(pl.Callback): ...

else:
    import lightning

    class Base(pl.Callback, lightning.pytorch.Callback): ...  # each package's Trainer takes its own callbacks


class Watch(TrainingHook, Base):
    """Measure, at the end of each validation, whether a model uses every part of its input.

    A callback for the Trainers of ``pytorch_lightning`` and ``lightning``. It logs ``attentiveness_PART`` with ``_low``
    and ``_high`` (the 95 % interval), ``attentiveness_PART_kept`` for parts that must not matter, and ``null_flips``
    (the share of predictions that change if an unchanged input is repeated), for ModelCheckpoint and EarlyStopping.
    Undefined numbers are NaN, which is never the best; EarlyStopping needs ``check_finite=False`` to go on at NaN.

    Rank 0 measures. Weights and random numbers of the training do not change.

    Args:
        predict: A function of the module and a list of dictionaries (part name to text) that returns answers as for
            ``heedful.measure``. It is called on rank 0, in evaluation mode and without gradients.
        rows: As for ``heedful.measure``, as are ``parts`` and ``default_label``.
        output: Folder of the results; each validation writes into ``step-N``.
        **settings: Further arguments of ``heedful.measure``, such as ``labels``; ``name`` is a prefix of logged names.

    Attributes:
        results: The results of the last validation; rank 0 has their rows.
        history: The numbers per validation, with step and epoch.

    Examples:
        >>> import heedful
        >>> rows = [{"premise": f"Dog {i} runs.", "hypothesis": f"Animal {i} moves."} for i in range(40)]
        >>> def predict(module, inputs):
        ...     return module.answers([x["premise"] for x in inputs], [x["hypothesis"] for x in inputs])
        >>> watch = heedful.Watch(predict, rows, ["premise", "hypothesis"], "neutral")
        >>> watch.history  # a dictionary per validation
        []
    """

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        for callback in trainer.callbacks:  # type: ignore[attr-defined]
            if isinstance(callback, Watch) and callback is not self and callback.prefix == self.prefix:
                raise RunError("Two Watch callbacks would log the same names. Set name for each.")

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.require_rows()
        if not trainer.enable_validation:
            warn("Watch measures after each validation, and this training has none: pass validation data to fit.")

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.sanity_checking:
            self.try_predict(pl_module)
            return
        numbers = self.measure(pl_module, trainer.global_step, trainer.current_epoch)
        for name, value in numbers.items():  # equal on all ranks; their maximum is exact, their mean may not be
            pl_module.log(name, value, reduce_fx="max", sync_dist=True, batch_size=1)
