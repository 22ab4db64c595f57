"""Tiny causal language models with byte-level tokenizers, and prompts for them."""

from collections.abc import Callable
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    GemmaConfig,
    GPT2Config,
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
)

from heedful.records import CLASSIFICATION, Example, Task
from heedful.records.prompts.prompt import Prompt
from heedful.records.prompts.wording import Wording

CHAT = (
    "{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
TEXTS = [
    "Premise: A dog runs.\nHypothesis: An animal moves.\nAnswer: Not entailment",
    "Neutral Contradiction",
    "I don't know",
]
SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
SIZES |= {"num_key_value_heads": 2, "max_position_embeddings": 2048, "head_dim": 8}
CONFIGS: dict[str, Callable[..., PreTrainedConfig]] = {
    "llama": lambda **ids: LlamaConfig(**SIZES, **ids),
    "qwen2": lambda **ids: Qwen2Config(**SIZES, **ids),
    "gemma": lambda **ids: GemmaConfig(**SIZES, **ids),
    "mistral": lambda **ids: MistralConfig(**SIZES, **ids),
    "gpt2": lambda **ids: GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=2048, **ids),
}
REFUSED: dict[str, Callable[..., PreTrainedConfig]] = {
    "bloom": lambda **ids: BloomConfig(hidden_size=32, n_layer=2, n_head=4, **ids),
}
TASK = Task(CLASSIFICATION, ("premise", "hypothesis"), ("entailment", "neutral", "contradiction"), "neutral")
WORDING = Wording(
    "Premise: {premise}\nHypothesis: {hypothesis}\nAnswer:",
    "Say what follows.",
    {"entailment": "Entailment", "neutral": "Neutral", "contradiction": "Not entailment"},
)


def tokenizer(chat: bool = True) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer of some 300 tokens, which joins no letters of different words."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = ["<|begin|>", "<|end|>", "<|user|>", "<|assistant|>", "<|endoftext|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet)
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token="<|begin|>",
        eos_token="<|end|>",
        pad_token="<|end|>",
        clean_up_tokenization_spaces=False,
    )
    if chat:
        fast.chat_template = CHAT
    return fast


def save(folder: Path, kind: str = "llama", chat: bool = True, seed: int = 0) -> Path:
    """A folder with a random model of a kind and its tokenizer."""
    own = tokenizer(chat)
    own.save_pretrained(folder)
    torch.manual_seed(seed)
    ids = {"vocab_size": len(own), "bos_token_id": own.bos_token_id, "eos_token_id": own.eos_token_id}
    config = (CONFIGS | REFUSED)[kind](pad_token_id=own.pad_token_id, initializer_range=0.2, **ids)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


def prompt(demonstrations: int = 2, wording: Wording = WORDING, task: Task = TASK) -> Prompt:
    """A prompt with some demonstrations."""
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
