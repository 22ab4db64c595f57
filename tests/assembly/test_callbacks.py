"""An evaluation runs wherever callbacks of a Trainer are accepted, on a command line and in Python."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from live_runs import ONCE, small

import heedful
from heedful.callbacks import EVALUATIONS
from heedful.cli import command
from heedful.datamodules import Planted
from heedful.metrics import METRICS

from commands import results_of, run
from tiers import first_tier

PAGE = Path(__file__).parents[2] / "docs" / "new_evaluation.md"
NUMBER = "shouting/planted/hypothesis/stays"


@pytest.fixture
def shouting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Write the evaluation of the docs to a module in the working folder."""
    block = PAGE.read_text(encoding="utf-8").split("```python\n")[1].partition("```")[0]
    (tmp_path / "shouting.py").write_text(block)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    before = [dict(known) for known in (METRICS, EVALUATIONS)]
    yield
    sys.modules.pop("shouting", None)
    for known, was in zip((METRICS, EVALUATIONS), before, strict=True):
        known.clear()
        known.update(was)


def by_words(tiny_bert: Path) -> Any:
    sizes = ["--data.n_train", 32, "--data.n_validation", 12, "--model.max_length", 64, "--trainer.max_epochs", 1]
    evaluation = ["--trainer.callbacks", "shouting.ShoutedWords", "--trainer.callbacks.part", "hypothesis"]
    run(command.train, "--model", tiny_bert, *sizes, *evaluation, "--output", "run")
    return results_of(Path("run"))


def as_evaluations(tiny_bert: Path) -> Any:
    """Only this evaluation runs; accuracy is neither measured nor monitored."""
    from shouting import ShoutedWords

    data = Planted(n_train=32, n_validation=12)
    found = heedful.train(small(tiny_bert), data, trainer=ONCE, evaluations=[ShoutedWords("hypothesis")], output="run")
    assert "accuracy/planted" not in found.content["metrics"]
    assert found.checkpoint is not None
    return found.content


@pytest.mark.parametrize("train", first_tier(1, [by_words, as_evaluations]))
def test_an_evaluation_runs_wherever_callbacks_are_given(
    train: Callable[[Path], Any], tiny_bert: Path, shouting: None
) -> None:
    content = train(tiny_bert)
    assert content["metrics"][NUMBER]["n"] == 12
