"""Orders in which features are added, and the masks on their way."""

import numpy as np


def antithetic_orders(n: int, pairs: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform orders of the features, each followed by its reverse: int64 [2 * pairs, n].

    Source: Mitchell et al. 2022, "Sampling Permutations for Shapley Value Estimation", section 2.2.
    """
    orders = rng.random((pairs, n)).argsort(axis=1)
    return np.stack([orders, orders[:, ::-1]], axis=1).reshape(-1, n)


def prefixes(orders: np.ndarray) -> np.ndarray:
    """The masks between nothing and everything as features are added in order.

    Args:
        orders: int64 [orders, n].

    Returns:
        bool [orders, n - 1, n]: of each order the first feature, the first two, and so on.

    Example:
        >>> prefixes(np.array([[2, 0, 1]])).astype(int).tolist()
        [[[0, 0, 1], [1, 0, 1]]]
    """
    n = orders.shape[1]
    return orders.argsort(axis=1)[:, None, :] < np.arange(1, n)[:, None]
