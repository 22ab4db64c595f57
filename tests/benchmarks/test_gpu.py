"""The GPU benchmark runs completely on the CPU with tiny models, and counts what each variant computes."""

from pathlib import Path

import pytest
import torch
import transformers

from benchmarks import gpu, gpu_variants, harness
from heedful.records import read_json

SIZES = {"vocab_size": 50, "max_position_embeddings": 20, **harness.SMALL}


@pytest.fixture
def bert() -> transformers.BertForSequenceClassification:
    return transformers.BertForSequenceClassification(transformers.BertConfig(**SIZES))


@pytest.mark.slow
def test_all_groups_run_on_generated_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    pytest.importorskip("accelerate")
    monkeypatch.delenv("HEEDFUL_DATA", raising=False)
    threads = ["--threads", str(torch.get_num_threads())]
    arguments = ["--smoke", "--minutes", "60", "--model", "roberta-large", "causal", "--peak", "100", *threads]
    result = gpu.main([*arguments, "--output", str(tmp_path / "result.json")])
    groups = result["groups"]
    encoders = ["fp32, evaluation", "bf16, evaluation", "fp32, training", "bf16, training", "bf16, monitoring"]
    expected = {f"roberta-large, {group}" for group in [*encoders, "fp32, compiled", "bf16, compiled"]}
    assert set(groups) == expected | {"causal, fp32, evaluation", "causal, bf16, evaluation"}
    assert not result["left_out"]
    for title in ("roberta-large, bf16, evaluation", "causal, fp32, evaluation"):
        assert {"Heedful", "forwards", "pipeline, 1", "pipeline, 512", "Trainer, 8", "Trainer, 128"} <= set(
            groups[title]
        )
        assert all(figures["mfu"]["median"] > 0 for figures in groups[title].values())
    assert set(groups["roberta-large, fp32, training"]) == {"batch 32", "batch 256"}
    assert groups["roberta-large, bf16, monitoring"]["model"]["overhead"] > 0
    assert set(read_json(tmp_path / "result.json")["groups"]) == set(groups)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= harness.WIDTH
    assert "(best)" in printed


def test_operations_are_of_weights_outside_embeddings_and_of_attention(bert) -> None:
    hidden, wide, labels = harness.SMALL["hidden_size"], harness.SMALL["intermediate_size"], 2
    layer = 4 * (hidden**2 + hidden) + 2 * hidden * wide + wide + hidden + 2 * 2 * hidden
    weights = 2 * hidden + layer + hidden**2 + hidden + labels * (hidden + 1)  # norm of embeddings, pooler, head
    assert gpu_variants.useful_operations(bert, 10, 0) == 2 * weights * 10
    assert gpu_variants.useful_operations(bert, 0, 10) == 4 * hidden * 10


def test_counts_leave_out_padding_and_read_tokens_of_a_cache_once() -> None:
    sizes = {**SIZES, "num_key_value_heads": 2}
    network = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**sizes))
    cache, mask = transformers.DynamicCache(config=network.config), torch.tensor([[0, 1, 1], [1, 1, 1]])
    with harness.Count(network) as count:
        network(input_ids=torch.ones_like(mask), attention_mask=mask, past_key_values=cache, use_cache=True)
        longer = torch.cat([mask, torch.ones(2, 1, dtype=torch.int64)], dim=1)
        network(input_ids=longer[:, -1:], attention_mask=longer, past_key_values=cache, use_cache=True)
    assert (count.forwards, count.computed, count.real) == (4, 8, 7)
    assert count.attended == 2 * 2 + 3 * 3 + 3 + 4


@pytest.mark.parametrize(
    ("card", "peak"),
    [
        ("NVIDIA H100 80GB HBM3", 989),
        ("NVIDIA H100 PCIe", 756),
        ("NVIDIA H200", 989),
        ("NVIDIA A100-SXM4-80GB", 312),
        ("NVIDIA L4", 121),
        ("NVIDIA L40S", 362),
        ("NVIDIA GeForce RTX 4090", 165),
        ("Tesla V100-SXM2-16GB", None),
        ("CPU", None),
    ],
)
def test_rates_of_cards(card: str, peak: float | None) -> None:
    assert gpu.card_peak(card) == peak


def test_a_budget_that_is_spent_leaves_variants_out() -> None:
    budget = gpu.Budget(minutes=0, groups=1)
    budget.begin()
    assert budget.measure("group", {"a": lambda: 1, "b": lambda: 2}, repeats=3) == {}
    assert budget.left_out == ["group: a; b", "group: 3 of 3 repeats"]


def test_first_runs_count_without_repeats_and_too_little_memory_leaves_a_variant_out() -> None:
    def fail() -> int:
        raise torch.OutOfMemoryError

    budget = gpu.Budget(minutes=1, groups=1)
    budget.begin()
    variants = {"a": lambda: 1, "b": fail}
    assert budget.measure("group", variants, repeats=3) == {"a": [1, 1, 1]}
    assert budget.left_out == ["group: b (too little memory)"]
    budget.deadline = 0
    assert budget.measure("group", {"a": lambda: 1}, repeats=3) == {"a": [1]}
    assert budget.left_out[1:] == ["group: 3 of 3 repeats"]


def test_a_rival_is_printed_with_its_default_and_its_best_batch_size() -> None:
    rates = {"Heedful": 9, "pipeline, 1": 1, "pipeline, 32": 2, "pipeline, 128": 4, "CrossEncoder, 32": 5}
    figures = {name: {"per_second": {"median": rate}} for name, rate in rates.items()}
    assert gpu.described_names(figures) == {
        "Heedful": "Heedful",
        "pipeline, 1": "pipeline, 1",
        "pipeline, 128": "pipeline, 128 (best)",
        "CrossEncoder, 32": "CrossEncoder, 32 (best)",
    }
