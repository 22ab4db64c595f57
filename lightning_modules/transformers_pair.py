"""A transformers model in memory and its tokenizer, measured without Lightning and without a copy."""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PretrainedConfig

from heedful.lightning_modules.learned import Learned, mismatch, names_of_outputs
from heedful.lightning_modules.outputs import Outputs, most_probable
from heedful.lightning_modules.predictor import Capabilities, Predictor
from heedful.lightning_modules.pretrained import is_of_memory, positions_of, reason
from heedful.lightning_modules.pretrained_classifier import require_one_of_several
from heedful.lightning_modules.processors.numbers import texts_of
from heedful.lightning_modules.processors.processor import NO_HIDING_IN_MEMORY, Processor, Statistics
from heedful.records import (
    CLASSIFICATION,
    SOFT,
    Composed,
    Example,
    Examples,
    HeedfulError,
    ModelError,
    SettingError,
    Task,
    column,
    digests,
)
from heedful.records.example import TableForm
from heedful.records.messages import warn
from heedful.records.storage.schema import ENTRY
from heedful.records.text import percent

PIECE = 512  # pairs per call of the tokenizer
LONGEST = 10**6  # a larger model_max_length means no limit
# per example: number of tokens, 64-bit hash of the unpadded ids, whether it was truncated, number of tokens out of
# vocabulary, and number of tokens that are not special
ENCODING = np.dtype([("tokens", "i4"), ("hash", "u8"), ("is_cut", "?"), ("unknown", "i8"), ("words", "i8")])
CALL = {"truncation": True, "padding": True, "return_tensors": "pt"}  # usual arguments of the tokenizer
INPUTS = ("input_ids", "token_type_ids")  # entries of an encoding that are hashed; the others concern padding


@contextmanager
def restored_generators() -> Iterator[None]:
    """Context manager that restores the global random generators of Python, numpy, torch and CUDA."""
    of_python, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    try:
        with torch.random.fork_rng(devices):
            yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)  # noqa: NPY002


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Context manager that puts a model into evaluation mode, and finally restores the mode of each of its modules."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@contextmanager
def _explained(name: str, settings: Mapping[str, Any]) -> Iterator[None]:
    """Context manager that converts exceptions of a user's model or tokenizer to a ``ModelError``, unless memory ran
    out; ``settings`` are the arguments of the tokenizer.
    """
    try:
        yield
    except HeedfulError:
        raise
    except Exception as error:
        if is_of_memory(error):
            raise
        call = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        raise ModelError(
            f"{name} raised {type(error).__name__} ({reason(error)}). It is called as model(**tokenizer(first, second, "
            f"{call})); for another call give a function."
        ) from error


class PairProcessor(Processor):
    """Encodes examples by calling a user's tokenizer on one or two parts.

    Args:
        tokenizer: The tokenizer.
        parts: Names of the parts, in reading order.
        form: Format of tables as text.
        positions: Number of positions of the model; None without a limit.
        settings: Arguments of the tokenizer that replace the usual ones, such as ``max_length``.

    Attributes:
        most: Largest number of tokens of an input; None without a limit.
        settings: All arguments of the tokenizer.
    """

    no_hiding = NO_HIDING_IN_MEMORY

    def __init__(
        self,
        tokenizer: Any,
        parts: Sequence[str],
        form: TableForm,
        positions: int | None,
        settings: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._tokenizer, self._parts, self._form = tokenizer, parts, form
        limit = getattr(tokenizer, "model_max_length", None)
        limits = (settings.get("max_length") or limit, positions)
        self.most = min((most for most in limits if most is not None and most < LONGEST), default=None)
        self.settings = {**CALL, **settings, "padding": settings.get("padding") or True}
        if self.most not in (None, limit) or "max_length" in settings:
            self.settings["max_length"] = self.most
        self._encodings: WeakKeyDictionary[Sequence[Example], np.ndarray] = WeakKeyDictionary()

    def tokens(self, texts: Sequence[list[str]], **settings: Any) -> Mapping[str, Any]:
        """Call the tokenizer on the texts of examples, a list per part; ``settings`` replace :attr:`settings`."""
        with _explained(type(self._tokenizer).__name__, self.settings):
            return self._tokenizer(*texts, **self.settings | settings)

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        return self.encodings(examples)["tokens"]

    def fingerprints(self, examples: Sequence[Example]) -> np.ndarray:
        return self.encodings(examples)["hash"]

    def statistics(self, examples: Sequence[Example]) -> Statistics:
        read = self.encodings(examples)
        return Statistics(int(read["is_cut"].sum()), int(read["unknown"].sum()) / max(1, int(read["words"].sum())))

    def __call__(self, examples: Sequence[Example]) -> dict[str, Any]:
        """Return the texts of examples, ``texts``: a list per part."""
        rows = zip(*(column(examples, f"parts.{part}") for part in self._parts), strict=True)
        return {"texts": [[*texts] for texts in zip(*(texts_of(row, self._form) for row in rows), strict=True)]}

    def encodings(self, examples: Sequence[Example]) -> np.ndarray:
        """Return a hash and token counts for each example, with the dtype ``ENCODING``; cached except for lists."""
        if isinstance(examples, Composed) and not (examples.lenders or len(examples.extra)):
            return self.encodings(examples.pool)[examples.positions]
        if not isinstance(examples, Examples | Composed):
            examples = Examples.of(examples)
        if examples not in self._encodings:
            texts = self(examples)["texts"]
            starts = range(0, len(examples), PIECE)
            pieces = [self._read([of_part[start : start + PIECE] for of_part in texts]) for start in starts]
            self._encodings[examples] = np.concatenate([np.zeros(0, ENCODING), *pieces])
        return self._encodings[examples]

    def _read(self, texts: Sequence[list[str]]) -> np.ndarray:
        unpadded = {"padding": False, "return_tensors": None}
        encoded = self.tokens(texts, **unpadded)
        ids = encoded["input_ids"]
        read = np.zeros(len(ids), ENCODING)
        read["tokens"] = [*map(len, ids)]
        rows = zip(*(encoded[name] for name in INPUTS if name in encoded), strict=True)
        read["hash"] = digests(np.array(row, np.int64).tobytes() for row in rows)
        is_cut = read["tokens"] == (self.most or -1)
        if self.most is not None and is_cut.any():
            longest = [[part[i] for i in np.flatnonzero(is_cut)] for part in texts]
            long = self.tokens(longest, truncation=False, **unpadded)
            is_cut[is_cut] = [len(tokens) > self.most for tokens in long["input_ids"]]
        read["is_cut"] = is_cut
        flat = np.fromiter(chain.from_iterable(ids), np.int64)
        is_unknown = flat == (-1 if (number := getattr(self._tokenizer, "unk_token_id", None)) is None else number)
        is_word = is_unknown | ~np.isin(flat, list(getattr(self._tokenizer, "all_special_ids", ())))
        example = np.repeat(np.arange(len(ids)), read["tokens"])
        for name, mask in (("unknown", is_unknown), ("words", is_word)):
            read[name] = np.bincount(example[mask], minlength=len(ids))
        return read


class TransformersPair(Predictor):
    """A transformers model in memory with its tokenizer, called as ``model(**tokenizer(first, second, ...))``.

    The model is neither copied nor moved, and keeps its dtype. Hooks, a patched ``forward`` and settings of the
    tokenizer take effect. Predict within :func:`evaluating`.

    Args:
        model: The model, which returns ``logits`` with one score for each label. For ``torch.nn.DataParallel``, the
            wrapped model is called.
        tokenizer: Called with the texts of an example.
        labels: Names of the outputs in order, if the config of the model has none.
        settings: Arguments of the tokenizer that replace the usual ones, such as ``{"max_length": 128}``.

    Raises:
        HeedfulError: The model has no weights, or writes texts.

    Attributes:
        network: The model itself.
    """

    capabilities = Capabilities(in_memory=True)
    processor: PairProcessor

    # Any: no file can name them
    def __init__(self, model: Any, tokenizer: Any, labels: Any = None, settings: Any = None) -> None:
        super().__init__()
        if not isinstance(model, nn.Module):
            raise SettingError(
                f"model.model {model!r} is not a model: it was in the memory of a Python program. Measure it with "
                "heedful.measure."
            )
        wrappers = nn.DataParallel | nn.parallel.DistributedDataParallel
        self.network: Any = model.module if isinstance(model, wrappers) else model
        self._tokenizer = tokenizer
        self._settings = settings or {}
        config = getattr(self.network, "config", None)
        self._config = config if isinstance(config, PretrainedConfig) else PretrainedConfig(id2label={})
        numbered = (self._config.id2label or {}).values()
        outputs = tuple(labels or names_of_outputs(self._config.to_dict()) or numbered)
        self.learned = replace(Learned().updated(getattr(self._config, ENTRY, {})), labels=outputs, texts=())
        if not hasattr(self.network, "hf_device_map") and any(weights.is_meta for weights in self._tensors()):
            raise ModelError(f"{self.description} is on the device meta, without weights. Load them first.")
        if getattr(self.network, "can_generate", bool)():
            raise ModelError(
                f"{self.description} writes texts, and has no output for each label. Save model and tokenizer with "
                "save_pretrained and give the folder, or give a function that returns the labels it writes."
            )

    def require_known(self, statistics: Statistics, examples: str) -> None:
        """Warn if the share of tokens that are out of vocabulary is above ``max_unknown``."""
        if statistics.unknown > self.max_unknown:
            share = percent(statistics.unknown)
            warn(f"{share} of the tokens of {examples} are unknown to the tokenizer. Does it belong to the model?")

    def _tensors(self) -> Iterator[Tensor]:
        return chain(self.network.parameters(), self.network.buffers())

    @property
    def description(self) -> str:
        return Path(str(self._config.name_or_path or "")).name or type(self.network).__name__

    def prepare(self, task: Task) -> None:
        if task.kind not in (CLASSIFICATION, SOFT):
            raise ModelError(
                f"(model, tokenizer) is measured on labels, and the data have the kind {task.kind}. Save both with "
                "save_pretrained, and give the folder."
            )
        if len(task.parts) > 2:
            raise ModelError(
                f"A tokenizer pairs two parts, and the data have {len(task.parts)}: {', '.join(task.parts)}. Name two, "
                "or give a function."
            )
        if task.kind.exclusive:
            require_one_of_several(self._config, self.description)
        if not self.learned.labels:
            raise SettingError(f"{self.description} does not name its outputs. Name them in their order: labels=[...].")
        if not self.fit.is_kept:
            raise ModelError(mismatch(self.learned, task.labels, "labels"))
        self.fit.label_map.inform_merged(self.description)
        positions = positions_of(self._config)
        self.processor = PairProcessor(self._tokenizer, task.parts, task.form, positions, self._settings)

    @property
    def device(self) -> torch.device:
        """The device of the first weights that are not on the device "meta"; the CPU if there are none."""
        return next((tensor.device for tensor in self._tensors() if not tensor.is_meta), torch.device("cpu"))

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        texts = inputs["texts"]
        encoded = self.processor.tokens(texts)
        # a module may keep tensors, and could not train on tensors of inference mode
        explained = _explained(type(self.network).__name__, self.processor.settings)
        with explained, torch.inference_mode(False), torch.no_grad():
            logits = self.network(**{name: values.to(self.device) for name, values in encoded.items()}).logits
        outputs = len(self.fit.label_map.outputs)
        if logits.shape != (len(texts[0]), outputs):
            raise ModelError(
                f"The logits of {type(self.network).__name__} for {len(texts[0])} inputs have the shape "
                f"{list(logits.shape)}, and there are {outputs} labels. Give a model for sequence "
                "classification, or a function."
            )
        meaning = torch.tensor(self.fit.label_map.column, device=logits.device)
        if not self.task.kind.exclusive:
            best = most_probable(logits)
            return Outputs(answers=meaning[best].where(best >= 0, best))
        probs = logits.float().softmax(dim=-1)
        return Outputs(probs.new_zeros(len(probs), len(self.task.labels)).index_add_(1, meaning, probs))
