"""Games (functions of masks), reference attributions of games, and a driver of attribution methods."""

from itertools import product
from math import factorial
from typing import NamedTuple

import numpy as np

from heedful.metrics.attributions import owen
from heedful.metrics.attributions.masking import OWEN, design


class Played(NamedTuple):
    """Attribution of a game by a method, and the masks of each round, without those of all and of no features."""

    phi: np.ndarray
    error: np.ndarray
    rounds: list[np.ndarray]

    @property
    def masks(self):
        return np.concatenate(self.rounds) if self.rounds else np.zeros((0, len(self.phi)), dtype=bool)


def ends(game, n):
    """f of all features and of none."""
    return float(game(np.ones((1, n), dtype=bool))[0]), float(game(np.zeros((1, n), dtype=bool))[0])


def play(method, game, segments, budget, seed=0):
    """Run a method on a game as the evaluation does, and check the masks and the result."""
    n, rounds = sum(segments), []

    def ask(masks):
        assert masks.dtype == bool
        assert masks.shape[1] == n
        inner = masks.any(axis=1) & ~masks.all(axis=1)
        if inner.any():
            rounds.append(masks[inner])
        return game(masks)

    if method == OWEN:
        asking, values = owen.explain(segments, *ends(game, n), budget), None
        try:
            while True:
                values = ask(asking.send(values))
        except StopIteration as end:
            phi, error = end.value, np.full(n, np.nan)
        assert all(masks.any(axis=1).all() and not masks.all(axis=1).any() for masks in rounds)
    else:
        masks, fit = design(method, n, budget, np.random.default_rng(seed))
        phi, error = fit(ask(masks))
    assert phi.shape == error.shape == (n,)
    assert phi.dtype == error.dtype == np.float64
    assert sum(map(len, rounds)) <= budget
    return Played(phi, error, rounds)


def table_game(n, seed, ignored=()):
    """A game of 2**n random values; ``ignored`` features have no effect."""
    values = np.random.default_rng(seed).normal(size=2**n)
    powers = 2 ** np.arange(n)
    powers[list(ignored)] = 0
    return lambda masks: values[masks @ powers]


def pairwise_game(n, seed):
    """A game with interactions of two features at most."""
    rng = np.random.default_rng(seed)
    single, pairs = rng.normal(size=n), rng.normal(size=(n, n))
    return lambda masks: 0.3 + masks @ single + np.einsum("mi,ij,mj->m", masks, pairs, masks)


def smooth_game(n, seed):
    """A logistic function of words, some with large weights, and of interactions of two and three words."""
    rng = np.random.default_rng(seed)
    single = rng.normal(size=n) * np.where(np.arange(n) % 3, 0.2, 1.5)
    together = [rng.choice(n, size=min(n, 2 + i % 2), replace=False) for i in range(n)]
    weights = rng.normal(size=n)

    def game(masks):
        total = (masks * single).sum(axis=1) - 0.5
        for features, weight in zip(together, weights, strict=True):
            total += weight * masks[:, features].all(axis=1)
        return 1 / (1 + np.exp(-total))

    return game


def of_sets(game, n):
    """f of each set of features; keys are sorted tuples."""
    every = np.array(list(product([False, True], repeat=n)))
    return {tuple(np.flatnonzero(mask)): float(value) for mask, value in zip(every, game(every), strict=True)}


def shapley_by_subsets(game, n):
    """Shapley values by their definition: the mean contribution of a feature over all orders of features."""
    f, phi = of_sets(game, n), np.zeros(n)
    for members in f:
        for i in set(range(n)) - set(members):
            share = factorial(len(members)) * factorial(n - len(members) - 1) / factorial(n)
            phi[i] += share * (f[tuple(sorted((*members, i)))] - f[members])
    return phi


def mean_over_orders(game, n, orders):
    """Mean contribution of each feature to the features before it, over the given orders."""
    f, phi = of_sets(game, n), np.zeros(n)
    for order in orders:
        for place, i in enumerate(order):
            phi[i] += f[tuple(sorted(order[: place + 1]))] - f[tuple(sorted(order[:place]))]
    return phi / len(orders)


def orders_of_tree(tree):
    """All orders of features that keep each subtree together; a tree is a feature or a pair of trees."""
    if not isinstance(tree, tuple):
        return [(tree,)]
    return [
        first + second for swapped in (tree, tree[::-1]) for first, second in product(*map(orders_of_tree, swapped))
    ]
