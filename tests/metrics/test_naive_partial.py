"""Agreement on one part alone against a plain count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from heedful.metrics.naive_partial import naive_partial
from heedful.records import SPAN, Context

from made_rows import by_text
from tiers import costly

naive_partial = by_text(naive_partial)
labels = st.sampled_from(("yes", "no", "other"))


@costly
@given(st.lists(st.tuples(labels, labels, labels, labels), max_size=8))
def test_equals_the_reference(rows_of, answers):
    base = {f"u{i}": (gold, y) for i, (gold, y, _, _) in enumerate(answers)}
    kept = [
        {"uid": f"u{i}", "intervention": "keep", "variant": part, "part": "", "draw": -1, "y2": answer[2 + k]}
        for i, answer in enumerate(answers)
        for k, part in enumerate("ab")
    ]
    found = naive_partial(rows_of(base, kept), "b", Context("d"))
    if not answers:
        assert (found["naive_partial/d/b"].value, found["naive_partial/d/b"].n) == (None, 0)
        return
    assert found["naive_partial/d/b"].value == sum(y == b for _, y, _, b in answers) / len(answers)
    assert found["naive_partial/d/b/accuracy"].value == sum(gold == b for gold, _, _, b in answers) / len(answers)
    for label in {y for _, y, _, _ in answers}:
        mine = [b == label for _, y, _, b in answers if y == label]
        m = found[f"naive_partial/d/b/from_{label}"]
        assert (m.value, m.n) == (sum(mine) / len(mine), len(mine))
        assert m.ci95 == pytest.approx(binomtest(sum(mine), len(mine)).proportion_ci(method="exact"))
    assert {name.split("_")[-1] for name in found if "from_" in name} == {y for _, y, _, _ in answers}


def test_answers_that_are_texts_are_compared_as_for_exact_match(rows_of):
    gold = ['["the Empire", "Rome"]', "[]", '["Rome"]', "[]"]
    answers = [("Empire", "an empire!"), ("", ""), ("Rome", ""), ("x", "y")]
    base = {f"u{i}": (g, y) for i, (g, (y, _)) in enumerate(zip(gold, answers, strict=True))}
    kept = [
        {"uid": f"u{i}", "intervention": "keep", "variant": "a", "part": "", "draw": -1, "y2": y2}
        for i, (_, y2) in enumerate(answers)
    ]
    found = {name: m.value for name, m in naive_partial(rows_of(base, kept), "a", Context("d", kind=SPAN)).items()}
    assert found == {"naive_partial/d/a": 0.5, "naive_partial/d/a/accuracy": 0.5}
