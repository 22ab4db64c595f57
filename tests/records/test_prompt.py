"""Prompts: the text and the chat that a model reads, and how what it writes is understood."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.lightning_modules.processors.texts import TextProcessor
from heedful.records import CLASSIFICATION, NO_LABEL, SPAN, Example, Table, TableForm, Task
from heedful.records.prompts import NO_ANSWER_TEXT, Prompt, Wording

PARTS = "premise", "hypothesis"
NLI = Task(CLASSIFICATION, PARTS, ("entailment", "neutral", "contradiction"), "neutral")
RTE = Task(CLASSIFICATION, PARTS, ("entailment", "not_entailment"), "not_entailment")
QUESTIONS = Task(SPAN, ("context", "question"), (), "")
QUESTION = "Premise: {premise}\nHypothesis: {hypothesis}\nAnswer:"
ANSWERS = {"entailment": "Entailment", "neutral": "Neutral", "contradiction": "Contradiction"}
SHOWN = (
    Example("d/train/0", {"premise": "It rains.", "hypothesis": "It is wet."}, "entailment"),
    Example("d/train/1~", {"premise": "A dog runs.", "hypothesis": "It is wet."}, "neutral"),
)
PROMPT = Prompt(Wording(QUESTION, "Do it.", ANSWERS), NLI, SHOWN, "paper", 3, 1, "counterfactual")
texts = st.text(max_size=30)


# what is read


def test_the_text_of_a_prompt_to_the_letter() -> None:
    asked = PROMPT.question(["{hypothesis}", r"\1 and \g<0>"])
    assert PROMPT.text(asked) == (
        "Do it.\n\n"
        "Premise: It rains.\nHypothesis: It is wet.\nAnswer: Entailment\n\n"
        "Premise: A dog runs.\nHypothesis: It is wet.\nAnswer: Neutral\n\n"
        "Premise: {hypothesis}\nHypothesis: \\1 and \\g<0>\nAnswer:"
    )


def test_a_chat_has_the_instruction_before_its_first_question() -> None:
    first, *others = PROMPT.messages("Q")
    assert first == {"role": "user", "content": "Do it.\n\nPremise: It rains.\nHypothesis: It is wet.\nAnswer:"}
    assert [turn["role"] for turn in others] == ["assistant", "user", "assistant", "user"]
    assert [turn["content"] for turn in others][::2] == ["Entailment", "Neutral"]
    assert others[-1]["content"] == "Q"
    assert Prompt(PROMPT.wording, NLI).messages("Q") == [{"role": "user", "content": "Do it.\n\nQ"}]


@pytest.mark.parametrize("form", [TableForm(), TableForm("structure", keep=1), TableForm("cells", keep=2)])
def test_tables_are_put_into_words_as_for_encoders(form: TableForm) -> None:
    """Which rows are kept depends on the text beside the table."""
    table = Table("In Rainbows", (("Length", ("42:39",)), ("Genre", ("art rock", "art pop")), ("Year", ("2007",))))
    task = Task(CLASSIFICATION, PARTS, NLI.labels, "neutral", form)
    for hypothesis in ("It is rock.", "Its length is short.", "The year was 2007."):
        words, _ = TextProcessor.texts(SimpleNamespace(form=form), [table, hypothesis])
        asked = Prompt(Wording(QUESTION), task).question([table, hypothesis])
        assert asked == f"Premise: {words}\nHypothesis: {hypothesis}\nAnswer:"


# what is written


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("Entailment", "entailment"),
        (" ENTAILMENT.", "entailment"),
        ("\n\n Neutral\nPremise: It rains.", "neutral"),
        ("'Neutral'", "neutral"),
        ("“Contradiction”, because it rains", "contradiction"),
        ("_Neutral_ it is", "neutral"),
        ("- `Neutral`", "neutral"),
        ("Neutral/Entailment", NO_LABEL),
        ("Contradiction?\nNo. Neutral.", NO_LABEL),
        ("Neutral. It is neutral.", "neutral"),
        ("Neutral, not neutrality or entailments", "neutral"),
        ("Neutral\n\nIt is not entailment.", "neutral"),
        ("Neutral\nPremise: It rains.\nAnswer: Entailment", "neutral"),
        ("neutrality", NO_LABEL),
        ("Neutral_ground", NO_LABEL),
        ("Neutral2", NO_LABEL),
        ("The answer is Neutral", NO_LABEL),
        ("Neu", NO_LABEL),
        (" \n ...", NO_LABEL),
        ("```\nNeutral\n```", "neutral"),
    ],
)
def test_the_label_that_begins_the_first_line_is_the_answer(written: str, label: str) -> None:
    assert PROMPT.read(written) == label


@pytest.mark.parametrize(
    ("answers", "written", "label"),
    [
        ({"entailment": "Entailment", "not_entailment": "Not entailment"}, "Not entailment.", "not_entailment"),
        ({"entailment": "Entailment", "not_entailment": "Not entailment"}, "Entailment", "entailment"),
        ({"entailment": "Entailment", "not_entailment": "Not entailment"}, "Not", NO_LABEL),
        ({"entailment": "not", "not_entailment": "not so"}, "Not so.", "not_entailment"),
        ({"entailment": "not", "not_entailment": "not so"}, "Not sold.", "entailment"),
        ({"entailment": "yes", "not_entailment": "no"}, "No, for", "not_entailment"),
        ({"entailment": "+ (so)", "not_entailment": "a.c"}, "+ (so)", "entailment"),
        ({"entailment": "+ (so)", "not_entailment": "a.c"}, "abc", NO_LABEL),
        ({"entailment": "Can't say"}, "can’t say", "entailment"),
        ({}, "not_entailment, it is not_entailment", "not_entailment"),
        ({}, "not_entailment or entailment", NO_LABEL),
        ({"not_entailment": "Not entailment"}, "Not entailment", "not_entailment"),
    ],
)
def test_of_answers_that_begin_alike_the_longest_is_read(answers: dict[str, str], written: str, label: str) -> None:
    assert Prompt(Wording(QUESTION, answers=answers), RTE).read(written) == label


@given(st.sampled_from(range(3)), st.sampled_from(["", "\n", " ", "'", '"', "**"]), st.booleans(), texts)
def test_every_answer_is_read_back(i: int, mark: str, upper: bool, behind: str) -> None:
    answer = PROMPT.answers[i].upper() if upper else PROMPT.answers[i]
    assert PROMPT.read(f"{mark}{answer}{mark}\n{behind}") == NLI.labels[i]


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("\n  in Rome \nor so", "in Rome"),
        ("I dont know", ""),
        ("i DON’T KNOW, the text does not say.", ""),
        ("I don't knowingly lie", "I don't knowingly lie"),
        ("They say I don't know", "They say I don't know"),
        ("\n ...\n", NO_LABEL),
        ("The\nin Rome", "in Rome"),
        ("in Rome\nI don't know", "in Rome"),
        ("<think>\nThe text", NO_LABEL),
        ("The text</think>\n\nin Rome", NO_LABEL),
    ],
)
def test_of_texts_the_first_line_is_the_answer(written: str, answer: str) -> None:
    assert Prompt(Wording("{context} {question}:"), QUESTIONS).read(written) == answer


def test_questions_are_shown_with_their_first_gold_answer_or_with_the_words_for_none() -> None:
    shown = tuple(
        Example(f"d/train/{i}", {"context": "c", "question": "q"}, SPAN.write_gold(golds))
        for i, golds in enumerate([["Rome", "in Rome"], []])
    )
    prompt = Prompt(Wording("{context} {question}:"), QUESTIONS, shown)
    assert [answer for _, answer in prompt.shown] == ["Rome", NO_ANSWER_TEXT]
    assert prompt.answers == (NO_ANSWER_TEXT,)
