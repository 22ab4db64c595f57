"""Retrieved passages by the command: rows made of SQuAD 2.0 as the documentation says, and models that write."""

import json
import re
import textwrap
from pathlib import Path

import pytest

from heedful.cli import command
from heedful.records.rows import read_rows

from causal import save
from commands import results_of, run

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

DOCS = Path(__file__).parents[1] / "docs" / "language_models.md"


@pytest.fixture(scope="module")
def rag(tmp_path_factory, write_squad):
    """A folder of rows, which the code in the documentation has made of SQuAD's own files."""
    folder = tmp_path_factory.mktemp("squad")
    (folder / "rag").mkdir()
    code = re.search(r"\n\n(    import json\n.*?)(?:\n\n(?! )|\Z)", DOCS.read_text(), re.DOTALL)[1]
    code = textwrap.dedent(code)
    for split, articles in (("train", 6), ("validation", 4)):
        write_squad(folder / "dev-v2.0.json", articles)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            exec(code.replace("rag/validation", f"rag/{split}"), {})
    return folder / "rag"


def model(tiny_t5, *more):
    named = ["--model", "t5", "--model.backbone", tiny_t5, "--model.longest_answer", "4", "--model.max_length", "400"]
    return [*named, "--attentiveness.draws", "2", *more]


def test_the_rows_have_a_distractor_of_the_same_article_without_an_answer(rag):
    rows = [json.loads(line) for line in (rag / "train.jsonl").read_text().splitlines()]
    texts = {}
    for row in rows:
        texts.setdefault(row["article"], set()).add(row["passage"])
    assert len(rows) > 20
    for row in rows:
        assert row["distractor"] in texts[row["article"]] - {row["passage"]}
        assert all(answer in row["passage"] and answer not in row["distractor"] for answer in row["answers"])


def test_a_t5_reads_both_passages_with_demonstrations(rag, tiny_t5, tmp_path, capsys):
    argv = ["--prompt.tuples", "1", "--prompt.wordings", "[plain, reversed]"]
    run(command.evaluate, "--data", "rag", "--data.path", rag, *model(tiny_t5), *argv, "--output", tmp_path)
    n = len((rag / "validation.jsonl").read_text().splitlines())
    first = {}
    for wording in ("plain", "reversed"):
        folder = tmp_path / f"{wording}-plain-k1-seed0"
        metrics = results_of(folder)["metrics"]
        assert metrics["abstention/rag"]["n"] == metrics["attentiveness/rag/distractor/kept"]["n"] == n
        about = json.loads((folder / "run.json").read_text())["prompt"]
        assert len(about["demonstrations"]) == 2
        text = about["sent"]["text"]
        assert "I don't know" in text
        first[wording] = text.rsplit("Passage 1: ", 1)[1].split(" Passage 2: ")[0]
        rows = read_rows(folder / "rows" / "attentiveness.parquet")[0].to_pylist()
        assert {row["expects"] for row in rows if row["part"] == "distractor"} == {"stays"}
    shown = json.loads((rag / "validation.jsonl").read_text().splitlines()[0])
    assert first == {"plain": shown["passage"], "reversed": shown["distractor"]}
    assert "answers that stay" in " ".join(capsys.readouterr().out.split())  # a heading may wrap


def test_a_t5_is_trained_on_them(rag, tiny_t5, tmp_path):
    argv = ["--data", "rag", "--data.path", rag, *model(tiny_t5), "--trainer.max_epochs", "1"]
    run(command.train, *argv, "--output", tmp_path / "run")
    found = results_of(tmp_path / "run")["metrics"]
    assert {"attentiveness/rag/passage", "attentiveness/rag/distractor/kept", "f1/rag"} <= set(found)
    words = json.loads((tmp_path / "run" / "checkpoints" / "backbone" / "config.json").read_text())["heedful"]
    assert words["template"] == "question: {question} context1: {passage} context2: {distractor}"


def test_a_causal_model_reads_both_passages(rag, tmp_path):
    argv = ["--model", "heedful.lightning_modules.CausalLM", "--model.backbone", save(tmp_path / "model")]
    argv += ["--model.longest_answer", "4", "--attentiveness.draws", "1", "--data.max_validation", "8"]
    run(command.evaluate, "--data", "rag", "--data.path", rag, *argv, "--output", tmp_path / "out")
    metrics = results_of(tmp_path / "out")["metrics"]
    assert metrics["attentiveness/rag/distractor/kept"]["n"] == metrics["exact_match/rag"]["n"] == 8
    assert metrics["null/rag/flips"]["value"] == 0
