"""Examples that people look at: those whose prediction did not change though a part of them was another's."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pytorch_lightning import Callback, LightningModule, Trainer

from heedful.callbacks.engine.engine import Engine
from heedful.callbacks.evaluations.attentiveness import Attentiveness
from heedful.callbacks.outputs.board import tensorboard_of
from heedful.callbacks.outputs.run_folder import SHEET, RunFolder
from heedful.datamodules import PairedData
from heedful.interventions import Swap
from heedful.records import Composed, Context, atomic_path
from heedful.reports.figures.contact_sheet import Pair, figure, markdown, title, unchanged
from heedful.reports.figures.seen import seen


class ContactSheet(Callback):
    """Shows a handful of unchanged predictions for each part that the attentiveness test swaps.

    It predicts nothing: what it shows are rows of that test, and the few examples that they name. A sheet goes to
    ``figures/unchanged-<part>.png`` where examples have pictures, else to ``figures/unchanged-<part>.md``, and in
    training to TensorBoard as ``unchanged/<part>``. Stands behind the engine and the run folder among the callbacks.
    """

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        engine = next(c for c in trainer.callbacks if isinstance(c, Engine))
        folder = next(c for c in trainer.callbacks if isinstance(c, RunFolder))
        if trainer.sanity_checking or not trainer.is_global_zero or Attentiveness.metric.name not in engine.rows:
            return
        data = trainer.datamodule
        rows, about = engine.rows[Attentiveness.metric.name]
        context = Context.of(about["context"])
        writer = tensorboard_of(trainer) if trainer.state.fn == "fit" else None
        for part in data.swap:
            stayed = unchanged(rows, part, context)
            pairs = [pair_of(row, data) for row in stayed.rows]
            heading = title(data.name, part, stayed)
            path = Path(folder.folder) / "figures" / f"{SHEET}{part}"
            tag = f"unchanged/{part}"
            step = trainer.global_step - 1  # as Lightning logs the rest
            if not data.task.pictures:
                text = markdown(pairs, heading)
                with atomic_path(f"{path}.md") as temporary:
                    temporary.write_text(text, encoding="utf-8")
                if writer:
                    writer.add_text(tag, text, step)
                continue
            drawn = figure(pairs, heading)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Glyph .* missing")  # a box stands for it
                with atomic_path(f"{path}.png") as temporary:
                    drawn.savefig(temporary, dpi=150, format="png")
                if writer:
                    writer.add_figure(tag, drawn, step)


def pair_of(row: Mapping[str, Any], data: PairedData) -> Pair:
    """The examples and predictions that a sheet shows for a row of the attentiveness test."""
    swap = Swap(row["part"], data.default_label)
    task = data.task
    position = np.array([data.pool.position(row["uid"])])
    lender = np.array([data.pool.position(row["partner"])])
    base = data.pool[int(position[0])]
    partner = data.pool[int(lender[0])]
    (changed,) = Composed(data.pool, position, dict.fromkeys(swap.parts, lender))
    answer = row["y"]
    probs = None
    gold = "none" if row["gold"] is None else task.kind.display_gold(row["gold"])
    if row["p"] is not None and answer in task.labels:
        k = task.labels.index(answer)
        probs = row["p"][k], row["p2"][k]
    others = tuple(part for part in task.parts if part not in swap.parts)
    contents = [
        seen(example, parts, task.form)
        for example, parts in ((base, swap.parts), (changed, swap.parts), (base, others))
    ]
    return Pair(base.uid, partner.uid, *contents, gold, answer, probs)
