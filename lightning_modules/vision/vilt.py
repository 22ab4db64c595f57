"""ViLT (Kim, Son and Kim, 2021): one transformer over the words of a text and the patches of its pictures."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence
from transformers import ViltForImagesAndTextClassification, ViltForQuestionAnswering, ViltImageProcessorPil

from heedful.lightning_modules.processors.pictures import PictureProcessor, normalise
from heedful.lightning_modules.vision.picture_classifier import PictureClassifier
from heedful.records import Task


class Vilt(PictureClassifier):
    """ViLT: ``ViltForQuestionAnswering`` for one picture, ``ViltForImagesAndTextClassification`` for several.

    Patches are selected in a fixed order, whereas transformers samples them from the global generator, even in
    evaluation. A task without pictures gets one grey picture.

    Args:
        backbone: Hub id or folder of a ViLT.
        max_length: Most tokens of a text; ViLT has 40 positions.
        **kwargs: As for :class:`PictureClassifier`.
    """

    backbone_type = "vilt"
    image_processor = ViltImageProcessorPil

    def __init__(self, backbone: str, max_length: int = 40, **kwargs: Any) -> None:
        super().__init__(backbone, max_length, **kwargs)

    @property
    def auto(self) -> type[nn.Module]:
        return ViltForQuestionAnswering if self.pictures == 1 else ViltForImagesAndTextClassification

    def is_trained(self, task: Task) -> bool:
        config = self.config
        heads = {"ViltForQuestionAnswering": 1, "ViltForImagesAndTextClassification": config.num_images}
        self.head_reads = next((heads[name] for name in config.architectures or [] if name in heads), None)
        return self.head_reads == self.pictures

    def make_processor(self, task: Task) -> PictureProcessor:
        if self.pictures > 1:
            self.config.num_images = self.pictures
        return super().make_processor(task)

    def require_head(self) -> None:
        if self.head_reads is not None:
            self.require_as_many(self.head_reads, self.task)
        super().require_head()

    def build(self, **settings: Any) -> nn.Module:
        network = super().build(**settings)
        embeddings = network.vilt.embeddings
        learned = embeddings.token_type_embeddings.weight.detach()
        if missing := max(0, self.pictures + 1 - len(learned)):  # new token types are copies
            types = torch.cat([learned, learned[-1:].expand(missing, -1)])
            embeddings.token_type_embeddings = nn.Embedding.from_pretrained(types, freeze=False)
            for config in (self.config, network.config):
                config.modality_type_vocab_size = len(types)
        return network

    def reset_head(self, network: nn.Module) -> None:
        super().reset_head(network)
        for module in network.classifier:
            if isinstance(module, nn.LayerNorm):
                module.reset_parameters()

    def scores(self, inputs: dict[str, Any]) -> Tensor:
        text = {name: values for name, values in inputs.items() if name != "pictures"}
        numbers = inputs["pictures"]
        pixels = self.processor.store.pixels(numbers.ravel().tolist())
        mean, std = self.images.image_mean, self.images.image_std
        patches, mask = embedded(self.network.vilt.embeddings, pixels, mean, std, self.config.max_image_length)
        if self.pictures > 1:
            patches = patches.unflatten(0, numbers.shape)
            mask = mask.unflatten(0, numbers.shape).unsqueeze(-1)
        return self.network(**text, image_embeds=patches, pixel_mask=mask).logits


def embedded(
    embeddings: nn.Module, pictures: Sequence[np.ndarray], mean: Sequence[float], std: Sequence[float], longest: int
) -> tuple[Tensor, Tensor]:
    """Embed pictures for ViLT's transformer: a class token, then the patches, row by row.

    If a picture has more than ``longest`` patches, evenly spaced patches are selected, so that the result is
    deterministic and independent of the other pictures.

    Args:
        embeddings: ``ViltEmbeddings`` of transformers; its positions are interpolated to the shapes of the pictures.
        pictures: uint8 [height, width, 3] each, both multiples of the patch size.
        mean: Mean per channel, in [0, 1].
        std: Standard deviation per channel.
        longest: Largest number of patches of a picture; no limit if not positive.

    Returns:
        float [pictures, 1 + most patches, hidden], padded with zeros; and a mask, int64 [pictures, 1 + most patches], 0
        for padding.
    """
    projection = embeddings.patch_embeddings.projection
    height, width = projection.kernel_size
    grids = [(picture.shape[0] // height, picture.shape[1] // width) for picture in pictures]
    cut = np.concatenate([_patches(picture, height, width) for picture in pictures])
    pixels = normalise(cut, mean, std, projection.weight)
    patches = F.linear(pixels.flatten(1), projection.weight.flatten(1), projection.bias)  # equals the convolution
    places = {grid: _places(embeddings, grid) for grid in dict.fromkeys(grids)}
    first = embeddings.cls_token[0] + embeddings.position_embeddings[0, :1]
    rows = []
    for values, grid in zip(patches.split([h * w for h, w in grids]), grids, strict=True):
        row = values + places[grid]
        if 0 < longest < len(row):
            row = row[torch.arange(longest, device=row.device) * len(row) // longest]
        rows.append(torch.cat([first, row]))
    mask = pad_sequence([torch.ones(len(row), dtype=torch.int64, device=row.device) for row in rows], batch_first=True)
    return embeddings.dropout(pad_sequence(rows, batch_first=True)), mask


def _patches(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    """Cut a picture into patches of a given size, row by row: uint8 [patches, height, width, 3]."""
    rows = picture.shape[0] // height
    columns = picture.shape[1] // width
    return picture.reshape(rows, height, columns, width, 3).swapaxes(1, 2).reshape(-1, height, width, 3)


def _places(embeddings: nn.Module, grid: tuple[int, int]) -> Tensor:
    """Return position embeddings for the patches of a picture with ``grid`` = (rows, columns): [patches, hidden]."""
    sizes = zip(embeddings.patch_embeddings.image_size, embeddings.patch_embeddings.patch_size, strict=True)
    own_grid = [edge // patch for edge, patch in sizes]
    table = embeddings.position_embeddings[:, 1:].transpose(1, 2).unflatten(2, own_grid)
    # align_corners as in the code of ViLT, which the positions were trained with
    return F.interpolate(table, size=grid, mode="bilinear", align_corners=True)[0].flatten(1).T
