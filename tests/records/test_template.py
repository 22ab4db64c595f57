"""Templates: the words around parts, and what stays of them where a part is missing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.records import CLASSIFICATION, Task, parts_of
from heedful.records.text import filled, keep_parts, plain_template, rename_parts

MNLI = "mnli hypothesis: {hypothesis} premise: {premise}"
NAMES = st.lists(st.text("abcdefgh_-0123", min_size=1, max_size=6), min_size=1, max_size=5, unique=True)


def test_the_plain_template_sorts_parts_by_name_as_t5_does() -> None:
    assert plain_template(("premise", "hypothesis"), "mnli") == MNLI
    assert plain_template(("sentence1", "sentence2"), "rte") == "rte sentence1: {sentence1} sentence2: {sentence2}"


@given(names=NAMES, data=st.data())
def test_a_missing_part_leaves_what_a_template_without_it_would_have(names: list[str], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.sampled_from(names), unique=True))
    assert keep_parts(plain_template(names, "task"), kept) == plain_template(kept, "task")
    assert parts_of(plain_template(names)) == sorted(names)


@pytest.mark.parametrize(
    ("template", "kept", "expected"),
    [
        (MNLI, ["hypothesis"], "mnli hypothesis: {hypothesis}"),
        (MNLI, ["premise"], "mnli premise: {premise}"),
        ("{a} means {b}", ["b"], "means {b}"),
        ("Premise: {a}\nHypothesis: {b}\nDoes it follow?", ["b"], "Hypothesis: {b}\nDoes it follow?"),
        ("Premise: {a}\nHypothesis: {b}\nDoes it follow?", ["a"], "Premise: {a}\nDoes it follow?"),
    ],
)
def test_the_key_of_a_missing_part_goes_with_it(template: str, kept: list[str], expected: str) -> None:
    assert keep_parts(template, kept) == expected
    assert keep_parts(template, parts_of(template)) == template


def test_braces_that_are_meant_are_no_parts() -> None:
    template = 'JSON: {{"a": "{premise}"}} text: {hypothesis} {{x}}'
    assert parts_of(template) == ["premise", "hypothesis"]
    assert filled(template, {"premise": "{{p}}", "hypothesis": "h"}) == 'JSON: {"a": "{{p}}"} text: h {x}'
    assert keep_parts('{{"a": 1}} text: {hypothesis} {{x}}', []) == '{{"a": 1}} {{x}}'


def test_parts_are_renamed_all_at_once_and_keys_stay() -> None:
    swapped = rename_parts("a: {a} b: {b}", {"a": "b", "b": "a"})
    assert swapped == "a: {b} b: {a}"


def test_a_task_says_what_a_model_reads_and_writes() -> None:
    task = Task(CLASSIFICATION, ("hypothesis",), ("yes", "no"), template=MNLI, verbalisers={"no": "not at all"})
    assert task.wording == "mnli hypothesis: {hypothesis}"
    assert task.targets == ("yes", "not at all")
    assert Task(CLASSIFICATION, ("b", "a"), ("yes", "no")).wording == "a: {a} b: {b}"
