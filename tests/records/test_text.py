"""Normal forms of answers in 30 scripts."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.records import SPAN
from heedful.records.text import bare, folded, normal_form, normalised_label

# script: answers that are equal, and an answer that differs from them, often in a vowel sign or another mark only
SCRIPTS: dict[str, tuple[list[str], str]] = {
    "Latin": (["Caf\u00e9", "cafe\u0301.", "\u201eCaf\u00e9\u201c", "**CAF\u00c9**"], "cafe"),
    "Greek": (["\u03bd\u03b1\u03b9", "\u039d\u03b1\u03b9\u037e", "\u00ab\u03bd\u03b1\u03b9\u00bb"], "\u03bd\u03b1"),
    "Cyrillic": (["\u041c\u043e\u0439", "\u043c\u043e\u0438\u0306!"], "\u043c\u043e\u0438"),
    "Armenian": (["\u0561\u0575\u0578", "\u0531\u0575\u0578\u0589"], "\u0561\u0575"),
    "Georgian": (["\u10d9\u10d8", "\u1c99\u1c98."], "\u10d9"),
    "Hebrew": (["\u05db\u05df", "\u200f\u05db\u05df\u05be"], "\u05db\u05b5\u05df"),
    "Arabic": (["\u0643\u062a\u0627\u0628", "\u0643\u062a\u0627\u0628\u061f"], "\u0643\u062a\u0627\u0628\u064c"),
    "Syriac": (["\u0710\u071d\u0722", "\u0710\u071d\u0722\u0700"], "\u0710\u071d\u0722\u0730"),
    "Thaana": (["\u0783\u07a6", "\u0783\u07a6."], "\u0783\u07a7"),
    "NKo": (["\u07d2\u07d0", "\u07d2\u07d0\u07f8"], "\u07d2\u07d0\u07eb"),
    "Devanagari": (["\u0915\u093e", "\u0915\u093e\u0964"], "\u0915\u0940"),
    "Bengali": (["\u09ae\u09be", "\u09ae\u09be\u0964"], "\u09ae\u09bf"),
    "Gurmukhi": (["\u0a39\u0a3e\u0a02", "\u0a39\u0a3e\u0a02\u0964"], "\u0a39\u0a3e"),
    "Gujarati": (["\u0aab\u0ab3", "\u0aab\u0ab3!"], "\u0aab\u0ab3\u0abe"),
    "Oriya": (["\u0b39\u0b01", "\u0b39\u0b01\u0964"], "\u0b39"),
    "Tamil": (["\u0b95\u0bb2\u0bcd", "(\u0b95\u0bb2\u0bcd)"], "\u0b95\u0bb2\u0bbf"),
    "Telugu": (["\u0c15\u0c3f", "\u0c15\u0c3f."], "\u0c15\u0c40"),
    "Kannada": (["\u0c95\u0cbf", "\u0c95\u0cbf?"], "\u0c95\u0cc1"),
    "Malayalam": (["\u0d15\u0d3e", "\u0d15\u0d3e,"], "\u0d15\u0d3f"),
    "Sinhala": (["\u0d9a\u0dcf", "\u0d9a\u0dcf\u0df4"], "\u0d9a\u0dd2"),
    "Thai": (["\u0e21\u0e49\u0e32", "\u201c\u0e21\u0e49\u0e32\u201d"], "\u0e21\u0e32"),
    "Lao": (["\u0e9b\u0eb5", "\u0e9b\u0eb5."], "\u0e9b\u0eb7"),
    "Tibetan": (["\u0f58\u0f72", "\u0f58\u0f72\u0f0b", "\u0f58\u0f72\u0f0d"], "\u0f58\u0f7a"),
    "Myanmar": (["\u1019\u102c", "\u1019\u102c\u104b"], "\u1019\u102d"),
    "Ethiopic": (["\u12a0\u12ce", "\u12a0\u12ce\u1362"], "\u12a0\u12cd"),
    "Cherokee": (["\u13a0\u13a1", "\uab70\uab71."], "\u13a0"),
    "Khmer": (["\u1780\u17b6", "\u1780\u17b6\u17d4"], "\u1780\u17b7"),
    "Mongolian": (["\u182e\u1821", "\u182e\u1821\u1803"], "\u182e\u1820"),
    "Hangul": (["\ud55c", "\u1112\u1161\u11ab."], "\ud558"),
    "Kana": (["\u304c", "\u304b\u3099\u3002", "\u300c\u304c\u300d"], "\u304b"),
    "Han": (["\u662f", "\u662f\u3002", "\u300a\u662f\u300b", "\u662f\uff01"], "\u4e0d\u662f"),
}  # fmt: skip
EQUAL = [
    ["-3", "\u22123", "\u20133", "(-3)", "-3."],
    ["-.5", "\u2212.5", "-.5!"],
    ["5 %", "5%", "5\u00a0%", "(5\uff05)"],
    ["The Beatles", "beatles", '"The Beatles"', "the  beatles!"],
    ["vitamin A", "the Vitamin A."],
    ["can't", "can\u2019t", "\u2018Can\u2019t\u2019"],
    ["C#", "c#.", "**C#**"],
    ["\u00bfParis?", "Paris !", "# Paris", "...paris", "__Paris__", "`Paris`"],
]
DIFFERENT = [
    *"-3 3 +3 .3 -.3 \u22643 \u22653 <3 >3 \u00b13 \u00a33 \u20ac3 -$3 3% 3\u2030 3\u2032 3\u2033 3\u00b0".split(),
    *("vitamin", "vitamin A", "C", "C#", "C++", "C-", "C+", "A + B", "A - B", "A, B", "B", "...", "", "U.S.", "us"),
    *("\u0663", "-\u0663", "\u066b\u0663", "\u221e", "-\u221e", "\u00bd", "-\u00bd", "\U0001f600", "\U0001f622"),
]  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS)
def test_punctuation_of_a_script_is_stripped_and_its_marks_are_not(script: str) -> None:
    equal, other = SCRIPTS[script]
    assert len(SCRIPTS) >= 30
    assert len({normal_form(text) for text in equal}) == 1 != len({normal_form(text) for text in (equal[0], other)})
    assert SPAN.alike(*equal[:2])
    assert not SPAN.alike(equal[0], other)


@pytest.mark.parametrize("texts", EQUAL, ids=lambda texts: texts[0])
def test_equal_answers(texts: list[str]) -> None:
    assert len({normal_form(text) for text in texts}) == 1


def test_different_answers() -> None:
    assert len({normal_form(text) for text in DIFFERENT}) == len(DIFFERENT)


ANY = st.text(st.one_of(st.sampled_from(" aAtheB-.'\"#%*(5\u2212\u0301\u200b\u066b$,"), st.characters()), max_size=12)


@given(ANY)
def test_a_normal_form_is_its_own_normal_form(text: str) -> None:
    for form in (folded, bare, normal_form, normalised_label):
        assert form(form(text)) == form(text)
    assert bool(normal_form(text)) == bool(folded(text).strip())


@given(ANY)
def test_canonically_equivalent_texts_are_equal(text: str) -> None:
    twins = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    assert len({normal_form(twin) for twin in twins}) == 1
