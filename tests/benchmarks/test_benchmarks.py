"""Every benchmark runs on a tiny model and a few pairs, and counts what it should; nothing is timed here."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from benchmarks import engine, gpu, harness, memory, monitoring
from heedful.callbacks.engine.alone import MOST
from heedful.datamodules import Planted
from heedful.records import CLASSIFICATION, Example, Examples, ModelError, Task, read_json

import causal
from refusals import refused

TRAIN, VALIDATION = 96, 48


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Planted pairs in files like those of MNLI, of lengths that differ."""
    data = Planted(n_train=TRAIN, n_validation=VALIDATION, shortcut=0.9)
    data.setup("fit")
    path = tmp_path_factory.mktemp("pairs")
    for name, examples in (("train", data.train_examples), ("validation_matched", data.pool)):
        rows = [{**e.parts, "label": e.label} for e in examples]
        for i, row in enumerate(rows):
            row["premise"] = " ".join([row["premise"]] * (1 + i % 4))
        (path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def model(folder: Path, tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny classifier that predicts every label now and then."""
    path = tmp_path_factory.mktemp("classifier")
    memory.write_model(path, str(tiny_bert), memory.sources(str(folder))[:50])
    return path


@pytest.fixture
def common(folder: Path, model: Path, tmp_path: Path) -> list[str]:
    """Arguments that all benchmarks on data share."""
    threads = ["--threads", str(torch.get_num_threads())]
    return ["--data", str(folder), "--model", str(model), "--output", str(tmp_path / "found.json"), *threads]


@pytest.mark.slow
def test_attentiveness_counts_the_forwards_of_the_cost_model(common: list[str], model: Path, tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    from benchmarks import attentiveness

    k, n = 2, 40
    sizes = ["--examples", str(n), "--draws", str(k), "--repeats", "2", "--batch-size", "8"]
    found = attentiveness.main([*common, *sizes, "--checkpoint", str(model), "--variants", "bf16"])
    variants, q = found["variants"], found["q"]
    assert 0.2 < q < 1
    forwards = {name: v["forwards"] for name, v in variants.items()}
    heeds, plain = round((1 + k * q) * n) - found["identical"], (1 + k) * n
    assert n < forwards.pop("bf16") <= plain  # another arithmetic may find another number eligible
    assert heeds + n < forwards.pop("n") <= heeds + n + MOST  # padded examples are predicted alone, too
    assert forwards == {"a": heeds, "m": heeds - n, "b": plain, "c": plain, "d": heeds, "e": heeds}
    assert 1 <= variants["d"]["padding"] <= variants["b"]["padding"] <= variants["c"]["padding"]
    assert variants["a"]["tokens"] == variants["d"]["tokens"]
    assert variants["c"]["tokens"]["computed"] == (1 + k) * n * 128
    assert found["worst_difference"] < 1e-4
    assert read_json(tmp_path / "found.json")["variants"]["a"]["forwards"] == heeds


def test_the_packages_that_are_compared_are_needed_by_the_run_alone(
    common: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("accelerate")
    from benchmarks import attributions

    monkeypatch.setattr(harness, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as stopped:
        attributions.main(["--help"])
    assert (stopped.value.code, "--samples" in capsys.readouterr().out) == (0, True)
    with pytest.raises(SystemExit, match=r"shap is needed: pip install -e '\.\[benchmarks\]'"):
        attributions.main([*common, "--checkpoint", "x"])


def test_attributions_are_compared_with_the_packages(common: list[str], model: Path, tmp_path: Path) -> None:
    for package in ("accelerate", "shap", "lime", "captum"):
        pytest.importorskip(package)
    from benchmarks import attributions

    n, samples, steps = 5, 24, 3
    sizes = ["--examples", str(n), "--samples", str(samples), "--steps", str(steps), "--repeats", "2"]
    measured = attributions.main([*common, *sizes, "--checkpoint", str(model), "--internal-batch-sizes", "2", "4"])
    variants = measured["variants"]
    for method in ("lime", "shap", "owen"):
        own, floor = variants[method], variants[f"floor of {method}"]
        assert own["unique"] == floor["forwards"] == floor["unique"]
        assert own["forwards"] - n - own["unique"] in range(n)  # the examples once more; nothing of some is the same
        assert own["unique"] <= n * (samples + 2)
    assert variants["gradients"]["forwards"] == n * (3 + steps)
    for name in ("captum", "captum, Heedful's layers"):
        assert variants[name]["forwards"] == n * (steps + 2)  # both ends, for their embeddings
    assert variants["lime package"]["forwards"] == n * samples
    assert 0 < variants["shap package"]["unique"] <= variants["shap package"]["forwards"]
    assert [one["over"] for one in measured["ratios"]].count("shap package") == 2
    assert set(measured["best_batches"].values()) <= {2, 4}
    assert read_json(tmp_path / "found.json")["joined"]["mean_difference"] >= 0


def test_padding_makes_no_other_inputs() -> None:
    from benchmarks.attributions import batches_of, inputs_of

    ids = torch.tensor([[5, 6, 0], [5, 6, 7], [5, 6, 0], [5, 0, 0]])
    mask = torch.tensor([[1, 1, 0], [1, 1, 1], [1, 1, 0], [1, 1, 0]])
    batches = [{"input_ids": ids, "attention_mask": mask}, {"input_ids": ids[:1, :2], "attention_mask": mask[:1, :2]}]
    inputs = inputs_of(batches)
    assert [one["input_ids"].tolist() for one in inputs] == [[5, 6], [5, 6, 7], [5, 0]]
    (batch,) = batches_of(inputs, 4, pad_id=9)
    assert batch["input_ids"].tolist() == [[5, 6, 7], [5, 6, 9], [5, 0, 9]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0], [1, 1, 0]]


@pytest.mark.slow
def test_a_model_is_trained_where_none_is_named(common: list[str]) -> None:
    pytest.importorskip("accelerate")
    from benchmarks import attentiveness

    sizes = ["--examples", "16", "--draws", "1", "--repeats", "1", "--train-examples", "64"]
    found = attentiveness.main([*common, *sizes, "--only", "d"])
    assert set(found["variants"]) == {"a", "d"}


@pytest.mark.slow
def test_training_sees_every_example_once_in_every_variant(common: list[str]) -> None:
    pytest.importorskip("accelerate")
    from benchmarks import training

    sizes = ["--examples", "42", "--batch-size", "8", "--repeats", "1", "--validation-examples", "20"]
    found = training.main([*common, *sizes, "--accuracy", "--seeds", "2"])
    variants = found["variants"]
    assert {name: v["examples"] for name, v in variants.items()} == {"heedful": 42, "random": 42, "grouped": 42}
    assert variants["heedful"]["padding"] < variants["random"]["padding"]
    assert [len(v["values"]) for v in found["accuracy"].values()] == [2, 2, 2]
    assert found["accuracy"]["random"]["differences"] == [0, 0]


@pytest.mark.slow
def test_monitoring_adds_k_draws_for_the_eligible(common: list[str]) -> None:
    sizes = ["--examples", "32", "--validation-examples", "30", "--repeats", "1", "--draws", "3"]
    found = monitoring.main([*common, *sizes, "--max-examples", "7"])
    without, watched = (found["epochs"][name][0] for name in ("without", "with"))
    assert without["predicted"] == 30  # the null control
    assert watched["predicted"] == 30 + 3 * min(7, round(30 * watched["q"])) - watched["identical"]
    assert found["model"]["as train.py"]["forwards"] <= found["model"]["all eligible"]["forwards"]


def test_the_cost_model_of_monitoring() -> None:
    rates = monitoring.Rates(training=100, base=500, changed=250, q=0.6)
    found = monitoring.model(rates, draws=5, most=2000)
    assert found["forwards"] == 10_000
    assert found["test"] == 40
    assert found["overhead"] == pytest.approx(100 * 40 / (3927.02 + 9815 / 500 + 512 / 250))
    assert monitoring.model(rates, draws=5, most=None)["forwards"] == pytest.approx(5 * 0.6 * 9815)


@pytest.mark.slow
def test_a_shared_beginning_changes_no_score(folder: Path, tmp_path: Path) -> None:
    from benchmarks import prefix

    sizes = ["--examples", "3", "--repeats", "1", "--tuples", "1", "--threads", str(torch.get_num_threads())]
    found = prefix.main(["--data", str(folder), "--model", str(causal.save(tmp_path / "model")), *sizes])
    assert found["n"] == 3
    assert found["shared"] > found["own"] > 0
    assert max(found["apart"].values()) < 1e-4


@pytest.mark.slow
def test_memory_looks_at_both_sizes(common: list[str]) -> None:
    found = memory.main([*common, "--sizes", "30", "60", "--draws", "2"], launch=memory.here)
    assert [one["pairs"] for one in found["sizes"]] == [30, 60]
    assert all(0.2 < one["q"] < 1 for one in found["sizes"])
    assert all(0 < one["start"]["RssAnon"] <= one["peak"]["RssAnon"] <= one["peak"]["VmRSS"] for one in found["sizes"])


def test_the_pairs_of_the_memory_benchmark_are_unique() -> None:
    rows = [{"premise": f"p{i}", "hypothesis": f"h{i}", "label": "neutral"} for i in range(4)]
    made = list(memory.unique_pairs(rows, 30))
    assert len({row["hypothesis"] for row in made}) == 30
    assert len({row["premise"] for row in made}) == 10


@pytest.mark.slow
def test_the_engine_is_measured_by_stage(common: list[str]) -> None:
    found = engine.main([*common, "--sizes", "40", "--processes", "1", "--repeats", "2"], engine.here)
    (case,) = found["cases"]
    assert (case["pairs"], case["processes"]) == (40, 1)
    q = case["metrics"]["attentiveness/mnli/premise/eligible"]["value"]
    assert 0.2 < q < 1
    planned = 40 + 40 + 5 * round(40 * q) - case["counts"]["attentiveness/identical"]
    assert planned < case["predicted"] <= planned + MOST  # padded examples are predicted alone, too
    (process,) = case["ranks"]
    assert all(stage["wall"]["median"] > 0 for stage in process["stages"].values())
    assert sum(stage["wall"]["median"] for stage in process["stages"].values()) <= process["wall"]["high"] * 1.01
    assert len(case["sha256"]) == 1


def test_each_moment_belongs_to_the_innermost_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def spend(seconds: float) -> None:
        nonlocal now
        now += seconds

    def inner() -> None:
        spend(2)

    def numbers() -> Iterator[int]:
        for i in range(3):
            spend(10)
            yield i

    def outer() -> int:
        spend(1)
        work.inner()
        return sum(spend(100) or i for i in work.numbers())

    work = ModuleType("work")
    monkeypatch.setitem(sys.modules, "work", work)
    work.inner, work.numbers, work.outer = inner, numbers, outer
    named = {"a": ("work:outer",), "b": ("work:inner",), "c": ("work:numbers",)}
    with engine.Stages(named, clock=lambda: (now, 0.0)) as stages:
        spend(1000)
        assert work.outer() == 3
    assert stages.seconds == {"a": [301, 0], "b": [2, 0], "c": [30, 0]}
    assert (work.inner, work.numbers, work.outer) == (inner, numbers, outer)


def test_a_checkpoint_without_the_weights_beside_it(tmp_path: Path) -> None:
    config = tmp_path / "backbone" / "config.json"
    with refused(ModelError, f"checkpoint {tmp_path / 'best.ckpt'}", config):
        harness.exported(str(tmp_path / "best.ckpt"))
    config.parent.mkdir()
    config.touch()
    assert harness.exported(str(tmp_path / "best.ckpt")) == harness.exported(str(config.parent)) == str(config.parent)


@pytest.mark.slow
def test_a_process_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="process [01]:\n(.|\n)*does not exist"):
        harness.in_processes("engine", str(tmp_path), draws=1, processes=2)


@pytest.mark.slow
def test_two_processes_measure_the_same(common: list[str]) -> None:
    found = engine.main([*common, "--sizes", "200", "--repeats", "1"])
    one, two = found["cases"]
    assert (len(one["ranks"]), len(two["ranks"])) == (1, 2)
    assert one["sha256"] == two["sha256"]
    assert one["predicted"] == two["predicted"]


@pytest.mark.slow
def test_the_engine_on_a_gpu_is_compared_on_a_cpu(tmp_path: Path) -> None:
    found = gpu.main(["--tiny", "--repeats", "1", "--draws", "2", "--output", str(tmp_path / "found.json")])
    (one,) = found["batches"]
    assert 48 + 48 < one["forwards"] <= 48 * (1 + 1 + 2)
    assert one["padding"] >= 1
    assert one["over_floor"]["median"] > 0
    assert one["over_heedful"]["median"] > 0
    for what in "adt":
        assert all(one[what][share] > 0 for share in ("computes", "products", "of_rate"))


def test_pairs_of_random_words_have_as_many_tokens_as_those_of_mnli() -> None:
    made = list(gpu.pairs(100, ["one", "two"]))
    assert [3 + len(f"{row['premise']} {row['hypothesis']}".split()) for row in made] == gpu.lengths(100).tolist()
    assert all(row["premise"] and row["hypothesis"] for row in made)


def test_partners_of_the_plain_variant_are_never_the_example_itself() -> None:
    pool = Examples.of([Example(str(i), {"a": f"a{i}", "b": f"b{i}"}, "x") for i in range(9)])
    found = harness.pairs(pool, Task(CLASSIFICATION, ("a", "b"), ("x", "y")), np.random.default_rng(0))
    assert found["b"] == [f"b{i}" for i in range(9)]
    assert all(one != f"a{i}" for i, one in enumerate(found["a"]))


def test_repeats_start_with_another_variant_each_time() -> None:
    order: list[str] = []
    harness.interleave({name: lambda name=name: order.append(name) for name in "abc"}, 3)
    assert "".join(order) == "abcbcacab"


def test_a_table_fits_a_terminal() -> None:
    rows = [["", "forwards", "seconds"], ["(a) Heedful", "1,234", harness.Spread.of([3.0, 1.0, 2.0]).text(1)]]
    text = harness.table("Title", rows)
    assert "2.0 [1.0, 3.0]" in text
    assert max(map(len, text.splitlines())) <= 80
