"""Each evaluation and each flag has its words, and they fit the numbers."""

import string

import pytest

from heedful.callbacks import EVALUATIONS
from heedful.metrics import METRICS
from heedful.reports.flags import FLAGS, warnings
from heedful.reports.page.about import abouts


def test_each_evaluation_has_an_entry():
    assert abouts().keys() == EVALUATIONS.keys() == METRICS.keys()


@pytest.mark.parametrize("name", METRICS)
def test_an_entry_is_whole(name):
    about = abouts()[name]
    for text in (about.title, about.question, about.reading, about.limits):
        assert text
        assert text == " ".join(text.split())
    assert about.question.endswith("?")
    for sentence in about.says.values():
        places = {place for _, place, _, _ in string.Formatter().parse(sentence) if place}
        assert "value" in places <= {"value", "part", "data"}


def test_each_flag_has_a_warning_that_says_what_not_to_do():
    for flag in FLAGS:
        (warning,) = warnings([flag])
        assert warning.startswith("Do not "), flag
        assert ": " in warning
    assert warnings(["of_a_plugin"]) == ("of_a_plugin",)
