"""Equality of free-text answers up to a normal form."""

from collections.abc import Callable, Hashable
from typing import Any

from heedful.records.errors import ModelError, SettingError
from heedful.records.task import NO_LABEL
from heedful.records.text import normal_form

FORMS: dict[str, Callable[[str], Hashable]] = {"normalised": normal_form, "exact": str}


class Same:
    """A function that maps equal answers to one text, their representative.

    Two answers are equal if they have the same normal form. The representative of an answer is the first text with its
    normal form in the calls so far.

    Args:
        same: "normalised" for :func:`normal_form`; "exact" for the text itself; or a function from a text to its normal
            form, or to None for no answer. The function is called once per text.

    Attributes:
        setting: The argument ``same``.
        representatives: Maps each text of the calls so far to its representative.

    Raises:
        SettingError: If ``same`` has another value.

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
        self._first: dict[Hashable, str] = {None: NO_LABEL}  # maps each normal form to its first text

    def __call__(self, text: str) -> str:
        """Return the representative of ``text``: the first text with an equal normal form in this and earlier calls.

        The argument ``same`` of the class determines normal forms. If ``same`` is a function, its result is the normal
        form. A function returns None for a text that is no answer; the representative is then NO_LABEL.

        Raises:
            ModelError: If the function ``same`` fails.
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
