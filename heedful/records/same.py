"""Equality of free-text answers."""

import re
from collections.abc import Callable, Hashable
from typing import Any

from heedful.records.errors import ModelError, SettingError
from heedful.records.task import NO_LABEL

ARTICLES = {"a", "an", "the"}
AROUND = re.compile(r"^[^\w<>=+$-]+|[^\w<>=+%$-]+$")  # punctuation around a word, except signs and units


def normal_form(text: str) -> str:
    """Lower-case an answer, and remove punctuation around words, superfluous spaces, and articles before other words.

    Punctuation within words and signs stay, so that numbers such as -3.5 and 1/2 do not change. Source: based on SQuAD
    2.0 (evaluate-v2.0.py), which removes all punctuation.

    Example:
        >>> [normal_form(text) for text in ("The  Eiffel Tower.", "A", "-3.5!", "...")]
        ['eiffel tower', 'a', '-3.5', '...']
    """
    words = [word for word in (AROUND.sub("", word) for word in text.casefold().split()) if word]
    words = [word for word in words if word not in ARTICLES] or words
    return " ".join(words or text.casefold().split())


FORMS: dict[str, Callable[[str], Hashable]] = {"normalised": normal_form, "exact": str}


class Same:
    """Map texts that are the same answer to one representative, the first of them.

    Args:
        same: "normalised", by :func:`normal_form`; "exact"; or a function from an answer to its normal form, None for
            no answer, which is called once per text.

    Attributes:
        setting: The argument ``same``.
        representatives: Maps texts to representative.

    Raises:
        SettingError: ``same`` is something else.

    Example:
        >>> same = Same()
        >>> same("Paris."), same("the paris"), same("Rome")
        ('Paris.', 'Paris.', 'Rome')
    """

    def __init__(self, same: str | Callable[[str], Any] = "normalised") -> None:
        if not callable(same) and (not isinstance(same, str) or same not in FORMS):
            raise SettingError(f"same {same!r} is unknown. Give normalised, exact, or a function to a normal form.")
        self.setting = same
        self._form: Callable[[str], Any] = FORMS[same] if isinstance(same, str) else same
        self.representatives: dict[str, str] = {}
        self._first: dict[Hashable, str] = {None: NO_LABEL}  # form to its first text

    def __call__(self, text: str) -> str:
        """The representative of a text; NO_LABEL for no answer.

        Raises:
            ModelError: The user's function fails.
        """
        if text not in self.representatives:
            try:
                self.representatives[text] = self._first.setdefault(self._form(text), text)
            except Exception as error:
                raise ModelError(
                    f"same raised {type(error).__name__} for the text {text[:80]!r} ({error}). Give a function to a "
                    "normal form, or to None for no answer."
                ) from error
        return self.representatives[text]
