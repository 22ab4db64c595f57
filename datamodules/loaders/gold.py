"""Parse gold labels: one label per example, or several right labels."""

from collections.abc import Mapping, Sequence
from typing import Any

from heedful.datamodules.sources.values import as_text, brief
from heedful.records import SOFT, DataError, listing
from heedful.records.text import composed

MISSING = ("", "none", "null", "nan")  # missing values, as tools write them
NO_GOLD = (*MISSING, "-", "-1")
READ_AS_MISSING = (*MISSING, "na", "n/a", "<na>", "#n/a", "nil")  # some tools read these as missing values
NAME_THEM = "Write the name of the right label, or a list of the names of all right labels, each once."
LIST = "list"  # the column has lists


class Gold:
    """Converts values of the label column to gold labels.

    Case is ignored, unless spellings of two labels differ in case only.

    Args:
        labels: Maps label names to further spellings; None for free-text answers, which are not converted.
        spellings: Maps every spelling, including the names, to its label name.
        several: "list" if a value is a list of right labels, or the separator of right labels in a text; None for one
            right label.
    """

    def __init__(
        self, labels: Mapping[str, Sequence[str | int]] | None, spellings: Mapping[str, str], several: str | None
    ) -> None:
        self.is_verbatim = labels is None
        self.spellings = spellings
        self.several = several
        self.n_labels = len(labels or ())
        by_lower: dict[str, set[str]] = {}
        for text, label in spellings.items():
            by_lower.setdefault(text.lower(), set()).add(label)
        unique = {text: min(labels) for text, labels in by_lower.items() if len(labels) == 1}
        self.in_any_case = {text: label for text, label in unique.items() if text not in READ_AS_MISSING}
        self.like_missing = sorted({label for text, label in spellings.items() if text.lower() in READ_AS_MISSING})

    def __call__(self, value: Any) -> str | None:
        """Convert a value of the label column to a gold label.

        Returns:
            The label name; with several right labels, a JSON object that maps each to the score 1. None for a value
            without a label.

        Raises:
            DataError: The value is not a label, or may be a missing value as well as a label.
        """
        if self.several is None:
            return self._label(value)
        if isinstance(value, list) and self.several == LIST:
            names = value
        elif isinstance(value, str) and self.several != LIST:
            names = [name for name in value.split(self.several) if name.strip()] or [""]
        else:
            names = [value]
        if self._is_vector(names):
            raise DataError(f"The label {brief(value)} has one number per label. {NAME_THEM}")
        labels = [label for label in map(self._label, names) if label is not None]
        if len(set(labels)) < len(labels):
            raise DataError(f"The label {brief(value)} repeats a value. {NAME_THEM}")
        return SOFT.write_gold(dict.fromkeys(labels, 1.0)) if labels else None

    def _is_vector(self, value: Any) -> bool:
        """Whether a value is a list with a number from 0 to 1 for each label, such as a one-hot vector."""
        return (
            isinstance(value, list)
            and len(value) == self.n_labels > 1
            and all(isinstance(number, int | float) and 0 <= number <= 1 for number in value)
        )

    def _label(self, value: Any) -> str | None:
        if not isinstance(value, str | int | float | None):
            hint = (
                "For several right labels set data.several list; in measure, pass label=None."
                if isinstance(value, list)
                else ""
            )
            hint = f"It has one number per label. {NAME_THEM}" if self._is_vector(value) else hint
            raise DataError(f"The label {brief(value)} is not one text or number. {hint}")
        if self.is_verbatim and isinstance(value, str):
            return value if value.strip() else None
        is_null = value is None or value != value  # a null value, not the text "None", which may be a label
        label = (
            None if is_null else self.spellings.get(composed(str(value)).strip()) or self.spellings.get(as_text(value))
        )
        if label is None and as_text(value).lower() not in NO_GOLD:
            label = self.in_any_case.get(as_text(value).lower())
            if label is None:
                spellings = listing(list(self.spellings))
                problem = f"The label {brief(value)} is not one of data.labels: {spellings}."
                raise DataError(f"{problem} Add it to the spellings of a label.")
        if label is None and self.like_missing and (is_null or as_text(value).lower() in MISSING):
            raise DataError(
                f"The label is {'missing' if is_null else brief(value)}, as tools may write {self.like_missing[0]}. "
                "Spell labels as in data.labels, and write - for no label."
            )
        return label
