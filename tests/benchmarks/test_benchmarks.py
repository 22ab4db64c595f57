"""Every benchmark runs on a tiny model and a few pairs, and counts correctly; nothing is timed here."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from benchmarks import engine, harness, monitoring
from heedful.callbacks.engine.measure import MOST_ALONE
from heedful.datamodules import Planted
from heedful.records import CLASSIFICATION, Example, Examples, Task, read_json

TRAIN, VALIDATION = 96, 48


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Planted pairs in files like those of MNLI, of different lengths."""
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
    harness.write_classifier(path, str(tiny_bert), list(engine.unique_pairs(str(folder), 50)), **harness.SMALL)
    return path


@pytest.fixture
def common(folder: Path, model: Path, tmp_path: Path) -> list[str]:
    """Arguments that all benchmarks share."""
    threads = ["--threads", str(torch.get_num_threads())]
    return ["--data", str(folder), "--model", str(model), "--output", str(tmp_path / "result.json"), *threads]


@pytest.mark.slow
def test_attentiveness_counts_the_forwards_of_the_cost_model(common: list[str], tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    from benchmarks import attentiveness

    k, n = 2, 40
    sizes = ["--examples", str(n), "--draws", str(k), "--repeats", "2", "--batch-size", "8"]
    result = attentiveness.main([*common, *sizes])
    variants, q = result["variants"], result["q"]
    assert 0.2 < q < 1
    forwards = {name: v["forwards"] for name, v in variants.items()}
    heedful, plain = round((1 + k * q) * n) - result["identical"], (1 + k) * n
    assert heedful + n < forwards.pop("n") <= heedful + n + MOST_ALONE  # padded examples are predicted alone, too
    expected = {"a": heedful, "m": heedful - n, "b": plain, "c": plain, "d": heedful}
    assert forwards == expected
    assert 1 <= variants["d"]["padding"] <= variants["b"]["padding"] <= variants["c"]["padding"]
    assert variants["a"]["tokens"] == variants["d"]["tokens"]
    assert variants["c"]["tokens"]["computed"] == (1 + k) * n * 128
    assert result["difference"] < 1e-4
    assert read_json(tmp_path / "result.json")["variants"]["a"]["forwards"] == heedful


@pytest.mark.slow
def test_a_model_without_a_head_is_trained(common: list[str], model: Path, tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    from benchmarks import attentiveness

    headless = shutil.copytree(model, tmp_path / "headless")
    transformers.AutoModel.from_pretrained(model).save_pretrained(headless)
    sizes = ["--examples", "16", "--draws", "1", "--repeats", "1", "--train-examples", "64", "--only", "d"]
    result = attentiveness.main([*common, *sizes, "--model", str(headless), "--precision", "bf16-mixed"])
    assert set(result["variants"]) == {"a", "d"}


@pytest.mark.slow
def test_attributions_are_compared_with_the_packages(common: list[str]) -> None:
    for package in ("accelerate", "shap", "lime", "captum"):
        pytest.importorskip(package)
    from benchmarks import attributions

    n, samples, steps = 5, 24, 3
    sizes = ["--examples", str(n), "--samples", str(samples), "--steps", str(steps), "--repeats", "2"]
    result = attributions.main([*common, *sizes])
    variants = result["variants"]
    for method in ("lime", "shap", "owen"):
        assert 0 < variants[method]["forwards"] == variants[f"floor of {method}"]["forwards"] <= n * (samples + 3)
    assert variants["gradients"]["forwards"] == n * (3 + steps)
    assert variants["captum"]["forwards"] == n * (steps + 2)  # both ends, for their embeddings
    assert variants["lime package"]["forwards"] == n * samples
    assert variants["shap package"]["forwards"] > 0
    assert [ratio["over"] for ratio in result["ratios"]].count("shap package") == 2


@pytest.mark.slow
def test_training_sees_every_example_once_in_every_variant(common: list[str]) -> None:
    pytest.importorskip("accelerate")
    from benchmarks import training

    variants = training.main([*common, "--examples", "42", "--batch-size", "8", "--repeats", "1"])["variants"]
    assert {name: v["examples"] for name, v in variants.items()} == {"heedful": 42, "random": 42, "grouped": 42}
    assert variants["heedful"]["padding"] < variants["random"]["padding"]


@pytest.mark.slow
def test_monitoring_adds_k_draws_for_the_eligible(common: list[str]) -> None:
    sizes = ["--examples", "32", "--validation-examples", "30", "--repeats", "1", "--draws", "3"]
    result = monitoring.main([*common, *sizes, "--max-examples", "7"])
    without, watched = (result["epochs"][name][0] for name in ("without", "with"))
    assert without["predicted"] == 30  # the null control
    assert watched["predicted"] == 30 + 3 * min(7, round(30 * watched["q"])) - watched["identical"]
    assert result["model"]["as train.py"]["forwards"] <= result["model"]["all eligible"]["forwards"]


def test_the_cost_model_of_monitoring() -> None:
    rates = monitoring.Rates(training=100, base=500, changed=250, q=0.6)
    seconds = monitoring.predicted_seconds(rates, draws=5, limit=2000)
    assert seconds["forwards"] == 10_000
    assert seconds["test"] == 40
    assert seconds["overhead"] == pytest.approx(100 * 40 / (3927.02 + 9815 / 500 + 512 / 250))
    assert monitoring.predicted_seconds(rates, draws=5, limit=None)["forwards"] == pytest.approx(5 * 0.6 * 9815)


@pytest.mark.slow
@pytest.mark.parametrize("function", [[], ["--function"], ["--tokens", "200", "--rate", "9000"]], ids=str)
def test_the_engine_predicts_as_planned(common: list[str], function: list[str]) -> None:
    def here(name: str, *arguments: Any) -> dict[str, Any]:
        return getattr(engine, name)(*arguments)

    launch = {"launch": here} if "--function" not in function else {}  # this one in a process of its own
    result = engine.main([*common, *function, "--examples", "40", "--repeats", "2"], **launch)
    assert len(result["busy"]) == 2 * ("--rate" in function)
    assert all(0 < share <= 1 for share in result["busy"])
    q = result["metrics"]["attentiveness/mnli/premise/eligible"]["value"]
    assert 0.2 < q < 1
    planned = 40 + 40 + 5 * round(40 * q) - result["counts"].get("attentiveness/identical", 0)
    if "--function" in function:  # equal inputs are asked once
        assert 0.9 * planned < result["predicted"] <= planned
    else:  # the null control asks for examples alone, too
        assert planned < result["predicted"] <= planned + MOST_ALONE
    assert len(result["sha256"]) == 1


def test_the_pairs_of_the_engine_are_unique(folder: Path) -> None:
    rows = list(engine.unique_pairs(str(folder), 300))
    assert len({row["hypothesis"] for row in rows}) == 300
    assert len({row["premise"] for row in rows}) == 100


def test_partners_of_the_plain_variant_are_never_the_example_itself() -> None:
    pool = Examples.of([Example(str(i), {"a": f"a{i}", "b": f"b{i}"}, "x") for i in range(9)])
    columns = harness.pairs(pool, Task(CLASSIFICATION, ("a", "b"), ("x", "y")), np.random.default_rng(0))
    assert columns["b"] == [f"b{i}" for i in range(9)]
    assert all(text != f"a{i}" for i, text in enumerate(columns["a"]))


def test_repeats_start_with_another_variant_each_time() -> None:
    order: list[str] = []
    harness.interleave({name: lambda name=name: order.append(name) for name in "abc"}, 3)
    assert "".join(order) == "abcbcacab"


def test_a_table_fits_a_terminal() -> None:
    seconds = harness.format_spread(harness.spread([3.0, 1.0, 2.0]), 1)
    text = harness.table("Title", [["", "forwards", "seconds"], ["(a) Heedful", "1,234", seconds]])
    assert "2.0 [1.0, 3.0]" in text
    assert max(map(len, text.splitlines())) <= 80
