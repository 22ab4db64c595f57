"""Pictures of noise with texts, and tasks about one picture or two."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from heedful.records import CLASSIFICATION, Example, Picture, Task

ONE = Task(CLASSIFICATION, ("image", "question"), ("no", "yes"), "no", pictures=("image",))
TWO = Task(CLASSIFICATION, ("left", "right", "sentence"), ("False", "True"), "False", pictures=("left", "right"))
SHAPES = [("RGB", 32, 32), ("L", 8, 8), ("RGBA", 64, 40), ("RGB", 24, 61), ("P", 61, 24), ("RGB", 300, 200)]
TEXTS = [
    "is it red ?",
    "what color is the circle in this left picture ?",
    "no",
    "",
    "both are green .",
    "is there a blue triangle ?",
]


def stored(path: Path, picture: np.ndarray | Image.Image, **settings: Any) -> Picture:
    """Write a PNG file; returns the picture, whose location is the name of the file."""
    picture = picture if isinstance(picture, Image.Image) else Image.fromarray(picture.astype(np.uint8))
    picture.save(path, **settings)
    data = path.read_bytes()
    return Picture(hashlib.sha256(data).hexdigest(), str(path), 0, len(data), path.name)


def write(folder: Path) -> list[Picture]:
    """Write six pictures of several modes, heights and widths."""
    rng = np.random.default_rng(0)
    return [
        stored(folder / f"{h}x{w}.png", Image.fromarray(rng.integers(0, 256, (h, w, 3), dtype=np.uint8)).convert(mode))
        for mode, h, w in SHAPES
    ]


def opened(picture: Picture) -> Image.Image:
    """Open a picture with Pillow."""
    return Image.open(picture.path).convert("RGB")


def questions(pictures: list[Picture]) -> list[Example]:
    """One example per picture, each with another text."""
    pairs = zip(pictures, TEXTS, strict=True)
    return [Example(f"q/{i}", {"image": p, "question": text}, ONE.labels[i % 2]) for i, (p, text) in enumerate(pairs)]


def pairs(pictures: list[Picture]) -> list[Example]:
    """One example per picture, with the next picture and a text."""
    rows = zip(pictures, [*pictures[1:], pictures[0]], TEXTS, strict=True)
    return [Example(f"p/{i}", {"left": a, "right": b, "sentence": t}) for i, (a, b, t) in enumerate(rows)]
