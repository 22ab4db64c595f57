"""Models asked in context by the command: a folder of results for each prompt, and the text that the model reads."""

import json
import re

import pytest
from transformers import AutoTokenizer

from heedful.cli import command
from heedful.datamodules import Planted
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import CausalLM
from heedful.records import DataError, ModelError, SettingError
from heedful.records.rows import BASE, read_rows, select

from causal import save
from commands import results_of, run
from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

PLANTED = ["--data.n_train", "40", "--data.n_validation", "12"]


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return save(tmp_path_factory.mktemp("causal") / "tiny-llama")


def prompt_of(folder):
    return json.loads((folder / "run.json").read_text()).get("prompt")


def test_each_draw_of_demonstrations_is_measured_apart(llama, tmp_path, capsys):
    argv = ["--model", llama, *PLANTED, "--prompt.tuples", "1", "--prompt.seeds", "2"]
    run(command.evaluate, *argv, "--prompt.demonstrations", "counterfactual", "--output", tmp_path)
    printed = capsys.readouterr().out
    assert "mean of 2 runs, in %, ± std [95 %]" in printed
    assert re.search(r"\naccuracy .* n=12", printed)
    folders = sorted(path.parent for path in tmp_path.glob("*/run.json"))
    assert [folder.name for folder in folders] == [f"plain-counterfactual-k1-seed{seed}" for seed in range(2)]
    for folder in folders:
        metrics, prompt = results_of(folder)["metrics"], prompt_of(folder)
        assert (metrics["accuracy/planted"]["n"], metrics["null/planted/flips"]["value"]) == (12, 0)
        assert (len(prompt["demonstrations"]), prompt["version"]) == (5, 2)  # of three labels, two with a copy
        assert prompt["sent"]["text"].count("answer:") == 6
        base = select(read_rows(folder / "rows" / "accuracy.parquet")[0], intervention=BASE)
        assert base["p"].null_count == 0
        assert set(base["y"].to_pylist()) <= {"entailment", "neutral", "contradiction", "(no label)"}
    first, second = (prompt_of(folder)["demonstrations"] for folder in folders)
    assert first != second
    likelihood = ["--model.decoding", "likelihood", "--output", tmp_path / "one"]
    run(command.evaluate, "--model", llama, *PLANTED[2:], *likelihood)  # one prompt alone is an ordinary evaluation
    assert results_of(tmp_path / "one")["counts"]["no_label"] == 0
    assert prompt_of(tmp_path / "one")["demonstrations"] == []


@pytest.mark.parametrize("chat", ["true", "false"])
def test_what_the_model_reads_is_kept_with_its_special_tokens(llama, tmp_path, chat):
    """Decoded from the ids that the processor gives the model; of a chat with the turns that make the same text."""
    argv = ["--model", llama, *PLANTED, "--model.chat", chat, "--prompt.tuples", "1", "--evaluations", "accuracy"]
    run(command.evaluate, *argv, "--prompt.demonstrations", "extra_tuple", "--output", tmp_path / "out")
    about = prompt_of(tmp_path / "out")
    data = Planted(n_train=40, n_validation=12)
    data.setup("validate")
    model = CausalLM(str(llama), chat=chat == "true")
    model.bind(data.task)
    (prompt,) = Prompting(1, demonstrations="extra_tuple").prompts(data)
    model.prompt_with(prompt)
    (row,) = model.processor([data.pool[about["example"]]])["rows"]
    ids = [*model.processor.prefix, *row]
    sent = about["sent"]
    assert sent["text"] == AutoTokenizer.from_pretrained(llama).decode(ids)
    question = "premise: {premise}\nhypothesis: {hypothesis}\nanswer:"
    asked = [question.format(**example.parts) for example in (*prompt.demonstrations, data.pool[about["example"]])]
    asked[0] = f"Answer with one of: entailment, neutral, contradiction.\n\n{asked[0]}"
    answers = [example.label for example in prompt.demonstrations]
    assert len(answers) == 4
    if chat == "false":
        whole = "\n\n".join([*map(" ".join, zip(asked, answers, strict=False)), asked[-1]])
        assert sent == {"text": whole}
        return
    turns = [("user", asked[0])]
    for answer, following in zip(answers, asked[1:], strict=True):
        turns += [("assistant", answer), ("user", following)]
    assert sent["messages"] == [{"role": role, "content": content} for role, content in turns]
    assert sent["text"] == "".join(f"<|{role}|>\n{content}<|end|>\n" for role, content in turns) + "<|assistant|>\n"


@pytest.mark.parametrize(
    ("main", "argv", "error", "facts"),
    [
        (command.train, [], ModelError, ["tiny-llama", "evaluate.py"]),
        (command.evaluate, ["--prompt.wordings", "[other]"], SettingError, ["prompt.wordings other ", "plain"]),
        (command.evaluate, ["--prompt.tuples", "99"], DataError, ["prompt.tuples", "99 ", "'entailment'"]),
        (
            command.evaluate,
            ["--prompt.tuples", "5", "--model.max_length", "300"],
            ModelError,
            [" 300", "prompt.tuples", "model.max_length"],
        ),
    ],
)
def test_mistakes_are_refused(llama, tmp_path, main, argv, error, facts):
    with refused(error, *facts):
        run(main, "--model", llama, *PLANTED, *argv, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()


# encoder-decoders


@pytest.fixture(scope="module")
def rte(tmp_path_factory, tiny_t5):
    """The command line of a T5 on sentence pairs with a training set."""
    folder = tmp_path_factory.mktemp("rte")
    for split, n in (("train", 24), ("validation", 10)):
        lines = [f"The dog ran {i} .\tThe child sat {split} {i} .\t{i % 2}\n" for i in range(n)]
        (folder / f"{split}.tsv").write_text("sentence1\tsentence2\tlabel\n" + "".join(lines))
    model = ["--model", "flan-t5", "--model.backbone", tiny_t5, "--model.max_length", "400"]
    return ["--data", "rte", "--data.path", folder, *model, "--attentiveness.draws", "2"]


@pytest.mark.parametrize("decoding", ["likelihood", "greedy"])
def test_a_t5_is_asked_with_demonstrations_in_its_template(rte, tmp_path, decoding):
    run(command.evaluate, *rte, "--prompt.tuples", "1", "--model.decoding", decoding, "--output", tmp_path)
    about = prompt_of(tmp_path)
    assert (about["wording"], about["tuples"], len(about["demonstrations"])) == ("template", 1, 2)
    text = about["sent"]["text"]
    assert text.count("rte sentence1:") == 3
    assert about["example"].startswith("rte/validation/")
    assert re.search(r"rte sentence1: The dog ran (\d) . sentence2: The child sat validation \1 .</s>$", text)
    found = results_of(tmp_path)
    assert found["metrics"]["null/rte/flips"]["value"] == 0
    assert found["counts"].get("no_label", 0) == (10 if decoding == "greedy" else 0)
    rows = read_rows(tmp_path / "rows" / "attentiveness.parquet")[0].to_pylist()
    base = {row["uid"]: row for row in rows if row["intervention"] == "base"}
    assert len(base) == 10
    swapped = {row["uid"] for row in rows if row["intervention"] == "swap"}
    entailed = {uid for uid, row in base.items() if row["p"][0] >= row["p"][1]}
    assert swapped == (set(base) if decoding == "greedy" else entailed)  # what is not a label is not the default one


@pytest.mark.slow
def test_a_trained_t5_is_asked_with_the_prompt_too(rte, tmp_path):
    """The prompt is set before the checkpoint is loaded."""
    run(command.train, *rte, "--trainer.max_epochs", "1", "--output", tmp_path / "run")
    rows = []
    for name, words in (("bare", []), ("asked", ["--prompt.tuples", "1"])):
        run(command.evaluate, "--checkpoint", tmp_path / "run", *words, "--output", tmp_path / name)
        rows.append(read_rows(tmp_path / name / "rows" / "accuracy.parquet")[0]["p"].to_pylist())
    assert prompt_of(tmp_path / "asked")["tuples"] == 1
    assert rows[0] != rows[1]


def test_wordings_and_seeds_have_a_folder_each(rte, tmp_path):
    """Without settings of prompts there is none, and without demonstrations the instruction stands alone."""
    argv = ["--prompt.tuples", "1", "--prompt.seeds", "2", "--prompt.wordings", "[paper, short]"]
    run(command.evaluate, *rte, *argv, "--output", tmp_path)
    folders = [tmp_path / f"{wording}-plain-k1-seed{seed}" for wording in ("paper", "short") for seed in range(2)]
    assert {results_of(folder)["metrics"]["accuracy/rte"]["n"] for folder in folders} == {10}
    texts = {folder.name: prompt_of(folder)["sent"]["text"] for folder in folders}
    assert len(set(texts.values())) == 4
    assert all(text.startswith("You're given a pair") == name.startswith("paper") for name, text in texts.items())
    run(command.evaluate, *rte, "--output", tmp_path / "none")
    assert prompt_of(tmp_path / "none") is None
    run(command.evaluate, *rte, "--prompt.wordings", "[paper]", "--output", tmp_path / "alone")
    assert (prompt_of(tmp_path / "alone")["wording"], prompt_of(tmp_path / "alone")["demonstrations"]) == ("paper", [])
    with refused(ModelError, "model.max_length 40 ", "200 ", "prompt.tuples"):
        run(command.evaluate, *rte, "--prompt.tuples", "3", "--model.max_length", "40", "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_questions_with_demonstrations(tiny_t5, write_squad, tmp_path):
    for split, n in (("train", 3), ("dev", 2)):
        write_squad(tmp_path / f"{split}-v2.0.json", n)
    model = ["--model", "heedful.lightning_modules.Writer", "--model.backbone", tiny_t5, "--model.longest_answer", "4"]
    argv = ["--data", "squad2", "--data.path", tmp_path, *model, "--prompt.tuples", "1", "--attentiveness.draws", "1"]
    run(command.evaluate, *argv, "--output", tmp_path / "out")
    text = prompt_of(tmp_path / "out")["sent"]["text"]
    assert text.count("question:") == 3
    assert "unanswerable" in text
    assert results_of(tmp_path / "out")["metrics"]["exact_match/squad2"]["n"] == 20
