"""Every module that is a command says with --help what it does and what it takes."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "heedful" / "reports").rglob("*.py")
    if "__main__" in path.read_text()
)


def test_there_are_commands() -> None:
    assert {"heedful.reports.compare", "heedful.reports.rescore", "heedful.reports.inoculation"} <= set(COMMANDS)


def test_help_says_where_the_figure_goes(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit):
        importlib.import_module("heedful.reports.partial_figure").main(["--help"])
    assert "(default: partial_inputs.png)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_what_it_does(command: str, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as stopped:
        importlib.import_module(command).main(["--help"])
    assert stopped.value.code == 0
    told = capsys.readouterr().out
    assert told.startswith(f"usage: python -m {command.removesuffix('.__main__')} ")
    assert "[RUN ...]" in told or "[EVALUATION ...]" in told
    assert len(told.split("\n\n")[1]) > 10, "what it does"
    assert "`" not in told, "marks of a docstring are not for a terminal"
    assert not told.split("\n\n")[1].startswith("With"), "its first words say what it does"
