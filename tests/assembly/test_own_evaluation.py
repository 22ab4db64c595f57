"""An evaluation of the user's own runs on a command line and in Python."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from live_runs import ONCE, small

import heedful
from heedful.cli import command
from heedful.datamodules import Planted

from commands import results_of, run
from registered import restored_registries
from tiers import first_tier

MODULE = """
from heedful.callbacks import Evaluation, Plan, register
from heedful.metrics import Metric, Number
from heedful.records import Measurement, MetricName


def numbers(rows, context):
    yield Number(MetricName("counted", context.data), Measurement(1.0, rows.num_rows), headline=True)


class Counted(Evaluation):
    metric = Metric("counted", numbers)
    in_training = True
    by_default = False

    def __init__(self, share: float = 1.0):
        self.share = share

    def plan(self, setting):
        pool = setting.data.pool
        return Plan(pool.take(range(int(self.share * len(pool)))))


register(Counted)
"""


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module of an evaluation in the working folder."""
    (tmp_path / "counting.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    with restored_registries():
        yield
    sys.modules.pop("counting", None)


def by_words(tiny_bert: Path) -> Any:
    sizes = ["--data.n_train", 32, "--data.n_validation", 12, "--model.max_length", 64, "--trainer.max_epochs", 1]
    evaluation = ["--evaluations", "counting.Counted", "--counted.share", "0.5"]
    run(command.train, "--model", tiny_bert, *sizes, *evaluation, "--output", "run")
    return results_of(Path("run"))


def as_object(tiny_bert: Path) -> Any:
    from counting import Counted

    data = Planted(n_train=32, n_validation=12)
    found = heedful.train(small(tiny_bert), data, trainer=ONCE, evaluations=[Counted(0.5)], output="run")
    assert found.checkpoint is not None
    return found.content


@pytest.mark.parametrize("train", first_tier(1, [by_words, as_object]))
def test_only_an_evaluation_that_is_chosen_runs(train: Callable[[Path], Any], tiny_bert: Path, counted: None) -> None:
    """Accuracy is neither measured nor monitored."""
    metrics = train(tiny_bert)["metrics"]
    assert metrics["counted/planted"]["n"] == 6
    assert metrics.keys() == {"counted/planted"}
