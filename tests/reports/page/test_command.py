"""heedful page."""

import subprocess
import sys
from pathlib import Path

import pytest

from heedful.cli import command
from heedful.records import RunError, SettingError
from heedful.reports.page.writing import REPORT

import paged_runs
from refusals import refused

pytestmark = pytest.mark.slow  # programs that are started anew

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path):
    return paged_runs.saved(tmp_path / "run", paged_runs.rows())


def test_it_writes_where_it_says(folder, tmp_path, capsys):
    command.main(["page", str(folder)])
    assert capsys.readouterr().out == f"in {folder / REPORT}\n"
    command.main(["page", str(folder), "-o", str(tmp_path / "a.html"), "--without_examples"])
    assert (tmp_path / "a.html").stat().st_size < (folder / REPORT).stat().st_size


def test_what_it_cannot_do_is_said(folder, tmp_path):
    other = paged_runs.saved(tmp_path / "other", paged_runs.rows(28))
    for error, words in (
        (RunError, []),
        (SettingError, [folder, other]),
        (SettingError, [folder, "-o", tmp_path / "a.png"]),
        (RunError, [tmp_path]),
    ):
        with refused(error):
            command.main(["page", *map(str, words)])


def test_it_needs_no_torch(folder, tmp_path):
    command.main(["page", str(folder)])
    code = f"""
import sys
from heedful.cli.command import main
main(["page", {str(folder)!r}, "-o", {str(tmp_path / "a.html")!r}])
assert not {{"torch", "pytorch_lightning", "transformers"}} & set(sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
