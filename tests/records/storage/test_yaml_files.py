"""YAML that says one thing twice, is too large or is not YAML is refused in one sentence, with its line."""

from pathlib import Path

import pytest
import yaml
from jsonargparse import get_loader

from heedful.cli import guard as mistakes
from heedful.records import DataError, SettingError
from heedful.records.storage.yaml_files import parse_yaml, read_yaml

from commands import plan_of
from refusals import refused

TWICE = "a: 1\nb: {c: 1, d: 2,\n c: 3}"
BAD = {
    "twice": (TWICE, "'c'", "line 3"),
    "twice, in quotes": ("a: 1\n'a': 2", "'a'", "line 2"),
    "twice, in a list": ("- [{x: 1}, {y: 1, y: 1}]", "'y'", "line 1"),
    "a list as a key": ("? [1, 2]\n: a", "line 1"),
    "open": ("a: [1, 2", "line 2"),
    "tag": ("!!python/object/apply:os.system [x]", "os.system"),
}


@pytest.mark.parametrize("name", BAD)
def test_yaml_that_is_not_valid_is_refused(name: str, tmp_path: Path) -> None:
    text, *facts = BAD[name]
    (tmp_path / "a.yaml").write_text(text)
    with refused(SettingError, "config a.yaml ", *facts):
        read_yaml(str(tmp_path / "a.yaml"), "--config a.yaml")


def test_other_encodings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes("a: é".encode("latin-1"))
    with refused(DataError, "a "):
        read_yaml(str(path), "a")


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[3] / "configs").rglob("*.yaml")), ids=lambda p: p.stem)
def test_the_configurations_of_heedful_are_read_as_they_are(path: Path) -> None:
    assert read_yaml(str(path), "a") == yaml.safe_load(path.read_text())


def test_aliases_and_keys_of_other_places_are_fine() -> None:
    text = "a: &a {x: 1}\nb: &b {<<: *a, x: 2, y: 2}\nc: [*a, *a, {<<: *b, x: 1}, {x: 2}]\n1: i\n'1': s\n"
    assert parse_yaml(text, "a") == yaml.safe_load(text)
    assert parse_yaml("", "a") is None


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
