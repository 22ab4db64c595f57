"""Folders that are no run stay as they are."""

from pathlib import Path

import pytest

import heedful
from heedful.records import RunError
from heedful.records.storage.results import CONFIG, RUN

from refusals import refused


@pytest.mark.parametrize("kept", ["report.html", CONFIG, "rows/accuracy.parquet", ".hidden"])
def test_ckpt_path_last_writes_into_no_folder_without_run_json(tmp_path: Path, kept: str) -> None:
    folder = tmp_path / "mine"
    (folder / kept).parent.mkdir(parents=True)
    (folder / kept).write_text("model: bert\n")
    kept_by = f"resume {folder} is not a run" if kept == CONFIG else f"output {folder} is not empty"
    with refused(RunError, kept_by, RUN if kept == CONFIG else kept.partition("/")[0]):
        heedful.train(output=folder, ckpt_path="last")
    assert [path for path in folder.rglob("*") if path.is_file()] == [folder / kept]
    (folder / CONFIG).touch()
    with refused(RunError, f"resume {folder}", RUN):
        heedful.train(resume=folder)
