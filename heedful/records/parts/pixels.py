"""Decode pictures to RGB with 8 bits per channel, with Pillow.

Grey becomes three equal channels, palettes are resolved, CMYK is converted without a profile, and transparent pictures
are drawn on white. Pictures with more than 8 bits per channel are refused, because Pillow would clip nearly all values
to white.
"""

import io
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageFile, ImageOps

from heedful.records.errors import DataError
from heedful.records.parts.picture import FORMATS, Picture


def pixels(
    picture: Picture,
    resize: Callable[[Image.Image], Image.Image | np.ndarray],
    prepare: Callable[[Image.Image], object] = lambda opened: None,
) -> np.ndarray:
    """Return the pixels of a picture, rotated by its EXIF orientation and resized.

    Args:
        picture: The picture.
        resize: Function that is applied to the decoded RGB picture and returns the final picture.
        prepare: Function that is applied to the opened picture before it is decoded.

    Returns:
        uint8 [height, width, 3].

    Raises:
        DataError: If the picture is damaged, has changed since the data were read, or has more than 8 bits per channel.
            The message names the picture's row in the data.
    """
    data = picture.read()
    display_name = f"{picture.where}: the picture {picture.path}"
    ImageFile.LOAD_TRUNCATED_IMAGES = False  # a library may have set it, and would fill the rest with grey
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
            prepare(opened)
            if opened.mode == "F" or opened.mode.startswith("I"):
                raise DataError(f"{display_name} has more than 8 bits per channel. Save it with 8 bits.")
            return np.asarray(resize(_opaque(ImageOps.exif_transpose(opened))))
    except (DataError, MemoryError):
        raise
    except Exception as error:  # damaged files raise many kinds of errors
        formats = ", ".join(FORMATS)
        raise DataError(f"{display_name} cannot be decoded: {error}. Use a complete file: {formats}.") from None


def _opaque(image: Image.Image) -> Image.Image:
    if not image.has_transparency_data:
        return image.convert("RGB")
    layer = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")
