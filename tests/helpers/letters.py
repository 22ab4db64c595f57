"""Examples whose words are letters, and models with known attributions."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import torch
from torch import Tensor, nn

from heedful.callbacks import EvaluationCallback
from heedful.datamodules import PairedData
from heedful.lightning_modules import Encoder
from heedful.records import Example, Examples

LABELS = ("entailment", "neutral", "contradiction")
PAIRS = (
    ("a b z", "c"),
    ("a", "b z d e"),
    ("z a c e g", "b d"),
    ("f g", "a b c d e z"),
    ("b c d e f a g h", "z"),
    ("h a z b", "h g f e d c"),
)  # pairs of different lengths, each with one z
METHODS = {"lime", "shap", "owen", "gradients"}


class Letters(PairedData):
    """Pairs of letters, or only the first text of each pair; the gold labels alternate."""

    def __init__(self, pairs=PAIRS, parts=("premise", "hypothesis"), swap=(), **settings):
        super().__init__("letters", parts, LABELS, swap=list(swap), **settings)
        self.pairs = pairs

    def load(self, split):
        return Examples.of(
            [
                Example(f"letters/{i}", dict(zip(self.full_task.parts, pair, strict=False)), LABELS[i % 3], {})
                for i, pair in enumerate(self.pairs)
            ]
        )


class Reads(nn.Module):
    """A network whose first logit is ``gain`` times the number of occurrences of a token; other logits are 0.

    Attributes:
        seen: Counts the inputs, as tuples of token ids without padding.
    """

    def __init__(self, tokens: int, token: int, gain: float = 2.0) -> None:
        super().__init__()
        self.embedding, self.gain, self.seen = nn.Embedding(tokens, 1), gain, Counter()
        with torch.no_grad():
            self.embedding.weight.zero_()[token] = 1

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def forward(
        self,
        attention_mask: Tensor,
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        token_type_ids: Tensor | None = None,
    ) -> SimpleNamespace:
        if input_ids is not None:
            self.seen.update(
                tuple(ids[mask.bool()].tolist()) for ids, mask in zip(input_ids, attention_mask, strict=True)
            )
            inputs_embeds = self.embedding(input_ids)
        scores = self.gain * (inputs_embeds[..., 0] * attention_mask).sum(dim=1)
        return SimpleNamespace(logits=torch.stack([scores, 0 * scores, 0 * scores], dim=-1))


def reader(folder: Path, data: PairedData, word: str = "z") -> Encoder:
    """An encoder, with the tokenizer of a folder, that reads only one word."""
    module = Encoder(str(folder), max_length=64)
    module.bind(data.task)
    tokenizer = module.processor.tokenizer
    module.network = Reads(len(tokenizer), tokenizer.convert_tokens_to_ids(word))
    return module


def random(kind: type, folder: Path, data: PairedData, times: float = 4.0, **settings: object) -> Encoder:
    """A model with random weights times ``times``, without which the model would be nearly linear."""
    torch.manual_seed(0)
    module = kind(str(folder), max_length=64, **settings)
    module.bind(data.task)
    module.configure_model()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(times)
    return module


def rows_of(engine: EvaluationCallback) -> list[dict]:
    """The rows of attributions."""
    return engine.rows["attributions"][0].to_pylist()


def by_example(engine: EvaluationCallback) -> dict[tuple[str, str, str], list[dict]]:
    """Map (uid, method, variant) to the rows of one explanation."""
    several: dict[tuple[str, str, str], list[dict]] = {}
    for row in rows_of(engine):
        several.setdefault((row["uid"], row["intervention"], row["variant"]), []).append(row)
    return several
