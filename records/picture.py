"""Pictures as parts of an input: where the bytes of one lie, and what they are."""

from dataclasses import dataclass
from pathlib import Path

from records.errors import HeedError

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
        return "\n".join((self.key, self.path, str(self.start), str(self.size), self.where))

    @classmethod
    def decode(cls, text: str) -> "Picture":
        """The picture that :meth:`encode` made text of."""
        key, path, start, size, where = text.split("\n")
        return cls(key, path, int(start), int(size), where)

    def read(self) -> bytes:
        """Its bytes.

        Raises:
            HeedError: The file is not what it was when the data were read.
        """
        try:
            with Path(self.path).open("rb") as file:
                file.seek(self.start)
                found = file.read(self.size)
        except OSError as error:
            raise HeedError(f"{self.where}: the picture {self.path} cannot be read ({error.strerror}).") from None
        if len(found) < self.size:
            raise HeedError(f"{self.where}: the picture {self.path} has become shorter since the data were read.")
        return found
