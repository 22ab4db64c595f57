"""Split texts into words independently of tokenizers, so that attributions of all models refer to the same words."""

import re

import numpy as np

WORD = re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]+")  # letters and digits with inner ' and -, or other characters


def word_spans(text: str) -> np.ndarray:
    """The start and end offsets of the words of a text: int32 [words, 2].

    Example:
        >>> word_spans("It's late.").tolist()
        [[0, 4], [5, 9], [9, 10]]
    """
    spans = [match.span() for match in WORD.finditer(text)]
    return np.array(spans, dtype=np.int32).reshape(-1, 2)


def words(text: str) -> list[str]:
    """Return the words of a text, in order.

    Example:
        >>> words("It's late.")
        ["It's", 'late', '.']
    """
    return WORD.findall(text)
