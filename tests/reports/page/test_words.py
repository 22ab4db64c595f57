"""Words coloured by their attribution: which examples, in which colours, with which numbers, as escaped HTML."""

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.reports.page import words
from heedful.reports.page.words import block, explanations, legend, numbers, phi_text, scale_of, share_of

from attribution_rows import example
from word_cases import CASES, HOSTILE, several


def luminance(code):
    """Relative luminance of WCAG 2."""
    channels = (int(code[k : k + 2], 16) / 255 for k in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("theme", [0, 1])
def test_text_can_be_read_on_the_full_colours_of_both_themes(theme):
    css = Path(words.__file__).with_name("page.css").read_text()
    color = {name: re.findall(rf"--{name}:(#[0-9a-f]{{3,6}})\b", css)[theme] for name in ("text", "up", "down")}
    text, up, down = (luminance(color[name]) + 0.05 for name in ("text", "up", "down"))
    assert min(max(text, end) / min(text, end) for end in (up, down)) >= 4.5  # contrast
    assert up == pytest.approx(down, abs=0.03)


@given(st.floats(-10, 10), st.floats(-10, 10))
def test_more_has_a_stronger_colour(first, second):
    less, more = sorted((abs(first), abs(second)))
    for sign in (-1, 1):
        assert share_of(sign * less, 10.0) <= share_of(sign * more, 10.0)


def test_the_ends_of_the_scale_and_values_without_a_number():
    assert share_of(5.0, 0.5) == share_of(math.inf, 0.5) == share_of(-0.5, 0.5) == 1.0
    assert share_of(math.nan, 0.5) == share_of(0.0, 0.0) == share_of(1.0, 0.0) == 0.0
    assert legend(0.3) == pytest.approx([-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3])
    small, large = example("it ran", [0.1, math.nan]), example("it", [0.0], separators=[-0.7])
    (explained,) = explanations([small, replace(large, method="zap", variant="swap a")])
    assert scale_of(explained) == 0.7
    assert scale_of(explanations([example("", [])])[0]) == 0.0


def test_those_with_a_part_swapped_are_shown_or_else_the_first_ten():
    def uids(found):
        return [next(iter(explanation.values())).uid for explanation in found]

    made = several(12)
    assert uids(explanations(made)) == [f"d/{k:02d}" for k in range(10)]
    for k in (11, 3):
        made += [replace(one, variant="swap a") for one in made if one.uid == f"d/{k:02d}"]
    made.sort(key=lambda one: (one.uid, one.method, one.variant))
    changed = explanations(made)
    assert uids(changed) == ["d/03", "d/11"]
    assert set(changed[0]) == {(method, variant) for method in ("lime", "shap") for variant in ("", "swap a")}
    assert uids(explanations(made, 1)) == ["d/03"]
    assert explanations([]) == []


def test_a_standard_error_is_shown_if_masks_are_random():
    one = example("it ran", [0.25, -0.5])
    assert numbers(one) == "f(x) -0.250, f(nothing) 0.000, delta +0.0000"
    drawn = replace(one, errors={"a": np.array([0.01, math.nan])}, delta=-1e-9)
    assert numbers(drawn).endswith("delta +0.0000, mean error of a phi 0.0100")
    assert (phi_text(0.25, 0.01), phi_text(0.25)) == ("+0.2500 ± 0.0100", "+0.2500")


def html_of(explained):
    return "\n".join(map(block, explained))


class Reader(HTMLParser):
    """The tags, attributes and texts of blocks; every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.headings, self.open = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        self.open.append(tag)
        if attributes.get("class", "")[:1] in ("w", "s") and "title" in attributes:
            self.words.append([None, attributes["title"], attributes["class"] + attributes["style"]])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("h4", "h5"):
            self.headings.append(data)
        elif self.words and self.words[-1][0] is None:
            self.words[-1][0] = data


@pytest.mark.parametrize("case", CASES)
def test_blocks_are_complete_and_need_no_other_file(case):
    read = Reader(html_of(CASES[case]))
    assert {tag for tag, _ in read.tags} <= {"h4", "h5", "p", "article", "div", "section", "span"}
    assert {name for _, attributes in read.tags for name in attributes} <= {"class", "style", "title"}
    assert "url(" not in html_of(CASES[case])
    assert len([tag for tag, _ in read.tags if tag == "article"]) == len(CASES[case])


def test_texts_are_escaped():
    text = html_of(CASES["hostile"])
    assert "<script" not in text
    read = Reader(text)
    assert [word for word, _, _ in read.words][:4] == ["<script>alert('1')</script>", '"q"', "&amp;", "$x^2$"]
    assert len(read.words) == len(HOSTILE.split()) + 1
    assert read.headings[0] == '<b>&uid</b>, gold ", y <i>'
    text.encode("utf-8")  # half of a surrogate pair is shown as its number
    assert "\u202e" not in text


def test_methods_stand_below_each_other_and_a_change_next_to_its_origin():
    text = html_of(CASES["pair"])
    read = Reader(text)
    cells = ["lime, as it is", "lime, swap a", "shap, as it is", "shap, swap a"]
    assert read.headings == ["d/00, gold yes, y yes", *cells]
    base, swapped = ["it", "ran", "[SEP]", "a", "cat", "[SEP]"], ["no", "[SEP]", "a", "cat", "[SEP]"]
    assert [word for word, _, _ in read.words] == [*base, *swapped, *base, *swapped]
    phis = ["-0.4000 ± 0.0150", "+0.0500", "+0.1000 ± 0.0200", "-0.0500 ± 0.0300", "+0.0000"]
    assert [number for _, number, _ in read.words[6:11]] == phis
    assert read.words[6][2] == "w down--share:100%"  # the strongest of the block
    assert "swapped>a, swapped in (-0.400)<" in text
    assert re.findall(r"<p class=small>(f\(x\).*?)</p>", text)[:2] == [
        "f(x) 0.550, f(nothing) 0.000, delta +0.0000",
        "f(x) -0.300, f(nothing) 0.000, delta +0.0000, mean error of a phi 0.0217",
    ]
