"""Predict a batch in halves if the memory of the device cannot hold the whole batch."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import torch

from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.predictor import Batch, Predictor
from heedful.records import ModelError, inform

HALVED = "halved"  # kind of counts


def predict_within_memory(
    predictor: Predictor, predict: Callable[[Batch], Outputs | None], batch: Batch
) -> Outputs | None:
    """Return the predictions for a batch, in two halves if the device runs out of memory.

    Halved batches are counted; the first one in an evaluation is logged. The count is in results.json, since the
    probabilities in a half differ in their last bits.

    Args:
        predictor: The model.
        predict: Predicts a batch.
        batch: The batch, as for :meth:`Predictor.predict`.

    Raises:
        ModelError: Memory cannot hold half of the batch, or its inputs cannot be divided.
    """
    size = batch["size"]
    try:
        return predict(batch)
    except torch.OutOfMemoryError as error:
        if not (halves := halved(batch["inputs"], size)):
            raise _too_large(size) from error
    # outside of the handler, whose exception keeps the tensors of the failed pass alive
    if not any(kind == HALVED for kind, _ in predictor.counted):
        inform(f"The memory of the device cannot hold a batch of {size} examples: such batches are halved.")
    predictor.count(HALVED, [str(size)])
    try:
        return _joined([predictor.answer(inputs) for inputs in halves])
    except torch.OutOfMemoryError as error:
        raise _too_large(size // 2) from error


def halved(inputs: Mapping[str, Any], size: int) -> list[dict[str, Any]]:
    """Divide the inputs of a batch of ``size`` examples into two halves.

    Returns:
        The inputs of both halves. No halves for one example, or if an entry of the inputs is not one value per example.
    """
    are_by_example = all(not isinstance(values, Mapping) and len(values) == size for values in inputs.values())
    if size < 2 or not are_by_example:
        return []
    cuts = slice(0, size // 2), slice(size // 2, size)
    return [{name: values[cut] for name, values in inputs.items()} for cut in cuts]


def _joined(halves: Sequence[Outputs]) -> Outputs:
    def concatenate(columns: Sequence[Any]) -> Any:
        if columns[0] is None:
            return None
        return torch.cat([*columns]) if isinstance(columns[0], torch.Tensor) else [*chain(*columns)]

    return Outputs(*map(concatenate, zip(*halves, strict=True)))


def _too_large(size: int) -> ModelError:
    return ModelError(
        f"The memory of the device cannot hold a batch of {size} examples. Lower data.eval_tokens or "
        "data.eval_batch_size."
    )
