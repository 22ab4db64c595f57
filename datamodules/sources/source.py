"""Read rows from a source: local files, saved data sets, rows in memory, or the Hugging Face hub."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from heedful.datamodules.sources.readers import SUFFIXES, TEXT, read, rows_in_memory, suffix_of, unpacked
from heedful.datamodules.sources.row_filter import filtered
from heedful.datamodules.sources.values import Rows, column_name, reason
from heedful.records import DataError, HeedfulError, SettingError, inform, listing
from heedful.records.arguments import IN_MEMORY

NAMED_BY_SPLIT = re.compile(r"(training|train|validation|valid|dev)(_|-|$)")


@dataclass(frozen=True)
class Split:
    """A split of a data set, such as "train", and where to find it in a source.

    Attributes:
        name: Name of the split in the source, or name of the file of the split.
        prefix: ``<data>/<split>``, the start of the uids of examples.
        aliases: Alternative names, which are tried in this order.
        training: Whether the split is for training.
    """

    name: str
    prefix: str = ""
    aliases: Sequence[str] = ()
    training: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names to try for the split: its name, then its aliases."""
        return tuple(dict.fromkeys((self.name, *self.aliases)))


@dataclass(frozen=True)
class Hub:
    """A data set on the Hugging Face hub that needs no loading script.

    Attributes:
        id: Name of the repository.
        subset: Name of the subset; None for the default.
        revision: Revision of the repository; None for the default.
        train: Name of another repository, from which the split "train" is read; None for the same repository.
    """

    id: str
    subset: str | None = None
    revision: str | None = None
    train: str | None = None

    def rows(self, split: str) -> tuple[str, Rows]:
        """Read a split; return its name for messages, and its rows as pairs (row number, values by column).

        Raises:
            DataError: The hub cannot be reached, or does not have the data set or the split.
        """
        import datasets

        arguments: dict[str, Any] = {"path": self.id, "name": self.subset, "revision": self.revision}
        if self.train is not None and split == "train":
            arguments = {"path": self.train}
        try:
            data_set = datasets.load_dataset(**arguments, split=split)
        except Exception as error:
            raise DataError(
                f"The hub does not give the split {split!r} of {arguments['path']} ({reason(error)}). Name files with "
                "data.path, take data planted, or set HF_HUB_OFFLINE=1 to use the cache alone."
            ) from error
        return f"{arguments['path']} ({split})", rows_in_memory(data_set)[1]


@dataclass(frozen=True, eq=False)
class Source:
    """A source of rows, such as a folder of files, and a filter of the rows.

    Attributes:
        path: A folder with a file per split, a file, a ``save_to_disk`` folder, rows in memory, or a mapping of splits
            to files or rows in memory.
        hub: Data set on the hub, which is read if ``path`` is None.
        quoting: Whether fields of csv and tsv files may be double-quoted.
        header: Column names of files without a header.
        where: Maps columns to the accepted values of the filter, as text.
    """

    path: Any = None
    hub: Hub | None = None
    quoting: bool = True
    header: Sequence[str] = ()
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def display_name(self) -> str:
        """Name of the source in messages."""
        if isinstance(self.path, str | Path):
            return f"data.path {self.path}"
        return str(self.hub and self.hub.id) if self.path is None else "data.path"

    @property
    def has_splits(self) -> bool:
        """Whether the source may have several splits, such as a folder, a mapping or a hub repository; False for a file
        or rows in memory.
        """
        if isinstance(self.path, str | Path):
            return Path(self.path).is_dir() and not (Path(self.path) / "dataset_info.json").exists()
        return self.path is None or isinstance(self.path, Mapping)

    @property
    def folder(self) -> Path:
        """The path of the source, for data that can be read only from a folder.

        Raises:
            SettingError: There is no path, or the rows are in memory.
        """
        if not isinstance(self.path, str | Path):
            kind = "not given" if self.path is None else f"of the type {type(self.path).__name__}"
            raise SettingError(f"data.path is {kind}, and these data need a folder of files. Name the folder.")
        return Path(self.path)

    def at(self, path: Any) -> "Source":
        """Return a copy of the source with another path."""
        return replace(self, path=path)

    def select(self, rows: Rows, where: str) -> Rows:
        """Keep the rows that the filter of the source accepts. The argument ``where`` names the source in messages."""
        return filtered(rows, where, self.where) if self.where else rows

    def rows(self, split: Split) -> tuple[str, Rows]:
        """Return a split's name for messages, and its rows before the filter: pairs (row number, values by column).

        Raises:
            HeedfulError: The split does not exist; the message lists the existing splits.
        """
        content = self.path
        folder = ""
        if content is None:
            if self.hub is None:
                raise SettingError("The data have neither a path nor a hub id. Name their files with data.path.")
            return self.hub.rows(split.name)
        if isinstance(content, str | Path):
            if content == IN_MEMORY:
                raise DataError("The rows were in the memory of a Python program. Name a file with data.path.")
            if not any((Path(content) / f"dataset_{name}.json").exists() for name in ("dict", "info")):
                file = file_of(Path(content), split)
                return str(file), read(file, self.quoting, self.header)
            folder = str(content)
            content = _load_saved(folder)
        name = None
        if isinstance(content, Mapping):
            name = _name_in(content, split, folder or "data.path")
            content = content[name]
            if isinstance(content, str | Path):
                return self.at(content).rows(split)
        where, rows = rows_in_memory(content)
        if folder:
            where = str(Path(folder, name or ""))
        elif name:
            where = f"{where} ({name})"
        return where, _require_rows(rows, where)


def _name_in(splits: Mapping[str, Any], split: Split, where: str) -> str:
    """Return the first name of a split that is a key of ``splits``; raise DataError if there is none."""
    name = next((name for name in split.names if name in splits), None)
    if name is None:
        raise missing_split(where, split.names, list(splits))
    return name


def _require_rows(rows: Rows, where: str) -> Rows:
    """Yield the rows; raise DataError at the end if there was none. ``where`` names the source in the message."""
    row = 0
    for row, columns in rows:
        yield row, columns
    if not row:
        raise DataError(f"{where} has no rows. Give it some.")


def file_of(path: Path, split: Split) -> Path:
    """Return the file of a split: the path itself if it is a file; else the file in this folder that has the name of
    the split, or the only file. A txt file must have the name of the split, and is read if no other file has the name.

    Raises:
        DataError: There is no such file, or there are several.
    """
    if not path.exists():
        raise DataError(f"data.path {path} does not exist.")
    if not path.is_dir():
        return path
    files = sorted(file for file in path.iterdir() if is_table(file))
    for name in map(str.lower, split.names):
        named = [file for file in path.iterdir() if name in (file.name.lower(), stem(file.name.lower()))]
        texts = [file for file in named if file.is_file() and suffix_of(file.name) == TEXT]
        candidates = [file for file in files if file in named] or sorted(texts)
        if len(candidates) > 1:
            raise DataError(
                f"{path} has several files for the split {name!r}: {', '.join(file.name for file in candidates)}. Name "
                "one with data.splits."
            )
        if candidates:
            return candidates[0]
    if len(files) != 1 or NAMED_BY_SPLIT.match(stem(files[0].name.lower())):
        texts = sorted(file for file in path.iterdir() if file.is_file() and suffix_of(file.name) == TEXT)
        raise missing_split(str(path), split.names, [file.name for file in (*files, *texts)])
    inform(f"{path} holds one file, {files[0].name}, which is read as {split.name}.")
    return files[0]


def is_table(file: Path) -> bool:
    """Whether a path is a file with a suffix such as "csv" or "parquet", and not hidden."""
    return file.is_file() and file.name[0] != "." and suffix_of(file.name) in SUFFIXES


def _load_saved(folder: str) -> Any:
    """Load a folder that ``save_to_disk`` of ``datasets`` has written: a data set, or a mapping of splits."""
    import datasets

    try:
        return datasets.load_from_disk(folder)
    except Exception as error:
        raise DataError(f"{folder} is not a whole folder of save_to_disk ({reason(error)}).") from None


def missing_split(where: str, names: Sequence[str], splits: Sequence[Any]) -> HeedfulError:
    """Create the error for a missing split.

    ``names`` are the names that were tried, and ``splits`` the existing splits of the source called ``where``.
    """
    aliases = dict.fromkeys(name for name in names if name != names[0])
    alternatives = f" (or {', '.join(aliases)})" if aliases else ""
    hold_out = ", or set data.hold_out N" if "validation" in names else ""
    existing = listing(list(map(column_name, splits))) or "none"
    return DataError(
        f"{where} has no split {names[0]!r}{alternatives}; it has {existing}. Name one with data.splits{hold_out}."
    )


def stem(name: str) -> str:
    """Return the name of a file without its suffix, and without a final ".gz" or ".zst"."""
    return unpacked(name).rpartition(".")[0] or name
