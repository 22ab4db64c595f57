"""What people see of costs."""

import io
import re

import pytest
from rich.console import Console

from heedful.lightning_modules.prompted.requests import meter as module
from heedful.lightning_modules.prompted.requests.meter import Meter, cost
from heedful.lightning_modules.prompted.requests.reply import Reply
from heedful.lightning_modules.prompted.requests.server import Unusable


def test_costs():
    assert cost(2_000_000, 500_000, [0.5, 2.0]) == 2.0
    meter = Meter("m", [0.5, 2.0])
    for _ in range(1200):
        meter.add(Reply(read=50, wrote=2))
    assert meter.text == "m: 1,200 requests sent, 60,000 tokens read and 2,400 written, 0.03 USD"
    meter = Meter("m")
    meter.add(Unusable("nonsense"))
    assert meter.text == "m: 1 requests sent, 0 tokens read and 0 written"


@pytest.fixture
def clock(monkeypatch):
    """The time in seconds, which a test sets."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_a_log_has_a_line_a_minute(clock, monkeypatch):
    said = []
    monkeypatch.setattr(module, "inform", said.append)
    meter = Meter("m", shown=True)
    assert not meter.shown  # there is no terminal here
    with meter.running() as tick:
        for now in (1, 59, 61, 62, 119, 122):
            clock[0] = now
            meter.add(Reply())
            tick()
    assert said == [f"m: {n} requests sent, 0 tokens read and 0 written so far." for n in (3, 6)]


def test_a_terminal_has_one_line_that_changes(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(module, "get_console", lambda: console)
    monkeypatch.setattr("rich.live.get_console", lambda: console)
    monkeypatch.setattr(module, "OFTEN", 0.0)
    meter = Meter("m", [1.0, 1.0])
    with meter.running() as tick:
        meter.add(Reply())
        tick()
    shown = [int(n) for n in re.findall(r"m: (\d+) requests", console.file.getvalue())]
    assert list(dict.fromkeys(shown)) == [0, 1]
    assert "0.00 USD" in console.file.getvalue()
