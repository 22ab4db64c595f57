"""Training from Python: repeated, resumed, finished and further training in one process."""

import logging
import os
import shutil
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from live_runs import MEASURED, ONCE, QUIET, Fall, config, pairs, small, written

import heedful
from heedful.assembly.results import Run
from heedful.lightning_modules.pretrained import allowed_packages
from heedful.records import RunError, SettingError
from heedful.records.storage.results import LOCK

from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py


@pytest.fixture(scope="module")
def whole(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of two epochs."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    return heedful.train(small(tiny_bert), pairs(), evaluations=MEASURED, trainer=QUIET, seed=3, output=folder)


@pytest.fixture(scope="module")
def fallen(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run, stopped by an exception in the second epoch."""
    folder = tmp_path_factory.mktemp("fallen") / "run"
    falls = QUIET | {"callbacks": [Fall(at=2)]}
    with pytest.raises(ZeroDivisionError):
        heedful.train(small(tiny_bert), pairs(), evaluations=MEASURED, trainer=falls, seed=3, output=folder)
    assert not (folder / LOCK).exists()
    return folder


def state_of_process() -> list[Any]:
    """The state of the process that a run must restore."""
    loggers = [logger for logger in logging.root.manager.loggerDict.values() if isinstance(logger, logging.Logger)]
    return [
        list(warnings.filters),
        [(logger.name, list(logger.filters), list(logger.handlers)) for logger in loggers],
        (torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark),
        {thread.name for thread in threading.enumerate()},
        set(allowed_packages),
        {name: value for name, value in os.environ.items() if name.startswith("PL_")},
    ]


@pytest.mark.filterwarnings("ignore:You passed `deterministic=True` and `benchmark=True`")
def test_two_runs_in_one_process_are_the_same(
    whole: Run, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PL_GLOBAL_SEED", raising=False)
    before = state_of_process()
    strange = QUIET | {"deterministic": True, "benchmark": True, "max_epochs": 1}
    heedful.train(small(tiny_bert), pairs(), trainer=strange, seed=9, output=tmp_path / "other", allow_package="mine")
    torch.manual_seed(123)
    same = {"evaluations": MEASURED, "trainer": QUIET, "seed": 3}
    again = heedful.train(small(tiny_bert), pairs(), output=tmp_path / "again", **same)
    assert state_of_process() == before
    assert written(again.folder) == written(whole.folder)
    assert config(again.folder) == config(whole.folder)


def test_a_run_that_fell_goes_on(fallen: Path, whole: Run, tiny_bert: Path, tmp_path: Path) -> None:
    calm = {"callbacks": [Fall()]}
    assert config(fallen)["trainer"]["callbacks"] == ["(in memory)"]
    for name in ("a", "b", "c"):
        shutil.copytree(fallen, tmp_path / name)
    resumed = heedful.train(resume=tmp_path / "a", trainer=calm)
    last = heedful.train(output=tmp_path / "b", ckpt_path="last", trainer=calm)
    live = heedful.train(small(tiny_bert), pairs(), resume=tmp_path / "c", trainer=calm)
    for run in (resumed, last, live):
        assert written(run.folder) == written(whole.folder)
        assert not run.was_finished
    assert written(heedful.train(output=tmp_path / "b", ckpt_path="last", trainer=calm).folder) == written(whole.folder)


def test_a_finished_run_gives_its_results(whole: Run) -> None:
    run = heedful.train(resume=whole.folder)
    assert run.was_finished
    assert run.numbers == whole.numbers
    assert run.rows_of("accuracy") == whole.rows_of("accuracy")
    with refused(RunError, "max_epochs 3", whole.folder):
        heedful.train(resume=whole.folder, trainer={"max_epochs": 3})


def test_a_model_from_a_finished_run(whole: Run, tiny_bert: Path, tmp_path: Path) -> None:
    first, second = (
        heedful.train(init_from=whole.folder, data=pairs(), trainer=ONCE, evaluations=MEASURED, output=tmp_path / name)
        for name in ("a", "b")
    )
    assert written(first.folder) == written(second.folder)
    assert written(first.folder) != written(whole.folder)
    with refused(SettingError, "init_from", "model"):
        heedful.train(small(tiny_bert), pairs(), init_from=whole.folder, output=tmp_path / "c")


def test_a_model_is_trained_once(tiny_bert: Path, tmp_path: Path) -> None:
    model = small(tiny_bert)
    with refused(SettingError):
        heedful.train(model, pairs(), checkpoint={"monitor": "x"}, trainer=ONCE, output=tmp_path / "a")
    heedful.train(model, pairs(), trainer=ONCE, evaluations=["accuracy"], output=tmp_path / "a")
    with refused(SettingError, "model", "init_from"):
        heedful.train(model, pairs(), trainer=ONCE, output=tmp_path / "b")
    assert not (tmp_path / "b").exists()
