"""Characters of answers; and scores of an answer to a question, as in SQuAD 2.0: exact match and F1.

Source: Rajpurkar, Jia and Liang (2018), evaluate-v2.0.py.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence

NO_ANSWER = ""
PUNCTUATION = str.maketrans("", "", string.punctuation)


def without_surrogates(answer: str) -> str:
    r"""Replace unpaired surrogates, such as half an emoji, by U+FFFD, since files cannot store them.

    Example:
        >>> ascii(without_surrogates("cut \ud83d"))
        "'cut \\ufffd'"
    """
    return answer.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def normalised(answer: str) -> str:
    """Normalize an answer as SQuAD does: lower case, without ASCII punctuation, articles and repeated spaces.

    Exact match and F1 need this published definition; elsewhere, :func:`heedful.records.text.normal_form` compares
    answers, and tells -3 from 3 and 5 % from 5.

    Example:
        >>> normalised("The  U.S. Army,"), normalised("an")
        ('us army', '')
    """
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", answer.lower().translate(PUNCTUATION)).split())


def exact_match(answer: str, golds: Sequence[str]) -> float:
    """Return 1 if the :func:`normalised` answer equals any normalised gold answer, else 0.

    Args:
        answer: The predicted answer; "" means "no answer".
        golds: The gold answers; if there are none, "" is the right answer.
    """
    return float(normalised(answer) in map(normalised, _right(golds)))


def f1(answer: str, golds: Sequence[str]) -> float:
    """Return the highest word-level F1 between an answer and any gold answer, after both are :func:`normalised`.

    Args:
        answer: The predicted answer; "" means "no answer".
        golds: The gold answers; if there are none, "" is the right answer.

    Example:
        >>> f1("the Roman empire", ["Empire", "Rome"])
        0.6666666666666666
    """
    return max(_f1(normalised(answer).split(), normalised(gold).split()) for gold in _right(golds))


def _right(golds: Sequence[str]) -> list[str]:
    return [gold for gold in golds if normalised(gold)] or [NO_ANSWER]


def _f1(words: list[str], gold: list[str]) -> float:
    if not words or not gold:
        return float(words == gold)
    shared = (Counter(words) & Counter(gold)).total()
    precision = shared / len(words)
    recall = shared / len(gold)
    return 2 * precision * recall / (precision + recall) if shared else 0.0
