"""heedful page."""

import subprocess
import sys
from pathlib import Path

import pytest

from heedful.cli import command
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
    for code, words in {
        "too-few-runs": [],
        "missing-setting": [folder, other],
        "bad-setting": [folder, "-o", tmp_path / "a.png"],
        "not-a-run": [tmp_path],
    }.items():
        with refused(code):
            command.main(["page", *map(str, words)])
    with refused("missing-setting"):  # which would take the texts out of the page of the run
        command.main(["page", str(folder), "--without_examples"])


def test_it_needs_no_torch(folder, tmp_path):
    """Where the page of the run is there."""
    command.main(["page", str(folder)])
    code = f"""
import sys
from heedful.cli.command import main
main(["page", {str(folder)!r}, "-o", {str(tmp_path / "a.html")!r}])
assert not {{"torch", "pytorch_lightning", "transformers"}} & set(sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
