"""CSV files and Weights & Biases have each curve with both ends of its interval, as the run measured them."""

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
from heedful.assembly import trainers
from heedful.cli.training import main

from commands import results_of, run

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

ARGUMENTS = ["--model.max_length", 64, "--data.n_train", 64, "--data.n_validation", 24, "--trainer.max_epochs", 2]
EACH_STEP = {"log_every_n_steps": 1}
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
    """A row an epoch, in which value and interval stand together."""
    epochs = [row for row in rows if HEADLINES[0] in row]
    assert [int(float(row["epoch"])) for row in epochs] == [0, 1]
    for row in epochs:
        for name in HEADLINES:
            assert float(row[f"{name}/low"]) <= float(row[name]) <= float(row[f"{name}/high"])
            assert float(row[f"{name}/low"]) < float(row[f"{name}/high"])
        assert "accuracy/planted/majority/low" not in row, "it has no interval"


def test_a_csv_file_is_in_the_folder_of_the_run_and_has_a_row_an_epoch(tiny_bert: Path, tmp_path: Path):
    folder = trained(tiny_bert, tmp_path / "run", "--trainer.logger", "CSVLogger")
    rows = csv_rows(folder / "lightning_logs" / "version_0")
    require_epochs(rows)
    require_final(rows[-1], results_of(folder))
    steps = [int(row["step"]) for row in rows]
    assert steps == sorted(steps)


def test_the_settings_of_such_a_run_make_another_one_that_writes_into_its_own_folder(tiny_bert, tmp_path):
    first = trained(tiny_bert, tmp_path / "run", "--trainer.logger", "CSVLogger")
    run(main, "--config", first / "config.yaml", "--output", tmp_path / "again")
    assert csv_rows(tmp_path / "again" / "lightning_logs" / "version_0")
    assert not (first / "lightning_logs" / "version_1").exists()


class Stop(Callback):
    """Ctrl-C before the second epoch."""

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.current_epoch == 1 and not trainer.fit_loop.restarting:
            raise KeyboardInterrupt


def test_a_run_that_goes_on_writes_the_rest_into_a_file_of_its_own(tiny_bert: Path, tmp_path: Path):
    """Together both have the rows of a run that was not stopped, each epoch once."""
    rows = {}
    for name, callbacks in (("whole", []), ("stopped", [Stop()])):
        logger = CSVLogger(str(tmp_path / name))
        trainer = {"accelerator": "cpu", "max_epochs": 2, "enable_progress_bar": False, "logger": logger} | EACH_STEP
        made = {"evaluations": ["accuracy", "attentiveness"], "output": tmp_path / name}
        with suppress(KeyboardInterrupt):
            heedful.train(small(tiny_bert), pairs(), trainer=trainer | {"callbacks": callbacks}, **made)
        if callbacks:
            trainer["logger"] = CSVLogger(str(tmp_path / name))
            heedful.train(resume=tmp_path / name, trainer=trainer | {"callbacks": [Callback()]})
        files = sorted((tmp_path / name / "lightning_logs").glob("version_*"))
        assert len(files) == 1 + len(callbacks)
        rows[name] = [row for file in files for row in csv_rows(file)]
    assert rows["stopped"] == rows["whole"]
    require_epochs(rows["whole"])


def test_a_named_folder_is_kept(tiny_bert: Path, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    named = ["--trainer.logger", "CSVLogger", "--trainer.logger.save_dir", elsewhere]
    folder = trained(tiny_bert, tmp_path / "run", *named)
    assert (elsewhere / "lightning_logs" / "version_0" / "metrics.csv").is_file()
    assert not (folder / "lightning_logs").exists()


def test_tensorboard_has_no_more_tags_than_before(tiny_bert: Path, tmp_path: Path):
    """Its intervals are in its figures, and its tags are names of results.json."""
    folder = trained(tiny_bert, tmp_path / "run", "--trainer.logger", "TensorBoardLogger")
    board = EventAccumulator(str(folder / "lightning_logs" / "version_0"))
    board.Reload()
    assert HEADLINES[0] in board.Tags()["scalars"]
    assert not [tag for tag in board.Tags()["scalars"] if tag.endswith(("/low", "/high"))]
    assert "figures/attentiveness" in board.Tags()["images"]


def test_tensorboard_says_what_each_tag_is_and_which_settings_a_run_has(tiny_bert: Path, tmp_path: Path):
    folder = trained(tiny_bert, tmp_path / "run")
    board = EventAccumulator(str(folder))
    board.Reload()
    (event,) = board.Tensors("tags/text_summary")
    (text,) = event.tensor_proto.string_val
    rows = dict(row.strip("| ").split(" | ", 1) for row in text.decode().splitlines()[2:])
    assert rows.keys() == results_of(folder)["metrics"].keys()
    assert rows["attentiveness/planted/premise"].endswith("replaced by that of another example?")
    assert rows["attentiveness/planted/premise/eligible"] == "eligible | share not predicted as the default label"
    settings = yaml.safe_load((folder / "hparams.yaml").read_text())
    assert settings["settings.model.max_length"] == 64
    assert settings["settings.data.n_train"] == 64
    assert settings["epochs"] == 2


def records(file: Path) -> Iterator[bytes]:
    """What a file of wandb holds: a log as LevelDB's, of blocks of 32 KiB, behind a header of seven bytes."""
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
        if kind in (1, 4):  # whole, or the last piece
            yield whole
            whole = b""


def test_wandb_has_each_curve_with_its_interval_and_the_figures(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    wandb = pytest.importorskip("wandb", reason="wandb is not installed: pip install heedful[wandb]")
    from wandb.proto.wandb_internal_pb2 import Record

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    try:
        folder = trained(tiny_bert, tmp_path / "run", "--trainer.logger", "WandbLogger")
    finally:
        wandb.teardown()  # its process writes the file to the end
    (file,) = folder.glob("wandb/offline-run-*/*.wandb")
    rows = []
    for content in records(file):
        record = Record.FromString(content)
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            rows.append({item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in items})
    require_epochs(rows)
    (final,) = (row for row in rows if f"final/{HEADLINES[0]}" in row)
    require_final(final, results_of(folder))
    steps = [row["trainer/global_step"] for row in rows if "trainer/global_step" in row]
    assert steps == sorted(steps)
    assert [row["_step"] for row in rows] == list(range(len(rows)))
    assert sum("figures/attentiveness" in key for row in rows for key in row) >= 2
    sent = b"".join(path.read_bytes() for path in folder.glob("wandb/**/*") if path.suffix != ".png" and path.is_file())
    texts = [example.parts["premise"] for example in pairs(n_train=64, n_validation=24).load("validation")]
    page = (folder / "report.html").read_text()
    assert any(text in page for text in texts)
    assert not [text for text in texts if text.encode() in sent], "no example leaves the machine"


def test_a_logger_of_somebody_else_stays_what_it_is(tmp_path: Path):
    mine = CSVLogger(tmp_path / "mine")
    trainer = trainers.make_trainer([], {"logger": mine, "enable_progress_bar": False}, False, folder=tmp_path / "run")
    assert trainer.loggers == [mine]
