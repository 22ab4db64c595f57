"""Tests of the two ways to read a server: requests, and answers parsed from responses."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.lightning_modules.prompted.requests.replies import WAYS, Reply, Request, Unusable
from heedful.records import CLASSIFICATION, NO_LABEL, SPAN, Example, ModelError, Task
from heedful.records.prompts import Prompt, Wording

from refusals import refused

LABELS = ("entailment", "neutral", "contradiction")
TASK = Task(CLASSIFICATION, ("premise", "hypothesis"), LABELS, "neutral")
WORDS = Wording(
    "P: {premise}\nH: {hypothesis}\nAnswer:", "Say what follows.", {"entailment": "Yes", "neutral": "Maybe"}
)
SHOWN = Example("d", {"premise": "A", "hypothesis": "B"}, "entailment", {})
PROMPT = Prompt(WORDS, TASK, (SHOWN,))
MODEL = {"model": "m", "max_tokens": 8}


def chat(content, logprobs=None):
    choice = {"message": {"content": content}, "logprobs": logprobs}
    return {"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}


def listed(*pairs):
    top = [{"token": token, "logprob": value} for token, value in pairs]
    return chat(pairs[0][0], {"content": [{"token": pairs[0][0], "top_logprobs": top}]})


def test_a_written_answer():
    way = WAYS["written"](MODEL, True)
    body = way.body(PROMPT, "Q")
    assert (way.path, body) == ("/chat/completions", MODEL | {"messages": PROMPT.messages("Q")})
    reply = way.reply(chat("yes, it does"))
    assert reply == Reply("yes, it does", tokens_read=7, tokens_written=2)
    assert way.read(reply, PROMPT) == ("entailment", None)
    assert way.read(way.reply(chat("Yesterday")), PROMPT) == (NO_LABEL, None)
    for empty in ("", " \n", None):
        reply = way.reply(chat(empty))
        assert reply.is_empty
        assert way.read(reply, PROMPT) == (NO_LABEL, None)


def test_a_written_answer_behind_one_text():
    way = WAYS["written"](MODEL, False)
    assert (way.path, way.body(PROMPT, "Q")) == ("/completions", MODEL | {"prompt": PROMPT.text("Q")})
    reply = way.reply({"choices": [{"text": " Maybe\n\nP:"}]})
    assert (way.read(reply, PROMPT), reply.tokens_read) == (("neutral", None), 0)


def test_half_a_character_is_none():
    """JSON may contain unpaired surrogates, which files cannot store."""
    for read, told in (("written", chat("maybe \ud83d")), ("first_token", listed(("maybe \ud83d", -0.1), ("x", -3.0)))):
        reply = WAYS[read](MODEL, True).reply(told)
        assert reply.text == "maybe \ufffd"
        assert str(reply.scores).encode()


def test_an_empty_text_is_not_no_answer():
    task = Task(SPAN, ("context", "question"), (), "")
    prompt = Prompt(Wording.plain(task.parts, ()), task)
    way = WAYS["written"](MODEL, True)
    assert way.read(way.reply(chat("")), prompt) == (NO_LABEL, None)
    assert way.read(way.reply(chat("I don't know.")), prompt) == ("", None)


def test_a_content_of_parts_is_their_text():
    way = WAYS["written"](MODEL, True)
    parts = [{"type": "thinking", "thinking": "x"}, {"type": "text", "text": "Y"}, {"type": "text", "text": "es"}]
    assert way.reply(chat(parts)).text == "Yes"
    assert way.reply(chat([])).is_empty
    for wrong in (parts[:1], [{"type": "text", "text": 1}], 7, {"text": "x"}):
        with pytest.raises(Unusable, match="an answer that is no text|not of the OpenAI protocol"):
            way.reply(chat(wrong))


def test_a_text_beside_an_empty_content_is_named_and_its_tokens_are_counted():
    for read in WAYS:
        told = listed(("So", -0.1), ("x", -3.0))
        told["choices"][0]["message"] = {"content": "", "reasoning_content": " So "}
        reply = WAYS[read](MODEL, True).reply(told)
        assert (reply.failure, reply.scores) == ("an empty content; reasoning_content has the text 'So'", None)
        assert (reply.tokens_read, reply.tokens_written) == (7, 2)


def test_the_first_token():
    way = WAYS["first_token"](MODEL, True)
    body = way.body(PROMPT, "Q")
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"]) == (True, 20, 1)
    p = {" Yes": 0.4, "yes": 0.1, "May": 0.2, "the": 0.15, "con": 0.05}
    reply = way.reply(listed(*((token, math.log(value)) for token, value in p.items())))
    label, probabilities = way.read(reply, PROMPT)
    assert label == "entailment"
    np.testing.assert_allclose(probabilities, np.array([0.5, 0.2, 0.05]) / 0.75)
    text = WAYS["first_token"](MODEL, False)
    assert text.body(PROMPT, "Q")["logprobs"] == 5
    other = {"choices": [{"text": " Yes", "logprobs": {"top_logprobs": [{t: math.log(v) for t, v in p.items()}]}}]}
    assert text.read(text.reply(other), PROMPT) == (label, probabilities)


def test_a_label_that_is_not_listed_is_at_most_as_likely_as_the_last():
    way = WAYS["first_token"](MODEL, True)
    reply = way.reply(listed((" Maybe", math.log(0.6)), ("I", math.log(0.1)), ("x", -math.inf)))
    label, probabilities = way.read(reply, PROMPT)
    assert label == "neutral"
    np.testing.assert_allclose(probabilities, np.array([0.1, 0.6, 0.1]) / 0.8)
    label, probabilities = way.read(way.reply(listed(("The", -0.1), ("A", -3.0))), PROMPT)
    assert label == NO_LABEL
    np.testing.assert_allclose(probabilities, 1 / 3)


@given(st.lists(st.floats(1e-6, 0.28), min_size=3, max_size=3))
def test_first_tokens_against_a_plain_sum(p):
    """There is no answer if all labels together have less than 0.01, or if two labels tie."""
    tokens = {"Yes": p[0], " yes": p[0] / 2, "Maybe": p[1], "contradiction": p[2], "x": 1e-7}
    way = WAYS["first_token"](MODEL, True)
    reply = way.reply(listed(*((t, math.log(v)) for t, v in tokens.items())))
    label, probabilities = way.read(reply, PROMPT)
    sums = np.array([1.5 * p[0], p[1], p[2]])
    np.testing.assert_allclose(probabilities, sums / sums.sum(), rtol=1e-9)
    first, second, _ = sorted(sums, reverse=True)
    if sums.sum() < 0.01 or first - second < 1e-9:
        assert label == NO_LABEL
    else:
        assert probabilities[LABELS.index(label)] == max(probabilities)


def test_parts_of_characters_that_look_alike_are_told_apart_by_their_bytes():
    parts = listed(("\ufffd", -1.0), ("\ufffd", -2.0), ("Maybe", -3.0))
    for i, entry in enumerate(parts["choices"][0]["logprobs"]["content"][0]["top_logprobs"]):
        entry["bytes"] = [i]
    assert len(WAYS["first_token"](MODEL, True).reply(parts).scores) == 3


def test_labels_whose_first_tokens_are_not_told_apart():
    way = WAYS["first_token"](MODEL, True)
    alike = Prompt(Wording("{premise}{hypothesis}", "", {"entailment": "not so", "neutral": "Not here"}), TASK)
    with refused(ModelError, "read first_token", "not so, Not here, contradiction", "read written"):
        way.require(alike, TASK)
    near = Prompt(Wording("{premise}{hypothesis}", "", {"entailment": "negative"}), TASK)
    way.require(near, TASK)
    reply = way.reply(listed(("neu", -0.1), ("x", -3.0)))
    assert way.read(reply, near)[0] == "neutral"
    with refused(ModelError, "'ne', of probability 0.9,", "negative, neutral", "read written"):
        way.read(way.reply(listed(("ne", -0.1), ("x", -3.0))), near)


def test_a_key_is_of_all_that_decides_the_answer():
    first = Request("/x", {"b": 1, "a": [1, {"d": "ä", "c": None}]})
    assert first.key("u") == Request("/x", {"a": [1, {"c": None, "d": "ä"}], "b": 1}).key("u")
    others = Request("/y", first.body), Request("/x", {"b": 2}), Request("/x", first.body, 1)
    assert len({first.key("u"), first.key("v"), *(other.key("u") for other in others)}) == 5
    assert Request("/x", {"a": "\ud83d"}).key("u")
