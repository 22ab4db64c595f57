"""Identities of contents, by which they are told apart: the same for every model, whatever its tokenizer sees."""

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from heedful.records.example import Part
from heedful.records.parts.picture import Picture
from heedful.records.parts.table import Table

# Of parts that are no texts; a column's metadata names its kind.
KINDS: Mapping[str, type[Table] | type[Picture]] = {"table": Table, "picture": Picture}
DIGITS = np.full(256, 16, dtype=np.uint8)  # character to the value of a hexadecimal digit; 16 for others
DIGITS[list(b"0123456789abcdef")] = range(16)


def canonical(text: str) -> str:
    """The form by which texts are told apart: composed (NFC), with single spaces for all white space and none around.

    Case tells texts apart: whether a model sees it is the model's own.

    Example:
        >>> canonical(" It\\u00a0 rains. ") == canonical("It rains."), canonical("e\\u0301") == "\\u00e9"
        (True, True)
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def content_id(part: Part) -> str:
    """Identity of a part's content: the sha256 of its :func:`canonical` form, as hexadecimal text.

    Raises UnicodeEncodeError on half a surrogate.
    """
    if isinstance(part, Picture):
        return part.key
    text = part.encode(canonical) if isinstance(part, Table) else canonical(part)
    return hashlib.sha256(text.encode()).hexdigest()


def emptied(part: Part) -> Part:
    """The content in place of a part that is taken away: the empty text, or a picture that shows nothing."""
    return Picture() if isinstance(part, Picture) else ""


def keys(texts: Iterable[str]) -> np.ndarray:
    """A 64-bit hash of each text: uint64 [texts]; the same in every process.

    Among a million texts, two that differ share a key with probability 3e-8.
    """
    return digests(text.encode("utf-8", "surrogatepass") for text in texts)


def digests(contents: Iterable[bytes]) -> np.ndarray:
    """As :func:`keys`, for bytes."""
    joined = bytearray()  # a join would hold an object for each
    for content in contents:
        joined += hashlib.blake2b(content, digest_size=8).digest()
    return np.frombuffer(joined, dtype="<u8")


def digest_keys(texts: pa.ChunkedArray) -> np.ndarray | None:
    """The first 64 bits of each text that is a sha256 in hexadecimal: uint64 [texts]; None where one is not."""
    try:
        chunks = [chunk.cast(pa.binary()).cast(pa.binary(64)) for chunk in texts.chunks]
    except pa.ArrowInvalid:
        return None
    characters = np.concatenate(
        [np.frombuffer(chunk.buffers()[1], np.uint8)[: 64 * len(chunk)] for chunk in chunks] or [DIGITS[:0]]
    )
    digits = DIGITS[characters.reshape(-1, 64)[:, :16]]
    if texts.null_count or (digits > 15).any():
        return None
    return (digits[:, ::2] << 4 | digits[:, 1::2]).view("<u8").ravel()


def identities(table: pa.Table, columns: Sequence[str]) -> pa.Array:
    """Identity of what each row of a table says in some columns: texts of 16 hexadecimal digits."""
    values = (column_texts(table, name) for name in columns)  # never all of them in memory
    digits = keys(map(repr, zip(*values, strict=True))).astype(">u8").tobytes().hex()
    starts = pa.py_buffer(np.arange(0, len(digits) + 1, 16, dtype=np.int32))
    return pa.StringArray.from_buffers(table.num_rows, starts, pa.py_buffer(digits.encode()))


def column_texts(table: pa.Table, name: str) -> Iterator[str]:
    """The texts of a column, or None for each null, of which few are Python objects at a time."""
    for batch in table.select([name]).to_batches(max_chunksize=4096):
        yield from batch[0].to_pylist()
