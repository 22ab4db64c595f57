"""Attention of encoders on a GPU without a wait in each batch.

Before the attention "sdpa" of transformers, the host checks whether a batch has padding, since attention without a mask
is slightly faster. For the check, the host waits until the device has computed all earlier batches.
"""

from typing import Any

from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from heedful.lightning_modules.lightning_internals import uses_sdpa

UNCHECKED = "heedful_sdpa"


def unchecked_mask(*sizes: Any, attention_mask: Tensor | None = None, **settings: Any) -> Tensor | None:
    """Return the mask of "sdpa", also for a batch without padding, unless the batch is on the CPU."""
    if attention_mask is not None and attention_mask.device.type != "cpu":
        settings |= {"allow_is_bidirectional_skip": False, "allow_is_causal_skip": False}
    return sdpa_mask(*sizes, attention_mask=attention_mask, **settings)


AttentionInterface.register(UNCHECKED, sdpa_attention_forward)
AttentionMaskInterface.register(UNCHECKED, unchecked_mask)


def avoid_checks(network: PreTrainedModel) -> None:
    """Replace the attention "sdpa" of a network by one without checks; a CPU computes the same."""
    if uses_sdpa(network):
        network.set_attn_implementation(UNCHECKED)
