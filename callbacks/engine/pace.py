"""How far a long evaluation is: a line now and then, where no progress bar can be seen."""

import time

from pytorch_lightning.utilities import rank_zero_info
from rich import get_console

EVERY = 60.0  # seconds between two lines


class Pace:
    """Says in a log file how far something is, at most once a minute. In a terminal a progress bar does.

    Args:
        what: What is being done.
        total: How many examples there are.
    """

    def __init__(self, what: str, total: int) -> None:
        self.what = what
        self.total = total
        self.done = 0
        self._begin = self._last = time.monotonic()

    def advance(self, examples: int) -> None:
        """So many more examples are done."""
        self.done += examples
        now = time.monotonic()
        if now - self._last >= EVERY and not get_console().is_terminal:
            self._last = now
            minutes = (now - self._begin) / 60
            rank_zero_info(f"{self.what}: {self.done:,} of {self.total:,} examples after {minutes:.0f} min.")
