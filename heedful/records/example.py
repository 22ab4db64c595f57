"""An example: an input that consists of parts (texts, tables and pictures), with its gold label."""

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import EllipsisType
from typing import TYPE_CHECKING, Literal

import numpy as np

from heedful.records.errors import DataError, SettingError
from heedful.records.storage.files import open_file, unreadable
from heedful.records.text import canonical

if TYPE_CHECKING:
    from PIL import Image

Row = tuple[str, tuple[str, ...]]
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")  # Pillow may run programs for other formats


@dataclass(frozen=True)
class Table:
    """A table with a title, and rows of a key and its values, such as an infobox of Wikipedia; keys are distinct."""

    title: str
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        keys = self.keys
        if len(set(keys)) < len(keys):
            repeated = next(key for key in keys if keys.count(key) > 1)
            raise SettingError(f"The table {self.title!r} has the key {repeated!r} twice.")

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(key for key, _ in self.rows)

    @cached_property
    def values(self) -> dict[str, tuple[str, ...]]:
        return dict(self.rows)

    def encode(self, normalise: Callable[[str], str] = str) -> str:
        """Convert to JSON; ``normalise`` is applied to the title, each key and each value."""
        rows = [(normalise(key), [normalise(value) for value in values]) for key, values in self.rows]
        return json.dumps([normalise(self.title), rows], ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> "Table":
        title, rows = json.loads(text)
        return cls(title, tuple((key, tuple(values)) for key, values in rows))


class Options(Table):
    """A list of answers to choose from, as a table without a title: a row per option, of its label and its text."""

    @classmethod
    def of(cls, labels: Iterable[str], texts: Iterable[str]) -> "Options":
        """Build options from their labels and texts; further labels are left out.

        Example:
            >>> TableForm().text(Options.of("ABCD", ["a dog", "a cat", "a cow"]))
            'A) a dog B) a cat C) a cow'
        """
        return cls("", tuple((label, (text,)) for label, text in zip(labels, texts, strict=False)))

    @property
    def texts(self) -> list[str]:
        """The texts of the options, in their order."""
        return [text for _, (text,) in self.rows]

    def moves(self, after: "Options") -> dict[str, list[str]]:
        """Map each label to the labels that the same text has in ``after``: several if options are equal."""
        return {label: [new for new, text in after.rows if text == old] for label, old in self.rows}


@dataclass(frozen=True)
class TableForm:
    """A format for the conversion of tables to text.

    Attributes:
        style: Format of a row. "paragraph": "The KEY of TITLE is VALUE." (Gupta et al. 2020, "table as paragraph");
            "structure": "KEY: VALUE, VALUE"; "cells": "| KEY | VALUE | VALUE".
        keep: Maximum number of rows in the text. The rows that share the most words with the other parts of the input
            are kept; None keeps all rows.
    """

    style: Literal["paragraph", "structure", "cells"] = "paragraph"
    keep: int | None = None

    def text(self, table: Table, texts: Sequence[str] = ()) -> str:
        """Convert a table to text; the other parts of the input, ``texts``, decide which rows are kept."""
        if isinstance(table, Options):
            return " ".join(f"{label}) {option}" for label, (option,) in table.rows)
        rows = self._selected(table, texts)
        title = table.title
        if self.style == "paragraph":
            sentences = [f"The {k} of {title} {'are' if len(v) > 1 else 'is'} {', '.join(v)}." for k, v in rows]
            return " ".join(sentences) or f"{title}."
        if self.style == "structure":
            return "; ".join([f"Title: {title}", *(f"{k}: {', '.join(v)}" for k, v in rows)])
        return " ".join([title, *(f"| {' | '.join((k, *v))}" for k, v in rows)])

    def shortens(self, table: Table) -> bool:
        """Whether the text of a table leaves out rows, because ``keep`` is smaller than their number."""
        return self.keep is not None and len(table.rows) > self.keep

    def _selected(self, table: Table, texts: Sequence[str]) -> Sequence[Row]:
        if not self.shortens(table):
            return table.rows
        words = _words(" ".join(texts))
        shared = [len(words & _words(" ".join((key, *values)))) for key, values in table.rows]
        best = sorted(range(len(shared)), key=lambda i: -shared[i])[: self.keep]  # stable: earlier rows win ties
        return [table.rows[i] for i in sorted(best)]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


@dataclass(frozen=True)
class Picture:
    """A reference to an encoded picture, such as a PNG: ``size`` bytes from ``start`` on in a file."""

    key: str = ""  # the sha256 of the bytes in hexadecimal; "" for the empty picture
    path: str = ""
    start: int = 0
    size: int = 0
    where: str = ""  # row of the data that names the picture, for messages

    @property
    def display_name(self) -> str:
        return f"{self.where}: the picture {self.path}"

    def encode(self) -> str:
        """Convert to one text, which a column can store."""
        where = self.where.replace("\n", " ")  # a path may hold line feeds
        return "\n".join((self.key, self.path, str(self.start), str(self.size), where))

    @classmethod
    def decode(cls, text: str) -> "Picture":
        key, remainder = text.split("\n", 1)
        path, start, size, where = remainder.rsplit("\n", 3)
        return cls(key, path, int(start), int(size), where)

    def read(self) -> bytes:
        """Read the bytes; raises DataError if the file cannot be read, or if they no longer match :attr:`key`."""
        with open_file(self.path, self.display_name) as file:
            try:
                file.seek(self.start)
                content = file.read(self.size)
            except OSError as error:
                raise unreadable(self.display_name, error) from None
        if hashlib.sha256(content).hexdigest() != self.key:
            raise DataError(f"{self.display_name} has changed since the data were read. Start again.")
        return content


def pixels(
    picture: Picture,
    resize: "Callable[[Image.Image], Image.Image | np.ndarray]",
    prepare: "Callable[[Image.Image], object]" = lambda opened: None,
) -> np.ndarray:
    """Decode a picture to RGB with 8 bits per channel, which ``resize`` makes final: uint8 [height, width, 3].

    ``prepare`` is applied to the opened picture before it is decoded. Grey becomes three equal channels, palettes are
    resolved, CMYK is converted without a profile, and transparent pictures are drawn on white. The EXIF orientation is
    applied. Raises DataError if the picture is damaged, has changed since the data were read, or has more than 8 bits
    per channel, of which Pillow would clip nearly all values to white.
    """
    from PIL import Image, ImageFile, ImageOps  # most runs have no pictures

    data = picture.read()
    ImageFile.LOAD_TRUNCATED_IMAGES = False  # a library may have set it, and would fill the rest with grey
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
            prepare(opened)
            if opened.mode == "F" or opened.mode.startswith("I"):
                raise DataError(f"{picture.display_name} has more than 8 bits per channel. Save it with 8 bits.")
            image = ImageOps.exif_transpose(opened)
            if image.has_transparency_data:
                layer = image.convert("RGBA")
                image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
            return np.asarray(resize(image.convert("RGB")))
    except (DataError, MemoryError):
        raise
    except Exception as error:  # damaged files raise many kinds of errors
        formats = ", ".join(FORMATS)
        raise DataError(f"{picture.display_name} cannot be decoded: {error}. Use a complete file: {formats}.") from None


Part = str | Table | Picture  # the content of one part of an input


class MissingPart(KeyError):
    """An example has no part of a name."""


# classes of the parts that are not texts; the metadata of Arrow columns have the keys
PART_KINDS: Mapping[str, type[Table] | type[Picture]] = {"table": Table, "picture": Picture, "options": Options}


def as_text(part: Part | None) -> str:
    """Return a part that is a text; raises TypeError for any other part."""
    if not isinstance(part, str):
        raise TypeError(f"{part!r} is not a text")
    return part


def as_table(part: Part | None) -> Table:
    """Return a part that is a table; raises TypeError for any other part."""
    if not isinstance(part, Table):
        raise TypeError(f"{part!r} is not a table")
    return part


def content_id(part: Part) -> str:
    """The sha256, in hexadecimal, of a part's :func:`canonical` text or of a picture's bytes; "" for an empty one."""
    if isinstance(part, Picture):
        return part.key
    text = part.encode(canonical) if isinstance(part, Table) else canonical(part)
    return hashlib.sha256(text.encode()).hexdigest()


def emptied(part: Part) -> Part:
    """Return the empty part that replaces a part; for a table, it is an empty text."""
    return Picture() if isinstance(part, Picture) else ""


@dataclass(frozen=True)
class Example:
    """An input with its gold label; the input consists of parts, such as premise and hypothesis.

    Attributes:
        uid: Unique name, the same in every run: "data/split/id", with a hash of the content for data without ids.
        parts: Contents of the parts, in the order of the task.
        label: Gold label, encoded as text by the :class:`~heedful.records.TaskKind`.
        groups: The hash of each part's content, under its name, and group columns of the data. Examples that share a
            value of a group do not lend parts to each other.
        meta: Further columns of the data as text, for breakdowns of the results.
    """

    uid: str
    parts: Mapping[str, Part]
    label: str | None = None
    groups: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, part: str) -> Part:
        """Return the content of a part; raises MissingPart if the example has no such part."""
        try:
            return self.parts[part]
        except KeyError:
            raise MissingPart(f"{self.uid} has no part {part!r}. The parts are {', '.join(self.parts)}.") from None

    def replace(self, part: str, content: Part, *, gold: str | None | EllipsisType = ...) -> "Example":
        """Return a copy in which one part has other content, and ``groups`` the hash of this content.

        Args:
            part: Name of the part.
            content: The new content.
            gold: New gold label; None if it is unknown. By default, the label stays.

        Raises:
            MissingPart: The example has no such part.
            SettingError: The content is no text, table, list of options or picture; or it is no picture, but the part
                is one.

        Example:
            >>> example = Example("a", {"premise": "A dog runs.", "hypothesis": "A cat."}, "no")
            >>> changed = example.replace("hypothesis", "A dog.", gold="yes")
            >>> changed["premise"], changed["hypothesis"], changed.label
            ('A dog runs.', 'A dog.', 'yes')
        """
        if not isinstance(content, Part) or isinstance(content, Picture) != isinstance(self[part], Picture):
            kinds = f"a {type(self[part]).__name__}, not a {type(content).__name__}"
            raise SettingError(f"{self.uid}: the new content of the part {part} should be {kinds}.")
        parts = {**self.parts, part: content}
        groups = {**self.groups, part: content_id(content)}
        return replace(self, parts=parts, groups=groups, label=self.label if gold is ... else gold)

    @property
    def options(self) -> Options:
        """The content of the only part that is a list of options; raises MissingPart if there is no such part."""
        try:
            (options,) = (content for content in self.parts.values() if isinstance(content, Options))
        except ValueError:
            raise MissingPart(f"{self.uid} does not have one part that is a list of options.") from None
        return options

    @property
    def gold(self) -> str:
        """The gold label; raises TypeError if the example has none."""
        if self.label is None:
            raise TypeError(f"{self.uid} has no label")
        return self.label


@dataclass(frozen=True)
class Changed:
    """An example that an intervention has changed; it keeps the ``uid`` of the base example."""

    example: Example
    partner: str = ""  # uid of the example that lends a part
    variant: str = ""  # tells several changes of an example in one draw apart, such as the key of the deleted table row
    clusters: tuple[str, ...] = ()  # groups of related examples of the change: the base, the lending one, the table
    expects: str | None = None  # as in rows; None for the expectation of the intervention
    part: str | None = None  # names of the changed parts, joined by "+"; None for the parts of the intervention
