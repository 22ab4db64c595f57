"""Which explained examples are shown, in which colours, with which numbers."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.attributions.sample import example
from heedful.reports.page import words
from heedful.reports.page.words import explanations, legend, numbers, phi_text, scale_of, share_of

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


@pytest.mark.parametrize("theme", [0, 1])
def test_text_can_be_read_on_the_full_colours_of_both_themes(theme):
    css = Path(words.__file__).with_name("page.css").read_text()
    color = {name: re.findall(rf"--{name}:(#[0-9a-f]{{3,6}})\b", css)[theme] for name in ("text", "up", "down")}
    text, up, down = (luminance(color[name]) + 0.05 for name in ("text", "up", "down"))
    assert min(max(text, end) / min(text, end) for end in (up, down)) >= 4.5  # contrast
    assert up == pytest.approx(down, abs=0.03)


@given(PHI, PHI)
def test_more_has_a_stronger_colour(first, second):
    less, more = sorted((abs(first), abs(second)))
    for sign in (-1, 1):
        assert share_of(sign * less, 10.0) <= share_of(sign * more, 10.0)


def test_the_ends_of_the_scale_and_what_is_no_number():
    assert share_of(5.0, 0.5) == share_of(math.inf, 0.5) == share_of(-0.5, 0.5) == 1.0
    assert share_of(math.nan, 0.5) == share_of(0.0, 0.0) == share_of(1.0, 0.0) == 0.0
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
