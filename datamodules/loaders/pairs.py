"""Load pairs of texts, and convert rows of any source to examples."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.datamodules.loaders.counterparts import Counterpart, require_whole_sets
from heedful.datamodules.loaders.gold import MISSING, Gold
from heedful.datamodules.sources.readers import unpacked
from heedful.datamodules.sources.source import Source, Split
from heedful.datamodules.sources.values import Rows, brief, column_name, is_empty, listed, text_of
from heedful.records import (
    COUNTERPARTS,
    NO_LABEL,
    DataError,
    Examples,
    ExamplesBuilder,
    HeedfulError,
    Options,
    SettingError,
    agree,
    inform,
    listing,
)
from heedful.records.answers import Same
from heedful.records.errors import nearest, suggestion
from heedful.records.examples import OF_PARTS
from heedful.records.partners import identities
from heedful.records.text import composed

LABEL = "label"  # the default column of gold labels
DELIMITED = (".csv", ".tsv", ".txt")
SEPARATORS = "\t;|,"  # in the name of the only column, they suggest a wrong separator


@dataclass(frozen=True)
class Columns:
    """The use of each column of a source: which columns hold parts, labels, ids, groups and further values.

    Attributes:
        parts: Maps part names to columns; a column of lists holds the options of a row; a list of columns holds one
            option in each column.
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
        counterpart: Where edited versions of examples are; None for data without.
    """

    parts: Mapping[str, str | Sequence[str]]
    label: str | None
    labels: Mapping[str, Sequence[str | int]] | None
    uid: str | None = None
    groups: Sequence[str] = ()
    meta: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    slices: Sequence[str] = ()
    several: str | None = None
    cluster: str | None = None
    counterpart: Counterpart | None = None

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
        return next(iter((*self.groups, *self.sets)), None) if self.cluster is None else self.cluster

    @property
    def sets(self) -> tuple[str, ...]:
        """Name of the group whose values are the sets of counterparts, if counterparts are rows of their own."""
        return (COUNTERPARTS,) if self.counterpart is not None and self.counterpart.is_joined else ()

    @property
    def required(self) -> tuple[str, ...]:
        """Columns that every row must have, apart from the label."""
        parts = chain.from_iterable([c] if isinstance(c, str) else c for c in self.parts.values())
        of_edits = () if self.counterpart is None else self.counterpart.required
        return (*parts, *self.further_groups, *self.meta, *filter(None, [self.uid]), *of_edits)

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
    groups, counterpart = (*further, *columns.sets), columns.counterpart
    names = () if counterpart is None else counterpart.names
    builder: ExamplesBuilder | None = None
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
        if builder is None:
            kinds = _kinds(columns, values)
            builder = ExamplesBuilder(tuple(columns.parts), groups, columns.meta, kinds, columns.clustered_by, names)
        parts = [_part(part, columns, kinds, values, (where, row), label) for part in columns.parts]
        of_groups = [text_of(values[column], where, row, column) for column in further]
        id_ = "" if columns.uid is None else text_of(values[columns.uid], where, row, columns.uid)
        ids = split.prefix, id_
        edited, sets = ([], []) if counterpart is None else counterpart.edited(values, gold, label, ids, where, row)
        builder.add("/".join(ids), parts, label, [*of_groups, *sets], columns.meta_of(values, where, row), edited)
        kept_rows.append(row)
    _tell_missing(missing, where, columns.label)
    if builder is None:
        raise DataError(f"{where} has no row with a gold label ({no_gold} without). To evaluate, set data.label null.")
    examples = _sort_by_uid(builder.finish(), kept_rows, where, split.prefix, columns)
    examples.no_gold, examples.origin = no_gold, where
    if columns.sets:
        require_whole_sets(examples, where)
    return examples


def _tell_missing(missing: Mapping[str, int], where: str, column: str | None) -> None:
    """Say how many rows have no label but a text such as "None", which may be one."""
    for text, n in missing.items():
        inform(
            f"{where}: {agree(n, 'row', 'rows')} with {text!r} in the column {column!r} left out as unlabelled. "
            "If it is a label, list all labels: in measure labels=[...], else data.labels."
        )


def _kinds(columns: Columns, values: Mapping[str, Any]) -> dict[str, str]:
    """Return the kinds of parts that are not texts. Options have a column of lists, or several columns."""
    lists = {p for p, c in columns.parts.items() if not isinstance(c, str) or isinstance(values[c], list | tuple)}
    return dict.fromkeys(lists, "options") | dict(columns.kinds)


def _part(name: str, columns: Columns, kinds: Mapping[str, str], values: Mapping[str, Any], at: Any, label: Any) -> Any:
    """Return the content of a part of a row. ``at`` is the source and the row in messages."""
    column: Any = columns.parts[name]
    if kinds.get(name) == "options":
        return _options(column, columns, values, at, label)
    return values[column] if name in kinds else text_of(values[column], *at, column)


def _options(column: str | Sequence[str], columns: Columns, values: Mapping[str, Any], at: Any, label: Any) -> Options:
    """Return the options of a row: each has the label at its position. ``at`` is the source and the row in messages."""
    where, row = at
    content = values[column] if isinstance(column, str) else [values[name] for name in column]
    name = column if isinstance(column, str) else ", ".join(column)
    texts = [
        text_of(each, where, row, name) for each in (content if isinstance(content, list | tuple) else [[content]])
    ]
    labels = list(columns.labels or ())
    if not 0 < len(texts) <= len(labels) or label in labels[len(texts) :]:
        right = f"the label {label} and " if label in labels else ""
        names = f"the labels are {listing(labels)}" if labels else "there are no labels"
        raise DataError(
            f"{where}, row {row} has {right}{agree(len(texts), 'option', 'options')} in the column {name!r}; {names}. "
            "Name a label for each option, in their order: in measure labels=[...], else data.labels."
        )
    return Options.of(labels, texts)


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
    """Sort examples by uid; without an id column, set uids to hashes of the content. ``rows`` has their row numbers."""
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
    """Return the examples with uids ``<prefix>/<hash of label and parts>``; equal hashes get the suffixes "#2", ..."""
    names = np.array(examples.contents(examples.parts).to_pylist(), dtype=object)
    _, content, counts = np.unique(names, return_inverse=True, return_counts=True)
    again = np.flatnonzero(counts[content] > 1)
    pictures = [  # a picture stores its row number
        f"{k}.{part}" for part, kind in examples.kinds.items() if kind == "picture" for k in OF_PARTS
    ]
    # equal examples are in the order of their groups, meta columns and exact texts, not of the rows
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
        header: The setting ``data.columns``: names of the columns of a file without a header.
    """
    names = list(header)
    if len(set(names)) < len(names) or not all(names):
        raise SettingError(f"data.columns [{', '.join(names)}] has an empty or a repeated name.")
    for part, column in parts.items():
        if column == label:
            raise SettingError(f"data.parts: {part} is the column {column!r}, which is also data.label. Name another.")
        if twin := next((p for p, c in parts.items() if c == column and p != part), None):
            raise SettingError(f"data.parts: {part} and {twin} are one column, {column!r}. Name one for each.")
