"""``heedful.Endpoint``: server and key are in no file, and the prompt is in run.json."""

import json
import logging
import random
import string
import sys
from pathlib import Path
from typing import Any

import pytest

import heedful
from heedful.assembly.results import Results
from heedful.cli import command
from heedful.datamodules import PairedData

from commands import run
from fake_server import FakeServer, question_of, share_of

pytest.importorskip("openai", reason="openai is not installed: pip install 'openai>=3.54'")
KEY, OTHER = "sk-planted-0123456789", "sk-another-9876543210"
LABELS = ("entailment", "neutral", "contradiction")
PROMPT = "Premise: {premise} Hypothesis: {hypothesis} Does the premise entail the hypothesis? Answer:"
QUIET = {"accelerator": "cpu", "enable_progress_bar": False, "log_every_n_steps": 1}


def answer(body: dict[str, Any], n: int = 0) -> str:
    return "neutral" if share_of(question_of(body)) < 0.3 else "Entailment"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty working directory, and an environment without the variables of a server."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def pairs(**settings: Any) -> PairedData:
    """Data from rows in memory, without prompts."""
    rows = [
        {"premise": f"{n} men walk", "hypothesis": f"{n % 5} people move", "label": LABELS[n % 3]} for n in range(12)
    ]
    named = {"name": "mine", "parts": {part: part for part in ("premise", "hypothesis")}, "default_label": "neutral"}
    return heedful.load_data(rows, labels={label: [label] for label in LABELS}, **named | settings)


def planted() -> PairedData:
    return heedful.load_data("planted", n_validation=12)


def measured(endpoint: Any, data: PairedData | None = None, **more: Any) -> Results:
    return heedful.evaluate(endpoint, pairs() if data is None else data, trainer=QUIET, **more)  # type: ignore


def asked(results: Results) -> dict[str, Any]:
    """The prompt in run.json, with the text of the first question."""
    prompt = json.loads((results.folder / "run.json").read_text())["prompt"]
    return prompt | {"text": prompt["sent"]["body"]["messages"][0]["content"]}


def bytes_of(folder: Path) -> bytes:
    return (folder / "results.json").read_bytes()


# prompts


def test_several_prompts_have_a_list_of_results(tmp_path: Path) -> None:
    prompt, names = {"tuples": 1, "seeds": 2}, [f"plain-plain-k1-seed{seed}" for seed in range(2)]
    with FakeServer(answer) as fake:
        endpoint = heedful.Endpoint(fake.url, "m", cache=str(tmp_path / "cache"))
        in_memory = heedful.measure(endpoint, planted(), prompt=prompt, draws=1, trainer=QUIET)
        saved = heedful.measure(endpoint, planted(), prompt=prompt, draws=1, trainer=QUIET, output=tmp_path / "out")
        by_command = heedful.evaluate(endpoint, planted(), prompt=prompt, trainer=QUIET, output=tmp_path / "command")
    assert [result.folder for result in by_command] == [tmp_path / "command" / name for name in names]
    assert [result.folder for result in in_memory] == [None, None]
    assert [result.folder for result in saved] == [tmp_path / "out" / name for name in names]
    assert [result.numbers for result in saved] == [result.numbers for result in in_memory]
    again = in_memory[1].save(tmp_path / "again" / names[1])
    assert asked(again)["seed"] == asked(saved[1])["seed"] == 1


def test_one_part_alone_is_asked_about_without_the_words_of_the_other() -> None:
    with FakeServer(answer) as fake:
        text = asked(measured(heedful.Endpoint(fake.url, "m", PROMPT), pairs(partial="hypothesis")))["text"]
    assert "Premise:" not in text
    assert "Hypothesis: " in text


# as on the command line


def test_each_wording_is_saved_by_the_command(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer(answer) as fake:
        (here / "served.py").write_text(f"import heedful\nmodel = heedful.Endpoint({fake.url!r}, 'm', {PROMPT!r})\n")
        lines = (f"{n} men walk,{n % 5} people move,{LABELS[n % 3]}" for n in range(12))
        (here / "rows.csv").write_text("\n".join(["premise,hypothesis,label", *lines]))
        monkeypatch.setattr(sys, "path", list(sys.path))
        words = ["served:model", "rows.csv", "--parts", "premise,hypothesis", "--default_label", "neutral"]
        command.main(["measure", *words, "--prompt.wordings", "plain,prompt", "--trainer.accelerator", "cpu"])
    saved = sorted(path.parent.name for path in here.glob("runs/rows/model/measured/version_0/*/report.html"))
    assert saved == ["plain-plain-k0-seed0", "prompt-plain-k0-seed0"]


@pytest.mark.slow
@pytest.mark.parametrize("prompt", [None, PROMPT])
def test_the_numbers_are_those_of_the_command(prompt: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    more = [] if prompt is None else ["--endpoint.prompt", prompt]
    with FakeServer(answer) as fake:
        results = measured(heedful.Endpoint(fake.url, "org/tiny", prompt, key=KEY, cache="one.sqlite"), planted())
        in_python = len(fake.requests)
        monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
        words = [
            "--data=planted",
            "--data.n_validation=12",
            "--endpoint=org/tiny",
            "--endpoint.cache=two.sqlite",
            "--output=shell",
        ]
        run(command.evaluate, *words, *more)
        assert len(fake.requests) == 2 * in_python
        again = measured(None, planted(), config="shell/config.yaml", output="again")
    assert bytes_of(results.folder) == bytes_of(Path("shell"))
    assert asked(again)["sent"] == asked(results)["sent"]


def test_a_dry_run_needs_no_key_and_sends_nothing(here: Path) -> None:
    requests = measured(heedful.Endpoint("https://models.example/v1", "m", PROMPT), dry_run=True)
    assert "Nothing was sent" in str(requests)
    of_function = heedful.measure(abs, pairs(), dry_run=True)
    assert "abs" in str(of_function)
    assert of_function.totals["together"][0] == requests.totals["together"][0]
    assert not list(here.iterdir())


# servers and keys


@pytest.mark.slow
def test_two_servers_share_nothing() -> None:
    """Two servers share neither answers nor keys, although the models have the same name and the same cache."""
    with FakeServer(answer) as one, FakeServer(lambda body, n: "Contradiction") as two:
        first, second = heedful.Endpoint(one.url, "m", key=KEY), heedful.Endpoint(two.url, "m", key=OTHER)
        results = [measured(endpoint) for endpoint in (first, second)]
        for fake, key in ((one, KEY), (two, OTHER)):
            assert {headers["authorization"] for headers in fake.headers} == {f"Bearer {key}"}
        assert len(one.requests) > 24
        sent = len(two.requests)
        assert sent > 24
        again = measured(second.with_arguments(concurrency=2))  # a copy has the same server
        assert len(two.requests) > sent
    rows = [[row["y"] for row in one.rows_of("accuracy").to_pylist()] for one in (*results, again)]
    assert set(rows[1]) == {"contradiction"}
    assert rows[1] == rows[2] != rows[0]
    servers = [json.loads((one.folder / "run.json").read_text())["server"] for one in (*results, again)]
    assert servers[1] == servers[2] != servers[0]


def random_key(kind: str, seed: int) -> str:
    """A key that occurs nowhere else."""
    draw = random.Random(f"{kind}{seed}")
    if kind == "words":
        return " ".join("".join(draw.choices("bcdfghjklmnpqrstvwz", k=7)) for _ in range(3))
    letters = string.digits if kind == "digits" else string.ascii_letters + string.digits
    return "".join(draw.choices(letters, k=6 if kind == "short" else 20))


@pytest.mark.parametrize("kind", ["words", "digits", "short", "path", "query", "user"])
def test_secrets_reach_no_file(
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
    here: Path,
    capsys: pytest.CaptureFixture,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A secret is neither written nor shown, although it is an argument of the script."""
    secret = random_key(kind, 1)
    with caplog.at_level(logging.DEBUG), FakeServer(answer) as fake:
        host = fake.url.removeprefix("http://").removesuffix("/v1")
        urls = {
            "path": f"http://{host}/{secret}/v1",
            "query": f"{fake.url}?k={secret}",
            "user": f"http://me:{secret}@{host}/v1",
        }
        url, key = urls.get(kind, fake.url), None if kind in urls else secret
        monkeypatch.setattr(sys, "argv", ["mine.py", f"--key={key}", url])
        endpoint = heedful.Endpoint(url, "m", PROMPT, key)
        results = measured(endpoint)
    results.show()
    page = results._repr_html_()
    assert json.loads((results.folder / "run.json").read_text())["command"] == ["mine.py"]
    shown = f"{endpoint!r} {vars(endpoint)} {endpoint.arguments} {capsys.readouterr()} {caplog.text} {page}"
    assert secret not in shown
    files = {path.name: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    assert {"answers.sqlite", "config.yaml", "run.json", "results.json", "report.html"} <= files.keys()
    assert not [name for name, content in files.items() if secret.encode() in content]


def test_an_answer_that_contains_the_key_comes_back_unmodified(here: Path) -> None:
    told = "none of the models knows"
    with FakeServer(lambda body, n: told if share_of(question_of(body)) < 0.4 else "neutral") as fake:
        results = measured(heedful.Endpoint(f"{fake.url}/models", "m", PROMPT, "none"))
    ((text, n),) = json.loads(bytes_of(results.folder))["counts"]["no_answers"]
    assert text == told
    assert n > 0
    assert told.encode() in b"".join(path.read_bytes() for path in (here / "runs").glob("answers.sqlite*"))
