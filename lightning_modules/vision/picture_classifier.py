"""The base of the families that read pictures beside a text."""

from abc import abstractmethod
from typing import Any

from torch import nn
from transformers import BaseImageProcessor

from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier
from heedful.lightning_modules.processors.pictures import PictureProcessor, PictureStore, Resize
from heedful.records import ModelError, Task


class PictureClassifier(PretrainedClassifier):
    """A classifier of pictures with one text; a task without pictures is one with a picture that shows nothing.

    A family overrides :meth:`resizing`.

    Args:
        max_length: Most tokens of a text.
        cache: GiB of resized pictures that each process keeps on disk (TMPDIR); others are decoded again and again.
        **kwargs: As for :class:`PretrainedClassifier`.

    Attributes:
        pictures: How many the network reads.
        images: How the backbone wants them.
    """

    pictures: int
    images: BaseImageProcessor

    def __init__(self, backbone: str, max_length: int = 128, cache: float = 8.0, **kwargs: Any) -> None:
        super().__init__(backbone, max_length, **kwargs)
        self.cache = cache

    def require_parts(self, task: Task) -> None:
        texts = [part for part in task.parts if part not in task.pictures]
        model = type(self).__name__
        if len(task.parts) > 1 and not task.pictures:
            raise ModelError(
                f"model {model} reads pictures, and the parts of the data are texts: {', '.join(task.parts)}."
            )
        if len(texts) > 1:
            raise ModelError(f"model {model} reads one text beside the pictures, and the data have {', '.join(texts)}.")

    def prepare(self, task: Task) -> None:
        self.pictures = max(1, len(task.pictures))
        tokenizer = self.open_backbone(task)
        store = PictureStore(*self.resizing(), self.cache)
        self.processor = PictureProcessor(tokenizer, self.task, self.max_length, store)
        self.match_head(task)

    @abstractmethod
    def resizing(self) -> tuple[Resize, tuple[int, int]]:
        """How pictures are resized for the backbone, and height and width of one that shows nothing."""

    def require_as_many(self, learned: int) -> None:
        """Refuse data with other pictures than a trained network reads.

        Raises:
            HeedfulError: It reads more or fewer.
        """
        if learned != self.pictures:
            raise ModelError(
                f"{self.backbone} reads {counted(learned)}, and the data have {counted(self.pictures)}. Name a model "
                "that was trained on such data."
            )

    def empty_network(self) -> nn.Module:
        return self.auto(self.config)

    def export(self, folder: str, weights: bool) -> None:
        super().export(folder, weights)
        self.images.save_pretrained(folder)


def counted(pictures: int) -> str:
    """A number of pictures in words."""
    return "one picture" if pictures == 1 else f"{pictures} pictures"
