"""Random numbers as pure functions of a key such as (seed, purpose, uid, draw), without global state."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from operator import index
from typing import Any

import numpy as np

from heedful.records.errors import SettingError

# the constants of Philox4x32-10
MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL = 0x9E3779B9, 0xBB67AE85
WORDS = np.uint64(2**32)  # number of distinct words
LOW = np.uint64(2**32 - 1)  # mask of the low word (32 bits) of 64 bits
HALF = np.uint64(32)  # shift from the high to the low word


def require_seed(seed: Any) -> int:
    """Return a seed; raise SettingError unless it is an integer from 0 to 4294967295."""
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or not 0 <= index(seed) < 2**32:
        raise SettingError(f"seed {seed!r} is not an integer from 0 to {2**32 - 1}.")
    return index(seed)


def generator(*key: str | int) -> np.random.Generator:
    """Create a NumPy Philox generator that is seeded by the sha256 of ``key``, and so yields the same in every process.

    Example:
        >>> int(generator(0, "swap", "mnli/validation/7", 3).integers(1000))
        701
    """
    return np.random.Generator(np.random.Philox(key=int.from_bytes(_digest(key)[:16], "little")))


def random_key(*key: str | int) -> int:
    """Hash a tuple such as (seed, purpose) to the 64-bit key of :func:`philox`."""
    return int.from_bytes(_digest(key)[:8], "little")


def _digest(key: Sequence[str | int]) -> bytes:
    text = "\x1f".join(f"{'str' if isinstance(k, str) else 'int'}:{k}" for k in key)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def keys(texts: Iterable[str]) -> np.ndarray:
    """Hash texts to 64 bits: uint64 [texts]. The probability of a collision among a million texts is 3e-8."""
    return digests(text.encode("utf-8", "surrogatepass") for text in texts)


def digests(contents: Iterable[bytes]) -> np.ndarray:
    """Hash byte strings to 64 bits, as :func:`keys` does for texts: uint64 [contents]."""
    joined = bytearray()  # needs less memory than a list of hashes
    for content in contents:
        joined += hashlib.blake2b(content, digest_size=8).digest()
    return np.frombuffer(joined, dtype="<u8")


def philox(key: int, counter: Sequence[np.ndarray | int]) -> np.ndarray:
    """Generate four random words per counter, given a 64-bit key, with the generator Philox4x32-10: uint32 [4, n].

    ``counter`` has the four words of ``n`` counters, the lowest first; each an array [n] or one number for all.
    Source: Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3".
    """
    c0, c1, c2, c3 = (np.atleast_1d(word).astype(np.uint64) for word in np.broadcast_arrays(*counter))
    k0 = key & 0xFFFFFFFF
    k1 = key >> 32
    for _ in range(10):
        first = c0 * MULTIPLIERS[0]
        second = c2 * MULTIPLIERS[1]
        c0 = (second >> HALF) ^ c1 ^ np.uint64(k0)
        c1 = second & LOW
        c2 = (first >> HALF) ^ c3 ^ np.uint64(k1)
        c3 = first & LOW
        k0 = (k0 + WEYL[0]) & 0xFFFFFFFF
        k1 = (k1 + WEYL[1]) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3]).astype(np.uint32)


def words_of(key: int, uid_keys: np.ndarray, draws: np.ndarray | int = 0, block: int = 0) -> np.ndarray:
    """Return four random words (32-bit integers) for each pair of an example and a draw: uint32 [4, n].

    ``key`` is the :func:`random_key` of the purpose, and ``uid_keys``, uint64 [n], are the :func:`keys` of the uids.
    Draws are below 2**32. Each block has four other words for the same example and draw.
    """
    return philox(key, (uid_keys & LOW, uid_keys >> HALF, draws, block))


def random_order(key: int, uid_keys: np.ndarray) -> np.ndarray:
    """Return a random permutation that depends only on the key and on the uids (see :func:`words_of`): int64 [n]."""
    first, second, *_ = words_of(key, uid_keys)
    return np.lexsort([uid_keys, second, first])


def below(words: np.ndarray, bounds: np.ndarray | int) -> tuple[np.ndarray, np.ndarray]:
    """Map random words, uint32 [n], to integers from 0 to ``bounds`` - 1, for bounds from 1 to 2**32, int64 [n].

    Returns the integers, int64 [n], and whether each is accepted, bool [n]; accepted integers are uniform (rejection
    sampling). Source: Lemire 2019, "Fast Random Integer Generation in an Interval".
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
    """Return a random integer below a bound for each pair of an example and a draw, uniform over the accepted integers.

    The ``blocks`` of :func:`words_of` are tried in turn: int64 [n], -1 where no proposal was accepted. ``accepts`` gets
    indices into ``uid_keys``, int64 [m], and the integers proposed for them, int64 [m], and returns which to accept.
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
            waiting, words = waiting[~taken], words[:, ~taken]
    return numbers
