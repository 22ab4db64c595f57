"""When two free texts are one answer."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.records import NO_LABEL
from heedful.records.answers import Same
from heedful.records.text import normal_form

TEXTS = st.lists(st.text(alphabet="aAbB .!the", max_size=6), max_size=12)


@given(TEXTS)
def test_each_text_is_the_first_of_its_form(texts: list[str]) -> None:
    same = Same()
    found = [same(text) for text in texts]
    assert found == [next(other for other in texts if normal_form(other) == normal_form(text)) for text in texts]
    assert [same(text) for text in texts] == found  # once more


@given(TEXTS)
def test_a_function_gives_the_form(texts: list[str]) -> None:
    same = Same(str.lower)
    assert [same(text).lower() for text in texts] == [text.lower() for text in texts]
    assert [Same("exact")(text) for text in texts] == texts


def test_what_has_no_form_is_no_answer() -> None:
    same = Same(lambda text: None if text.startswith("Error") else text.lower())
    assert [same(text) for text in ("Yes", "Error: 5", "yes", "Error")] == ["Yes", NO_LABEL, "Yes", NO_LABEL]


@pytest.mark.parametrize(
    "texts",
    [["3.5", "35", "-3.5", "1/2", "12", "1:2"], ["A", "B", "the", ""], ["<", ">", "="], ["U.S.", "us"], ["5%", "5"]],
)
def test_different_answers_stay_different(texts: list[str]) -> None:
    same = Same()
    assert [same(text) for text in texts] == texts


@pytest.mark.parametrize("text", ["Paris.", " paris ", "The Paris", '"Paris"', "PARIS!", "(Paris)", "Paris,"])
def test_the_same_answer_in_other_clothes(text: str) -> None:
    same = Same()
    same("Paris")
    assert same(text) == "Paris"


def test_a_form_is_asked_for_once_a_text() -> None:
    asked: list[str] = []

    def form(text: str) -> str:
        asked.append(text)
        return text.strip(string.punctuation)

    same = Same(form)
    assert [same(text) for text in ("a!", "a", "a!", "b", "a")] == ["a!", "a!", "a!", "b", "a!"]
    assert asked == ["a!", "a", "b"]
