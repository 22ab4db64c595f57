"""Exact match and F1 of SQuAD 2.0, and phrases for "no answer".

Source: Rajpurkar, Jia and Liang (2018), evaluate-v2.0.py. The phrases are in ``answers.yaml``.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from functools import cache

from heedful.records.word_lists import word_lists

NO_ANSWER = ""
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(answer: str) -> str:
    """Lower-case an answer, and remove ASCII punctuation, the articles a, an and the, and superfluous spaces.

    Example:
        >>> normalised("The  U.S. Army,"), normalised("an")
        ('us army', '')
    """
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", answer.lower().translate(PUNCTUATION)).split())


def exact_match(answer: str, golds: Sequence[str]) -> float:
    """1 if the normalised answer is a gold answer, else 0; without gold answers, "" is right."""
    return float(normalised(answer) in map(normalised, _right(golds)))


def f1(answer: str, golds: Sequence[str]) -> float:
    """The highest word F1 of an answer over the gold answers; without gold answers, "" is right.

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


@cache
def _phrases() -> dict[str, tuple[str, ...]]:
    """The lists of answers.yaml, normalised."""
    return {name: tuple(map(normalised, phrases)) for name, phrases in word_lists(__file__).items()}


def _prefix(answer: str, name: str) -> str:
    """The longest phrase of a list that is a prefix of an answer, or ""."""
    return max((phrase for phrase in _phrases()[name] if f"{answer} ".startswith(f"{phrase} ")), key=len, default="")


def _without_opening(answer: str) -> str:
    return answer.removeprefix(_prefix(answer, "openings")).strip() or answer


def abstains(answer: str) -> bool:
    """Whether a normalised answer means "no answer".

    Example:
        >>> [abstains(normalised(text)) for text in ("I do not know.", "Unanswerable", "Not given to anyone", "Paris")]
        [True, True, False, False]
    """
    phrase = _without_opening(answer)
    return phrase in _phrases()["abstentions"] or bool(_prefix(phrase, "abstaining"))


def declines(answer: str) -> bool:
    """Whether a normalised answer refuses to answer, which is neither an answer nor "no answer".

    Example:
        >>> declines(normalised("I'm sorry, but I can't help with that.")), declines(normalised("I can help"))
        (True, False)
    """
    return bool(_prefix(_without_opening(answer), "refusals"))
