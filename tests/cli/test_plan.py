"""``heedful plan``: pilots that were measured, a model, and a server, which nobody asks before somebody agrees."""

import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

import heedful
from heedful.cli.command import main as run_heedful
from heedful.cli.plan import main
from heedful.datamodules import Planted
from heedful.metrics.statistics import study_size

from commands import QUIET
from fake_server import FakeServer, question_of, share_of
from refusals import refused, told

pytestmark = pytest.mark.slow  # hundreds of data sets

SMALL = ["--data", "planted", "--data.n_validation", "600"]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty working directory, in a terminal of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path


@pytest.fixture(autouse=True)
def _few_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the tests are fast; tests/metrics/statistics/test_study_size.py asks what they say."""
    monkeypatch.setattr(study_size, "STUDIES", 25)


@pytest.fixture(scope="module")
def classifier(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of three labels, which learned nothing."""
    folder = tmp_path_factory.mktemp("classifier")
    labels = dict(enumerate(["entailment", "neutral", "contradiction"]))
    torch.manual_seed(0)
    config = BertConfig.from_pretrained(tiny_bert, num_labels=3, id2label=labels, label2id={})
    model = BertForSequenceClassification(config)
    with torch.no_grad():
        model.classifier.weight.normal_(std=3)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def pilots(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Results of two functions on the same examples: one looks at the hypothesis alone, the other at both."""
    pool = Planted(n_train=3, n_validation=150).load("validation")
    rows = [{**example.parts, "label": example.label} for example in pool]
    folders = []
    for name, parts in (("blind", ["hypothesis"]), ("seeing", ["premise", "hypothesis"])):

        def predict(inputs: list[dict[str, str]], parts: Sequence[str] = parts) -> list[str]:
            labels = ["entailment", "neutral", "contradiction"]
            return [labels[sum(len(row[part]) for part in parts) % 3] for row in inputs]

        folders.append(tmp_path_factory.mktemp("pilots") / name)
        settings = {"draws": 2, "output": folders[-1], "trainer": {"enable_progress_bar": False}}
        heedful.measure(predict, rows, ["premise", "hypothesis"], "neutral", **settings)
    return folders


def plan(*words: object) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["heedful", "plan", *map(str, words)])
        run_heedful(["plan", *map(str, words)])


def test_a_pilot_that_was_measured(here: Path, pilots: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    plan("--pilot", pilots[1], "--width", ".1")
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    (accuracy,) = re.findall(r"^accuracy +[\d.]+ \[.*\] +(\d+) \(a\) +(\d+)", out, re.MULTILINE)
    assert 250 < int(accuracy[0]) < 500
    assert int(accuracy[1]) == 2 * int(accuracy[0])  # with the null control
    for part in ("premise", "hypothesis"):
        one, two = (
            int(re.search(rf"attentiveness {part}, {draws} +\S+ \[.*\] +(\d+)", out)[1])
            for draws in ("1 draw", "2 draws")
        )
        assert two < one
    assert "(a) more than the data have: 150." in out


def test_two_pilots(here: Path, pilots: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    plan("--compare", *pilots)
    out = capsys.readouterr().out
    assert re.search(r"attentiveness premise, 1 draw +\+\d\d\.\d \[", out)
    few = int(re.search(r"attentiveness premise, 1 draw .*\] +(\d+)", out)[1])
    assert few < 60  # all or nothing
    plan("--compare", *pilots, "--difference", ".1")
    many = int(re.search(r"attentiveness premise, 1 draw .*\] +(\d+)", capsys.readouterr().out)[1])
    assert many > few


def test_what_is_refused_at_once(pilots: list[Path]) -> None:
    folder = str(pilots[0])
    for words, code in (
        ([], "missing-setting"),
        (["--pilot", folder], "missing-setting"),
        (["--width", ".02", "--pilot", "0"], "bad-setting"),
        (["--width", "wide"], "bad-setting"),
        (["--width", ".02", "--pilot", folder, "--data", "rte"], "idle-setting"),
        (["--width", ".02", "--pilot", folder, "--compare", folder, str(pilots[1])], "clashing-settings"),
        (["--width", ".02", "--compare", folder, folder], "repeated-name"),
        (["--width", "2", "--data", "rte"], "bad-setting"),
        (["--width", "2", "--pilot", folder], "bad-setting"),
        (["--width", ".02", "--pilot", folder, "--difference", ".1"], "idle-setting"),
        (["--width", ".02", "--difference", ".1", "--compare", *map(str, pilots)], "clashing-settings"),
        (["--width", ".02", "--difference", ".1", "--data", "rte"], "idle-setting"),
        (["--width", ".02", "--pilot", "-3", "--data", "rte"], "bad-setting"),
        (["--width", ".02", "--data", "rte", "--yes"], "idle-setting"),
        (["--width", ".02", "--data", "rte", "--trainer.limit_val_batches", "3"], "idle-setting"),
        (["--compare", folder, str(pilots[1]), "--pilot", "500"], "idle-setting"),
        (["--compare", "one", "two", "--endpoint", "three"], "clashing-settings"),
        (["--width", ".02", "--pilot", folder, "--price_in", "1"], "missing-setting"),
    ):
        with refused(code):
            main(words)


def test_what_is_refused_of_pilots(pilots: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(pilots[0])
    for words, code in (
        (["--width", ".02", "--pilot", "missing"], "missing-file"),
        (["--width", ".02", "--pilot", folder, "--price_in", "1", "--price_out", "2"], "idle-setting"),
    ):
        with pytest.raises(SystemExit):
            plan(*words)
        told(capsys.readouterr().err.replace("heedful plan", "plan"), code)


def test_a_model(here: Path, classifier: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan(
        *SMALL,
        "--model",
        classifier,
        "--model.max_length",
        "64",
        "--width",
        ".15",
        "--pilot",
        "60",
        "--attentiveness.draws",
        "2",
        *QUIET,
    )
    out = capsys.readouterr().out
    assert "Pilot: 60 examples" in out
    assert re.search(r"Fewest forwards, [\d,]+: heedful evaluate with\n +--data.eval_batch_size \d+ ", out)


def test_two_models_on_a_pilot(here: Path, classifier: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which are the same, so that there is no difference to tell until somebody names one."""
    same = shutil.copytree(classifier, here / "same")
    words = [*SMALL, "--compare", classifier, same, "--model.max_length", "64", "--pilot", "60", *QUIET]
    plan(*words, "--attentiveness.draws", "1")
    assert re.search(r"attentiveness premise, 1 draw +\+0.0 \[.*\] +n/a", capsys.readouterr().out)
    plan(*words, "--attentiveness.draws", "1", "--difference", ".2")
    assert re.search(r"attentiveness premise, 1 draw +\+0.0 \[.*\] +\d+", capsys.readouterr().out)


def answer(body: dict, n: int = 0) -> str:
    return "neutral" if share_of(question_of(body)) < 0.3 else "Entailment"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    pytest.importorskip("openai", reason="openai is not installed: pip install 'openai>=3.54'")
    with FakeServer(answer) as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
        yield fake


def test_a_server_is_asked_once_somebody_agrees(
    here: Path, server: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*SMALL, "--endpoint", "org/tiny", "--width", ".15", "--pilot", "60", *QUIET]
    words += ["--attentiveness.draws", "2", "--price_in", "100", "--price_out", "200"]
    plan(*words)
    out = capsys.readouterr().out
    assert not server.requests
    assert re.search(r"base +60 requests .* USD", out)
    assert re.search(r"At worst 185 examples: 740 requests, about [\d,]+ tokens to read, [\d.]+ USD", out)
    plan(*words, "--yes")
    out = capsys.readouterr().out
    asked = len(server.requests)
    assert asked > 100
    assert re.search(r"^number +read +written, at most +USD", out, re.MULTILINE)
    few = int(re.search(r"Fewest forwards, ([\d,]+):", out)[1].replace(",", ""))
    settings = shlex.split(out.split("heedful evaluate with\n")[1])
    study = [*SMALL, "--endpoint", "org/tiny", "--evaluations", "accuracy,attentiveness", *settings, *QUIET]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["heedful", "evaluate", *study])
        run_heedful(["evaluate", *study])
    assert len(server.requests) <= 1.1 * few + 60  # the null control of the pilot is asked again
    assert len(server.requests) - asked < 0.8 * few  # what the pilot asked is not asked again
