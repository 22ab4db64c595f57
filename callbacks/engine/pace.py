"""How far a long training or evaluation is: a line now and then, where no progress bar can be seen."""

import time

from rich import get_console

from heedful.records import inform

EVERY = 60.0  # seconds between two lines


class Pace:
    """Says in a log file how far something is, at most once a minute. In a terminal a progress bar does.

    Args:
        what: What is being done.
        total: How many examples there are, or steps.
        unit: What is counted.
        done: How many were done before.
    """

    def __init__(self, what: str, total: int, unit: str = "examples", done: int = 0) -> None:
        self.what = what
        self.total = total
        self.unit = unit
        self.done = self._before = done
        self._begin = self._last = time.monotonic()

    def advance(self, more: int) -> None:
        """So many more are done."""
        self.done += more
        now = time.monotonic()
        if now - self._last >= EVERY and self._before < self.done < self.total and not get_console().is_terminal:
            self._last = now
            minutes = (now - self._begin) / 60
            left = minutes / (self.done - self._before) * (self.total - self.done)
            told = f"{self.what}: {self.done:,} of {self.total:,} {self.unit} after {minutes:.0f} min"
            inform(f"{told}, about {left:.0f} min left.")
