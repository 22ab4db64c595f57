"""Reading comprehension from the command line: numbers follow from rows, and runs on pairs go on with questions."""

import json

import numpy as np
import pytest

from heedful.cli import command
from heedful.records import HeedfulError, ModelError
from heedful.records.answers import exact_match, normalised
from heedful.records.rows import read_rows, select

from commands import prepared_job, results_of, run
from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

SHORT = ["--model.max_length", "24", "--model.overlap", "6", "--model.longest_answer", "4", "--data.batch_size", "10"]


@pytest.fixture(scope="module")
def data(tmp_path_factory, write_squad):
    """Forty questions, of which twenty are held out."""
    file = write_squad(tmp_path_factory.mktemp("squad") / "squad.json", 4)
    return ["--data", "squad2", "--data.path", str(file), "--data.hold_out", "20", "--data.eval_batch_size", "4"]


@pytest.fixture(scope="module")
def trained(data, tiny_bert, tmp_path_factory):
    """The folder of a run."""
    folder = tmp_path_factory.mktemp("runs") / "plain"
    argv = [*data, "--model.backbone", tiny_bert, *SHORT, "--model.learning_rate", "0.003", "--augment"]
    run(command.train, *argv, "counterfactual", "--trainer.max_epochs", "2", "--output", folder)
    return folder


def test_numbers_of_a_reader_that_always_answers_follow_from_its_rows(trained, tmp_path):
    run(command.evaluate, "--checkpoint", trained, "--model.threshold", "1e6", "--output", tmp_path)
    rows, meta = read_rows(tmp_path / "rows" / "attentiveness.parquet")
    base, swapped = (select(rows, intervention=name).to_pylist() for name in ("base", "swap"))
    assert meta["context"]["labels"] == []
    assert {row["p"] for row in base} == {row["p2"] for row in swapped} == {None}
    assert len(swapped) == 5 * len(base) == 100
    results = results_of(tmp_path)
    found = results["metrics"]
    names = {"f1/squad2", "exact_match/squad2/has_answer", "attentiveness/squad2/context/eligible"}
    assert names <= set(found)
    assert not [name for name in found if name.startswith("accuracy")]
    assert (found["exact_match/squad2/majority"]["value"], results["counts"]["answers/not_in_text"]) == (0.4, 0)
    scores = [exact_match(row["y"], json.loads(row["gold"])) for row in base]
    assert found["exact_match/squad2"]["value"] == pytest.approx(np.mean(scores))
    for suffix, hit in (
        ("", lambda row: row["y2"] == ""),
        ("/changed", lambda row: normalised(row["y2"]) != normalised(row["y"])),
    ):
        shares = [np.mean([hit(row) for row in swapped if row["draw"] == draw]) for draw in range(5)]
        assert found[f"attentiveness/squad2/context{suffix}"]["per_draw"] == pytest.approx(shares)
    assert found["attentiveness/squad2/context"]["value"] == 0  # it always answers
    assert found["attentiveness/squad2/context/changed"]["value"] > 0.5
    null = select(read_rows(tmp_path / "rows" / "answers.parquet")[0], intervention="null").to_pylist()
    assert [row["y"] for row in null] == [row["y2"] for row in null]
    assert found["null/squad2/flips"]["n"] == 20
    # partners are of other articles
    assert all(row["uid"].split("/")[-1][:2] != row["partner"].split("/")[-1][:2] for row in swapped)


def test_one_part_alone_is_put_to_a_reader_of_both(trained, tmp_path):
    run(command.evaluate, "--checkpoint", trained, "--evaluations", "naive_partial", "--output", tmp_path)
    rows, _ = read_rows(tmp_path / "rows" / "naive_partial.parquet")
    assert set(select(rows, variant="question")["y2"].to_pylist()) == {""}  # there is no text to cut an answer out of


def test_plans_of_readers(data, tiny_bert, tmp_path, monkeypatch):
    """A short form names a reader with its settings; F1 is watched; a run on pairs goes on with questions."""
    plan = prepared_job(monkeypatch, [*data, "--model", "bert", "--model.backbone", str(tiny_bert), *SHORT])
    assert type(plan.model).__name__ == "Reader"
    assert (plan.model.learning_rate, plan.model.overlap, plan.best.monitor) == (3e-5, 6, "f1/squad2")
    pairs = ["--data.n_train", "32", "--data.n_validation", "9", "--trainer.max_epochs", "1", "--output", tmp_path]
    run(command.train, "--model.backbone", tiny_bert, "--model.max_length", "24", *pairs)
    short = ["--model.overlap", "6", "--model.longest_answer", "4"]
    plan = prepared_job(monkeypatch, ["--init_from", str(tmp_path), *data, *short])
    assert type(plan.model).__name__ == "Reader"
    assert (plan.model.max_length, plan.model.backbone) == (24, str(tmp_path / "checkpoints" / "backbone"))
    plan.model.configure_model()
    assert plan.model.network.qa_outputs.out_features == 2


def test_what_does_not_fit_is_refused(trained):
    with refused(HeedfulError, "evaluations accuracy "):
        run(command.evaluate, "--checkpoint", trained, "--evaluations", "accuracy")
    with refused(ModelError, "model Reader ", "span", "classification"):
        run(command.evaluate, "--checkpoint", trained, "--data", "planted")
