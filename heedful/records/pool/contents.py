"""Hash the contents of parts, independently of the model, to find examples with equal parts."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from heedful.records.example import Part
from heedful.records.parts.picture import Picture
from heedful.records.parts.table import Table
from heedful.records.text import canonical

# classes of the parts that are not texts; the metadata of Arrow columns have the keys
KINDS: Mapping[str, type[Table] | type[Picture]] = {"table": Table, "picture": Picture}
DIGITS = np.full(256, 16, dtype=np.uint8)  # value of each character as a hexadecimal digit; 16 for other characters
DIGITS[list(b"0123456789abcdef")] = range(16)


def content_id(part: Part) -> str:
    """Return the sha256, in hexadecimal, of a part's :func:`canonical` text or of a picture's bytes; "" for an empty
    picture.
    """
    if isinstance(part, Picture):
        return part.key
    text = part.encode(canonical) if isinstance(part, Table) else canonical(part)
    return hashlib.sha256(text.encode()).hexdigest()


def emptied(part: Part) -> Part:
    """Return the empty part that replaces a part: an empty picture for a picture, "" for a text or a table."""
    return Picture() if isinstance(part, Picture) else ""


def keys(texts: Iterable[str]) -> np.ndarray:
    """Hash texts to 64 bits: uint64 [texts]. The probability of a collision among a million texts is 3e-8."""
    return digests(text.encode("utf-8", "surrogatepass") for text in texts)


def digests(contents: Iterable[bytes]) -> np.ndarray:
    """Hash byte strings to 64 bits, as :func:`keys` does for texts: uint64 [contents]."""
    joined = bytearray()  # needs less memory than a list of hashes
    for content in contents:
        joined += hashlib.blake2b(content, digest_size=8).digest()
    return np.frombuffer(joined, dtype="<u8")


def digest_keys(texts: pa.ChunkedArray) -> np.ndarray | None:
    """Truncate sha256 hashes in hexadecimal to 64 bits: uint64 [texts]; None if any text is not such a hash."""
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
    """Hash the values of some text columns together, for each row of a table: texts of 16 hexadecimal digits [rows]."""
    values = (column_texts(table, name) for name in columns)
    digits = keys(map(repr, zip(*values, strict=True))).astype(">u8").tobytes().hex()
    starts = pa.py_buffer(np.arange(0, len(digits) + 1, 16, dtype=np.int32))
    return pa.StringArray.from_buffers(table.num_rows, starts, pa.py_buffer(digits.encode()))


def column_texts(table: pa.Table, name: str) -> Iterator[str]:
    """Iterate over the values of a text column, converting one batch at a time to Python objects."""
    for batch in table.select([name]).to_batches(max_chunksize=4096):
        yield from batch[0].to_pylist()
