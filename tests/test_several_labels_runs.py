"""Text pairs of which several labels may be right, as ambiguous pairs of sentences: trained on, and measured."""

import json
from pathlib import Path

import pytest

from heedful.cli import evaluation as evaluate
from heedful.cli import training as train
from heedful.records.rows import read_rows

from commands import results_of, run

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

GOLD = [["entailment"], ["entailment", "neutral"], ["neutral", "contradiction"], ["contradiction"]]
WORDS = ["man", "woman", "car", "dog", "park", "the", "a", "boy"]


@pytest.fixture(scope="module")
def ambiguous(tmp_path_factory) -> Path:
    """A folder of pairs whose last word says which labels are right."""
    folder = tmp_path_factory.mktemp("ambiguous")
    for split, n in (("train", 160), ("validation", 40)):
        rows = [
            {"premise": f"the {WORDS[i % 8]} {WORDS[i // 8 % 8]} {split[0]} {i}", "hypothesis": f"a {WORDS[i % 4]}"}
            | {"label": GOLD[i % 4]}
            for i in range(n)
        ]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_ambiguous_pairs_are_learned_and_measured(tiny_bert, tmp_path, ambiguous):
    data = ["--data", "mnli", "--data.path", ambiguous, "--data.several", "list"]
    data += ["--data.splits", "{train: train, validation: validation}", "--data.groups", "[]"]
    model = ["--model.backbone", tiny_bert, "--model.max_length", "32", "--model.learning_rate", "0.003"]
    model += ["--model.max_unknown", "0.9", "--data.batch_size", "8"]
    run(train.main, *data, *model, "--trainer.max_epochs", "3", "--output", tmp_path / "run")
    run(evaluate.main, "--checkpoint", tmp_path / "run")
    (folder,) = (tmp_path / "run" / "evaluations").glob("*/*")
    metrics = results_of(folder)["metrics"]
    assert metrics["accuracy/mnli"]["value"] > metrics["accuracy/mnli/majority"]["value"]
    rows, meta = read_rows(folder / "rows" / "attentiveness.parquet")
    assert meta["context"]["kind"] == "soft"
    base = [row for row in rows.to_pylist() if row["intervention"] == "base"]
    worth = [json.loads(row["gold"]).get(row["y"], 0.0) for row in base]
    assert metrics["accuracy/mnli"]["value"] == pytest.approx(sum(worth) / len(worth))
    assert "attentiveness/mnli/premise" in metrics


def test_a_model_of_one_right_label_is_measured_where_several_are(tiny_bert, tmp_path, ambiguous):
    argv = [
        "--model.backbone",
        tiny_bert,
        "--model.max_length",
        "64",
        "--data.n_train",
        "64",
        "--data.n_validation",
        "9",
    ]
    run(train.main, *argv, "--trainer.max_epochs", "1", "--output", tmp_path / "run")
    (tmp_path / "joined.tsv").write_text(
        "the man ran\ta man\tentailment, neutral\nthe dog sat\ta cat\tcontradiction\nthe boy sat\ta boy\tentailment\n"
    )
    argv = ["--data", "mnli", "--data.path", tmp_path / "joined.tsv", "--data.columns", "[premise, hypothesis, label]"]
    run(evaluate.main, "--checkpoint", tmp_path / "run", *argv, "--data.several", ", ", "--model.max_unknown", "0.9")
    (folder,) = (tmp_path / "run" / "evaluations").glob("*/*")
    assert results_of(folder)["metrics"]["accuracy/mnli"]["n"] == 3
