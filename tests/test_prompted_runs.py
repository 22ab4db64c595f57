"""Whole evaluations of causal models in context: prompts one after the other, in folders of their own."""

import json

import pytest

import evaluate
import train
from heedful.records import HeedfulError
from heedful.records.rows import BASE, read_rows, select

from causal import save
from commands import QUIET, results_of, run

PLANTED = ["--data.n_train", "40", "--data.n_validation", "12"]


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return save(tmp_path_factory.mktemp("causal") / "tiny-llama")


def prompts_of(folder):
    return {path.parent.name: json.loads(path.read_text())["prompt"] for path in folder.glob("*/run.json")}


def test_each_draw_of_demonstrations_is_measured_apart(llama, tmp_path, capsys):
    argv = ["--model", llama, *PLANTED, "--prompt.tuples", "1", "--prompt.seeds", "2"]
    run(evaluate.main, *argv, "--prompt.demonstrations", "counterfactual", "--output", tmp_path / "out")
    printed = capsys.readouterr().out
    assert "validation: 12 examples, %" in " ".join(printed.split())
    assert "\nk=1 augmented 2 " in printed
    prompts = prompts_of(tmp_path / "out")
    assert sorted(prompts) == [f"plain-counterfactual-k1-seed{seed}" for seed in range(2)]
    for name, prompt in prompts.items():
        results = results_of(tmp_path / "out" / name)
        assert results["metrics"]["accuracy/planted"]["n"] == 12
        assert results["metrics"]["null/planted/flips"]["value"] == 0
        assert len(prompt["demonstrations"]) == 5  # of three labels, two with a copy
        assert prompt["text"].count("answer:") == 6
        rows, _ = read_rows(tmp_path / "out" / name / "rows" / "accuracy.parquet")
        base = select(rows, intervention=BASE)
        assert base["p"].null_count == 0
        assert set(base["y"].to_pylist()) <= {"entailment", "neutral", "contradiction", "(no label)"}
    first, second = (prompt["demonstrations"] for prompt in prompts.values())
    assert first != second


def test_one_prompt_alone_is_an_ordinary_evaluation(llama, tmp_path):
    run(evaluate.main, "--model", llama, *PLANTED, "--model.decoding", "likelihood", "--output", tmp_path / "out")
    results = results_of(tmp_path / "out")
    assert results["counts"]["no_label"] == 0
    assert {name.split("/")[0] for name in results["metrics"]} >= {"accuracy", "attentiveness", "null"}
    assert json.loads((tmp_path / "out" / "run.json").read_text())["prompt"]["demonstrations"] == []


def test_two_processes_give_the_same_bytes(forks, llama, tmp_path):
    argv = ["--model", llama, *PLANTED, "--prompt.tuples", "1", "--prompt.seeds", "2", *QUIET]
    for world in (1, 2):
        more = ["--trainer.devices", str(world), "--trainer.strategy", "ddp"] if world > 1 else []
        output = ["--output", tmp_path / str(world)]
        statuses, out = forks.run(*argv, *more, *output, command="evaluate", processes=world)
        assert statuses == [0] * world, out
    for seed in range(2):
        name = f"plain-plain-k1-seed{seed}"
        one, other = (tmp_path / str(world) / name / "results.json" for world in (1, 2))
        assert one.read_bytes() == other.read_bytes()
        for file in ("accuracy.parquet", "attentiveness.parquet"):
            one, other = (tmp_path / str(world) / name / "rows" / file for world in (1, 2))
            assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("main", "argv", "message"),
    [
        (train.main, [], "is asked in context, and not trained here"),
        (evaluate.main, ["--prompt.wordings", "[other]"], "--prompt.wordings other: planted has plain"),
        (evaluate.main, ["--prompt.tuples", "99"], "training examples with"),
        (evaluate.main, ["--prompt.tuples", "5", "--model.max_length", "300"], "lower --prompt.tuples"),
    ],
)
def test_mistakes_are_told_in_a_sentence(llama, tmp_path, main, argv, message):
    with pytest.raises(HeedfulError, match=message):
        run(main, "--model", llama, *PLANTED, *argv, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()
