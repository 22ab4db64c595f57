"""What a run recorded of its files."""

from pathlib import Path

import pytest

from heedful.records import RunError, write_json
from heedful.records.storage import run_files
from heedful.records.storage.run_files import hashes_of, require_config, require_exported, require_files

from refusals import refused

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # sha256 of no byte


@pytest.fixture
def run(tmp_path: Path) -> Path:
    backbone = tmp_path / "checkpoints" / "backbone"
    backbone.mkdir(parents=True)
    for path in (backbone / "config.json", tmp_path / "checkpoints" / "best.ckpt", tmp_path / "config.yaml"):
        path.touch()
    (backbone / ".hidden").touch()
    return tmp_path


def test_the_hashes_of_a_run_are_those_of_its_files(run: Path) -> None:
    best = run / "checkpoints" / "best.ckpt"
    assert hashes_of(run) == {"checkpoints/backbone/config.json": EMPTY}
    assert hashes_of(run, [best]) == {"checkpoints/backbone/config.json": EMPTY, "checkpoints/best.ckpt": EMPTY}


def test_files_of_which_nothing_is_recorded_are_left_alone(run: Path) -> None:
    write_json(run / "run.json", {"schema": 6, "finished": "2026-01-01T00:00:00+00:00"})
    require_exported(run / "checkpoints" / "backbone")
    require_files(run, ["checkpoints/best.ckpt"])
    require_config(run)
    (run / "run.json").unlink()
    (run / "config.yaml").unlink()
    require_exported(run / "checkpoints" / "backbone")  # a model folder that happens to be called so


def test_files_of_a_run_are_those_that_it_wrote(run: Path) -> None:
    backbone = run / "checkpoints" / "backbone"
    with refused(RunError, run / "run.json"):
        require_exported(backbone)
    write_json(run / "run.json", {"schema": 7, "finished": "x", "files": hashes_of(run)})
    require_exported(backbone)
    (backbone / "added.json").touch()
    with refused(RunError, "checkpoints/backbone/added.json"):
        require_exported(backbone)
    (backbone / "config.json").write_text("{}")
    with refused(RunError, backbone / "config.json", "sha256"):
        require_exported(backbone)
    (backbone / "config.json").unlink()
    with refused(RunError, backbone / "config.json"):
        require_exported(backbone)


@pytest.mark.parametrize("about", [{"written": 7, "finished": "x"}, {"files": [1]}])
def test_a_finished_run_recorded_its_files(run: Path, monkeypatch: pytest.MonkeyPatch, about: dict) -> None:
    (run / "run.json").touch()
    monkeypatch.setattr(run_files, "read_run", lambda folder: about)
    with refused(RunError, run / "run.json", "'files'"):
        require_exported(run / "checkpoints" / "backbone")


def test_any_start_of_the_run_may_have_written_its_settings(run: Path) -> None:
    write_json(run / "run.json", {"schema": 7, "config": "a", "resumed": [{"config": "b"}, {"config": EMPTY}]})
    require_config(run)
    (run / "config.yaml").write_text("edited: 1")
    with refused(RunError, run / "config.yaml"):
        require_config(run)
