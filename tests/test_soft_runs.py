"""Several right labels from the command line: ambiguous pairs of texts, and soft answers about pictures."""

import json

import numpy as np
import pytest
import timm
import yaml
from tiny_data import write_vqa

from heedful.cli.command import evaluate, train
from heedful.records.rows import read_rows, select

from commands import guarded, results_of, run
from refusals import refused_output
from written_results import paired

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

TINY = ["--model.vision", "test_efficientnet", "--model.image_size", "[32, 32]", "--model.hidden", "16"]
GOLD = [["entailment"], ["entailment", "neutral"], ["neutral", "contradiction"], ["contradiction"]]
WORDS = ["man", "woman", "car", "dog", "park", "the", "a", "boy"]


def worth(rows, answer="y"):
    """The mean worth of answers by the gold labels of their rows."""
    return np.mean([json.loads(row["gold"]).get(row[answer], 0) for row in rows])


def test_ambiguous_pairs_are_learned_and_measured(tiny_bert, tmp_path):
    """The last word of a pair says which labels are right; a model of one right label is measured there, too."""
    for split, n in (("train", 160), ("validation", 40)):
        rows = [
            {"premise": f"the {WORDS[i % 8]} {WORDS[i // 8 % 8]} {split[0]} {i}", "hypothesis": f"a {WORDS[i % 4]}"}
            | {"label": GOLD[i % 4]}
            for i in range(n)
        ]
        (tmp_path / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = ["--data", "mnli", "--data.path", tmp_path, "--data.several", "list", "--model.max_unknown", "0.9"]
    data += ["--data.splits", "{train: train, validation: validation}", "--data.groups", "[]"]
    model = ["--model.backbone", tiny_bert, "--model.max_length", "32", "--model.learning_rate", "0.003"]
    run(
        train,
        *data,
        *model,
        "--data.batch_size",
        "8",
        "--trainer.max_epochs",
        "3",
        "--output",
        tmp_path / "run",
    )
    run(evaluate, "--checkpoint", tmp_path / "run", "--output", tmp_path / "out")
    metrics = results_of(tmp_path / "out")["metrics"]
    assert metrics["accuracy/mnli"]["value"] > metrics["accuracy/mnli/majority"]["value"]
    rows, meta = read_rows(tmp_path / "out" / "rows" / "attentiveness.parquet")
    assert meta["context"]["kind"] == "soft"
    assert metrics["accuracy/mnli"]["value"] == pytest.approx(worth(select(rows, intervention="base").to_pylist()))
    assert "attentiveness/mnli/premise" in metrics
    few = ["--data.n_train", "64", "--data.n_validation", "9", "--trainer.max_epochs", "1"]
    run(train, *model, *few, "--output", tmp_path / "one")
    run(evaluate, "--checkpoint", tmp_path / "one", *data, "--output", tmp_path / "measured")
    assert results_of(tmp_path / "measured")["metrics"]["accuracy/mnli"]["n"] == 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_vqa(tmp_path_factory.mktemp("vqa"))


@pytest.fixture(scope="module")
def model(tiny_bert):
    """Words for timm's tiny networks with random weights, without the hub."""
    create = timm.create_model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timm, "create_model", lambda name, pretrained, **kwargs: create(name, **kwargs))
        yield ["--model", "timm", "--model.backbone", str(tiny_bert), *TINY, "--model.learning_rate", "0.003"]


@pytest.fixture(scope="module")
def trained(folder, model, tmp_path_factory):
    """The folder of a run with a class for what cannot be answered, and counterfactuals."""
    out = tmp_path_factory.mktemp("runs") / "vqa2"
    argv = ["--data", "vqa2", "--data.path", folder, "--data.answers", "6", "--data.default_label", "(unrelated)"]
    argv += [*model, "--augment", "counterfactual", "--data.batch_size", "8", "--trainer.max_epochs", "3"]
    run(train, *argv, "--output", out)
    return out


def test_a_run_leaves_scores_and_rows_without_probabilities(trained):
    found = results_of(trained)
    metrics = found["metrics"]
    names = {"accuracy/vqa2", "accuracy/vqa2/majority", "null/vqa2/flips"}
    names |= {f"accuracy/vqa2/answer_type={kind}" for kind in ("other", "yes-no")}
    names |= {f"attentiveness/vqa2/{part}/to_default" for part in ("image", "question")}
    assert names <= set(metrics)
    assert "null/vqa2/max_change" not in metrics
    assert (metrics["null/vqa2/flips"]["value"], found["counts"]["accuracy/not_in_labels"]) == (0, 0)
    rows, meta = read_rows(trained / "rows" / "accuracy.parquet")
    assert (meta["context"]["kind"], meta["context"]["labels"][-1]) == ("soft", "(unrelated)")
    assert rows["p"].null_count == rows["p2"].null_count == rows.num_rows
    base = select(rows, intervention="base").to_pylist()
    assert metrics["accuracy/vqa2"]["value"] == pytest.approx(worth(base))
    always = worth([row | {"y": "no"} for row in base])
    assert metrics["accuracy/vqa2/majority"]["value"] == pytest.approx(always) == 0.375
    kept = yaml.safe_load((trained / "config.yaml").read_text())
    assert kept["model"]["class_path"] == "heedful.lightning_modules.LateFusion"


def test_an_evaluation_takes_the_labels_of_the_run(trained, folder, tmp_path, capsys):
    """No training split is at hand; data that are named ask for the labels."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "validation.parquet").symlink_to(folder / "validation.parquet")
    again = ["--checkpoint", trained, "--data.path", tmp_path / "data", "--output", tmp_path / "again"]
    run(evaluate, *again, "--attentiveness.draws", "1")
    assert (tmp_path / "again" / "results.json").read_bytes() == (trained / "results.json").read_bytes()
    run(evaluate, "--checkpoint", trained, "--evaluations", "naive_partial", "--output", tmp_path / "naive")
    found = results_of(tmp_path / "naive")["metrics"]["naive_partial/vqa2/question/accuracy"]["value"]
    rows = select(read_rows(tmp_path / "naive" / "rows" / "naive_partial.parquet")[0], variant="question").to_pylist()
    assert found == pytest.approx(worth(rows, "y2"))
    argv = ["--data", "vqa2", "--data.path", folder / "validation.parquet", "--checkpoint", trained]
    with pytest.raises(SystemExit):
        run(lambda words: guarded(lambda: evaluate(words)), *argv, "--output", tmp_path / "out")
    refused_output(capsys.readouterr().err, "data.answers RUN/checkpoints/backbone/config.json")
    argv += ["--data.answers", trained / "checkpoints" / "backbone" / "config.json", "--evaluations", "accuracy"]
    run(evaluate, *argv, "--output", tmp_path / "out")
    value = results_of(tmp_path / "out")["metrics"]["accuracy/vqa2"]["value"]
    assert value == results_of(trained)["metrics"]["accuracy/vqa2"]["value"]


def test_one_part_alone_is_compared_and_counterfactuals_need_a_class(folder, model, trained, tmp_path, capsys):
    argv = ["--data", "vqa2", "--data.path", folder, "--data.answers", "6", *model, "--trainer.max_epochs", "1"]
    run(train, *argv, "--partial", "image", "--output", tmp_path / "run")
    metrics, whole = results_of(tmp_path / "run")["metrics"], results_of(trained)["metrics"]
    assert not [name for name in metrics if name.startswith("attentiveness")]
    difference = paired(tmp_path / "run", trained)["accuracy/vqa2"]
    assert difference.value == pytest.approx(whole["accuracy/vqa2"]["value"] - metrics["accuracy/vqa2"]["value"])
    assert difference.ci95[0] <= difference.value <= difference.ci95[1]
    output = ["--augment", "counterfactual", "--output", tmp_path / "out"]
    with pytest.raises(SystemExit):
        run(lambda words: guarded(lambda: train(words)), *argv, *output)
    refused_output(capsys.readouterr().err, "data.default_label", "'(unrelated)'")
    assert not (tmp_path / "out").exists()
