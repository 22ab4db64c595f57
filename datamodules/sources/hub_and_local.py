"""Where rows come from: local files, saved data sets, the hub; and how rows become examples."""

import json
import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heedful.datamodules.sources.arrow_files import dataset_rows
from heedful.datamodules.sources.gold import Gold
from heedful.datamodules.sources.readers import SUFFIXES, TEXT, brief, inside, read, reason
from heedful.datamodules.sources.values import Rows, column_name, is_empty, listed, text_of
from heedful.records import (
    DataError,
    Examples,
    ExamplesBuilder,
    HeedfulError,
    SettingError,
    inform,
    listing,
)
from heedful.records.errors import guess, nearest

DELIMITED = (".csv", ".tsv", ".txt")
OTHER_MARKS = "\t;|,"  # in the name of the only column
OF_A_SPLIT = re.compile(r"(training|train|validation|valid|dev)(_|-|$)")  # how the name of a file begins


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
        cluster: The clusters of intervals in place of the first group: a part, a group or a meta column.
            Examples that share a meta column alone may be partners.
        slices: Those of ``meta`` that are there only because results are broken down by them.
        several: How several right labels stand in the column of the label, as :class:`Gold` has it.
        kinds: Part to "table" or "picture", where its column holds such a thing and no text.
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

    def meta_of(self, values: Mapping[str, Any], where: str, row: int) -> list[str]:
        """The meta columns of a row as text; they may be empty, unless they are clusters of intervals.

        Raises:
            HeedfulError: One holds something else, or is empty and may not be.
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


def require_columns(
    wanted: Sequence[str],
    values: Mapping[str, Any],
    where: str,
    row: int | str,
    slices: Sequence[str] = (),
    label: str | None = None,
) -> None:
    """Check that a row has all columns that are named, some of them by ``slices``, and one by ``label``, if any is.

    Raises:
        HeedfulError: One is missing.
    """
    missing = list(dict.fromkeys(name for name in wanted if name not in values))
    if not missing:
        return
    if len(values) == 1 and any(mark in str(*values) for mark in OTHER_MARKS):
        raise DataError(
            f"{where} has one column, {brief(*values)}. Separate columns by commas in csv files, by tabs in tsv files."
        )
    there = {str(name).lower(): column_name(name) for name in values}
    near = nearest(missing[0].lower(), there)
    meant = f" Do you mean {there[near]}?" if near else ""
    columns = f"{listed(values)}{meant}"
    if missing[0] in slices:
        raise DataError(f"data.slices {missing[0]}: {where} does not have this column. {columns}")
    remedy = "Set data.parts '{PART: COLUMN}' and data.label"
    if len(missing) == len(wanted) and where.lower().removesuffix(".gz").endswith(DELIMITED):
        remedy += "; without a header, data.columns '[NAME, ...]'"
    elif missing == [label]:
        remedy = "Set data.label to its name, or to null (in Python None)"
    raise DataError(f"{where}, row {row}: there is no column {', '.join(map(repr, missing))}. {columns} {remedy}.")


class LabelColumn:
    """Whether the rows of a source have a label: all of them, or none.

    Args:
        columns: Which column is what.
        may_lack: Whether the column of the label may be missing, unless another column is called nearly so.
    """

    def __init__(self, columns: Columns, may_lack: bool) -> None:
        self.columns = columns
        self.may_lack = may_lack
        self.others = [*columns.parts.values(), *columns.further_groups, *columns.meta, *filter(None, [columns.uid])]
        self.wanted = [*columns.parts.values(), *filter(None, [columns.label]), *self.others[len(columns.parts) :]]
        self._lacking: tuple[int, Mapping[str, Any]] | None = None  # the first row without
        self._is_there = False
        self._without: set[tuple[str, ...]] = set()  # the names of all columns of rows without

    def is_in(self, values: Mapping[str, Any], where: str, row: int) -> bool:
        """Whether a row has the column.

        Raises:
            HeedfulError: A column is missing; or that of the label is there in other rows, whatever their order.
        """
        if self.columns.label is None or self.may_lack and self._is_unlabelled(values):
            require_columns(self.others, values, where, row, self.columns.slices)
            self._lacking = self._lacking or (row, values)
        else:
            self._require(values, where, row)
            self._is_there = True
        if self._is_there and self._lacking:
            self._require(self._lacking[1], where, self._lacking[0])
        return self._is_there

    def _require(self, values: Mapping[str, Any], where: str, row: int) -> None:
        require_columns(self.wanted, values, where, row, self.columns.slices, self.columns.label)

    def _is_unlabelled(self, values: Mapping[str, Any]) -> bool:
        """Whether nothing but the label is missing, and no further column may be meant by it."""
        if self.columns.label in values:
            return False
        if (names := tuple(values)) in self._without:
            return True
        further = [str(name).lower() for name in names if name not in self.others]
        is_so = values.keys() >= set(self.others) and nearest(str(self.columns.label).lower(), further) is None
        self._without |= {names} if is_so else set()
        return is_so


def to_examples(
    rows: Rows, where: str, prefix: str, columns: Columns, may_lack_label: bool = False
) -> tuple[Examples, int]:
    """Turn rows into examples.

    Args:
        rows: (row, columns) pairs.
        where: What to call the source in an error.
        prefix: ``<data>/<split>``, the start of each uid.
        columns: Which column is what.
        may_lack_label: Whether the examples may be unlabelled, as :class:`LabelColumn` has it.

    Returns:
        The examples, and how many rows were left out for want of a gold label, since its cell is empty.

    Raises:
        HeedfulError: A missing column, an empty part, an unknown label, or a repeated uid; the message names the row.
    """
    gold = Gold(columns.labels, columns.spellings(), columns.several)
    further = columns.further_groups
    builder = ExamplesBuilder(tuple(columns.parts), further, columns.meta, columns.kinds, columns.clustered_by)
    label_column = LabelColumn(columns, may_lack_label)
    rows_taken = array("q")  # the rows that became examples
    no_gold = 0
    for row, values in rows:
        label = None
        if label_column.is_in(values, where, row):
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
        builder.add(
            uid_of(values, where, row, prefix, columns), parts, label, groups, columns.meta_of(values, where, row)
        )
        rows_taken.append(row)
    if not rows_taken:
        raise DataError(
            f"{where} has no row with a gold label ({no_gold} without). Take data with gold labels, or evaluate "
            "without, with data.label null."
        )
    return in_order(builder.finish(), rows_taken, where, prefix, columns), no_gold


def uid_of(values: Mapping[str, Any], where: str, row: int | str, prefix: str, columns: Columns) -> str:
    """The uid of a row that has an id; else "", until all are read (:func:`in_order`)."""
    return "" if columns.uid is None else f"{prefix}/{text_of(values[columns.uid], where, row, columns.uid)}"


def in_order(examples: Examples, rows: Sequence[int | str], where: str, prefix: str, columns: Columns) -> Examples:
    """The examples of a source in an order, and with uids, that do not depend on the order of its rows.

    Args:
        examples: With uids of :func:`uid_of`.
        rows: Which row each of them is, for the message.
        where: What to call the source in it.
        prefix: ``<data>/<split>``, the start of each uid.
        columns: Which column is the id.

    Raises:
        HeedfulError: Two have the same id.
    """
    if columns.uid is None:
        examples = examples.named_by_content(prefix)
    else:
        refuse_repeated(examples.table["uid"], rows, where, prefix)
    return examples.by_uid()


def refuse_repeated(uids: pa.ChunkedArray, rows: Sequence[int | str], where: str, prefix: str) -> None:
    """Sorts the uids, and not a dictionary of them, which would take several times the memory."""
    order = pc.sort_indices(uids)  # a stable sort
    ordered = uids.take(order)
    same = pc.equal(ordered[1:], ordered[:-1]).to_numpy()
    if same.any():
        again = order.to_numpy()[1:][same]
        first = order.to_numpy()[:-1][same][again.argmin()]
        name = uids[int(again.min())].as_py().removeprefix(f"{prefix}/")
        raise DataError(
            f"{where}, row {rows[again.min()]}: the id {brief(name)} stands in row {rows[first]} as well. Give each "
            "row an id of its own."
        )


@dataclass(frozen=True)
class Local:
    """Local files: a folder with one file per split, one file, or a folder written by ``save_to_disk``.

    One file is read for whatever split is asked for, whatever its name. So is the only file of a folder, which is said,
    unless it is called after another split.

    The user names the path and the files in it, which may be symbolic links to wherever large data are kept. Paths
    that stand inside files (those of ``save_to_disk``) may not lead out of the folder: see :func:`inside`.

    Attributes:
        path: The folder, or the file.
        quoting: Whether fields of csv and tsv files may stand in double quotes.
        columns: Names of the columns, of files that do not say them.
    """

    path: Path
    quoting: bool = True
    columns: Sequence[str] = ()
    remedy = "Name a folder with a file for each"  # where there are no splits

    def rows(self, split: str, aliases: Sequence[str]) -> tuple[str, Rows]:
        """(Name for errors, rows) of a split.

        Args:
            split: The split's name in the source, or the name of a file in the folder.
            aliases: Other names to look for.

        Raises:
            HeedfulError: There is no such file or split; the message lists what there is.
        """
        if not self.path.is_dir():
            if not self.path.exists():
                raise DataError(f"data.path {self.path} does not exist.")
            return str(self.path), read(self.path, self.quoting, self.columns)
        if (self.path / "dataset_dict.json").exists() or (self.path / "dataset_info.json").exists():
            return self._saved(split, aliases)
        names = [split, *aliases]
        files = sorted(f for f in self.path.iterdir() if f.is_file() and f.suffix and not f.name.startswith("."))
        files = [f for f in files if _ending(f) in (*SUFFIXES, TEXT)]
        for name in names:
            candidates = [f for f in files if name.lower() in (f.name.lower(), _stem(f))]
            candidates = [f for f in candidates if _ending(f) != TEXT] or candidates
            if len(candidates) > 1:
                raise DataError(
                    f"{self.path} has several files for the split {name!r}: {', '.join(f.name for f in candidates)}. "
                    f"Name one with data.splits {split_form(names)}."
                )
            if candidates:
                return str(candidates[0]), read(candidates[0], self.quoting, self.columns)
        single = [file for file in files if _ending(file) != TEXT]
        if len(single) == 1 and not OF_A_SPLIT.match(_stem(single[0])):
            inform(f"{self.path} holds one file, {single[0].name}, which is read as {split}.")
            return str(single[0]), read(single[0], self.quoting, self.columns)
        raise missing_split(str(self.path), names, [file.name for file in files])

    @property
    def has_splits(self) -> bool:
        """Whether training and validation can be told apart: one file, or one saved data set, has no splits."""
        return not self.path.exists() or self.path.is_dir() and not (self.path / "dataset_info.json").exists()

    @property
    def named(self) -> str:
        """What to call all of it in an error."""
        return f"data.path {self.path}"

    def _saved(self, split: str, aliases: Sequence[str]) -> tuple[str, Rows]:
        import datasets

        folder = self.path
        try:
            if (folder / "dataset_dict.json").exists():
                splits = _described(folder / "dataset_dict.json", "splits")
                names = [name for name in (split, *aliases) if name in splits]
                if not names:
                    raise missing_split(str(folder), (split, *aliases), splits)
                split = names[0]
                folder = inside(folder, names[0])
            for file in _described(folder / "state.json", "_data_files"):
                inside(folder, file["filename"])
            saved = datasets.Dataset.load_from_disk(str(folder))
        except HeedfulError:
            raise
        except Exception as error:
            raise DataError(
                f"{self.path} is not a whole folder of save_to_disk ({reason(error)}). Save the data again, or take a "
                "whole copy."
            ) from None
        where = f"{self.path} ({split})"
        return where, dataset_rows(saved, where)


def _described(file: Path, key: str) -> list[Any]:
    """The list under a key of one of the json files of ``save_to_disk``."""
    values = json.loads(file.read_text(encoding="utf-8"))[key]
    if not isinstance(values, list):
        raise ValueError(f"{key!r} in {file.name} is not a list")
    return values


@dataclass(frozen=True)
class Hub:
    """A data set on the Hugging Face hub, of plain files (no loading script).

    Attributes:
        id: Its repository.
        subset: Which of several.
        revision: Which version of the repository.
        train: Another repository, which has the split "train" where this one has none.
    """

    id: str
    subset: str | None = None
    revision: str | None = None
    train: str | None = None
    has_splits = True

    def rows(self, split: str, aliases: Sequence[str]) -> tuple[str, Rows]:
        """(Name for errors, rows) of a split.

        Raises:
            HeedfulError: The hub cannot be reached, or has no such data set or split.
        """
        import datasets

        id_ = self.id
        subset = self.subset
        revision = self.revision
        if self.train is not None and split == "train":
            id_ = self.train
            subset = None
            revision = None
        try:
            data_set = datasets.load_dataset(id_, subset, split=split, revision=revision)
        except Exception as error:
            if isinstance(error, ValueError) and (splits := _splits(id_, subset, revision)) and split not in splits:
                raise missing_split(id_, (split, *aliases), splits) from error
            raise DataError(
                f"The hub does not give the data set {id_} ({reason(error)}). Name files with data.path, take data "
                "planted, or set HF_HUB_OFFLINE=1 to use only what is cached."
            ) from error
        where = f"{id_} ({split})"
        return where, dataset_rows(data_set, where)


def _splits(id_: str, subset: str | None, revision: str | None) -> Sequence[str]:
    """The splits of a data set on the hub; none where the hub does not say them."""
    import datasets

    try:
        return datasets.get_dataset_split_names(id_, subset, revision=revision)
    except Exception:  # the error from before is told
        return ()


def missing_split(where: str, names: Sequence[str], splits: Sequence[Any]) -> HeedfulError:
    """The error about a split of these names in a source that has others."""
    aliases = dict.fromkeys(name for name in names if name != names[0])
    others = f" (or {', '.join(aliases)})" if aliases else ""
    hold_out = ", or set data.hold_out N" if "validation" in names else ""
    return DataError(
        f"{where} has no split {names[0]!r}{others}; it has {listing(list(map(column_name, splits))) or 'none'}. Name "
        f"one with data.splits {split_form(names)}{hold_out}."
    )


def split_form(names: Sequence[str]) -> str:
    """How data.splits names another source for a split of these names; for any split, where they tell nothing.

    Example:
        >>> split_form(["validation_matched", "dev_matched"]), split_form(["test"])
        ("'{validation: NAME}'", "'{SPLIT: NAME}'")
    """
    usual_names = (split for split in ("train", "validation") if any(name.startswith(split) for name in names))
    return f"'{{{next(usual_names, 'SPLIT')}: NAME}}'"


def _ending(file: Path) -> str:
    """What follows the last dot of a file's name, but for ".gz"."""
    return file.name.lower().removesuffix(".gz").rsplit(".", 1)[-1]


def _stem(file: Path) -> str:
    return file.name.lower().removesuffix(".gz").rsplit(".", 1)[0]
