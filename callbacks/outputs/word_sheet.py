"""Attributions that people look at: words coloured by what they add to the value that is explained."""

from pathlib import Path

from pytorch_lightning import Callback, LightningModule, Trainer

from heedful.callbacks.engine.engine import Engine
from heedful.callbacks.outputs.board import tensorboard_of
from heedful.callbacks.outputs.run_folder import RunFolder
from heedful.metrics.attributions.attribution import attributions
from heedful.records import Context
from heedful.reports.figures.attributions import boxes_for_unknown_signs
from heedful.reports.figures.explanations import explanations
from heedful.reports.html.attributions import NAME, write


class WordSheet(Callback):
    """Shows a few explained examples, and beside them what they became when a part was swapped.

    It predicts nothing: all that it shows stands in the rows. They go to ``figures/attributions.html``, the first of
    them to ``figures/attributions.png`` too, and to TensorBoard as ``attributions`` where the trainer has it. Stands
    behind the engine and the run folder among the callbacks.
    """

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        engine = next(c for c in trainer.callbacks if isinstance(c, Engine))
        folder = next(c for c in trainer.callbacks if isinstance(c, RunFolder))
        if trainer.sanity_checking or not trainer.is_global_zero or NAME not in engine.rows:
            return
        rows, metadata = engine.rows[NAME]
        context = Context.of(metadata["context"])
        drawn = write(explanations(attributions(rows, context), context), Path(folder.folder) / "figures")
        if writer := tensorboard_of(trainer):
            with boxes_for_unknown_signs():
                writer.add_figure(NAME, drawn, max(0, trainer.global_step - 1))  # as Lightning logs the rest
