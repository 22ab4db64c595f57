"""Runs that an earlier version of the newest schema wrote are read, resumed and evaluated: README.md beside this."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from heedful.cli import command
from heedful.lightning_modules import Encoder
from heedful.records.rows import read_rows, select, strings
from heedful.records.storage.results import read_evaluation, read_results, read_run
from heedful.records.storage.run_settings import run_settings
from heedful.records.storage.schema import SCHEMA
from heedful.reports import rescore
from heedful.reports.runs import read_runs

from commands import run
from fake_server import FakeServer, answer_or_refusal
from tiers import first_tier
from written_results import paired

HERE = Path(__file__).parent
WRITTEN = ("plain", "counterfactual", "tables", "natural_logic", "endpoint", "whole")  # folders with results
VALUES = ("value", "std", "ci95", "per_draw")
NEAR = 1e-3  # between machines; on one kind of machine, with the versions that README.md names, the bits are the same
TRAINED_NEAR = 5e-3  # between machines that trained for half an epoch


@pytest.fixture
def frozen(tmp_path, monkeypatch) -> Path:
    """A copy of the folders, which is the working folder."""
    folder = tmp_path / "frozen"
    shutil.copytree(HERE / f"schema_{SCHEMA}", folder)
    monkeypatch.chdir(folder)
    return folder


def column(rows: pa.Table, name: str) -> np.ndarray:
    """Probabilities, or texts."""
    if pa.types.is_string(rows.schema.field(name).type) or pa.types.is_dictionary(rows.schema.field(name).type):
        return strings(rows, name)
    return np.array([np.nan if p is None else max(p) for p in rows[name].to_pylist()])


def assert_same_predictions(folder: Path, other: Path, evaluation: str, near: float = NEAR) -> None:
    """The rows are of the same examples, and a prediction differs at most where its probability was near another's."""
    rows, others = (read_rows(path / "rows" / f"{evaluation}.parquet")[0] for path in (folder, other))
    assert rows.num_rows == others.num_rows > 30
    for name in ("uid", "intervention", "part", "variant", "draw", "gold", "gold2", "expects", "partner", "content"):
        assert rows[name].to_pylist() == others[name].to_pylist(), name
    for name in ("p", "p2"):
        np.testing.assert_allclose(column(rows, name), column(others, name), atol=near)
    for name, by in (("y", "p"), ("y2", "p2")):
        differ = [a != b for a, b in zip(rows[name].to_pylist(), others[name].to_pylist(), strict=True)]
        two = np.array([sorted(p)[-2:] if p else [0, 1] for p in rows[by].to_pylist()])
        assert not np.any(np.array(differ) & (two[:, 1] - two[:, 0] > near)), name


def content(folder: str | Path) -> dict[str, Any]:
    """What results.json says."""
    return json.loads((Path(folder) / "results.json").read_text())


@pytest.mark.parametrize("name", WRITTEN)
def test_results_rows_and_settings_are_read(frozen, name):
    folder = Path("runs", name)
    results = read_results(folder)
    assert results | {"schema": SCHEMA, "checksum": content(folder)["checksum"]} == content(folder)
    for evaluation_ in results["rows"]:
        rows, metadata = read_evaluation(folder, evaluation_)
        assert rows.num_rows
        assert metadata["run"]["data"] == results["data"]
    assert run_settings(folder)["model"]["class_path"].startswith("heedful.lightning_modules.")
    assert run_settings(folder)["data"]["class_path"].startswith("heedful.datamodules.")
    assert read_run(folder)["packages"]["torch"]
    (one,) = read_runs([str(folder)])
    assert one.data == results["data"]


def test_the_attentiveness_of_a_model_that_failed_is_over_pairs_of_answers(frozen):
    metrics = json.loads(rescore.rescored("runs/endpoint"))["metrics"]
    rows, _ = read_evaluation("runs/endpoint", "attentiveness")
    swaps = select(rows, intervention="swap", part="premise").to_pylist()
    pairs = [row for row in swaps if "(no label)" not in (row["y"], row["y2"])]
    of_draws = [np.mean([row["y"] != row["y2"] for row in pairs if row["draw"] == draw]) for draw in (0, 1)]
    assert metrics["attentiveness/planted/premise"]["value"] == pytest.approx(np.mean(of_draws))
    assert metrics["attentiveness/planted/premise/no_answer/base"]["value"] > 0


@pytest.mark.parametrize("name", first_tier(4, WRITTEN))
def test_the_rows_give_the_same_results_again(frozen, name):
    """A number next to the boundary between two numbers of 12 digits may be the other one on another processor."""
    again, before = json.loads(rescore.rescored(f"runs/{name}")), content(Path("runs", name))
    numbers, written = (found.pop("metrics") for found in (again, before))
    del again["checksum"], before["checksum"]
    assert again == before
    for metric in written.keys() | numbers.keys():
        values = [{k: v for k, v in found[metric].items() if k not in VALUES} for found in (numbers, written)]
        assert values[0] == values[1], metric
        for key in VALUES:
            one, other = (np.array(found[metric][key], float) for found in (numbers, written))  # None becomes NaN
            np.testing.assert_allclose(one, other, rtol=2e-11, atol=1e-14, err_msg=f"{metric} {key}")


def test_a_checkpoint_and_an_export_are_loaded(frozen):
    folder = "runs/plain/checkpoints"
    model = Encoder.load_from_checkpoint(f"{folder}/best.ckpt", backbone=f"{folder}/backbone", weights_only=True)
    exported = AutoModelForSequenceClassification.from_pretrained(f"{folder}/backbone")
    assert model.learned.parts == ("premise", "hypothesis")
    weights = torch.load(f"{folder}/best.ckpt", weights_only=True)["state_dict"]
    kept = {name.removeprefix("network."): value for name, value in weights.items()}
    assert all(torch.equal(value, kept[name]) for name, value in exported.state_dict().items() if name in kept)
    assert {"classifier.weight", "bert.embeddings.word_embeddings.weight"} <= kept.keys() & exported.state_dict().keys()


@pytest.mark.slow
def test_a_checkpoint_is_evaluated_as_before(frozen):
    (before,) = Path("runs/plain/evaluations").glob("*/*")
    run(command.evaluate, "--checkpoint", "runs/plain", "--attentiveness.draws", "2")
    again = before.with_name("version_1")
    assert_same_predictions(before, again, "attentiveness")
    assert content(again)["counts"].items() >= content(before)["counts"].items()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "evaluation_"), [("tables", "accuracy"), ("natural_logic", "natural_logic")])
def test_an_evaluation_is_repeated_by_its_configuration(frozen, name, evaluation_):
    run(command.evaluate, "--config", f"runs/{name}/config.yaml", "--output", "again")
    files = [Path(folder) / "rows" / f"{evaluation_}.parquet" for folder in (f"runs/{name}", "again")]
    before, now = (select(read_rows(file)[0], intervention="base").sort_by("content") for file in files)
    for column_ in ("content", "gold", "y", "group"):
        assert before[column_].to_pylist() == now[column_].to_pylist(), column_
    np.testing.assert_allclose(column(before, "p"), column(now, "p"), atol=NEAR)
    assert paired(f"runs/{name}", "again")


@pytest.mark.slow
def test_effects_whose_seeds_are_all_examples_are_the_same_again(frozen):
    run(command.evaluate, "--config", "runs/natural_logic/config.yaml", "--output", "again")
    before, now = (content(folder)["metrics"] for folder in ("runs/natural_logic", "again"))
    assert len(shared := before.keys() & now.keys()) > 3
    for metric in shared:
        assert before[metric]["n"] == now[metric]["n"], metric
        assert before[metric]["value"] == pytest.approx(now[metric]["value"], abs=NEAR), metric


@pytest.mark.slow
def test_a_training_run_is_repeated_by_its_configuration(frozen):
    """Its examples, and their partners: steps add up what another processor rounds otherwise, and so do predictions."""
    run(command.train, "--config", "runs/plain/config.yaml", "--output", "again")
    found = [read_rows(Path(folder) / "rows" / "attentiveness.parquet")[0] for folder in ("runs/plain", "again")]
    before, now = (select(rows, intervention="base").select(["uid", "gold", "content"]) for rows in found)
    assert before.to_pylist() == now.to_pylist()
    swaps = [select(rows, intervention="swap").select(["uid", "part", "draw", "partner"]).to_pylist() for rows in found]
    before, now = ({(row["uid"], row["part"], row["draw"]): row["partner"] for row in rows} for rows in swaps)
    assert len(shared := before.keys() & now.keys()) > 30
    assert {key: before[key] for key in shared} == {key: now[key] for key in shared}


@pytest.mark.slow
def test_a_model_behind_a_server_is_measured_again(frozen, monkeypatch):
    pytest.importorskip("openai", reason="openai is not installed: pip install 'openai>=3.54'")
    with FakeServer(answer_or_refusal) as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
        run(command.evaluate, "--config", "runs/endpoint/config.yaml", "--output", "again")
    for evaluation_ in ("accuracy", "attentiveness"):
        again, before = (read_rows(f"{of}/rows/{evaluation_}.parquet")[0] for of in ("again", "runs/endpoint"))
        assert again.equals(before)


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_to_the_end_of_the_one_that_was_not(frozen):
    run(command.train, "--resume", "runs/killed")
    assert_same_predictions(Path("runs/killed"), Path("runs/whole"), "attentiveness", TRAINED_NEAR)
    assert content("runs/killed")["metrics"].keys() >= content("runs/whole")["metrics"].keys()
    assert read_run("runs/killed")["finished"]


@pytest.mark.slow
def test_a_model_goes_on_learning(frozen):
    run(
        command.train,
        "--init_from",
        "runs/plain",
        "--data.n_train",
        "32",
        "--data.n_validation",
        "16",
        "--output",
        "on",
    )
    assert (frozen / "on" / "results.json").is_file()
