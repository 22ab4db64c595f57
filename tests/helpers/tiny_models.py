"""Folders of tiny models with random weights and their tokenizers, made by transformers alone.

The fixtures of tests and the cases of tests/matrix.py share them.
"""

import re
import string
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    BertTokenizer,
    BlipConfig,
    BlipForQuestionAnswering,
    BlipImageProcessorPil,
    BloomConfig,
    GemmaConfig,
    GPT2Config,
    GPTNeoConfig,
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    RobertaTokenizer,
    SwitchTransformersConfig,
    SwitchTransformersForConditionalGeneration,
    T5Config,
    T5ForConditionalGeneration,
    T5Tokenizer,
    ViltConfig,
    ViltForMaskedLM,
    ViltImageProcessorPil,
)

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
CHAT = (
    "{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
CAUSAL_TEXTS = [
    "Premise: A dog runs.\nHypothesis: An animal moves.\nAnswer: Not entailment",
    "Neutral Contradiction",
    "I don't know",
]
CAUSAL_SIZES = SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2}
CAUSAL_SIZES |= {"max_position_embeddings": 2048, "head_dim": 8}
CAUSAL: dict[str, Callable[..., PreTrainedConfig]] = {
    "llama": lambda **ids: LlamaConfig(**CAUSAL_SIZES, **ids),
    "qwen2": lambda **ids: Qwen2Config(**CAUSAL_SIZES, **ids),
    "gemma": lambda **ids: GemmaConfig(**CAUSAL_SIZES, **ids),
    "mistral": lambda **ids: MistralConfig(**CAUSAL_SIZES, **ids),
    "gpt2": lambda **ids: GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=2048, **ids),
    "gpt_neo": lambda **ids: GPTNeoConfig(
        hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], **ids
    ),
    "bloom": lambda **ids: BloomConfig(hidden_size=32, n_layer=2, n_head=4, **ids),
}


def vary_answers(model: Any, tokenizer: Any, texts: list[list[str]], std: float = 3) -> None:
    """Change the weights of a BERT classifier such that it gives each answer to some of these texts (by part)."""
    with torch.no_grad():
        model.bert.embeddings.word_embeddings.weight.mul_(8)
        model.classifier.weight.normal_(std=std)
        scores = model.eval()(**tokenizer(*texts, padding=True, return_tensors="pt")).logits
        model.classifier.bias.sub_(scores.mean(dim=0))


def word_pieces(folder: Path, words: Iterable[str], characters: Iterable[str] = string.ascii_lowercase) -> int:
    """Save a tokenizer that knows these words, and reads other words letter by letter; returns its vocabulary size."""
    characters = [*characters]
    vocab = list(dict.fromkeys([*SPECIAL, *words, *characters]))
    vocab = list(dict.fromkeys([*vocab, *(f"##{c}" for c in characters)]))
    BertTokenizer(vocab={token: i for i, token in enumerate(vocab)}).save_pretrained(folder)
    return len(vocab)


def bert(folder: Path, words: Iterable[str], scale: float = 0.02) -> Path:
    """Save a two-layer BERT without a head; outputs differ more between inputs with a larger ``scale`` of weights."""
    size = word_pieces(folder, words)
    torch.manual_seed(0)
    config = BertConfig(vocab_size=size, max_position_embeddings=128, initializer_range=scale, **SIZES)
    BertModel(config).save_pretrained(folder)
    return folder


def bert_classifier(folder: Path, words: Iterable[str], labels: Iterable[str], seed: int = 0) -> Path:
    """Save a two-layer BERT with a head. Its large weights make predictions depend on all parts."""
    size = word_pieces(folder, words)
    names = dict(enumerate(labels))
    names = {"id2label": names, "label2id": {name: i for i, name in names.items()}}
    torch.manual_seed(seed)
    config = BertConfig(vocab_size=size, max_position_embeddings=128, initializer_range=0.4, **SIZES, **names)
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def vilt(folder: Path, scale: float = 0.1) -> Path:
    """Save a two-layer ViLT with a head for masked words: 32 pixels, patches of 8."""
    words = "is it red green blue yes no the left right picture both are what color shape image in there a ? ."
    size = word_pieces(folder, words.split())
    torch.manual_seed(0)
    config = ViltConfig(vocab_size=size, image_size=32, patch_size=8, initializer_range=scale, **SIZES)
    ViltForMaskedLM(config).save_pretrained(folder)
    ViltImageProcessorPil(size={"shortest_edge": 32}, size_divisor=8).save_pretrained(folder)
    return folder


def blip(folder: Path, scale: float = 0.1) -> Path:
    """Save a two-layer BLIP for question answering, for pictures of 32 x 32.

    As in the released models, two embeddings follow the tokens of the tokenizer: [DEC] and [ENC].
    """
    words = "is there a the what in this it does contain shape color present picture image not any no yes and".split()
    words += "left right red green blue white yellow black gray brown teal circle square triangle rectangle".split()
    size = word_pieces(folder, words, [*string.ascii_lowercase, *string.digits, ".", "?"])
    BlipImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    sizes = SIZES | {"initializer_range": 0.1}  # with the range of released models, all pictures have similar features
    tokens = {"vocab_size": size + 2, "bos_token_id": size, "pad_token_id": 0, "sep_token_id": 3}
    text = sizes | tokens | {"max_position_embeddings": 128}
    torch.manual_seed(0)
    vision = sizes | {"image_size": 32, "patch_size": 8}
    config = BlipConfig(text_config=text, vision_config=vision, initializer_range=3 * scale)
    BlipForQuestionAnswering(config).save_pretrained(folder)
    return folder


def t5(folder: Path, sentences: Iterable[str], scale: float = 1.0) -> Path:
    """A two-layer T5 with a Unigram tokenizer that knows the words of these sentences.

    The pieces are listed, not trained: training a Unigram model gives another vocabulary in each process.
    """
    words = sorted({word for text in sentences for word in re.findall(r"\w+|[^\w\s]", text)})
    letters = ["\u2581", *sorted(set(string.printable.strip()) | {c for word in words for c in word})]
    special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -100.0)]
    pieces = [(f"\u2581{word}", -8.0) for word in words] + [(word, -9.0) for word in words if len(word) > 1]
    tokenizer = T5Tokenizer(extra_ids=0, vocab=[*special, *pieces, *((c, -12.0) for c in letters)])
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=64,
        d_kv=16,
        d_ff=128,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
        initializer_factor=scale,
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def untied_t5(folder: Path, tied: Path) -> Path:
    """Save a T5 1.1, whose output layer has its own weights, with the tokenizer of another T5."""
    tokenizer = AutoTokenizer.from_pretrained(tied)
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0}
    sizes |= {"vocab_size": len(tokenizer), "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
    torch.manual_seed(1)
    network = T5ForConditionalGeneration(T5Config(**sizes))
    network.lm_head.weight = torch.nn.Parameter(torch.randn_like(network.lm_head.weight))
    network.all_tied_weights_keys.pop("lm_head.weight", None)
    for part in (network, tokenizer):
        part.save_pretrained(folder)
    return folder


def switch(folder: Path, t5: Path) -> Path:
    """Save a Switch Transformer with two experts and the tokenizer of a T5."""
    tokenizer = AutoTokenizer.from_pretrained(t5)
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 2}
    sizes |= {"num_experts": 2, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1}
    sizes |= {"vocab_size": len(tokenizer), "decoder_start_token_id": 0}
    torch.manual_seed(0)
    network = SwitchTransformersForConditionalGeneration(SwitchTransformersConfig(**sizes))
    for part in (network, tokenizer):
        part.save_pretrained(folder)
    return folder


def bart(folder: Path, sentences: Sequence[str], positions: int) -> Path:
    """Save a two-layer BART with a byte-level tokenizer that is trained on some sentences."""
    tokenizer = RobertaTokenizer().train_new_from_iterator(sentences, 400, show_progress=False)
    ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "bos", "eos")}
    ids |= {"decoder_start_token_id": tokenizer.eos_token_id}
    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "max_position_embeddings": positions}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_ffn_dim": 64, f"{side}_attention_heads": 2}
    torch.manual_seed(0)
    config = BartConfig(vocab_size=len(tokenizer), **sizes, **ids, forced_eos_token_id=None)
    for part in (BartForConditionalGeneration(config), tokenizer):
        part.save_pretrained(folder)
    return folder


def byte_level(chat: bool = True) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer of some 300 tokens; no token spans two words."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = ["<|begin|>", "<|end|>", "<|user|>", "<|assistant|>", "<|endoftext|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet)
    made.train_from_iterator(CAUSAL_TEXTS, trainer)
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


def causal(folder: Path, kind: str = "llama", chat: bool = True, seed: int = 0) -> Path:
    """Save a two-layer causal language model of a kind, with a byte-level tokenizer."""
    tokenizer = byte_level(chat)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    ids = {"vocab_size": len(tokenizer), "bos_token_id": tokenizer.bos_token_id}
    ids |= {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    AutoModelForCausalLM.from_config(CAUSAL[kind](initializer_range=0.2, **ids)).save_pretrained(folder)
    return folder
