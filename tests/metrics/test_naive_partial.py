"""Agreement and accuracy on a part alone, against loops."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from heedful.metrics.naive_partial import naive_partial
from heedful.records import CLASSIFICATION, NO_LABEL, SOFT, SPAN, Context

from made_rows import by_text, make
from tiers import costly

naive_partial = by_text(naive_partial)
labels = ("yes", "no", "other")
answer = st.sampled_from([*labels, NO_LABEL])
example = st.tuples(
    st.sampled_from(labels), answer, answer, answer
)  # gold label; answer to all parts, to a alone, to b alone


@costly
@given(st.lists(example, max_size=8), st.sampled_from([CLASSIFICATION, SOFT]))
def test_the_numbers_are_those_of_loops(examples, kind):
    """Rows of another kept part do not count; a missing answer does not count for agreement, and is wrong."""
    base = {f"u{i}": (gold if kind is CLASSIFICATION else f'{{"{gold}": 0.6}}', y)
            for i, (gold, y, _, _) in enumerate(examples)}  # fmt: skip
    kept = [
        {"uid": f"u{i}", "intervention": "keep", "variant": part, "part": "", "draw": -1, "y2": example[2 + k]}
        for i, example in enumerate(examples)
        for k, part in enumerate("ab")
    ]
    found = naive_partial(make(base, kept), "b", Context("d", kind=kind))
    answered = [(y, b) for _, y, _, b in examples if NO_LABEL not in (y, b)]
    expected = {"": [y == b for y, b in answered]}
    expected |= {f"/from_{y}": [y == b for of, b in answered if of == y] for _, y, *_ in examples if y != NO_LABEL}
    expected["/accuracy"] = [(gold == b) * (1 if kind is CLASSIFICATION else 0.6) for gold, _, _, b in examples]
    assert set(found) == {f"naive_partial/d/b{suffix}" for suffix in expected}
    for suffix, values in expected.items():
        m = found[f"naive_partial/d/b{suffix}"]
        assert (m.value, m.n) == (pytest.approx(sum(values) / len(values)) if values else None, len(values))
        is_constant = len(examples) > 1 and len({y for _, y, *_ in examples}) == 1 and suffix != "/accuracy"
        assert m.flags == ("constant_predictions",) * is_constant
        if values and suffix != "/accuracy":
            assert m.ci95 == pytest.approx(binomtest(sum(values), len(values)).proportion_ci(method="exact"))


def test_answers_that_are_texts_are_compared_as_for_exact_match():
    gold = ['["the Empire", "Rome"]', "[]", '["Rome"]', "[]"]
    answers = [("Empire", "an empire!"), ("", ""), ("Rome", ""), ("x", "y")]
    base = {f"u{i}": (g, y) for i, (g, (y, _)) in enumerate(zip(gold, answers, strict=True))}
    kept = [
        {"uid": f"u{i}", "intervention": "keep", "variant": "a", "part": "", "draw": -1, "y2": y2}
        for i, (_, y2) in enumerate(answers)
    ]
    found = {name: m.value for name, m in naive_partial(make(base, kept), "a", Context("d", kind=SPAN)).items()}
    assert found == {"naive_partial/d/a": 0.5, "naive_partial/d/a/accuracy": 0.5}
