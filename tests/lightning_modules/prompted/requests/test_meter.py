"""What people see of costs."""

import io
import re

import pytest
from rich.console import Console

from heedful.lightning_modules.prompted.requests import meter as module
from heedful.lightning_modules.prompted.requests.answers import Totals
from heedful.lightning_modules.prompted.requests.meter import Meter, cost, spent


def test_costs():
    assert cost(2_000_000, 500_000, [0.5, 2.0]) == 2.0
    assert spent(Totals(1200, 60_000, 2400), [0.5, 2.0]).endswith("60,000 tokens read and 2,400 written, 0.03 USD")
    assert spent(Totals(1, 2, 3), None) == "1 requests sent, 2 tokens read and 3 written"


@pytest.fixture
def clock(monkeypatch):
    """The time in seconds, which a test sets."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_a_log_has_a_line_a_minute(clock, monkeypatch):
    said, asked = [], []
    monkeypatch.setattr(module, "rank_zero_info", said.append)
    meter = Meter("m", None, lambda: asked.append(1) or Totals(len(asked), 0, 0), shown=True)
    assert not meter.shown  # there is no terminal here
    with meter.running() as tick:
        for now in (1, 59, 61, 62, 119, 122):
            clock[0] = now
            tick()
    assert said == [f"m: {n} requests sent, 0 tokens read and 0 written so far." for n in (1, 2)]
    assert len(asked) == 2


def test_a_terminal_has_one_line_that_changes(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(module, "get_console", lambda: console)
    monkeypatch.setattr("rich.live.get_console", lambda: console)
    monkeypatch.setattr(module, "OFTEN", 0.0)
    counts = iter(range(9))
    meter = Meter("m", [1.0, 1.0], lambda: Totals(next(counts), 0, 0))
    with meter.running() as tick:
        tick()
    shown = [int(n) for n in re.findall(r"m: (\d+) requests", console.file.getvalue())]
    assert list(dict.fromkeys(shown)) == [0, 1]
    assert "0.00 USD" in console.file.getvalue()
