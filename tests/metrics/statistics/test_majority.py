"""The binomial test of an accuracy against the majority baseline."""

import pytest
from scipy.stats import binomtest

from heedful.metrics.statistics.majority import binomial_p


@pytest.mark.parametrize("n", [1, 2, 10, 57, 1000, 9815])
@pytest.mark.parametrize("share", [0.0, 1e-3, 0.334, 0.5, 0.999, 1.0])
def test_the_p_value_is_that_of_scipy(n: int, share: float) -> None:
    for hits in {0, 1, n // 3, n // 2, n - 1, n}:
        expected = binomtest(hits, n, share, alternative="greater").pvalue
        assert binomial_p(hits, n, share) == pytest.approx(expected, rel=1e-12, abs=0)
