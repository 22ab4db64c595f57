"""A folder has one process that writes into it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from heedful.records import RunError
from heedful.records.storage.lock import LOCK, locked

from refusals import refused


def test_another_process_is_kept_out(tmp_path: Path, lock_elsewhere: Callable[[Path], int]) -> None:
    lock_elsewhere(tmp_path / "run")
    with refused(RunError, "output run: another process"), locked(tmp_path / "run", "output run"):
        raise AssertionError


def test_the_lock_goes_and_what_is_written_stays(tmp_path: Path) -> None:
    with locked(tmp_path / "a" / "run"):
        assert (tmp_path / "a" / "run" / LOCK).is_file()
        (tmp_path / "a" / "run" / "config.yaml").touch()
    assert [path.name for path in (tmp_path / "a" / "run").iterdir()] == ["config.yaml"]


def test_folders_that_were_made_and_are_empty_go(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for folder in (tmp_path / "mine", tmp_path / "a" / "b" / "run"):
        with pytest.raises(KeyError), locked(folder):
            raise KeyError
    assert [path.name for path in tmp_path.rglob("*")] == ["mine"]
