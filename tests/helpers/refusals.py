"""Errors that a user can fix are asked for by their class and the facts in their message."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from heedful.records import HeedfulError


@contextmanager
def refused(kind: type[HeedfulError], *facts: object) -> Iterator[pytest.ExceptionInfo[HeedfulError]]:
    """Expect an error of this class, whose message holds each fact (names, rows, numbers; not our words)."""
    with pytest.raises(kind) as caught:
        yield caught
    holds(str(caught.value), *facts)


def refused_output(output: str, *facts: object) -> None:
    """Expect that what a command printed ends with one line, ``train.py: message``, which holds each fact."""
    line = output.strip().splitlines()[-1]
    assert re.match(r"(heedful )?[\w.-]+: ", line), f"not an error of a command: {line}"
    holds(line, *facts)


def holds(message: str, *facts: object) -> None:
    """Expect each fact in a message."""
    for fact in facts:
        assert str(fact) in message, f"{fact!r} is not in: {message}"
