"""Means of factors and errors over examples, against loops."""

from dataclasses import replace

import numpy as np
import pytest

from heedful.metrics import METRICS
from heedful.metrics.attributions.attribution import attributions
from heedful.metrics.attributions.factors import FACTORS, has_swapped_words
from heedful.records import Context, MetricName
from heedful.records.rows import require_canonical

from attribution_rows import example, word_rows

CONTEXT = Context("d", parts=("a", "b"), labels=("no", "yes"))
METRIC = METRICS["attributions"]
WORDS = ("the", "cat", "dog", "or", "?")


def some(n=12, methods=("lime", "shap"), seed=0, **meta):
    """Attributions of n examples by each method."""
    rng, made = np.random.default_rng(seed), []
    for k in range(n):
        a, b = (" ".join(rng.choice(WORDS, size=rng.integers(3, 9))) for _ in "ab")
        subcase = "cn_disjunction" if k % 3 else "other"
        for method in methods:
            phi_a, phi_b = (rng.normal(size=len(text.split())) for text in (a, b))
            of = example(a, phi_a, b, phi_b, separators=rng.normal(size=2).tolist(), subcase=subcase, g=f"g{k // 3}")
            drawn = {part: rng.random(len(column)) for part, column in of.phi.items()}
            errors = drawn if method == "shap" else of.errors
            made.append(replace(of, uid=f"d/test/{k:02d}", method=method, errors=errors, delta=rng.normal()))
    return made


def test_rows_and_attributions_hold_the_same():
    made = some()
    rows = word_rows(made)
    require_canonical(rows)
    again = list(attributions(rows, CONTEXT))
    assert [(of.uid, of.method) for of in again] == [(of.uid, of.method) for of in made]
    for before, after in zip(made, again, strict=True):
        assert before.words == after.words
        assert before.meta == after.meta
        assert all((before.phi[part] == after.phi[part]).all() for part in "ab")


def test_the_means_are_those_of_loops():
    made = some()
    numbers = METRIC.score(word_rows(made), CONTEXT)
    for method in ("lime", "shap"):
        mine = [of for of in made if of.method == method]
        for name, factor in FACTORS.items():
            values = [x for of in mine if (x := factor(of)) is not None]
            m = numbers.get(MetricName("attributions", "d", method, name))
            assert (m is not None) == bool(values), name
            if m is not None:
                assert (m.value, m.n) == (pytest.approx(sum(values) / len(values)), len(values))
                assert m.ci95[0] < m.value < m.ci95[1]
        delta = numbers[MetricName("attributions", "d", method, "delta")]
        assert delta.value == pytest.approx(sum(abs(of.delta) for of in mine) / 12)
        unswapped = numbers[MetricName("attributions", "d", method, "without_swapped_words")]
        assert unswapped.value == pytest.approx(sum(not has_swapped_words(of) for of in mine) / 12)
    of_words = [np.mean([x for column in of.errors.values() for x in column]) for of in made if of.method == "shap"]
    assert numbers[MetricName("attributions", "d", "shap", "error")].value == pytest.approx(np.mean(of_words))
    assert MetricName("attributions", "d", "lime", "error") not in numbers  # the test gives LIME no errors
    assert 0 < numbers[MetricName("attributions", "d", "shap", "const")].n < 12


def test_intervals_resample_groups():
    rng = np.random.default_rng(1)
    made = [
        replace(example("a b", [float(k // 10), 0], "a b", [0, 0], g=f"g{k // 10:02d}"), uid=f"d/test/{k:03d}",
                delta=rng.normal())
        for k in range(300)
    ]  # fmt: skip
    name = MetricName("attributions", "d", "shap", "sum_diff")
    alone, together = (METRIC.score(word_rows(made, group), CONTEXT)[name] for group in (None, "g"))
    assert alone.value == together.value == pytest.approx(14.5)
    width, wide = (m.ci95[1] - m.ci95[0] for m in (alone, together))
    assert wide > 2.5 * width
    naive = [rng.choice(np.arange(30.0), size=30).mean() for _ in range(4000)]
    assert together.ci95 == pytest.approx(np.quantile(naive, [0.025, 0.975]), abs=0.1 * wide)


def test_changed_examples_do_not_count():
    made = some(4, ("shap",))
    changed = [replace(of, variant="swap a", phi={part: x + 9 for part, x in of.phi.items()}) for of in made]
    plain, both = (METRIC.score(word_rows(rows), CONTEXT) for rows in (made, made + changed))
    assert plain == both
