"""When two free texts are one answer."""

import re
from collections.abc import Callable, Hashable
from typing import Any

from heedful.records.errors import ModelError, SettingError
from heedful.records.task import NO_LABEL

ARTICLES = {"a", "an", "the"}
AROUND = re.compile(r"^[^\w<>=+$-]+|[^\w<>=+%$-]+$")  # a word; signs and units are not around it, but of it


def normal_form(text: str) -> str:
    """An answer in lower case, without punctuation around its words, superfluous spaces, and articles beside others.

    What stands within a word, as in 3.5 or 1/2, and a sign before it stay: numbers remain what they are. Source: after
    the form of SQuAD 2.0 (evaluate-v2.0.py), which leaves out all punctuation.

    Example:
        >>> [normal_form(text) for text in ("The  Eiffel Tower.", "A", "-3.5!", "...")]
        ['eiffel tower', 'a', '-3.5', '...']
    """
    words = [word for word in (AROUND.sub("", word) for word in text.casefold().split()) if word]
    words = [word for word in words if word not in ARTICLES] or words
    return " ".join(words or text.casefold().split())


FORMS: dict[str, Callable[[str], Hashable]] = {"normalised": normal_form, "exact": str}


class Same:
    """Writes texts that are one answer alike: as the first of them that it met.

    Args:
        same: "normalised", by :func:`normal_form`; "exact"; or a function from an answer to its normal form, None for
            no answer. It is called once for each text.

    Attributes:
        given: The argument.
        representatives: Each text that it has met, to the one that stands for it.

    Raises:
        HeedfulError: It is something else.

    Example:
        >>> same = Same()
        >>> same("Paris."), same("the paris"), same("Rome")
        ('Paris.', 'Paris.', 'Rome')
    """

    def __init__(self, same: str | Callable[[str], Any] = "normalised") -> None:
        if not callable(same) and (not isinstance(same, str) or same not in FORMS):
            raise SettingError(
                f"same {same!r} does not say when two texts are the same. Give normalised, exact, or a function from "
                "an answer to its normal form."
            )
        self.given = same
        self._form: Callable[[str], Any] = FORMS[same] if isinstance(same, str) else same
        self.representatives: dict[str, str] = {}
        self._first: dict[Hashable, str] = {None: NO_LABEL}  # form to the first text of that form

    def __call__(self, text: str) -> str:
        """The first text of the same form; NO_LABEL for no answer.

        Raises:
            HeedfulError: The user's function raises, or its form of a text cannot be compared.
        """
        if text not in self.representatives:
            try:
                self.representatives[text] = self._first.setdefault(self._form(text), text)
            except Exception as error:
                raise ModelError(
                    f"same raised {type(error).__name__} for the text {text[:80]!r} ({error}). Give a function from an "
                    "answer to its normal form, which returns None for no answer."
                ) from error
        return self.representatives[text]
