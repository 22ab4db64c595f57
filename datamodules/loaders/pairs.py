"""Load pairs of texts, and convert rows of any source to examples."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.datamodules.loaders.gold import MISSING, Gold
from heedful.datamodules.sources.readers import unpacked
from heedful.datamodules.sources.source import Source, Split
from heedful.datamodules.sources.values import Rows, brief, column_name, is_empty, listed, text_of
from heedful.records import (
    NO_LABEL,
    DataError,
    Examples,
    ExamplesBuilder,
    HeedfulError,
    SettingError,
    agree,
    inform,
)
from heedful.records.answers import Same
from heedful.records.errors import nearest, suggestion
from heedful.records.partners import identities
from heedful.records.text import composed

LABEL = "label"  # the default column of gold labels
DELIMITED = (".csv", ".tsv", ".txt")
SEPARATORS = "\t;|,"  # in the name of the only column, they suggest a wrong separator


@dataclass(frozen=True)
class Columns:
    """The use of each column of a source: which columns hold parts, labels, ids, groups and further values.

    Attributes:
        parts: Maps part names to columns.
        label: Column of the label; None for unlabelled examples.
        labels: Maps label names to further spellings; None for free-text answers.
        uid: Column of a unique id; None for hashes of the content.
        groups: Columns or parts that relate examples: examples with equal values are never partners. The first is the
            default cluster.
        meta: Columns that are copied into the rows of results; they may be empty.
        kinds: Maps parts that are not texts to "table" or "picture".
        slices: The columns that are in ``meta`` only because the setting ``slices`` names them.
        several: Format of several right labels, as for :class:`Gold`.
        cluster: Part, group or meta column of the clusters for intervals, instead of the first group. Examples that
            share only a meta column may be partners.
    """

    parts: Mapping[str, str]
    label: str | None
    labels: Mapping[str, Sequence[str | int]] | None
    uid: str | None = None
    groups: Sequence[str] = ()
    meta: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    slices: Sequence[str] = ()
    several: str | None = None
    cluster: str | None = None

    def __post_init__(self) -> None:
        for option, names in (("groups", self.groups), ("meta", self.meta)):
            if twice := [name for name in names if list(names).count(name) > 1]:
                raise SettingError(f"data.{option} names {twice[0]!r} twice.")
        if self.cluster not in (None, *(names := (*self.parts, *self.groups, *self.meta))):
            hint = suggestion(self.cluster, names)
            raise SettingError(f"data.cluster {self.cluster} is not a part, nor in data.groups or data.meta. {hint}")

    @property
    def further_groups(self) -> tuple[str, ...]:
        """The names in ``groups`` that are columns, without the names of parts.

        A group is a part or a column; examples with equal values in it are never partners (swapped with each other).
        """
        return tuple(group for group in self.groups if group not in self.parts)

    @property
    def clustered_by(self) -> str | None:
        """Name of the part, group or meta column whose values are the clusters; None without clusters."""
        return next(iter(self.groups), None) if self.cluster is None else self.cluster

    @property
    def required(self) -> tuple[str, ...]:
        """Columns that every row must have, apart from the label."""
        return (*self.parts.values(), *self.further_groups, *self.meta, *filter(None, [self.uid]))

    def meta_of(self, values: Mapping[str, Any], where: str, row: int | str) -> list[str]:
        """Return the values of a row's meta columns as text. Values may be empty, except in the cluster column."""
        return [
            "" if is_empty(values[name]) and name != self.cluster else text_of(values[name], where, row, name)
            for name in self.meta
        ]

    def spellings(self) -> dict[str, str]:
        """Return a mapping of each spelling of a label, including its name, to its name.

        Raises:
            SettingError: There are no labels, or two labels have the same spelling.
        """
        if self.labels is not None and not self.labels:
            raise SettingError("data.labels names no label. Name each with its spellings.")
        label_of: dict[str, str] = {}
        for name, spellings in (self.labels or {}).items():
            for spelling in map(composed, map(str, (name, *spellings))):
                if label_of.setdefault(spelling, name) != name:
                    raise SettingError(f"data.labels: {spelling!r} is a spelling of {label_of[spelling]} and {name}.")
        return label_of


def load_pairs(source: Source, columns: Columns, split: Split, same: Same | None = None) -> Examples:
    """Load pairs of texts, sorted by uid.

    Args:
        source: The source of rows.
        columns: Roles of the columns.
        split: The split.
        same: For free-text answers: maps an answer to the spelling of the first answer that counts as equal.

    Raises:
        HeedfulError: The split does not exist, or a row does not fit the columns.
    """
    where, rows = source.rows(split)
    rows = source.select(rows, where)
    if same is not None:
        rows = _with_same_spelling(rows, columns.label, same)
    return to_examples(rows, where, columns, split)


def _with_same_spelling(rows: Rows, column: str | None, same: Same) -> Rows:
    for row, values in rows:
        gold = values.get(column or "")
        is_text = isinstance(gold, str | int | float) and not is_empty(gold)
        answer = same(str(gold).strip()) if is_text else gold
        yield row, {**values, column: None if answer == NO_LABEL else answer} if is_text else values


def to_examples(rows: Rows, where: str, columns: Columns, split: Split) -> Examples:
    """Convert rows to examples, sorted by uid; rows without a gold label are dropped and counted in ``no_gold``.

    If evaluation rows lack the default label column, "label", and no other column has a similar name, the examples are
    unlabelled.

    Args:
        rows: Pairs (row number, values by column).
        where: Name of the source in messages.
        columns: Roles of the columns.
        split: The split, whose prefix starts the uids.

    Raises:
        HeedfulError: A row lacks a column, has an empty part or an unknown label, or repeats an id; the message names
            the row.
    """
    may_lack_label = not split.training and columns.label == LABEL
    gold = Gold(columns.labels, columns.spellings(), columns.several)
    further = columns.further_groups
    builder = ExamplesBuilder(tuple(columns.parts), further, columns.meta, columns.kinds, columns.clustered_by)
    has_label: bool | None = None
    kept_rows = []  # row number of each example
    no_gold = 0
    missing = Counter[str]()  # texts such as "None", which may be labels
    for row, values in rows:
        if has_label is None:
            has_label = columns.label is not None and not (may_lack_label and _is_unlabelled(values, columns))
        elif not has_label and columns.label in values:
            raise DataError(
                f"{where}, row {kept_rows[0]}: there is no column {columns.label!r}, but row {row} has it. Give each "
                "row a label, or set data.label to null (in Python None)."
            )
        require_columns(columns, values, where, row, has_label)
        label = None
        if has_label:
            try:
                label = gold(values[columns.label])
            except HeedfulError as error:
                raise error.at(f"{where}, row {row}") from None
            if label is None:
                no_gold += 1
                value = values[columns.label]
                missing.update([value] if isinstance(value, str) and value.strip().lower() in MISSING[1:] else ())
                continue
        parts = [
            values[column] if part in columns.kinds else text_of(values[column], where, row, column)
            for part, column in columns.parts.items()
        ]
        groups = [text_of(values[column], where, row, column) for column in further]
        id_ = "" if columns.uid is None else text_of(values[columns.uid], where, row, columns.uid)
        uid = f"{split.prefix}/{id_}"
        builder.add(uid, parts, label, groups, columns.meta_of(values, where, row))
        kept_rows.append(row)
    for text, n in missing.items():
        inform(
            f"{where}: {agree(n, 'row', 'rows')} with {text!r} in the column {columns.label!r} left out as unlabelled. "
            "If it is a label, list all labels: in measure labels=[...], else data.labels."
        )
    if not kept_rows:
        raise DataError(f"{where} has no row with a gold label ({no_gold} without). To evaluate, set data.label null.")
    examples = _sort_by_uid(builder.finish(), kept_rows, where, split.prefix, columns)
    examples.no_gold, examples.origin = no_gold, where
    return examples


def _is_unlabelled(values: Mapping[str, Any], columns: Columns) -> bool:
    """Whether a row has all required columns, but no label column and no column with a similar name."""
    if columns.label in values or not values.keys() >= set(columns.required):
        return False
    further = [str(name).lower() for name in values if name not in columns.required]
    return nearest(str(columns.label).lower(), further) is None


def require_columns(
    columns: Columns,
    values: Mapping[str, Any],
    where: str,
    row: int | str,
    label: bool = True,
    more: Sequence[str] = (),
) -> None:
    """Raise DataError if a row lacks a column that the settings name.

    Args:
        columns: Roles of the columns.
        values: Values of the row by column.
        where: Name of the source in messages.
        row: Number of the row in messages.
        label: Whether the label column is required.
        more: Further required columns.
    """
    required = [*columns.required, *more, *([columns.label] if label and columns.label is not None else [])]
    missing = list(dict.fromkeys(name for name in required if name not in values))
    if not missing:
        return
    if len(values) == 1 and any(mark in str(*values) for mark in SEPARATORS):
        raise DataError(f"{where} has one column, {brief(*values)}. Separate columns by commas (csv) or tabs (tsv).")
    names = {str(name).lower(): column_name(name) for name in values}
    near = nearest(missing[0].lower(), names)
    hint = f"{listed(values)}{f' Do you mean {names[near]}?' if near else ''}"
    if missing[0] in columns.slices:
        raise DataError(f"data.slices {missing[0]}: {where} does not have this column. {hint}")
    remedy = "Name columns by data.parts '{PART: COLUMN}' and data.label (measure: parts PART=COLUMN, label COLUMN)"
    if len(missing) == len(set(required)) and unpacked(where.lower()).endswith(DELIMITED):
        remedy += "; without a header, data.columns '[NAME, ...]'"
    elif missing == [columns.label]:
        remedy = "Set data.label to its name, or to null (in Python None)"
    elif missing == [columns.uid]:
        remedy = "Set data.uid (in Python uid=) to the column of ids"
    raise DataError(f"{where}, row {row}: there is no column {', '.join(map(repr, missing))}. {hint} {remedy}.")


def _sort_by_uid(examples: Examples, rows: Sequence[int | str], where: str, prefix: str, columns: Columns) -> Examples:
    """Sort examples by uid, so that the order of rows does not matter.

    If there is no id column, uids are first set to hashes of the content.

    Args:
        examples: Examples with uids ``<prefix>/<id>``, where the id is "" without an id column.
        rows: Row number of each example, for the message.
        where: Name of the source in messages.
        prefix: ``<data>/<split>``, the start of uids.
        columns: Roles of the columns.

    Raises:
        DataError: Two rows have the same id.
    """
    if columns.uid is None:
        examples = _named_by_content(examples, prefix)
        return examples.take(examples.uid_order)
    order = examples.uid_order  # stable: equal uids stay in the order of rows
    ordered = examples.table["uid"].take(pa.array(order))
    same = pc.equal(ordered[1:], ordered[:-1]).to_numpy()
    if same.any():
        again = order[1:][same]
        first = order[:-1][same][again.argmin()]
        name = examples.uid(again.min()).removeprefix(f"{prefix}/")
        raise DataError(f"{where}, row {rows[again.min()]}: the id {brief(name)} is also in row {rows[first]}.")
    return examples.take(order)


def _named_by_content(examples: Examples, prefix: str) -> Examples:
    """Return the examples with uids ``<prefix>/<hash of label and parts>``.

    Examples with equal hashes get the suffixes "#2", "#3", ... in an order that depends on their groups, meta columns
    and exact texts, not on the order of rows.
    """
    names = np.array(examples.contents(examples.parts).to_pylist(), dtype=object)
    _, content, counts = np.unique(names, return_inverse=True, return_counts=True)
    again = np.flatnonzero(counts[content] > 1)
    pictures = [
        f"parts.{part}" for part, kind in examples.kinds.items() if kind == "picture"
    ]  # a picture stores its row number
    detailed = [name for name in examples.table.column_names if name not in ("uid", *pictures)]
    details = np.array(identities(examples.table.take(again), detailed).to_pylist(), dtype=object)
    again = again[np.lexsort([details, content[again]])]
    first = np.searchsorted(content[again], content[again])
    for i, number in zip(again.tolist(), (np.arange(len(again)) - first + 1).tolist(), strict=True):
        names[i] += f"#{number}" if number > 1 else ""
    return examples.with_column("uid", pa.array([f"{prefix}/{name}" for name in names], pa.string()))


def require_parts(parts: Mapping[str, str], label: str | None, header: Iterable[str]) -> None:
    """Raise SettingError unless parts and label are different columns, and the given column names are distinct.

    Args:
        parts: Maps parts to columns.
        label: Column of the label, or None.
        header: The setting ``data.columns``: the user's names for the columns of a file that does not name its columns
            itself. Empty if the setting is not given.
    """
    names = list(header)
    if len(set(names)) < len(names) or not all(names):
        raise SettingError(f"data.columns [{', '.join(names)}] has an empty or a repeated name.")
    for part, column in parts.items():
        if column == label:
            raise SettingError(f"data.parts: {part} is the column {column!r}, which is also data.label. Name another.")
        if twin := next((p for p, c in parts.items() if c == column and p != part), None):
            raise SettingError(f"data.parts: {part} and {twin} are one column, {column!r}. Name one for each.")
