"""From the bytes of a picture to its pixels: one rule for every format.

Pictures of 8 bits a channel are what Pillow makes RGB of: grey becomes three equal channels, of a palette the colours
are looked up, CMYK is converted without a profile, and transparency is dropped, so that the colour below it shows.

Grey pictures of more bits keep their 8 highest, as Pillow itself does with 16-bit colours; Pillow's own conversion
would clip them, so that nearly all is white. Floats go from 0 (black) to 1 (white). Whatever such a picture does not
say by itself is not guessed: it is refused if floats leave 0..1, if integers of 32 bits leave 0..65535, or if all of
its values would become black, as when 8 bits are stored in 16.

Pillow refuses a file that ends too early and one that contradicts a checksum (PNG, compressed TIFF). A bit that changed
within the data of a JPEG, WebP, GIF, BMP or PPM mostly shows other colours and cannot be told from another picture.
"""

import io
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from PIL import Image, ImageFile, ImageOps

from heedful.records.errors import DataError
from heedful.records.parts.picture import FORMATS, Picture

WHITE_IS_ZERO = 0  # of the TIFF tag that says what 0 stands for; Pillow inverts 8 bits itself
BITS, PHOTOMETRIC = 258, 262  # tags of TIFF
UNCLEAR = "Save it with 8 bits, so that it is clear which value is white."


def pixels(
    picture: Picture,
    shaped: Callable[[Image.Image], Image.Image | np.ndarray],
    prepare: Callable[[Image.Image], object] = lambda opened: None,
) -> np.ndarray:
    """A picture, upright: uint8 [height, width, 3].

    Args:
        picture: Where its bytes lie.
        shaped: Makes of the RGB picture the one that is wanted, of another size, say.
        prepare: Looks at the picture before it is decoded.

    Raises:
        HeedfulError: It is damaged, it has values that are not guessed at, its file has changed, or the memory is full;
            the message names its row.
    """
    data = picture.read()
    display_name = f"{picture.where}: the picture {picture.path}"
    ImageFile.LOAD_TRUNCATED_IMAGES = False  # a library may have set it, and would have the rest of a picture grey
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
            prepare(opened)
            tags = getattr(opened, "tag_v2", {})
            values = np.asarray(shaped(rgb(ImageOps.exif_transpose(opened), tags)))
    except DataError as error:
        raise error.at(display_name) from None
    except MemoryError:
        raise DataError(f"{display_name} does not fit into the memory. Free some, or leave it out.") from None
    except Image.UnidentifiedImageError:  # whose words are about an object in memory
        raise DataError(
            f"{display_name} is not a picture that is read. Save it as one of {', '.join(FORMATS)}."
        ) from None
    except Exception as error:  # of what anybody may have written, any byte can be wrong in any way
        raise DataError(f"{display_name} cannot be decoded: {error}. Take a whole copy of it.") from None
    return values


def rgb(picture: Image.Image, tags: Mapping[int, Any] = MappingProxyType({})) -> Image.Image:
    """A picture as RGB of 8 bits, by the rule of this module.

    Args:
        picture: As Pillow opens it.
        tags: Those of its TIFF file, if it comes from one.

    Raises:
        DataError: Its values are of more bits, and which of them is white is not clear.
    """
    if picture.mode != "F" and not picture.mode.startswith("I"):
        return picture.convert("RGB")
    values = np.asarray(picture)
    scaled = _of_floats(values) if picture.mode == "F" else _of_integers(values, picture.mode, tags)
    if tags.get(PHOTOMETRIC) == WHITE_IS_ZERO:
        scaled = 255 - scaled
    return Image.fromarray(scaled).convert("RGB")


def _of_floats(values: np.ndarray) -> np.ndarray:
    low = values.min()  # NaN if any is
    high = values.max()
    if not (low >= 0 and high <= 1):
        raise DataError(f"The floats go from {low:g} to {high:g}, and should go from 0 to 1. {UNCLEAR}")
    return np.rint(values * 255).astype(np.uint8)


def _of_integers(values: np.ndarray, mode: str, tags: Mapping[int, Any]) -> np.ndarray:
    low = int(values.min())
    high = int(values.max())
    bits = 12 if mode != "I" and tags.get(BITS) in (12, (12,)) else 16
    if not 0 <= low <= high < 2**bits:
        raise DataError(f"The values go from {low} to {high}, and should go from 0 to 65535. {UNCLEAR}")
    if 0 < high < 2 ** (bits - 8):
        raise DataError(f"The values of {bits} bits go only up to {high}, which is black. {UNCLEAR}")
    return (values >> (bits - 8)).astype(np.uint8)
