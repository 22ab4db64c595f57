"""Which explained examples are shown, in which colours, with which numbers."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.attributions.sample import example
from heedful.reports.page.words import color, explanations, legend, line_color, numbers, phi_text, scale_of

from word_cases import several

PHI = st.floats(-10, 10)


def uid_of(explanation):
    return next(iter(explanation.values())).uid


def channels(code):
    assert len(code) == 7
    return [int(code[k : k + 2], 16) for k in (1, 3, 5)]


def luminance(code):
    """Relative luminance of WCAG 2."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in channels(code))]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@given(PHI, st.floats(0.001, 10))
def test_colours_are_symmetric_and_black_can_be_read_on_them(phi, scale):
    above, below = color(abs(phi), scale), color(-abs(phi), scale)
    assert luminance(above) == pytest.approx(luminance(below), abs=0.03)
    assert min((luminance(code) + 0.05) / 0.05 for code in (above, below)) >= 7  # contrast
    (red, _, blue), (red_below, _, blue_below) = channels(above), channels(below)
    assert red >= blue
    assert red_below <= blue_below


@given(PHI, PHI)
def test_more_has_a_stronger_colour_and_only_what_is_below_zero_a_line(first, second):
    less, more = sorted((abs(first), abs(second)))
    for sign in (-1, 1):
        pale, strong = (sum(channels(color(sign * phi, 10.0))) for phi in (less, more))
        assert pale >= strong
    assert line_color(more, 10.0) == "#ffffff"
    assert sum(channels(line_color(-more, 10.0))) <= sum(channels(color(-more, 10.0)))


def test_the_ends_of_the_scale_and_what_is_no_number():
    assert color(5.0, 0.5) == color(math.inf, 0.5) == color(0.5, 0.5) != color(0.25, 0.5)
    assert color(math.nan, 0.5) == color(0.0, 0.0) == color(1.0, 0.0) == "#ffffff"
    assert legend(0.3) == pytest.approx([-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3])


def test_those_with_a_part_swapped_are_shown_or_else_the_first_ten():
    made = several(12)
    assert [uid_of(e) for e in explanations(made)] == [f"d/{k:02d}" for k in range(10)]
    for k in (11, 3):
        swapped = [replace(one, variant="swap a") for one in made if one.uid == f"d/{k:02d}"]
        made += swapped
    made.sort(key=lambda one: (one.uid, one.method, one.variant))
    changed = explanations(made)
    assert [uid_of(e) for e in changed] == ["d/03", "d/11"]
    assert set(changed[0]) == {(method, variant) for method in ("lime", "shap") for variant in ("", "swap a")}
    assert [uid_of(e) for e in explanations(made, 1)] == ["d/03"]
    assert explanations([]) == []


def test_the_scale_is_that_of_all_words_methods_and_variants():
    small, large = example("it ran", [0.1, math.nan]), example("it", [0.0], separators=[-0.7])
    (shown,) = explanations([small, replace(large, method="zap", variant="swap a")])
    assert scale_of(shown) == 0.7
    assert scale_of(explanations([example("", [])])[0]) == 0.0


def test_an_error_is_told_where_something_is_drawn():
    one = example("it ran", [0.25, -0.5])
    assert numbers(one) == "f(x) -0.250, f(nothing) 0.000, delta +0.0000"
    drawn = replace(one, errors={"a": np.array([0.01, math.nan])}, delta=-1e-9)
    assert numbers(drawn).endswith("delta +0.0000, mean error of a phi 0.0100")
    assert phi_text(0.25, 0.01) == "+0.2500 ± 0.0100"
    assert phi_text(0.25) == "+0.2500"
