"""Answers: which are equal, and scores as in SQuAD 2.0 (Rajpurkar, Jia and Liang 2018, evaluate-v2.0.py)."""

import re
import string
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from heedful.records.errors import ModelError, SettingError
from heedful.records.text import normal_form

NO_ANSWER = ""
NO_LABEL = "(no label)"  # in place of a generated answer that is no label
PUNCTUATION = str.maketrans("", "", string.punctuation)
FORMS: dict[str, Callable[[str], Hashable]] = {"normalised": normal_form, "exact": str}


def without_surrogates(answer: str) -> str:
    """Replace unpaired surrogates, such as half an emoji, by U+FFFD, since files cannot store them."""
    return answer.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def normalised(answer: str) -> str:
    """Normalize an answer as SQuAD does: lower case, without ASCII punctuation, articles and repeated spaces.

    Exact match and F1 need this published definition; elsewhere, :func:`heedful.records.text.normal_form` compares
    answers, and tells -3 from 3 and 5 % from 5.
    """
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", answer.lower().translate(PUNCTUATION)).split())


def exact_match(answer: str, golds: Sequence[str]) -> float:
    """Return 1 if the :func:`normalised` answer equals any normalised gold answer ("" if there is none), else 0."""
    return float(normalised(answer) in map(normalised, _right(golds)))


def f1(answer: str, golds: Sequence[str]) -> float:
    """Return the highest word-level F1 of an answer and any gold answer ("" if there is none), :func:`normalised`."""
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


class Same:
    """A function that maps equal free-text answers to one text: the first one with their normal form so far.

    Args:
        same: "normalised" for :func:`normal_form`; "exact" for the text itself; or a function from a text to its normal
            form, or to None for no answer, which becomes NO_LABEL. The function is called once per text.
    """

    def __init__(self, same: str | Callable[[str], Any] = "normalised") -> None:
        if not callable(same) and (not isinstance(same, str) or same not in FORMS):
            raise SettingError(f"same {same!r} is unknown. Give normalised, exact, or a function to a normal form.")
        self.setting = same
        self._form: Callable[[str], Any] = FORMS[same] if isinstance(same, str) else same
        self.representatives: dict[str, str] = {}  # of the texts of the calls so far
        self._first: dict[Hashable, str] = {None: NO_LABEL}  # maps each normal form to its first text

    def __call__(self, text: str) -> str:
        if text not in self.representatives:
            try:
                self.representatives[text] = self._first.setdefault(self._form(text), text)
            except Exception as error:
                raise ModelError(
                    f"same raised {type(error).__name__} for the text {text[:80]!r} ({error}). Give a function to a "
                    "normal form, or to None for no answer."
                ) from error
        return self.representatives[text]
