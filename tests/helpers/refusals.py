"""Expect errors by their class and the facts in their message, such as names, rows and numbers."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from heedful.records import HeedfulError


@contextmanager
def refused(kind: type[HeedfulError], *facts: object) -> Iterator[pytest.ExceptionInfo[HeedfulError]]:
    """Expect an error of a class whose message contains each fact."""
    with pytest.raises(kind) as caught:
        yield caught
    holds(str(caught.value), *facts)


def refused_output(output: str, *facts: object) -> None:
    """Expect that the last line of an output is ``train.py: message`` and contains each fact."""
    line = output.strip().splitlines()[-1]
    assert re.match(r"(heedful )?[\w.-]+: ", line), f"not an error of a command: {line}"
    holds(line, *facts)


def holds(message: str, *facts: object) -> None:
    """Expect that a message contains each fact."""
    for fact in facts:
        assert str(fact) in message, f"{fact!r} is not in: {message}"
