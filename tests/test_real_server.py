"""evaluate.py on a real server: ``transformers serve`` with a tiny model of random weights."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from heedful.cli import command
from heedful.lightning_modules.prompted.requests.client import Server
from heedful.records.rows import read_rows

from causal import save
from commands import results_of, run

for package in ("openai", "fastapi", "uvicorn"):
    pytest.importorskip(package, reason=f"{package} is not installed: pip install -e '.[openai,serve]'")
pytestmark = pytest.mark.slow  # the server imports transformers, and so does each process that is killed
ROOT = Path(__file__).parents[1]
SERVE = "import sys, heedful; from transformers.cli.transformers import main; sys.argv[0] = 'serve'; main()"
EVALUATE = "from heedful.cli.command import run; run('evaluate')"
SMALL = ["--data", "planted", "--data.n_validation", "12", "--attentiveness.draws", "2"]
ENV = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def served(model, tmp_path_factory):
    """The base URL of the server, which ends with the tests."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = [sys.executable, "-c", SERVE, "serve", str(model), "--port", str(port), "--device", "cpu"]
    with open(tmp_path_factory.mktemp("log") / "log", "w+") as log:
        process = subprocess.Popen(
            [*argv, "--host", "127.0.0.1"], env={**os.environ, **ENV}, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            _await(process, f"http://127.0.0.1:{port}/health", log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.wait(timeout=30)


def _await(process, url, log):
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for _ in range(600):
        with suppress(OSError):
            direct.open(url, timeout=5).read()
            return
        if process.poll() is not None:
            break
        time.sleep(0.2)
    log.seek(0)
    pytest.fail(log.read()[-2000:])


@pytest.fixture
def here(served, monkeypatch, tmp_path):
    """An empty working directory, with the server in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", served)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path


@pytest.fixture
def posted(monkeypatch):
    """Each request with the answer of the server."""
    pairs, response = [], Server.response

    def record(self, request, *more):
        pairs.append((request, response(self, request, *more)))
        return pairs[-1][1]

    monkeypatch.setattr(Server, "response", record)
    return pairs


def n_answers(folder):
    """Number of answers in the file."""
    with sqlite3.connect(folder / "runs" / "answers.sqlite") as file:
        (n,) = file.execute("SELECT count(*) FROM answers").fetchone()
    file.close()
    return n


def test_written_answers_are_those_of_the_model(here, model, posted):
    run(command.evaluate, *SMALL, "--endpoint", str(model), "--output", "out")
    results = results_of(here / "out")
    assert results["metrics"]["null/planted/flips"]["value"] == 0
    tokenizer, network = AutoTokenizer.from_pretrained(model), AutoModelForCausalLM.from_pretrained(model)
    assert len(posted) >= 25
    for request, answer in posted[:6]:
        messages = request.body["messages"]
        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)
        with torch.no_grad():
            written = network.generate(**ids, max_new_tokens=8, do_sample=False)[0, ids["input_ids"].shape[1] :]
        text = answer["choices"][0]["message"]["content"]
        assert text == tokenizer.decode(written, skip_special_tokens=True)
        assert answer["usage"]["prompt_tokens"] == ids["input_ids"].shape[1]


def test_a_run_that_is_killed_goes_on_from_its_answers(here, model, caplog):
    quiet = ["--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false", "--endpoint.concurrency", "1"]
    argv = [sys.executable, "-c", EVALUATE, *SMALL, "--endpoint", str(model), *quiet, "--output", "killed"]
    process = subprocess.Popen(argv, env={**os.environ, **ENV}, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    for _ in range(3000):
        with suppress(sqlite3.OperationalError):
            if n_answers(here) >= 8:
                break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=30) == -signal.SIGKILL
    assert not (here / "killed" / "results.json").exists()
    kept = n_answers(here)
    run(command.evaluate, *SMALL, "--endpoint", str(model), "--output", "resumed")
    whole = n_answers(here)
    assert 8 <= kept < whole
    assert "further answers came from" in caplog.text
    (here / "runs" / "answers.sqlite").unlink()
    run(command.evaluate, *SMALL, "--endpoint", str(model), "--output", "whole")
    resumed, whole = (results_of(here / name) for name in ("resumed", "whole"))
    hashes = {"rows", "checksum"}
    assert {k: v for k, v in resumed.items() if k not in hashes} == {k: v for k, v in whole.items() if k not in hashes}
    rows, others = (read_rows(here / name / "rows/attentiveness.parquet")[0] for name in ("resumed", "whole"))
    assert rows.equals(others)
