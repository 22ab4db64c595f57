"""The different inputs that a network was fed, and the batches that they would best have come in."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from heedful.callbacks.engine.experiment import PADDING
from heedful.datamodules.base.sampler import snug_batches


def inputs_of(batches: Sequence[Mapping[str, Tensor]]) -> list[dict[str, Tensor]]:
    """The different inputs among batches, without padding, in the order in which they come: int64 [tokens] each."""
    different: dict[bytes, dict[str, Tensor]] = {}
    for batch in batches:
        names = [name for name in ("input_ids", "token_type_ids") if name in batch]
        for row, mask in enumerate(batch["attention_mask"].bool()):
            one = {name: batch[name][row][mask] for name in names}
            different.setdefault(b"".join(values.numpy().tobytes() for values in one.values()), one)
    return list(different.values())


def batches_of(inputs: Sequence[Mapping[str, Tensor]], batch_size: int, pad_id: int) -> Iterator[dict[str, Tensor]]:
    """Inputs by descending length, in batches."""
    lengths = np.array([len(one["input_ids"]) for one in inputs])
    for batch in snug_batches(lengths, batch_size, PADDING):
        several = {
            name: nn.utils.rnn.pad_sequence(
                [inputs[i][name] for i in batch], True, pad_id if name == "input_ids" else 0
            )
            for name in inputs[0]
        }
        ends = torch.from_numpy(lengths[batch])[:, None]
        yield several | {"attention_mask": (torch.arange(several["input_ids"].shape[1]) < ends).long()}
