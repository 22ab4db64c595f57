"""Results in Python: the numbers and the rows that stand in the folder."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from live_runs import MEASURED, ONCE, pairs, small

import heedful
from heedful.assembly.results import Results, Run

from refusals import refused


@pytest.fixture(scope="module")
def run(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("results") / "run"
    return heedful.train(small(tiny_bert), pairs(), evaluations=MEASURED, trainer=ONCE, output=folder)


def test_numbers_are_those_of_the_file(run: Run) -> None:
    of_file = json.loads((run.folder / "results.json").read_text())["metrics"]
    assert {str(name): number for name, number in run.numbers.items()} == of_file
    assert run.numbers[heedful.MetricName("accuracy", "planted")]["n"] == 12
    finished = Run.finished(run.folder)
    assert (finished.numbers, finished.was_finished) == (run.numbers, True)
    assert str(run.folder) in repr(run)
    assert len(repr(run)) < 500


def test_rows_are_those_of_the_file(run: Run) -> None:
    for name in MEASURED:
        assert run.rows_of(name).equals(pq.read_table(run.folder / "rows" / f"{name}.parquet"))
    with pytest.raises(KeyError, match="natural_logic"):
        run.rows_of("natural_logic")
    with pytest.raises(KeyError):
        run.rows_of("")


def test_rows_that_were_changed_are_refused(run: Run, tmp_path: Path) -> None:
    rows = run.folder / "rows" / "accuracy.parquet"
    whole = rows.read_bytes()
    try:
        rows.write_bytes(whole[:-9])
        with refused("other-rows"):
            run.rows_of("accuracy")
    finally:
        rows.write_bytes(whole)
    with pytest.raises(heedful.HeedfulError):
        Results(tmp_path, run.content).rows_of("accuracy")


def test_a_trial_of_a_few_batches_measures_nothing(tiny_bert: Path, tmp_path: Path) -> None:
    run = heedful.train(
        small(tiny_bert),
        pairs(),
        evaluations=["accuracy"],
        trainer=ONCE | {"fast_dev_run": True},
        output=tmp_path / "a",
    )
    assert (run.numbers, run.checkpoint, run.each) == ({}, None, ())
