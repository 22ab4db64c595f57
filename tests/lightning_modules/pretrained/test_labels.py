"""Outputs of a head are matched to labels by name, never by position."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.lightning_modules.pretrained.labels import is_named, is_two_class, match_labels, meanings, require_head_for
from heedful.records import HeedfulError, ModelError, same_name

from refusals import refused

NLI = ("entailment", "neutral", "contradiction")


@pytest.mark.parametrize(
    ("head", "order"),
    [
        (["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], [2, 1, 0]),  # roberta-large-mnli
        (["contradiction", "entailment", "neutral"], [1, 2, 0]),  # cross-encoder/nli-*
        (["entailment", "neutral", "contradiction"], [0, 1, 2]),  # most DeBERTa models for NLI
        (["contradiction", "neutral", "entailment"], [2, 1, 0]),  # facebook/bart-large-mnli
    ],
)
def test_published_orders_are_matched_by_name(head: list[str], order: list[int]) -> None:
    assert match_labels(head, NLI) == order
    assert [meanings(head, NLI).index(i) for i in range(3)] == order
    require_head_for(head, NLI, "m")


@given(order=st.permutations(range(3)), style=st.sampled_from([str.upper, str.title, str.lower]))
def test_the_order_picks_each_label_from_the_head(order: list[int], style: object) -> None:
    head = [style(NLI[i]) for i in order]
    assert [same_name(head[k]) for k in match_labels(head, NLI)] == list(NLI)


@pytest.mark.parametrize("name", ["not_entailment", "not-entailment", "Not Entailment", "NOT_ENTAILMENT"])
def test_case_spaces_hyphens_and_underscores_do_not_matter(name: str) -> None:
    assert match_labels([name, "ENTAILMENT"], ["entailment", "not_entailment"]) == [1, 0]


def test_answers_that_differ_in_a_space_are_two() -> None:
    assert match_labels(["hotdog", "hot dog", "yes"], ["yes", "hot dog", "hotdog"]) == [2, 1, 0]
    assert match_labels(["hotdog", "hot dog", "yes"], ["Yes", "Hot dog", "Hotdog"]) is None  # which is which is a guess


def test_a_message_does_not_list_thousands_of_answers() -> None:
    answers = [f"answer {i}" for i in range(3129)]
    with refused(ModelError, "answer 4, ... (3,129 in all)", "answer 8, ... (1,565 in all)"):
        require_head_for(answers, answers[::2], "m")


@pytest.mark.parametrize(
    ("head", "error"),
    [
        (["entailment", "contradiction"], ModelError),
        (["entailment", "neutral", "contradiction", "other"], ModelError),
        ([], ModelError),
        (["entailment", "neutral", "refuted"], ModelError),
        (["entailment", "neutral", "neutral"], ModelError),
    ],
)
def test_other_sets_of_names_do_not_match(head: list[str], error: type[HeedfulError]) -> None:
    """Naming the outputs can help only where there are as many as labels."""
    assert match_labels(head, NLI) is None
    with refused(error, "some/model", ", ".join(head), ", ".join(NLI)):
        require_head_for(head, NLI, "some/model")


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
def test_numbered_labels_are_no_names(labels: list[str], named: bool) -> None:
    assert is_named(labels) is named


def test_a_head_without_names_needs_model_labels() -> None:
    """Even where the task itself calls its labels so: the order of a head is not known from numbers."""
    with refused(ModelError, "some/model", "LABEL_0", "labels '[NAME_0, NAME_1, NAME_2]'"):
        require_head_for(["LABEL_0", "LABEL_1", "LABEL_2"], NLI, "some/model")
    with refused(ModelError, "'[NAME_0, NAME_1]'"):
        require_head_for(["LABEL_0", "LABEL_1"], ["LABEL_0", "LABEL_1"], "m")


@pytest.mark.parametrize("absent", ["not_entailment", "non-entailment", "Non Entailment", "NOT_ENTAILMENT"])
@pytest.mark.parametrize(
    "head", [["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], ["entailment", "neutral", "contradiction"]]
)
def test_three_classes_answer_in_two(head: list[str], absent: str) -> None:
    for task in (["entailment", absent], [absent, "Entailment"]):
        meant = meanings(head, task)
        assert [task[k] == absent for k in meant] == [name.lower() != "entailment" for name in head]
        assert meanings(head, task, merging=False) is None
        require_head_for(head, task, "m")


def test_two_spellings_of_not_entailed_are_one_label() -> None:
    assert meanings(["not_entailment", "entailment"], ["entailment", "non-entailment"], merging=False) == (1, 0)


@pytest.mark.parametrize(
    ("head", "task", "error"),
    [
        (["entailment", "neutral", "contradiction"], ["duplicate", "not_duplicate"], ModelError),
        # contradiction is neither
        (["entailment", "neutral", "contradiction"], ["entailment", "neutral"], ModelError),
        (["yes", "maybe", "no"], ["entailment", "not_entailment"], ModelError),
        (["entailment", "Entailment", "neutral"], ["entailment", "not_entailment"], ModelError),
        (["entailment", "neutral", "neutral"], ["entailment", "not_entailment"], ModelError),
        (["entailment", "not_entailment"], ["entailment", "neutral", "contradiction"], ModelError),
        (["weather", "entailment"], ["entailment", "not_entailment"], ModelError),
        (["entailment", "neutral", "weather"], ["entailment", "not_entailment"], ModelError),
    ],
)
def test_labels_that_say_something_else_are_not_merged(
    head: list[str], task: list[str], error: type[HeedfulError]
) -> None:
    assert meanings(head, task) is None
    with refused(error, ", ".join(head), ", ".join(task)):
        require_head_for(head, task, "m")


def test_a_head_of_three_without_names_is_to_name_three() -> None:
    with refused(ModelError, "labels '[NAME_0, NAME_1, NAME_2]'", ", ".join(NLI)):
        require_head_for(["LABEL_0", "LABEL_1", "LABEL_2"], ["entailment", "not_entailment"], "m")
    assert is_two_class(["not-entailment", "entailment"])
    assert not is_two_class(["entailment", "neutral"])


@pytest.mark.parametrize(
    ("head", "task"),
    [
        (["LABEL_0", "LABEL_1", "LABEL_2"], list(NLI)),
        (["LABEL_0", "LABEL_1", "LABEL_2"], ["entailment", "not_entailment"]),
        (["contradiction", "neutral", "yes"], list(NLI)),
        (["LABEL_0", "LABEL_1"], ["LABEL_0", "LABEL_1"]),
    ],
)
def test_an_example_that_is_pasted_as_it_is_measures_nothing(head: list[str], task: list[str]) -> None:
    """The order of the data is not the model's; what a message shows must not be taken for it."""
    with refused(ModelError) as caught:
        require_head_for(head, task, "m")
    pasted = str(caught.value).partition("'[")[2].partition("]'")[0].split(", ")
    assert len(pasted) == len(head)
    assert [a for a, b in zip(pasted, head, strict=True) if a == b and is_named([a])] == [
        n for n in head if n in task and is_named([n])
    ]
    with refused(ModelError if is_two_class(task) else ModelError):
        require_head_for(pasted, task, "m")


def test_a_setting_that_a_model_does_not_have_is_not_named() -> None:
    with refused(ModelError) as caught:
        require_head_for(["yes", "no"], ["duplicate", "different"], "m", renaming=False)
    assert "labels '" not in str(caught.value)
