"""The check of a GPU, rehearsed on the CPU with a tiny model: it passes what is the same, and finds what is not."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch

from benchmarks import gpu_check
from benchmarks.gpu_check import Bench, Check, compared
from heedful.lightning_modules import Encoder
from heedful.records import read_json

pytestmark = pytest.mark.slow  # programs that are started anew

QUICK = {"n_train": 48, "n_validation": 24, "eval_batch_size": 8}


@pytest.fixture
def quick(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Little to train and to measure."""
    monkeypatch.setattr(gpu_check, "SIZES", QUICK)
    monkeypatch.setattr(gpu_check, "EPOCHS", 1)
    return ["--model", str(tiny_bert)]


def test_one_device_agrees_with_itself(quick: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["float32", "null flips", "repeated"]
    seen = gpu_check.main([*quick, "--only", ",".join(names), "--output", str(tmp_path / "seen.json")])
    assert {name: check["passed"] for name, check in seen["checks"].items()} == dict.fromkeys(names, True)
    figures = seen["checks"]["float32"]["figures"]
    assert figures["rows"] >= 3 * QUICK["n_validation"] / 2
    assert (figures["apart"], figures["predictions"], figures["largest"]) == (0, 0, 0)
    assert seen["paragraph"].startswith("Rehearsed on a CPU, which says nothing of a GPU (")
    assert read_json(tmp_path / "seen.json")["paragraph"] == seen["paragraph"]
    printed = capsys.readouterr().out
    assert "No GPU here: a rehearsal on the CPU." in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_a_device_that_computes_otherwise_fails(quick: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    measured = Bench.measured

    def elsewhere(bench: Bench, device: str, name: str, **settings: Any) -> Any:
        if name == "cpu-measured":
            return measured(bench, device, name, **settings)
        with pytest.MonkeyPatch.context() as patch:
            scores = Encoder.scores
            patch.setattr(Encoder, "scores", lambda module, inputs: scores(module, inputs) * 1.5)
            return measured(bench, device, name, **settings)

    monkeypatch.setattr(Bench, "measured", elsewhere)
    seen = gpu_check.main([*quick, "--only", "float32"])
    assert seen["checks"]["float32"]["passed"] is False
    assert "evaluated in float32: FAILED: " in seen["paragraph"]


def test_a_run_that_is_resumed_and_one_of_two_processes_are_the_same(quick: list[str]) -> None:
    seen = gpu_check.main([*quick, "--only", "resumed,two devices"])
    assert seen["checks"]["resumed"]["figures"]["same"]
    assert seen["checks"]["two devices"]["figures"]["same"]


def test_an_error_is_a_check_that_failed() -> None:
    def broken(bench: Bench) -> Check:
        raise RuntimeError("no\nkernel image")

    check, _ = gpu_check.look(broken, Bench.__new__(Bench))
    assert check == Check(False, "RuntimeError: no kernel image", {})


def test_a_check_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        gpu_check.main(["--only", "speed"])
    assert "--only 'speed' is not one of float32" in capsys.readouterr().err


def rows(n: int, draws: int = 2) -> list[dict[str, Any]]:
    """Base and changed rows of a model that is sure of everything but its last example."""
    made: list[dict[str, Any]] = []
    for i in range(n):
        p = [0.50001, 0.49999] if i == n - 1 else [0.9, 0.1]
        same = {"evaluation": "attentiveness", "uid": f"u{i}", "gold": "yes", "content": f"c{i}", "unread": None}
        base = {"intervention": "base", "part": None, "variant": None, "draw": -1, "y2": None, "p2": None}
        made.append({**same, **base, "partner": None, "allowed": None, "y": "yes", "p": p})
        for draw in range(draws):
            changed = {"intervention": "swap", "part": "a", "variant": None, "draw": draw, "y2": "no", "p2": [0.2, 0.8]}
            made.append({**same, **changed, "partner": f"u{(i + draw + 1) % n}", "allowed": None, "y": "yes", "p": p})
    return made


def table(of: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(of)


def test_the_same_rows_in_another_order_agree() -> None:
    one, other = rows(5), rows(5)
    random.Random(0).shuffle(other)
    comparison = compared(table(one), table(other), 1e-4)
    assert comparison == (15, 0, 0, 0, 0.0)
    assert comparison.agrees(0)


@pytest.mark.parametrize(
    ("column", "value"), [("partner", "u9"), ("gold", "no"), ("content", "c9"), ("unread", True), ("uid", "u9")]
)
def test_other_rows_do_not_agree(column: str, value: Any) -> None:
    other = rows(5)
    other[1][column] = value
    comparison = compared(table(rows(5)), table(other), 1e-4)
    assert comparison.apart == (2 if column == "uid" else 1)
    assert not comparison.agrees(1)


def test_rounding_agrees_within_the_tolerance_alone() -> None:
    other = rows(5)
    other[2]["p2"] = [0.2 + 1e-3, 0.8 - 1e-3]
    comparison = compared(table(rows(5)), table(other), 1e-2)
    assert comparison.largest == pytest.approx(1e-3)
    assert (comparison.agrees(1e-2), comparison.agrees(1e-4)) == (True, False)


def test_a_prediction_that_differs_is_a_tie_or_a_fault() -> None:
    firm, tie = rows(5), rows(40)
    firm[1]["y2"] = "yes"
    assert compared(table(rows(5)), table(firm), 1e-2)[2:4] == (1, 1)
    flipped = [row | {"y": "no", "p": [0.49999, 0.50001]} if row["uid"] == "u39" else row for row in tie]
    without = [row for row in flipped if row["uid"] != "u39" or row["draw"] == -1]  # the default label has no draws
    comparison = compared(table(rows(40)), table(without), 1e-2)
    assert (comparison.apart, comparison.predictions, comparison.firm) == (0, 1, 0)
    assert comparison.agrees(1e-2)
    assert not compared(table(rows(40)), table(without), 1e-6).agrees(1)
    assert not comparison._replace(predictions=40).agrees(1), "where all are ties, nothing is shown"


def test_no_rows_agree_with_nothing() -> None:
    assert not compared(table(rows(5)).slice(0, 0), table(rows(5)).slice(0, 0), 1).agrees(1)


def test_a_machine_without_a_gpu_is_a_rehearsal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpu_check.device_here() == "cpu"
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert gpu_check.device_here() == "mps"
