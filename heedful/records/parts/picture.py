"""Pictures as parts of an input: references to encoded bytes in a file."""

import hashlib
from dataclasses import dataclass

from heedful.records.errors import DataError
from heedful.records.storage.files import open_file, unreadable

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")  # Pillow may run programs for other formats


@dataclass(frozen=True)
class Picture:
    """A reference to an encoded picture, such as a PNG, in a file.

    Attributes:
        key: The sha256 of the bytes in hexadecimal; "" for the empty picture.
        path: Path of the file.
        start: Offset of the picture's first byte in the file.
        size: Number of bytes.
        where: Row of the data that names the picture, for messages.
    """

    key: str = ""
    path: str = ""
    start: int = 0
    size: int = 0
    where: str = ""

    def encode(self) -> str:
        """Convert the attributes (key, path, start, size, where) to one text, which a column can store."""
        where = self.where.replace("\n", " ")  # a path may hold line feeds
        return "\n".join((self.key, self.path, str(self.start), str(self.size), where))

    @classmethod
    def decode(cls, text: str) -> "Picture":
        """Convert from the text of :meth:`encode`."""
        key, remainder = text.split("\n", 1)
        path, start, size, where = remainder.rsplit("\n", 3)
        return cls(key, path, int(start), int(size), where)

    def read(self) -> bytes:
        """Read the bytes from the file.

        Raises:
            DataError: If the file cannot be read, or the bytes no longer match :attr:`key`.
        """
        display_name = f"{self.where}: the picture {self.path}"
        with open_file(self.path, display_name) as file:
            try:
                file.seek(self.start)
                content = file.read(self.size)
            except OSError as error:
                raise unreadable(display_name, error) from None
        if hashlib.sha256(content).hexdigest() != self.key:
            raise DataError(f"{display_name} has changed since the data were read. Start again.")
        return content
