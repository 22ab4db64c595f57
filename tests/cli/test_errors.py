"""The message of a failed command is about the error that ended it."""

import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from heedful.cli import command
from heedful.cli.command import explanation
from heedful.records import DataError, ModelError

from commands import guarded

ROWS = "a,b\n" + "".join(f"x {k},y {k}\n" for k in range(12))
FAULTY = {
    "import": ("limit = 1 // 0\n\n\ndef predict(rows): ...\n", "own_faulty.py:predict cannot be imported", ", line 1,"),
    "call": ("def predict(rows):\n    return [row['c'] for row in rows]\n", "raised KeyError", ", line 2, in predict"),
}


def raised(error: Exception, handled: Exception, cause: Exception | None = None) -> Exception:
    """An exception as it is after it was raised while another one was handled."""
    try:
        try:
            raise handled
        except Exception:
            raise error from cause
    except Exception as final:
        return final


def test_an_error_that_was_handled_is_not_the_message() -> None:
    assert explanation(raised(KeyError("a bug"), handled=DataError("handled"))) is None
    assert explanation(raised(KeyError(), ValueError(), cause=DataError("the cause"))) == "the cause"
    lost = torch.distributed.DistNetworkError
    assert explanation(raised(lost("lost"), handled=ModelError("the first error"))) == "the first error"
    assert str(explanation(lost("lost"))).startswith("Another process of this command ended")


@pytest.mark.parametrize("moment", FAULTY)
def test_the_code_of_the_user_keeps_its_traceback(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source, message, place = FAULTY[moment]
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_faulty", raising=False)
    Path("own_faulty.py").write_text(source)
    Path("rows.csv").write_text(ROWS)
    words = ["measure", "own_faulty.py:predict", "rows.csv", "--parts", "a,b", "--default_label", "no"]
    with pytest.raises(SystemExit) as stop:
        guarded(lambda: command.main(words))
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert f'own_faulty.py"{place}' in err
    assert message in err.splitlines()[-1]


def test_an_unknown_module_or_function_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own_empty.py").touch()
    for name in ("own_none:predict", "own_empty:predict"):
        with pytest.raises(SystemExit):
            guarded(partial(command.main, ["measure", name, "rows.csv"]))
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{name} cannot be imported" in line
