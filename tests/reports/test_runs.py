"""Names and labels of the runs in folders of results."""

from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from heedful.records import RunError
from heedful.records.storage.named_configs import config_path, names, short_name
from heedful.records.storage.run_settings import run_settings
from heedful.reports.runs import columns, read_runs, short_names

import written_results
from refusals import refused
from written_results import configured


def test_regimes_stand_in_labels(tmp_path):
    folders = [
        configured(tmp_path / "a"),
        configured(tmp_path / "b", augment="counterfactual"),
        configured(tmp_path / "c", partial="hypothesis"),
        configured(tmp_path / "d", "org/Some Model", augment="inoculation", inoculation={"n": 200}),
    ]
    labels = ["minilm", "minilm counterfactual", "minilm", "org-some-model inoculation-200"]
    runs = read_runs(folders)
    assert [run.label for run in runs] == labels
    assert [run.regime for run in runs] == ["plain", "counterfactual", "partial-hypothesis", "inoculation-200"]


def test_an_evaluation_is_of_the_model_that_its_run_has_trained(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    configured(first)
    configured(second, first / "checkpoints" / "backbone", augment="counterfactual")
    exported = second / "checkpoints" / "backbone"
    folder = second / "evaluations" / "other"
    (run,) = read_runs([configured(folder, exported, second / "checkpoints" / "best.ckpt")])
    assert (run.model, run.label) == ("minilm", "minilm counterfactual")
    moved = (tmp_path / "moved").absolute()
    second.rename(moved)
    (run,) = read_runs([str(moved / "evaluations" / "other")])
    assert run.label == "minilm counterfactual"


def test_a_model_that_was_trained_on_other_data_is_called_that(tmp_path):
    run = tmp_path / "run"
    best, exported = run / "checkpoints" / "best.ckpt", run / "checkpoints" / "backbone"
    configured(run, name="mnli", augment="counterfactual")
    on = {name: written_results.results(data=name) for name in ("mnli", "rte")}
    configured(tmp_path / "same", exported, best, found=on["mnli"], name="mnli")
    configured(tmp_path / "other", exported, best, found=on["rte"], name="rte")
    configured(tmp_path / "tuned", exported, found=on["rte"], name="rte")
    runs = read_runs([str(tmp_path / name) for name in ("same", "other", "tuned")])
    trained = "minilm trained on mnli"
    assert [run.model for run in runs] == ["minilm", trained, "minilm"]
    assert [run.label for run in runs] == ["minilm counterfactual", f"{trained} counterfactual", "minilm"]


def test_runs_on_the_same_data_are_told_apart_by_seed_and_then_by_folder(tmp_path):
    for name, seed in (("a", 0), ("b", 1), ("c", 1)):
        configured(tmp_path / name, found=written_results.results(seed=seed))
    runs = read_runs([str(tmp_path / name) for name in "abca"])
    assert [run.label for run in runs] == [
        "minilm, seed 0", f"minilm, seed 1: {tmp_path / 'b'}", f"minilm, seed 1: {tmp_path / 'c'}"
    ]  # fmt: skip


def test_splits_of_one_data_set_are_columns_of_their_own(tmp_path):
    for name, data, split in (("a", "d", "dev"), ("b", "d", "test"), ("c", "e", "dev")):
        configured(tmp_path / name, found=written_results.results(data=data, split=split))
    runs = read_runs([str(tmp_path / name) for name in "abc"])
    assert list(columns(runs).values()) == ["d dev", "d test", "e"]


def test_a_folder_without_settings_goes_by_its_name_and_damaged_ones_are_refused(tmp_path):
    written_results.save(tmp_path / "mine")
    (run,) = read_runs([str(tmp_path / "mine")])
    assert run.label == "mine"
    (tmp_path / "mine" / "config.yaml").write_text("- no\n")
    with refused(RunError, tmp_path / "mine" / "config.yaml"):
        run_settings(tmp_path / "mine")


@pytest.mark.parametrize("name", names("model"))
def test_every_configured_model_has_its_short_name(name):
    config = yaml.safe_load(Path(config_path("model", name)).read_text())
    if "backbone" not in config.get("init_args", {}):
        pytest.skip("it is named where it is asked")
    assert short_name(config["init_args"]["backbone"], config["class_path"]) == name


folders = st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map("/".join)


@given(st.lists(folders, min_size=1, max_size=5, unique=True))
@example(["runs/nlixy/bert/v0", "runs/nlixy/roberta/v0"])
@example(["runs/a", "runs/a/b"])
@example(["runs/a", "runs/a/a"])
def test_short_names_are_unique_and_are_the_folders_where_they_would_not_be(folders):
    names = short_names(folders)
    assert len(set(names)) == len(folders)
    assert all(names)
    assert names == folders or all(
        folder.endswith(name) or name in folder for name, folder in zip(names, folders, strict=True)
    )
