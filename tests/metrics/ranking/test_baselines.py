"""Rankers that need no attributions, against loops."""

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.ranking import baselines, gap, guessed_scores
from heedful.records import NO_LABEL

from python_rows import rows_from

suite = st.dictionaries(st.sampled_from("abcd"), st.sampled_from([0.1, 0.4, 0.8, 0.9]), min_size=2).filter(
    lambda truth: len(set(truth.values())) > 1
)


@given(st.lists(suite, min_size=1, max_size=3))
def test_guess_is_right_of_its_candidate_alone(several):
    expected = {}
    for candidate in {name for truth in several for name in truth}:
        of_suites = []
        for truth in several:
            right = []
            for one, other in combinations(truth, 2):
                if truth[one] == truth[other]:
                    continue
                better = one if truth[one] > truth[other] else other
                right.append(0.5 if candidate not in (one, other) else float(candidate == better))
            of_suites.append(sum(right) / len(right))
        expected[candidate] = sum(of_suites) / len(of_suites)
    assert guessed_scores(several) == {name: pytest.approx(x) for name, x in expected.items()}


def test_baselines_read_the_probabilities_of_the_prediction_and_of_gold():
    columns = zip(
        ["no", NO_LABEL, "yes"], ["yes", "no", "yes"], [[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]], strict=True
    )
    rows = rows_from([{"uid": f"u{i}", "y": y, "gold": gold, "p": p} for i, (y, gold, p) in enumerate(columns)], 2)
    found = baselines(rows, ("no", "yes"))
    assert found["acc"].tolist() == [0, 0, 1]
    assert found["conf"].tolist() == pytest.approx([0.75, np.nan, 0.875], nan_ok=True)
    assert found["conf_gt"].tolist() == [0.25, 0.5, 0.875]
    assert found["conf_gt reversed"].tolist() == [-0.25, -0.5, -0.875]
    without = rows.set_column(rows.column_names.index("p"), "p", pa.nulls(3, rows.schema.field("p").type))
    assert list(baselines(without, ("no", "yes"))) == ["acc"]


def test_the_error_of_a_gap_is_that_of_paired_clusters():
    rng = np.random.default_rng(0)
    correct, other = (rng.random(600) < share for share in (0.7, 0.6))
    value, error = gap(correct, other, np.arange(600))
    less = correct.astype(float) - other
    assert value == pytest.approx(less.mean())
    assert error == pytest.approx(less.std() / np.sqrt(600))
    naive = [less[rng.integers(600, size=600)].mean() for _ in range(4_000)]
    assert error == pytest.approx(np.std(naive), rel=0.05)
    together = gap(np.repeat(correct, 3), np.repeat(other, 3), np.repeat(np.arange(600), 3))
    assert together == pytest.approx((value, error))
