"""Integrated gradients over the embeddings of tokens (Sundararajan et al. 2017)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from heedful.lightning_modules.outputs import Scale
from heedful.lightning_modules.pretrained import reason
from heedful.lightning_modules.processors.pictures import copy_to_device
from heedful.records import ModelError

if TYPE_CHECKING:
    from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier


def integrated_gradients(
    module: "PretrainedClassifier",
    inputs: Mapping[str, Tensor],
    baseline: Tensor,
    labels: Tensor,
    steps: int,
    at_once: int,
    scale: Scale = "probability",
) -> Tensor:
    """Compute how much each token contributes to the probability of a label, by integrated gradients.

    Args:
        module: A model that reads texts, in eval mode.
        inputs: Output of the model's processor: ``input_ids`` int64 [inputs, tokens], masks and token types.
        baseline: The token ids at the start of the path, which is straight between embeddings: int64 [inputs, tokens].
        labels: Indices of the labels whose probability is explained: int64 [inputs].
        steps: Number of points of the Gauss-Legendre rule, each a forward and backward pass.
        at_once: Largest number of inputs per pass.
        scale: What to explain: "probability", or "logit" for the log-odds of the probability.

    Returns:
        float64 [inputs, tokens], on the host; the sum over tokens approximates by how much the probability (or its
        log-odds) is higher for the input than for the baseline.

    Raises:
        HeedfulError: The model does not take embeddings in place of ids.
    """
    # with few steps, the Gauss-Legendre rule is far closer to the integral than equal steps
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    # the inputs come from inference mode, whose tensors cannot have gradients: copy them
    with torch.inference_mode(False), torch.enable_grad(), _frozen(module):
        tensors = {name: values.clone() for name, values in inputs.items()}
        with torch.no_grad():
            end, start = module.embeddings(tensors.pop("input_ids")), module.embeddings(baseline.clone())
        total = torch.zeros_like(end)
        step = max(1, at_once // len(end))
        rule = torch.tensor(np.stack([(nodes + 1) / 2, weights / 2]), dtype=end.dtype)
        for at, weight in copy_to_device(rule, end.device).split(step, dim=1):
            points = (start + at[:, None, None, None] * (end - start)).flatten(0, 1).requires_grad_()
            repeated = {name: values.repeat(len(at), *[1] * (values.dim() - 1)) for name, values in tensors.items()}
            try:
                scores = module.logits({"inputs_embeds": points, **repeated})
            except (NotImplementedError, TypeError, ValueError) as error:
                raise ModelError(
                    f"attributions.methods gradients: {module.description} takes no embeddings ({reason(error)}). "
                    "Leave gradients out."
                ) from error
            (gradient,) = torch.autograd.grad(label_probability(scores, labels.repeat(len(at)), scale).sum(), points)
            total += torch.einsum("k,kntw->ntw", weight, gradient.unflatten(0, (len(at), len(end))))
        return ((end - start) * total).cpu().double().sum(dim=-1)  # some devices lack float64


def label_probability(scores: Tensor, labels: Tensor, scale: Scale) -> Tensor:
    """Compute the probability of one label per input, or its log-odds ("logit"): float32 [inputs].

    Args:
        scores: float [inputs, labels].
        labels: Index of the label per input: int64 [inputs].
        scale: "probability" or "logit".
    """
    log_probs = scores.float().log_softmax(dim=-1)
    log_p = log_probs.gather(1, labels[:, None])
    if scale == "probability":
        return log_p[:, 0].exp()
    # log(1 - p) would be -inf where p rounds to 1
    log_rest = log_probs.scatter(1, labels[:, None], -torch.inf).logsumexp(dim=-1)
    return log_p[:, 0] - log_rest


@contextmanager
def _frozen(module: "PretrainedClassifier") -> Iterator[None]:
    """Context manager in which the weights of a model need no gradients."""
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    module.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in trained:
            parameter.requires_grad_()
