"""The words of prompts: those of the paper, those of data that bring none, and what is refused."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from heedful.records import HeedfulError, ModelError, SettingError
from heedful.records.prompts import NO_ANSWER_TEXT, Wording

from refusals import refused

ROOT = Path(__file__).parents[2]
DATA = {path.stem: yaml.safe_load(path.read_text())["init_args"] for path in (ROOT / "configs" / "data").glob("*.yaml")}
PROMPTED = sorted(name for name, settings in DATA.items() if "prompts" in settings)
OTHERS = sorted(name for name in DATA if name not in PROMPTED)
WORDED = [(name, wording) for name in PROMPTED for wording in DATA[name]["prompts"]]

NLI = (
    "You're given a pair of sentences: a Premise and a Hypothesis. Your job is to determine the relation between them "
    "based on your inference from the statement and your commonsense knowledge. Answer 'Entailment' if the Hypothesis "
    "can be inferred from the Premise; Answer 'Contradiction' if the Hypothesis disagrees with the Premise; Answer "
    "'Neutral' if the Hypothesis can neither be inferred from the Premise nor disagrees with the Premise."
)
TABLE_14 = {
    "rte": "You're given a pair of sentences: a Text and a Hypothesis. Your job is to determine the relation between "
    "them based on your inference from the statement and your commonsense knowledge. Answer 'Entailment' if the "
    "Hypothesis can be inferred from the Text; Answer 'Not entailment' if the Hypothesis disagrees with the Text.",
    **dict.fromkeys(["mnli", "mnli-mismatched", "wanli", "snli", "anli"], NLI),
    "qqp": "You're given a pair of questions. Your job is to determine whether they are semantically equivalent. "
    "Answer 'Paraphrase' if they bear the same meaning; Answer 'Not paraphrase' if they have different meanings.",
    "paws": "You're given a pair of sentences. Your job is to determine whether they are semantically equivalent. "
    "Answer 'Paraphrase' if they bear the same meaning; Answer 'Not paraphrase' if they have different meanings.",
}
RTE = Wording("Text: {sentence1}\nHypothesis: {sentence2}\nAnswer:")


def wording_of(name: str, wording: str) -> Wording:
    return Wording(**DATA[name]["prompts"][wording])


def labels_of(settings: dict[str, Any]) -> list[str]:
    """The labels of a data set; of questions there are none, and those that are counted in the data are not known."""
    return [str(label) for label in settings.get("labels") or ()]


@pytest.mark.parametrize("name", sorted(TABLE_14))
def test_the_instructions_are_those_of_the_paper(name: str) -> None:
    """Table 14 of the paper, word by word, and first among the wordings of the data.

    Two slips of the paper are mended: a semicolon is missing behind "Contradiction' if the Hypothesis disagrees with
    the Premise" (MNLI, WANLI), and a closing quote behind "Answer 'Paraphrase" (QQP, PAWS). SNLI, ANLI and the
    mismatched set of MNLI are not in the table, and have the words of MNLI.
    """
    assert next(iter(DATA[name]["prompts"])) == "paper"
    paper = wording_of(name, "paper")
    assert paper.instruction == TABLE_14[name]
    quoted = re.findall(r"Answer '([^']*)'", paper.instruction)
    assert sorted(paper.answers.values()) == sorted(quoted)  # each label is called what the instruction calls it
    assert paper.question.endswith("\nAnswer:")


@pytest.mark.parametrize(("name", "wording"), WORDED)
def test_the_wordings_of_every_data_set_fit_it(name: str, wording: str) -> None:
    settings = DATA[name]
    wording_of(name, wording).require(wording, list(settings["parts"]), labels_of(settings))


@pytest.mark.parametrize("name", OTHERS)
def test_data_without_wordings_get_plain_ones(name: str) -> None:
    parts, labels = list(DATA[name].get("parts") or ("premise", "hypothesis")), labels_of(DATA[name])
    plain = Wording.plain(parts, labels)
    plain.require("plain", parts, labels)
    assert plain.question == "".join(f"{part}: {{{part}}}\n" for part in parts) + "answer:"
    assert all(word in plain.instruction for word in labels or [NO_ANSWER_TEXT])


# missing parts


@pytest.mark.parametrize(
    ("question", "kept", "left"),
    [
        ("Text: {a}\nHypothesis: {b}\nAnswer:", "a", "Text: {a}\nAnswer:"),
        ("Text: {a}\nHypothesis: {b}\nAnswer:", "b", "Hypothesis: {b}\nAnswer:"),
        ("Text: {a} Hypothesis: {b} Answer:", "a", "Text: {a} Answer:"),
        ("{a}\nQuestion: is it true that {b}\nAnswer (yes or no):", "a", "{a}\nAnswer (yes or no):"),
        ("Read this.\n\nText: {a}\nHypothesis: {b}\nAnswer:", "b", "Read this.\n\nHypothesis: {b}\nAnswer:"),
    ],
)
def test_lines_of_missing_parts_go(question: str, kept: str, left: str) -> None:
    words = Wording(question, "Do.", {"yes": "Yes"})
    assert words.keep_parts([kept]) == Wording(left, "Do.", {"yes": "Yes"})
    assert words.keep_parts(["a", "b"]) == words


# mistakes


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("Text: {sentence1}\nAnswer:", "{sentence2}"),
        ("{sentence1} {sentence2} {sentence2}:", "{sentence1}, {sentence2}"),
        ("{sentence1} {sentence2} {premise}:", "{sentence1}, {sentence2}"),
        ("{sentence1} {sentence2}:\n", "space"),
    ],
)
def test_a_question_names_each_part_once_and_ends_with_a_word(question: str, fact: str) -> None:
    with refused(SettingError, fact) as caught:
        Wording(question).require("own", ["sentence1", "sentence2"], ["yes", "no"])
    assert str(caught.value).startswith("data.prompts own: ")


@pytest.mark.parametrize(
    ("answers", "error", "facts"),
    [
        ({"maybe": "Maybe"}, SettingError, ["'maybe'", "yes, no"]),
        ({"yes": "no"}, ModelError, ["'no', 'no'"]),
        ({"yes": " No."}, ModelError, ["' No.', 'no'"]),
        ({"yes": "!"}, ModelError, ["'!'"]),
    ],
)
def test_each_label_has_an_answer_that_is_read_as_no_other(
    answers: dict[str, str], error: type[HeedfulError], facts: list[str]
) -> None:
    with refused(error, "prompts own", *facts):
        Wording(RTE.question, answers=answers).require("own", ["sentence1", "sentence2"], ["yes", "no"])


def test_of_questions_the_one_answer_is_that_there_is_none() -> None:
    """A text of articles and marks alone would be read out of every answer."""
    parts = ["sentence1", "sentence2"]
    for answers in ({}, {"": "unanswerable"}):
        Wording(RTE.question, answers=answers).require("own", parts, [])
    for text in ("", "-", "the"):
        with refused(SettingError, "prompts own", repr(text)):
            Wording(RTE.question, answers={"": text}).require("own", parts, [])
    with refused(SettingError, "prompts own", "'none'", "''"):
        Wording(RTE.question, answers={"none": "none"}).require("own", parts, [])
