"""Late fusion: any timm backbone beside any text encoder; the baseline that a laptop can train."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from heedful.lightning_modules.pretrained.backbone_config import is_size
from heedful.lightning_modules.pretrained.backbones import has_weights, load, load_weights, quiet, require_fit
from heedful.lightning_modules.pretrained.misfits import difference, reason
from heedful.lightning_modules.pretrained.packaged_vision import PACKAGED, packaged_weights
from heedful.lightning_modules.processors.pictures import Resize, ResizeTo, normalised, sent
from heedful.lightning_modules.vision.picture_classifier import PictureClassifier
from heedful.records import ModelError, SettingError, read_json, write_json

SETTINGS = "vision.json"  # beside an exported model: what is known of the network but for its text encoder
LAST = "head.3."  # how the last layer is called
VISION, HIDDEN = "effnet-lite0", 512  # of a new network, by default
BATCH = 32  # pictures that are encoded together


def _are_channels(value: Any, least: float) -> bool:
    """Whether it is a finite number for each of the three channels."""
    return len(value) == 3 and all(type(v) in (int, float) and least < v < math.inf for v in value)


def _is_architecture(value: Any) -> bool:
    """Whether timm knows a backbone of that name."""
    import timm

    return timm.is_model(value)


SOUND: dict[str, Callable[[Any], bool]] = {  # what that file says, and when it can be
    "architecture": _is_architecture,
    "image_size": lambda value: len(value) == 2 and all(map(is_size, value)),
    "interpolation": lambda value: value.upper() in Image.Resampling.__members__,
    "mean": lambda value: _are_channels(value, -math.inf),
    "std": lambda value: _are_channels(value, 0),
    "hidden": is_size,
    "pictures": is_size,
}


def _holds(is_sound: Callable[[Any], bool], settings: Any, name: str) -> bool:
    """Whether what a file says of something can be, whatever its type."""
    try:
        return is_sound(settings[name])
    except Exception:  # a list, a number, nothing at all: any line of the above can fail
        return False


def _architecture(vision: str) -> str:
    """timm's name of a picture's backbone."""
    return PACKAGED[vision].architecture if vision in PACKAGED else vision


class Fusion(nn.Module):
    """Text and pictures, each encoded alone; a hidden layer over both and their product.

    Args:
        text: Gives the states of tokens.
        vision: Gives the features of a picture.
        width: Their number.
        pictures: Of an example.
        labels: Number of outputs.
        hidden: Width of the layers that join them.
    """

    def __init__(self, text: nn.Module, vision: nn.Module, width: int, pictures: int, labels: int, hidden: int) -> None:
        super().__init__()
        self.text = text
        self.vision = vision
        self.of_text = nn.Sequential(nn.Linear(text.config.hidden_size, hidden), nn.LayerNorm(hidden))
        self.of_pictures = nn.Sequential(nn.Linear(pictures * width, hidden), nn.LayerNorm(hidden))
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(3 * hidden, hidden), nn.GELU(), nn.Linear(hidden, labels))

    def forward(self, text: dict[str, Tensor], features: Tensor) -> Tensor:
        """Scores [examples, labels].

        Args:
            text: Token ids and masks.
            features: float32 [examples, pictures, features].
        """
        states = self.text(**text).last_hidden_state
        mask = text["attention_mask"].unsqueeze(-1)
        t = self.of_text((states * mask).sum(dim=1) / mask.sum(dim=1))
        v = self.of_pictures(features.flatten(start_dim=1).to(states.dtype))
        return self.head(torch.cat([t, v, t * v], dim=-1))


class LateFusion(PictureClassifier):
    """Any timm backbone beside any text encoder of transformers; the two meet in the last layers.

    Each picture is encoded once: for the whole run while the backbone is frozen, and once in each evaluation otherwise.
    Its features stay on the device: 1 GB for 200,000 pictures of 1,280 features.

    Args:
        backbone: Of the text: hub id, folder, or ``package:MODULE/FOLDER``.
        vision: "effnet-lite0" (from a Python package), or any of timm's model names, with weights from the hub; by
            default the one that the backbone was trained with, or effnet-lite0.
        freeze_vision: Whether the weights of the picture's backbone stay as they are.
        image_size: Height and width to which pictures are resized, whatever their shape; by default the backbone's own.
        hidden: Width of the layers that join text and pictures; by default the backbone's own, or 512.
        **kwargs: As for :class:`PictureClassifier`.
    """

    auto = AutoModel

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
        self._features = torch.zeros(0, 0)  # by number of the picture
        self._has_features = np.zeros(0, dtype=bool)

    @property
    def description(self) -> str:
        return f"{self.backbone} and {self.vision or VISION}"

    def resizing(self) -> tuple[Resize, tuple[int, int]]:
        self.settings = self._read_settings()
        height, width = self.settings["image_size"]
        how = getattr(Image.Resampling, self.settings["interpolation"].upper())
        return ResizeTo(width, height, how), (height, width)

    def _read_settings(self) -> dict[str, Any]:
        """The config of the network but for its text encoder: of an exported one, or of a new one."""
        file = Path(self.folder) / SETTINGS
        self.trained = file.is_file()
        if self.trained:
            settings = read_json(file)
            if odd := [name for name, is_sound in SOUND.items() if not _holds(is_sound, settings, name)]:
                raise ModelError(f"{file} is damaged: its {odd[0]} cannot be so. Export the model again.")
            self.require_as_many(settings["pictures"])
            self._keep(settings)
            return settings
        self.vision = self.vision or VISION
        name = _architecture(self.vision)
        if not _is_architecture(name):
            raise SettingError(
                f"model.vision {self.vision} is neither {' nor '.join(PACKAGED)} nor a name that timm knows."
            )
        from timm import get_pretrained_cfg

        of_timm = get_pretrained_cfg(name)
        return {
            "architecture": name,
            "image_size": list(self.image_size or of_timm.input_size[1:]),
            "interpolation": of_timm.interpolation,
            "mean": list(of_timm.mean),
            "std": list(of_timm.std),
            "hidden": HIDDEN if self.hidden is None else self.hidden,
            "pictures": self.pictures,
        }

    def _keep(self, learned: dict[str, Any]) -> None:
        """Take the settings of a trained network.

        Raises:
            HeedfulError: The command asks for another one.
        """
        own = {"vision": learned["architecture"]} | {name: learned[name] for name in ("image_size", "hidden")}
        for name, value in own.items():
            asked = getattr(self, name)
            if asked is None:
                setattr(self, name, value)
            elif (_architecture(asked) if name == "vision" else asked) != value:
                raise SettingError(
                    f"model.{name} {asked}: {self.backbone} was trained with {value}, and keeps it. Leave the setting "
                    "out."
                )

    def build(self) -> nn.Module:
        new = has_weights(self.folder) and not self.trained
        config = load(AutoConfig.from_pretrained, self.folder)
        text = (
            load_weights(AutoModel.from_pretrained, self.folder, "new")
            if new
            else AutoModel.from_config(config, dtype=torch.float32, trust_remote_code=False)
        )
        vision = self._vision(new)
        outputs = len(self.config.id2label)
        settings = self.settings
        network = Fusion(text, vision, vision.num_features, settings["pictures"], outputs, settings["hidden"])
        if self.trained and has_weights(self.folder):
            self._load(network)
        vision.requires_grad_(not self.freeze_vision)
        if getattr(text, "pooler", None) is not None:
            text.pooler.requires_grad_(False)  # what it gives is not used
        return network

    def _vision(self, new: bool) -> nn.Module:
        import timm

        name = self.settings["architecture"]
        packaged = PACKAGED.get(self.vision)
        from_hub = new and packaged is None
        try:
            vision = timm.create_model(name, pretrained=from_hub, num_classes=0)
        except Exception as error:
            raise ModelError(
                f"model.vision {name} cannot be loaded ({reason(error)}). Take {' or '.join(PACKAGED)}, which needs "
                "no hub."
            ) from error
        if new and packaged is not None:
            vision.load_state_dict(packaged_weights(self.vision, vision))
        return vision.to(memory_format=torch.channels_last)

    def _load(self, network: Fusion) -> None:
        state = load(lambda folder, **_: load_file(Path(folder) / "model.safetensors"), self.folder)
        require_fit(network, self.backbone, self.head, *difference(network.state_dict(), state), LAST)
        network.load_state_dict(
            {n: v for n, v in state.items() if self.head == "kept" or not n.startswith(LAST)}, strict=False
        )

    def scores(self, inputs: dict[str, Any]) -> Tensor:
        text = {name: values for name, values in inputs.items() if name != "pictures"}
        numbers = inputs["pictures"]
        if self.freeze_vision or not self.training:
            features = self._encoded(numbers.ravel())
        else:
            features = self.network.vision(self._read(numbers.ravel().tolist()))
        return self.network(text, features.view(*numbers.shape, -1))

    def _read(self, numbers: list[int]) -> Tensor:
        pixels = self.processor.store.pixels(numbers)
        values = normalised(pixels, self.settings["mean"], self.settings["std"], next(self.network.vision.parameters()))
        return values.contiguous(memory_format=torch.channels_last)

    def _encoded(self, numbers: np.ndarray) -> Tensor:
        """Features of pictures [pictures, features]; one that is not known yet is encoded alone, so that its features
        do not depend on its company."""
        self._make_room()
        for number in np.unique(numbers[~self._has_features[numbers]]).tolist():
            self._features[number] = self._encode([number])[0]
            self._has_features[number] = True
        return self._features[sent(torch.from_numpy(numbers), self.device)]

    @torch.no_grad()
    def _encode(self, numbers: list[int]) -> Tensor:
        vision = self.network.vision
        was_training = vision.training
        features = vision.eval()(self._read(numbers)).float()  # they are kept: no dropout, no statistics of a batch
        vision.train(was_training)
        return features

    def _make_room(self) -> None:
        self._features = self._features.to(self.device)
        more = len(self.processor.store) - len(self._has_features)
        if more:
            width = self.network.vision.num_features
            self._features = torch.cat([self._features.view(-1, width), self._features.new_zeros(more, width)])
            self._has_features = np.concatenate([self._has_features, np.zeros(more, dtype=bool)])

    def _encode_all(self, numbers: np.ndarray) -> None:
        """Encode pictures that are not known, in batches of this order, of which the processes share the work."""
        self._make_room()
        numbers = numbers[~self._has_features[numbers]]
        if not len(numbers):  # of any process
            return
        features = self._features.new_zeros(len(numbers), self._features.shape[1])
        starts = range(0, len(numbers), BATCH)
        for k in starts[self.trainer.global_rank :: self.trainer.world_size]:
            with self.trainer.precision_plugin.forward_context():
                features[k : k + BATCH] = self._encode(numbers[k : k + BATCH].tolist())
        if self.trainer.world_size > 1:  # all others have zeros in these places
            features = self.trainer.strategy.reduce(features, reduce_op="sum")
        self._features[sent(torch.from_numpy(numbers), self.device)] = features
        self._has_features[numbers] = True

    def _encode_pool(self) -> None:
        """Encode what is evaluated, in the order of contents: in training and in evaluate.py in the same batches."""
        numbers = np.unique(self.processor.picture_numbers(self.trainer.datamodule.pool)).tolist()
        self._encode_all(np.array(sorted(numbers, key=self.processor.store.content), dtype=np.int64))

    def on_train_start(self) -> None:
        super().on_train_start()
        if self.freeze_vision:
            self._encode_pool()
            self._encode_all(np.arange(len(self.processor.store)))

    def on_validation_start(self) -> None:
        super().on_validation_start()
        if not self.freeze_vision:
            self._has_features[:] = False  # the backbone has learned since
            self._share_buffers()
        self._encode_pool()

    def _share_buffers(self) -> None:
        """Have all processes encode with the running statistics of the first, which checkpoints hold.

        In training each process normalises its own batches, and DDP brings them together at the next forward pass only.
        """
        for buffer in self.network.vision.buffers() if self.trainer.world_size > 1 else ():
            torch.distributed.broadcast(buffer, 0)

    def export(self, folder: str, weights: bool) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.config.architectures = [type(self).__name__]
        self.name_parts(self.config)
        self.config.save_pretrained(folder)
        self.processor.tokenizer.save_pretrained(folder)
        write_json(Path(folder) / SETTINGS, self.settings)
        if weights:
            with quiet():
                state = {name: value.contiguous() for name, value in self.network.state_dict().items()}
                save_file(state, Path(folder) / "model.safetensors", {"format": "pt"})
