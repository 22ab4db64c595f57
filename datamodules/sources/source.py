"""Sources of rows: local files, saved data sets, rows in memory, the hub."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from heedful.datamodules.sources.readers import SUFFIXES, TEXT, arrow_rows, read, rows_in_memory, unpacked
from heedful.datamodules.sources.row_filter import filtered
from heedful.datamodules.sources.values import Rows, column_name, reason
from heedful.records import DataError, HeedfulError, SettingError, inform, listing
from heedful.records.arguments import IN_MEMORY

NAMED_BY_SPLIT = re.compile(r"(training|train|validation|valid|dev)(_|-|$)")


@dataclass(frozen=True)
class Split:
    """A split of a source.

    Attributes:
        name: Name in the source, or name of a file.
        prefix: ``<data>/<split>``, the start of uids.
        aliases: Alternative names.
        training: Whether the split is the training set.
    """

    name: str
    prefix: str = ""
    aliases: Sequence[str] = ()
    training: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The name and its aliases."""
        return (self.name, *self.aliases)


@dataclass(frozen=True)
class Hub:
    """A data set on the Hugging Face hub, without a loading script.

    Attributes:
        id: The repository.
        subset: Name of the subset.
        revision: Revision of the repository.
        train: Another repository with the split "train".
    """

    id: str
    subset: str | None = None
    revision: str | None = None
    train: str | None = None

    def rows(self, split: str) -> tuple[str, Rows]:
        """(Name for messages, rows) of a split.

        Raises:
            DataError: The hub cannot be reached, or does not have the data set or split.
        """
        import datasets

        arguments: dict[str, Any] = {"path": self.id, "name": self.subset, "revision": self.revision}
        if self.train is not None and split == "train":
            arguments = {"path": self.train}
        try:
            data_set = datasets.load_dataset(**arguments, split=split)
        except Exception as error:
            raise DataError(
                f"The hub does not give the split {split!r} of {arguments['path']} ({reason(error)}). Name another "
                f"with data.splits {split_form([split])} or files with data.path, take data planted, or set "
                "HF_HUB_OFFLINE=1 to use the cache alone."
            ) from error
        return f"{arguments['path']} ({split})", rows_in_memory(data_set)[1]


@dataclass(frozen=True, eq=False)
class Source:
    """A source of rows and its filter.

    Attributes:
        path: A folder with a file per split, a file, a ``save_to_disk`` folder, rows in memory, or a mapping of splits
            to rows.
        hub: The source if there is no path.
        quoting: Whether fields of csv and tsv files may be double-quoted.
        header: Column names of files without a header.
        where: Maps columns to accepted values, as text.
    """

    path: Any = None
    hub: Hub | None = None
    quoting: bool = True
    header: Sequence[str] = ()
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def display_name(self) -> str:
        """Name in messages."""
        if isinstance(self.path, str | Path):
            return f"data.path {self.path}"
        return str(self.hub and self.hub.id) if self.path is None else "data.path"

    @property
    def has_splits(self) -> bool:
        """Whether the source has splits: a folder, a mapping or a repository, not a single file or frame."""
        if isinstance(self.path, str | Path):
            return Path(self.path).is_dir() and not (Path(self.path) / "dataset_info.json").exists()
        return self.path is None or isinstance(self.path, Mapping)

    @property
    def folder(self) -> Path:
        """The path of data that can be read only from a folder."""
        if not isinstance(self.path, str | Path):
            kind = "not given" if self.path is None else f"of the type {type(self.path).__name__}"
            raise SettingError(f"data.path is {kind}, and these data need a folder of files. Name the folder.")
        return Path(self.path)

    def at(self, path: Any) -> "Source":
        """The same settings with another path."""
        return replace(self, path=path)

    def select(self, rows: Rows, where: str) -> Rows:
        """Filter rows by :attr:`where`."""
        return filtered(rows, where, self.where) if self.where else rows

    def rows(self, split: Split) -> tuple[str, Rows]:
        """(Name for messages, all rows) of a split.

        Raises:
            HeedfulError: The split does not exist; the message lists the existing splits.
        """
        path = self.path
        if path is None:
            if self.hub is None:
                raise SettingError("The data have neither a path nor a hub id. Name their files with data.path.")
            return self.hub.rows(split.name)
        if isinstance(path, Mapping):
            name = next((name for name in split.names if name in path), None)
            if name is None:
                raise missing_split("data.path", split.names, list(path))
            where, rows = rows_in_memory(path[name])
            where = f"{where} ({name})"
            return where, _some(rows, where)
        if not isinstance(path, str | Path):
            where, rows = rows_in_memory(path)
            return where, _some(rows, where)
        if path == IN_MEMORY:
            raise DataError(
                "The rows were in the memory of a Python program. Name a file with data.path, or give data= in Python."
            )
        path = Path(path)
        if (path / "dataset_dict.json").exists() or (path / "dataset_info.json").exists():
            return _saved(path, split)
        file = file_of(path, split)
        return str(file), read(file, self.quoting, self.header)


def _some(rows: Rows, where: str) -> Rows:
    """Require at least one row."""
    row = 0
    for row, columns in rows:
        yield row, columns
    if not row:
        raise DataError(f"{where} has no rows. Give it some.")


def file_of(path: Path, split: Split) -> Path:
    """The file of a split: the path itself, the file with the split's name in the folder, or its only file."""
    if not path.exists():
        raise DataError(f"data.path {path} does not exist.")
    if not path.is_dir():
        return path
    files = sorted(f for f in path.iterdir() if f.is_file() and _ending(f) in (*SUFFIXES, TEXT) and f.name[0] != ".")
    for name in map(str.lower, split.names):
        candidates = [f for f in files if name in (f.name.lower(), stem(f.name.lower()))]
        candidates = [f for f in candidates if _ending(f) != TEXT] or candidates
        if len(candidates) > 1:
            raise DataError(
                f"{path} has several files for the split {name!r}: {', '.join(f.name for f in candidates)}. Name one "
                f"with data.splits {split_form(split.names)}."
            )
        if candidates:
            return candidates[0]
    single = [file for file in files if _ending(file) != TEXT]
    if len(single) != 1 or NAMED_BY_SPLIT.match(stem(single[0].name.lower())):
        raise missing_split(str(path), split.names, [file.name for file in files])
    inform(f"{path} holds one file, {single[0].name}, which is read as {split.name}.")
    return single[0]


def _saved(folder: Path, split: Split) -> tuple[str, Rows]:
    import datasets

    try:
        saved: Any = datasets.load_from_disk(str(folder))
        if isinstance(saved, Mapping):
            name = next((name for name in split.names if name in saved), None)
            if name is None:
                raise missing_split(str(folder), split.names, list(saved))
            saved, folder = saved[name], folder / name
    except HeedfulError:
        raise
    except Exception as error:
        raise DataError(
            f"{folder} is not a whole folder of save_to_disk ({reason(error)}). Save the data again, or take a whole "
            "copy."
        ) from None
    return str(folder), arrow_rows(saved.with_format("arrow").iter(256))


def missing_split(where: str, names: Sequence[str], splits: Sequence[Any]) -> HeedfulError:
    """The error about a missing split."""
    aliases = dict.fromkeys(name for name in names if name != names[0])
    alternatives = f" (or {', '.join(aliases)})" if aliases else ""
    hold_out = ", or set data.hold_out N" if "validation" in names else ""
    existing = listing(list(map(column_name, splits))) or "none"
    return DataError(
        f"{where} has no split {names[0]!r}{alternatives}; it has {existing}. Name one with data.splits "
        f"{split_form(names)}{hold_out}."
    )


def split_form(names: Sequence[str]) -> str:
    """The form of data.splits for the role of a split.

    Example:
        >>> split_form(["validation_matched", "dev_matched"]), split_form(["test"])
        ("'{validation: NAME}'", "'{SPLIT: NAME}'")
    """
    usual_names = (split for split in ("train", "validation") if any(name.startswith(split) for name in names))
    return f"'{{{next(usual_names, 'SPLIT')}: NAME}}'"


def _ending(file: Path) -> str:
    return unpacked(file.name.lower()).rpartition(".")[2] if "." in file.name else ""


def stem(name: str) -> str:
    """Name of a file without suffix and ".gz" or ".zst"."""
    return unpacked(name).rpartition(".")[0] or name
