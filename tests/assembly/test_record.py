"""Settings in files: what Python makes of them, and what it refuses."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import heedful
from heedful.assembly.record import completed, defaults, differences, file_record, merged, write_record
from heedful.cli import evaluation as evaluate
from heedful.cli import training as train
from heedful.records.storage.yaml_files import SettingsLoader, parse_yaml

from commands import run
from refusals import refused

ONCE = {"max_epochs": 1, "accelerator": "cpu", "enable_progress_bar": False, "log_every_n_steps": 1}


def files(folder: Path) -> dict[str, bytes]:
    """What a run has written, to the byte."""
    names = ["results.json", "config.yaml", "rows/accuracy.parquet", "rows/attentiveness.parquet"]
    return {name: (folder / name).read_bytes() for name in names}


@pytest.mark.slow
def test_the_configuration_of_a_run_makes_it_again_from_python_and_from_the_shell(
    tiny_bert: Path, tmp_path: Path
) -> None:
    model = heedful.load_model(tiny_bert, max_length=64)
    data = heedful.load_data("planted", n_train=16, n_validation=12)
    kinds = ["accuracy", "attentiveness"]
    first = heedful.train(model, data, trainer=ONCE, seed=3, output=tmp_path / "first", attentiveness={"draws": 2})
    config = first.folder / "config.yaml"
    again = heedful.train(config=config, output=tmp_path / "again")
    assert files(again.folder) == files(first.folder)
    run(train.main, "--config", config, "--output", tmp_path / "shell")
    assert {**files(tmp_path / "shell"), "config.yaml": b""} == {**files(first.folder), "config.yaml": b""}
    measured = heedful.evaluate(checkpoint=first.folder, evaluations=kinds, trainer={"enable_progress_bar": False})
    repeated = heedful.evaluate(config=measured.folder / "config.yaml", output=tmp_path / "measured")
    assert files(repeated.folder) == files(measured.folder)
    run(evaluate.main, "--config", measured.folder / "config.yaml", "--output", tmp_path / "by shell")
    assert (tmp_path / "by shell" / "results.json").read_bytes() == files(measured.folder)["results.json"]


def test_a_file_of_some_settings_stands_on_what_the_call_names(tiny_bert: Path, tmp_path: Path) -> None:
    file = tmp_path / "some.yaml"
    file.write_text(
        "trainer: {max_epochs: 1, accelerator: cpu, enable_progress_bar: false, log_every_n_steps: 1}\n"
        "seed_everything: 5\n"
        "data: {init_args: {n_train: 16, n_validation: 8}}\nmodel: {init_args: {max_length: 64, learning_rate: 1e-3}}\n"
        "attentiveness: {draws: 3}\n"
    )
    settings = {"evaluations": ["accuracy"], "attentiveness": {"max_examples": 9}, "output": tmp_path / "run"}
    with refused("idle-setting", "attentiveness"):
        heedful.train(str(tiny_bert), config=file, **settings)
    del settings["attentiveness"]
    folder = heedful.train(str(tiny_bert), config=file, **settings).folder
    record = parse_yaml((folder / "config.yaml").read_text(), "it", SettingsLoader)
    assert (record["seed_everything"], record["attentiveness"]["draws"]) == (5, 3)
    assert (record["data"]["init_args"]["n_train"], record["model"]["init_args"]["learning_rate"]) == (16, 0.001)
    assert record["trainer"]["max_epochs"] == 1


@pytest.mark.parametrize(
    ("text", "code", "fact"),
    [
        ("trainer: {max_epoch: 1}", "unknown-setting", "max_epochs"),
        ("modle: minilm", "unknown-setting", "line 1"),
        ("seed_everything: many", "bad-setting", "line 1"),
        ("data: {class_path: os.system}", "foreign-class", "os.system"),
        ("data: {class_path: Planted, init_args: {n_train: x}}", "bad-setting", "line 1"),
        ("resume: runs/x", "command-line-only", "resume"),
        ("allow_package: json", "command-line-only", "allow_package"),
        ("- 3", "bad-setting", "line 1"),
        ("a: [", "bad-yaml", "config"),
        ("seed_everything: 1\nseed_everything: 2", "bad-yaml", "twice"),
    ],
)
def test_a_file_with_a_mistake_is_refused(tmp_path: Path, text: str, code: str, fact: str) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    with refused(code, fact):
        heedful.train(config=file, output=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("evaluating", [False, True])
def test_defaults_are_a_whole_record(evaluating: bool, tmp_path: Path) -> None:
    write_record(defaults(evaluating), tmp_path / "config.yaml")
    text = (tmp_path / "config.yaml").read_text()
    assert parse_yaml(text, "it", SettingsLoader) == defaults(evaluating)
    kept = {name: value for name, value in defaults(evaluating).items() if value is not None}
    write_record(kept, tmp_path / "config.yaml")
    assert completed(file_record(str(tmp_path / "config.yaml"), evaluating), evaluating) == defaults(evaluating)
    assert differences(completed({}, evaluating), defaults(evaluating)) == {}


NAMES = st.sampled_from(["a", "b", "c"])
TREES = st.recursive(st.integers() | st.none(), lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=8)


@given(TREES, TREES)
def test_what_is_merged_has_all_of_the_second_and_else_the_first(before: Any, now: Any) -> None:
    def flat(tree: Any, place: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
        if not isinstance(tree, dict) or not tree:
            return {place: tree}
        return {name: leaf for key, inner in tree.items() for name, leaf in flat(inner, (*place, key)).items()}

    leaves = flat(merged(before, now))
    for place, leaf in flat(now).items():
        assert leaf == {} or leaves[place] == leaf
    for place, leaf in leaves.items():
        assert leaf in (flat(now).get(place, leaf), flat(before).get(place, leaf))


def test_settings_of_another_class_take_the_place_of_all() -> None:
    one = {"class_path": "A", "init_args": {"x": 1}}
    assert merged(one, {"init_args": {"y": 2}}) == {"class_path": "A", "init_args": {"x": 1, "y": 2}}
    assert merged(one, {"class_path": "B"}) == {"class_path": "B"}
