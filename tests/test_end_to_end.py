"""The two commands as a user runs them, on a tiny model: one process, several, interrupted, and without a hub.

train.py is started as a user starts it; what else is asked of both runs in forks, without their imports.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from live_runs import numbers
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from transformers import AutoModelForSequenceClassification

from heedful.records.rows import read_rows, select
from heedful.reports.rescore import rescored

from commands import results_of
from refusals import refused_output

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

ROOT = Path(__file__).parents[1]

DATA = ["--data.n_validation", "37", "--data.eval_batch_size", "8", "--trainer.accelerator", "cpu"]


def command(script, *argv):
    """Run a command 80 columns wide with one thread for each process."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "80", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, ROOT / script, *argv], capture_output=True, text=True, env=env, timeout=300)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def trained(tiny_bert, tmp_path_factory):
    """A run of two epochs: (folder, what was printed)."""
    folder = tmp_path_factory.mktemp("runs") / "plain"
    argv = ["--model.backbone", str(tiny_bert), "--model.max_length", "64", "--data.n_train", "600"]
    argv += ["--model.learning_rate", "0.003", "--trainer.max_epochs", "2", "--attentiveness.max_examples", "1000"]
    argv += ["--attentiveness.draws", "5"]
    status, out, err = command("train.py", *argv, *DATA, "--output", str(folder))
    assert status == 0, err
    return folder, out


@pytest.fixture(scope="module")
def evaluated(lab, trained):
    """The folder of an evaluation of the best checkpoint by one process."""
    statuses, out = lab.run("--checkpoint", str(trained[0] / "checkpoints" / "best.ckpt"), command="evaluate")
    assert statuses == [0], out
    return trained[0] / "evaluations" / "planted-validation" / "version_0", out


def test_a_run_leaves_everything_that_it_promises(trained):
    folder, out = trained
    for name in ["config.yaml", "run.json", "results.json", "rows/accuracy.parquet", "rows/attentiveness.parquet"]:
        assert (folder / name).is_file(), name
    assert (folder / "figures" / "attentiveness.png").stat().st_size > 5000
    assert {p.name for p in (folder / "checkpoints").iterdir()} == {"best.ckpt", "backbone"}
    assert "accuracy" in out
    assert f"evaluate.py --checkpoint {folder}\n" in out


def test_results_say_nothing_of_when_and_where(trained):
    text = (trained[0] / "results.json").read_text()
    results = json.loads(text)
    said = {"schema", "data", "split", "seed", "rows", "metrics", "names", "headlines", "words", "counts", "note"}
    assert set(results) == said | {"unfinished", "identity", "checksum"}
    assert str(trained[0]) not in text
    assert json.dumps(results, indent=2, sort_keys=True, ensure_ascii=False) + "\n" == text


def test_every_epoch_is_in_tensorboard_under_the_names_of_results(trained):
    scalars: dict[str, list[int]] = {}
    plugins = set()
    for path in trained[0].glob("events*"):
        events = EventAccumulator(str(path)).Reload()
        plugins |= {meta.plugin_data.plugin_name for meta in events.summary_metadata.values()}
        for tag in events.Tags()["scalars"]:
            scalars.setdefault(tag, []).extend(event.step for event in events.Scalars(tag))
        plugins |= {"images"} if "figures/attentiveness" in events.Tags()["images"] else set()
    assert len(scalars["accuracy/planted"]) == 2
    names = {name for name, m in results_of(trained[0])["metrics"].items() if m["value"]}
    assert names <= set(scalars)
    assert {"final/accuracy/planted", "final/attentiveness/planted/premise"} <= set(scalars)
    assert {"hparams", "text", "images"} <= plugins


def test_checkpoints_hold_nothing_but_tensors_and_plain_values(trained):
    checkpoint = torch.load(trained[0] / "checkpoints" / "best.ckpt", weights_only=True)
    assert checkpoint["task"]["labels"] == ("entailment", "neutral", "contradiction")


def test_the_exported_weights_are_those_of_the_best_checkpoint(trained):
    folder = trained[0] / "checkpoints"
    assert (folder / "backbone" / "model.safetensors").is_file()
    exported = AutoModelForSequenceClassification.from_pretrained(folder / "backbone").state_dict()
    best = torch.load(folder / "best.ckpt", weights_only=True)["state_dict"]
    assert all(torch.equal(exported[name.removeprefix("network.")], value) for name, value in best.items())


def test_results_follow_from_the_rows(evaluated):
    rows, meta = read_rows(evaluated[0] / "rows" / "attentiveness.parquet")
    base = {r["uid"]: r["y"] for r in select(rows, intervention="base").to_pylist()}
    swapped = select(rows, intervention="swap").to_pylist()
    per_draw = []
    for draw in range(5):
        here = [r for r in swapped if r["draw"] == draw]
        assert {r["uid"] for r in here} == {uid for uid, y in base.items() if y != "neutral"}
        per_draw.append(sum(r["y2"] != base[r["uid"]] for r in here) / len(here))
    found = results_of(evaluated[0])["metrics"]["attentiveness/planted/premise"]
    assert found["per_draw"] == per_draw
    assert meta["context"]["labels"] == ["entailment", "neutral", "contradiction"]
    assert rescored(evaluated[0]) == (evaluated[0] / "results.json").read_text()


def test_a_classifier_that_was_never_trained_here(lab, trained, evaluated, tmp_path):
    backbone = str(trained[0] / "checkpoints" / "backbone")
    argv = ["--model.backbone", backbone, "--model.max_length", "64", *DATA, "--output", str(tmp_path)]
    statuses, out = lab.run(*argv, command="evaluate")
    assert statuses == [0], out
    assert numbers(tmp_path) == numbers(evaluated[0])


def test_training_on_two_processes_with_counterfactuals(tiny_bert, tmp_path):
    argv = ["--model.backbone", str(tiny_bert), "--model.max_length", "64", "--augment", "counterfactual", *DATA]
    argv += ["--trainer.devices", "2", "--trainer.strategy", "ddp", "--trainer.max_epochs", "1", "--data.n_train", "70"]
    status, out, err = command("train.py", *argv, "--output", str(tmp_path / "run"))
    assert status == 0, err
    assert "counterfactual), " in err + out
    assert len(list(tmp_path.iterdir())) == 1
    assert results_of(tmp_path / "run")["counts"]["examples"] == 37
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["processes"] == 2
    assert 0 < about["default_label_shares"]["without_copies"] < about["default_label_shares"]["with_copies"] < 1


@pytest.mark.parametrize(
    ("argv", "facts"),
    [
        (["--data", "mnli"], ["nyu-mll/glue", "data.path", "data planted"]),
        (["--model", "bert"], ["google-bert/bert-base-uncased", "model FOLDER", "minilm"]),
    ],
)
def test_an_unreachable_hub_is_a_refusal_and_no_folder(lab, tmp_path, argv, facts):
    statuses, out = lab.run(*argv, "--output", str(tmp_path / "run"))
    assert statuses == [2]
    refused_output(out, *facts)
    assert "Traceback" not in out
    assert not (tmp_path / "run").exists()
