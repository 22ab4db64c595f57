"""Runs that earlier versions wrote are loaded, scored again, resumed, compared and evaluated: README.md beside this."""

import hashlib
import json
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from heedful.cli import command, evaluation, training
from heedful.lightning_modules import Encoder
from heedful.lightning_modules.prompted.requests.answers import SEAL, sealed
from heedful.records.rows import read_rows, select, strings
from heedful.records.storage.results import read_evaluation, read_results, read_run
from heedful.records.storage.schema import SCHEMA
from heedful.reports import compare, rescore
from heedful.reports.compare import paired_differences
from heedful.reports.runs import measured, settings

from commands import run
from fake_server import FakeServer, answer_or_refusal
from refusals import refused

HERE = Path(__file__).parent
WRITTEN = ("plain", "counterfactual", "tables", "natural_logic", "endpoint", "whole")  # folders with results
UNLIKE = ("schema", "format", "written")  # names of the number of the schema
LATER = ["unread"]  # columns of rows that schema 6 brought
NEAR = 1e-3  # between machines; on one kind of machine, with the versions that README.md names, the bits are the same


SCHEMAS = sorted(path.name for path in HERE.glob("schema_*"))
BETWEEN = [pytest.param(name, marks=pytest.mark.slow) for name in SCHEMAS[1:-1]]  # of what the first and the last have


@pytest.fixture(params=[SCHEMAS[0], *BETWEEN, SCHEMAS[-1]])
def frozen(request, tmp_path, monkeypatch) -> Path:
    """A copy of the folders of one schema, which is the working folder."""
    folder = tmp_path / request.param
    shutil.copytree(HERE / request.param, folder)
    monkeypatch.chdir(folder)
    return folder


def number_of(frozen: Path) -> int:
    """The number of the schema that a folder is of."""
    return int(frozen.name.rpartition("_")[2])


def column(rows: pa.Table, name: str) -> np.ndarray:
    """Probabilities, or texts."""
    if pa.types.is_string(rows.schema.field(name).type) or pa.types.is_dictionary(rows.schema.field(name).type):
        return strings(rows, name)
    return np.array([np.nan if p is None else max(p) for p in rows[name].to_pylist()])


def assert_same_predictions(folder: Path, other: Path, evaluation: str) -> None:
    """The rows are of the same examples, and a prediction differs at most where its probability was near another's."""
    rows, others = (read_rows(path / "rows" / f"{evaluation}.parquet")[0] for path in (folder, other))
    assert rows.num_rows == others.num_rows > 30
    for name in ("uid", "intervention", "part", "variant", "draw", "gold", "partner", "content"):
        assert rows[name].to_pylist() == others[name].to_pylist(), name
    for name in ("p", "p2"):
        np.testing.assert_allclose(column(rows, name), column(others, name), atol=NEAR)
    for name, by in (("y", "p"), ("y2", "p2")):
        differ = [a != b for a, b in zip(rows[name].to_pylist(), others[name].to_pylist(), strict=True)]
        two = np.array([sorted(p)[-2:] if p else [0, 1] for p in rows[by].to_pylist()])
        assert not np.any(np.array(differ) & (two[:, 1] - two[:, 0] > NEAR)), name


def content(folder: str | Path) -> dict[str, Any]:
    """results.json but for the number of its schema, which had another name."""
    return {k: v for k, v in json.loads((Path(folder) / "results.json").read_text()).items() if k not in UNLIKE}


@pytest.mark.parametrize("name", WRITTEN)
def test_results_rows_and_settings_are_read(frozen, name):
    folder = Path("runs", name)
    results = read_results(folder)
    assert results["schema"] == SCHEMA
    assert {k: v for k, v in results.items() if k not in UNLIKE} == content(folder)
    for evaluation_ in results["rows"]:
        rows, metadata = read_evaluation(folder, evaluation_)
        assert rows.num_rows
        assert metadata["run"]["data"] == results["data"]
    assert settings(folder)["model"]["class_path"].startswith("heedful.lightning_modules.")
    assert settings(folder)["data"]["class_path"].startswith("heedful.datamodules.")
    assert read_run(folder)["packages"]["torch"]
    (one,) = measured([str(folder)])
    assert one.data == results["data"]


FORMER = {"interval_without_width", "few_clusters", "resamples_left_out"}  # flags that bootstrapped intervals had
INTERVALS = FORMER | {"interval_unbounded"}


def as_now(found: dict[str, Any]) -> dict[str, Any]:
    """Results without intervals, which are others now, and their flags; with that of attentiveness of few examples,
    which was not there before, as the first of the flags."""
    for name, m in found["metrics"].items():
        m["ci95"] = None
        m["flags"] = [flag for flag in m["flags"] if flag not in INTERVALS]
        if name.startswith("attentiveness/") and not name.endswith("/eligible") and 0 < m["n"] < 10:
            m["flags"] = ["few_examples", *(flag for flag in m["flags"] if flag != "few_examples")]
    return found


def stays(metric: str) -> bool:
    """Whether a number is what it was before failures stopped to count as changes."""
    of_all = metric.endswith(("/eligible", "/with_invalid"))
    return "no_answer" not in metric and (of_all or not metric.startswith("attentiveness/"))


def but_for_failures(found: dict[str, Any]) -> dict[str, Any]:
    """Results without the numbers that failures changed, or brought."""
    for name in ("metrics", "names"):
        found[name] = {metric: value for metric, value in found[name].items() if stays(metric)}
    for m in found["metrics"].values():
        m["flags"] = [flag for flag in m["flags"] if flag != "no_answers"]
    found["display"]["lines"] = [line for line in found["display"]["lines"] if stays(line["metric"])]
    return found


def test_the_attentiveness_of_a_model_that_failed_is_over_pairs_of_answers(frozen):
    metrics = json.loads(rescore.rescored("runs/endpoint"))["metrics"]
    rows, _ = read_evaluation("runs/endpoint", "attentiveness")
    swaps = select(rows, intervention="swap", part="premise").to_pylist()
    pairs = [row for row in swaps if "(no label)" not in (row["y"], row["y2"])]
    of_draws = [np.mean([row["y"] != row["y2"] for row in pairs if row["draw"] == draw]) for draw in (0, 1)]
    assert metrics["attentiveness/planted/premise"]["value"] == pytest.approx(np.mean(of_draws))
    assert metrics["attentiveness/planted/premise/no_answer/base"]["value"] > 0


@pytest.mark.parametrize("name", WRITTEN)
def test_the_rows_give_the_same_values_again(frozen, name):
    of_model = but_for_failures if name == "endpoint" else dict
    written = of_model(content(Path("runs", name)))
    before = as_now(of_model(content(Path("runs", name))))
    text = json.dumps(of_model(json.loads(rescore.rescored(Path("runs", name)))))
    assert json.loads(text)["schema"] == SCHEMA
    metrics = json.loads(text)["metrics"]
    raised = {metric for metric, m in metrics.items() if "few_examples" in m["flags"]}
    assert raised == {metric for metric, m in before["metrics"].items() if "few_examples" in m["flags"]}
    assert as_now({k: v for k, v in json.loads(text).items() if k not in UNLIKE}) == before
    command.main(["rescore", f"runs/{name}"])
    assert as_now(of_model(content(Path("runs", name)))) == before
    assert of_model(json.loads(rescore.rescored(Path("runs", name)))) == json.loads(text)
    for metric, m in metrics.items():
        assert not FORMER & {*m["flags"]}, metric
        if m["ci95"] is None:
            assert written["metrics"][metric]["ci95"] is None or "interval_unbounded" in m["flags"], metric
        else:
            low, high = m["ci95"]
            assert low < high, metric
            assert low - 1e-12 <= m["value"] <= high + 1e-12, metric


def test_two_runs_are_compared(frozen, capsys):
    difference = compare.paired_differences("runs/plain", "runs/counterfactual")["accuracy/planted"]
    shares = [content(f"runs/{name}")["metrics"]["accuracy/planted"]["value"] for name in ("plain", "counterfactual")]
    assert difference.value == pytest.approx(shares[1] - shares[0])
    command.main(["compare", "runs/plain", "runs/counterfactual"])
    told = capsys.readouterr().out
    assert "counterfactual" in told
    assert f"{100 * shares[0]:.2f}" in told


def test_a_checkpoint_and_an_export_are_loaded(frozen):
    folder = "runs/plain/checkpoints"
    model = Encoder.load_from_checkpoint(f"{folder}/best.ckpt", backbone=f"{folder}/backbone", weights_only=True)
    exported = AutoModelForSequenceClassification.from_pretrained(f"{folder}/backbone")
    assert model.learned_parts == ("premise", "hypothesis")
    weights = torch.load(f"{folder}/best.ckpt", weights_only=True)["state_dict"]
    kept = {name.removeprefix("network."): value for name, value in weights.items()}
    assert all(torch.equal(value, kept[name]) for name, value in exported.state_dict().items() if name in kept)
    assert {"classifier.weight", "bert.embeddings.word_embeddings.weight"} <= kept.keys() & exported.state_dict().keys()


@pytest.mark.slow
def test_a_checkpoint_is_evaluated_as_before_and_in_the_same_folder(frozen):
    (folder,) = Path("runs/plain/evaluations").iterdir()
    kept = shutil.copytree(folder, frozen / "kept")
    run(evaluation.main, "--checkpoint", "runs/plain", "--attentiveness.draws", "2")
    assert [path.name for path in Path("runs/plain/evaluations").iterdir()] == [folder.name]
    assert_same_predictions(kept, folder, "attentiveness")
    assert content(folder)["counts"].items() >= content(kept)["counts"].items()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "evaluation_"), [("tables", "accuracy"), ("natural_logic", "natural_logic")])
def test_an_evaluation_is_repeated_by_its_configuration(frozen, name, evaluation_):
    """Schema 7 names examples without an id by their content, so that what is drawn for them is drawn anew."""
    run(evaluation.main, "--config", f"runs/{name}/config.yaml", "--output", "again")
    files = [Path(folder) / "rows" / f"{evaluation_}.parquet" for folder in (f"runs/{name}", "again")]
    before, now = (select(read_rows(file)[0], intervention="base").sort_by("content") for file in files)
    for column_ in ("content", "gold", "y", "group"):
        assert before[column_].to_pylist() == now[column_].to_pylist(), column_
    np.testing.assert_allclose(column(before, "p"), column(now, "p"), atol=NEAR)
    if number_of(frozen) >= 7:
        assert paired_differences(f"runs/{name}", "again")
        return
    with refused("other-examples", "schema 7"):
        paired_differences(f"runs/{name}", "again")


@pytest.mark.slow
def test_effects_whose_seeds_are_all_examples_are_the_same_again(frozen):
    run(evaluation.main, "--config", "runs/natural_logic/config.yaml", "--output", "again")
    before, now = (content(folder)["metrics"] for folder in ("runs/natural_logic", "again"))
    for metric in before.keys() & now.keys():
        assert before[metric]["n"] == now[metric]["n"], metric
        assert before[metric]["value"] == pytest.approx(now[metric]["value"], abs=NEAR), metric


@pytest.mark.slow
def test_a_training_run_is_repeated_by_its_configuration(frozen):
    """Its examples, and their partners: steps add up what another processor rounds otherwise, and so do predictions."""
    run(training.main, "--config", "runs/plain/config.yaml", "--output", "again")
    found = [read_rows(Path(folder) / "rows" / "attentiveness.parquet")[0] for folder in ("runs/plain", "again")]
    before, now = (select(rows, intervention="base").select(["uid", "gold", "content"]) for rows in found)
    assert before.to_pylist() == now.to_pylist()
    swaps = [select(rows, intervention="swap").select(["uid", "part", "draw", "partner"]).to_pylist() for rows in found]
    before, now = ({(row["uid"], row["part"], row["draw"]): row["partner"] for row in rows} for rows in swaps)
    assert len(shared := before.keys() & now.keys()) > 30
    assert {key: before[key] for key in shared} == {key: now[key] for key in shared}


def move_answers(cache: Path, url: str) -> None:
    """Let the answers be those of the server at an address."""
    with sqlite3.connect(cache) as file:
        for text, stored in file.execute("SELECT request, answer FROM answers").fetchall():
            moved = re.sub(r"http://127.0.0.1:\d+/v1", url, text)
            key = hashlib.sha256(moved.encode()).hexdigest()
            answer = sealed(key, found[2]) if (found := SEAL.fullmatch(stored or "")) else stored
            file.execute(
                "UPDATE answers SET request = ?, key = ?, answer = ? WHERE request = ?", (moved, key, answer, text)
            )
    file.close()


@pytest.mark.slow
def test_answers_of_a_server_are_found_in_the_cache(frozen, monkeypatch):
    pytest.importorskip("openai", reason="openai is not installed: pip install 'openai>=3.54'")
    with FakeServer(answer_or_refusal) as fake:
        move_answers(Path("answers.sqlite"), fake.url)
        monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
        run(evaluation.main, "--config", "runs/endpoint/config.yaml", "--output", "again")
        base, _ = read_rows("again/rows/accuracy.parquet")
        assert len(fake.requests) == 2 + len(select(base, intervention="null"))  # two first questions, the null control
    (day,) = json.loads(Path("again/results.json").read_text())["counts"]["from_cache"]
    assert (day == "unknown") == (number_of(frozen) < 7)
    for evaluation_ in ("accuracy", "attentiveness"):
        again, before = (read_rows(f"{of}/rows/{evaluation_}.parquet")[0] for of in ("again", "runs/endpoint"))
        assert again.drop_columns(LATER).equals(before.drop_columns(LATER))


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_to_the_end_of_the_one_that_was_not(frozen):
    run(training.main, "--resume", "runs/killed")
    assert_same_predictions(Path("runs/killed"), Path("runs/whole"), "attentiveness")
    assert content("runs/killed")["metrics"].keys() >= content("runs/whole")["metrics"].keys()
    assert read_run("runs/killed")["finished"]


def test_a_finished_run_is_shown_and_stays_as_it_is(frozen, capsys):
    before = {path: path.read_bytes() for path in Path("runs/plain").rglob("*") if path.is_file()}
    run(training.main, "--resume", "runs/plain")
    assert "runs/plain is finished" in capsys.readouterr().out
    assert before == {path: path.read_bytes() for path in before}


@pytest.mark.slow
def test_a_model_goes_on_learning(frozen):
    run(
        training.main,
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


@pytest.mark.parametrize("file", ["results.json", "run.json"])
def test_a_later_schema_is_refused_by_name(frozen, file):
    path = Path("runs/plain") / file
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": SCHEMA + 1}))
    with refused("other-schema", path, f"schema {SCHEMA + 1}"):
        (read_results if file == "results.json" else read_run)("runs/plain")
