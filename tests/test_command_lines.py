"""The command that resumes a run, as its user would type it."""

import sys
from pathlib import Path

import pytest

from heedful.command_lines import resume_command
from heedful.records.task import SOFT


class Outside:
    """A class that does not belong to Heedful."""


@pytest.mark.parametrize(
    ("program", "begin"),
    [("/clone/train.py", "python train.py"), ("/bin/heedful", "heedful train"), ("own_script.py", "heedful train")],
)
def test_the_command_of_the_program_resumes_and_allows_packages(
    program: str, begin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [program, "train"])
    assert resume_command(Path("runs/a"), [SOFT]) == f"{begin} --resume runs/a"
    package = Outside.__module__.partition(".")[0]
    expected = f"{begin} --resume 'runs/a b' --allow_package {package}"
    assert resume_command(Path("runs/a b"), [SOFT, Outside()]) == expected
