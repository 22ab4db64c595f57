"""``heedful.Watch`` in a training of both packages of Lightning on one process; on two: test_while_training.py."""

import math
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import heedful
from heedful.records import DataError, RunError, SettingError

from refusals import refused

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Found 1 module"),
]  # the tests freeze one, as people do
PARTS = ["premise", "hypothesis"]
QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}
Row = dict[str, Any]


@pytest.fixture(params=["pytorch_lightning", "lightning"])
def L(request: pytest.FixtureRequest) -> Any:
    """One of the packages, as users import it."""
    if find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed: pip install {request.param}")
    return import_module(request.param)


@pytest.fixture
def rows() -> list[Row]:
    return [{"premise": f"dog {i % 7}", "hypothesis": f"cat {i % 5} {i}"} for i in range(40)]


def parity(module: nn.Module, inputs: list[Row]) -> list[str]:
    """Answers that heed the hypothesis alone, from the second epoch on; before, there is one for all."""
    assert not module.training
    assert not torch.is_grad_enabled()
    module(torch.ones(1, 2))
    torch.rand(1)
    if module.current_epoch == 0:
        return ["neutral"] * len(inputs)
    return [["entailment", "neutral"][int(row["hypothesis"].split()[1]) % 2] for row in inputs]


def module_of(L: Any) -> Any:
    class Line(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))
            self.layer[1].eval()  # frozen, as people do

        def forward(self, x: torch.Tensor) -> Any:
            return self.layer(x)

        def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
            return self(batch[0]).square().mean()

        def validation_step(self, batch: Any, batch_idx: int) -> None:
            self.log("val_loss", self(batch[0]).square().mean())

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    torch.manual_seed(0)
    return Line()


def fitted(L: Any, *callbacks: Any, **settings: Any) -> Any:
    trainer = L.Trainer(
        **QUIET | {"max_epochs": 3, "enable_checkpointing": False, "callbacks": [*callbacks]} | settings
    )
    module = module_of(L)
    loader = DataLoader(TensorDataset(torch.ones(8, 2)), 4)
    torch.manual_seed(1)
    trainer.fit(module, loader, loader)
    return trainer


def watching(rows: list[Row], **settings: Any) -> heedful.Watch:
    labels = ["entailment", "neutral"]
    return heedful.Watch(parity, rows, PARTS, **{"default_label": "neutral", "labels": labels, "draws": 1} | settings)


def test_each_validation_is_measured_and_the_sanity_check_is_not(L: Any, rows: list[Row], tmp_path: Any) -> None:
    watch = watching(rows, output=tmp_path / "measured")
    trainer = fitted(L, watch)
    assert isinstance(watch, L.Callback)
    assert [(one["step"], one["epoch"]) for one in watch.history] == [(2, 0), (4, 1), (6, 2)]
    first, *others = watch.history
    assert math.isnan(first["attentiveness_hypothesis"])
    for one in others:
        assert one["attentiveness_premise"] == 0 < one["attentiveness_hypothesis_low"]
    assert float(trainer.callback_metrics["attentiveness_hypothesis"]) == pytest.approx(
        watch.results["attentiveness", "hypothesis"].value
    )
    assert sorted(path.name for path in (tmp_path / "measured").iterdir()) == ["step-2", "step-4", "step-6"]


def test_an_undefined_number_neither_stops_the_training_nor_is_the_best(L: Any, rows: list[Row], tmp_path: Any) -> None:
    callbacks = import_module(
        "pytorch_lightning.callbacks" if L.__name__ != "lightning" else "lightning.pytorch.callbacks"
    )
    monitor = "attentiveness_hypothesis"
    stop = callbacks.EarlyStopping(monitor, mode="max", patience=2, check_finite=False)
    best = callbacks.ModelCheckpoint(tmp_path, "{epoch}", monitor=monitor, mode="max")
    watch = watching(rows)
    trainer = fitted(L, stop, watch, best, enable_checkpointing=True, max_epochs=2)
    assert trainer.current_epoch == 2
    assert best.best_model_path.endswith("epoch=1.ckpt")


def test_training_is_left_as_it_is(L: Any, rows: list[Row]) -> None:
    left = []
    for callbacks in ([], [watching(rows)]):
        trainer = fitted(L, *callbacks)
        weights = torch.cat([weights.flatten() for weights in trainer.lightning_module.parameters()])
        modes = [module.training for module in trainer.lightning_module.modules()]
        left.append((weights, torch.rand(2), modes))
    assert torch.equal(left[0][0], left[1][0])
    assert torch.equal(left[0][1], left[1][1])
    assert left[0][2] == left[1][2]


def test_two_of_them_have_names(L: Any, rows: list[Row]) -> None:
    with refused(RunError, "name"):
        fitted(L, watching(rows), watching(rows[:20]))
    trainer = fitted(L, watching(rows, name="all"), watching(rows[:20], name="half"), max_epochs=2)
    found = trainer.callback_metrics
    assert found["all_attentiveness_hypothesis"] != found["half_attentiveness_hypothesis_low"]


def test_what_is_refused(rows: list[Row]) -> None:
    with refused(SettingError, "predict"):
        heedful.Watch(nn.Linear(2, 1), rows, PARTS)
    with refused(SettingError, "draw"):
        heedful.Watch(parity, rows, PARTS, draw=1)
    with refused(SettingError, "dry_run"):
        heedful.Watch(parity, rows, PARTS, dry_run=True)


def test_a_number_that_the_module_logs_as_well_is_refused(L: Any, rows: list[Row]) -> None:
    """Whether in training, which is seen at the second validation, or in the validation itself."""
    for step, known in (("training_step", 1), ("validation_step", 0)):
        watch = heedful.Watch(parity, rows, PARTS, labels=["entailment", "neutral"])
        module = module_of(L)
        usual = getattr(module, step)

        def logs(batch: Any, batch_idx: int, module: Any = module, usual: Any = usual) -> Any:
            module.log("attentiveness_premise", 0.77, on_step=False, on_epoch=True)
            return usual(batch, batch_idx)

        setattr(module, step, logs)
        trainer = L.Trainer(**QUIET, max_epochs=3, enable_checkpointing=False, callbacks=[watch])
        loader = DataLoader(TensorDataset(torch.ones(8, 2)), 4)
        with refused(RunError, "attentiveness_premise"):
            trainer.fit(module, loader, loader)
        assert len(watch.history) == known + 1


def test_what_cannot_be_measured_is_said_before_training_and_what_never_was_after(L: Any, rows: list[Row]) -> None:
    loader = DataLoader(TensorDataset(torch.ones(8, 2)), 4)
    wrong = heedful.Watch(parity, rows, ["premise", "hypotesis"])
    trainer = L.Trainer(**QUIET, max_epochs=1, enable_checkpointing=False, callbacks=[wrong])
    with refused(DataError, "hypotesis"):
        trainer.fit(module_of(L), loader, loader)
    assert trainer.global_step == 0
    never = heedful.Watch(parity, rows, PARTS)
    trainer = L.Trainer(**QUIET, max_epochs=1, enable_checkpointing=False, callbacks=[never], limit_val_batches=0)
    with pytest.warns(UserWarning, match="attentiveness was not measured"):
        trainer.fit(module_of(L), loader, loader)


def test_a_watch_without_attentiveness_is_refused(L: Any, rows: list[Row]) -> None:
    gold = [row | {"label": "neutral" if i % 2 else "entailment"} for i, row in enumerate(rows)]
    loader = DataLoader(TensorDataset(torch.ones(8, 2)), 4)
    trainer = L.Trainer(
        **QUIET,
        max_epochs=1,
        enable_checkpointing=False,
        callbacks=[heedful.Watch(parity, gold, PARTS, evaluations=["accuracy"])],
    )
    with refused(RunError, "Attentiveness"):
        trainer.fit(module_of(L), loader, loader)
