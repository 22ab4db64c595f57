"""Loggers have each curve with both bounds of its interval, as the run measured them."""

import csv
import json
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from live_runs import pairs, small
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.loggers import CSVLogger
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import heedful
from heedful.cli.command import train as main

from commands import results_of, run

pytestmark = pytest.mark.slow  # whole runs of train.py

ARGUMENTS = ["--model.max_length", 64, "--data.n_train", 64, "--data.n_validation", 24, "--trainer.max_epochs", 2]
HEADLINES = ("accuracy/planted", "attentiveness/planted/premise")


def trained(tiny_bert: Path, to: Path, *logger: Any) -> Path:
    run(main, "--model", tiny_bert, *ARGUMENTS, "--output", to, *logger)
    return to


def csv_rows(folder: Path) -> list[dict[str, str]]:
    with open(folder / "metrics.csv", newline="") as file:
        return [{key: value for key, value in row.items() if value} for row in csv.DictReader(file)]


def require_final(row: dict[str, Any], results: dict[str, Any]) -> None:
    """The numbers of the best checkpoint, with their intervals."""
    for name in HEADLINES:
        m = results["metrics"][name]
        found = [float(row[f"final/{name}{end}"]) for end in ("", "/low", "/high")]
        assert found == pytest.approx([m["value"], *m["ci95"]], abs=1e-12)


def require_epochs(rows: list[dict[str, Any]]) -> None:
    """One row per epoch, with values and intervals."""
    epochs = [row for row in rows if HEADLINES[0] in row]
    assert [int(float(row["epoch"])) for row in epochs] == [0, 1]
    for row in epochs:
        for name in HEADLINES:
            low, value, high = (float(row[name + end]) for end in ("/low", "", "/high"))
            assert low <= value <= high > low
        assert "accuracy/planted/majority/low" not in row, "it has no interval"


class Stop(Callback):
    """Ctrl-C before the second epoch."""

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.current_epoch == 1 and not trainer.fit_loop.restarting:
            raise KeyboardInterrupt


def test_csv_files_of_a_resumed_run_together_have_the_rows_of_an_undisturbed_run(tiny_bert: Path, tmp_path: Path):
    rows = {}
    for name, callbacks in (("whole", []), ("stopped", [Stop()])):
        trainer = {"accelerator": "cpu", "max_epochs": 2, "enable_progress_bar": False, "log_every_n_steps": 1}
        trainer["logger"] = CSVLogger(str(tmp_path / name))
        arguments = {"evaluations": ["accuracy", "attentiveness"], "output": tmp_path / name}
        with suppress(KeyboardInterrupt):
            heedful.train(small(tiny_bert), pairs(), trainer=trainer | {"callbacks": callbacks}, **arguments)
        if callbacks:
            trainer["logger"] = CSVLogger(str(tmp_path / name))
            heedful.train(resume=tmp_path / name, trainer=trainer | {"callbacks": [Callback()]})
        files = sorted((tmp_path / name / "lightning_logs").glob("version_*"))
        assert len(files) == 1 + len(callbacks)
        rows[name] = [row for file in files for row in csv_rows(file)]
    assert rows["stopped"] == rows["whole"]
    require_epochs(rows["whole"])
    require_final(rows["whole"][-1], results_of(tmp_path / "whole"))


def test_tensorboard_describes_tags_and_settings_and_has_no_bounds(tiny_bert: Path, tmp_path: Path):
    folder = trained(tiny_bert, tmp_path / "run")
    board = EventAccumulator(str(folder))
    board.Reload()
    assert HEADLINES[0] in board.Tags()["scalars"]
    assert not [tag for tag in board.Tags()["scalars"] if tag.endswith(("/low", "/high"))]
    assert "figures/attentiveness" in board.Tags()["images"]
    (event,) = board.Tensors("tags/text_summary")
    (text,) = event.tensor_proto.string_val
    rows = dict(row.strip("| ").split(" | ", 1) for row in text.decode().splitlines()[2:])
    assert rows.keys() == results_of(folder)["metrics"].keys()
    assert rows["attentiveness/planted/premise"].endswith("one part of the input comes from another example?")
    assert (
        rows["attentiveness/planted/premise/eligible"]
        == "eligible | share of the examples that count: with an answer that is not the default label"
    )
    settings = yaml.safe_load((folder / "hparams.yaml").read_text())
    assert (settings["settings.model.max_length"], settings["settings.data.n_train"], settings["epochs"]) == (64, 64, 2)


def contents(file: Path) -> Iterator[bytes]:
    """The records in a file of wandb: a log in the format of LevelDB, with blocks of 32 KiB, after 7 bytes."""
    content = file.read_bytes()
    place, whole = 7, b""
    while place + 7 <= len(content):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        _, length, kind = struct.unpack("<IHB", content[place : place + 7])
        whole += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # a whole record, or its last piece
            yield whole
            whole = b""


def test_wandb_has_each_curve_with_its_interval_and_the_figures_but_no_text(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    wandb = pytest.importorskip("wandb", reason="wandb is not installed: pip install heedful[wandb]")
    from wandb.proto.wandb_internal_pb2 import Record

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    try:
        logger = ["--trainer.logger", "WandbLogger", "--trainer.logger.save_dir", tmp_path / "run"]
        folder = trained(tiny_bert, tmp_path / "run", *logger)
    finally:
        wandb.teardown()  # its process writes the file to the end
    (file,) = folder.glob("wandb/offline-run-*/*.wandb")
    records = [Record.FromString(content) for content in contents(file)]
    items = [record.history.item for record in records if record.WhichOneof("record_type") == "history"]
    rows = [{i.key or ".".join(i.nested_key): json.loads(i.value_json) for i in several} for several in items]
    require_epochs(rows)
    (final,) = (row for row in rows if f"final/{HEADLINES[0]}" in row)
    require_final(final, results_of(folder))
    steps = [row["trainer/global_step"] for row in rows if "trainer/global_step" in row]
    assert steps == sorted(steps)
    assert [row["_step"] for row in rows] == list(range(len(rows)))
    assert sum("figures/attentiveness" in key for row in rows for key in row) >= 2
    sent = b"".join(path.read_bytes() for path in folder.glob("wandb/**/*") if path.suffix != ".png" and path.is_file())
    texts = [example.parts["premise"] for example in pairs(n_train=64, n_validation=24).load("validation")]
    assert any(text in (folder / "report.html").read_text() for text in texts)
    assert not [text for text in texts if text.encode() in sent], "no example leaves the machine"
