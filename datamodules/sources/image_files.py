"""Pictures that rows name: as files, as patterns of file names, or as bytes in the row itself."""

import atexit
import hashlib
import io
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from heedful.datamodules.sources.hub_and_local import Local, inside
from heedful.datamodules.sources.readers import SUFFIXES, Row, brief, read, reason
from heedful.datamodules.sources.values import Rows, in_its_form, is_empty, require_column
from heedful.records import FORMATS, DataError, HeedfulError, Picture, SettingError, open_file, spooling
from heedful.records.parts.pixels import pixels

MOST_PIXELS = 2**26  # of one picture; a small file can claim to hold more than fits into the memory
STARRED = "*"  # the column of uids, where a pattern makes several examples of a row
SMALLER = "Save it in a smaller size, or leave it out."
FIELD = re.compile(r"{(\w+)(\?|-\d+)?(?::(\w+))?}")  # of a pattern
ROWS = 64  # whose pictures are read side by side


@dataclass(frozen=True)
class PictureFolder(Local):
    """Local files as :class:`Local` has them, or a folder for each split, with one file of rows beside the pictures.

    Such a folder is called as the split, or begins with its name and "_".
    """

    def rows(self, split: str, aliases: Sequence[str]) -> tuple[str, Rows]:
        if self.path.is_file():
            return str(self.path), read(self.path, self.quoting, self.columns)
        folders = sorted(f for f in self.path.iterdir() if f.is_dir()) if self.path.is_dir() else []
        for name in (split, *aliases):
            candidates = [f for f in folders if f.name == name] or [f for f in folders if f.name.startswith(f"{name}_")]
            for folder in candidates[:1]:
                files = [f for f in sorted(folder.iterdir()) if f.is_file() and f.name.endswith(tuple(SUFFIXES))]
                if len(files) == 1:
                    return str(files[0]), read(files[0], self.quoting, self.columns)
        return super().rows(split, aliases)


class Pictures:
    """Finds the pictures of rows, looks at the head of each, and says where its bytes lie.

    Bytes that stand in the rows go to a temporary file, each picture once; it is removed when the process ends.

    Args:
        columns: Part to the column of its picture (a path, bytes, or both as the hub has them), or to a pattern:
            ``images/{id}.png``, with columns in braces, formatted as Python does; ``{id-3}`` is what stands before the
            third hyphen, and ``{folder?}`` nothing where there is no such column. ``*`` in the file name stands for
            letters and digits, and makes an example of every file that matches.
        uid: Column of a unique id.
        folder: Where paths and patterns begin; by default where the file of the rows lies.
    """

    def __init__(self, columns: Mapping[str, str], uid: str | None, folder: Path | None = None) -> None:
        self.columns = dict(columns)
        self.uid = uid
        self.folder = folder
        self._bytes: Path | None = None
        self._pictures: dict[str, Picture] = {}  # by path, or by sha256 where the bytes stand in the row
        self._names: dict[Path, list[str]] = {}
        starred = [pattern for pattern in self.columns.values() if is_pattern(pattern) and "*" in pattern]
        if len(starred) > 1:
            raise DataError(f"data.parts: {starred[0]} and {starred[1]} hold *. Let only one pattern hold *.")
        if starred and uid is None:
            raise SettingError(
                f"data.parts: {starred[0]} makes several examples of a row. Name the column of its id with data.uid."
            )

    def rows(self, rows: Rows, where: str) -> Rows:
        """The rows with a :class:`~heedful.records.Picture` in place of each column or pattern.

        Args:
            rows: (row, columns) pairs.
            where: The file of the rows, or what to call their source in an error.

        Raises:
            HeedfulError: A row names no picture, one that is missing, or one that is none; the message names the row.
        """
        folder = self.folder or (Path(where).parent if Path(where).is_file() else None)
        named_rows = (
            (row, more) for row, values in rows for more in self._named(values, f"{where}, row {row}", folder)
        )
        columns = list(self.columns.values())
        with ThreadPoolExecutor() as pool:
            while block := list(islice(named_rows, ROWS)):
                contents = ((values[c], f"{where}, row {row}", c) for row, values in block for c in columns)
                read = pool.map(lambda content: self._read(*content), contents)
                for row, values in block:
                    yield row, values | {column: self._keep(*next(read)) for column in columns}

    def _named(self, values: Mapping[str, Any], where: str, folder: Path | None) -> Iterator[Row]:
        """The row with a path or bytes under each column and pattern; several rows for a pattern with ``*``."""
        made: list[Row] = [dict(values)]
        for column in self.columns.values():
            if not is_pattern(column):
                require_column(column, values, where)
                for row in made:
                    row[column] = _content(values[column], where, column, folder)
                continue
            paths = self._matching(column, values, where, folder)
            if "*" in column:
                uid = in_its_form(values.get(self.uid), where, self.uid)
                made = [{**made[0], column: path, STARRED: f"{uid}-{star}"} for path, star in paths]
            else:
                for row in made:
                    row[column] = paths[0][0]
        return iter(made)

    def _matching(
        self, pattern: str, values: Mapping[str, Any], where: str, folder: Path | None
    ) -> list[tuple[Path, str]]:
        """(File, what ``*`` stands for) of those that a pattern names; without ``*``, one that may not be there."""
        if folder is None:
            raise _without_folder(where, pattern)
        path = filled(pattern, values, where)
        if "*" not in pattern:
            return [(_place(folder, path), "")]
        parent, _, name = path.rpartition("/")
        within = _place(folder, parent) if parent else folder
        if within not in self._names:
            self._names[within] = sorted(f.name for f in within.iterdir()) if within.is_dir() else []
        expected = re.compile("([A-Za-z0-9]+)".join(map(re.escape, name.split("*"))))
        matching = [(n, m.groups()[-1]) for n in self._names[within] if (m := expected.fullmatch(n))]
        if not matching:
            raise DataError(f"{where}: there is no picture {folder / path}. Check data.image_folder and data.parts.")
        return [(_place(folder, f"{parent}/{n}" if parent else n), star) for n, star in matching]

    def _read(self, content: Path | bytes, where: str, column: str) -> tuple[Picture, bytes | None]:
        """(Picture, its bytes if they have no file of their own)."""
        if isinstance(content, Path):
            if picture := self._pictures.get(str(content)):
                return picture, None
            with open_file(content, f"{where}: the picture {content}") as file:
                data = file.read()
            path = str(content)
            display_name = str(content)
        else:
            data = content
            path = ""
            display_name = f"the picture in the column {column!r}"
        key = hashlib.sha256(data).hexdigest()
        require_picture(data, f"{where}: {display_name}")
        return Picture(key, path, 0, len(data), where.replace("\n", " ")), None if path else data

    def _keep(self, picture: Picture, data: bytes | None) -> Picture:
        name = picture.key if data is not None else picture.path
        if data is not None and name not in self._pictures:
            self._bytes = self._bytes or temporary_file()
            with spooling(), self._bytes.open("ab") as file:
                picture = replace(picture, path=str(self._bytes), start=file.tell())
                file.write(data)
        return self._pictures.setdefault(name, picture)


def temporary_file() -> Path:
    """A new file that other processes can open by its name, and that is removed when this process ends."""
    with spooling():
        handle, name = tempfile.mkstemp(prefix="heedful-")
    os.close(handle)
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # and no child that was forked
            Path(name).unlink(missing_ok=True)

    atexit.register(remove)
    return Path(name)


@lru_cache(2**16)
def _place(folder: Path, path: str) -> Path:
    """:func:`inside`, which asks the disk about every folder on the way; many rows name the same picture."""
    return inside(folder, path)


def is_pattern(column: str) -> bool:
    """Whether this is a pattern of file names, and no column."""
    return "{" in column


def require_picture(data: bytes, what: str) -> None:
    """Look at the head of a picture.

    Raises:
        HeedfulError: It is in none of the formats that are read, or claims to have more pixels than
            :data:`MOST_PIXELS`.
    """
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
            width, height = picture.size
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise DataError(f"{what} claims to have more than {MOST_PIXELS:,} pixels. {SMALLER}") from None
    except Exception as error:  # of what anybody may have written, any byte can be wrong in any way
        why = "" if isinstance(error, Image.UnidentifiedImageError) else f" ({reason(error)})"
        raise DataError(f"{what} is not a picture that is read{why}. Save it as one of {', '.join(FORMATS)}.") from None
    if width * height > MOST_PIXELS:
        raise DataError(f"{what} claims to have {width:,} x {height:,} pixels, more than {MOST_PIXELS:,}. {SMALLER}")


def thumbnail(picture: Picture, size: int = 480) -> np.ndarray:
    """A picture for people to look at, upright: uint8 [height, width, 3], neither of them above ``size``.

    Raises:
        HeedfulError: It is damaged, or its file is not what it was when the data were read.
    """

    def small(shown: Image.Image) -> Image.Image:
        shown.thumbnail((size, size))
        return shown

    return pixels(picture, small, lambda opened: opened.draft("RGB", (size, size)))  # a JPEG can be decoded small


def _content(value: Any, where: str, column: str, folder: Path | None) -> Path | bytes:
    """The bytes in a column, or the file that it names."""
    if isinstance(value, Mapping):  # as the hub has pictures
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes) and value:
        return value
    if not isinstance(value, str) or not value.strip():
        raise DataError(
            f"{where}: the column {column!r} holds {brief(value)}, not a picture. Fill it in, or leave its row out."
        )
    if folder is None:
        raise _without_folder(where, brief(value))
    return _place(folder, value)


def _without_folder(where: str, picture: str) -> HeedfulError:
    """The error about rows without a file, by which pictures could be found."""
    return SettingError(f"{where}: where the picture {picture} lies is not known. Name data.image_folder.")


def filled(pattern: str, values: Mapping[str, Any], where: str) -> str:
    """A pattern with the values of a row, none of them empty but those with ``?``; a ``*`` would stand for itself.

    Example:
        >>> filled("{id-1}/{folder?}/{id-3}-img0.png", {"id": "dev-850-0-1"}, "dev.json, row 1")
        'dev//dev-850-0-img0.png'
    """
    for name in [name for name, how, _ in FIELD.findall(pattern) if how != "?"]:
        require_column(name, values, where)
        if is_empty(values[name]):
            raise DataError(
                f"{where}: the column {name!r} is empty, and {pattern} needs it. Give it a value, or write {{{name}?}} "
                "where it may be empty."
            )

    def fill(field: re.Match) -> str:
        name, how, form = field.groups()
        if how == "?" and is_empty(values.get(name)):
            return ""
        value = format(in_its_form(values[name], where, name), form or "")
        if how == "?":
            return value
        return "-".join(value.split("-")[: int(how[1:])]) if how else value

    try:
        text = FIELD.sub(fill, pattern)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{where}: {pattern} does not fit the row ({reason(error)}). Change the pattern in data.parts."
        ) from None
    if "*" in pattern and text.count("*") != pattern.count("*"):
        raise DataError(f"{where}: a column of {pattern} holds a *. Take another column.")
    return text
