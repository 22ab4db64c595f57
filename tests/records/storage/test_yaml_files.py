"""YAML that says one thing twice, is too large or is not YAML is refused in one sentence, with its line."""

from pathlib import Path

import pytest
import yaml
from jsonargparse import get_loader

from heedful.cli import guard as mistakes
from heedful.records.storage.yaml_files import parse_yaml, read_yaml

from commands import plan_of

TWICE = "a: 1\nb: {c: 1, d: 2,\n c: 3}"


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[3] / "configs").rglob("*.yaml")), ids=lambda p: p.stem)
def test_the_configurations_of_heedful_are_read_as_they_are(path: Path) -> None:
    assert read_yaml(str(path), "a") == yaml.safe_load(path.read_text())


@pytest.mark.parametrize("how", ["--config", "--data", "--model", "value", "nested"])
def test_wherever_the_command_line_takes_yaml_no_key_stands_twice(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text(TWICE)
    argv = [how, "bad.yaml"]
    if how == "value":
        argv = ["--data", "rte", "--data.splits", "{c: 1, d: 2, c: 3}"]
    if how == "nested":
        Path("outer.yaml").write_text("data: bad.yaml\n")
        argv = ["--config", "outer.yaml"]
    with pytest.raises(SystemExit) as stopped:
        mistakes.guarded(lambda: plan_of(monkeypatch, argv))
    assert stopped.value.code == 2
    assert ("data.splits" if how == "value" else "bad.yaml") in capsys.readouterr().err


SIGNS = ("", "-", "+")
NUMBERS = ("1", "1.", "1.5", "1e5", "1e-5", "1E+5", "1.0e-5")
OTHERS = (".5", ".5e-5", ".inf", ".Inf", ".nan", "-.nan", "e5", "1e", "0x1f", "2024-01-01", "~", "null", "1.2.3", "a")


@pytest.mark.parametrize("text", [*(sign + number for sign in SIGNS for number in NUMBERS), *OTHERS, "-.inf", "+.INF"])
def test_settings_have_the_numbers_of_the_command_line(text: str) -> None:
    found = parse_yaml(f"[{text}]", "x")
    assert repr(found) == repr(get_loader("yaml")(f"[{text}]"))


def test_yes_and_no_are_labels_and_only_true_and_false_are_booleans() -> None:
    assert parse_yaml("labels: {yes: [on], no: [off]}\nquoting: false\n", "a") == {
        "labels": {"yes": ["on"], "no": ["off"]},
        "quoting": False,
    }
