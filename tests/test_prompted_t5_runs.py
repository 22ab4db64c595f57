"""T5 with demonstrations, by the command: one folder of results for each prompt, and what is refused."""

import json
import re

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, T5Config

from heedful.cli import evaluation as evaluate
from heedful.records.rows import read_rows

from commands import results_of, run
from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py


@pytest.fixture(scope="module")
def rte(tmp_path_factory):
    """A folder of sentence pairs with a training set."""
    folder = tmp_path_factory.mktemp("rte")
    for split, n in (("train", 24), ("validation", 10)):
        lines = [f"The dog ran {i} .\tThe child sat {split} {i} .\t{i % 2}\n" for i in range(n)]
        (folder / f"{split}.tsv").write_text("sentence1\tsentence2\tlabel\n" + "".join(lines))
    return folder


@pytest.fixture(scope="module")
def tiny_flan_t5(tiny_t5, tmp_path_factory):
    """A T5 as Flan-T5 is built: gated, and with an output layer of its own."""
    folder, tokenizer = tmp_path_factory.mktemp("flan"), AutoTokenizer.from_pretrained(tiny_t5)
    config = T5Config.from_pretrained(tiny_t5, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    torch.manual_seed(0)
    network = AutoModelForSeq2SeqLM.from_config(config)
    network.lm_head.weight = torch.nn.Parameter(torch.randn_like(network.lm_head.weight))
    network.all_tied_weights_keys.pop("lm_head.weight", None)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def command(rte, tiny_t5, *argv):
    model = ["--model", "flan-t5", "--model.backbone", tiny_t5, "--model.max_length", "400"]
    run(evaluate.main, "--data", "rte", "--data.path", rte, *model, "--attentiveness.draws", "2", *argv)


@pytest.mark.parametrize("decoding", ["likelihood", "greedy"])
def test_a_t5_is_asked_with_demonstrations_in_its_template(rte, tiny_t5, tmp_path, decoding):
    argv = ["--prompt.tuples", "1", "--model.decoding", decoding, "--output", tmp_path]
    command(rte, tiny_t5, *argv)
    about = json.loads((tmp_path / "run.json").read_text())["prompt"]
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


def test_without_settings_of_prompts_there_is_none(rte, tiny_t5, tmp_path):
    command(rte, tiny_t5, "--output", tmp_path)
    assert "prompt" not in json.loads((tmp_path / "run.json").read_text())
    assert results_of(tmp_path)["metrics"]["accuracy/rte"]["n"] == 10


def test_a_flan_t5_is_asked_in_words_of_the_data_with_augmented_demonstrations(rte, tiny_flan_t5, tmp_path):
    argv = ["--prompt.tuples", "2", "--prompt.demonstrations", "counterfactual", "--prompt.wordings", "[paper]"]
    command(rte, tiny_flan_t5, *argv, "--model.decoding", "greedy", "--model.max_length", "1000", "--output", tmp_path)
    about = json.loads((tmp_path / "run.json").read_text())["prompt"]
    assert (about["wording"], len(about["demonstrations"])) == ("paper", 6)  # two of each label, two copies
    assert results_of(tmp_path)["metrics"]["null/rte/flips"]["value"] == 0


def test_a_prompt_without_demonstrations_is_the_instruction_alone(rte, tiny_t5, tmp_path):
    command(rte, tiny_t5, "--prompt.wordings", "[paper]", "--output", tmp_path)
    about = json.loads((tmp_path / "run.json").read_text())["prompt"]
    assert (about["wording"], about["demonstrations"]) == ("paper", [])


def test_wordings_and_seeds_have_a_folder_each(rte, tiny_t5, tmp_path):
    argv = ["--prompt.tuples", "1", "--prompt.seeds", "2", "--prompt.wordings", "[paper, short]"]
    command(rte, tiny_t5, *argv, "--output", tmp_path)
    names = {f"{wording}-plain-k1-seed{seed}" for wording in ("paper", "short") for seed in range(2)}
    assert {folder.name for folder in tmp_path.iterdir() if folder.is_dir()} >= names
    values = {name: results_of(tmp_path / name)["metrics"]["accuracy/rte"]["n"] for name in names}
    assert set(values.values()) == {10}
    texts = {name: json.loads((tmp_path / name / "run.json").read_text())["prompt"]["sent"]["text"] for name in names}
    assert len(set(texts.values())) == 4
    assert all(text.startswith("You're given a pair") == name.startswith("paper") for name, text in texts.items())


def test_a_prompt_that_leaves_no_room_is_refused(rte, tiny_t5, tmp_path):
    with refused("too-long", "--model.max_length 40 ", "200 ", "--prompt.tuples"):
        command(rte, tiny_t5, "--prompt.tuples", "3", "--model.max_length", "40", "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_questions_with_demonstrations(tiny_t5, write_squad, tmp_path):
    write_squad(tmp_path / "train-v2.0.json", 3)
    write_squad(tmp_path / "dev-v2.0.json", 2)
    model = ["--model", "heedful.lightning_modules.Writer", "--model.backbone", tiny_t5, "--model.longest_answer", "4"]
    argv = ["--data", "squad2", "--data.path", tmp_path, *model, "--prompt.tuples", "1", "--attentiveness.draws", "1"]
    run(evaluate.main, *argv, "--output", tmp_path / "out")
    about = json.loads((tmp_path / "out" / "run.json").read_text())["prompt"]
    assert about["sent"]["text"].count("question:") == 3
    assert "unanswerable" in about["sent"]["text"]
    assert results_of(tmp_path / "out")["metrics"]["exact_match/squad2"]["n"] == 20
