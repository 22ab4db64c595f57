"""Questions with soft answers and pairs of pictures from the command line, with a tiny backbone for each modality."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import timm
import yaml

from heedful.cli import evaluation as evaluate
from heedful.cli import training as train
from heedful.cli.guard import guarded
from heedful.records.rows import read_rows, select
from heedful.reports.compare import paired_differences

from commands import results_of, run
from drawn_pictures import write_nlvr2, write_vqa
from refusals import refused_output

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

TINY = ["--model.vision", "test_efficientnet", "--model.image_size", "[32, 32]", "--model.hidden", "16"]


@pytest.fixture(scope="module", autouse=True)
def without_hub() -> Iterator[None]:
    """timm's tiny networks with random weights."""
    create = timm.create_model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timm, "create_model", lambda name, pretrained, **kwargs: create(name, **kwargs))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vqa(tmp_path_factory.mktemp("vqa"))


@pytest.fixture(scope="module")
def model(tiny_bert: Path) -> list[str]:
    return ["--model.backbone", str(tiny_bert), *TINY, "--model.learning_rate", "0.003"]


@pytest.fixture(scope="module")
def trained(folder: Path, model: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with a class for what cannot be answered, and counterfactuals."""
    out = tmp_path_factory.mktemp("runs") / "vqa2"
    argv = ["--data", "vqa2", "--data.path", folder, "--data.answers", "6", "--data.default_label", "(unrelated)"]
    argv += ["--model", "timm", *model, "--augment", "counterfactual", "--data.batch_size", "8"]
    run(train.main, *argv, "--trainer.max_epochs", "3", "--output", out)
    return out


def test_a_run_leaves_scores_and_rows_without_probabilities(trained: Path) -> None:
    found = results_of(trained)
    metrics = found["metrics"]
    names = {"accuracy/vqa2", "accuracy/vqa2/majority", "null/vqa2/flips"}
    names |= {f"accuracy/vqa2/answer_type={kind}" for kind in ("other", "yes-no")}
    names |= {f"attentiveness/vqa2/{part}/to_default" for part in ("image", "question")}
    assert names <= set(metrics)
    assert "null/vqa2/max_change" not in metrics
    assert metrics["null/vqa2/flips"]["value"] == 0
    assert found["counts"]["accuracy/not_in_labels"] == 0
    rows, meta = read_rows(trained / "rows" / "accuracy.parquet")
    assert meta["context"]["kind"] == "soft"
    assert meta["context"]["labels"][-1] == "(unrelated)"
    assert rows["p"].null_count == rows["p2"].null_count == rows.num_rows
    base = select(rows, intervention="base").to_pylist()
    scores = [json.loads(row["gold"]).get(row["y"], 0) for row in base]
    assert metrics["accuracy/vqa2"]["value"] == pytest.approx(np.mean(scores))
    always = [json.loads(row["gold"]).get("no", 0) for row in base]
    assert metrics["accuracy/vqa2/majority"]["value"] == pytest.approx(np.mean(always)) == 0.375
    kept = yaml.safe_load((trained / "config.yaml").read_text())
    assert kept["model"]["class_path"] == "heedful.lightning_modules.LateFusion"


def test_an_evaluation_takes_the_labels_of_the_run(trained: Path, folder: Path, tmp_path: Path) -> None:
    """No training split is at hand."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "validation.parquet").symlink_to(folder / "validation.parquet")
    best = trained / "checkpoints" / "best.ckpt"
    again = ["--checkpoint", best, "--data.path", tmp_path / "data", "--output", tmp_path / "again"]
    run(evaluate.main, *again, "--attentiveness.draws", "1")
    assert (tmp_path / "again" / "results.json").read_bytes() == (trained / "results.json").read_bytes()
    naive = ["--checkpoint", best, "--evaluations", "naive_partial", "--output", tmp_path / "naive"]
    run(evaluate.main, *naive)
    found = results_of(tmp_path / "naive")["metrics"]
    rows = select(read_rows(tmp_path / "naive" / "rows" / "naive_partial.parquet")[0], variant="question").to_pylist()
    scores = [json.loads(row["gold"]).get(row["y2"], 0) for row in rows]
    assert found["naive_partial/vqa2/question/accuracy"]["value"] == pytest.approx(np.mean(scores))


def test_named_data_ask_for_the_labels(
    trained: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["--data", "vqa2", "--data.path", folder / "validation.parquet", "--checkpoint"]
    argv += [trained / "checkpoints" / "best.ckpt", "--output", tmp_path / "out"]
    with pytest.raises(SystemExit):
        run(lambda words: guarded(lambda: evaluate.main(words)), *argv)
    refused_output(capsys.readouterr().err, "data.answers RUN/checkpoints/backbone/config.json")
    argv += ["--data.answers", trained / "checkpoints" / "backbone" / "config.json"]
    run(evaluate.main, *argv, "--evaluations", "accuracy")
    found = results_of(tmp_path / "out")
    whole = results_of(trained)
    assert found["metrics"]["accuracy/vqa2"]["value"] == whole["metrics"]["accuracy/vqa2"]["value"]


@pytest.mark.parametrize("part", ["image", "question"])
def test_one_part_alone(folder: Path, model: list[str], trained: Path, tmp_path: Path, part: str) -> None:
    argv = ["--data", "vqa2", "--data.path", folder, "--data.answers", "6", "--model", "timm", *model]
    run(train.main, *argv, "--partial", part, "--trainer.max_epochs", "1", "--output", tmp_path / "run")
    metrics = results_of(tmp_path / "run")["metrics"]
    assert metrics["accuracy/vqa2"]["n"] == 24
    assert not [name for name in metrics if name.startswith("attentiveness")]
    difference = paired_differences(tmp_path / "run", trained)["accuracy/vqa2"]
    whole = results_of(trained)["metrics"]["accuracy/vqa2"]["value"]
    assert difference.value == pytest.approx(whole - metrics["accuracy/vqa2"]["value"])
    assert difference.ci95[0] <= difference.value <= difference.ci95[1]


def test_counterfactuals_are_refused_without_a_class(
    folder: Path, model: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["--data", "vqa2", "--data.path", folder, "--data.answers", "6", "--model", "timm", *model]
    with pytest.raises(SystemExit):
        run(
            lambda words: guarded(lambda: train.main(words)),
            *argv,
            "--augment",
            "counterfactual",
            "--output",
            tmp_path / "run",
        )
    refused_output(capsys.readouterr().err, "data.default_label", "'(unrelated)'")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("flags", "swapped"),
    [
        ([], {"left+right", "sentence"}),
        pytest.param(["--data.swap", "[left]"], {"left"}, marks=pytest.mark.slow),
        pytest.param(["--partial", "left+right"], set(), marks=pytest.mark.slow),
        (["--partial", "sentence"], set()),
    ],
)
def test_pairs_of_pictures(model: list[str], tmp_path: Path, flags: list[str], swapped: set[str]) -> None:
    path = write_nlvr2(tmp_path / "nlvr2")
    argv = ["--data", "nlvr2", "--data.path", path, "--model", "timm", *model, *flags]
    run(train.main, *argv, "--trainer.max_epochs", "1", "--output", tmp_path / "run")
    metrics = results_of(tmp_path / "run")["metrics"]
    assert metrics["accuracy/nlvr2"]["n"] == 24
    assert metrics["accuracy/nlvr2/majority"]["value"] == 0.5
    assert {name.split("/")[2] for name in metrics if name.startswith("attentiveness")} == swapped
    assert metrics["null/nlvr2/flips"]["value"] == 0
