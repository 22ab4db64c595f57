"""Find the words that two texts have in common, in the same order or in another order."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from heedful.records.storage.yaml_files import word_lists

FUNCTION_WORDS = frozenset(word for words in word_lists(__file__).values() for word in words)


class Alignments(NamedTuple):
    """Counts of the longest common subsequences of two lists of words; a subsequence is a set of pairs of positions.

    Attributes:
        number: Number of these subsequences; 1 (the empty one) if there is no common word.
        through_first: For each word of the first list, the number of these subsequences that contain it.
        through_second: For each word of the second list, the number of these subsequences that contain it.
    """

    number: int
    through_first: tuple[int, ...]
    through_second: tuple[int, ...]


def aligned(first: Sequence[str], second: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each word of two texts, the share of longest common subsequences with the word: float64 [words] each.

    A common subsequence is a list of words that both texts contain in this order. In each text, the shares sum to the
    length of a longest common subsequence. Case is ignored.

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


@lru_cache(maxsize=2**14)  # several factors of several models need the alignments of the same words
def _alignments(a: tuple[str, ...], b: tuple[str, ...]) -> Alignments:
    """Count the longest common subsequences of two lists of words, and those through each word."""
    behind, of_behind = _suffixes(a, b)
    before, of_before = _suffixes(a[::-1], b[::-1])
    through_first = [0] * len(a)
    through_second = [0] * len(b)
    for i, word in enumerate(a):
        for j in (j for j, second in enumerate(b) if second == word):
            ahead = len(a) - i, len(b) - j  # positions in the reversed lists, after both words
            if before[ahead[0]][ahead[1]] + 1 + behind[i + 1][j + 1] == behind[0][0]:
                through = of_before[ahead[0]][ahead[1]] * of_behind[i + 1][j + 1]
                through_first[i] += through
                through_second[j] += through
    return Alignments(of_behind[0][0], tuple(through_first), tuple(through_second))


def _suffixes(a: Sequence[str], b: Sequence[str]) -> tuple[list[list[int]], list[list[int]]]:
    """Return two tables, whose entries [i][j] are the length and the number of the longest common subsequences of the
    suffixes ``a[i:]`` and ``b[j:]``.
    """
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
                - number[i + 1][j + 1] * (length[i + 1][j + 1] == longest)  # counted by both of the last two
            )
    return length, number


def swapped(first: Sequence[str], second: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the swapped words, in the first and in the second list: int64 [swapped words] each.

    A common subsequence is a list of words that both lists contain in this order. A position is loose if some longest
    common subsequence does not use the word at this position. A word is swapped if it has a loose position in both
    lists. If any swapped word is a content word (:func:`is_content`), only content words are returned. Case is ignored.

    Example:
        >>> a, b = "a good dog became a bad cat".split(), "a bad dog became a good cat".split()
        >>> [places.tolist() for places in swapped(a, b)]
        [[1, 5], [1, 5]]
        >>> # each word alone is a longest common subsequence; only "saw" is a content word
        >>> [places.tolist() for places in swapped("he saw her".split(), "her saw he".split())]
        [[1], [1]]
    """
    # If two phrases of equal length change places, the words of both are swapped; of two phrases of different lengths,
    # only the words of the shorter phrase, since each longest common subsequence contains the longer phrase.
    a, b = _lower(first, second)
    alignments = _alignments(a, b)
    in_first = [i for i, through in enumerate(alignments.through_first) if through < alignments.number]
    in_second = [j for j, through in enumerate(alignments.through_second) if through < alignments.number]
    moving = {a[i] for i in in_first} & {b[j] for j in in_second}
    wanted = {word for word in moving if is_content(word)} or moving
    return _places(a, in_first, wanted), _places(b, in_second, wanted)


def is_content(word: str) -> bool:
    """Whether a word in lower case has a letter or a digit, and is not a function word listed in ``alignment.yaml``.

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
