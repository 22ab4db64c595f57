"""Outputs of a head are matched to labels by name, never by position."""

import pytest

from heedful.lightning_modules.pretrained.labels import (
    is_named,
    is_two_class,
    labels_of_outputs,
    match_labels,
    require_head_for,
)
from heedful.records import ModelError

from refusals import refused

NLI = ("entailment", "neutral", "contradiction")
TWO = ("entailment", "not_entailment")
NUMBERED = ("LABEL_0", "LABEL_1", "LABEL_2")


@pytest.mark.parametrize(
    ("head", "order"),
    [
        (["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], [2, 1, 0]),  # roberta-large-mnli
        (["contradiction", "entailment", "neutral"], [1, 2, 0]),  # cross-encoder/nli-*
        (["entailment", "neutral", "contradiction"], [0, 1, 2]),  # most DeBERTa models for NLI
        (["contradiction", "neutral", "entailment"], [2, 1, 0]),  # facebook/bart-large-mnli
    ],
)
def test_published_orders_are_matched_by_name(head, order):
    assert match_labels(head, NLI) == order
    assert [labels_of_outputs(head, NLI).index(i) for i in range(3)] == order
    require_head_for(head, NLI, "m")


def test_case_spaces_hyphens_and_underscores_do_not_matter_unless_labels_differ_in_them():
    for name in ("not_entailment", "not-entailment", "Not Entailment", "NOT_ENTAILMENT"):
        assert match_labels([name, "ENTAILMENT"], TWO) == [1, 0]
    assert match_labels(["hotdog", "hot dog", "yes"], ["yes", "hot dog", "hotdog"]) == [2, 1, 0]
    assert match_labels(["hotdog", "hot dog", "yes"], ["Yes", "Hot dog", "Hotdog"]) is None  # ambiguous without case


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        (["LABEL_0", "LABEL_1"], False),
        (["label_0", "Label_1", "LABEL2"], False),
        (["LABEL_0", "neutral"], True),
        (["0", "1"], True),
        ([], False),
    ],
)
def test_numbered_labels_are_no_names(labels, named):
    assert is_named(labels) is named


@pytest.mark.parametrize("absent", ["not_entailment", "non-entailment", "Non Entailment", "NOT_ENTAILMENT"])
@pytest.mark.parametrize("head", [["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], NLI])
def test_three_classes_answer_in_two(head, absent):
    for task in (["entailment", absent], [absent, "Entailment"]):
        meant = labels_of_outputs(head, task)
        assert [task[k] == absent for k in meant] == [name.lower() != "entailment" for name in head]
        assert labels_of_outputs(head, task, merging=False) is None
        assert is_two_class(task)
        require_head_for(head, task, "m")
    assert labels_of_outputs(["not_entailment", "entailment"], ["entailment", "non-entailment"], merging=False) == (
        1,
        0,
    )
    assert not is_two_class(["entailment", "neutral"])


@pytest.mark.parametrize(
    ("head", "task"),
    [
        (["entailment", "contradiction"], NLI),
        ([*NLI, "other"], NLI),
        ([], NLI),
        (["entailment", "neutral", "refuted"], NLI),
        (["entailment", "neutral", "neutral"], NLI),
        (NLI, ["duplicate", "not_duplicate"]),
        (NLI, ["entailment", "neutral"]),  # contradiction means neither label
        (["yes", "maybe", "no"], TWO),
        (["entailment", "Entailment", "neutral"], TWO),
        (["entailment", "neutral", "neutral"], TWO),
        (TWO, NLI),
        (["weather", "entailment"], TWO),
        (["entailment", "neutral", "weather"], TWO),
    ],
)
def test_labels_that_say_something_else_are_refused(head, task):
    assert labels_of_outputs(head, task) is None
    with refused(ModelError, "some/model", ", ".join(head), ", ".join(task)):
        require_head_for(head, task, "some/model")


@pytest.mark.parametrize(("head", "task"), [(NUMBERED, NLI), (NUMBERED, TWO), (NUMBERED[:2], NUMBERED[:2])])
def test_numbered_outputs_must_be_named(head, task):
    """The message proposes no order of names, since users might paste a wrong one."""
    with refused(ModelError, "labels", ", ".join(head)) as caught:
        require_head_for(head, task, "m")
    assert "[" not in str(caught.value)


def test_messages_name_settings_that_there_are_and_a_few_of_thousands_of_answers():
    with refused(ModelError) as caught:
        require_head_for(["yes", "no"], ["duplicate", "different"], "m", renaming=False)
    assert "model.labels" not in str(caught.value)
    answers = [f"answer {i}" for i in range(3129)]
    with refused(ModelError, "answer 4, ... (3,129 in all)", "answer 8, ... (1,565 in all)"):
        require_head_for(answers, answers[::2], "m")
