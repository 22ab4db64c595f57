"""Words of a text, by a rule that depends on no tokenizer: models with different tokenizers explain the same words."""

import re

import numpy as np

WORD = re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]+")  # letters and digits, with ' and - inside; or a run of other signs


def word_spans(text: str) -> np.ndarray:
    """Where the words of a text stand: int32 [words, 2], the first character and the one behind the last.

    Example:
        >>> word_spans("It's late.").tolist()
        [[0, 4], [5, 9], [9, 10]]
    """
    spans = [match.span() for match in WORD.finditer(text)]
    return np.array(spans, dtype=np.int32).reshape(-1, 2)


def words(text: str) -> list[str]:
    """The words of a text.

    Example:
        >>> words("It's late.")
        ["It's", 'late', '.']
    """
    return WORD.findall(text)
