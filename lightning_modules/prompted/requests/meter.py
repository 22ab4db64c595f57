"""What an evaluation of a server has cost so far, for people."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pytorch_lightning.utilities import rank_zero_info
from rich import get_console
from rich.live import Live
from rich.text import Text

from heedful.lightning_modules.prompted.requests.answers import Totals

EVERY = 60.0  # seconds between two lines, where no bar can be seen
OFTEN = 0.25  # seconds between two looks at the totals, where one can: they are a sum over a file


class Meter:
    """Shows requests, tokens and costs of all processes: below the progress bar, or now and then in a line.

    Args:
        name: Of the model.
        prices: US dollars for a million tokens that are read, and for a million that are written; None where unknown.
        totals: What was sent so far.
        shown: Whether this process shows anything in the terminal.
    """

    def __init__(
        self, name: str, prices: Sequence[float] | None, totals: Callable[[], Totals], shown: bool = True
    ) -> None:
        self.name = name
        self.prices = prices
        self.totals = totals
        self.shown = shown and get_console().is_terminal
        self._last = time.monotonic()

    @property
    def text(self) -> str:
        """One line."""
        return f"{self.name}: {spent(self.totals(), self.prices)}"

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
            rank_zero_info(f"{self.text} so far.")

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


def spent(totals: Totals, prices: Sequence[float] | None) -> str:
    """Totals in words.

    Example:
        >>> spent(Totals(1200, 60_000, 2400), [0.5, 2.0])
        '1,200 requests sent, 60,000 tokens read and 2,400 written, 0.03 USD'
    """
    paid = f", {cost(totals.read, totals.wrote, prices):,.2f} USD" if prices else ""
    return f"{totals.requests:,} requests sent, {totals.read:,} tokens read and {totals.wrote:,} written{paid}"
