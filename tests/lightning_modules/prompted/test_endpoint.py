"""Tests of endpoints in the engine, behind servers whose answers follow known rules."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from benchmarks import bare_runs
from heedful.callbacks import Accuracy, Answers, Attentiveness
from heedful.datamodules import Loader, PairedData, Planted, load_reading
from heedful.lightning_modules import Endpoint
from heedful.records import SPAN, Example, Examples, ModelError, SettingError
from heedful.records.prompts import Prompt, Wording
from heedful.records.rows import read_rows, select

from fake_server import FakeServer, Fault, question_of, share_of
from refusals import refused, refused_output

pytest.importorskip("openai", reason="openai is not installed: pip install 'openai>=3.54'")


@pytest.fixture
def at(monkeypatch, tmp_path):
    """Makes an endpoint for a server."""

    def make(fake, **settings):
        monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        return Endpoint("tiny", **{"cache": str(tmp_path / "answers.sqlite"), **settings})

    return make


def planted(n=12, **settings):
    return Planted(n_validation=n, swap=["premise", "hypothesis"], eval_batch_size=8, **settings)


def measured(module, data, *evaluations, word=lambda plain: plain):
    """Evaluate with the plain wording, or with ``word`` of it; returns the engine."""
    data.setup("validate")
    module.bind(data.task)
    module.prompt_with(Prompt(word(Wording.plain(data.task.parts, data.task.labels)), data.task))
    return bare_runs.measured(module, data, evaluations or [Accuracy(), Attentiveness()], accelerator="cpu")


def parts_of(question):
    """Maps part names to texts, parsed from a question."""
    return {line.partition(": ")[0]: line.partition(": ")[2] for line in question.split("\n")}


def counts(engine):
    return engine.content["counts"]


def value(engine, name):
    return engine.content["metrics"][name]["value"]


def test_a_part_that_is_not_sent_is_never_read_and_costs_nothing(at):
    """An endpoint reads the text that is sent, and nothing else."""
    with FakeServer(lambda body, n: "entailment") as fake:
        data, wording = planted(9), Wording("Hypothesis: {hypothesis}\nLabel:")
        engine = measured(at(fake), data, Accuracy(), Attentiveness(draws=3), word=lambda plain: wording)
    sent = {example.parts["hypothesis"] for example in data.pool}
    rows = select(engine.rows["attentiveness"][0], intervention="swap").to_pylist()
    hypotheses = {example.uid: example.parts["hypothesis"] for example in data.pool}
    for row in rows:
        same = row["part"] == "premise" or hypotheses[row["partner"]] == hypotheses[row["uid"]]
        assert row["unread"] == same
    assert value(engine, "attentiveness/planted/premise/unread") == 1
    assert value(engine, "attentiveness/planted/hypothesis/unread") < 1
    assert set(map(parts_of_hypothesis, fake.requests)) == sent
    assert sum(fake.counted.values()) == 2 * len(sent)
    assert engine.content["counts"]["attentiveness/identical"] > 27


def parts_of_hypothesis(body):
    return parts_of(question_of(body))["Hypothesis"]


def test_a_model_that_answers_by_a_hash_has_the_attentiveness_of_the_hash(at):
    """Each number is compared with the rule, applied without a server."""
    answer = lambda question: "neutral" if share_of(question) < 0.3 else "contradiction"  # noqa: E731
    with FakeServer(lambda body, n: answer(question_of(body))) as fake:
        engine = measured(at(fake), planted(24))
        sent = fake.counted
    rows, data = engine.rows["attentiveness"][0], planted(24)
    data.setup("validate")
    prompt = Prompt(Wording.plain(data.task.parts, data.task.labels), data.task)
    by_uid = {e.uid: dict(e.parts) for e in data.pool}
    ask = lambda parts: answer(prompt.messages(prompt.question(list(parts.values())))[-1]["content"])  # noqa: E731
    for part in ("premise", "hypothesis"):
        hits = []
        for row in select(rows, intervention="swap", part=part).to_pylist():
            swapped = by_uid[row["uid"]] | {part: by_uid[row["partner"]][part]}
            assert (row["y"], row["y2"]) == (ask(by_uid[row["uid"]]), ask(swapped))
            hits.append(row["y"] != row["y2"])
        assert value(engine, f"attentiveness/planted/{part}") == pytest.approx(np.mean(hits))
    assert set(sent.values()) <= {1, 2}
    assert sum(n == 2 for n in sent.values()) == 24  # only the null control repeats


def test_what_would_be_sent_is_what_the_server_gets(at):
    """With additional entries of the request; null removes an entry."""
    settings = {"extra": {"seed": None, "top_p": 0.5}, "max_tokens": 5, "temperature": 0.5}
    with FakeServer(lambda body, n: "neutral") as fake:
        module = at(fake, **settings)
        measured(module, planted(4), Accuracy())
        examples = [module.sent(Example(uid, parts_of(uid), None)) for uid in map(question_of, fake.requests)]
    sent = zip(fake.paths, fake.requests, strict=True)
    assert [{"path": path.removeprefix("/v1"), "body": body} for path, body in sent] == examples
    assert len(examples) == 8  # with the null control
    body = fake.requests[-1]
    assert (body["top_p"], body["temperature"], body["max_tokens"], body["model"]) == (0.5, 0.5, 5, "tiny")
    assert "seed" not in body


def test_probabilities_of_first_tokens_reach_the_rows(at):
    def rule(body, n):
        p = np.array([share_of(f"{i}{question_of(body)}") for i in range(3)])
        top = [{"token": t[:4], "logprob": float(np.log(x))} for t, x in zip(LABELS, p / p.sum(), strict=True)]
        return {"choices": [{"message": {"content": "x"}, "logprobs": {"content": [{"top_logprobs": top}]}}]}

    with FakeServer(rule) as fake:
        engine = measured(at(fake, read="first_token"), planted(9, default_label=None))
        shown = [question_of(body) for body in fake.requests]
    rows = engine.rows["attentiveness"][0]
    ps = [row["p"] for row in rows.to_pylist()]
    np.testing.assert_allclose(np.sum(ps, axis=1), 1, rtol=1e-6)
    assert [LABELS[int(np.argmax(p))] for p in ps] == rows["y"].to_pylist()
    assert len({tuple(p) for p in ps}) == 9
    assert len(shown) == len(set(shown)) + 9 > 50  # the null control comes twice
    assert value(engine, "null/planted/max_change") == 0


class Questions(PairedData):
    """Questions about texts, answered by a word of the text."""

    def __init__(self, n, gold=None):
        loader = Loader(load_reading, SPAN)
        super().__init__("asked", ("context", "question"), (), default_label="", swap=["context"], loader=loader)
        self.n, self.gold = n, gold

    def load(self, split):
        texts = [(f"It is {i}.", f"What is {i}?", json.dumps([self.gold or str(i)])) for i in range(self.n)]
        return Examples.of([Example(f"a/{i}", {"context": c, "question": q}, a) for i, (c, q, a) in enumerate(texts)])


OFF = "{chat_template_kwargs: {enable_thinking: false}}"


def message(content, **fields):
    return {"choices": [{"message": {"content": content, **fields}}]}


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        ("<think>\nThe text says", ["'<think>\\nThe text says'", OFF]),
        ("Well.\n</think>\n\nParis", ["12 of the first 12", OFF]),
        (message("", reasoning_content="So the"), ["reasoning_content has the text 'So the'", "max_tokens", OFF]),
        (message(None, reasoning="So the"), ["reasoning has the text 'So the'", OFF]),
        (message("", refusal="I cannot."), ["refusal has the text 'I cannot.'", "allow_invalid"]),
        (message([{"type": "thinking", "thinking": []}]), ["no text, but thinking"]),
        ("Error 429: slow down", ["12 of the first 12 questions", "'Error 429: slow down'", "its log"]),
    ],
)
def test_reasoning_and_errors_are_no_free_answers(at, answer, facts):
    """The server is asked again after it is repaired."""
    with FakeServer(lambda body, n: answer) as fake:
        with refused(ModelError, *facts, "allow_invalid"):
            measured(at(fake), Questions(12), Answers())
        assert len(fake.requests) == 12
        fake.rule = lambda body, n: message([{"type": "text", "text": "It is "}, {"type": "text", "text": "1"}])
        engine = measured(at(fake), Questions(12), Answers())
    assert {row["y"] for row in engine.rows["answers"][0].to_pylist()} == {"It is 1"}


@pytest.mark.parametrize(
    ("n", "answer", "gold"), [(12, "I don't know", None), (12, "Yes", "yes"), (12, "It is", None), (9, "Error", None)]
)
def test_one_answer_to_all_questions_may_be_right(at, n, answer, gold):
    """No answer, a gold answer, words of the text; or there are few questions."""
    with FakeServer(lambda body, n: answer) as fake:
        measured(at(fake), Questions(n, gold), Answers())


def test_settings_that_a_server_refuses_are_named(at):
    reason = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead"
    fault = Fault(400, json.dumps({"error": {"message": f"{reason}."}}))
    facts = [f"HTTP 400 ({reason})", "{SETTING: null} removes a setting", "allow_invalid"]
    with FakeServer(lambda body, n: fault) as fake, refused(ModelError, *facts):
        measured(at(fake), planted())


@pytest.mark.slow
def test_questions_are_answered_in_words(at):
    def rule(body, n):
        parts = parts_of(question_of(body))
        number = parts["question"].removeprefix("What is ").removesuffix("?")
        return number if number in parts["context"].removesuffix(".").split() else "I don't know."

    with FakeServer(rule) as fake:
        engine = measured(at(fake), Questions(9), Answers(), Attentiveness())
        assert {body["max_tokens"] for body in fake.requests} == {32}
    assert value(engine, "exact_match/asked") == value(engine, "attentiveness/asked/context") == 1


LABELS = ("entailment", "neutral", "contradiction")
REFUSAL = Fault(400, '{"error": {"message": "content_filter"}}')
FAILURES = ("Error: upstream timeout", "", "Contradiction? No. Neutral.", REFUSAL)


def oracle(data, attentive, failing, on, failure):
    """A rule with known attentiveness and failures.

    Base inputs get a label that is not the default label. A swapped input gets another label with the probability
    ``attentive``. A request fails with the probability ``failing``, if it is "base", "swapped", or either ("both").
    """
    own = {(e.parts["premise"], e.parts["hypothesis"]) for e in data.pool}

    def rule(body, n):
        question = question_of(body)
        parts = parts_of(question)
        is_base = (parts["premise"], parts["hypothesis"]) in own
        here = on == "both" or on == ("base" if is_base else "swapped")
        if here and share_of(f"fails {question}") < failing:
            return failure
        return "entailment" if is_base or share_of(f"changes {question}") >= attentive else "contradiction"

    return rule


@pytest.mark.slow
@pytest.mark.parametrize("attentive", [0.0, 0.4, 0.9])
@pytest.mark.parametrize(("failing", "on"), [(0.0, "both"), *product((0.1, 0.6), ("base", "swapped", "both"))])
def test_a_server_that_fails_now_and_then_has_its_attentiveness_or_none(at, attentive, failing, on):
    data = planted(60)
    data.setup("validate")
    failure = FAILURES[int(10 * (attentive + failing)) % 3]
    with FakeServer(oracle(data, attentive, failing, on, failure)) as fake:
        engine = measured(at(fake, concurrency=8), data, Accuracy(), Attentiveness(draws=2))
    for part in ("premise", "hypothesis"):
        name = f"attentiveness/planted/{part}"
        found = engine.content["metrics"][name]
        if failing == 0.6:
            assert (found["value"], found["reason"]) == (None, "more than half of the answers are none")
        else:
            low, high = found["ci95"]
            assert low <= attentive <= high
        assert ("no_answers" in found["flags"]) == (failing > 0)
        if failing:
            of = {"base": [True, False], "swapped": [False, True], "both": [True, True]}[on]
            shares = [value(engine, f"{name}/no_answer/{which}") for which in ("base", "changed")]
            for share, fails in zip(shares, of, strict=True):
                assert share == pytest.approx(failing if fails else 0, abs=0.12)
    if failing:
        assert [text for text, _ in engine.content["counts"]["no_answers"]] == [failure]


@pytest.mark.slow
def test_whoever_wants_it_goes_on_with_answers_that_are_none(at):
    data = planted(20)
    data.setup("validate")
    with FakeServer(oracle(data, 0.4, 1.0, "both", REFUSAL)) as fake:
        engine = measured(at(fake, allow_invalid=True), data)
    assert engine.content["counts"]["no_answers"][0][0] == "HTTP 400 (content_filter)"  # without the address
    assert value(engine, "accuracy/planted") == 0
    assert value(engine, "no_answer/planted") == 1
    assert value(engine, "attentiveness/planted/premise") is None


def named(model):
    return {"choices": [{"message": {"content": "neutral"}}], "model": model}


def test_the_flips_of_a_server_are_the_floor_beside_attentiveness(at, monkeypatch):
    """Each run sends a sample again, instead of taking it from the cache."""
    monkeypatch.setattr("heedful.lightning_modules.prompted.endpoint.REPEATED", 12)
    with FakeServer(lambda body, n: "entailment" if n == 0 or share_of(question_of(body)) < 0.5 else "neutral") as fake:
        engine = measured(at(fake, concurrency=3), planted(16))
        first = len(fake.requests)
        assert fake.most_at_once <= 3
        measured(at(fake), planted(16))
        assert len(fake.requests) == first + 12
    flips = engine.content["metrics"]["null/planted/flips"]
    assert (flips["n"], flips["flags"]) == (12, ["answers_differ"])
    assert 0 < flips["value"] < 1
    for part in ("premise", "hypothesis"):
        assert "answers_differ" in engine.content["metrics"][f"attentiveness/planted/{part}"]["flags"]


@pytest.mark.parametrize(
    ("settings", "answer", "facts"),
    [
        ({}, None, ["12 of the first 12 answers of tiny cannot be read: ''", "max_tokens"]),
        ({"read": "first_token"}, "entailment", ["12 of the first 12", "no different log-probabilities"]),
        ({}, Fault(200, "<html>"), ["12 of the first 12", "something else than JSON"]),
        ({}, Fault(400, "{}"), ["12 of the first 12", "HTTP 400 ({})"]),
        ({}, Fault(404, "{}"), ["no model tiny", "HTTP 404"]),
    ],
)
def test_a_server_without_answers_is_refused(at, settings, answer, facts):
    with FakeServer(lambda body, n: answer) as fake:
        with refused(ModelError, *facts):
            measured(at(fake, **settings), planted())
        assert len(fake.requests) == (1 if "HTTP 404" in facts else 12)
        assert set(fake.counted.values()) == {1}


@pytest.mark.slow
def test_fifty_examples_are_asked_first(at):
    data = planted(80)
    data.setup("validate")
    with FakeServer(oracle(data, 0.4, 1.0, "both", "Error: upstream timeout")) as fake:
        with refused(ModelError, "50 of the first 50 ", "tiny", "prompt", "read", "allow_invalid"):
            measured(at(fake), data)
        assert len(fake.requests) == 50
    drawn = sorted(range(80), key=lambda i: data.pool.uid_keys[i])[:50]
    asked = {(p["premise"], p["hypothesis"]) for p in map(parts_of, map(question_of, fake.requests))}
    assert asked == {(data.pool[i].parts["premise"], data.pool[i].parts["hypothesis"]) for i in drawn}


@pytest.mark.parametrize("cache", [None, ""])
def test_answers_need_a_file(cache):
    with refused(SettingError, f"cache {cache!r}", "runs/answers.sqlite"):
        Endpoint("tiny", cache=cache)


@pytest.mark.parametrize("seed", ["0", 1.9, True, -1])
def test_a_seed_is_an_integer(seed):
    with refused(SettingError, f"seed {seed!r}", "integer from 0 to 4294967295"):
        Endpoint("tiny", seed=seed)
    Endpoint("tiny", seed=None)


@pytest.mark.parametrize(
    ("settings", "most"),
    [
        ({}, 8),
        ({"extra": {"max_tokens": None, "max_completion_tokens": 2000}}, 2000),
        ({"extra": {"max_tokens": None}}, None),
        ({"read": "first_token"}, 1),
    ],
)
def test_most_tokens_of_an_answer_are_those_that_are_sent(settings, most):
    module, task = Endpoint("tiny", **settings), planted().task
    module.bind(task)
    module.prompt_with(Prompt(Wording.plain(task.parts, task.labels), task))
    assert module.most_written == most


@pytest.mark.slow
def test_two_models_behind_one_name_make_no_table(at):
    says = lambda body, n: named("big" if share_of(question_of(body)) < 0.5 else "small")  # noqa: E731
    with FakeServer(says) as fake, refused(ModelError, "tiny", "big, small", "answers.sqlite"):
        measured(at(fake), planted())
    models = ["big"]
    with FakeServer(lambda body, n: named(models[0])) as fake:
        other = {"cache": str(Path(at(fake).cache).parent / "other.sqlite")}
        assert counts(measured(at(fake, **other), planted(10), Accuracy()))["models"] == {"big": 20}
        models[0] = "small"
        with refused(ModelError, "tiny", "big, small", "other.sqlite"):  # the file contains answers of "big"
            measured(at(fake, **other), planted(10), Accuracy())


PROCESS = """
import os, sys
import heedful
import torch
from pathlib import Path
from benchmarks.bare_runs import measured
from heedful.callbacks import Accuracy, Attentiveness
from heedful.datamodules import Planted
from heedful.lightning_modules import Endpoint
from heedful.lightning_modules.prompted.requests import client
from heedful.records import HeedfulError
from heedful.records.prompts import Prompt, Wording
from fake_server import FakeServer, Fault, question_of, share_of
from ranks import fork

client.BEAT = 0.0  # those who wait hear of the first after each look


def rank_of(rank, world, folder):
    data = Planted(n_validation=13, eval_batch_size=4, swap=["premise", "hypothesis"])
    data.setup("validate")
    module = Endpoint("tiny", cache=str(folder / "answers.sqlite"), concurrency=3)
    module.bind(data.task)
    module.prompt_with(Prompt(Wording.plain(data.task.parts, data.task.labels), data.task))
    processes = {"accelerator": "cpu", "devices": world, "strategy": "ddp" if world > 1 else "auto"}
    measured(module, data, [Accuracy(), Attentiveness()], folder=folder, **processes)


def failing(rank, world, folder):
    try:
        rank_of(rank, world, folder)
    except HeedfulError as error:
        (folder / f"rank_{rank}").write_text(str(error))


answer = lambda body, n: ("neutral", "entailment", "Contradiction", "?")[int(4 * share_of(question_of(body)))]
for world in (1, 2):
    with FakeServer(answer) as fake:
        os.environ["OPENAI_BASE_URL"] = fake.url
        folder = Path(sys.argv[1], str(world))
        fork(world, rank_of, folder)
        (folder / "sent").write_text(repr(sorted(fake.counted.values())))
for name, least in (("first", 0), ("changed", 50)):
    with FakeServer(lambda body, n: Fault(401, "{}") if len(fake.requests) > least else answer(body, n)) as fake:
        os.environ["OPENAI_BASE_URL"] = fake.url
        folder = Path(sys.argv[1], name)
        folder.mkdir()
        fork(2, failing, folder)
"""


@pytest.fixture(scope="module")
def by_processes(forks, tmp_path_factory):
    """A folder with the results of one and two processes, and the number of times that each request was sent."""
    folder = tmp_path_factory.mktemp("processes")
    forks.script(PROCESS, folder, env={"OPENAI_API_KEY": None})
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("failure", ["first", "changed"])
def test_what_fails_in_the_process_that_asks_is_one_sentence_in_all(by_processes, failure):
    said = {(by_processes / failure / f"rank_{rank}").read_text() for rank in range(2)}
    assert len(said) == 1
    refused_output(f"evaluate.py: {said.pop()}", "OPENAI_API_KEY", "HTTP 401")


@pytest.mark.slow
def test_two_processes_ask_nothing_twice_and_write_the_same_bytes(by_processes):
    one, several = by_processes / "1", by_processes / "2"
    for name in ("results.json", "rows/accuracy.parquet", "rows/attentiveness.parquet"):
        assert (one / name).read_bytes() == (several / name).read_bytes(), name
    sent = (one / "sent").read_text()
    assert (several / "sent").read_text() == sent
    counts = json.loads(sent)
    assert (counts.count(2), max(counts)) == (13, 2)  # only the null control repeats
    rows, _ = read_rows(several / "rows" / "attentiveness.parquet")
    assert {*select(rows, intervention="base")["y"].to_pylist()} == {*LABELS, "(no label)"}
