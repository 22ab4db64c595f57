"""Which evaluations a callback of a Trainer runs, and what it needs."""

import pytest
import torch
from pytorch_lightning import LightningDataModule, LightningModule, Trainer

from heedful.callbacks import Accuracy, Attentiveness, DefaultLabel, EvaluationCallback
from heedful.datamodules import Planted
from heedful.lightning_modules.function import Function
from heedful.lightning_modules.predictor_module import PredictorModule
from heedful.records import SettingError

from refusals import refused


def alone(model, *callbacks, **data):
    """Validate a model with these callbacks."""
    quiet = {"accelerator": "cpu", "logger": False, "enable_progress_bar": False, "use_distributed_sampler": False}
    Trainer(callbacks=list(callbacks), **quiet).validate(model, **data, verbose=False)


def planned(evaluations, exhaustive=True):
    """The names of the evaluations that a callback runs, after a validation."""
    callback = EvaluationCallback(evaluations, exhaustive)
    alone(
        PredictorModule(Function(lambda rows: ["entailment" for _ in rows])),
        callback,
        datamodule=Planted(n_validation=6),
    )
    assert {name.split("/")[0] for name in callback.measurements} >= callback.plans.planned.keys()
    return list(callback.plans.planned), callback


def test_evaluations_are_given_by_class_by_name_and_as_objects():
    few = Attentiveness(draws=2)
    names, callback = planned([Accuracy, "default_label", few])
    assert names == ["accuracy", "default_label", "attentiveness"]
    assert callback.plans.planned["attentiveness"].evaluation is few
    assert isinstance(callback.plans.planned["default_label"].evaluation, DefaultLabel)
    assert callback.measurements["attentiveness/planted/premise"].draws == 2


@pytest.mark.parametrize("exhaustive", [True, False])
def test_without_a_choice_the_evaluations_of_training_or_all_of_them_run_and_none_needs_anything_to_do(exhaustive):
    names, callback = planned(None, exhaustive)
    assert names == ["accuracy", "attentiveness"]
    assert ("table_rows" in callback.plans.idle) == exhaustive


@pytest.mark.parametrize(
    ("evaluations", "texts"),
    [
        (["accuracy", "attentivenes"], ["evaluations attentivenes is not an evaluation", "attentiveness?"]),
        (["accuracy", Accuracy()], ["two evaluations called accuracy"]),
        ([Attentiveness, Attentiveness(draws=1)], ["two evaluations called attentiveness"]),
        ([Accuracy, "table_rows"], ["evaluations table_rows ", "Leave it out"]),
        ([], ["evaluations is empty"]),
    ],
)
def test_an_unknown_a_second_and_an_idle_evaluation_are_refused_by_name(evaluations, texts):
    with refused(SettingError, *texts):
        planned(evaluations)


class Plain(LightningModule):
    """A model without Heedful's base class."""

    def validation_step(self, batch, batch_idx):
        return None

    def val_dataloader(self):
        return [torch.zeros(1)]


def test_an_evaluation_callback_needs_data():
    data = LightningDataModule()
    data.val_dataloader = lambda: [torch.zeros(1)]
    for callback in (EvaluationCallback([Attentiveness]), EvaluationCallback()):
        with refused(SettingError, "EvaluationCallback needs a datamodule", "PairedData", "has none", "datamodule=..."):
            alone(Plain(), callback)
        with refused(SettingError, "EvaluationCallback needs a datamodule", "PairedData", "has a LightningDataModule"):
            alone(Plain(), callback, datamodule=data)
