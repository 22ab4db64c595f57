"""Gold labels as sources write them: one label, or several that are right."""

from collections.abc import Mapping, Sequence
from typing import Any

from heedful.datamodules.sources.values import brief, plain
from heedful.records import SOFT, DataError, listing

MISSING = ("", "none", "null", "nan")  # how tools write a value that is missing
NO_GOLD = (*MISSING, "-", "-1")
TAKEN_FOR_MISSING = (*MISSING, "na", "n/a", "<na>", "#n/a", "nil")  # what some of them read as missing, in any case
NAME_THEM = "Write the name of the right label, or a list of the names of those that are right, each once."
LIST = "list"  # of names, in a column that holds lists


class Gold:
    """Reads gold labels, exactly as they are spelled or, where that leaves one label, in other capitals.

    Args:
        labels: Label name to its spellings (its own name is always one); None where gold is no name of a label but
            taken as it stands.
        spellings: Spelling to label name.
        several: How several right labels stand in the column: "list", or else the text between them; None where one
            label is right.
    """

    def __init__(
        self, labels: Mapping[str, Sequence[str | int]] | None, spellings: Mapping[str, str], several: str | None
    ) -> None:
        self.as_it_stands = labels is None
        self.spellings = spellings
        self.several = several
        self.n_labels = len(labels or ())
        of_case: dict[str, set[str]] = {}
        for text, label in spellings.items():
            of_case.setdefault(text.lower(), set()).add(label)
        alone = {text: min(labels_of_text) for text, labels_of_text in of_case.items() if len(labels_of_text) == 1}
        self.in_any_case = {text: label for text, label in alone.items() if text not in TAKEN_FOR_MISSING}
        self.like_missing = sorted({label for text, label in spellings.items() if text.lower() in TAKEN_FOR_MISSING})

    def __call__(self, value: Any) -> str | None:
        """Gold as text, as its kind of task writes it; None for none.

        Raises:
            HeedfulError: It is not a label.
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
        """Whether a list has one 0 or 1, or one probability, per label."""
        return (
            isinstance(value, list)
            and len(value) == self.n_labels > 1
            and all(isinstance(number, int | float) and 0 <= number <= 1 for number in value)
        )

    def _label(self, value: Any) -> str | None:
        if not isinstance(value, str | int | float | None):
            hint = "Several right labels are read with data.several list." if isinstance(value, list) else ""
            hint = f"It has one number per label. {NAME_THEM}" if self._is_vector(value) else hint
            raise DataError(f"The label {brief(value)} is not one text or number. {hint}")
        if self.as_it_stands and isinstance(value, str):
            return value if value.strip() else None
        nothing = value is None or value != value  # which no label is called, not even "None"
        label = None if nothing else self.spellings.get(str(value).strip()) or self.spellings.get(plain(value))
        if label is None and plain(value).lower() not in NO_GOLD:
            label = self.in_any_case.get(plain(value).lower())
            if label is None:
                raise DataError(
                    f"The label {brief(value)} is unknown. Known are {listing(list(self.spellings))}; data.labels "
                    "'{LABEL: [SPELLING]}' names all."
                )
        if label is None and self.like_missing and (nothing or plain(value).lower() in MISSING):
            raise DataError(
                f"The label is {'missing' if nothing else brief(value)}, and many tools write {self.like_missing[0]}, "
                "which is a label, like that. Write the label as data.labels does, and - where there is none."
            )
        return label
