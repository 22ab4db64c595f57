"""What an evaluation of a server has cost so far, for people."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich import get_console
from rich.live import Live
from rich.text import Text

from heedful.lightning_modules.prompted.requests.reply import Reply
from heedful.records import inform

EVERY = 60.0  # seconds between two lines, where no bar can be seen
OFTEN = 0.25  # seconds between two changes of the line, where one can


class Meter:
    """Counts requests that got an answer, tokens and costs; shows them below the progress bar, or in a line a minute.

    Args:
        name: Of the model.
        prices: US dollars for a million tokens that are read, and for a million that are written; None where unknown.
        shown: Whether anything is shown in the terminal.
    """

    def __init__(self, name: str, prices: Sequence[float] | None = None, shown: bool = True) -> None:
        self.name = name
        self.prices = prices
        self.shown = shown and get_console().is_terminal
        self.requests = 0
        self.read = 0
        self.wrote = 0
        self._last = time.monotonic()

    def add(self, result: Reply | Exception) -> None:
        """Count an answer, whether or not it can be read."""
        self.requests += 1
        if isinstance(result, Reply):
            self.read += result.read
            self.wrote += result.wrote

    @property
    def text(self) -> str:
        """One line.

        Example:
            >>> Meter("m", [0.5, 2.0]).text
            'm: 0 requests sent, 0 tokens read and 0 written, 0.00 USD'
        """
        paid = f", {cost(self.read, self.wrote, self.prices):,.2f} USD" if self.prices else ""
        sent = f"{self.requests:,} requests sent, {self.read:,} tokens read and {self.wrote:,} written"
        return f"{self.name}: {sent}{paid}"

    @contextmanager
    def running(self) -> Iterator[Callable[[], None]]:
        """While requests are on their way; gives what to call now and then."""
        if not self.shown:
            yield self._line
            return
        with Live(Text(self.text), transient=True, auto_refresh=False) as live:

            def update() -> None:
                if self._is_due(OFTEN):
                    live.update(Text(self.text), refresh=True)

            yield update

    def _line(self) -> None:
        if self._is_due(EVERY):
            inform(f"{self.text} so far.")

    def _is_due(self, seconds: float) -> bool:
        """Whether so much time has passed since it was last asked and it had."""
        now = time.monotonic()
        if now - self._last < seconds:
            return False
        self._last = now
        return True


def cost(read: float, wrote: float, prices: Sequence[float]) -> float:
    """US dollars for so many tokens.

    Example:
        >>> cost(2_000_000, 500_000, [0.5, 2.0])
        2.0
    """
    return (read * prices[0] + wrote * prices[1]) / 1e6
