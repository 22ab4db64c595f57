"""Load LoRA adapters in the format of peft, and merge them into a network."""

from pathlib import Path
from typing import Any

from torch import nn

from heedful.lightning_modules.pretrained.backbones import load
from heedful.lightning_modules.pretrained.misfits import first_names
from heedful.records import ModelError, RunError


def with_adapter(network: nn.Module, folder: str) -> nn.Module:
    """Return a network with a LoRA adapter merged into its weights.

    Args:
        network: The network that the adapter was trained for.
        folder: A folder in the format of peft, or a hub id; from a folder, only safetensors are read.

    Raises:
        HeedfulError: peft is not installed, or the adapter does not fit.
    """
    try:
        from peft import PeftConfig, PeftModel
    except ImportError:
        raise RunError("model.adapter needs the package peft. Install it with pip install peft.") from None
    path = Path(folder)
    if path.is_dir() and not (path / "adapter_model.safetensors").is_file():
        raise ModelError(f"model.adapter {folder} has no adapter_model.safetensors. Save it so with peft.")

    def adapted(name: str, **_: Any) -> nn.Module:
        model = PeftModel(network, PeftConfig.from_pretrained(name))
        if missing := model.load_adapter(name, "default").missing_keys:  # peft would ignore them
            raise ModelError(
                f"model.adapter {folder} lacks {first_names(missing)}. Take the adapter that was trained for this "
                "model."
            )
        return model

    return load(adapted, folder, "model.adapter").merge_and_unload()
