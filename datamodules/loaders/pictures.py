"""Load pictures with texts. A row has the path or the bytes of a picture, or a pattern gives the path.

A pattern is a path with names of columns in braces, such as ``images/{id}.png``. In the settings, a pattern stands in
place of the name of a picture column or of a group column. The values of a row fill the braces.
"""

import atexit
import hashlib
import io
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from heedful.datamodules.loaders.pairs import Columns, to_examples
from heedful.datamodules.sources.readers import Row, inside, read
from heedful.datamodules.sources.source import Source, Split, is_table
from heedful.datamodules.sources.values import (
    Rows,
    as_text,
    brief,
    filled,
    is_empty,
    is_pattern,
    reason,
    require_column,
)
from heedful.records import DataError, Examples, HeedfulError, Picture, SettingError, agree, inform, open_file
from heedful.records.example import FORMATS, pixels
from heedful.records.storage.files import spooling

STARRED = "*"  # added column with the uid of each file that a pattern with a star matches
ANIMATED = ("GIF", "PNG", "WEBP")  # formats with several frames; the pages of a TIFF do not count
ROWS = 64  # number of rows whose pictures are read at the same time
_path_inside = lru_cache(2**16)(inside)  # which is slow, and pictures are repeated


def load_pictures(source: Source, columns: Columns, split: Split, image_folder: str | None = None) -> Examples:
    """Load examples with picture parts, sorted by uid.

    Args:
        source: Files, a folder with a subfolder per split, rows in memory, or the hub.
        columns: Roles of the columns. The column of a picture part has paths or bytes, or is a pattern of file names.
            Groups may be patterns, too.
        split: The split.
        image_folder: Root of paths and patterns; by default the folder of the file that contains the rows.

    Raises:
        HeedfulError: The split does not exist, or a picture is missing or broken.
    """
    where, rows = rows_of_pictures(source, split)
    rows = with_pictures(source.select(rows, where), where, columns, image_folder)
    return to_examples(rows, where, starred(columns), split)


def rows_of_pictures(source: Source, split: Split) -> tuple[str, Rows]:
    """Find the rows of a split, whose file may be in a subfolder ``<split>`` or ``<split>_...``.

    Returns:
        The name of the source for messages, and pairs (row number, values by column).
    """
    path = source.path
    if isinstance(path, str | Path) and Path(path).is_dir():
        folders = sorted(f for f in Path(path).iterdir() if f.is_dir())
        for name in split.names:
            candidates = [f for f in folders if f.name == name] or [f for f in folders if f.name.startswith(f"{name}_")]
            for folder in candidates[:1]:
                files = [file for file in sorted(folder.iterdir()) if is_table(file)]
                if len(files) == 1:
                    return str(files[0]), read(files[0], source.quoting, source.header)
    return source.rows(split)


def starred(columns: Columns) -> Columns:
    """Return the columns with ``*`` as the uid column if a picture pattern has a star; else return them unchanged.

    A pattern with a star gives one example per matching file. :class:`Pictures` adds the column ``*`` with their uids:
    the uid of the row, a hyphen, and the text that the star matches.
    """
    patterns = [columns.parts[part] for part in columns.kinds]
    stars = any(is_pattern(pattern) and "*" in pattern for pattern in patterns) and columns.uid is not None
    return replace(columns, uid=STARRED) if stars else columns


def with_pictures(rows: Rows, where: str, columns: Columns, image_folder: str | None) -> Rows:
    """Yield the rows with their pictures, as :class:`Pictures` finds them, and with the values of groups.

    Examples with an equal value of a group are never partners in a swap. A group is usually a column. If a group is a
    pattern, each row gets an entry for the pattern: {"folder": "a", "id": 7} gets {"{folder}/{id}": "a/7"}.

    Args:
        rows: Pairs (row number, values by column).
        where: Path of the file that contains the rows, or another name of the source for messages.
        columns: Roles of the columns.
        image_folder: Root of paths and patterns; None for the folder of the file that contains the rows.
    """
    places = {part: columns.parts[part] for part, kind in columns.kinds.items() if kind == "picture"}
    edited = {} if columns.counterpart is None else columns.counterpart.parts
    places |= {f"edited {part}": column for part, column in edited.items() if part in places}
    pictures = Pictures(places, columns.uid, Path(image_folder) if image_folder else None)
    patterns = [group for group in columns.groups if is_pattern(group)]
    for row, values in pictures.rows(rows, where):
        yield row, values | {pattern: filled(pattern, values, f"{where}, row {row}") for pattern in patterns}


class Pictures:
    """Finds the pictures of rows and checks their headers.

    The bytes of pictures in rows are written to a temporary file, each picture once; the file is removed when the
    process ends.

    Args:
        columns: Maps parts to picture columns (paths, bytes, or both as on the hub), or to patterns such as
            ``images/{id}.png``. A field may have a format specification of Python, as ``{id:05d}``; ``{id-3}`` is the
            text before the third hyphen, and ``{folder?}`` may be missing. ``*`` in the file name matches letters and
            digits, and each matching file becomes an example.
        uid: Column of a unique id; None without ids.
        folder: Root of paths and patterns; by default the folder of the file that contains the rows.
    """

    def __init__(self, columns: Mapping[str, str], uid: str | None, folder: Path | None = None) -> None:
        self.columns = dict(columns)
        self.uid = uid
        self.folder = folder
        self._bytes: Path | None = None
        self._pictures: dict[str, Picture] = {}  # by path, or by hash for bytes in rows
        self._names: dict[Path, list[str]] = {}
        self._animated: set[str] = set()
        starred = [pattern for pattern in self.columns.values() if is_pattern(pattern) and "*" in pattern]
        if len(starred) > 1:
            raise DataError(f"data.parts: {starred[0]} and {starred[1]} have a *. Use * in one pattern.")
        if starred and uid is None:
            raise SettingError(f"data.parts: {starred[0]} matches several files per row. Name an id with data.uid.")

    def rows(self, rows: Rows, where: str) -> Rows:
        """Yield the rows with a :class:`~heedful.records.Picture` for each picture part.

        The key of the picture in a row is the name of the picture column, or the pattern itself, such as
        ``images/{id}.png``. A picture replaces the path or the bytes in its column. A pattern with a ``*`` gives one
        row per matching file.

        Args:
            rows: Pairs (row number, values by column).
            where: Path of the file that contains the rows, or another name of the source for messages.

        Raises:
            HeedfulError: A picture is missing or broken; the message names the row.
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
        if n := len(self._animated):
            animated = agree(n, "picture is animated", "pictures are animated")
            inform(f"{where}: {animated}, and the first frame is read.")

    def _named(self, values: Mapping[str, Any], where: str, folder: Path | None) -> Iterator[Row]:
        """Yield a row with the paths or bytes of its pictures; with a ``*`` in a pattern, a copy per matching file."""
        rows: list[Row] = [dict(values)]
        for column in self.columns.values():
            if not is_pattern(column):
                require_column(column, values, where)
                rows = [row | {column: _bytes_or_path(values[column], where, column, folder)} for row in rows]
                continue
            paths = self._matching(column, values, where, folder)
            if "*" in column:
                uid = values.get(self.uid)
                rows = [{**rows[0], column: path, STARRED: f"{uid}-{star}"} for path, star in paths]
            else:
                rows = [row | {column: paths[0][0]} for row in rows]
        return iter(rows)

    def _matching(
        self, pattern: str, values: Mapping[str, Any], where: str, folder: Path | None
    ) -> list[tuple[Path, str]]:
        """Return the files that match a pattern, as pairs (path, text matched by ``*``); one file without ``*``."""
        if folder is None:
            raise _without_folder(where, pattern)
        path = filled(pattern, values, where)
        if "*" not in pattern:
            return [(_path_inside(folder, path), "")]
        parent, _, name = path.rpartition("/")
        within = _path_inside(folder, parent) if parent else folder
        if within not in self._names:
            self._names[within] = sorted(f.name for f in within.iterdir()) if within.is_dir() else []
        expected = re.compile("([A-Za-z0-9]+)".join(map(re.escape, name.split("*"))))
        matching = [(n, m.groups()[-1]) for n in self._names[within] if (m := expected.fullmatch(n))]
        if not matching:
            raise DataError(f"{where}: there is no picture {folder / path}. Check data.image_folder and data.parts.")
        return [(_path_inside(folder, f"{parent}/{n}" if parent else n), star) for n, star in matching]

    def _read(self, content: Path | bytes, where: str, column: str) -> tuple[Picture, bytes | None]:
        """Read a picture and check its header; return the picture, and its bytes if the row has bytes and no path."""
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
        if require_picture(data, f"{where}: {display_name}"):
            self._animated.add(key)
        return Picture(key, path, 0, len(data), where.replace("\n", " ")), None if path else data

    def _keep(self, picture: Picture, data: bytes | None) -> Picture:
        """Return the picture with the path of a file that has its bytes: ``data`` from a row go to a temporary file."""
        name = picture.key if data is not None else picture.path
        if data is not None and name not in self._pictures:
            self._bytes = self._bytes or temporary_file()
            with spooling(), self._bytes.open("ab") as file:
                picture = replace(picture, path=str(self._bytes), start=file.tell())
                file.write(data)
        return self._pictures.setdefault(name, picture)


def temporary_file() -> Path:
    """Create a temporary file that other processes can open and that is removed when this process ends."""
    with spooling():
        handle, name = tempfile.mkstemp(prefix="heedful-")
    os.close(handle)
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked child must not remove the file
            Path(name).unlink(missing_ok=True)

    atexit.register(remove)
    return Path(name)


def require_picture(data: bytes, what: str) -> bool:
    """Raise DataError unless ``data`` starts with the header of a supported picture; return whether it is animated.

    The argument ``what`` names the picture in the message.
    """
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
            with suppress(Exception):  # Pillow looks for a second frame, which may be damaged
                return bool(opened.format in ANIMATED and getattr(opened, "is_animated", False))
            return False
    except Exception as error:  # Pillow raises many types
        why = "" if isinstance(error, Image.UnidentifiedImageError) else f" ({reason(error)})"
        raise DataError(f"{what} is not a supported picture{why}. Save it as one of {', '.join(FORMATS)}.") from None


def thumbnail(picture: Picture, size: int = 480) -> np.ndarray:
    """Return a small upright copy of a picture: uint8 [height, width, 3], at most ``size`` high and wide."""

    def shrink(image: Image.Image) -> Image.Image:
        image.thumbnail((size, size))
        return image

    return pixels(picture, shrink, lambda opened: opened.draft("RGB", (size, size)))  # decodes JPEG at a reduced size


def _bytes_or_path(value: Any, where: str, column: str, folder: Path | None) -> Path | bytes:
    """Return the bytes of a picture, or the path of its file in ``folder``, given the value of the picture column."""
    if isinstance(value, Mapping):  # as on the hub
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes) and value:
        return value
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{where}: the column {column!r} holds {brief(value)}, not a picture.")
    if folder is None:
        raise _without_folder(where, brief(value))
    return _path_inside(folder, value)


def _without_folder(where: str, picture: str) -> HeedfulError:
    """Return the error for a picture path in rows in memory, since such rows have no folder."""
    return SettingError(f"{where}: the folder of the picture {picture} is unknown. Name data.image_folder.")


def with_default(answers: Sequence[str], default_label: str | None, name: str) -> list[str]:
    """Return the labels ``answers``, with the default label at the end if it is missing and not None."""
    if default_label is None or default_label in answers:
        return list(answers)
    inform(f"{name}: {default_label!r} is added to the {len(answers):,} answers as a label.")
    return [*answers, default_label]


def listed_answers(answers: str, path: Any) -> list[str]:
    """Read labels from a text file with a label per line, or from json: a list, or an object with ``id2label``.

    Args:
        answers: Path of the file, or its name in the folder of the data.
        path: Folder of the data, or rows in memory.

    Raises:
        HeedfulError: The file is missing or malformed, or repeats a label.
    """
    file = Path(answers)
    if isinstance(path, str | Path) and (Path(path) / answers).is_file():
        file = Path(path) / answers
    if not file.is_file():
        raise DataError(f"The file data.answers {answers} does not exist. Check the path.")
    try:
        text = file.read_text(encoding="utf-8-sig")
        listing = json.loads(text) if file.suffix == ".json" else [line for line in text.splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise DataError(f"data.answers {file} cannot be read: {reason(error)}. Take a whole copy of it.") from None
    if isinstance(listing, dict):
        by_number = listing.get("id2label", listing)
        try:
            listing = [by_number[str(i)] for i in range(len(by_number))]
        except KeyError as error:
            raise DataError(f"data.answers {file} has no label number {error}. Number them from 0.") from None
    if not isinstance(listing, list) or not listing:
        raise DataError(f"data.answers {file} holds {brief(listing)}, not labels. Write a list of labels.")
    for label in listing:
        if is_empty(label) or isinstance(label, bool) or not isinstance(label, str | int | float):
            raise DataError(f"data.answers {file} lists {brief(label)}, which is not a label. Write a text.")
    labels = [label.strip() if isinstance(label, str) else as_text(label) for label in listing]
    if twice := [label for label, n in Counter(labels).items() if n > 1]:
        raise SettingError(f"data.answers {file} lists {twice[0]!r} twice.")
    return labels
