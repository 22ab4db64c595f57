"""Attributions as users of shap, lime and captum get them: each package as its own documentation shows it.

A pair is one text to shap and lime, its parts joined with the separator token, which the tokenizer reads back as that
token. All tokens then have the type of the first part.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase, pipeline

PACKAGES = ("shap", "captum", "lime")  # imported where they are called, so that --help needs none of them
Explain = Callable[[Sequence[str]], None]
Inputs = Mapping[str, Tensor]


def joined(tokenizer: PreTrainedTokenizerBase, parts: Sequence[str]) -> str:
    """The parts of an example as one text, with the separator token between them."""
    return f" {tokenizer.sep_token or tokenizer.eos_token} ".join(parts)


def batched_function(
    network: nn.Module, tokenizer: PreTrainedTokenizerBase, batch_size: int, max_length: int
) -> Callable[[Sequence[str]], np.ndarray]:
    """Texts to probabilities, float32 [texts, labels], as one writes it for lime: each batch padded to its longest."""

    @torch.inference_mode()
    def predict(texts: Sequence[str]) -> np.ndarray:
        probs = []
        for begin in range(0, len(texts), batch_size):
            some = list(texts[begin : begin + batch_size])
            given = tokenizer(some, padding=True, truncation=True, max_length=max_length, return_tensors="pt")
            probs.append(network(**given).logits.softmax(dim=-1))
        return torch.cat(probs).numpy()

    return predict


def with_shap(network: nn.Module, tokenizer: PreTrainedTokenizerBase, samples: int) -> Explain:
    """``shap.Explainer(pipeline)``: Owen values by the Partition explainer, of all labels."""
    import shap

    classify = pipeline("text-classification", model=network, tokenizer=tokenizer, top_k=None, device="cpu")
    explainer = shap.Explainer(classify)

    def explain(texts: Sequence[str]) -> None:
        explainer(list(texts), max_evals=samples, silent=True)

    return explain


def with_lime(predict: Callable[[Sequence[str]], np.ndarray], labels: Sequence[str], samples: int) -> Explain:
    """``LimeTextExplainer().explain_instance`` for the most probable label."""
    from lime.lime_text import LimeTextExplainer

    explainer = LimeTextExplainer(class_names=list(labels), random_state=0)

    def explain(texts: Sequence[str]) -> None:
        for text in texts:
            explainer.explain_instance(text, predict, top_labels=1, num_samples=samples)

    return explain


def with_captum(
    network: nn.Module, steps: int, internal_batch_size: int
) -> Callable[[Sequence[Inputs], Sequence[Tensor], Sequence[int]], list[Tensor]]:
    """``LayerIntegratedGradients`` over the word embeddings, one example after the other: float [1, tokens] each.

    Its arguments are the inputs of each example, the ids that the way begins at, int64 [1, tokens], and the output
    that is explained.
    """

    from captum.attr import LayerIntegratedGradients

    def probabilities(input_ids: Tensor, *beside: Tensor) -> Tensor:
        names = ("attention_mask", "token_type_ids")[: len(beside)]
        given = dict(zip(names, beside, strict=True))
        return network(input_ids=input_ids, **given).logits.softmax(dim=-1)

    explainer = LayerIntegratedGradients(probabilities, network.get_input_embeddings())

    def explain(inputs: Sequence[Inputs], baselines: Sequence[Tensor], outputs: Sequence[int]) -> list[Tensor]:
        attributed = []
        for given, baseline, output in zip(inputs, baselines, outputs, strict=True):
            beside = tuple(given[name] for name in ("attention_mask", "token_type_ids") if name in given)
            of = explainer.attribute(
                given["input_ids"],
                baseline,
                target=output,
                additional_forward_args=beside,
                n_steps=steps,
                internal_batch_size=internal_batch_size,
            )
            attributed.append(of.sum(dim=-1).detach())
        return attributed

    return explain
