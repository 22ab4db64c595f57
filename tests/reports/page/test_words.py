"""Words coloured by what they add, as blocks of HTML."""

import re
from html.parser import HTMLParser

import pytest

from heedful.reports.page.words import block

from word_cases import CASES, HOSTILE


def page(explained):
    """The blocks of some examples."""
    return "\n".join(map(block, explained))


class Reader(HTMLParser):
    """What a page holds: tags, attributes and texts; what is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.headings, self.titles, self.open = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        own = dict(attrs)
        self.tags.append((tag, own))
        self.open.append(tag)
        if own.get("class", "")[:1] in ("w", "s") and "title" in own:
            self.words.append([None, own["title"], own["class"] + own["style"]])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("h4", "h5"):
            self.headings.append(data)
        elif self.words and self.words[-1][0] is None:
            self.words[-1][0] = data


@pytest.mark.parametrize("case", CASES)
def test_blocks_are_whole_and_need_nothing(case):
    read = Reader(page(CASES[case]))
    names = {tag for tag, _ in read.tags}
    assert names <= {"h4", "h5", "p", "article", "div", "section", "span"}
    attributes = {name for _, own in read.tags for name in own}
    assert attributes <= {"class", "style", "title"}
    assert "url(" not in page(CASES[case])
    assert len([tag for tag, _ in read.tags if tag == "article"]) == len(CASES[case])


def test_texts_are_escaped():
    text = page(CASES["hostile"])
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    read = Reader(text)
    assert [word for word, _, _ in read.words][:4] == ["<script>alert('1')</script>", '"q"', "&amp;", "$x^2$"]
    assert len(read.words) == len(HOSTILE.split()) + 1
    assert read.headings[0] == '<b>&uid</b>, gold ", y <i>'
    text.encode("utf-8")  # half of a surrogate pair is shown as its number
    assert "\u202e" not in text


def test_methods_stand_below_each_other_and_what_was_swapped_beside_its_origin():
    read = Reader(page(CASES["pair"]))
    cells = ["lime, as it is", "lime, swap a", "shap, as it is", "shap, swap a"]
    assert read.headings == ["d/00, gold yes, y yes", *cells]
    words = [word for word, _, _ in read.words]
    base, swapped = ["it", "ran", "[SEP]", "a", "cat", "[SEP]"], ["no", "[SEP]", "a", "cat", "[SEP]"]
    assert words == [*base, *swapped, *base, *swapped]
    assert [number for _, number, _ in read.words[6:11]] == [
        "-0.4000 ± 0.0150",
        "+0.0500",
        "+0.1000 ± 0.0200",
        "-0.0500 ± 0.0300",
        "+0.0000",
    ]
    styles = {word: style for word, _, style in read.words[6:11]}
    assert styles["no"] == "w down--share:100%"  # the strongest of the block
    assert "swapped>a, swapped in (-0.400)<" in page(CASES["pair"])


def test_a_cell_says_what_is_known_of_it():
    text = page(CASES["pair"])
    assert re.findall(r"<p class=small>(f\(x\).*?)</p>", text)[:2] == [
        "f(x) 0.550, f(nothing) 0.000, delta +0.0000",
        "f(x) -0.300, f(nothing) 0.000, delta +0.0000, mean error of a phi 0.0217",
    ]
