"""YAML that says one thing twice, is too large or is not YAML is refused in one sentence, with its line."""

import math
from pathlib import Path

import pytest
import yaml

from heedful.parser import Parser, dump
from heedful.records.storage.yaml_files import parse_yaml, read_yaml

from commands import guarded, prepared_job

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
        guarded(lambda: prepared_job(monkeypatch, argv))
    assert stopped.value.code == 2
    assert ("data.splits" if how == "value" else "bad.yaml") in capsys.readouterr().err


VALUES = {  # the core schema of YAML 1.2
    **{
        sign + text: float(sign + text)
        for sign in ("", "-", "+")
        for text in ("1.", "1.5", "1e5", "2e-5", "1E+5", ".5")
    },
    **{sign + text: int(sign + text) for sign in ("", "-", "+") for text in ("0", "1", "08", "010")},
    **{text: text for text in "12:30 1:2:3 1.2.3 1_000 1e 0b11 -0x1f yes No on off y = 2024-01-01 a".split()},
    "0o10": 8,
    "0x1F": 31,
    ".inf": math.inf,
    "-.INF": -math.inf,
    "~": None,
    "null": None,
    "true": True,
}


@pytest.mark.parametrize("text", VALUES)
def test_values_are_those_of_yaml_1_2_in_files_and_on_the_command_line(text: str) -> None:
    parser = Parser()
    parser.add_argument("--a", type=int | float | bool | str | None)
    on_command_line = parser.parse_object(parser.parse_args([f"--a={text}"])).a
    assert [repr(value) for value in (parse_yaml(f"[{text}]", "x")[0], on_command_line)] == [repr(VALUES[text])] * 2
    assert parse_yaml(dump({"a": text}), "x") == {"a": text}  # a text is quoted where needed


def test_yes_and_no_are_labels_and_only_true_and_false_are_booleans() -> None:
    assert parse_yaml("labels: {yes: [on], no: [off]}\nquoting: false\n", "a") == {
        "labels": {"yes": ["on"], "no": ["off"]},
        "quoting": False,
    }
