"""Pictures as parts of an input: where the bytes of one lie, and what they are."""

import hashlib
from dataclasses import dataclass

from heedful.records.errors import DataError
from heedful.records.storage.files import open_file, unreadable

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")  # in Pillow's words; for others it may run programs


@dataclass(frozen=True)
class Picture:
    """A picture as its file has it (PNG, JPEG, ...); nothing is decoded here.

    Attributes:
        key: sha256 of its bytes, as hexadecimal text; "" of a picture that shows nothing.
        path: The file that holds it.
        start: Its first byte in the file.
        size: Number of bytes.
        where: What to call it in an error: the row that it stands in.
    """

    key: str = ""
    path: str = ""
    start: int = 0
    size: int = 0
    where: str = ""

    def encode(self) -> str:
        """The picture as text; :meth:`decode` reads it."""
        where = self.where.replace("\n", " ")  # a path may hold line feeds
        return "\n".join((self.key, self.path, str(self.start), str(self.size), where))

    @classmethod
    def decode(cls, text: str) -> "Picture":
        """The picture that :meth:`encode` made text of."""
        key, rest = text.split("\n", 1)
        path, start, size, where = rest.rsplit("\n", 3)
        return cls(key, path, int(start), int(size), where)

    def read(self) -> bytes:
        """Its bytes.

        Raises:
            HeedfulError: The file is not what it was when the data were read.
        """
        display_name = f"{self.where}: the picture {self.path}"
        with open_file(self.path, display_name) as file:
            try:
                file.seek(self.start)
                content = file.read(self.size)
            except OSError as error:
                raise unreadable(display_name, error) from None
        if hashlib.sha256(content).hexdigest() != self.key:
            raise DataError(
                f"{display_name} has changed since the data were read. Start again when nothing writes there."
            )
        return content
