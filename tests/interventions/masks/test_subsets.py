import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heedful.interventions.masks import neighbours, subsets


@given(st.integers(1, 12), st.integers(0, 2**32), st.data())
def test_subsets_have_their_sizes(n, seed, data):
    sizes = data.draw(st.lists(st.integers(0, n), max_size=20))
    drawn = subsets(np.array(sizes, dtype=np.int64), n, np.random.default_rng(seed))
    assert drawn.shape == (len(sizes), n)
    assert drawn.sum(axis=1).tolist() == sizes


def test_each_subset_of_a_size_is_as_likely_as_any_other():
    drawn = subsets(np.full(20_000, 2), 5, np.random.default_rng(0))
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 10
    assert abs(counts - 2000).max() < 5 * np.sqrt(2000)


def test_lime_hides_one_to_all_words_each_number_as_often():
    """As in lime: ``randint(1, n + 1)``, so that at least one word is hidden, and sometimes all are."""
    hidden = (~neighbours(6, 30_000, np.random.default_rng(1))).sum(axis=1)
    sizes, counts = np.unique(hidden, return_counts=True)
    assert sizes.tolist() == [1, 2, 3, 4, 5, 6]
    assert abs(counts - 5000).max() < 5 * np.sqrt(5000)
