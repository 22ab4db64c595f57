"""Where the edited versions of examples (counterparts) are in the data, and what their gold labels are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from heedful.datamodules.loaders.gold import Gold
from heedful.datamodules.sources.values import filled, is_empty, is_pattern, text_of
from heedful.records import CLUSTER, COUNTERPARTS, DataError, Examples, HeedfulError, Part, Picture, SettingError, Table
from heedful.records.rows import STAYS
from heedful.records.text import composed


@dataclass(frozen=True)
class Counterpart:
    """Setting that says where the edited versions (counterparts) of examples are.

    Exactly one of ``parts``, ``original`` and ``group`` is given. A set of counterparts is an original with its edits,
    or a group. Sets are never divided by ``hold_out``, ``folds`` and samples, and their members are never partners.

    Attributes:
        parts: Maps edited parts to the columns of their new content, for data with both versions in one row. A row in
            which one of these columns is empty has no counterpart.
        label: With ``parts``: column of the gold label after the edit, or "stays" if edits keep the label.
        original: Column with the id of the example that a row is an edited version of; empty, or the id of the row, for
            originals. A pattern such as "{id-1}-orig" composes the id. Needs ``data.uid``.
        group: Column, pattern or list of columns: examples with equal values are counterparts.
        any_order: Whether two examples are also in one group if their values are the same in another order.
        kind: Column of the kind of edit, for a breakdown of the numbers.
    """

    parts: Mapping[str, str] = field(default_factory=dict)
    label: str | None = None
    original: str | None = None
    group: str | list[str] | None = None
    any_order: bool = False
    kind: str | None = None

    def __post_init__(self) -> None:
        forms = [bool(self.parts), self.original is not None, bool(self.group)]
        if sum(forms) != 1:
            raise SettingError("data.counterpart needs one of parts (with label), original and group.")
        if bool(self.parts) != (self.label is not None):
            raise SettingError("data.counterpart.label belongs to data.counterpart.parts: a column, or stays.")

    @property
    def is_joined(self) -> bool:
        """Whether counterparts are rows of their own."""
        return not self.parts

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that describe the edit, without "edited."."""
        first = ("original",) if self.original is not None else (*self.parts, "label") if self.parts else ()
        return (*first, *(["kind"] if self.kind is not None else []))

    @property
    def keys(self) -> Sequence[str]:
        """The columns of ``group``."""
        return [self.group] if isinstance(self.group, str) else self.group or []

    @property
    def required(self) -> tuple[str, ...]:
        """Columns that every row must have."""
        columns = (*self.parts.values(), self.label_column, self.original, *self.keys, self.kind)
        return tuple(column for column in columns if column is not None and not is_pattern(column))

    @property
    def label_column(self) -> str | None:
        """Column of the gold label after the edit; None if there is no such column."""
        return None if self.label == STAYS else self.label

    def edited(
        self, values: Mapping[str, Any], gold: Gold, label: str | None, ids: tuple[str, str], where: str, row: int | str
    ) -> tuple[list[Part | None], list[str]]:
        """Return the values of :attr:`names` for a row, and the name of its set if counterparts are rows of their own.

        ``label`` is the gold label of the row, and ``ids`` has the first part of all uids and the id of the row.
        """
        value = partial(_content, values=values, where=where, row=row)
        kind = [] if self.kind is None else [value(self.kind)]
        if self.parts:
            contents = list(map(value, self.parts.values()))
            try:
                new_label = label if self.label_column is None else gold(values[self.label_column])
            except HeedfulError as error:
                raise error.at(f"{where}, row {row}, data.counterpart.label") from None
            return [*contents, None if None in contents else new_label, *kind], []
        if self.original is not None:
            prefix, uid = ids
            original = value(self.original) or uid
            return [None if original == uid else f"{prefix}/{original}", *kind], [original]
        texts = [composed(text_of(value(key), where, row, key)) for key in self.keys]
        return kind, ["\n".join(sorted(texts) if self.any_order else texts)]


def _content(column: str, values: Mapping[str, Any], where: str, row: int | str) -> Any:
    """Return the value of a column or pattern: a text, picture or table; None if it is empty."""
    if is_pattern(column):
        return filled(column, values, f"{where}, row {row}")
    content = values[column]
    if is_empty(content):
        return None
    return content if isinstance(content, Picture | Table) else text_of(content, where, row, column)


def counterpart_of(setting: Counterpart | Mapping[str, Any] | None, parts: Sequence[str], uid: str | None) -> Any:
    """Return the setting as a :class:`Counterpart`, or None; raise SettingError if it does not fit parts and uid."""
    counterpart = Counterpart(**setting) if isinstance(setting, Mapping) else setting
    if counterpart is None:
        return None
    if unknown := [part for part in counterpart.parts if part not in parts or part in ("label", "kind")]:
        raise SettingError(f"data.counterpart.parts {unknown[0]} is not a part. Name some of {', '.join(parts)}.")
    if counterpart.original is not None and uid is None:
        raise SettingError("data.counterpart.original names rows by their ids. Name the column of ids with data.uid.")
    return counterpart


def require_whole_sets(examples: Examples, where: str) -> None:
    """Raise DataError if two members of a set of counterparts are in different clusters."""
    sets, clusters = (np.array(examples.table[name].to_pylist()) for name in (f"groups.{COUNTERPARTS}", CLUSTER))
    _, first, of_set = np.unique(sets, return_index=True, return_inverse=True)
    if (differs := clusters != clusters[first][of_set]).any():
        i = int(differs.argmax())
        raise DataError(
            f"{where}: the counterparts {examples.uid(i)} and {examples.uid(first[of_set[i]])} are in two clusters. "
            "Choose a data.cluster, or first of data.groups, that does not divide counterparts."
        )
