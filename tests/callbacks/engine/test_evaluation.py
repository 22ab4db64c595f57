"""A new evaluation: one module with an intervention, a metric, a plan and a display, and no other file touched.

``ShoutedWords`` below is all of it. It is planned, run, printed, drawn, saved and scored again from its rows.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from pytorch_lightning import LightningDataModule, LightningModule, Trainer
from rich.console import Console

from heedful.callbacks import Attentiveness, Board, Engine, Evaluation, Nothing, Plan, RunFolder, Setting
from heedful.callbacks.engine.evaluation import fitted
from heedful.datamodules import Planted
from heedful.interventions import EachExample
from heedful.lightning_modules import Encoder
from heedful.metrics import METRICS, Metric
from heedful.metrics.statistics.shares import share
from heedful.records import Changed, Chart, HeedfulError, Line, MetricName, Shown
from heedful.records.rows import same, select
from heedful.reports.rescore import rescored
from heedful.reports.terminal.table import print_table


def test_examples_of_other_data_go_by_the_names_of_their_parts():
    pool = Planted(n_train=8, n_validation=8).load("validation")
    data = Planted(n_train=8, n_validation=8)
    data._parts = ("hypothesis", "premise")
    data.settle_labels(data.full_task.labels, data.default_label)
    assert [dict(e.parts) for e in fitted(pool, data)] == [dict(e.parts) for e in pool]
    assert list(fitted(pool.rename_parts(("text", "premise")), data).column("parts.hypothesis")) == list(
        pool.column("parts.premise")
    )


# --- the new evaluation begins here ---


@dataclass(frozen=True)
class Shout(EachExample):
    """Write a part in capital letters, which should change nothing."""

    part: str
    name: str = "shout"
    version: int = 1
    draws: int = 0
    limit: int | None = None
    expectation: str = "stay"

    @property
    def parts(self):
        return (self.part,)

    @property
    def settings(self):
        return (self.part,)

    def apply(self, pool, uid, draw, seed):
        example = pool[uid]
        parts = dict(example.parts) | {self.part: example.parts[self.part].upper()}
        return [Changed(type(example)(uid, parts, example.label, example.groups, example.meta), clusters=(uid,))]


def named(context):
    return MetricName("shouting", context.data, context.own["part"], "stays")


def score(rows, context):
    stays = same(select(rows, intervention="shout"), "y", "y2").astype(np.float64)
    return {named(context): share(stays)}


def show(numbers, context, counts):
    return Shown([Line(str(name), f"stays when {name.part} is shouted", beside=True) for name in numbers])


def charts(context):
    return (Chart("shouting", {"stays": named(context)}, figure="shouting"),)


class ShoutedWords(Evaluation):
    """How often the prediction stays when a part is written in capital letters."""

    metric = Metric("shouting", score, show, charts)
    in_training = True

    def __init__(self, part="premise"):
        self.part = part

    def plan(self, setting):
        if self.part not in setting.data.task.parts:
            return Nothing(f"needs a part called {self.part}")
        return Plan(setting.data.pool, [Shout(self.part)], {"part": self.part}, {"shouted": len(setting.data.pool)})


# --- and ends here ---


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny_bert):
    folder = tmp_path_factory.mktemp("shouting") / "run"
    data = Planted(n_train=64, n_validation=40, batch_size=16)
    engine = Engine()
    callbacks = [ShoutedWords(), engine, RunFolder(folder, lambda path: path.write_text("{}")), Board({})]
    trainer = Trainer(
        accelerator="cpu",
        max_epochs=1,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        use_distributed_sampler=False,
        num_sanity_val_steps=0,
        callbacks=callbacks,
    )
    model = Encoder(str(tiny_bert), max_length=64)
    trainer.fit(model, data)
    trainer.validate(model, data, verbose=False)
    return folder, engine


def test_it_is_run_and_saved(run):
    folder, engine = run
    results = json.loads((folder / "results.json").read_text())
    found = results["metrics"]["shouting/planted/premise/stays"]
    assert found["value"] == 1  # the tokenizer of the tiny model lowers letters
    assert found["n"] == results["counts"]["shouting/shouted"] == 40
    assert results["names"]["shouting/planted/premise/stays"] == ["shouting", "planted", "premise", "stays", ""]
    assert (folder / "rows" / "shouting.parquet").is_file()
    assert engine.is_known("shouting/planted/premise/stays")


def test_it_is_printed(run):
    folder, _ = run
    console = Console(width=80, record=True)
    results = json.loads((folder / "results.json").read_text())
    print_table({"run": results}, console)
    assert "stays when premise is shouted" in console.export_text(clear=False)
    print_table({"run": results, "other": results}, console)
    assert console.export_text().count("stays when premise is shouted") == 2


def test_it_is_drawn(run):
    assert (run[0] / "figures" / "shouting.png").is_file()


def test_it_is_scored_again_from_its_rows(run):
    folder, _ = run
    metrics = METRICS | {"shouting": ShoutedWords.metric}
    assert rescored(folder, metrics) == (folder / "results.json").read_text()


def test_it_says_why_it_has_nothing_to_do():
    data = Planted(n_train=8, n_validation=8)
    data.setup("validate")
    assert ShoutedWords("table").plan(Setting(data)) == Nothing("needs a part called table")


def test_it_is_short():
    lines = Path(__file__).read_text().split("\n")
    begin, end = (
        next(i for i, text in enumerate(lines) if text.startswith(f"# --- {mark}")) for mark in ("the", "and")
    )
    assert end - begin < 120


class Plain(LightningModule):
    """A model that Heedful knows nothing of."""

    def validation_step(self, batch, batch_idx):
        return None

    def val_dataloader(self):
        return [torch.zeros(1)]


def alone(*callbacks):
    return Trainer(accelerator="cpu", logger=False, enable_progress_bar=False, callbacks=list(callbacks))


def test_an_evaluation_that_nobody_would_run_says_what_it_needs():
    with pytest.raises(
        HeedfulError, match=r"Attentiveness needs an Engine .*callbacks=\[Attentiveness\(\), Engine\(\)\]"
    ):
        alone(Attentiveness()).validate(Plain(), verbose=False)
    data = LightningDataModule()
    data.val_dataloader = lambda: [torch.zeros(1)]
    for callbacks in ([Attentiveness(), Engine()], [Engine()]):
        named = type(callbacks[0]).__name__
        with pytest.raises(HeedfulError, match=rf"^{named} needs a data module .* data without a data module"):
            alone(*callbacks).validate(Plain(), verbose=False)
        with pytest.raises(
            HeedfulError, match=rf"^{named} needs a data module that is a PairedData.* a LightningDataModule"
        ):
            alone(*callbacks).validate(Plain(), datamodule=data, verbose=False)
