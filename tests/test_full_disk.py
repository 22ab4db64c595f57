"""A disk that is full, or a folder that cannot be written to: one sentence, and what was there before is whole."""

import errno
import os
import resource
import signal
from pathlib import Path

import pytest
import torch

from heedful.callbacks.checkpoints.files import AtomicCheckpointIO
from heedful.callbacks.outputs.run_folder import export
from heedful.cli.guard import explanation
from heedful.datamodules import Planted
from heedful.lightning_modules import Encoder
from heedful.records import RunError, atomic_path, write_json, writing
from heedful.records.rows import save_rows, schema
from heedful.records.storage.lock import LOCK

from refusals import refused, refused_output
from tiers import first_tier

LIMIT = 4096  # bytes that a file may have: a write beyond fails as on a full disk, whoever the user is


def limited(act, limit=LIMIT) -> str:
    """The line of a command that does this in a forked process whose files may not be larger than that."""
    read, write_end = os.pipe()
    child = os.fork()
    if not child:
        said = "no error"
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            act()
        except Exception as error:
            mistake = explanation(error)
            said = f"train.py: {mistake}" if mistake else f"{type(error).__name__}: {error}"
        finally:
            os.write(write_end, said.encode())
            os._exit(0)
    os.close(write_end)
    with open(read, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said


def files(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != LOCK}


def write_figure(path):
    from matplotlib.figure import Figure

    with atomic_path(path) as temporary:
        Figure(figsize=(9, 9)).savefig(temporary, format="png")


def write_rows(path):
    with atomic_path(path) as temporary:
        save_rows(temporary, schema(3).empty_table(), {"x": os.urandom(9000).hex()})


WRITERS = {
    "results.json": lambda path: write_json(path, ["x" * 100] * 1000),
    "rows.parquet": write_rows,
    "last.ckpt": lambda path: AtomicCheckpointIO().save_checkpoint({"a": torch.rand(10_000)}, path),
    "figure.png": write_figure,
}


@pytest.mark.parametrize("name", first_tier(2, WRITERS))
@pytest.mark.parametrize("there", [True, False])
def test_a_writer_says_so_and_leaves_what_was_there(tmp_path, name, there):
    path = tmp_path / name
    if there:
        path.write_text("old")
    before = files(tmp_path)
    said = limited(lambda: WRITERS[name](path), 0 if "figure" in name else LIMIT)
    refused_output(said, f"{path} ")
    assert files(tmp_path) == before


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, monkeypatch, number):
    def refuse(*args, **kwargs):
        raise OSError(number, os.strerror(number), str(tmp_path / ".x.abc"))

    monkeypatch.setattr(Path, "touch", refuse)
    for name, writer in WRITERS.items():
        with refused(RunError, tmp_path / name, os.strerror(number)):
            writer(tmp_path / name)


def test_a_folder_below_a_file_is_named(tmp_path):
    (tmp_path / "file").touch()
    for name, writer in WRITERS.items():
        with refused(RunError, tmp_path / "file" / name):
            writer(tmp_path / "file" / name)


def test_an_error_about_another_file_stays_what_it_is(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "a" / "x"):
        Path("/nowhere/else").read_text()
    with pytest.raises(ValueError, match="wrong"), writing(tmp_path):
        raise ValueError("wrong")
    with pytest.raises(BrokenPipeError), writing(tmp_path):
        raise BrokenPipeError


@pytest.fixture
def module(tiny_bert):
    made = Encoder(str(tiny_bert), max_length=64)
    made.prepare(Planted(n_train=4, n_validation=4).task)
    made.configure_model()
    return made


@pytest.mark.parametrize("limit", [200, 4096, 40_000])
def test_an_exported_model_is_replaced_whole_or_not_at_all(tmp_path, module, limit):
    """At the config, at the tokenizer, at the weights."""
    export(module, tmp_path, weights=True)
    modes = {path.name: path.stat().st_mode for path in (tmp_path / "checkpoints" / "backbone").iterdir()}
    assert modes["model.safetensors"] == modes["config.json"]
    before = files(tmp_path)
    with torch.no_grad():
        module.network.classifier.weight.add_(1)
    said = limited(lambda: export(module, tmp_path, weights=True), limit)
    refused_output(said, f"{tmp_path}/checkpoints/backbone ")
    assert files(tmp_path) == before
    export(module, tmp_path, weights=True)
    assert files(tmp_path).keys() == before.keys()
    assert files(tmp_path) != before


@pytest.mark.slow
def test_a_run_on_a_full_disk_is_one_sentence_and_what_it_had_is_whole(forks, tiny_bert, tmp_path):
    """There is room for all but a checkpoint."""
    argv = ["--model.backbone", tiny_bert, "--model.max_length", "64", "--data.n_train", "32", "--data.n_validation"]
    argv += ["9", "--trainer.accelerator", "cpu", "--trainer.max_epochs", "1", "--output", tmp_path / "run"]
    statuses, out = forks.run(*argv, "--trainer.enable_progress_bar", "false", limit=40_000)
    assert statuses == [2], out
    best = tmp_path / "run" / "checkpoints" / "best.ckpt"
    refused_output(out, f"{best} ")
    assert "Traceback" not in out
    left = {path.name for path in (tmp_path / "run").iterdir()}
    assert "config.yaml" in left
    assert LOCK not in left
    assert [path.name for path in best.parent.iterdir()] == ["backbone"]
