"""Two tiers of tests: `make test` runs the first, `make test-all` also the second, which is marked `slow`."""

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

posix = pytest.mark.skipif(os.name != "posix", reason="a signal ends a process of Windows at once")
costly = settings(max_examples=int(os.environ.get("HEEDFUL_EXAMPLES", 20)))  # each takes a tenth of a second


def first_tier(number: int, cases: Iterable[Any]) -> list[Any]:
    """Cases for ``parametrize``: the first ``number`` are in the first tier, the others are slow."""
    cases = list(cases)
    return cases[:number] + [slow(case) for case in cases[number:]]


def slow(case: Any) -> Any:
    """A case of the second tier, from a value, a tuple of values, or a ``pytest.param``."""
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, marks=[*case.marks, pytest.mark.slow], id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else [case]), marks=pytest.mark.slow)
