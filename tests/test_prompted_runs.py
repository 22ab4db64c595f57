"""Whole evaluations of causal models in context: prompts one after the other, in folders of their own."""

import json

import pytest
from transformers import AutoTokenizer

from heedful.cli import evaluation as evaluate
from heedful.cli import training as train
from heedful.datamodules import Planted
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import CausalLM
from heedful.lightning_modules.prompted.shared_prefix import Queries
from heedful.records.rows import BASE, read_rows, select

from causal import save
from commands import QUIET, results_of, run
from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

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
        assert prompt["version"] == 2
        assert prompt["sent"]["text"].count("answer:") == 6
        rows, _ = read_rows(tmp_path / "out" / name / "rows" / "accuracy.parquet")
        base = select(rows, intervention=BASE)
        assert base["p"].null_count == 0
        assert set(base["y"].to_pylist()) <= {"entailment", "neutral", "contradiction", "(no label)"}
    first, second = (prompt["demonstrations"] for prompt in prompts.values())
    assert first != second


@pytest.mark.parametrize("chat", ["true", "false"])
def test_what_the_model_reads_is_kept_with_its_special_tokens(llama, tmp_path, chat):
    """Decoded from the ids that the processor gives the model; of a chat with the turns that make the same text."""
    argv = ["--model", llama, *PLANTED, "--model.chat", chat, "--prompt.tuples", "1", "--evaluations", "accuracy"]
    run(evaluate.main, *argv, "--prompt.demonstrations", "extra_tuple", "--output", tmp_path / "out")
    about = json.loads((tmp_path / "out" / "run.json").read_text())["prompt"]
    data = Planted(n_train=40, n_validation=12)
    data.setup("validate")
    model = CausalLM(str(llama), chat=chat == "true")
    model.prepare(data.task)
    (prompt,) = Prompting(1, demonstrations="extra_tuple").prompts(data)
    model.prompt_with(prompt)
    (ids,) = Queries(**model.processor([data.pool[about["example"]]])).whole(model.processor.tokens.prefix)
    own = AutoTokenizer.from_pretrained(llama)
    sent = about["sent"]
    assert sent["text"] == own.decode(ids)
    question = "premise: {premise}\nhypothesis: {hypothesis}\nanswer:"
    asked = [question.format(**example.parts) for example in (*prompt.demonstrations, data.pool[about["example"]])]
    asked[0] = f"Answer with one of: entailment, neutral, contradiction.\n\n{asked[0]}"
    answers = [example.label for example in prompt.demonstrations]
    assert len(answers) == 4
    if chat == "false":
        assert set(sent) == {"text"}
        assert sent["text"] == "\n\n".join([*map(" ".join, zip(asked, answers, strict=False)), asked[-1]])
        return
    turns = [("user", asked[0])]
    for answer, following in zip(answers, asked[1:], strict=True):
        turns += [("assistant", answer), ("user", following)]
    assert sent["messages"] == [{"role": role, "content": content} for role, content in turns]
    assert sent["text"] == "".join(f"<|{role}|>\n{content}<|end|>\n" for role, content in turns) + "<|assistant|>\n"


def test_one_prompt_alone_is_an_ordinary_evaluation(llama, tmp_path):
    argv = ["--model", llama, *PLANTED[2:], "--model.decoding", "likelihood"]
    run(evaluate.main, *argv, "--output", tmp_path / "out")
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
    ("main", "argv", "code", "facts"),
    [
        (train.main, [], "never-trained", ["tiny-llama", "evaluate.py"]),
        (evaluate.main, ["--prompt.wordings", "[other]"], "unknown-name", ["--prompt.wordings other ", "plain"]),
        (evaluate.main, ["--prompt.tuples", "99"], "nothing-left", ["--prompt.tuples", "99 ", "'entailment'"]),
        (
            evaluate.main,
            ["--prompt.tuples", "5", "--model.max_length", "300"],
            "too-long",
            [" 300", "--prompt.tuples", "--model.max_length"],
        ),
    ],
)
def test_mistakes_are_refused(llama, tmp_path, main, argv, code, facts):
    with refused(code, *facts):
        run(main, "--model", llama, *PLANTED, *argv, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()
