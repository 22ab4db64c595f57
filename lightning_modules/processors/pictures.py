"""Pictures as inputs of a model: each picture is decoded and resized once, and stored in a memory-mapped file."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from PIL import Image
from torch import Tensor
from transformers import BaseImageProcessor, PreTrainedTokenizerBase

from heedful.lightning_modules.processors.numbers import combined
from heedful.lightning_modules.processors.processor import Processor
from heedful.lightning_modules.processors.texts import TextProcessor
from heedful.records import Example, Picture, Spool, Task, column, digests
from heedful.records.example import pixels

SCHEMA = pa.schema([("pixels", pa.binary())])
BLOCK = 64  # pictures that are decoded in parallel
GIB = 2**30
GREY = (128, 128, 128)


def resized(picture: Image.Image, images: BaseImageProcessor) -> np.ndarray:
    """Resize an RGB picture with ``images``, an image processor with the PIL backend: uint8 [height, width, 3]."""
    channels_first = np.moveaxis(np.asarray(picture), -1, 0)
    return np.moveaxis(images.resize(channels_first, images.size, images.resample), 0, -1)


class PictureStore:
    """Stores resized pictures in memory-mapped files. Equal pictures share an index; index 0 is an empty, grey picture.

    Args:
        resize: Resizes an RGB picture for the model; deterministic and picklable.
        cache: Size of the store in GiB. Once it is full, further pictures are decoded whenever they are needed.

    Attributes:
        decoded: Number of pictures decoded so far.
    """

    def __init__(self, resize: Callable[[Image.Image], np.ndarray], cache: float) -> None:
        self.resize = resize
        self.decoded = 0
        self._room = cache * GIB  # bytes
        self._number: dict[str, int] = {"": 0}
        self._pictures = [Picture()]
        self._blank = resize(Image.new("RGB", (1, 1), GREY))
        self._stored = {0: self._blank}
        self._hashes: dict[int, int] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_stored": {0: self._blank}}  # another process decodes its pictures itself

    def __len__(self) -> int:
        return len(self._pictures)

    def content(self, number: int) -> str:
        """Return the SHA-256 of the bytes of the picture with the index ``number``."""
        return self._pictures[number].key

    def numbers(self, pictures: Sequence[Picture]) -> np.ndarray:
        """Return the index of each picture: int64 [pictures]; new pictures get the next indices, and are stored.

        Raises:
            HeedfulError: A picture cannot be decoded; the message names its row.
        """
        count = len(self._pictures)
        for picture in pictures:
            if self._number.setdefault(picture.key, len(self._pictures)) == len(self._pictures):
                self._pictures.append(picture)
        for start in range(count, len(self._pictures), BLOCK):
            if self._room > 0:
                self._keep(range(start, min(start + BLOCK, len(self._pictures))))
        return np.fromiter((self._number[picture.key] for picture in pictures), np.int64, len(pictures))

    def _keep(self, numbers: Sequence[int]) -> None:
        decoded = self._decode(numbers)
        spool = Spool(SCHEMA)
        spool.write(pa.table({"pixels": [picture.tobytes() for picture in decoded]}, SCHEMA))
        for number, picture, mapped in zip(numbers, decoded, spool.finish()["pixels"], strict=True):
            self._stored[number] = np.frombuffer(mapped.as_buffer(), np.uint8).reshape(picture.shape)
            self._room -= picture.nbytes

    def pixels(self, numbers: Sequence[int]) -> list[np.ndarray]:
        """Return the resized pictures with the indices ``numbers``: uint8 [height, width, 3] each."""
        missing = [n for n in dict.fromkeys(numbers) if n not in self._stored]
        decoded = dict(zip(missing, self._decode(missing), strict=True))
        return [decoded[n] if n in decoded else self._stored[n] for n in numbers]

    def hashes(self, numbers: np.ndarray) -> np.ndarray:
        """Hash size and pixels of the pictures with the indices ``numbers``: uint64, same shape as ``numbers``."""
        new = iter(set(numbers.ravel().tolist()) - self._hashes.keys())
        while block := list(islice(new, BLOCK)):
            contents = (str(picture.shape).encode() + picture.tobytes() for picture in self.pixels(block))
            self._hashes |= zip(block, digests(contents).tolist(), strict=True)
        return np.vectorize(self._hashes.__getitem__, otypes=[np.uint64])(numbers)

    def _decode(self, numbers: Sequence[int]) -> list[np.ndarray]:
        self.decoded += len(numbers)
        with ThreadPoolExecutor() as pool:  # Pillow releases the GIL
            return list(pool.map(lambda n: pixels(self._pictures[n], self.resize), numbers))


def copy_to_device(values: Tensor, device: torch.device | str) -> Tensor:
    """Copy a tensor to a device; copies to a GPU are asynchronous."""
    is_gpu = torch.device(device).type == "cuda"
    return (values.pin_memory() if is_gpu else values).to(device, non_blocking=is_gpu)


def normalise(pixels: Sequence[np.ndarray], mean: Sequence[float], std: Sequence[float], weight: Tensor) -> Tensor:
    """Normalise pictures, uint8 [height, width, 3] each, for a vision network: [pictures, 3, height, width].

    ``mean`` and ``std`` are per channel, in [0, 1]; device and dtype are those of ``weight``, a weight of the network.
    """
    stacked = copy_to_device(torch.from_numpy(np.stack(pixels)), weight.device).permute(0, 3, 1, 2).float() / 255
    mean, std = copy_to_device(torch.tensor([mean, std], dtype=torch.float32), weight.device).view(2, 1, 3, 1, 1)
    return ((stacked - mean) / std).to(weight.dtype)


class PictureProcessor(TextProcessor):
    """Turns an example into token ids of its text and indices of its pictures; ``store`` maps an index to pixels.

    If all parts of the task are pictures, the text is empty; if all are texts, an empty picture is added. The indices
    are a numpy array, ``pictures``, which stays on the host.
    """

    no_hiding = Processor.no_hiding

    def __init__(self, tokenizer: PreTrainedTokenizerBase, task: Task, max_length: int, store: PictureStore) -> None:
        super().__init__(tokenizer, [part for part in task.parts if part not in task.pictures] or [""], max_length)
        self.store = store
        self.pictures = task.pictures
        self.parts = (*self.text_parts, *(task.pictures or ("",)))

    def _numbers(self, examples: Sequence[Example]) -> np.ndarray:
        has_text = self.text_parts != ("",)
        texts = super()._numbers(examples) if has_text else [self.token_store.numbers([""]).repeat(len(examples))]
        pictures = [self.store.numbers([*column(examples, f"parts.{part}")]) for part in self.pictures]
        return np.concatenate([texts, pictures or np.zeros((1, len(examples)))]).astype(np.int32)

    def picture_numbers(self, examples: Sequence[Example]) -> np.ndarray:
        """Return the index in :attr:`store` of each picture of each example: int64 [examples, pictures]."""
        return self.numbers(examples)[len(self.text_parts) :].T.astype(np.int64)

    def fingerprints(self, examples: Sequence[Example]) -> np.ndarray:
        pictures = self.store.hashes(self.picture_numbers(examples).T)
        return combined(np.stack([super().fingerprints(examples), *pictures]))

    def batches(self, examples: Sequence[Example], batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        pictures = self.picture_numbers(examples)
        texts = zip(super().batches(examples, batches), batches, strict=True)
        return (text | {"pictures": pictures[batch]} for text, batch in texts)
