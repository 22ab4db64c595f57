"""Tiny causal language models with byte-level tokenizers, and prompts for them."""

from tiny_models import CAUSAL
from tiny_models import byte_level as tokenizer  # noqa: F401
from tiny_models import causal as save  # noqa: F401

from heedful.records import CLASSIFICATION, Example, Task
from heedful.records.prompts import Prompt, Wording

REFUSED = {"bloom": CAUSAL["bloom"]}
CONFIGS = {kind: config for kind, config in CAUSAL.items() if kind not in REFUSED}
TASK = Task(CLASSIFICATION, ("premise", "hypothesis"), ("entailment", "neutral", "contradiction"), "neutral")
WORDING = Wording(
    "Premise: {premise}\nHypothesis: {hypothesis}\nAnswer:",
    "Say what follows.",
    {"entailment": "Entailment", "neutral": "Neutral", "contradiction": "Not entailment"},
)


def prompt(demonstrations: int = 2, wording: Wording = WORDING, task: Task = TASK) -> Prompt:
    """A prompt with the first demonstrations of a fixed list."""
    shown = [
        Example(f"d/{i}", {"premise": f"It rains {i} times.", "hypothesis": "It is wet."}, task.labels[i % 3])
        for i in range(demonstrations)
    ]
    return Prompt(wording, task, tuple(shown), "paper")


EXAMPLES = [
    Example("e/0", {"premise": "A dog runs in the park.", "hypothesis": "An animal moves."}, "entailment"),
    Example("e/1", {"premise": "It rains.", "hypothesis": "A cat sleeps on the red sofa of the old woman."}, "neutral"),
    Example("e/2", {"premise": "", "hypothesis": "?"}, "neutral"),
    Example("e/3", {"premise": "Nobody came to the feast.\nNot one.", "hypothesis": "All came."}, "contradiction"),
]
