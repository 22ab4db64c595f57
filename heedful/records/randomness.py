"""Random numbers from keys: (seed, purpose, uid, draw), without global state."""

import hashlib
from collections.abc import Callable, Iterable, Sequence

import numpy as np

ROUNDS = 10  # of Philox
CHUNK = 2**13  # blocks at a time, for the processor's cache
MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL = 0x9E3779B9, 0xBB67AE85
WORDS = np.uint64(2**32)  # number of distinct words
LOW = np.uint64(2**32 - 1)  # mask of the low word
HALF = np.uint64(32)  # bits of a word


def generator(*key: str | int) -> np.random.Generator:
    """A Philox generator keyed by the sha256 of ``key``.

    Equal keys give equal numbers in every process and in any order of calls.

    Example:
        >>> int(generator(0, "swap", "mnli/validation/7", 3).integers(1000))
        701
    """
    return np.random.Generator(np.random.Philox(key=int.from_bytes(_digest(key)[:16], "little")))


def random_key(*key: str | int) -> int:
    """A key for :func:`philox`: 64 bits of the sha256 of ``key``."""
    return int.from_bytes(_digest(key)[:8], "little")


def _digest(key: Sequence[str | int]) -> bytes:
    text = "\x1f".join(f"{'str' if isinstance(k, str) else 'int'}:{k}" for k in key)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def philox(key: int, counter: Sequence[np.ndarray | int]) -> np.ndarray:
    """Philox4x32-10: four random words per counter, a function of key and counter.

    Source: Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3".

    Args:
        key: 64 bits.
        counter: Four columns of 32 bits, the lowest first; each is an array [n], or a number.

    Returns:
        uint32 [4, n].

    Example:
        >>> [f"{word:08x}" for word in philox(0, (0, 0, 0, 0))[:, 0]]
        ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    columns = [np.atleast_1d(np.asarray(column)) for column in counter]
    n = np.broadcast(*columns).size
    words = np.empty((4, n), dtype=np.uint32)
    for start in range(0, n, CHUNK):
        chunk = slice(start, min(start + CHUNK, n))
        words[:, chunk] = _rounds(key, [column[chunk] if len(column) > 1 else column for column in columns])
    return words


def _rounds(key: int, columns: Sequence[np.ndarray]) -> list[np.ndarray]:
    """All rounds on some counters; products have 64 bits."""
    c0, c1, c2, c3 = (column.astype(np.uint64) for column in columns)
    k0 = key & 0xFFFFFFFF
    k1 = key >> 32
    for _ in range(ROUNDS):
        first = c0 * MULTIPLIERS[0]
        second = c2 * MULTIPLIERS[1]
        c0 = (second >> HALF) ^ c1 ^ np.uint64(k0)
        c1 = second & LOW
        c2 = (first >> HALF) ^ c3 ^ np.uint64(k1)
        c3 = first & LOW
        k0 = (k0 + WEYL[0]) & 0xFFFFFFFF
        k1 = (k1 + WEYL[1]) & 0xFFFFFFFF
    return [c0, c1, c2, c3]


def words_of(key: int, uid_keys: np.ndarray, draws: np.ndarray | int = 0, block: int = 0) -> np.ndarray:
    """Four random words per uid and draw: uint32 [4, uids].

    Args:
        key: A :func:`random_key` of the purpose.
        uid_keys: ``Examples.uid_keys``: uint64 [uids].
        draws: Numbers of the draws, [uids] or a number; below 2**32.
        block: 0 for the first four words, 1 for the next four, and so on.
    """
    return philox(key, (uid_keys & LOW, uid_keys >> HALF, draws, block))


def below(words: np.ndarray, bounds: np.ndarray | int) -> tuple[np.ndarray, np.ndarray]:
    """Uniform numbers from 0 to ``bounds`` - 1, and which words are accepted (rejection sampling).

    Source: Lemire 2019, "Fast Random Integer Generation in an Interval".

    Args:
        words: Random words, uint32 [n].
        bounds: int64 [n], or a number; from 1 to 2**32.

    Returns:
        Numbers, int64 [n], and accepted, bool [n].
    """
    bounds = np.asarray(bounds, dtype=np.uint64)
    products = words.astype(np.uint64) * bounds
    return (products >> HALF).astype(np.int64), (products & LOW) >= WORDS % bounds


def integers(
    key: int,
    uid_keys: np.ndarray,
    draws: np.ndarray,
    bounds: np.ndarray,
    blocks: Iterable[int],
    accepts: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """For each uid and draw, a random number below its bound, uniform over the accepted numbers.

    Args:
        key: A :func:`random_key` of the purpose.
        uid_keys: uint64 [n].
        draws: Numbers of the draws, [n].
        bounds: int64 [n], from 1 to 2**32.
        blocks: Blocks of four words to try in turn.
        accepts: Function from indices, int64 [m], and proposed numbers, int64 [m], to bool [m]; None accepts all.

    Returns:
        int64 [n]; -1 if no proposed number was accepted.
    """
    numbers = np.full(len(uid_keys), -1, dtype=np.int64)
    waiting = np.arange(len(uid_keys))
    for block in blocks:
        if not len(waiting):
            break
        words = words_of(key, uid_keys[waiting], draws[waiting], block)
        for k in range(4):
            proposed, taken = below(words[k], bounds[waiting])
            if accepts is not None:
                taken &= accepts(waiting, proposed)
            numbers[waiting[taken]] = proposed[taken]
            waiting = waiting[~taken]
            words = words[:, ~taken]
    return numbers
