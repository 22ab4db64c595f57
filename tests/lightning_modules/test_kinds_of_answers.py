"""Tests of all kinds of answers of functions and servers: each is parsed or refused."""

import math
from enum import Enum

import numpy as np
import pandas
import pytest
import torch

from heedful.lightning_modules.function import Function
from heedful.lightning_modules.prompted.requests.replies import WAYS, Unusable
from heedful.records import (
    CLASSIFICATION,
    NO_LABEL,
    TEXT,
    Composed,
    Example,
    Examples,
    ModelError,
    SettingError,
    Task,
)
from heedful.records.answers import Same
from heedful.records.prompts import Prompt, Wording

from refusals import refused

YES_NO = {"yes": [], "no": []}
Spelled = Enum("Spelled", {"YES": "yes", "NO": "no"})
NAN = float("nan")
LISTED = {"labels": YES_NO, "is_ordered": True}  # labels=["yes", "no"]
SPELLED = {"labels": {"yes": [1, True], "no": [0, False]}, "is_ordered": True}
OF_ROWS = {"labels": YES_NO}  # labels without an order
FREE = {"same": "normalised"}
P = [[0.75, 0.25], [0.125, 0.875]]


def read(returned, labels=None, same=None, is_ordered=False):
    """Parse what a function returns for two inputs: labels, texts, NO_LABEL, or lists of probabilities."""
    pool = Examples.of([Example(f"d/v/{i}", {"left": f"l {i}"}, "no") for i in range(2)])
    model = Function(lambda rows: returned, labels, None if same is None else Same(same), is_ordered)
    model.bind(Task(CLASSIFICATION if labels else TEXT, ("left",), tuple(labels or ())))
    outputs = model.answer(model.processor(Composed.whole(pool)))
    if outputs.probs is not None:
        return np.round(np.asarray(outputs.probs, np.float64), 4).tolist()
    answers = outputs.answers
    return [([*labels, NO_LABEL][i]) for i in answers.tolist()] if isinstance(answers, np.ndarray) else list(answers)


# settings, returned value, parsed answers
FUNCTIONS = {
    "labels": (LISTED, ["yes", "no"], ["yes", "no"]),
    "labels in another case": (LISTED, [" YES ", "No\n"], ["yes", "no"]),
    "a tuple of labels": (LISTED, ("yes", "no"), ["yes", "no"]),
    "an array of labels": (LISTED, np.array(["yes", "no"]), ["yes", "no"]),
    "an array of objects": (LISTED, np.array(["yes", None], object), ["yes", NO_LABEL]),
    "a series": (LISTED, pandas.Series(["yes", "no"], index=[7, 8]), ["yes", "no"]),
    "members of an enumeration": (LISTED, [Spelled["YES"], Spelled["NO"]], ["yes", "no"]),
    "nothing": (LISTED, [None, "no"], [NO_LABEL, "no"]),
    "an empty text": (LISTED, ["", " "], [NO_LABEL, NO_LABEL]),
    "numbers of labels": (LISTED, [0, 1], ["yes", "no"]),
    "an array of numbers": (LISTED, np.array([1, 0]), ["no", "yes"]),
    "a tensor of numbers": (LISTED, torch.tensor([1, 0]), ["no", "yes"]),
    "a column of numbers": (LISTED, torch.tensor([[1], [0]]), ["no", "yes"]),
    "numbers as floats": (LISTED, [1.0, 0.0], ["no", "yes"]),
    "spelled numbers": (SPELLED, [1, 0], ["yes", "no"]),
    "spelled truth values": (SPELLED, [True, np.bool_(False)], ["yes", "no"]),
    "spelled tensors": (SPELLED, [torch.tensor(1), torch.tensor(0)], ["yes", "no"]),
    "spelled floats": (SPELLED, [1.0, np.float32(0)], ["yes", "no"]),
    "labels that are numbers": ({"labels": {"1": [], "0": []}, "is_ordered": True}, [1, 0], ["1", "0"]),
    "labels and scores": (LISTED, [("yes", 0.9), ("no", 0.8)], ["yes", "no"]),
    "labels and scores in lists": (LISTED, [["yes", 0.9], ["no", 0.8]], ["yes", "no"]),
    "answers in dictionaries": (LISTED, [{"answer": "yes"}, {"answer": None}], ["yes", NO_LABEL]),
    "outputs of a pipeline": (LISTED, [{"label": "YES", "score": 0.9}, {"label": "no", "score": 0.8}], ["yes", "no"]),
    "probabilities": (LISTED, P, P),
    "an array of probabilities": (LISTED, np.array(P), P),
    "a tensor of probabilities": (LISTED, torch.tensor(P, dtype=torch.bfloat16), P),
    "tensors of probabilities": (LISTED, [torch.tensor(p) for p in P], P),
    "probabilities by label": (LISTED, [{"no": 0.25, "YES": 0.75}, {"no": 0.875, "yes": 0.125}], P),
    "probabilities by label, without order": (OF_ROWS, [{"no": 0.25, "yes": 0.75}, {"no": 1}], [P[0], [0.0, 1.0]]),
    "probabilities in half precision": (LISTED, np.array([[0.333, 0.666]] * 2, np.float16), [[0.3333, 0.6667]] * 2),
    "a label called answer": (
        {"labels": {"answer": [], "none": []}},
        [{"answer": 0.75, "none": 0.25}] * 2,
        [[0.75, 0.25]] * 2,
    ),
    "free texts": (FREE, ["Paris.", "the paris"], ["Paris.", "Paris."]),
    "free numbers": (FREE, [3, 3.0], ["3", "3"]),
    "no free text": (FREE, [None, "Rome"], [NO_LABEL, "Rome"]),
    "an empty free text": (FREE, ["", "  "], [NO_LABEL, NO_LABEL]),
    "free texts that mean nothing": (
        {"same": lambda text: None if "Error" in text else text},
        ["Error: 5", "a"],
        [NO_LABEL, "a"],
    ),
    "free texts with scores": (FREE, [("Paris", 0.9), {"answer": "paris"}], ["Paris", "Paris"]),
}
REFUSED = {
    "another label": (LISTED, ["maybe", "no"], ModelError, "'maybe' to {'left': 'l 0'}; the labels are yes, no"),
    "a number that is no label": (LISTED, [0, 2], ModelError, "2 to {'left': 'l 1'}; the labels are"),
    "a negative number": (LISTED, [-1, 0], ModelError, "-1 to {'left': 'l 0'}; the labels are"),
    "numbers in no order": (OF_ROWS, [0, 1], ModelError, "labels=[...]"),
    "truth values": (LISTED, [True, False], ModelError, "True to {'left': 'l 0'}; the labels are"),
    "a number that is not spelled": ({**SPELLED, "labels": {"yes": [1], "no": []}}, [1, 0], ModelError, "0 to"),
    "shares of a label": (LISTED, [0.83, 0.2], ModelError, "0.83 to {'left': 'l 0'}, which is not a label"),
    "probabilities in no order": (OF_ROWS, P, SettingError, "labels=[...]"),
    "logits": (LISTED, [[2.0, -1.0]] * 2, ModelError, "Return 2 probabilities from 0 to 1 with the sum 1"),
    "not a number": (LISTED, [[NAN, NAN]] * 2, ModelError, "Return 2 probabilities"),
    "too many probabilities": (LISTED, [[0.5, 0.25, 0.25]] * 2, ModelError, "Return 2 probabilities"),
    "some probabilities": (LISTED, [P[0], "no"], ModelError, "and others with probabilities, or without"),
    "no probabilities": (LISTED, [P[0], None], ModelError, "and others with probabilities, or without"),
    "a label twice": (LISTED, [{"yes": 0.5, "YES": 0.5}] * 2, ModelError, "two probabilities of 'yes'"),
    "probabilities of another label": (LISTED, [{"maybe": 1.0}] * 2, ModelError, "the labels are yes, no"),
    "shares as free texts": (FREE, [0.83, 0.2], ModelError, "labels=[...], or compare the number with a threshold"),
    "an array of shares": (FREE, np.array([0.83, 0.2], np.float32), ModelError, "with a threshold"),
    "probabilities of free texts": (FREE, P, SettingError, "labels=[...]"),
    "missing floats": (FREE, [NAN, "a"], ModelError, "Return None where there is no answer"),
    "missing values of pandas": (LISTED, [pandas.NA, "no"], ModelError, "Return None where there is no answer"),
    "bytes": (LISTED, [b"yes", b"no"], ModelError, "which is not a label or a text"),
    "objects": (FREE, [object(), object()], ModelError, "which is not a label or a text"),
    "a frame": (LISTED, pandas.DataFrame({"a": ["yes", "no"]}), ModelError, "returned a DataFrame for 2 inputs"),
    "a set": (LISTED, {"yes", "no"}, ModelError, "returned a set for 2 inputs"),
    "a generator": (LISTED, (x for x in ("yes", "no")), ModelError, "returned a generator for 2 inputs"),
    "one text": (LISTED, "yes", ModelError, "returned a str for 2 inputs"),
    "nothing at all": (LISTED, None, ModelError, "returned nothing for 2 inputs"),
    "too few": (LISTED, ["yes"], ModelError, "returned 1 answers to 2 inputs"),
}


@pytest.mark.parametrize("case", FUNCTIONS)
def test_answers_of_a_function(case):
    how, returned, expected = FUNCTIONS[case]
    assert read(returned, **how) == expected


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_answer_of_a_function(case):
    how, returned, error, fact = REFUSED[case]
    with refused(error, fact):
        read(returned, **how)


TASK = Task(CLASSIFICATION, ("left",), ("yes", "no"), "no")
PROMPT = Prompt(Wording("{left}:"), TASK)


def chat(text, **more):
    return {"choices": [{"message": {"content": text}, **more}]}


def tokens(**p):
    top = [{"token": token, "logprob": math.log(value)} for token, value in p.items()]
    return chat("x", logprobs={"content": [{"top_logprobs": top}]})


twice = tokens(yes=0.4, no=0.3)
twice["choices"][0]["logprobs"]["content"][0]["top_logprobs"] *= 2
SERVERS = {  # way to read, JSON of the response, label or error
    "a label": ("written", chat("yes"), "yes"),
    "a label in a sentence": ("written", chat("No, it is not."), "no"),
    "two labels": ("written", chat("Yes. No."), NO_LABEL),
    "an error in words": ("written", chat("Error: upstream timeout"), NO_LABEL),
    "no text": ("written", chat(""), NO_LABEL),
    "null": ("written", chat(None), NO_LABEL),
    "a list in place of a text": ("written", chat([{"text": "yes"}]), "an answer that is no text"),
    "no choices": ("written", {"choices": []}, "0 choices in place of one answer"),
    "two choices": ("written", {"choices": chat("yes")["choices"] * 2}, "2 choices in place of one answer"),
    "an error": ("written", {"error": {"message": "busy"}}, r"0 choices in place of one answer \(busy\)"),
    "a list": ("written", [], "not of the OpenAI protocol"),
    "a text": ("written", "x", "not of the OpenAI protocol"),
    "nothing": ("written", None, "not of the OpenAI protocol"),
    "first tokens": ("first_token", tokens(no=0.7, yes=0.2), "no"),
    "first tokens of nothing": ("first_token", tokens(The=0.9, A=0.05), NO_LABEL),
    "first tokens that tie": ("first_token", tokens(no=0.4, yes=0.4, x=0.1), NO_LABEL),
    "no log-probabilities": ("first_token", chat("yes"), "no different log-probabilities"),
    "no listed tokens": ("first_token", chat("yes", logprobs={"content": []}), "no different log-probabilities"),
    "equal first tokens": ("first_token", tokens(yes=1.0, no=1.0), "no different log-probabilities"),
    "first tokens that are no numbers": ("first_token", tokens(yes=NAN, no=0.2), "no different log-probabilities"),
    "first tokens that sum to more": ("first_token", tokens(yes=0.9, no=0.75), "probabilities sum to 1.65"),
    "a first token twice": ("first_token", twice, "the same first token twice"),
    "no choices for first tokens": ("first_token", {"choices": [None]}, "not of the OpenAI protocol"),
}


@pytest.mark.parametrize("case", SERVERS)
def test_answers_of_a_server(case):
    way, response, expected = SERVERS[case]
    asked = WAYS[way]({"model": "m"}, True)
    if expected in (*TASK.labels, NO_LABEL):
        assert asked.read(asked.reply(response), PROMPT)[0] == expected
    else:
        with pytest.raises(Unusable, match=expected):
            asked.reply(response)
