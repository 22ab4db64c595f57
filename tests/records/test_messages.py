"""Which process logs messages, and to which stream."""

import io
import logging
import sys
from types import SimpleNamespace

import pytest

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


def distributed(initialized: bool, number: int) -> SimpleNamespace:
    return SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: initialized, get_rank=lambda: number, rank=number
    )


def test_a_message_is_a_line_on_the_stderr_of_the_moment(bare, capsys):
    with bare.context() as patch:
        patch.setattr(logging.getLogger(), "handlers", [])  # in place of pytest's
        for number in range(2):
            inform(f"message {number}: 5 % of it")
            assert capsys.readouterr() == ("", f"message {number}: 5 % of it\n")
        patch.setattr(sys, "stderr", io.StringIO())
        inform("another stream")
        found = sys.stderr.getvalue()
        patch.setattr(logging.getLogger(), "handlers", [logging.NullHandler()])
        inform("a logger of the caller")
        assert sys.stderr.getvalue() == found == "another stream\n"


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
