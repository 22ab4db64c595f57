"""``heedful.Watch`` in a training of both packages of Lightning on one process; on two: test_while_training.py."""

import math
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import heedful
from heedful.records import DataError, ModelError, RunError, SettingError

from refusals import refused

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Found 1 module")]  # a frozen layer
PARTS = ["premise", "hypothesis"]
ROWS = [{"premise": f"dog {i % 7}", "hypothesis": f"cat {i % 5} {i}"} for i in range(40)]
QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}


@pytest.fixture(params=["pytorch_lightning", "lightning"])
def L(request: pytest.FixtureRequest) -> Any:
    """One of the two packages of Lightning."""
    if find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed: pip install {request.param}")
    return import_module(request.param)


def parity(module: nn.Module, inputs: list[dict[str, str]]) -> list[str]:
    """Answers that depend on the hypothesis alone from the second epoch on, and are constant before."""
    assert not module.training
    assert not torch.is_grad_enabled()
    module(torch.ones(1, 2))
    torch.rand(1)
    if module.current_epoch == 0:
        return ["neutral"] * len(inputs)
    return [["entailment", "neutral"][int(row["hypothesis"].split()[1]) % 2] for row in inputs]


def watching(rows: Any = ROWS, **settings: Any) -> heedful.Watch:
    labels = ["entailment", "neutral"]
    return heedful.Watch(parity, rows, PARTS, **{"default_label": "neutral", "labels": labels, "draws": 1} | settings)


def fitted(L: Any, *callbacks: Any, validated: bool = True, **settings: Any) -> Any:
    class Line(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))
            self.layer[1].eval()  # frozen

        def forward(self, x: torch.Tensor) -> Any:
            return self.layer(x)

        def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
            return self(batch[0]).square().mean()

        def validation_step(self, batch: Any, batch_idx: int) -> None:
            self.log("val_loss", self(batch[0]).square().mean())

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    usual = {"max_epochs": 3, "enable_checkpointing": False, "callbacks": [*callbacks]}
    trainer = L.Trainer(**QUIET | usual | settings)
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.ones(8, 2)), 4)
    trainer.fit(Line(), loader, loader if validated else None)
    return trainer


def test_each_validation_is_measured_and_training_is_left_as_it_is(L: Any, tmp_path: Path) -> None:
    watch = watching(output=tmp_path / "measured")
    assert isinstance(watch, L.Callback)
    left = []
    for callbacks in ([], [watch]):
        trainer = fitted(L, *callbacks)
        weights = torch.cat([weights.flatten() for weights in trainer.lightning_module.parameters()])
        left.append(
            (weights.tolist(), torch.rand(2).tolist(), [m.training for m in trainer.lightning_module.modules()])
        )
    assert left[0] == left[1]
    assert [(one["step"], one["epoch"]) for one in watch.history] == [
        (2, 0),
        (4, 1),
        (6, 2),
    ]  # without the sanity check
    first, *others = watch.history
    assert math.isnan(first["attentiveness_hypothesis"])
    for one in others:
        assert one["attentiveness_premise"] == 0 < one["attentiveness_hypothesis_low"]
    value = watch.results["attentiveness", "hypothesis"].value
    assert float(trainer.callback_metrics["attentiveness_hypothesis"]) == pytest.approx(value)
    assert sorted(path.name for path in (tmp_path / "measured").iterdir()) == ["step-2", "step-4", "step-6"]


def test_the_latest_results_have_rows_in_memory(L: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    watch = watching()
    fitted(L, watch)
    assert watch.results.rows.num_rows
    assert watch.results.save(tmp_path / "saved").numbers == watch.results.numbers
    assert caplog.text.count("evaluating on") == 1  # not at each validation


@pytest.mark.filterwarnings("ignore:You defined a `validation_step`")  # Lightning warns as well
def test_without_validation_data_it_warns_that_nothing_is_measured(L: Any) -> None:
    watch = watching()
    with pytest.warns(UserWarning, match="validation data"):
        fitted(L, watch, validated=False, max_epochs=1)
    assert watch.history == []


def test_errors_of_the_function_are_raised_before_the_training(L: Any) -> None:
    def untrained(module: nn.Module, inputs: list[dict[str, str]]) -> list[str]:
        assert module.global_step == 0
        return ["a label that the data lack"] * len(inputs)

    with refused(ModelError, "untrained", "a label that"):
        fitted(L, heedful.Watch(untrained, ROWS, PARTS, "neutral", labels=["entailment", "neutral"]))


def test_two_of_them_have_names(L: Any) -> None:
    with refused(RunError, "name"):
        fitted(L, watching(), watching(ROWS[:20]))
    found = fitted(L, watching(name="all"), watching(ROWS[:20], name="half"), max_epochs=2).callback_metrics
    assert found["all_attentiveness_hypothesis"] != found["half_attentiveness_hypothesis_low"]


def test_data_by_name_keep_their_name_and_the_logged_names_get_the_prefix(L: Any) -> None:
    data = heedful.load_data("mnli", path=[row | {"label": "entailment"} for row in ROWS])
    watches = [heedful.Watch(parity, data, name=name, draws=1) for name in (None, "second")]
    found = fitted(L, *watches, max_epochs=2).callback_metrics
    assert found["second_attentiveness_premise"] == found["attentiveness_premise"]
    assert {name.data for name in watches[1].results.numbers} == {"mnli"}


def test_mistakes_show_before_training(L: Any) -> None:
    for make, fact in (
        (lambda: heedful.Watch(nn.Linear(2, 1), ROWS, PARTS), "predict"),
        (lambda: watching(draw=1), "draw"),
        (lambda: watching(dry_run=True), "dry_run"),
    ):
        with refused(SettingError, fact):
            make()
    wrong = heedful.Watch(parity, ROWS, ["premise", "hypotesis"])
    with refused(DataError, "hypotesis"):
        fitted(L, wrong)
    assert wrong.history == []
    gold = [row | {"label": "neutral" if i % 2 else "entailment"} for i, row in enumerate(ROWS)]
    with refused(RunError, "Attentiveness"):
        fitted(L, watching(gold, evaluations=["accuracy"]), max_epochs=1)
