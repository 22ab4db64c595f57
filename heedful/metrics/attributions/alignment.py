"""Words that two segments share, in the same order or in any order."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from heedful.records.word_lists import word_lists

FUNCTION_WORDS = frozenset(word for words in word_lists(__file__).values() for word in words)


class Alignments(NamedTuple):
    """All longest common subsequences of two lists of words; different pairs of positions are different subsequences.

    Attributes:
        number: Number of subsequences; 1 if there is no common word.
        through_first: Number of subsequences that pair a word, for the words of the first list.
        through_second: As ``through_first``, for the words of the second list.
    """

    number: int
    through_first: tuple[int, ...]
    through_second: tuple[int, ...]


def aligned(first: Sequence[str], second: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The share of longest common subsequences that pair a word, for both lists: float64 [words] in [0, 1].

    The shares depend neither on the choice among equally long subsequences nor on the direction of reading. In each
    list they sum to the length of the subsequences. Case is ignored.

    Example:
        >>> first, second = aligned(["The", "cat", "saw", "it"], ["it", "saw", "the", "cat"])
        >>> first.tolist(), second.tolist()  # "the cat" alone has two words
        ([1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0])
        >>> first, second = aligned(["cat", "saw", "dog"], ["dog", "saw", "cat"])
        >>> [round(share, 3) for share in first.tolist()]  # each of the three is as long as the others
        [0.333, 0.333, 0.333]
    """
    found_alignments = _alignments(*_lower(first, second))
    in_first = _of_words(through / found_alignments.number for through in found_alignments.through_first)
    return in_first, _of_words(through / found_alignments.number for through in found_alignments.through_second)


@lru_cache(maxsize=2**14)  # several factors of several models ask for the same words
def _alignments(a: tuple[str, ...], b: tuple[str, ...]) -> Alignments:
    behind, of_behind = _suffixes(a, b)
    before, of_before = _suffixes(a[::-1], b[::-1])
    through_first = [0] * len(a)
    through_second = [0] * len(b)
    for i, word in enumerate(a):
        for j in (j for j, second in enumerate(b) if second == word):
            ahead = len(a) - i, len(b) - j  # where the reversed lists have what stands before both
            if before[ahead[0]][ahead[1]] + 1 + behind[i + 1][j + 1] == behind[0][0]:
                through = of_before[ahead[0]][ahead[1]] * of_behind[i + 1][j + 1]
                through_first[i] += through
                through_second[j] += through
    return Alignments(of_behind[0][0], tuple(through_first), tuple(through_second))


def _suffixes(a: Sequence[str], b: Sequence[str]) -> tuple[list[list[int]], list[list[int]]]:
    """Length and number of the longest common subsequences of ``a[i:]`` and ``b[j:]``, at [i][j]."""
    length = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    number = [[1] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            paired = length[i + 1][j + 1] + 1 if a[i] == b[j] else -1
            longest = max(paired, length[i + 1][j], length[i][j + 1])
            length[i][j] = longest
            number[i][j] = (
                number[i + 1][j + 1] * (paired == longest)
                + number[i + 1][j] * (length[i + 1][j] == longest)
                + number[i][j + 1] * (length[i][j + 1] == longest)
                - number[i + 1][j + 1] * (length[i + 1][j + 1] == longest)  # those are among both of the last two
            )
    return length, number


def shared(first: Sequence[str], second: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """1 for each word that also occurs in the other list, in any order, and 0 otherwise: float64 [words], for both
    lists.

    Example:
        >>> [of_words.tolist() for of_words in shared(["The", "cat"], ["a", "cat", "the", "the"])]
        [[1.0, 1.0], [0.0, 1.0, 1.0, 1.0]]
    """
    a, b = _lower(first, second)
    return _of_words(word in b for word in a), _of_words(word in a for word in b)


def swapped(first: Sequence[str], second: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Positions of common words that move: int64, in the first list and in the second list.

    A word moves if some longest common subsequence omits it. So if two phrases of equal length are exchanged, both
    move, in either direction of reading; if their lengths differ, only the shorter phrase moves. A word that moves in
    one list alone, such as a repeated word, is not swapped.

    If there are content words, only these count: words with a letter or a digit that are not in ``alignment.yaml``.

    Example:
        >>> a, b = "a good dog became a bad cat".split(), "a bad dog became a good cat".split()
        >>> [places.tolist() for places in swapped(a, b)]
        [[1, 5], [1, 5]]
        >>> [places.tolist() for places in swapped("he saw her".split(), "her saw he".split())]  # saw moves as well
        [[1], [1]]
    """
    a, b = _lower(first, second)
    alignments = _alignments(a, b)
    in_first = [i for i, through in enumerate(alignments.through_first) if through < alignments.number]
    in_second = [j for j, through in enumerate(alignments.through_second) if through < alignments.number]
    moving = {a[i] for i in in_first} & {b[j] for j in in_second}
    wanted = {word for word in moving if is_content(word)} or moving
    return _places(a, in_first, wanted), _places(b, in_second, wanted)


def is_content(word: str) -> bool:
    """Whether a word in lower case is a content word.

    Example:
        >>> [is_content(word) for word in ("canyon", "to", "?!")]
        [True, False, False]
    """
    return any(sign.isalnum() for sign in word) and word not in FUNCTION_WORDS


def _lower(*lists: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return (tuple(word.lower() for word in words) for words in lists)


def _of_words(values: Iterable[float]) -> np.ndarray:
    return np.fromiter(values, dtype=np.float64)


def _places(words: Sequence[str], among: Sequence[int], wanted: set[str]) -> np.ndarray:
    return np.array([i for i in among if words[i] in wanted], dtype=np.int64)
