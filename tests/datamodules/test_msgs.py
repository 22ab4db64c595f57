"""MSGS: what is trained on and evaluated, its targets and mixtures; and single sentences through both commands."""

import json
import sys
from pathlib import Path

import pytest
import torch
import yaml

from heedful.cli import evaluation as evaluate
from heedful.cli import training as train
from heedful.datamodules import Msgs
from heedful.datamodules.loaders.paradigms import mixtures_of
from heedful.records import DataError, HeedfulError, SettingError
from heedful.records.parts.words import words
from heedful.records.rows import read_rows

from commands import results_of, run
from refusals import refused

ROOT = Path(__file__).parents[2]
VERB = "main_verb_lexical_content_the"
SENTENCES = {  # (linguistic, surface) label to a sentence, for each of the two sets of words
    "training": {(1, 1): "the {0} is {1}ing dogs that ran.", (0, 0): "every {0} {1}s dogs that were running."},
    "test": {(1, 0): "every {0} is {1}ing cats that sat.", (0, 1): "the {0} {1}s cats that were sitting."},
    "control": {(1, 0): "every {0} was {1}ing dogs that ran.", (0, 1): "the {0} {1}s all dogs that were running."},
}
NOUNS, VERBS = ("girl", "boy", "cook"), ("paint", "find", "look", "bark")


def rows(conditions, paradigms):
    return [
        {
            "sentence": text.format(NOUNS[k % 3], VERBS[k % 4]),
            "linguistic_feature_label": linguistic,
            "surface_feature_label": surface,
            "condition": condition,
            "sentenceID": 8 * k + i,
            "paradigmID": k,
        }
        for k in paradigms
        for i, (condition, (linguistic, surface), text) in enumerate(
            (condition, labels, text) for condition in conditions for labels, text in SENTENCES[condition].items()
        )
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of one task, of the schema of the real ones: 50 paradigms to train on and 20 others."""
    path = tmp_path_factory.mktemp("msgs")
    (path / VERB).mkdir()
    files = {
        "train": rows(["training"], range(100, 150)),
        "control_train": rows(["control"], range(100, 150)),
        "test": rows(["training", "test"], range(20)),
    }
    for name, of_file in files.items():
        (path / VERB / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in of_file))
    return path


def msgs(folder, **settings):
    config = yaml.safe_load((ROOT / "configs" / "data" / "msgs.yaml").read_text())["init_args"]
    return Msgs(**config | {"path": str(folder)} | settings)


def test_it_is_evaluated_where_the_labels_differ(folder):
    data = msgs(folder)
    data.setup("fit")
    assert (len(data.train_examples), len(data.pool), data.swap, data.regime) == (100, 40, [], "plain")
    for example in data.pool:
        sentence = example.parts["sentence"]
        assert (example.label == "present") == (not sentence.startswith("the"))
        target = words(sentence)[int(example.meta["target"])]
        assert target in {f"{verb}{end}" for verb in VERBS for end in ("ing", "s")}
        assert target.endswith("ing") == (example.label == "present")
    assert data.pool[0].uid == f"msgs-{VERB}/validation/10"  # the first by the alphabet


def test_targets_that_cannot_be_told_are_empty_and_counted(folder, tmp_path, caplog):
    (tmp_path / VERB).mkdir()
    of_file = [row for row in rows(["test"], range(4)) if row["sentenceID"] != 1]  # a sentence without its sibling
    (tmp_path / VERB / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in of_file))
    data = msgs(tmp_path)
    data.setup("validate")
    assert list(data.pool.column("meta.target")).count("") == 1
    assert "1 sentence has no target word that can be told." in caplog.text


@pytest.mark.parametrize(
    ("control", "expected"),
    [("2L", {"L": 2}), ("2S", {"S": 2}), ("2L1S", {"L": 2, "S": 1}), ("1L2S", {"L": 1, "S": 2}), ("10S", {"S": 10})],
)
def test_control_rows_take_the_label_that_is_asked_for(folder, control, expected):
    data = msgs(folder, control=control)
    data.setup("fit")
    control_rows = [example for example in data.train_examples if "/train+control_train/" in example.uid]
    by_label = {"L": 0, "S": 0}
    for example in control_rows:
        is_linguistic = (example.label == "present") == (" was " in example.parts["sentence"])
        by_label["L" if is_linguistic else "S"] += 1
    assert {label: n for label, n in by_label.items() if n} == expected
    assert (len(data.train_examples), data.regime) == (100, f"mixture-{control}")
    assert len(set(data.train_examples.column("uid"))) == 100


@pytest.mark.parametrize("control", ["", "L", "2", "2S1L", "2L 1S", "-1L", "100L", "0L"])
def test_other_percents_are_refused(folder, control):
    with refused(SettingError, "control"):
        msgs(folder, control=control).setup("fit")


def test_percents_are_shares():
    assert [(mixture.share, mixture.split) for mixture in mixtures_of("0.5L2S")] == [
        (0.005, "control_train"),
        (0.02, "control_train"),
    ]


@pytest.mark.parametrize(
    ("settings", "error", "facts"),
    [
        ({"task": "main_verb"}, DataError, ["path", "'main_verb'", VERB]),
        ({"path": None}, SettingError, ["path"]),
        ({"task": "../x"}, SettingError, ["task '../x'"]),
        ({"swap": ["sentence"]}, SettingError, ["swap sentence", f"msgs-{VERB}"]),
        ({"augment": "counterfactual"}, SettingError, ["augment counterfactual", f"msgs-{VERB}", "sentence"]),
        ({"where": {"condition": "tests"}}, SettingError, ["condition", "'tests'"]),
        ({"control": "2L", "mixture": [1]}, SettingError, ["data.control and data.mixture"]),
    ],
)
def test_mistakes_are_named(folder, settings, error: type[HeedfulError], facts):
    with refused(error, *facts):
        msgs(folder, **settings).setup("validate")


def test_other_files_are_not_taken_for_msgs(tmp_path):
    (tmp_path / VERB).mkdir()
    (tmp_path / VERB / "test.jsonl").write_text('{"sentence": "a", "label": 1}\n')
    with refused(DataError, "test.jsonl, row 1", "'paradigmID'", "sentence, label"):
        msgs(tmp_path).setup("validate")


@pytest.mark.slow
def test_all_real_tasks(shared_data):
    tasks = sorted(path.name for path in (shared_data / "msgs").iterdir() if path.is_dir())
    assert len(tasks) == 12
    for task in tasks:
        data = msgs(shared_data / "msgs", task=task, control="2L1S" if "lexical_content_the" in task[5:] else None)
        data.setup("fit" if task == VERB else "validate")
        assert len(data.pool) == 2000
        assert len(data.task.parts) == 1


# single sentences from end to end


@pytest.fixture(scope="module")
def trained(tiny_bert, folder, tmp_path_factory):
    """A run on single sentences that is stopped at its fifth step, in the middle of an epoch."""
    run_folder = tmp_path_factory.mktemp("runs") / "msgs"
    argv = ["--data", "msgs", "--data.path", folder, "--data.control", "4L", "--model.backbone", tiny_bert]
    argv += ["--model.max_length", "32", "--model.max_unknown", "1", "--data.batch_size", "8"]
    run(train.main, *argv, "--trainer.max_steps", "5", "--output", run_folder)
    return run_folder


@pytest.mark.slow
def test_single_sentences_are_trained_on_without_attentiveness(trained):
    results = results_of(trained)
    assert {name.partition("/")[0] for name in results["metrics"]} == {"accuracy", "loss", "null"}
    assert results["metrics"][f"accuracy/msgs-{VERB}"]["n"] == 40
    assert {path.name for path in (trained / "rows").iterdir()} == {"accuracy.parquet"}
    rows_of, _ = read_rows(trained / "rows" / "accuracy.parquet")
    assert all(any(text.startswith("target=") for text in texts) for texts in rows_of["slices"].to_pylist())


@pytest.mark.slow
def test_a_run_of_so_many_steps_is_validated_at_the_last(trained):
    best = torch.load(trained / "checkpoints" / "best.ckpt", weights_only=True)
    assert (best["global_step"], best["epoch"]) == (5, 0)


@pytest.mark.slow
def test_single_sentences_are_evaluated_without_attentiveness(trained, capsys):
    run(evaluate.main, "--checkpoint", trained)
    assert "attentiveness" not in capsys.readouterr().out
    (evaluated,) = (trained / "evaluations").glob("*/*")
    assert results_of(evaluated)["metrics"][f"accuracy/msgs-{VERB}"]["n"] == 40


@pytest.mark.slow
def test_asked_for_attentiveness_it_says_why_there_is_none(trained, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["evaluate.py", "--checkpoint", str(trained), "--evaluations", "attentiveness"])
    with refused(SettingError, "evaluations attentiveness"):
        evaluate.main(sys.argv[1:])


@pytest.mark.slow
def test_a_run_that_keeps_no_best_is_evaluated_at_its_last_step(trained, folder, tmp_path, capsys):
    """Fifteen steps are an epoch of thirteen and two of the next; the learning rate falls over all of them."""
    argv = ["--init_from", trained, "--data", "msgs", "--data.path", folder, "--data.batch_size", "8"]
    argv += ["--model.max_unknown", "1", "--checkpoint.save_top_k", "0", "--trainer.max_epochs", "-1"]
    run(train.main, *argv, "--trainer.max_steps", "15", "--output", tmp_path / "run", "--ckpt_path", "last")
    (checkpoint,) = (tmp_path / "run" / "checkpoints").glob("*.ckpt")
    last = torch.load(checkpoint, weights_only=True)
    assert (checkpoint.name, last["global_step"], last["epoch"]) == ("last.ckpt", 15, 1)
    assert last["lr_schedulers"][0]["_last_lr"] == [0.0, 0.0]
    run(evaluate.main, "--checkpoint", tmp_path / "run", "--output", tmp_path / "results")
    assert results_of(tmp_path / "results")["metrics"] == results_of(tmp_path / "run")["metrics"]
    run(train.main, *argv, "--trainer.max_steps", "15", "--output", tmp_path / "run", "--ckpt_path", "last")
    assert "is finished, and stays as it is" in capsys.readouterr().out
