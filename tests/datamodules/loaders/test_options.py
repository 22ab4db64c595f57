"""Parts that are lists of options, from files to the texts that models read."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

import heedful
from heedful.datamodules import PairedText
from heedful.lightning_modules.processors.numbers import texts_of
from heedful.records import Example, Examples, Options, TableForm
from heedful.records.example import content_id
from heedful.records.prompts import Prompt, Wording

from own_data import set_up, write_jsonl

LABELS = {"A": [0], "B": [1], "C": [2]}
ROWS = [
    {"question": "Which barks?", "options": ["a dog", "a cat", "a cow"], "answer": 0},
    {"question": "Which is 7?", "options": [5, 7], "answer": 1},
    {"question": "Which moos?", "options": ["a  dog", "a cat", "a cow"], "answer": 2},
]
PARTS = {"question": "question", "options": "options"}
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=8)


def data_of(path: object, parts: object = PARTS, label: str | None = "answer") -> PairedText:
    return set_up(PairedText("d", parts, LABELS, label, path=path), "validate")


def test_a_column_of_lists_is_a_part_from_any_source(tmp_path: Path) -> None:
    rows = [row | {"options": [str(option) for option in row["options"]]} for row in ROWS]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "validation.parquet")
    lines = data_of(str(write_jsonl(tmp_path / "lines" / "validation.jsonl", ROWS)))
    (tmp_path / "whole.json").write_text(json.dumps(rows))
    sources = [str(tmp_path / "validation.parquet"), str(tmp_path / "whole.json"), rows]
    assert {data_of(source).fingerprints()["validation"] for source in sources} == {lines.fingerprints()["validation"]}
    found = {example["question"]: (example["options"], example.label) for example in lines.pool}
    assert found["Which is 7?"] == (Options.of("AB", ["5", "7"]), "B")
    assert lines.pool.kinds == {"options": "options"}
    assert (lines.pool.tables, lines.task.pictures) == ((), ())


def test_options_are_compared_by_content() -> None:
    """Spaces do not matter, and the order does; related examples are no partners."""
    pool = data_of(ROWS).pool
    groups = {example["question"]: example.groups["options"] for example in pool}
    assert groups["Which barks?"] == groups["Which moos?"] != groups["Which is 7?"]
    first, last = Options.of("AB", ["x", "y"]), Options.of("AB", ["y", "x"])
    assert content_id(first) != content_id(last)
    assert content_id(first) == content_id(Options.of("ABCD", ["x", "y"]))


@given(st.lists(WORDS, min_size=1, max_size=3))
def test_options_survive_storage_and_become_one_text(texts: list[str]) -> None:
    options = Options.of("ABC", texts)
    pool = Examples.of([Example("u", {"question": "?", "options": options}, "A")])
    assert pool["u"]["options"] == options
    assert pool["u"].options == options
    assert options.texts == texts
    text = " ".join(f"{label}) {option}" for label, option in zip("ABC", texts, strict=False))
    assert texts_of(["?", options], TableForm(keep=1)) == ["?", text]
    prompt = Prompt(Wording("{question} {options} Answer:"), data_of(ROWS).task)
    assert prompt.question(["?", options]) == f"? {text} Answer:"


def test_all_of_conflictqa(shared_data: Path) -> None:
    """The one example with equal answers is left out."""
    file = shared_data / "conflictqa" / "conflictQA-strategyQA-chatgpt.json"
    data = heedful.load_data("conflictqa-options", path=str(file))
    result = heedful.measure(lambda inputs: ["A"] * len(inputs), data, evaluations=["order"])
    assert (result["order"].value, result["order"].n) == (0.0, 1244)
    assert set_up(data, "validate").pool.is_unlabelled
