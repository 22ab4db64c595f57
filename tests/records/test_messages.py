"""Messages: who logs them, where they are seen, and that they stand above a progress bar."""

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from rich.console import Console
from rich.progress import Progress

from heedful.records import inform
from heedful.records.messages import RANK_VARIABLES, rank

LIGHTNING = "lightning_utilities.core.rank_zero"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A process that no launcher has started, without Lightning and without torch."""
    for name in RANK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name in (LIGHTNING, "torch.distributed"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return monkeypatch


@contextmanager
def handlers(*of_root: logging.Handler) -> Iterator[None]:
    """Those of the root logger, in place of pytest's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logging.getLogger(), "handlers", list(of_root))
        yield


def distributed(initialized: bool, number: int) -> SimpleNamespace:
    return SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: initialized, get_rank=lambda: number, rank=number
    )


def test_a_message_is_a_line_on_the_stderr_of_the_moment(bare, capsys):
    with handlers():
        for number in range(2):
            inform(f"message {number}: 5 % of it")
            assert capsys.readouterr() == ("", f"message {number}: 5 % of it\n")
        bare.setattr(sys, "stderr", io.StringIO())
        inform("another stream")
    assert sys.stderr.getvalue() == "another stream\n"


def test_it_stands_above_a_progress_bar(bare):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    bare.setattr(sys, "stderr", terminal)
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    with handlers():
        with Progress(console=console) as progress:
            progress.add_task("bar")
            inform("while it runs")
        inform("when it is done")
    assert "while it runs\n" in console.file.getvalue()
    assert terminal.getvalue() == "when it is done\n"


def test_the_rank_is_what_knows_best(bare):
    assert rank() == 0
    for number, name in enumerate(reversed(RANK_VARIABLES), start=1):
        bare.setenv(name, str(number))
        assert rank() == number
    bare.setitem(sys.modules, LIGHTNING, SimpleNamespace(rank_zero_only=lambda: None))
    assert rank() == 4
    bare.setitem(sys.modules, LIGHTNING, SimpleNamespace(rank_zero_only=SimpleNamespace(rank=5)))
    bare.setitem(sys.modules, "torch.distributed", distributed(False, 6))
    assert rank() == 5
    bare.setitem(sys.modules, "torch.distributed", distributed(True, 6))
    assert rank() == 6
