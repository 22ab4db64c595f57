"""YAML that stands for too much, that is no file, or that says one thing twice is refused in one sentence, and soon."""

import os
import sys
from pathlib import Path

import pytest
import yaml

from heedful.cli import messages as mistakes
from heedful.cli.app import HeedfulCLI
from heedful.cli.short_forms import expand
from heedful.records import HeedfulError
from heedful.records.storage.yaml_files import LARGEST, MOST_VALUES, parse_yaml, read_yaml

LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60))
MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: *a{i - 1}, k{i}: {{<<: *a{i - 1}}}}}\n" for i in range(1, 40))
BAD = {
    "aliases": (LAUGHS, f"stands for more than {MOST_VALUES:,} values, aliases"),
    "merges": (MERGES, "stands for more than"),
    "itself": ("a: &a [1, *a]", "holds a value that contains itself"),
    "lists": ("[" * 200 + "]" * 200, "is nested more than 100 deep"),
    "very deep": ("[" * 10**6, "is nested more than 100 deep"),
    "mappings": ("{a: " * 200 + "}" * 200, "is nested more than 100 deep"),
    "values": ("[" + "1, " * (MOST_VALUES + 1) + "]", "stands for more than"),
    "twice": ("a: 1\nb: {c: 1, d: 2,\n c: 3}", r"is not valid YAML: the key 'c' stands twice in one place \(line 3\)"),
    "date": ("a: 2020-13-45", "is not valid YAML"),
    "open": ("a: [1, 2", r"is not valid YAML: .* \(line 2\)"),
    "tag": ("!!python/object/apply:os.system [x]", "is not valid YAML: could not determine a constructor"),
}


@pytest.mark.parametrize("name", BAD)
def test_yaml_that_stands_for_too_much_is_refused(name: str, tmp_path: Path) -> None:
    text, message = BAD[name]
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(HeedfulError, match=f"--config a.yaml {message}") as caught:
        read_yaml(str(tmp_path / "a.yaml"), "--config a.yaml")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_other_things_than_files_of_settings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: " + b"x" * LARGEST)
    with pytest.raises(HeedfulError, match="has more than 4 MiB, and should be a file of settings"):
        read_yaml(str(path), "a")
    path.write_bytes("a: é".encode("latin-1"))
    with pytest.raises(HeedfulError, match="it is not UTF-8"):
        read_yaml(str(path), "a")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(HeedfulError, match="is a named pipe, and should be a file"):
        read_yaml(str(path), "a")


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[1] / "configs").rglob("*.yaml")), ids=lambda p: p.stem)
def test_the_configurations_of_heedful_are_read_as_before(path: Path) -> None:
    assert read_yaml(str(path), "a") == yaml.safe_load(path.read_text())


def test_aliases_and_keys_of_other_places_are_fine() -> None:
    text = "a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: [*a, *a, {x: 1}, {x: 2}]\n1: i\n'1': s\n"
    assert parse_yaml(text, "a") == yaml.safe_load(text)


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], argv: list[str]) -> str:
    monkeypatch.setattr(sys, "argv", ["train.py", *argv])
    monkeypatch.setattr(HeedfulCLI, "instantiate_trainer", lambda self: None)
    with pytest.raises(SystemExit) as stopped:
        mistakes.guarded(lambda: HeedfulCLI(False, folder=None, args=expand(argv)))
    assert stopped.value.code == 2
    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("train.py: "))
    return line


@pytest.mark.parametrize("how", ["--config", "--data", "--model", "--trainer", "--data.hub", "value", "nested"])
def test_wherever_the_command_line_takes_yaml_it_is_bounded(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files that the parser opens by itself included."""
    bad = tmp_path / "bad.yaml"
    bad.write_text(LAUGHS)
    argv = [how, str(bad)]
    if how == "value":
        argv = ["--data.splits", "{" + LAUGHS.strip().replace("\n", ", ") + "}"]
    if how == "nested":
        (tmp_path / "outer.yaml").write_text(f"data: {bad}\n")
        argv = ["--config", str(tmp_path / "outer.yaml")]
    if how.startswith("--data."):
        argv = ["--data", "rte", *argv]
    assert "stands for more than 100,000 values" in refused(monkeypatch, capsys, argv)


@pytest.mark.parametrize("flag", ["--config", "--data", "--trainer", "--data.path", "--data.hub=", "--checkpoint"])
def test_a_named_pipe_as_an_argument_is_not_waited_for(
    flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(pipe := tmp_path / "pipe.yaml")
    argv = [f"{flag}{pipe}"] if flag.endswith("=") else [flag, str(pipe)]
    assert "is a named pipe, and should be a file" in refused(monkeypatch, capsys, argv)
