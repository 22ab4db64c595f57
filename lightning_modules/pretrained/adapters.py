"""LoRA adapters: small weights beside those of a published model."""

import warnings
from pathlib import Path
from typing import Any

from torch import nn

from heedful.lightning_modules.pretrained.backbones import load
from heedful.records import HeedfulError


def with_adapter(network: nn.Module, folder: str) -> nn.Module:
    """Add the weights of an adapter to those of a network.

    Args:
        network: The network that it was trained for.
        folder: A folder as peft saves it, or a hub id; of a folder safetensors alone are read.

    Raises:
        HeedfulError: peft is not installed, or the adapter does not fit.
    """
    try:
        from peft import PeftModel
    except ImportError:
        raise HeedfulError("§model.adapter needs the package peft: pip install peft.") from None
    path = Path(folder)
    if path.is_dir() and not (path / "adapter_model.safetensors").is_file():
        raise HeedfulError(f"§model.adapter {folder} holds no adapter_model.safetensors, as peft saves it.")

    def adapted(name: str, **_: Any) -> nn.Module:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", ".*missing adapter keys", UserWarning)
            try:
                return PeftModel.from_pretrained(network, name)
            except UserWarning:  # peft would go on with what is not there
                raise HeedfulError(
                    f"§model.adapter {folder} holds no tensors for some of the weights that its configuration names: "
                    "it was trained for another model, or saved in another form."
                ) from None

    return load(adapted, folder).merge_and_unload()
