"""Reading comprehension from the command line: a run, its evaluation, its baselines, and several processes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heedful.assembly.plan import Plan
from heedful.cli import evaluation as evaluate
from heedful.cli import training as train
from heedful.cli.guard import guarded
from heedful.records.answers import exact_match, normalised
from heedful.records.rows import read_rows, select
from heedful.reports.rescore import rescored

from commands import plan_of, results_of, run
from refusals import refused_output

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

SHORT = ["--model.max_length", "24", "--model.overlap", "6", "--model.longest_answer", "4", "--data.batch_size", "10"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, write_squad: Callable[[Path, int], Path]) -> list[str]:
    """Forty questions, of which twenty are held out."""
    file = write_squad(tmp_path_factory.mktemp("squad") / "squad.json", 4)
    return ["--data", "squad2", "--data.path", str(file), "--data.hold_out", "20", "--data.eval_batch_size", "4"]


@pytest.fixture(scope="module")
def trained(data: list[str], tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run."""
    folder = tmp_path_factory.mktemp("runs") / "plain"
    argv = [*data, "--model.backbone", tiny_bert, *SHORT, "--model.learning_rate", "0.003"]
    run(train.main, *argv, "--trainer.max_epochs", "2", "--output", folder)
    return folder


@pytest.fixture(scope="module")
def answering(trained: Path) -> Path:
    """The folder of an evaluation of a reader that always answers."""
    checkpoint = trained / "checkpoints" / "best.ckpt"
    run(evaluate.main, "--checkpoint", checkpoint, "--model.threshold", "1e6", "--output", trained.parent / "answering")
    return trained.parent / "answering"


def test_a_run_leaves_scores_and_rows(trained: Path) -> None:
    results = results_of(trained)
    names = {"f1/squad2", "exact_match/squad2/has_answer", "null/squad2/flips", "attentiveness/squad2/context/eligible"}
    assert names <= set(results["metrics"])
    assert not [name for name in results["metrics"] if name.startswith("accuracy")]
    assert results["metrics"]["exact_match/squad2/majority"]["value"] == 0.4
    assert set(results["rows"]) == {"answers", "attentiveness"}
    assert results["counts"]["answers/not_in_text"] == 0
    assert (trained / "checkpoints" / "best.ckpt").is_file()
    assert (trained / "figures" / "attentiveness.png").is_file()
    assert "heedful.lightning_modules.Reader" in (trained / "config.yaml").read_text()
    assert (trained / "checkpoints" / "backbone" / "model.safetensors").is_file()


def test_results_follow_from_the_rows(answering: Path) -> None:
    rows, meta = read_rows(answering / "rows" / "attentiveness.parquet")
    base, swapped = (select(rows, intervention=name).to_pylist() for name in ("base", "swap"))
    assert meta["context"]["labels"] == []
    assert {row["p"] for row in base} == {row["p2"] for row in swapped} == {None}
    assert len(swapped) == 5 * len(base) == 100
    found = results_of(answering)["metrics"]
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
    null, _ = read_rows(answering / "rows" / "answers.parquet")
    null = select(null, intervention="null").to_pylist()
    assert [row["y"] for row in null] == [row["y2"] for row in null]
    assert found["null/squad2/flips"]["n"] == 20


def test_partners_are_of_other_articles(answering: Path) -> None:
    rows, _ = read_rows(answering / "rows" / "attentiveness.parquet")
    swapped = select(rows, intervention="swap").to_pylist()
    assert all(row["uid"].split("/")[-1][:2] != row["partner"].split("/")[-1][:2] for row in swapped)


@pytest.mark.parametrize(
    "flags",
    [
        ["--partial", "question"],
        pytest.param(["--partial", "context"], marks=pytest.mark.slow),
        ["--augment", "counterfactual"],
    ],
)
def test_baselines_and_augmentation(data: list[str], tiny_bert: Path, tmp_path: Path, flags: list[str]) -> None:
    argv = [*data, "--model.backbone", tiny_bert, *SHORT, *flags, "--trainer.max_epochs", "1"]
    run(train.main, *argv, "--output", tmp_path / "run")
    results = results_of(tmp_path / "run")
    assert results["metrics"]["f1/squad2"]["n"] == 20
    assert ("attentiveness/squad2/context" in results["metrics"]) == (flags[0] == "--augment")


def made(*argv: str | Path) -> Plan:
    """The run of a command line, checked, and no trainer."""
    with pytest.MonkeyPatch.context() as patch:
        return plan_of(patch, [*map(str, argv)])


def test_a_short_form_names_a_reader_with_its_settings(data: list[str], tiny_bert: Path) -> None:
    plan = made(*data, "--model", "bert", "--model.backbone", tiny_bert, *SHORT)
    assert type(plan.model).__name__ == "Reader"
    assert (plan.model.learning_rate, plan.model.overlap) == (3e-5, 6)


def test_a_run_on_pairs_goes_on_with_questions(data: list[str], tiny_bert: Path, tmp_path: Path) -> None:
    pairs = ["--data.n_train", "32", "--data.n_validation", "9", "--trainer.max_epochs", "1", "--output", tmp_path]
    run(train.main, "--model.backbone", tiny_bert, "--model.max_length", "24", *pairs)
    plan = made("--init_from", tmp_path, *data, "--model.overlap", "6", "--model.longest_answer", "4")
    assert type(plan.model).__name__ == "Reader"
    assert (plan.model.max_length, plan.model.backbone) == (24, str(tmp_path / "checkpoints" / "backbone"))
    plan.model.configure_model()
    assert plan.model.network.qa_outputs.out_features == 2


def test_what_is_watched_is_f1(data: list[str], tiny_bert: Path) -> None:
    plan = made(*data, "--model.backbone", tiny_bert, *SHORT)
    assert plan.checkpoints.monitor == "f1/squad2"


@pytest.mark.parametrize(
    ("argv", "facts"),
    [
        (["--evaluations", "accuracy"], ["evaluations accuracy "]),
        (["--data", "planted"], ["model Reader ", "span", "classification"]),
    ],
)
def test_what_does_not_fit_is_refused(trained: Path, capsys: Any, argv: list[str], facts: list[str]) -> None:
    with pytest.raises(SystemExit):
        guarded(lambda: run(evaluate.main, "--checkpoint", trained / "checkpoints" / "best.ckpt", *argv))
    refused_output(capsys.readouterr().err, *facts)


def test_results_are_made_of_rows_alone(trained: Path, answering: Path) -> None:
    for folder in (trained, answering):
        assert rescored(folder) == (folder / "results.json").read_text()


def test_a_model_that_writes_answers_is_measured_as_one_that_cuts_them_out(
    data: list[str], tiny_t5: Path, tmp_path: Path
) -> None:
    argv = [
        *data,
        "--model",
        "t5",
        "--model.backbone",
        tiny_t5,
        "--model.longest_answer",
        "4",
        "--attentiveness.draws",
        "2",
    ]
    run(train.main, *argv, "--trainer.max_epochs", "1", "--output", tmp_path / "t5")
    assert "heedful.lightning_modules.Writer" in (tmp_path / "t5" / "config.yaml").read_text()
    results = results_of(tmp_path / "t5")
    assert {"f1/squad2", "attentiveness/squad2/context/eligible"} <= set(results["metrics"])
    assert results["metrics"]["null/squad2/flips"]["value"] == 0
    argv = ["--checkpoint", tmp_path / "t5" / "checkpoints" / "best.ckpt", "--attentiveness.draws", "2"]
    run(evaluate.main, *argv, "--output", tmp_path / "again")
    assert (tmp_path / "again" / "results.json").read_bytes() == (tmp_path / "t5" / "results.json").read_bytes()


def test_one_part_alone_is_put_to_a_reader_of_both(answering: Path, trained: Path, tmp_path: Path) -> None:
    checkpoint = trained / "checkpoints" / "best.ckpt"
    run(evaluate.main, "--checkpoint", checkpoint, "--evaluations", "naive_partial", "--output", tmp_path / "naive")
    metrics = results_of(tmp_path / "naive")["metrics"]
    assert metrics["naive_partial/squad2/question"]["n"] == metrics["naive_partial/squad2/context"]["n"] == 20
    rows, _ = read_rows(tmp_path / "naive" / "rows" / "naive_partial.parquet")
    assert set(select(rows, variant="question")["y2"].to_pylist()) == {""}  # there is no text to cut an answer out of
