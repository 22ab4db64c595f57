"""Failures of a model that answers with texts never raise attentiveness without a flag."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heedful
from heedful.assembly.answers_from_files import score, write_inputs
from heedful.metrics.attentiveness import WITHHELD
from heedful.records import ModelError, RunError

from fake_server import share_of
from refusals import refused

QUIET = {"enable_progress_bar": False}
PARTS = ["context", "question"]
ROWS = [{"context": f"The sign {i} says {i % 7}.", "question": f"What does sign {i} say?"} for i in range(40)]
KNOWN = {(row["context"], row["question"]) for row in ROWS}
FAILURES = ["", "nan", "Error: upstream timeout", "I cannot help with that."]
TOO_MANY = "more than half of the answers are none"


def failing(failure: str | None, share: float) -> Callable[[list[dict[str, Any]]], list[Any]]:
    """A function that answers with the context, or with a failure for a share of the changed inputs."""

    def predict(rows: list[dict[str, Any]]) -> list[Any]:
        return [
            failure
            if (row["context"], row["question"]) not in KNOWN and share_of(json.dumps(row)) < share
            else row["context"]
            for row in rows
        ]

    return predict


def from_file(predict: Callable[[list[dict[str, Any]]], list[Any]], folder: Path) -> heedful.Results:
    """Results of a function by files of inputs and answers."""
    inputs, answers = folder / "inputs.jsonl", folder / "answers.jsonl"
    write_inputs(ROWS, inputs, parts=PARTS, draws=2)
    lines = [json.loads(line) for line in inputs.read_text().splitlines()]
    answered = zip(lines, predict([line["parts"] for line in lines]), strict=True)
    answers.write_text("".join(json.dumps({"id": line["id"], "answer": answer}) + "\n" for line, answer in answered))
    return score(inputs, answers, rows=ROWS, trainer=QUIET)


@pytest.mark.parametrize("form", ["function", "file"])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_of_every_changed_input_makes_no_number(
    failure: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    predict = failing(failure, 1.0)
    result = (
        from_file(predict, tmp_path)
        if form == "file"
        else heedful.measure(predict, ROWS, PARTS, draws=2, trainer=QUIET)
    )
    for part in PARTS:
        found = result["attentiveness", part]
        assert found.value is None
        assert found.reason == (WITHHELD if failure else TOO_MANY)
        assert ("one_text" if failure else "no_answers") in found.flags
    result.show()
    shown = " ".join(capsys.readouterr().out.split())
    assert (f"100 % (80 of 80) get the answer {failure!r}, and no base input does." in shown) == bool(failure)


@pytest.mark.parametrize(("share", "flag"), [(0.0, None), (0.2, "one_text")])
def test_some_failures_are_flagged_and_shown_with_their_share(
    share: float, flag: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    result = heedful.measure(failing("Error: 502", share), ROWS, PARTS, draws=2, trainer=QUIET)
    found = result["attentiveness", "question"]
    assert found.value == pytest.approx(share, abs=0.1)
    assert found.flags == (() if flag is None else (flag,))
    result.show()
    assert ("get the answer 'Error: 502', and no base input does" in " ".join(capsys.readouterr().out.split())) == bool(
        flag
    )


def test_failures_that_a_function_says_are_left_out() -> None:
    predict = failing("Error: 502", 0.4)
    without = heedful.measure(failing(None, 0.4), ROWS, PARTS, draws=2, trainer=QUIET)
    named = heedful.measure(
        predict, ROWS, PARTS, draws=2, trainer=QUIET, same=lambda text: None if text.startswith("Error") else text
    )
    for result in (without, named):
        assert result["attentiveness", "question"].value == 0.0
        assert result["attentiveness", "question"].flags == ("no_answers",)


def test_half_an_emoji_in_an_answer_is_replaced_and_a_call_resumes(tmp_path: Path) -> None:
    def cut(rows: list[dict[str, Any]]) -> list[str]:
        return [f"{row['context'][-2:]} \ud83d" for row in rows]

    def breaks(rows: list[dict[str, Any]]) -> list[str]:
        if any((row["context"], row["question"]) not in KNOWN for row in rows):
            raise OSError("broken")
        return cut(rows)

    with refused(ModelError, "broken", "40 answers are kept", "answers=error.answers") as caught:
        heedful.measure(breaks, ROWS, PARTS, draws=2, trainer=QUIET)
    result = heedful.measure(cut, ROWS, PARTS, draws=2, trainer=QUIET, answers=caught.value.answers)
    saved = result.save(tmp_path / "saved")
    assert set(saved.rows["y"].to_pylist()) == {f"{i}. \ufffd" for i in range(7)}


@pytest.mark.parametrize("form", [list, np.array])
def test_scores_of_a_model_without_labels_are_no_texts(form: Callable[[list[float]], Any]) -> None:
    """The function ignores the question, and returns scores instead of labels."""

    def scores(rows: list[dict[str, Any]]) -> Any:
        return form([share_of(row["context"]) for row in rows])

    with refused(ModelError, "labels=[...]", "threshold"):
        heedful.measure(scores, ROWS, PARTS, trainer=QUIET)
    above = heedful.measure(lambda rows: [s > 0.5 for s in scores(rows)], ROWS, PARTS, trainer=QUIET)
    assert above["attentiveness", "question"].value == 0.0
    labels = lambda rows: [[1 - s, s] for s in scores(rows)]  # noqa: E731
    named = heedful.measure(labels, ROWS, PARTS, labels=["no", "yes"], trainer=QUIET)
    assert named["attentiveness", "question"].value == 0.0
    assert named["attentiveness", "context"].value == above["attentiveness", "context"].value


def test_a_tolerance_is_a_form_and_joins_no_chain() -> None:
    """A pairwise comparison would equate 0.0, 0.4 and 0.8 in a chain, or not, depending on the order of answers."""
    predict = lambda rows: [f"{share_of(row['context']):.3f}" for row in rows]  # noqa: E731

    def tenth(text: str) -> int:
        return round(10 * float(text))

    result = heedful.measure(predict, ROWS, PARTS, draws=2, trainer=QUIET, same=tenth)
    rows = [row for row in result.rows_of("attentiveness").to_pylist() if row["part"] == "context"]
    changed = [tenth(row["y"]) != tenth(row["y2"]) for row in rows]
    assert result["attentiveness", "context"].value == pytest.approx(sum(changed) / len(changed))
    assert result["attentiveness", "question"].value == 0.0
    with refused(ModelError, "same raised TypeError", "normal form"):
        heedful.measure(predict, ROWS, PARTS, trainer=QUIET, same=lambda a, b: abs(float(a) - float(b)) < 0.1)


def test_a_text_that_is_right_for_unrelated_parts_is_the_default_label() -> None:
    """A model that reads the context answers "unknown" to swaps only; a model that ignores the context never does."""

    def good(rows: list[dict[str, Any]]) -> list[str]:
        return [row["context"] if (row["context"], row["question"]) in KNOWN else "unknown" for row in rows]

    def bad(rows: list[dict[str, Any]]) -> list[str]:
        return [row["question"] for row in rows]

    how: dict[str, Any] = {"default_label": "unknown", "draws": 2, "trainer": QUIET}
    results = [heedful.measure(good, ROWS, PARTS, **how)]
    with pytest.warns(UserWarning, match="is the default label 'unknown'; .* 'What does sign 0 say\\?'"):
        results.append(heedful.measure(bad, ROWS, PARTS, **how))
    assert [result["attentiveness", "context"].value for result in results] == [1, 0]
    assert "one_text" not in results[0]["attentiveness", "context"].flags
    assert (results[0] - results[1])["attentiveness", "context"].value == 1
    counted = [result.content["counts"].get("attentiveness/default_label_unseen") for result in results]
    assert (counted[0], counted[1][0]) == (None, "unknown")
    assert ["default_label_unseen" in result["attentiveness", "question"].flags for result in results] == [False, True]
    results[0].require("attentiveness context >= 0.5")
    for bound in (">= 0", "<= 1"):
        with refused(RunError, "attentiveness context", "default label", "Spell default_label"):
            results[1].require(f"attentiveness context {bound}")
    golds = [row | {"label": "unknown" if i == 0 else f"gold {i}"} for i, row in enumerate(ROWS)]
    with_gold = heedful.measure(bad, golds, PARTS, same="exact", **how)  # a right answer that is never given
    assert "default_label_unseen" not in with_gold["attentiveness", "context"].flags


def test_a_page_calls_the_default_label_right_after_a_swap_of_one_part_only(tmp_path: Path) -> None:
    """After a joint swap, the lent parts may have another right answer."""

    def predict(rows: list[dict[str, Any]]) -> list[str]:
        is_known = [(row["context"], row["question"]) in KNOWN for row in rows]
        return [
            r["context"] if known or "7" in r["question"] else "unknown"
            for r, known in zip(rows, is_known, strict=True)
        ]

    rows = [{"instruction": f"Answer {i}.", **row} for i, row in enumerate(ROWS)]
    result = heedful.measure(
        predict,
        rows,
        ["instruction", *PARTS],
        "unknown",
        keeps=["instruction"],
        draws=2,
        trainer=QUIET,
        swap=["context", "context+question"],
    )
    text = result.page(tmp_path / "page.html").read_text()
    sentences = [part for part in text.split("Another ")[1:] if part.startswith("context")]
    assert any("the right answer then" in sentence[:600] for sentence in sentences)
    assert not any("the right answer then" in s[:600] for s in sentences if s.startswith("context and question"))
    assert any(s.startswith("context and question") for s in sentences)
