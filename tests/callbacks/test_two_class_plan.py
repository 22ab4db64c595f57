"""Which benchmarks can be measured in two classes, by the plan alone."""

import pytest

from heedful.callbacks import Nothing, Setting, TwoClass
from heedful.datamodules import PairedText, Planted
from heedful.lightning_modules.predictor import Capabilities
from heedful.records import DataError, SettingError

from refusals import refused


def benchmark(name):
    found = Planted(n_train=8, n_validation=8)
    found.setup("validate")
    found.name = name
    return found


@pytest.fixture
def data():
    return benchmark("planted")


def test_benchmarks_are_measured_together(data):
    named = {"snli": benchmark("snli"), "med": benchmark("med")}
    plan = TwoClass(dict.fromkeys(named)).plan(Setting(data, read=lambda name, path: named[name]))
    assert len(plan.pool) == 16
    assert isinstance(TwoClass().plan(Setting(data)), Nothing)


def test_other_data_are_read_by_the_command_line(data):
    with refused(SettingError, "benchmarks snli: ", "evaluate.py"):
        TwoClass({"snli": None}).plan(Setting(data))


def test_two_classes_need_probabilities(data):
    with refused(DataError, "benchmarks needs probabilities", "read first_token"):
        TwoClass({"snli": None}).plan(Setting(data, capabilities=Capabilities(probabilities=False)))


def test_a_benchmark_that_cannot_be_read_is_named(data):
    def read(name, path):
        raise DataError(f"The file {path} does not exist.")

    with refused(DataError, "benchmarks med: the file no.tsv does not exist."):
        TwoClass({"med": "no.tsv"}).plan(Setting(data, read=read))


def test_two_benchmarks_of_one_name(data):
    def read(name, path):
        return benchmark("both")

    with refused(SettingError, "benchmarks b", "called both"):
        TwoClass({"a": None, "b": None}).plan(Setting(data, read=read))


def test_benchmark_and_model_know_entailment(data):
    other = PairedText("d", {"premise": "p", "hypothesis": "h"}, {"yes": [], "no": []})
    with refused(DataError, "benchmarks med", "entailment", "yes, no"):
        TwoClass({"med": None}).plan(Setting(data, read=lambda name, path: other))
    with refused(DataError, "this model", "entailment", "yes, no"):
        TwoClass({"med": None}).plan(Setting(other, read=lambda name, path: benchmark("med")))
