"""When two free texts are one answer."""

import inspect
import re
from collections.abc import Callable, Hashable
from typing import Any

from heedful.records.errors import ModelError, SettingError

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
        same: "normalised", by :func:`normal_form`; "exact"; a function of a text that returns its form, which is called
            once for each text; or a function of two texts that says whether they are the same. The latter is asked
            about each new text and every answer that is different so far, so that "the same" has to hold between any
            two texts that are the same as a third.

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

    def __init__(self, same: str | Callable[..., Any] = "normalised") -> None:
        if isinstance(same, str) and same in FORMS:
            form = FORMS[same]
        elif callable(same):
            form = same
        else:
            raise SettingError(
                f"same {same!r} does not say when two texts are the same. Give normalised, exact, or a function of "
                "one text or of two."
            )
        self.given = same
        self._form: Callable[..., Any] = form
        self._is_pair = _takes_two(form)
        self.representatives: dict[str, str] = {}
        self._first: dict[Hashable, str] = {}  # form to the first text of that form

    def __call__(self, text: str) -> str:
        """The text that stands for this one.

        Raises:
            HeedfulError: The user's function raises, or its form of a text cannot be compared.
        """
        if text not in self.representatives:
            try:
                first = self._alike(text) if self._is_pair else self._first.setdefault(self._form(text), text)
            except Exception as error:
                wrong = f"same raised {type(error).__name__} for the text {text[:80]!r}: {error}"
                raise ModelError(f"{wrong.rstrip('.')}. Correct it, or have it return None for no answer.") from error
            self.representatives[text] = first
        return self.representatives[text]

    def _alike(self, text: str) -> str:
        alike = next((first for first in self._first.values() if self._form(first, text)), text)
        return self._first.setdefault(alike, alike)


def _takes_two(function: Callable[..., Any]) -> bool:
    """Whether a function needs two arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of a function in C
        return False
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in by_place and p.default is p.empty for p in parameters) == 2
