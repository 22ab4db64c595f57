"""Suites as files describe them: which steps they take, in which order, and what is refused."""

from pathlib import Path

import pytest

from heedful.cli.suite.plan import EVALUATE, RANK, TRAIN, Suite
from heedful.records import SettingError
from heedful.rooms import folder

from refusals import refused

TWO = """
train: --common 1
evaluate: --data 'set of data' --data.path $DATA/x
attributions: --attributions.samples 8
ranking: --n 5
sets:
  one: {evaluate: "--where '{a: b}'"}
  two:
models:
  base: --steps 0
  more: {from: base, train: --steps 2}
"""
QUIET = ("--trainer.enable_progress_bar", "false")


def suite(tmp_path: Path, text: str, data: str | None = "/data dir") -> Suite:
    path = tmp_path / "own.yaml"
    path.write_text(text)
    return Suite(path, data)


def test_models_are_trained_once_and_measured_on_each_set(tmp_path):
    steps = suite(tmp_path, TWO).steps(Path("out"))
    assert [(step.kind, step.name) for step in steps] == [
        (TRAIN, "base"),
        (EVALUATE, "one/base"),
        (TRAIN, "more"),
        (EVALUATE, "one/more"),
        (EVALUATE, "two/base"),
        (EVALUATE, "two/more"),
        (RANK, "own"),
    ]
    train, evaluate, ranking = steps[2], steps[3], steps[-1]
    assert train.settings == ("--common", "1", "--steps", "2", *QUIET)
    assert (train.folder, train.needs) == (Path("out/models/more"), Path("out/models/base"))
    measured = ("--data", "set of data", "--data.path", "/data dir/x", "--where", "{a: b}")
    assert evaluate.settings == (
        *measured,
        "--attributions.samples",
        "8",
        "--evaluations",
        "accuracy,attributions",
        *QUIET,
    )
    assert (evaluate.folder, evaluate.needs) == (Path("out/one/more"), Path("out/models/more"))
    assert ranking.settings == ("--n", "5")


def test_a_set_with_settings_for_training_has_models_of_its_own(tmp_path):
    text = TWO.replace("two:", "two: {train: --task t}")
    steps = {step.name: step for step in suite(tmp_path, text).steps(Path("out"))}
    assert {name for name, step in steps.items() if step.kind == TRAIN} == {"base", "more", "two-base", "two-more"}
    assert steps["two-more"].settings == ("--common", "1", "--task", "t", "--steps", "2", *QUIET)
    assert steps["two-more"].needs == Path("out/models/two-base")
    assert steps["two/more"].needs == Path("out/models/two-more")
    assert steps["one/more"].needs == Path("out/models/more")


def test_two_models_never_share_a_folder(tmp_path):
    text = TWO.replace("two:", "two: {train: --task t}").replace("more:", "two-base: --steps 1\n  more:")
    with refused(SettingError, "own.yaml", "two-base", "out/models"):
        suite(tmp_path, text).steps(Path("out"))


def test_without_attributions_nothing_is_ranked(tmp_path):
    steps = suite(tmp_path, TWO).steps(Path("out"), "accuracy")
    assert RANK not in {step.kind for step in steps}
    assert steps[1].settings[-4:] == ("--evaluations", "accuracy", *QUIET)
    assert "--attributions.samples" not in steps[1].settings


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("train: --common 1", "trian: --common 1", (SettingError, "'trian'", "train, evaluate")),
        ("two:", "two: {eval: --x}", (SettingError, "sets: two", "'eval'", "train, evaluate")),
        ("  two:\n", "  models: {}\n", (SettingError, "'models'")),
        ("  two:\n", "  a/b: {}\n", (SettingError, "'a/b'")),
        ("from: base", "from: bass", (SettingError, "more", "'bass'")),
        ("base: --steps 0", "base: {from: more, train: --x}", (SettingError, "base", "more", "begins from it")),
        ("base: --steps 0", "base: 3", (SettingError, "models: base")),
        ("base: --steps 0", "base: --steps 0\n  twin: --steps 0", (SettingError, "base", "twin")),
        ("base: --steps 0", "base: --x '", (SettingError, "models: base", "quotation")),
        ("train: --common 1", "train: --trainer.num_nodes=2", (SettingError, "train has --trainer.num_nodes")),
        ("--steps 2", "--trainer.num_nodes 2", (SettingError, "models: more: train has --trainer.num_nodes")),
        (TWO[TWO.index("models:") :], "models: {}", (SettingError, "models")),
        (TWO[TWO.index("models:") :], "", (SettingError, "models")),
    ],
)
def test_mistakes_are_named(tmp_path, old, new, expected):
    with refused(*expected, "own.yaml"):
        suite(tmp_path, TWO.replace(old, new))


def test_data_must_be_named_where_they_are_read(tmp_path):
    with refused(SettingError, "own.yaml", "data_path"):
        suite(tmp_path, TWO, data=None)


@pytest.mark.parametrize(("name", "models", "sets"), [("msgs", 18, 3), ("hans", 6, 2), ("paws", 6, 1)])
def test_the_suites_of_the_paper(name, models, sets):
    steps = Suite(folder("configs") / "suite" / f"{name}.yaml", "/d").steps(Path("out"))
    kinds = [step.kind for step in steps]
    assert [kinds.count(kind) for kind in (TRAIN, EVALUATE, RANK)] == [models, 6 * sets, 1]
    before: set[Path] = set()
    for step in steps:
        assert step.needs is None or step.needs in before
        before.add(step.folder)


def test_no_suite_is_left_untested():
    assert {path.stem for path in (folder("configs") / "suite").iterdir()} == {"msgs", "hans", "paws"}
