"""A new evaluation, and a new metric of rows that there are, as docs/new_evaluation.md has them.

They are planned, run, printed, drawn, saved and scored again from their rows, and no file of Heedful is touched.
"""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from pytorch_lightning import LightningDataModule, LightningModule, Trainer
from rich.console import Console

from benchmarks import bare_runs
from heedful.callbacks import EVALUATIONS, Attentiveness, Board, Engine, Nothing, Setting, register
from heedful.callbacks.evaluations.pools import fitted
from heedful.datamodules import Planted
from heedful.lightning_modules import Encoder
from heedful.metrics import METRICS
from heedful.metrics import register as register_metric
from heedful.records import Example, Examples, ModelError, SettingError
from heedful.reports.rescore import rescored
from heedful.reports.terminal.table import print_table

from refusals import refused


def test_examples_of_other_data_go_by_the_names_of_their_parts():
    pool = Planted(n_train=8, n_validation=8).load("validation")
    data = Planted(n_train=8, n_validation=8)
    data._parts = ("hypothesis", "premise")
    data.settle_labels(data.full_task.labels, data.default_label)
    assert [dict(e.parts) for e in fitted(pool, data)] == [dict(e.parts) for e in pool]
    assert list(fitted(pool.rename_parts(("text", "premise")), data).column("parts.hypothesis")) == list(
        pool.column("parts.premise")
    )


@pytest.fixture(scope="module")
def documented():
    """What the page defines; its metrics and its evaluation are registered meanwhile."""
    page = (Path(__file__).parents[3] / "docs" / "new_evaluation.md").read_text(encoding="utf-8")
    blocks = [block.partition("```")[0] for block in page.split("```python\n")[1:]]
    known = (METRICS, EVALUATIONS)
    before = [dict(of) for of in known]
    defined = {"__name__": __name__}
    for block in blocks:
        exec(block, defined)
    yield SimpleNamespace(**defined)
    for of, was in zip(known, before, strict=True):
        of.clear()
        of.update(was)


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny_bert, documented):
    folder = tmp_path_factory.mktemp("shouting") / "run"
    data = Planted(n_train=64, n_validation=40, batch_size=16)
    data.default_label = None  # so that every prediction counts
    data.settle_labels(data.full_task.labels, None)
    evaluations = [documented.ShoutedWords(), Attentiveness(draws=2)]
    model = Encoder(str(tiny_bert), max_length=64)
    bare_runs.fitted(model, data, evaluations, [Board({}, lambda: folder)], folder, accelerator="cpu", max_epochs=1)
    return folder, bare_runs.measured(model, data, evaluations, folder=folder, accelerator="cpu")


def test_it_is_run_and_saved(run):
    folder, engine = run
    results = json.loads((folder / "results.json").read_text())
    found = results["metrics"]["shouting/planted/premise/stays"]
    assert found["value"] == 1  # the tokenizer of the tiny model lowers letters
    assert found["n"] == results["counts"]["shouting/shouted"] == 40
    assert results["names"]["shouting/planted/premise/stays"] == ["shouting", "planted", "premise", "stays", ""]
    assert (folder / "rows" / "shouting.parquet").is_file()
    assert engine.plans.is_known("shouting/planted/premise/stays")


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
    assert rescored(folder) == (folder / "results.json").read_text()


def test_a_metric_of_rows_that_there_are_stands_beside_the_others(run):
    folder, engine = run
    results = json.loads((folder / "results.json").read_text())
    found = results["metrics"]["first_draw/planted/premise"]
    of_draws = results["metrics"]["attentiveness/planted/premise"]
    assert found["value"] == pytest.approx(of_draws["per_draw"][0])
    assert found["n"] == of_draws["n"]
    assert not (folder / "rows" / "first_draw.parquet").exists()
    assert "first draw premise" in [line["label"] for line in results["display"]["lines"]]


def test_a_name_is_taken_once(documented):
    with refused(SettingError, f"'{documented.ShoutedWords.metric.name}'"):
        register(documented.ShoutedWords)
    with refused(SettingError, "'accuracy'"):
        register_metric(METRICS["accuracy"])


def test_it_says_why_it_has_nothing_to_do(documented):
    data = Planted(n_train=8, n_validation=8)
    data.setup("validate")
    assert documented.ShoutedWords("table").plan(Setting(data)) == Nothing("needs a part called table")


class Plain(LightningModule):
    """A model that Heedful knows nothing of."""

    def validation_step(self, batch, batch_idx):
        return None

    def val_dataloader(self):
        return [torch.zeros(1)]


def alone(*callbacks):
    return Trainer(accelerator="cpu", logger=False, enable_progress_bar=False, callbacks=list(callbacks))


def test_examples_of_other_parts_are_not_for_the_model():
    data = Planted(n_train=8, n_validation=8)
    data.setup("validate")
    with refused(ModelError, "Examples of a ", "premise, hypothesis"):
        fitted(Examples.of([Example("x", {"a": "text"}, None)]), data)


def test_an_evaluation_that_nobody_would_run_says_what_it_needs():
    with refused(SettingError, "Attentiveness", "Trainer(callbacks=[Attentiveness(), Engine()])"):
        alone(Attentiveness()).validate(Plain(), verbose=False)
    data = LightningDataModule()
    data.val_dataloader = lambda: [torch.zeros(1)]
    for callbacks in ([Attentiveness(), Engine()], [Engine()]):
        with refused(SettingError, "Engine needs a datamodule", "PairedData", "has none", "datamodule=..."):
            alone(*callbacks).validate(Plain(), verbose=False)
        with refused(SettingError, "Engine needs a datamodule", "PairedData", "has a LightningDataModule"):
            alone(*callbacks).validate(Plain(), datamodule=data, verbose=False)
