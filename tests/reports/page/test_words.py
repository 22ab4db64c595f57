"""Words coloured by their attribution: examples, strengths of colours, numbers, and escaped HTML."""

import math
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from heedful.reports.page.words import example_html, explanations, legend_values, numbers, phi_text, scale_of, share_of

from attribution_rows import example

HOSTILE = "<script>alert('1')</script> \"q\" &amp; $x^2$ \u202e\ud800 猫 " + "long" * 40


def several(n):
    """Attributions of n pairs by two methods."""
    pairs = [replace(example("it ran", [0.1, 0.2], "a cat", [0.3, -0.05]), uid=f"d/{k:02d}") for k in range(n)]
    return [replace(pair, method=method) for pair in pairs for method in ("lime", "shap")]


def parsed(text):
    """The headings, and the (word, number under the pointer, class and style) of the words in HTML."""
    words = re.findall(r'<span class="([ws][^"]*)" style="([^"]*)" title="([^"]*)">(.*?)</span>', text)
    headings = re.findall(r"<h[45]>(.*?)</h[45]>", text)
    return list(map(unescape, headings)), [(unescape(word), title, kind + style) for kind, style, title, word in words]


def test_the_ends_of_the_scale_and_values_without_a_number():
    assert share_of(5.0, 0.5) == share_of(math.inf, 0.5) == share_of(-0.5, 0.5) == 1.0
    assert share_of(math.nan, 0.5) == share_of(0.0, 0.0) == share_of(1.0, 0.0) == 0.0
    assert legend_values(0.3) == pytest.approx([-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3])
    small, large = example("it ran", [0.1, math.nan]), example("it", [0.0], separators=[-0.7])
    (explained,) = explanations([small, replace(large, method="zap", variant="swap a")])
    assert scale_of(explained) == 0.7
    assert scale_of(explanations([example("", [])])[0]) == 0.0


def test_a_standard_error_is_shown_if_masks_are_random():
    one = example("it ran", [0.25, -0.5])
    assert numbers(one) == "f(x) -0.250, f(nothing) 0.000, delta +0.0000"
    drawn = replace(one, errors={"a": np.array([0.01, math.nan])}, delta=-1e-9)
    assert numbers(drawn).endswith("delta +0.0000, mean error of a phi 0.0100")
    assert (phi_text(0.25, 0.01), phi_text(0.25)) == ("+0.2500 ± 0.0100", "+0.2500")


def test_examples_with_a_part_swapped_are_shown_or_else_the_first_ten():
    attributions = several(12)
    assert [explained["lime", ""].uid for explained in explanations(attributions)] == [f"d/{k:02d}" for k in range(10)]
    attributions += [replace(one, variant="swap a") for one in attributions if one.uid in ("d/03", "d/11")]
    changed = explanations(attributions)
    assert [explained["lime", ""].uid for explained in changed] == ["d/03", "d/11"]
    assert set(changed[0]) == {(method, variant) for method in ("lime", "shap") for variant in ("", "swap a")}


def test_texts_are_escaped_and_load_nothing():
    hostile = example(HOSTILE, [0.1] * len(HOSTILE.split()))
    text = example_html(explanations([replace(hostile, uid="<b>&uid</b>", y="<i>", gold='"')])[0])
    headings, words = parsed(text)
    assert headings[0] == '<b>&uid</b>, gold ", y <i>'
    assert [word for word, _, _ in words][:4] == ["<script>alert('1')</script>", '"q"', "&amp;", "$x^2$"]
    assert len(words) == len(HOSTILE.split()) + 1
    assert {*re.findall(r"<(\w+)", text)} == {"article", "div", "h4", "h5", "p", "section", "span"}
    assert not re.findall(r"url\(|\u202e", text)
    text.encode("utf-8")  # raises for half of a surrogate pair


def test_methods_stand_below_each_other_and_a_change_next_to_its_origin():
    lime, shap = several(1)
    swapped = example("no", [-0.4], "a cat", [0.1, -0.05], separators=[0.05, 0.0])
    swapped = replace(swapped, uid="d/00", variant="swap a", gold=None)
    errors = {"a": np.array([0.015]), "b": np.array([0.02, 0.03])}
    both = [replace(swapped, method="lime", errors=errors), replace(swapped, method="shap")]
    text = example_html(explanations([lime, both[0], shap, both[1]])[0])
    headings, words = parsed(text)
    assert headings == ["d/00, gold yes, y yes", "lime, as it is", "lime, swap a", "shap, as it is", "shap, swap a"]
    before, after = ["it", "ran", "[SEP]", "a", "cat", "[SEP]"], ["no", "[SEP]", "a", "cat", "[SEP]"]
    assert [word for word, _, _ in words] == [*before, *after, *before, *after]
    phis = ["-0.4000 ± 0.0150", "+0.0500", "+0.1000 ± 0.0200", "-0.0500 ± 0.0300", "+0.0000"]
    assert [number for _, number, _ in words[6:11]] == phis
    assert words[6][2] == "w down--share:100%"  # the largest abs(phi) of the example
    assert "swapped>a, swapped in (-0.400)<" in text
    assert re.findall(r"<p class=small>(f\(x\).*?)</p>", text)[:2] == [
        "f(x) 0.550, f(nothing) 0.000, delta +0.0000",
        "f(x) -0.300, f(nothing) 0.000, delta +0.0000, mean error of a phi 0.0217",
    ]
