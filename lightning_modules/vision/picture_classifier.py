"""Base class of model families that read pictures and a text."""

import math
from functools import partial
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn
from transformers import BaseImageProcessor

from heedful.lightning_modules.pretrained import load
from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier
from heedful.lightning_modules.processors.pictures import PictureProcessor, PictureStore, normalise, resized
from heedful.records import ModelError, Task, agree


class PictureClassifier(PretrainedClassifier):
    """A classifier of pictures with one text; a task without pictures gets one empty picture.

    Each picture is resized once on the host by the image processor of the backbone, and normalised on the device. The
    inputs have ``pictures``, a numpy array: indices in ``processor.store``, int [examples, pictures].

    Args:
        max_length: Most tokens of a text.
        cache: GiB of resized pictures that each process keeps on disk (TMPDIR); further pictures are decoded each time.
        **kwargs: As for :class:`PretrainedClassifier`.

    Attributes:
        image_processor: Class of the image processor, with the PIL backend: torchvision returns other pixels.
        most_pictures: Largest supported number of pictures.
        backbone_type: Required ``model_type`` of the backbone; any by default.
        pictures: Number of pictures that the network reads.
        images: The image processor.
    """

    image_processor: ClassVar[type[BaseImageProcessor]]
    most_pictures: ClassVar[float] = math.inf
    backbone_type: ClassVar[str | None] = None
    pictures: int
    images: BaseImageProcessor

    def __init__(self, backbone: str, max_length: int = 128, cache: float = 8.0, **kwargs: Any) -> None:
        super().__init__(backbone, max_length, **kwargs)
        self.cache = cache

    def require_parts(self, task: Task) -> None:
        texts = [part for part in task.parts if part not in task.pictures]
        model = type(self).__name__
        if len(texts) > 1:
            raise ModelError(f"model {model} reads pictures and one text, and the data have {', '.join(texts)}.")
        if len(task.pictures) > self.most_pictures:
            raise ModelError(f"model {model} reads at most {self.most_pictures} of {', '.join(task.pictures)}.")

    def require_architecture(self) -> None:
        if self.backbone_type not in (None, self.config.model_type):
            raise ModelError(
                f"model.backbone {self.backbone} is a {self.config.model_type}, and model {type(self).__name__} takes "
                f"a {self.backbone_type}."
            )

    def open(self, task: Task) -> None:
        if self.has_learned and self.network is not None:
            self.require_as_many(self.pictures, task)
        self.pictures = max(1, len(task.pictures))
        super().open(task)

    def make_processor(self, task: Task) -> PictureProcessor:
        self.images = self.open_images()
        store = PictureStore(partial(resized, images=self.images), self.cache)
        return PictureProcessor(self.tokenizer, task, self.max_length, store)

    def open_images(self) -> BaseImageProcessor:
        """Load the image processor of the backbone."""
        return load(self.image_processor.from_pretrained, self.folder)

    def require_as_many(self, learned: int, task: Task) -> None:
        """Raise ModelError unless the examples of a task have ``learned`` pictures, which a trained network reads."""
        if learned != (pictures := max(1, len(task.pictures))):
            raise ModelError(
                f"{self.backbone} reads {agree(learned, 'picture', 'pictures')}, and the data have {pictures}. Name a "
                "model that was trained on such data."
            )

    def pixel_values(self, numbers: np.ndarray, network: nn.Module) -> Tensor:
        """Return the normalised pixels of pictures of one size, by index in the store: [pictures, 3, height, width].

        They have the device and the dtype of ``network``.
        """
        pixels = self.processor.store.pixels(numbers.tolist())
        return normalise(pixels, self.images.image_mean, self.images.image_std, next(network.parameters()))

    def export(self, folder: str, weights: bool) -> None:
        super().export(folder, weights)
        self.images.save_pretrained(folder)
