"""The new evaluation and the new metric of docs/new_evaluation.md, which need no change of Heedful."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from pytorch_lightning import LightningDataModule, LightningModule, Trainer
from rich.console import Console

from benchmarks import bare_runs
from heedful.callbacks import EVALUATIONS, Attentiveness, Board, Engine, Nothing, Setting
from heedful.callbacks.evaluations.pools import fitted
from heedful.datamodules import Planted
from heedful.lightning_modules import Encoder
from heedful.metrics import METRICS
from heedful.records import SettingError
from heedful.reports.rescore import rescored
from heedful.reports.terminal.table import print_table

from refusals import refused


def test_parts_of_other_data_are_matched_by_name():
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
    """The names that the page defines, with its metrics and its evaluation registered."""
    page = (Path(__file__).parents[3] / "docs" / "new_evaluation.md").read_text(encoding="utf-8")
    defined = {"__name__": __name__}
    with pytest.MonkeyPatch.context() as patch:
        for registry in (METRICS, EVALUATIONS):
            for name in ("shouting", "first_draw"):
                patch.setitem(registry, name, None)
                del registry[name]  # and afterwards, when the patch is undone
        for block in page.split("```python\n")[1:]:
            exec(block.partition("```")[0], defined)
        yield SimpleNamespace(**defined)


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny_bert, documented):
    folder = tmp_path_factory.mktemp("shouting") / "run"
    data = Planted(n_train=64, n_validation=40, batch_size=16)
    data.default_label = None  # every prediction counts
    data.settle_labels(data.full_task.labels, None)
    evaluations = [documented.ShoutedWords(), Attentiveness(draws=2)]
    model = Encoder(str(tiny_bert), max_length=64)
    bare_runs.fitted(model, data, evaluations, [Board({}, lambda: folder)], folder, accelerator="cpu", max_epochs=1)
    return folder, bare_runs.measured(model, data, evaluations, folder=folder, accelerator="cpu")


def test_its_numbers_are_saved_printed_and_scored_again(run):
    folder, engine = run
    results = json.loads((folder / "results.json").read_text())
    found = results["metrics"]["shouting/planted/premise/stays"]
    assert found["value"] == 1  # the tokenizer of the tiny model lowers letters
    assert found["n"] == results["counts"]["shouting/shouted"] == 40
    assert results["names"]["shouting/planted/premise/stays"] == ["shouting", "planted", "premise", "stays", ""]
    assert (folder / "rows" / "shouting.parquet").is_file()
    assert engine.plans.is_known("shouting/planted/premise/stays")
    console = Console(width=80, record=True)
    print_table({"run": results}, console)
    assert "stays when premise is shouted" in console.export_text()
    assert rescored(folder) == (folder / "results.json").read_text()
    found = results["metrics"]["first_draw/planted/premise"]
    of_draws = results["metrics"]["attentiveness/planted/premise"]
    assert found["value"] == pytest.approx(of_draws["per_draw"][0])
    assert found["n"] == of_draws["n"]
    assert not (folder / "rows" / "first_draw.parquet").exists()
    assert "first draw premise" in [line["label"] for line in results["display"]["lines"]]


def test_it_has_nothing_to_do_without_the_part(documented):
    data = Planted(n_train=8, n_validation=8)
    data.setup("validate")
    assert documented.ShoutedWords("table").plan(Setting(data)) == Nothing("needs a part called table")


class Plain(LightningModule):
    """A model without Heedful's base class."""

    def validation_step(self, batch, batch_idx):
        return None

    def val_dataloader(self):
        return [torch.zeros(1)]


def alone(*callbacks):
    return Trainer(accelerator="cpu", logger=False, enable_progress_bar=False, callbacks=list(callbacks))


def test_an_evaluation_needs_an_engine_and_an_engine_needs_data():
    with refused(SettingError, "Attentiveness", "Trainer(callbacks=[Attentiveness(), Engine()])"):
        alone(Attentiveness()).validate(Plain(), verbose=False)
    data = LightningDataModule()
    data.val_dataloader = lambda: [torch.zeros(1)]
    for callbacks in ([Attentiveness(), Engine()], [Engine()]):
        with refused(SettingError, "Engine needs a datamodule", "PairedData", "has none", "datamodule=..."):
            alone(*callbacks).validate(Plain(), verbose=False)
        with refused(SettingError, "Engine needs a datamodule", "PairedData", "has a LightningDataModule"):
            alone(*callbacks).validate(Plain(), datamodule=data, verbose=False)
