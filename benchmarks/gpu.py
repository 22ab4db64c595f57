"""How much of a card's arithmetic training and evaluation of a random BERT-base reach, and what bounds them.

python -m benchmarks.gpu            on a GPU, minutes
python -m benchmarks.gpu --tiny     on a CPU, seconds: shows that the script runs, and measures nothing

One file that needs torch, transformers and numpy alone. Batches are made as Heedful makes them: for evaluation sorted
by length, for training sorted within windows of shuffled examples. Lengths are drawn from the quantiles of MNLI; a
token is what remains after padding. The fraction is (arithmetic of the real tokens) / (time x the measured bf16 matmul
rate).
"""

import argparse
import contextlib
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile
from transformers import BertConfig, BertForSequenceClassification

# of the matched validation set, in MiniLM's (that is BERT's) tokens, in steps of 5 %
QUANTILES = (6, 15, 18, 21, 23, 26, 28, 30, 32, 34, 36, 38, 41, 43, 46, 49, 53, 57, 63, 72, 237)
WINDOW = 32  # batches that are sorted together in training


@dataclass(frozen=True)
class Setting:
    """What is run, and on what."""

    device: str
    examples: int
    batches: tuple[int, ...]
    matmul: int
    repeats: int
    config: BertConfig


def setting(tiny: bool, repeats: int) -> Setting:
    """BERT-base on the GPU, or next to nothing on a CPU.

    Raises:
        SystemExit: There is no GPU, and ``--tiny`` was not given.
    """
    if tiny:
        small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
        return Setting("cpu", 96, (16,), 64, repeats, BertConfig(**small, vocab_size=1000, num_labels=3))
    if not torch.cuda.is_available():
        raise SystemExit("benchmarks.gpu: no GPU here; --tiny runs the script on the CPU without measuring anything.")
    return Setting("cuda", 9_815, (32, 64, 128, 256, 512), 8192, repeats, BertConfig(num_labels=3))


def sync(device: str) -> None:
    """Wait for the card."""
    if device == "cuda":
        torch.cuda.synchronize()


def seconds(run: Callable[[], Any], device: str, repeats: int) -> float:
    """Median time of a call, after one that is not counted."""
    found = []
    for _ in range(repeats + 1):
        sync(device)
        start = time.perf_counter()
        run()
        sync(device)
        found.append(time.perf_counter() - start)
    return statistics.median(found[1:])


def matmul_rate(s: Setting) -> float:
    """Floating point operations a second of a bf16 product of square matrices of random numbers."""
    a, b = (torch.randn(s.matmul, s.matmul, device=s.device, dtype=torch.bfloat16) for _ in range(2))
    times = 10 if s.device == "cuda" else 1
    return times * 2 * s.matmul**3 / seconds(lambda: [a @ b for _ in range(times)], s.device, s.repeats)


def lengths(n: int) -> np.ndarray:
    """Tokens of ``n`` pairs, as in MNLI."""
    at = np.random.default_rng(0).random(n) * (len(QUANTILES) - 1)
    return np.interp(at, np.arange(len(QUANTILES)), QUANTILES).astype(np.int64)


def sorted_batches(tokens: np.ndarray, size: int) -> list[np.ndarray]:
    """For evaluation: the longest first, as in heedful.datamodules.base.sampler.evaluation_batches."""
    order = np.argsort(-tokens, kind="stable")
    return [order[start : start + size] for start in range(0, len(order), size)]


def bucketed_batches(tokens: np.ndarray, size: int) -> list[np.ndarray]:
    """For training: sorted within windows of shuffled examples, as the sampler of datamodules/ does."""
    rng = np.random.default_rng(0)
    order, span = rng.permutation(len(tokens)), size * WINDOW
    windows = [order[start : start + span] for start in range(0, len(order), span)]
    order = np.concatenate([w[np.argsort(tokens[w], kind="stable")] for w in windows])
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    return [batches[j] for j in rng.permutation(len(batches)) if len(batches[j]) == size]


def tensors(tokens: np.ndarray, batches: Sequence[np.ndarray], s: Setting, multiple: int = 1) -> list[dict[str, Any]]:
    """Input of the network for every batch, on the host; lengths are rounded up to a multiple."""
    rng, made = np.random.default_rng(0), []
    for batch in batches:
        width = -(-int(tokens[batch].max()) // multiple) * multiple
        mask = (np.arange(width)[None, :] < tokens[batch][:, None]).astype(np.int64)
        ids = rng.integers(5, s.config.vocab_size, mask.shape) * mask
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        found = {name: torch.from_numpy(value) for name, value in inputs.items()}
        found["labels"] = torch.from_numpy(rng.integers(0, 3, len(batch)))
        made.append({k: v.pin_memory() for k, v in found.items()} if s.device == "cuda" else found)
    return made


def arithmetic(tokens: np.ndarray, network: torch.nn.Module, config: BertConfig, training: bool) -> float:
    """Operations of the real tokens: 2 P a token forwards, 4 P more backwards, and attention's two products."""
    weights = sum(p.numel() for name, p in network.named_parameters() if "embeddings" not in name)
    attention = 4 * config.num_hidden_layers * config.hidden_size * float((tokens.astype(np.float64) ** 2).sum())
    return (3 if training else 1) * (2.0 * weights * float(tokens.sum()) + attention)


def network_of(s: Setting) -> BertForSequenceClassification:
    """The model, with the same random weights every time."""
    torch.manual_seed(0)
    return BertForSequenceClassification(s.config).to(s.device)


def to_device(batch: dict[str, Any], s: Setting) -> dict[str, Any]:
    """A batch on the card."""
    return {name: value.to(s.device, non_blocking=True) for name, value in batch.items()}


def evaluator(network: torch.nn.Module, batches: Sequence[dict[str, Any]], s: Setting) -> Callable[[], None]:
    """Predict all batches in bf16, and bring the probabilities back at the end."""

    def run() -> None:
        found = []
        with torch.inference_mode(), torch.autocast(s.device, torch.bfloat16):
            for batch in batches:
                inputs = {k: v for k, v in to_device(batch, s).items() if k != "labels"}
                found.append(network(**inputs).logits.float().softmax(dim=-1))
        torch.cat(found).cpu()

    network.eval()
    return run


def learner(network: torch.nn.Module, batches: Sequence[dict[str, Any]], s: Setting) -> Callable[[], None]:
    """One epoch as Heedful trains it in bf16-mixed: dropout on, fused AdamW, gradients clipped at 1."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-6, weight_decay=0.01, fused=True)

    def run() -> None:
        for batch in batches:
            moved = to_device(batch, s)
            labels = moved.pop("labels")
            with torch.autocast(s.device, torch.bfloat16):
                scores = network(**moved).logits
            torch.nn.functional.cross_entropy(scores.float(), labels).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    network.train()
    return run


def kernels(run: Callable[[], Any], device: str) -> dict[str, float]:
    """Seconds that the card spends in each kernel, copies included; on a CPU, in each operator."""
    on_card, spent = device == "cuda", {}
    with profile(activities=[ProfilerActivity.CUDA if on_card else ProfilerActivity.CPU]) as profiler:
        run()
        sync(device)
    for event in profiler.key_averages():
        kernel = event.device_type == torch.autograd.DeviceType.CUDA
        if kernel or not on_card:
            spent[event.key] = (event.self_device_time_total if kernel else event.self_cpu_time_total) / 1e6
    return spent


def busy(run: Callable[[], Any], s: Setting) -> dict[str, Any]:
    """Share of the time that the card computes, and of that time the share of matrix products.

    The profiler slows the CPU down but not the kernels: their time is compared with that of a run without it.
    """
    wall, spent = seconds(run, s.device, s.repeats), kernels(run, s.device)
    total = sum(spent.values())
    product = sum(v for name, v in spent.items() if any(w in name.lower() for w in ("gemm", "mm", "nvjet", "cutlass")))
    top = sorted(spent, key=spent.get, reverse=True)[:5]
    return {
        "busy": min(1.0, total / wall),
        "products": product / max(total, 1e-12),
        "top": {name[:60]: spent[name] / max(total, 1e-12) for name in top},
    }


def bound(found: dict[str, Any]) -> str:
    """What bounds it, in words."""
    if found["busy"] < 0.8:
        return f"launching from the CPU: the card idles {100 * (1 - found['busy']):.0f} % of the time"
    if found["products"] < 0.6:
        return f"memory-bound kernels: products are {100 * found['products']:.0f} % of the card's time"
    return f"matrix products: {100 * found['products']:.0f} % of the card's time"


def variants(s: Setting, compiled: bool) -> Iterator[tuple[str, int, int, bool, str | None]]:
    """(kind, batch size, lengths rounded up to, whether compiled, mode)."""
    for kind in ("evaluation", "training"):
        for size in s.batches:
            yield kind, size, 1, False, None
        if compiled:
            for size in {s.batches[0], s.batches[-1]}:
                yield kind, size, 1, True, None
                yield kind, size, 16, True, "static"


def measure(s: Setting, compiled: bool) -> list[dict[str, Any]]:
    """Every variant: examples a second, fraction of the matmul rate, what bounds it."""
    tokens, rate, found = lengths(s.examples), matmul_rate(s), []
    for kind, size, multiple, compile_, mode in variants(s, compiled):
        training, network = kind == "training", network_of(s)
        work = arithmetic(tokens, network, s.config, training)
        positions = bucketed_batches(tokens, size) if training else sorted_batches(tokens, size)
        kept = float(sum(tokens[p].sum() for p in positions) / tokens.sum())
        batches = tensors(tokens, positions, s, multiple)
        with reset() if compile_ else contextlib.nullcontext():
            model = torch.compile(network, dynamic=mode is None) if compile_ else network
            run = (learner if training else evaluator)(model, batches, s)
            began = time.perf_counter()
            run()
            sync(s.device)
            first = time.perf_counter() - began
            took = seconds(run, s.device, s.repeats)
            few = batches[:: -(-len(batches) // 16)]
            why = busy((learner if training else evaluator)(model, few, s), s)
        entry = {"kind": kind, "batch": size, "compiled": (mode or "dynamic") if compile_ else "", "first": first}
        entry["padding"] = sum(b["attention_mask"].numel() for b in batches) / float(kept * tokens.sum())
        entry["per_second"] = sum(len(p) for p in positions) / took
        entry["fraction"] = work * kept / took / rate
        found.append(entry | why | {"bound": bound(why), "matmul": rate})
    return found


@contextlib.contextmanager
def reset() -> Iterator[None]:
    """Forget what was compiled before and after; static shapes need room for all lengths."""
    torch._dynamo.reset()
    with torch._dynamo.config.patch(recompile_limit=64):
        yield
    torch._dynamo.reset()


def report(found: Sequence[dict[str, Any]], s: Setting) -> None:
    """Print a table of 80 columns."""
    name = torch.cuda.get_device_name() if s.device == "cuda" else "CPU (tiny: no measurement)"
    print(f"{name}, torch {torch.__version__}; bf16 products at {found[0]['matmul'] / 1e12:,.3g} TFLOP/s\n")
    print(
        f"{'':<11}{'batch':>5}  {'compiled':<8}{'padding':>8}{'pairs/s':>11}{'of rate':>9}{'busy':>7}{'products':>10}"
    )
    for e in found:
        print(
            f"{e['kind']:<11}{e['batch']:>5}  {e['compiled']:<8}{e['padding']:>8.2f}{e['per_second']:>11,.0f}"
            f"{100 * e['fraction']:>7.1f} %{100 * e['busy']:>5.0f} %{100 * e['products']:>8.0f} %"
        )
    for kind in ("evaluation", "training"):
        best = max((e for e in found if e["kind"] == kind), key=lambda e: e["per_second"])
        how = best["compiled"] or "not compiled"
        print(f"\n{kind}: fastest with batches of {best['batch']}, {how}; it is bound by\n  {best['bound']}.")


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="a tiny model on the CPU")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--output", help="write what was measured to this JSON file")
    options = parser.parse_args(argv)
    s = setting(options.tiny, options.repeats)
    found = measure(s, not options.no_compile)
    report(found, s)
    result = {"tiny": options.tiny, "variants": found, "torch": torch.__version__}
    if options.output:
        Path(options.output).write_text(json.dumps(result, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return result


if __name__ == "__main__":
    main()
