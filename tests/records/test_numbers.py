"""Numbers in results have 12 significant digits, so that processors whose last bits differ give the same results."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heedful.records import Measurement

FINITE = st.floats(-1e6, 1e6, allow_nan=False)


def test_all_values_are_rounded_and_nothing_else():
    raw = Measurement(
        2 / 3, 90, 2, 0.1 + 0.2, (0.126914798932845, 0.1269147989328449), (1e-17, -4.0), ("flag",), "why", 7
    )
    ci95 = (0.126914798933, 0.126914798933)
    assert raw.rounded() == Measurement(0.666666666667, 90, 2, 0.3, ci95, (0.0, -4.0), ("flag",), "why", 7)
    assert Measurement(None, 0, reason="no example").rounded() == Measurement(None, 0, reason="no example")


@given(FINITE, st.integers(-4, 4))
def test_another_last_bit_gives_the_same_number(value, bits):
    """Unless the value is next to a boundary between two numbers of 12 digits."""
    other = value
    for _ in range(abs(bits)):
        other = float(np.nextafter(other, np.inf if bits > 0 else -np.inf))
    rounded = Measurement(value, 1).rounded().value
    assert rounded == pytest.approx(value, rel=5e-12, abs=1e-15)
    step = 10.0 ** (np.floor(np.log10(abs(value))) - 11) if value else 1.0
    assume(abs(value - rounded) < 0.49 * step)
    assert Measurement(other, 1).rounded().value == rounded


@given(FINITE)
def test_rounding_twice_is_rounding_once(value):
    once = Measurement(value, 1, ci95=(value, value)).rounded()
    assert once.rounded() == once
