"""ViLT (Kim, Son and Kim, 2021): one transformer over the words of a text and the patches of its pictures."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence
from transformers import ViltForImagesAndTextClassification, ViltForQuestionAnswering, ViltImageProcessorPil

from heedful.lightning_modules.processors.pictures import normalise
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
        heads = {"ViltForQuestionAnswering": 1, "ViltForImagesAndTextClassification": self.config.num_images}
        self.head_reads = next((heads[name] for name in self.config.architectures or [] if name in heads), None)
        return self.head_reads == self.pictures

    def require_head(self) -> None:
        if self.head_reads is not None:
            self.require_as_many(self.head_reads, self.task)
        super().require_head()

    def build(self, **settings: Any) -> nn.Module:
        if self.pictures > 1:
            self.config.num_images = self.pictures
        network = super().build(**settings)
        embeddings = network.vilt.embeddings
        types = embeddings.token_type_embeddings.weight.detach()
        if (missing := self.pictures + 1 - len(types)) > 0:  # new token types are copies
            types = torch.cat([types, types[-1:].expand(missing, -1)])
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
        text = dict(inputs)
        numbers = text.pop("pictures")
        patches, mask = self.embed_pictures(self.processor.store.pixels(numbers.ravel().tolist()))
        if self.pictures > 1:
            patches = patches.unflatten(0, numbers.shape)
            mask = mask.unflatten(0, numbers.shape).unsqueeze(-1)
        return self.network(**text, image_embeds=patches, pixel_mask=mask).logits

    def embed_pictures(self, pictures: Sequence[np.ndarray]) -> tuple[Tensor, Tensor]:
        """Embed pictures for ViLT's transformer: a class token, then the patches, row by row.

        Of a picture with more than ``max_image_length`` patches, evenly spaced ones are selected.

        Args:
            pictures: uint8 [height, width, 3] each, both multiples of the patch size.

        Returns:
            float [pictures, 1 + most patches, hidden]; and a mask, int64 [pictures, 1 + most patches], 0 for padding.
        """
        embeddings, longest = self.network.vilt.embeddings, self.config.max_image_length
        projection = embeddings.patch_embeddings.projection
        height, width = projection.kernel_size
        grids = [(picture.shape[0] // height, picture.shape[1] // width) for picture in pictures]
        cut = [
            picture.reshape(down, height, across, width, 3).swapaxes(1, 2).reshape(-1, height, width, 3)
            for picture, (down, across) in zip(pictures, grids, strict=True)
        ]
        pixels = normalise(np.concatenate(cut), self.images.image_mean, self.images.image_std, projection.weight)
        patches = F.linear(pixels.flatten(1), projection.weight.flatten(1), projection.bias)  # equals the convolution
        own_grid = [e // p for e, p in zip(embeddings.patch_embeddings.image_size, projection.kernel_size, strict=True)]
        table = embeddings.position_embeddings[:, 1:].transpose(1, 2).unflatten(2, own_grid)
        positions = {  # align_corners as in the code of ViLT, with which the positions were trained
            grid: F.interpolate(table, size=grid, mode="bilinear", align_corners=True)[0].flatten(1).T
            for grid in dict.fromkeys(grids)
        }
        first = embeddings.cls_token[0] + embeddings.position_embeddings[0, :1]
        rows = []
        for values, grid in zip(patches.split([h * w for h, w in grids]), grids, strict=True):
            row = values + positions[grid]
            if 0 < longest < len(row):
                row = row[torch.arange(longest, device=row.device) * len(row) // longest]
            rows.append(torch.cat([first, row]))
        mask = pad_sequence([row.new_ones(len(row), dtype=torch.int64) for row in rows], batch_first=True)
        return embeddings.dropout(pad_sequence(rows, batch_first=True)), mask
