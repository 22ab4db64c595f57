"""Pairs of texts: rows become examples by the columns that the settings name."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.datamodules.loaders.gold import Gold
from heedful.datamodules.sources.readers import unpacked
from heedful.datamodules.sources.source import Source, Split
from heedful.datamodules.sources.values import Rows, brief, column_name, is_empty, listed, text_of
from heedful.records import NO_LABEL, DataError, Examples, ExamplesBuilder, HeedfulError, SettingError
from heedful.records.errors import guess, nearest
from heedful.records.pool.contents import identities
from heedful.records.same import Same

LABEL = "label"  # the default column of gold labels
DELIMITED = (".csv", ".tsv", ".txt")
OTHER_MARKS = "\t;|,"  # in the name of the only column


@dataclass(frozen=True)
class Columns:
    """How the columns of a source become examples.

    Attributes:
        parts: Part name to column.
        label: Column of the label; None where examples have none.
        labels: Label name to its spellings in the source (its own name is always one); None where gold is no name of a
            label but taken as it stands.
        uid: Column of a unique id; None to name examples by their content.
        groups: Columns whose equal values make two examples related: they are never partners. The name of a part stands
            for its content. The first one is the cluster of intervals.
        meta: Columns that go along into the rows; they may be empty.
        kinds: Part to "table" or "picture", where its column holds such a thing and no text.
        slices: Those of ``meta`` that are there only because results are broken down by them.
        several: How several right labels stand in the column of the label, as :class:`Gold` has it.
        cluster: The clusters of intervals in place of the first group: a part, a group or a meta column.
            Examples that share a meta column alone may be partners.
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
        if self.cluster is not None and self.cluster not in (names_there := (*self.parts, *self.groups, *self.meta)):
            raise SettingError(
                f"data.cluster {self.cluster} is not a part, nor in data.groups or data.meta. "
                f"{guess(self.cluster, names_there)}"
            )

    @property
    def further_groups(self) -> tuple[str, ...]:
        """The groups that are columns, and no part's content."""
        return tuple(group for group in self.groups if group not in self.parts)

    @property
    def clustered_by(self) -> str | None:
        """The part, group or meta column whose values are the clusters of intervals; None for single examples."""
        return next(iter(self.groups), None) if self.cluster is None else self.cluster

    @property
    def others(self) -> tuple[str, ...]:
        """The columns that a row needs, without the label."""
        return (*self.parts.values(), *self.further_groups, *self.meta, *filter(None, [self.uid]))

    def meta_of(self, values: Mapping[str, Any], where: str, row: int | str) -> list[str]:
        """The meta columns of a row as text; they may be empty, unless they are clusters of intervals.

        Raises:
            DataError: One holds something else, or is empty and may not be.
        """
        return [
            "" if is_empty(values[name]) and name != self.cluster else text_of(values[name], where, row, name)
            for name in self.meta
        ]

    def spellings(self) -> dict[str, str]:
        """Spelling to label name."""
        if self.labels is not None and not self.labels:
            raise SettingError("data.labels names no label. Name each with its spellings in the data.")
        label_of: dict[str, str] = {}
        for name, others in (self.labels or {}).items():
            for spelling in map(str, (name, *others)):
                if label_of.setdefault(spelling, name) != name:
                    raise SettingError(
                        f"data.labels: {spelling!r} is a spelling of both {label_of[spelling]} and {name}. Name it "
                        "for one label."
                    )
        return label_of


def load_pairs(source: Source, columns: Columns, split: Split, same: Same | None = None) -> Examples:
    """The examples of a split, with parts in words.

    Args:
        source: Where the rows are.
        columns: Which column is what.
        split: Which split.
        same: For free texts as gold: which of them are the same answer; gold is written like the first of these.

    Raises:
        HeedfulError: The source does not have the split, or a row does not fit the columns.
    """
    where, rows = source.rows(split)
    rows = source.select(rows, where)
    if same is not None:
        rows = _alike(rows, columns.label, same)
    return to_examples(rows, where, columns, split)


def _alike(rows: Rows, column: str | None, same: Same) -> Rows:
    for row, values in rows:
        gold = values.get(column or "")
        is_text = isinstance(gold, str | int | float) and not is_empty(gold)
        answer = same(str(gold).strip()) if is_text else gold
        yield row, {**values, column: None if answer == NO_LABEL else answer} if is_text else values


def to_examples(rows: Rows, where: str, columns: Columns, split: Split) -> Examples:
    """Turn rows into examples; rows whose cell of the label is empty are left out and counted (``no_gold``).

    Rows that are not trained on may lack the column "label", unless another column is called nearly so: the examples
    then have no label.

    Args:
        rows: (row, columns) pairs.
        where: Name of the source in messages.
        columns: Which column is what.
        split: Its prefix is the start of each uid.

    Raises:
        HeedfulError: A missing column, an empty part, an unknown label, or a repeated uid; the message names the row.
    """
    may_lack_label = not split.training and columns.label == LABEL
    gold = Gold(columns.labels, columns.spellings(), columns.several)
    further = columns.further_groups
    builder = ExamplesBuilder(tuple(columns.parts), further, columns.meta, columns.kinds, columns.clustered_by)
    has_label: bool | None = None
    rows_taken = array("q")  # the rows that became examples
    no_gold = 0
    for row, values in rows:
        if has_label is None:
            has_label = columns.label is not None and not (may_lack_label and _is_unlabelled(values, columns))
        elif not has_label and columns.label in values:
            raise DataError(
                f"{where}, row {rows_taken[0]}: there is no column {columns.label!r}, and row {row} has it. Give each "
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
                continue
        parts = [
            values[column] if part in columns.kinds else text_of(values[column], where, row, column)
            for part, column in columns.parts.items()
        ]
        groups = [text_of(values[column], where, row, column) for column in further]
        uid = uid_of(values, where, row, split.prefix, columns)
        builder.add(uid, parts, label, groups, columns.meta_of(values, where, row))
        rows_taken.append(row)
    if not rows_taken:
        raise DataError(
            f"{where} has no row with a gold label ({no_gold} without). Take data with gold labels, or evaluate "
            "without, with data.label null."
        )
    examples = in_order(builder.finish(), rows_taken, where, split.prefix, columns)
    examples.no_gold, examples.origin = no_gold, where
    return examples


def _is_unlabelled(values: Mapping[str, Any], columns: Columns) -> bool:
    """Whether a row has all columns but the label, and no further column that may be meant by it."""
    if columns.label in values or not values.keys() >= set(columns.others):
        return False
    further = [str(name).lower() for name in values if name not in columns.others]
    return nearest(str(columns.label).lower(), further) is None


def require_columns(
    columns: Columns,
    values: Mapping[str, Any],
    where: str,
    row: int | str,
    label: bool = True,
    more: Sequence[str] = (),
) -> None:
    """Refuse a row without a column that is needed.

    Args:
        columns: Which columns are.
        values: The row.
        where: Name of the source in messages.
        row: Its number.
        label: Whether the column of the label is.
        more: Further ones that are.

    Raises:
        DataError: One is missing.
    """
    wanted = [*columns.others, *more]
    if label and columns.label is not None:
        wanted.append(columns.label)
    missing = list(dict.fromkeys(name for name in wanted if name not in values))
    if not missing:
        return
    if len(values) == 1 and any(mark in str(*values) for mark in OTHER_MARKS):
        raise DataError(
            f"{where} has one column, {brief(*values)}. Separate columns by commas in csv files, by tabs in tsv files."
        )
    there = {str(name).lower(): column_name(name) for name in values}
    near = nearest(missing[0].lower(), there)
    found = f"{listed(values)}{f' Do you mean {there[near]}?' if near else ''}"
    if missing[0] in columns.slices:
        raise DataError(f"data.slices {missing[0]}: {where} does not have this column. {found}")
    remedy = "Set data.parts '{PART: COLUMN}' and data.label"
    if len(missing) == len(set(wanted)) and unpacked(where.lower()).endswith(DELIMITED):
        remedy += "; without a header, data.columns '[NAME, ...]'"
    elif missing == [columns.label]:
        remedy = "Set data.label to its name, or to null (in Python None)"
    raise DataError(f"{where}, row {row}: there is no column {', '.join(map(repr, missing))}. {found} {remedy}.")


def uid_of(values: Mapping[str, Any], where: str, row: int | str, prefix: str, columns: Columns) -> str:
    """The uid of a row that has an id; else "", until all are read (:func:`in_order`)."""
    return "" if columns.uid is None else f"{prefix}/{text_of(values[columns.uid], where, row, columns.uid)}"


def in_order(examples: Examples, rows: Sequence[int | str], where: str, prefix: str, columns: Columns) -> Examples:
    """The examples of a source in an order, and with uids, that do not depend on the order of its rows.

    Args:
        examples: With uids of :func:`uid_of`.
        rows: Which row each of them is, for the message.
        where: Name of the source in messages.
        prefix: ``<data>/<split>``, the start of each uid.
        columns: Which column is the id.

    Raises:
        DataError: Two have the same id.
    """
    if columns.uid is None:
        examples = _named_by_content(examples, prefix)
        return examples.take(examples.uid_order)
    order = examples.uid_order  # of a stable sort
    ordered = examples.table["uid"].take(pa.array(order))
    same = pc.equal(ordered[1:], ordered[:-1]).to_numpy()
    if same.any():
        again = order[1:][same]
        first = order[:-1][same][again.argmin()]
        name = examples.uid(again.min()).removeprefix(f"{prefix}/")
        raise DataError(
            f"{where}, row {rows[again.min()]}: the id {brief(name)} stands in row {rows[first]} as well. Give each "
            "row an id of its own."
        )
    return examples.take(order)


def _named_by_content(examples: Examples, prefix: str) -> Examples:
    """The same examples with uids of their label and parts, whatever their order.

    A repeat has "#2", "#3" and so on behind it; of examples that differ in groups, meta columns or blanks alone,
    these say by a hash which is which.
    """
    names = np.array(examples.contents(examples.parts).to_pylist(), dtype=object)
    _, of, counts = np.unique(names, return_inverse=True, return_counts=True)
    again = np.flatnonzero(counts[of] > 1)
    pictures = [f"parts.{part}" for part, kind in examples.kinds.items() if kind == "picture"]  # which name their row
    told = [name for name in examples.table.column_names if name not in ("uid", *pictures)]
    details = np.array(identities(examples.table.take(again), told).to_pylist(), dtype=object)
    again = again[np.lexsort([details, of[again]])]
    first = np.searchsorted(of[again], of[again])
    for i, number in zip(again.tolist(), (np.arange(len(again)) - first + 1).tolist(), strict=True):
        names[i] += f"#{number}" if number > 1 else ""
    return examples.with_column("uid", pa.array([f"{prefix}/{name}" for name in names], pa.string()))


def require_parts(parts: Mapping[str, str], label: str | None, header: Iterable[str]) -> None:
    """Refuse parts that are one column, or the column of the label; and columns that are named twice.

    Args:
        parts: Part to column.
        label: Column of the label; None for none.
        header: Names of all columns, where the data have no header.
    """
    names = list(header)
    if len(set(names)) < len(names) or not all(names):
        raise SettingError(
            f"data.columns [{', '.join(names)}] has an empty name, or one name twice. Give each column its own name."
        )
    for part, column in parts.items():
        if column == label:
            raise SettingError(
                f"data.parts: {part} is the column {column!r}, which is the label as well. Name the column of the "
                "part, and the column of the label with data.label."
            )
        if twin := next((p for p, c in parts.items() if c == column and p != part), None):
            raise SettingError(f"data.parts: {part} and {twin} are one column, {column!r}. Name one for each.")
