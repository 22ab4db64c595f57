"""The plan of accuracy in two classes: which data sets can be measured together."""

import pytest

from heedful.callbacks import Nothing, Setting, TwoClass
from heedful.datamodules import PairedText, Planted
from heedful.lightning_modules.predictor import Capabilities
from heedful.records import DataError, SettingError

from refusals import refused

OTHER = PairedText("d", {"premise": "p", "hypothesis": "h"}, {"yes": [], "no": []})


def benchmark(name):
    data = Planted(n_train=8, n_validation=8)
    data.setup("validate")
    data.name = name
    return data


def missing(name, path):
    raise DataError(f"The file {path} does not exist.")


def test_benchmarks_are_measured_together():
    data, named = benchmark("planted"), {"snli": benchmark("snli"), "med": benchmark("med")}
    plan = TwoClass(dict.fromkeys(named)).plan(Setting(data, read=lambda name, path: named[name]))
    assert len(plan.pool) == 16
    assert isinstance(TwoClass().plan(Setting(data)), Nothing)


@pytest.mark.parametrize(
    ("setting", "error", "facts"),
    [
        ({}, SettingError, ["benchmarks snli: ", "heedful.evaluate"]),
        ({"capabilities": Capabilities(probabilities=False)}, DataError, ["benchmarks", "read first_token"]),
        ({"read": missing}, DataError, ["benchmarks snli: the file a.tsv does not exist."]),
        ({"read": lambda name, path: benchmark("both")}, SettingError, ["benchmarks med", "called both"]),
        ({"read": lambda name, path: OTHER}, DataError, ["benchmarks snli", "entailment", "yes, no"]),
        ({"data": OTHER, "read": lambda name, path: benchmark(name)}, DataError, ["this model", "yes, no"]),
    ],
)
def test_what_cannot_be_measured_is_refused(setting, error, facts):
    with refused(error, *facts):
        TwoClass({"snli": "a.tsv", "med": None}).plan(Setting(**{"data": benchmark("planted")} | setting))
