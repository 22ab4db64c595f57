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

    The gradients are integrated along the straight path from the embeddings of a baseline to the embeddings of the
    inputs, by the Gauss-Legendre rule with ``steps`` points; each point takes a forward and a backward pass.

    Args:
        module: A model that reads texts, in eval mode.
        inputs: Output of the model's processor: ``input_ids`` int64 [inputs, tokens], masks and token types.
        baseline: The token ids at the start of the path: int64 [inputs, tokens].
        labels: Indices of the labels whose probability is explained: int64 [inputs].
        steps: Number of points of the path.
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
        embed = module.embeddings
        with torch.no_grad():
            end = embed(tensors.pop("input_ids"))
            start = embed(baseline.clone())
        total = torch.zeros_like(end)
        n = len(end)
        step = max(1, at_once // len(end))
        points = copy_to_device(torch.tensor((nodes + 1) / 2, dtype=end.dtype), end.device).split(step)
        shares = copy_to_device(torch.tensor(weights / 2, dtype=end.dtype), end.device).split(step)
        for at, weight in zip(points, shares, strict=True):
            way = (start + at[:, None, None, None] * (end - start)).flatten(0, 1).requires_grad_()
            beside = {name: values.repeat(len(at), *[1] * (values.dim() - 1)) for name, values in tensors.items()}
            scores = _scores(module, {"inputs_embeds": way, **beside})
            (gradient,) = torch.autograd.grad(label_probability(scores, labels.repeat(len(at)), scale).sum(), way)
            total += torch.einsum("k,kntw->ntw", weight, gradient.view(len(at), n, *gradient.shape[1:]))
        added = ((end - start) * total).cpu()  # some devices lack float64
        return added.double().sum(dim=-1).detach()


def label_probability(scores: Tensor, labels: Tensor, scale: Scale) -> Tensor:
    """Compute the probability of one label per input, or its log-odds, from the scores of all labels: float32 [inputs].

    Args:
        scores: float [inputs, labels].
        labels: Index of the label per input: int64 [inputs].
        scale: What to return: "probability", or "logit" for the log-odds of the probability.
    """
    log_probs = scores.float().log_softmax(dim=-1)
    log_p = log_probs.gather(1, labels[:, None])
    if scale == "probability":
        return log_p[:, 0].exp()
    # log(1 - p) would be -inf where p rounds to 1
    log_rest = log_probs.scatter(1, labels[:, None], -torch.inf).logsumexp(dim=-1)
    return log_p[:, 0] - log_rest


def _scores(module: "PretrainedClassifier", inputs: dict[str, Tensor]) -> Tensor:
    try:
        return module.logits(inputs)
    except (NotImplementedError, TypeError, ValueError) as error:
        raise ModelError(
            f"attributions.methods gradients: {module.description} takes no embeddings ({reason(error)}). Leave "
            "gradients out."
        ) from error


@contextmanager
def _frozen(module: "PretrainedClassifier") -> Iterator[None]:
    """Context manager in which the weights of a model need no gradients."""
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    for parameter in trained:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in trained:
            parameter.requires_grad_(True)
