"""Words coloured by what they add, as a figure."""

import io
import warnings

import pytest
from matplotlib.colors import to_hex
from PIL import Image

from heedful.reports.figures.attributions import COLUMN, WORDS, boxes_for_unknown_signs, figure, placed
from heedful.reports.figures.explanations import color

from tiers import first_tier
from word_cases import CASES


def drawn(sheet):
    """Its texts, by (y, x) from the top."""
    ordered = sorted(sheet.texts, key=lambda text: (-round(text.get_position()[1], 6), text.get_position()[0]))
    return [text.get_text() for text in ordered]


@pytest.mark.parametrize("case", first_tier(2, CASES))
def test_every_case_is_drawn_without_warnings(case):
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with boxes_for_unknown_signs():
            figure(CASES[case]).savefig(file, format="png", dpi=50)
    with Image.open(file) as picture:
        assert picture.size[0] >= 300
        assert picture.size[1] < 2000


def test_words_have_the_colours_of_their_phi_and_stand_in_their_columns():
    sheet = figure(CASES["pair"])
    texts = drawn(sheet)
    assert texts[1].startswith("f(x): probability of y; f(nothing): with all words hidden; delta: ")
    assert texts[2] == "d/00, gold yes, y yes"
    assert texts[3:10] == ["-0.40", "-0.27", "-0.13", "0", "+0.13", "+0.27", "+0.40"]
    assert texts[10].startswith("underlined: lowers it")
    assert texts[11:13] == ["lime, as it is", "lime, swap a"]
    assert texts.index("shap, as it is") > texts.index("a, swapped in (-0.400)")
    faces = [to_hex(box.get_facecolor()) for box in sheet.artists[1:] if hasattr(box, "get_facecolor")]
    words = faces[0::2]  # then their lines
    expected = [0.1, 0.2, 0.0, 0.3, -0.05, 0.0, -0.4, 0.05, 0.1, -0.05, 0.0]
    assert words[7:18] == [color(phi, 0.4) for phi in expected]
    left, right = (next(t for t in sheet.texts if t.get_text() == name) for name in ("it", "no"))
    assert left.get_position()[0] < 0.5 < right.get_position()[0]


def test_long_texts_wrap_and_what_is_left_out_is_counted():
    (segment,) = CASES["long"].shown[0].segments("shap", "")
    words = placed(segment)
    assert len(words) == 1 + WORDS + 2
    assert words[-2].text == f"and {500 - WORDS} more words"
    assert words[-1].text == "[SEP]"
    assert all(at.x + at.width <= COLUMN for at in words)
    places = [(at.line, at.x) for at in words]
    assert places == sorted(set(places))
    assert words[-1].line > 3


def test_of_many_the_first_are_drawn_and_it_says_so():
    texts = drawn(figure(CASES["many"]))
    assert [text[:4] for text in texts if text.startswith("d/")] == ["d/00", "d/01", "d/02"]
    assert " ".join(texts[:2]).count("Drawn: the first 3.") == 1
