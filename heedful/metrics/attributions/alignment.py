"""Find the words that two texts have in common, in the same order or in another order."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from heedful.records.storage.yaml_files import word_lists

FUNCTION_WORDS = frozenset(word for words in word_lists(__file__).values() for word in words)


class Alignments(NamedTuple):
    """Counts of the longest common subsequences of two lists of words.

    A common subsequence is a set of pairs of positions of equal words, with the same order of words in both lists.

    Attributes:
        number: Number of these subsequences; 1 (the empty one) if there is no common word.
        through_first: For each word of the first list, the number of these subsequences that contain it.
        through_second: For each word of the second list, the number of these subsequences that contain it.
    """

    number: int
    through_first: list[int]
    through_second: list[int]


def aligned(first: Sequence[str], second: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each word of two texts, the share of longest common subsequences with the word: float64 [words] each.

    In each text, the shares sum to the length of a longest common subsequence. Case is ignored.

    Example:
        >>> first, second = aligned(["The", "cat", "saw", "it"], ["it", "saw", "the", "cat"])
        >>> first.tolist(), second.tolist()  # "the cat" alone has two words
        ([1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0])
        >>> first, second = aligned(["cat", "saw", "dog"], ["dog", "saw", "cat"])
        >>> [round(share, 3) for share in first.tolist()]  # each of the three is as long as the others
        [0.333, 0.333, 0.333]
    """
    number, *through = _alignments(_lower(first), _lower(second))
    in_first, in_second = (np.array([count / number for count in counts], dtype=np.float64) for counts in through)
    return in_first, in_second


@lru_cache(maxsize=2**14)  # several factors of several models need the alignments of the same words
def _alignments(a: tuple[str, ...], b: tuple[str, ...]) -> Alignments:
    behind, number_behind = _suffixes(a, b)
    before, number_before = _suffixes(a[::-1], b[::-1])
    found = Alignments(number_behind[0][0], [0] * len(a), [0] * len(b))
    for i, j in product(range(len(a)), range(len(b))):
        k, m = len(a) - i, len(b) - j  # positions in the reversed lists, after both words
        if a[i] == b[j] and before[k][m] + 1 + behind[i + 1][j + 1] == behind[0][0]:
            through = number_before[k][m] * number_behind[i + 1][j + 1]
            found.through_first[i] += through
            found.through_second[j] += through
    return found


def _suffixes(a: Sequence[str], b: Sequence[str]) -> tuple[list[list[int]], list[list[int]]]:
    """Return the lengths and the numbers, [i][j], of the longest common subsequences of ``a[i:]`` and ``b[j:]``."""
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

    A position is loose if some longest common subsequence does not use the word at this position. A word is swapped if
    it has a loose position in both lists. If any swapped word is a content word (:func:`is_content`), only content
    words are returned. Case is ignored.

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
    a, b = _lower(first), _lower(second)
    number, *through = _alignments(a, b)
    loose_a, loose_b = ([i for i, count in enumerate(counts) if count < number] for counts in through)
    moving = {a[i] for i in loose_a} & {b[j] for j in loose_b}
    wanted = {word for word in moving if is_content(word)} or moving
    in_a, in_b = [i for i in loose_a if a[i] in wanted], [j for j in loose_b if b[j] in wanted]
    return np.array(in_a, dtype=np.int64), np.array(in_b, dtype=np.int64)


def is_content(word: str) -> bool:
    """Whether a word in lower case has a letter or a digit, and is not a function word listed in ``alignment.yaml``.

    Example:
        >>> [is_content(word) for word in ("canyon", "to", "?!")]
        [True, False, False]
    """
    return any(sign.isalnum() for sign in word) and word not in FUNCTION_WORDS


def _lower(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.lower() for word in words)
