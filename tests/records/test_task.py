"""Kinds of task: gold labels as text and back, answers and what they are worth, and what models are trained towards."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.records import CLASSIFICATION, KINDS, NO_LABEL, SOFT, SPAN, TEXT, Task, TaskKind

LABELS = ("yes", "no", "the Dog")
ANSWER = st.sampled_from(["yes", "no", "", "the Dog", "dog!", "ü \u2028", '"[]'])
GOLDS = {
    "classification": st.sampled_from(LABELS),
    "soft": st.dictionaries(ANSWER, st.floats(0, 1)),
    "span": st.lists(ANSWER, unique=True),
    "text": ANSWER,
}
GOLDS["contained"] = GOLDS["span"]


@pytest.mark.parametrize("kind", KINDS.values())
@given(data=st.data())
def test_gold_labels_are_read_as_they_were_written(kind: TaskKind, data: st.DataObject) -> None:
    gold = data.draw(GOLDS[kind.name])
    text = kind.write_gold(gold)
    assert (kind.parse_gold(text), kind.write_gold(kind.parse_gold(text))) == (gold, text)
    if kind is SOFT:
        assert kind.write_gold(dict(reversed(gold.items()))) == text


@pytest.mark.parametrize("kind", KINDS.values())
@given(data=st.data())
def test_many_answers_are_worth_what_each_is(kind: TaskKind, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(ANSWER, GOLDS[kind.name]), max_size=6))
    golds = [kind.write_gold(gold) for _, gold in pairs]
    found = kind.scores([answer for answer, _ in pairs], golds)
    assert (found.dtype, found.tolist()) == (np.float64, [kind.score(answer, gold) for answer, gold in pairs])


def test_answers_are_right_by_the_rules_of_their_kind() -> None:
    assert CLASSIFICATION.scores(["yes", "Yes", NO_LABEL], ["yes"] * 3).tolist() == [1, 0, 0]
    assert SOFT.scores(["yes", "no", "maybe"], ['{"no": 0.3, "yes": 1}'] * 3).tolist() == [1, 0.3, 0]
    assert SPAN.scores(["the Dog!", "dog", "cat", ""], ['["a dog"]', '["a dog"]', '["a dog"]', "[]"]).tolist() == [
        *(1, 1, 0, 1)
    ]
    assert [kind.alike("the Dog", "dog") for kind in KINDS.values()] == [False, False, True, False, True]
    assert TEXT.scores(["the Dog", "dog"], ["the Dog"] * 2).tolist() == [1, 0]
    assert TEXT.best_answer(["a", "b", "b"]) == "b"


def test_gold_labels_of_unrelated_parts() -> None:
    tasks = [Task(CLASSIFICATION, ("a",), LABELS, "no"), Task(SOFT, ("a",), LABELS, "no"), Task(SPAN, ("a",), (), "")]
    tasks.append(Task(TEXT, ("a",), (), "nothing"))
    assert [task.default_gold for task in tasks] == ["no", '{"no": 1.0}', "[]", "nothing"]
    assert Task(SOFT, ("a",), LABELS).default_gold is None
    assert [task.distribution for task in tasks] == [LABELS, (), (), ()]


def test_models_are_trained_towards_labels_or_their_worth() -> None:
    index = {label: i for i, label in enumerate(LABELS)}
    numbers = CLASSIFICATION.targets(["no", None, "maybe", "yes"], index)
    assert (numbers.dtype, numbers.tolist()) == (np.int64, [1, -1, -1, 0])
    golds = ['{"maybe": 0.9, "no": 0.3, "yes": 1}', "{}"]
    worth = SOFT.targets([*golds, None], index)
    assert (worth.dtype, worth.tolist()) == (np.float32, [[1, np.float32(0.3), 0], [0, 0, 0], [0, 0, 0]])
    assert SPAN.targets(['["a"]', "[]"], {}).tolist() == [-1, -1]
    shapes = [torch.from_numpy(kind.targets([], index)).shape for kind in KINDS.values()]  # of a batch of no example
    assert shapes == [(0,), (0, 3), (0,), (0,), (0,)]


def test_a_task_is_saved_as_plain_values() -> None:
    saved = Task(SOFT, ("a", "b"), ("yes", "no"), "no").as_dict()
    assert json.loads(json.dumps(saved))["kind"] == "soft"
    assert list(saved)[:4] == ["kind", "parts", "labels", "default_label"]
