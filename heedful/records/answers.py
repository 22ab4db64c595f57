"""When an answer in free words is right, by exact match and F1 as SQuAD 2.0 defines them; and what says there is none.

Source: Rajpurkar, Jia and Liang (2018), evaluate-v2.0.py. The words for no answer are in ``answers.yaml``.
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
    """An answer in lower case, without ASCII punctuation, the articles a, an and the, and superfluous spaces.

    Example:
        >>> normalised("The  U.S. Army,"), normalised("an")
        ('us army', '')
    """
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", answer.lower().translate(PUNCTUATION)).split())


def exact_match(answer: str, golds: Sequence[str]) -> float:
    """1 where an answer is one of the gold answers, normalised, else 0; without gold answers, "" is right."""
    return float(normalised(answer) in map(normalised, _right(golds)))


def f1(answer: str, golds: Sequence[str]) -> float:
    """The highest F1 of the words of an answer and of a gold answer; without gold answers, "" is right.

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


def _begins(said: str, name: str) -> str:
    """The longest phrase of a list that a text begins with; "" for none."""
    return max((phrase for phrase in _phrases()[name] if f"{said} ".startswith(f"{phrase} ")), key=len, default="")


def _without_opening(said: str) -> str:
    return said.removeprefix(_begins(said, "openings")).strip() or said


def abstains(said: str) -> bool:
    """Whether a normalised answer says, in whatever words, that there is none.

    Example:
        >>> [abstains(normalised(text)) for text in ("I do not know.", "Unanswerable", "Not given to anyone", "Paris")]
        [True, True, False, False]
    """
    rest = _without_opening(said)
    return rest in _phrases()["abstentions"] or bool(_begins(rest, "abstaining"))


def declines(said: str) -> bool:
    """Whether a normalised answer refuses to answer, which is not an answer, and does not say that there is none.

    Example:
        >>> declines(normalised("I'm sorry, but I can't help with that.")), declines(normalised("I can help"))
        (True, False)
    """
    return bool(_begins(_without_opening(said), "refusals"))
