"""Fingerprints of sequences of token ids: 64 bits, by which equal ones are found without comparing them."""

import numpy as np

FACTOR = 0x9E3779B97F4A7C15  # odd, so that no power of it is 0
ROUNDS = (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)  # of splitmix64


def scattered(values: np.ndarray) -> np.ndarray:
    """Another 64 bits for each value, spread evenly: uint64 [values].

    Source: Steele et al. 2014, "Fast Splittable Pseudorandom Number Generators".
    """
    mixed = values.astype(np.uint64) + np.uint64(FACTOR)
    for shift, factor in ROUNDS:
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed


def powers(n: int) -> np.ndarray:
    """The factor of each of the first n places of a sequence: uint64 [n]."""
    factors = np.full(n, FACTOR, dtype=np.uint64)
    factors[:1] = 1
    return np.multiply.accumulate(factors)


def hashes(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The hash of each sequence: the sum, modulo 2**64, of its values, each times the factor of its place.

    Behind n others, a sequence adds its hash times the factor of place n: the hash of a whole follows from its pieces.

    Args:
        values: uint64 [values of all sequences], one sequence after the other, as :func:`scattered` returns them.
        counts: int64 [sequences], how many values each has.

    Returns:
        uint64 [sequences].

    Example:
        >>> of = hashes(scattered(np.array([7, 8, 9, 7, 8, 9])), np.array([3, 1, 2]))  # a whole and its two pieces
        >>> (of[:1] == of[1:2] + of[2:] * powers(2)[1:]).tolist()
        [True]
    """
    ends = np.cumsum(counts)
    places = np.arange(len(values)) - np.repeat(ends - counts, counts)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values * powers(counts.max(initial=0))[places])])
    return sums[ends] - sums[ends - counts]  # the running sum overflows; modulo 2**64 the difference is right
