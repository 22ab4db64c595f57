import doctest
from collections import Counter

import numpy as np

from heedful.interventions.masks import antithetic_orders, permutations, prefixes


def test_each_order_is_followed_by_its_reverse():
    orders = antithetic_orders(7, 20, np.random.default_rng(0))
    assert orders.shape == (40, 7)
    assert (orders[::2] == orders[1::2, ::-1]).all()
    assert (np.sort(orders, axis=1) == np.arange(7)).all()


def test_all_orders_are_as_likely():
    counts = Counter(map(tuple, antithetic_orders(4, 12_000, np.random.default_rng(1))[::2].tolist()))
    assert len(counts) == 24
    assert max(abs(count - 500) for count in counts.values()) < 5 * np.sqrt(500)


def test_prefixes_add_a_word_at_a_time():
    orders = antithetic_orders(6, 3, np.random.default_rng(2))
    for order, masks in zip(orders.tolist(), prefixes(orders), strict=True):
        assert [set(np.flatnonzero(mask)) for mask in masks] == [set(order[:k]) for k in range(1, 6)]


def test_an_order_of_one_word_has_no_masks_between():
    assert prefixes(np.array([[0]])).shape == (1, 0, 1)


def test_the_example():
    failed, tried = doctest.testmod(permutations)
    assert tried
    assert not failed
