"""Words that two segments share: in the same order, or in another one."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from heedful.records.word_lists import word_lists

FUNCTION_WORDS = frozenset(word for words in word_lists(__file__).values() for word in words)


def aligned(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """A longest common subsequence of two lists of words, without regard to case: int64 [pairs, 2], ascending.

    Of several longest ones it is the one that takes each common word as early as it can, and else leaves out a word of
    the first list before one of the second.

    Example:
        >>> aligned(["The", "cat", "saw", "it"], ["it", "saw", "the", "cat"]).tolist()
        [[0, 2], [1, 3]]
    """
    pairs = _aligned(*(tuple(word.lower() for word in words) for words in (first, second)))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


@lru_cache(maxsize=2**14)  # several factors of several models ask for the same words
def _aligned(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    longest = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]  # of what stands from there on
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            skipped = max(longest[i + 1][j], longest[i][j + 1])
            longest[i][j] = longest[i + 1][j + 1] + 1 if a[i] == b[j] else skipped
    pairs = []
    i = 0
    j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            pairs.append((i, j))
            i += 1
            j += 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1
    return tuple(pairs)


def shared(first: Sequence[str], second: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Where the words stand that occur in the other list too, in any order: int64 numbers in the first, in the second.

    Example:
        >>> [places.tolist() for places in shared(["The", "cat"], ["a", "cat", "the", "the"])]
        [[0, 1], [1, 2, 3]]
    """
    a = [word.lower() for word in first]
    b = [word.lower() for word in second]
    return _places(a, range(len(a)), set(b)), _places(b, range(len(b)), set(a))


def swapped(first: Sequence[str], second: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Where the words stand that both lists have outside :func:`aligned`: int64 numbers in the first, in the second.

    Only content words count; where there are none, all do. A content word has a letter or a digit, and does not stand
    in ``alignment.yaml``.

    Example:
        >>> a, b = "a good dog became a bad cat".split(), "a bad dog became a good cat".split()
        >>> [places.tolist() for places in swapped(a, b)]
        [[1, 5], [1, 5]]
    """
    a = [word.lower() for word in first]
    b = [word.lower() for word in second]
    pairs = aligned(a, b)
    rests = [sorted(set(range(len(words))) - set(pairs[:, k].tolist())) for k, words in enumerate((a, b))]
    both = {a[i] for i in rests[0]} & {b[j] for j in rests[1]}
    wanted = {word for word in both if is_content(word)} or both
    return _places(a, rests[0], wanted), _places(b, rests[1], wanted)


def is_content(word: str) -> bool:
    """Whether a word in lower case is a content word.

    Example:
        >>> [is_content(word) for word in ("canyon", "to", "?!")]
        [True, False, False]
    """
    return any(sign.isalnum() for sign in word) and word not in FUNCTION_WORDS


def _places(words: Sequence[str], among: Sequence[int], wanted: set[str]) -> np.ndarray:
    return np.array([i for i in among if words[i] in wanted], dtype=np.int64)
