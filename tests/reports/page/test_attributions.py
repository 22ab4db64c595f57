"""Words coloured by their attribution: examples, strengths of colours, numbers, and escaped texts."""

import math
import re
from dataclasses import replace
from html import unescape

import numpy as np

from heedful.reports.page.attributions import explained, numbers, word
from heedful.reports.page.writing import environment

from attribution_rows import example

HOSTILE = "<script>alert('1')</script> \"q\" &amp; $x^2$ \u202e\ud800 猫 " + "long" * 40


def html_of(explanation):
    """The HTML of an example."""
    module = environment().get_template("macros.html").make_module({"warnings": {}})
    return str(module.words(explanation))


def several(n):
    """Attributions of n pairs by two methods."""
    pairs = [replace(example("it ran", [0.1, 0.2], "a cat", [0.3, -0.05]), uid=f"d/{k:02d}") for k in range(n)]
    return [replace(pair, method=method) for pair in pairs for method in ("lime", "shap")]


def parsed(text):
    """The headings, and the (word, number under the pointer, class and style) of the words in HTML."""
    words = re.findall(r'<span class="([ws][^"]*)" style="([^"]*)" title="([^"]*)">(.*?)</span>', text)
    headings = re.findall(r"<h[56]>(.*?)</h[56]>", text)
    return list(map(unescape, headings)), [(unescape(word), title, kind + style) for kind, style, title, word in words]


def shares(*attributions):
    """The kind and the strength of the colour of each word of an example."""
    (explanation,) = explained(attributions)
    cells = [cell for row in explanation.rows for cell in row if cell]
    return [(word.kind, word.share) for cell in cells for _, _, words in cell.parts for word in words]


def test_the_ends_of_the_scale_and_values_without_a_number():
    strengths = [word("w", phi, math.nan, 0.5).share for phi in (5.0, math.inf, -0.5, 0.125, math.nan)]
    assert strengths == ["100%", "100%", "100%", "25%", "0%"]
    assert word("w", 0.0, math.nan, 0.0)[1:3] == word("w", 1.0, math.nan, 0.0)[1:3] == ("w", "0%")
    small, large = example("it ran", [0.1, math.nan]), example("it", [0.0], separators=[-0.7])
    both = shares(small, replace(large, method="zap", variant="swap a"))
    assert both[:2] == [("w up", "14%"), ("w", "0%")]
    assert both[-1] == ("s down", "100%")
    assert {share for _, share in shares(example("", []))} == {"0%"}
    (explanation,) = explained([example("it ran", [0.3, -0.1])])
    assert [step.text for step in explanation.legend] == ["-0.30", "-0.20", "-0.10", "0", "+0.10", "+0.20", "+0.30"]


def test_a_standard_error_is_shown_if_masks_are_random():
    one = example("it ran", [0.25, -0.5])
    assert numbers(one) == "f(x) -0.250, f(nothing) 0.000, delta +0.0000"
    drawn = replace(one, errors={"a": np.array([0.01, math.nan])}, delta=-1e-9)
    assert numbers(drawn).endswith("delta +0.0000, mean error of a phi 0.0100")
    assert word("w", 0.25, 0.01, 1.0).title == "+0.2500 ± 0.0100"


def test_examples_with_a_part_swapped_are_shown_or_else_the_first_ten():
    attributions = several(12)
    assert [one.heading.partition(",")[0] for one in explained(attributions)] == [f"d/{k:02d}" for k in range(10)]
    attributions += [replace(one, variant="swap a") for one in attributions if one.uid in ("d/03", "d/11")]
    changed = explained(attributions)
    assert [one.heading.partition(",")[0] for one in changed] == ["d/03", "d/11"]
    names = [[cell.heading for cell in row] for row in changed[0].rows]
    assert names == [[f"{method}, as it is", f"{method}, swap a"] for method in ("lime", "shap")]


def test_texts_are_escaped_and_load_nothing():
    hostile = example(HOSTILE, [0.1] * len(HOSTILE.split()))
    text = html_of(explained([replace(hostile, uid="<b>&uid</b>", y="<i>", gold='"')])[0])
    headings, words = parsed(text)
    assert headings[0] == '<b>&uid</b>, gold ", y <i>'
    assert [word for word, _, _ in words][:4] == ["<script>alert('1')</script>", '"q"', "&amp;", "$x^2$"]
    assert len(words) == len(HOSTILE.split()) + 1
    assert {*re.findall(r"<(\w+)", text)} == {"article", "div", "h5", "h6", "p", "section", "span"}
    assert not re.findall(r"url\(|\u202e", text)
    text.encode("utf-8")  # raises for half of a surrogate pair


def test_methods_stand_below_each_other_and_a_change_next_to_its_origin():
    lime, shap = several(1)
    swapped = example("no", [-0.4], "a cat", [0.1, -0.05], separators=[0.05, 0.0])
    swapped = replace(swapped, uid="d/00", variant="swap a", gold=None)
    errors = {"a": np.array([0.015]), "b": np.array([0.02, 0.03])}
    both = [replace(swapped, method="lime", errors=errors), replace(swapped, method="shap")]
    text = html_of(explained([lime, both[0], shap, both[1]])[0])
    headings, words = parsed(text)
    assert headings == ["d/00, gold yes, y yes", "lime, as it is", "lime, swap a", "shap, as it is", "shap, swap a"]
    before, after = ["it", "ran", "[SEP]", "a", "cat", "[SEP]"], ["no", "[SEP]", "a", "cat", "[SEP]"]
    assert [word for word, _, _ in words] == [*before, *after, *before, *after]
    phis = ["-0.4000 ± 0.0150", "+0.0500", "+0.1000 ± 0.0200", "-0.0500 ± 0.0300", "+0.0000"]
    assert [number for _, number, _ in words[6:11]] == phis
    assert words[6][2] == "w down--share:100%"  # the largest abs(phi) of the example
    assert 'swapped">a, swapped in (-0.400)<' in text
    assert re.findall(r'<p class="small">(f\(x\).*?)</p>', text)[:2] == [
        "f(x) 0.550, f(nothing) 0.000, delta +0.0000",
        "f(x) -0.300, f(nothing) 0.000, delta +0.0000, mean error of a phi 0.0217",
    ]
