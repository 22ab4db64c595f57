"""Refusals are asked for by their codes; what they say is read by one function."""

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from heedful.records import HeedfulError
from heedful.records.refusals import REFUSALS

COLUMNS, LINES = 80, 3
NAME = "evaluate.py: "
JARGON = re.compile(
    r"\b(state_dict|kwargs|args\[|dtype|tensors?|logits|NoneType|traceback|isinstance|(?<!\.)nn\.|forward pass|"
    r"instantiat|size mismatch|missing keys?|unexpected keys?|__\w+__|subclass|callable|iterable|namespace|"
    r"deseriali|serialis)",
    re.IGNORECASE,
)
OURS = re.compile(
    r"\b(heedful/|lightning_modules/|datamodules/|callbacks/|site-packages|(?!train\.py|evaluate\.py)\w+\.py\b)"
)


@contextmanager
def refused(code: str, *facts: object) -> Iterator[pytest.ExceptionInfo[HeedfulError]]:
    """Expect a refusal with this code, whose message holds each fact (names, rows, numbers; not our words)."""
    with pytest.raises(HeedfulError) as caught:
        yield caught
    read(caught.value.code, str(caught.value), code, *facts)


def told(output: str, code: str, *facts: object) -> None:
    """What a command printed ends with a refusal of this code, whose message holds each fact."""
    line = output.strip().splitlines()[-1]
    match = re.search(r"^[\w.-]+: (.*) \[([a-z-]+)\]$", line)
    assert match, f"not a refusal: {line}"
    read(match[2], match[1], code, *facts)


def read(given: str, message: str, code: str, *facts: object) -> None:
    """Compare a refusal with what is expected of it, and read its message."""
    assert code in REFUSALS, f"{code} is not a code"
    assert given == code, f"[{given}] {message}"
    for fact in facts:
        assert str(fact) in message, f"{fact!r} is not in: {message}"
    assert not (faults := faults_of(message, code)), f"{faults}: {message}"


def faults_of(message: str, code: str) -> list[str]:
    """What a reader would not like about a message: paths of ours, jargon, no end, more than three lines."""
    short = re.sub(r"(?:/[^\s/,;:]+){3,}(?=/)", "", message)  # a user's paths are shorter than those of tests
    own = re.sub(r"\([^()]*\)", "", short)  # what a library says stands in brackets
    found = [match[0] for match in (JARGON.search(own), OURS.search(short)) if match]
    faults = [f"holds {words!r}" for words in found]
    if not re.search(r"[.?]$", message.rstrip("'\")")):
        faults.append("has no end")
    if len(textwrap.wrap(f"{NAME}{short} [{code}]", COLUMNS)) > LINES:
        faults.append(f"takes more than {LINES} lines of {COLUMNS} columns")
    return faults
