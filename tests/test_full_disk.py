"""A disk that is full, or a folder that cannot be written to: one sentence, and earlier files stay whole."""

import errno
import os
import signal
from pathlib import Path

import pytest
import torch

from heedful.callbacks.checkpoints.files import AtomicCheckpointIO
from heedful.callbacks.outputs.run_folder import export
from heedful.cli.command import explanation
from heedful.datamodules import Planted
from heedful.lightning_modules import Encoder
from heedful.records import RunError, atomic_path, write_json, writing
from heedful.records.rows import save_rows, schema
from heedful.records.storage.results import LOCK

from refusals import refused, refused_output
from tiers import first_tier

LIMIT = 4096  # bytes that a file may have: a write beyond fails as on a full disk, even for root


def limited(act, limit=LIMIT) -> str:
    """The message of a command that does this in a forked process, where no file may be larger than the limit."""
    resource = pytest.importorskip("resource", reason="Windows limits no file")
    read, write_end = os.pipe()
    child = os.fork()
    if not child:
        message = "no error"
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            act()
        except Exception as error:
            mistake = explanation(error)
            message = f"train.py: {mistake}" if mistake else f"{type(error).__name__}: {error}"
        finally:
            os.write(write_end, message.encode())
            os._exit(0)
    os.close(write_end)
    os.waitpid(child, 0)
    with open(read, encoding="utf-8") as pipe:
        return pipe.read()


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
    "last.ckpt": lambda path: AtomicCheckpointIO().save_checkpoint({"a": torch.rand(10_000)}, path),
    "rows.parquet": write_rows,
    "figure.png": write_figure,
}


@pytest.mark.parametrize("name", first_tier(2, WRITERS))
def test_a_writer_refuses_a_full_disk_and_leaves_the_earlier_file(tmp_path, name):
    path = tmp_path / name
    for earlier in (None, "old"):
        if earlier:
            path.write_text(earlier)
        refused_output(limited(lambda: WRITERS[name](path), 0 if "figure" in name else LIMIT), f"{path} ")
        assert [file.read_text() for file in files(tmp_path)] == ([earlier] if earlier else [])


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for name, writer in WRITERS.items():
        with refused(RunError, tmp_path / "file" / name):
            writer(tmp_path / "file" / name)
    for number in (errno.EROFS, errno.EACCES, errno.ENOSPC):

        def refuse(*args, number=number, **kwargs):
            raise OSError(number, os.strerror(number), str(tmp_path / ".x.abc"))

        monkeypatch.setattr(Path, "touch", refuse)
        for name, writer in WRITERS.items():
            with refused(RunError, tmp_path / name, os.strerror(number)):
                writer(tmp_path / name)


def test_an_error_about_another_file_keeps_its_class(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "a" / "x"):
        Path("/nowhere/else").read_text()
    with pytest.raises(ValueError, match="wrong"), writing(tmp_path):
        raise ValueError("wrong")
    with pytest.raises(BrokenPipeError), writing(tmp_path):
        raise BrokenPipeError


@pytest.mark.parametrize("limit", [200, 4096, 40_000], ids=["config", "tokenizer", "weights"])
def test_an_exported_model_is_replaced_whole_or_not_at_all(tmp_path, tiny_bert, limit):
    module = Encoder(str(tiny_bert), max_length=64)
    module.bind(Planted(n_train=4, n_validation=4).task)
    module.configure_model()
    export(module, tmp_path, weights=True)
    modes = {path.name: path.stat().st_mode for path in (tmp_path / "checkpoints" / "backbone").iterdir()}
    assert modes["model.safetensors"] == modes["config.json"]
    before = files(tmp_path)
    with torch.no_grad():
        module.network.classifier.weight.add_(1)
    message = limited(lambda: export(module, tmp_path, weights=True), limit)
    refused_output(message, f"{tmp_path}/checkpoints/backbone ")
    assert files(tmp_path) == before
    export(module, tmp_path, weights=True)
    assert files(tmp_path).keys() == before.keys()
    assert files(tmp_path) != before


@pytest.mark.slow
def test_a_run_on_a_full_disk_is_one_sentence_and_leaves_no_half_file(forks, tiny_bert, tmp_path):
    """There is room for all but a checkpoint."""
    argv = ["--model.backbone", tiny_bert, "--model.max_length", "64", "--data.n_train", "32", "--data.n_validation"]
    argv += ["9", "--trainer.accelerator", "cpu", "--trainer.max_epochs", "1", "--output", tmp_path / "run"]
    statuses, out = forks.run(*argv, "--trainer.enable_progress_bar", "false", limit=40_000)
    assert statuses == [2], out
    best = tmp_path / "run" / "checkpoints" / "best.ckpt"
    refused_output(out, f"{best} ")
    assert "Traceback" not in out
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert "config.yaml" in names
    assert LOCK not in names
    assert [path.name for path in best.parent.iterdir()] == ["backbone"]
