"""Where rows come from: local files, saved data sets, the hub; and how rows become examples."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datamodules.readers import SUFFIXES, read
from records import Examples, ExamplesBuilder, HeedError

NO_GOLD = ("", "-", "-1", "none", "null", "nan")


@dataclass(frozen=True)
class Columns:
    """How the columns of a source become examples.

    Attributes:
        parts: Part name to column.
        label: Column of the label.
        labels: Label name to its spellings in the source (its own name is always one).
        uid: Column of a unique id; None to number the rows.
        groups: Columns whose equal values make two examples related: they are never partners.
    """

    parts: Mapping[str, str]
    label: str
    labels: Mapping[str, Sequence[str | int]]
    uid: str | None = None
    groups: Sequence[str] = ()

    def __post_init__(self) -> None:
        if clash := set(self.groups) & set(self.parts):
            raise HeedError(f"The group {clash.pop()!r} has the name of a part, whose content is a group already.")

    def spellings(self) -> dict[str, str]:
        """Spelling to label name."""
        found: dict[str, str] = {}
        for name, others in self.labels.items():
            for spelling in map(str, (name, *others)):
                if found.setdefault(spelling, name) != name:
                    raise HeedError(f"--data.labels: {spelling!r} is a spelling of both {found[spelling]} and {name}.")
        return found


@dataclass
class Counts:
    """What was left out or shortened.

    Attributes:
        no_gold: Split to number of rows without a gold label.
        truncated: Validation examples that are longer than the model reads.
    """

    no_gold: dict[str, int] = field(default_factory=dict)
    truncated: int = 0


def to_examples(
    rows: Iterator[tuple[int, Mapping[str, Any]]], where: str, prefix: str, columns: Columns
) -> tuple[Examples, int]:
    """Turn rows into examples.

    Args:
        rows: (row, columns) pairs.
        where: What to call the source in an error.
        prefix: ``<data>/<split>``, the start of each uid.
        columns: Which column is what.

    Returns:
        The examples, and how many rows were left out for want of a gold label.

    Raises:
        HeedError: A missing column, an empty part, an unknown label, or a repeated uid; the message names the row.
    """
    spellings = columns.spellings()
    builder = ExamplesBuilder(tuple(columns.parts), columns.groups)
    seen: dict[str, int] = {}
    kept = no_gold = 0
    for row, values in rows:
        wanted = [*columns.parts.values(), columns.label, *columns.groups, *filter(None, [columns.uid])]
        missing = [name for name in wanted if name not in values]
        if missing:
            raise HeedError(
                f"{where}, row {row}: no column {missing[0]!r}; the columns are {', '.join(map(str, values))}. "
                "The data set's YAML says which column is which part."
            )
        gold = values[columns.label]
        label = spellings.get(str(gold).strip()) or spellings.get(_label_text(gold))
        if label is None and _label_text(gold).lower() in NO_GOLD:
            no_gold += 1
            continue
        if label is None:
            raise HeedError(f"{where}, row {row}: unknown label {gold!r}; known are {', '.join(spellings)}.")
        parts = [_text(values[column], where, row, column) for column in columns.parts.values()]
        uid = f"{prefix}/{row if columns.uid is None else values[columns.uid]}"
        if columns.uid is not None and seen.setdefault(uid, row) != row:
            raise HeedError(f"{where}, row {row}: the id {values[columns.uid]!r} stands in row {seen[uid]} already.")
        groups = [_text(values[column], where, row, column) for column in columns.groups]
        builder.add(uid, parts, label, groups)
        kept += 1
    if not kept:
        raise HeedError(f"{where} has no row with a gold label ({no_gold} without).")
    return builder.finish(), no_gold


def _label_text(gold: Any) -> str:
    """A label as text: 1.0 is "1", as a column of integers with gaps comes out of many tools."""
    return re.sub(r"(?<=\d)\.0+$", "", str(gold).strip())


def _text(value: Any, where: str, row: int, column: str) -> str:
    text = value if isinstance(value, str) else "" if value is None else str(value)
    if not text.strip():
        raise HeedError(f"{where}, row {row}: the column {column!r} is empty.")
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise HeedError(f"{where}, row {row}: the column {column!r} holds half of a surrogate pair.")
    return text


@dataclass(frozen=True)
class Local:
    """Local files: a folder with one file per split, one file, or a folder written by ``save_to_disk``."""

    path: Path
    quoting: bool = True

    def rows(self, split: str, aliases: Sequence[str]) -> tuple[str, Iterator[tuple[int, Mapping[str, Any]]]]:
        """(Name for errors, rows) of a split.

        Args:
            split: The split's name in the source, or the name of a file in the folder.
            aliases: Other names to look for.

        Raises:
            HeedError: There is no such file or split; the message lists what there is.
        """
        if not self.path.exists():
            raise HeedError(f"--data.path {self.path} does not exist.")
        if self.path.is_file():
            return str(self.path), read(self.path, self.quoting)
        if (self.path / "dataset_dict.json").exists() or (self.path / "dataset_info.json").exists():
            return self._saved(split, aliases)
        names = [split, *aliases]
        files = sorted(f for f in self.path.iterdir() if f.is_file() and f.suffix and not f.name.startswith("."))
        for name in names:
            found = [f for f in files if name.lower() in (f.name.lower(), _stem(f))]
            found = [f for f in found if f.name.lower().removesuffix(".gz").rsplit(".", 1)[-1] in SUFFIXES]
            if len(found) > 1:
                raise HeedError(f"{self.path} has several files for the split {name!r}: {_names(found)}.")
            if found:
                return str(found[0]), read(found[0], self.quoting)
        raise HeedError(
            f"{self.path} has no file for the split {split!r} (looked for {', '.join(names)} with the suffixes "
            f"{', '.join(SUFFIXES)}); it holds {_names(files)}. Name one with --data.splits."
        )

    @property
    def has_splits(self) -> bool:
        """Whether training and validation can be told apart: one file, or one saved data set, has no splits."""
        return self.path.is_dir() and not (self.path / "dataset_info.json").exists()

    def _saved(self, split: str, aliases: Sequence[str]) -> tuple[str, Iterator[tuple[int, Mapping[str, Any]]]]:
        import datasets

        try:
            saved = datasets.load_from_disk(str(self.path))
        except Exception as error:
            raise HeedError(f"{self.path} is no whole save_to_disk folder: {str(error).splitlines()[0]}.") from None
        if isinstance(saved, datasets.DatasetDict):
            names = [name for name in (split, *aliases) if name in saved]
            if not names:
                raise HeedError(f"{self.path} has no split {split!r}; it has {', '.join(saved)}.")
            saved, split = saved[names[0]], names[0]
        return f"{self.path} ({split})", enumerate(saved, 1)


@dataclass(frozen=True)
class Hub:
    """A data set on the Hugging Face hub, of plain files (no loading script)."""

    id: str
    subset: str | None = None
    revision: str | None = None

    def rows(self, split: str, aliases: Sequence[str]) -> tuple[str, Iterator[tuple[int, Mapping[str, Any]]]]:
        """(Name for errors, rows) of a split.

        Raises:
            HeedError: The hub cannot be reached, or has no such data set or split.
        """
        import datasets

        try:
            found = datasets.load_dataset(self.id, self.subset, split=split, revision=self.revision)
        except Exception as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
            raise HeedError(
                f"The data set {self.id} could not be loaded from the hub ({reason}). Give local files with "
                "--data.path DIR, take the embedded data (--data planted), or set HF_HUB_OFFLINE=1 to use only what "
                "is cached."
            ) from error
        return f"{self.id} ({split})", enumerate(found, 1)


def _stem(file: Path) -> str:
    return file.name.lower().removesuffix(".gz").rsplit(".", 1)[0]


def _names(files: Sequence[Path]) -> str:
    return ", ".join(f.name for f in files) or "no file"
