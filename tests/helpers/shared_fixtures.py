"""Fixtures: tiny models and tokenizers of the real classes, and the real data where there are any."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pytest
import tiny_data
import tiny_models
import torch
from hypothesis import settings

from heedful.datamodules import planted
from heedful.records.storage.results import locked

from made_rows import make
from run_lab import Forks, Lab

torch.set_num_threads(1)  # tiny models gain nothing from more, and lose much on a busy machine
settings.register_profile("heedful", max_examples=20, deadline=None, derandomize=True)
settings.register_profile("numbers", max_examples=50, deadline=None, derandomize=True)
settings.load_profile("heedful")

ROOT = Path(__file__).parents[2]


def skip_without_fork(*_: object) -> NoReturn:
    """Stands in for os.fork on Windows: the test that calls it is skipped."""
    pytest.skip("forks processes, which Windows cannot")


if not hasattr(os, "fork"):
    os.fork = skip_without_fork
SHARED = Path(os.environ.get("HEEDFUL_DATA", ROOT.parent / "shared" / "data"))


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Tests of interventions and metrics draw more examples; ``given`` takes the profile as its module is imported."""
    if isinstance(collector, pytest.Module):
        settings.load_profile("numbers" if {"interventions", "metrics"} & {*collector.path.parts} else "heedful")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data; the test is skipped where there is none."""
    if not SHARED.is_dir():
        pytest.skip(f"no real data in {SHARED}: set HEEDFUL_DATA to a folder with mnli/, rte/, qqp/, ...")
    return SHARED


def words_of_planted() -> list[str]:
    """Every word that a planted sentence can hold, in lower case."""
    phrases = [w for words in planted.CHOICES.values() for w in words]
    phrases += [*planted.HYPERNYM.values(), *planted.SYNONYM.values(), *planted.ANTONYM.values()]
    phrases += [*planted.CUES.values(), "the", "in", ".", ","]
    return sorted({word for phrase in phrases for word in phrase.lower().split()})


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a two-layer BERT of random weights and a word tokenizer that knows the planted data."""
    return tiny_models.bert(tmp_path_factory.mktemp("tiny_bert"), words_of_planted())


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """Runs commands and scripts in forks of one process, without their imports."""
    if os.fork is skip_without_fork:
        skip_without_fork()
    with Forks(tmp_path_factory.mktemp("forks")) as forks:
        yield forks


@pytest.fixture(scope="session")
def lab(tiny_bert: Path, forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Runs that are killed, stopped and taken up again, and whole ones to compare them with, which are only read."""
    return Lab(tiny_bert, tmp_path_factory.mktemp("lab"), forks)


@pytest.fixture(scope="session")
def tiny_vilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a two-layer ViLT of random weights, as it leaves pretraining."""
    return tiny_models.vilt(tmp_path_factory.mktemp("tiny_vilt"))


@pytest.fixture(scope="session")
def tiny_blip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a two-layer BLIP for question answering, of random weights."""
    return tiny_models.blip(tmp_path_factory.mktemp("tiny_blip"))


@pytest.fixture(scope="session")
def tiny_t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a two-layer T5 of random weights and a Unigram tokenizer that knows the planted data."""
    sentences = [text for e in planted.Planted(n_train=300).load("train") for text in e.parts.values()]
    sentences += ["mnli rte qqp premise: hypothesis: sentence1: sentence2: question1: question2:"]
    sentences += ["entailment neutral contradiction not_entailment duplicate not_duplicate"]
    return tiny_models.t5(tmp_path_factory.mktemp("tiny_t5"), sentences)


@pytest.fixture(scope="session")
def write_nlixy() -> Callable[[Path, Sequence[tuple[str, str]], Sequence[tuple[str, str, str]]], Path]:
    """``tiny_data.write_nlixy``."""
    return tiny_data.write_nlixy


@pytest.fixture(scope="session")
def write_squad() -> Callable[[Path, int], Path]:
    """``tiny_data.write_squad``."""
    return tiny_data.write_squad


@pytest.fixture(scope="session")
def write_squares() -> Callable[..., Path]:
    """``tiny_data.write_squares``."""
    return tiny_data.write_squares


@pytest.fixture(scope="session")
def rows_of() -> Callable[..., pa.Table]:
    """Makes rows from base predictions and changed examples."""
    return make


@pytest.fixture
def lock_elsewhere() -> Iterator[Callable[[Path], int]]:
    """Locks a folder in another process; returns the id of that process."""
    children = []

    def hold(folder: Path) -> int:
        read, write = os.pipe()
        children.append(os.fork())
        if not children[-1]:
            with locked(folder):
                os.write(write, b"1")
                time.sleep(120)
            os._exit(0)
        os.read(read, 1)
        return children[-1]

    yield hold
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
