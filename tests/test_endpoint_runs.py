"""evaluate.py on a model behind a server: what it costs, what is kept, and what is not shown."""

import json
import re
from pathlib import Path

import pytest

from heedful.cli import command
from heedful.cli.command import split_options
from heedful.datamodules import Planted
from heedful.records import DataError, ModelError, SettingError
from heedful.records.rows import read_rows

from commands import results_of, run
from fake_server import FakeServer, Fault, question_of, share_of
from own_data import write_jsonl
from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

pytest.importorskip("openai", reason="openai is not installed: pip install 'openai>=3.54'")
ROOT = Path(__file__).parents[1]
KEY, PASSWORD = "sk-planted-0123456789", "planted-password-9876"
SMALL = ["--data", "planted", "--endpoint", "org/tiny", "--data.n_validation", "20", "--attentiveness.draws", "2"]


def answer(body, n=0):
    return "neutral" if share_of(question_of(body)) < 0.3 else "Entailment"


@pytest.fixture
def here(monkeypatch, tmp_path):
    """An empty working directory, without a key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path


def ask(monkeypatch, fake, *argv):
    monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
    run(command.evaluate, *SMALL, *argv)


def test_an_endpoint_is_a_model_by_its_name():
    words = ["--endpoint", "m", "--endpoint.read=first_token", "--endpoint.prices", "[1, 2]"]
    options, settings = split_options("evaluate", words)
    assert options.model == "endpoint"
    assert settings == ["--model.read=first_token", "--model.prices", "[1, 2]", "--model.name", "m"]


def but_for_rows(folder):
    """The results, without hashes of the rows."""
    return {k: v for k, v in results_of(folder).items() if k not in ("rows", "checksum")}


def test_a_second_evaluation_sends_little(monkeypatch, here, caplog):
    """The null control alone, of which the answers may be others today."""
    with FakeServer(answer) as fake:
        ask(monkeypatch, fake, "--endpoint.prices", "[1000, 2000]")
        sent = len(fake.requests)
        assert sent > 60
        ask(monkeypatch, fake, "--output", "second")
        assert len(fake.requests) == sent + 20
    first = here / "runs/planted/org-tiny/pretrained/version_0"
    assert but_for_rows(first) == but_for_rows(here / "second")
    for name in ("accuracy", "attentiveness"):
        rows, others = (read_rows(folder / f"rows/{name}.parquet")[0] for folder in (first, here / "second"))
        assert rows.equals(others)
    logged = caplog.text
    assert re.search(rf"org/tiny: {sent} requests sent, [\d,]+ tokens read and {sent} written, [\d.]+ USD\.", logged)
    assert re.search(r"org/tiny: 20 requests sent, [\d,]+ tokens read and 20 written; further answers came", logged)
    run_file = json.loads((first / "run.json").read_text())
    assert run_file["prompt"]["wording"] == "plain"
    assert run_file["prompt"]["sent"] == json.loads((here / "second/run.json").read_text())["prompt"]["sent"]


def test_requests_end_where_the_user_wants_and_go_on_from_there(monkeypatch, here):
    with FakeServer(answer) as fake:
        with refused(ModelError, "max_requests 30"):
            ask(monkeypatch, fake, "--endpoint.max_requests", "30", "--output", "one")
        assert len(fake.requests) == 30
        ask(monkeypatch, fake, "--output", "two")  # begins with the answers that are kept
        kept = len(fake.requests)
    with FakeServer(answer) as fake:
        ask(monkeypatch, fake, "--output", "three", "--endpoint.cache", "other.sqlite")
        assert set(fake.counted.values()) == {1, 2}
        assert kept == len(fake.requests)
    two, three = (but_for_rows(here / name) | {"identity": None} for name in ("two", "three"))
    assert two == three  # but for the server, which is another one


def test_a_dry_run_sends_nothing_and_leaves_nothing(monkeypatch, here, capsys):
    with FakeServer(answer) as fake:
        for more in ([], ["--output", "out"]):
            ask(monkeypatch, fake, "--dry_run", "--endpoint.prices", "[0.5, 1.5]", *more)
        assert not fake.requests
        assert not list(here.iterdir())
        printed = capsys.readouterr().out
        counts = dict(re.findall(r"^  (\w+) +(\d+) requests", printed, re.MULTILINE))
        assert counts == {"base": "20", "changed": "40", "null": "20", "together": "80"}
        assert "At most 8 written tokens per request. Nothing was sent." in printed
        tokens = int(re.search(r"together .* about +([\d,]+) tokens", printed)[1].replace(",", ""))
        ask(monkeypatch, fake)
        base = [body for body in fake.requests if "The answer is" not in question_of(body)]
    found = results_of(next(here.glob("runs/*/*/*/*")))
    changed = found["metrics"]["attentiveness/planted/premise"]["n"]
    assert len(base) <= 40 + 2 * changed < 80
    texts = {question_of(body) for body in base}
    assert tokens == pytest.approx(sum(map(len, texts)) / len(texts) / 4 * 80, rel=0.05)


@pytest.mark.parametrize(
    ("argv", "error", "facts"),
    [
        (["--evaluations", "attentiveness,attributions"], ModelError, ["attributions"]),
        (["--natural_logic.path", "."], DataError, ["natural_logic.path .", "model.read first_token"]),
        (["--two_class.benchmarks", "{rte: x}"], DataError, ["two_class.benchmarks", "model.read first_token"]),
    ],
)
def test_what_an_endpoint_cannot_be_asked_is_refused_before_it_is_asked_anything(monkeypatch, here, argv, error, facts):
    for dry in ([], ["--dry_run"]):
        with FakeServer(answer) as fake, refused(error, *facts):
            ask(monkeypatch, fake, *argv, *dry)
        assert not fake.requests


def test_mistakes_are_refused_before_anything_is_made(here, monkeypatch, tiny_t5):
    with refused(SettingError, "dry_run", tiny_t5):
        run(command.evaluate, "--model", tiny_t5, "--data", "planted", "--data.n_validation", "5", "--dry_run")
    with refused(ModelError, "org/tiny", "evaluate.py"):
        run(command.train, "--data", "planted", "--endpoint", "org/tiny")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with refused(ModelError, "OPENAI_API_KEY", "https://api.openai.com "):
        run(command.evaluate, *SMALL)
    assert not list(here.rglob("*.yaml"))


@pytest.mark.parametrize("chat", ["true", "false"])
def test_what_is_sent_is_kept(monkeypatch, here, chat):
    """To the letter what the server got for that example: the turns of a chat, or one text."""
    argv = ["--prompt.tuples", "1", "--prompt.demonstrations", "counterfactual", "--data.n_train", "40"]
    with FakeServer(answer) as fake:
        ask(monkeypatch, fake, *argv, "--endpoint.chat", chat, "--output", "out")
    about = json.loads((here / "out" / "run.json").read_text())["prompt"]
    data = Planted(n_train=40, n_validation=20)
    data.setup("validate")
    parts = data.pool[about["example"]].parts
    question = f"premise: {parts['premise']}\nhypothesis: {parts['hypothesis']}\nanswer:"
    got = [(path, body) for path, body in zip(fake.paths, fake.requests, strict=True) if question_of(body) == question]
    assert len(got) == 2  # with that of the null control
    for path, body in got:
        assert path == f"/v1{about['sent']['path']}"
        assert json.dumps(body, sort_keys=True) == json.dumps(about["sent"]["body"], sort_keys=True)
    assert len(about["demonstrations"]) == 5
    if chat == "true":
        turns = about["sent"]["body"]["messages"]
        assert [turn["role"] for turn in turns] == ["user", "assistant"] * 5 + ["user"]
        assert turns[-1]["content"] == question


def test_secrets_reach_no_file_and_no_line(forks, tmp_path):
    """The server repeats them where it refuses a request, and the libraries log all that they can."""

    def echo(body, n):
        told = f"{KEY} me:{PASSWORD} {PASSWORD}"
        if n == 0 and share_of(question_of(body)) < 0.2:
            return Fault(500, json.dumps({"error": {"message": told}}), headers={"x-request-id": told, **SOON})
        if share_of(question_of(body)) < 0.4:
            return "Entailment, says the server"
        return "neutral" if len(fake.requests) < 40 else Fault(401, json.dumps({"error": {"message": told}}))

    with FakeServer(echo) as fake:
        url = fake.url.replace("http://", f"http://me:{PASSWORD}@") + f"?token={KEY}"
        env = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY, "OPENAI_LOG": "debug"}
        argv = [*SMALL, "--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false"]
        statuses, out = forks.run(*argv, command="evaluate", env=env, cwd=str(tmp_path))
    assert statuses == [2], out
    assert "refuses the key: HTTP 401. Set another OPENAI_API_KEY" in out
    assert "Traceback" not in out
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "answers.sqlite" for path in files)
    assert any(b"Entailment, says the server" in path.read_bytes() for path in files)
    for secret in (KEY, PASSWORD):
        assert secret not in out
        assert not [path for path in files if secret.encode() in path.read_bytes()]


SOON = {"retry-after-ms": "1"}


def test_a_server_reads_the_options_in_their_order(monkeypatch, here):
    """It chooses what the passage says, wherever it stands, in 20 conflicts of two answers."""
    rows = [
        {"counter_memory": f"No, {i}.", "memory_answer": f"Yes {i}", "counter_answer": f"No, {i}"} for i in range(20)
    ]
    path = write_jsonl(here / "conflicts.json", rows)

    def content(body, n=0):
        return "A" if "A) No" in question_of(body) else "B"

    with FakeServer(content) as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
        words = ["--data", "conflictqa-options", "--data.path", path, "--endpoint", "org/tiny"]
        run(command.evaluate, *words, "--evaluations", "order", "--order.draws", "1", "--output", here / "out")
    metrics = results_of(here / "out")["metrics"]
    found = [
        metrics[f"order/conflictqa-options{name}"]["value"] for name in ("", "/chosen/before/B", "/chosen/after/B")
    ]
    assert found == [1, 1, 0]
