"""Examples without gold labels in whole runs: the numbers that need no gold are the same to the last digit."""

import csv
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from live_runs import QUIET, pairs
from transformers import BertConfig, BertForSequenceClassification

import heedful
from heedful.assembly.results import Results
from heedful.cli import command
from heedful.records import DataError, MetricName, RunError, SettingError
from heedful.records.rows import BASE, select
from heedful.reports.ranking import read_suite
from heedful.reports.runs import read_runs

from commands import results_of, run
from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

PARTS = {"premise": "premise", "hypothesis": "hypothesis"}
LABELS = {"entailment": [], "neutral": [], "contradiction": []}
OWN: dict[str, Any] = {"name": "own", "parts": PARTS, "labels": LABELS, "default_label": "neutral"}
IDS: dict[str, Any] = {"uid": "id", "groups": ["premise"], "slices": ["kind"]}
MEASURED = ["accuracy", "attentiveness", "default_label", "naive_partial", "attributions"]
OF_GOLD = {"accuracy", "loss"}  # families
ON_OWN = ["--data.name", "own", "--data.uid", "id", "--data.groups", "[premise]", "--data.slices", "[kind]"]


def with_head(tiny_bert: Path, folder: Path, seed: int) -> Path:
    """A model of random weights, large ones, so that its predictions differ and go by both parts."""
    shutil.copytree(tiny_bert, folder)
    torch.manual_seed(seed)
    names = dict(enumerate(LABELS))
    config = BertConfig.from_pretrained(tiny_bert, id2label=names, label2id={v: k for k, v in names.items()})
    config.initializer_range = 0.4
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_head(tiny_bert, tmp_path_factory.mktemp("models") / "first", 0)


@pytest.fixture(scope="module")
def labelled() -> list[dict[str, str]]:
    """Pairs with ids, of which some share a premise and some have another order of labels than of predictions."""
    data = pairs(n_validation=30)
    data.setup("validate")
    rows = [{"id": str(i), **e.parts, "label": e.label, "kind": "ab"[i % 2]} for i, e in enumerate(data.pool)]
    again = [{**rows[i], "id": f"again{i}", "premise": rows[(i + 1) % 30]["premise"]} for i in range(12)]
    return [*rows, *again]


def without_label(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{name: value for name, value in row.items() if name != "label"} for row in rows]


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def measured(model: Path, rows: Any, output: Path, evaluations: list[str] = MEASURED, **settings: Any) -> Results:
    data = heedful.load_data(rows, **{**OWN, **IDS, **settings})
    more = {"attributions": {"examples": 6, "samples": 4}} if "attributions" in evaluations else {}
    return heedful.evaluate(
        heedful.load_model(model, max_length=64), data, evaluations=evaluations, trainer=QUIET, output=output, **more
    )


@pytest.fixture(scope="module")
def both(
    model: Path, labelled: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Results, Results]:
    """The results of the same rows with the labels and without."""
    folder = tmp_path_factory.mktemp("both")
    gold = measured(model, labelled, folder / "gold")
    return gold, measured(model, without_label(labelled), folder / "bare")


def needs_gold(name: MetricName) -> bool:
    of_part = name.family == "naive_partial" and name.statistic == "accuracy"
    return name.family in OF_GOLD or of_part or "siblings" in name.statistic


def test_what_needs_no_gold_is_the_same_to_the_last_digit(both: tuple[Results, Results]) -> None:
    gold, bare = (results.numbers for results in both)
    assert set(bare) == {name for name in gold if not needs_gold(name)}
    families = {name.family for name in bare}
    assert families - {"attributions"} == {"attentiveness", "default_label", "naive_partial", "null"}
    assert both[1].rows_of("attributions").num_rows == both[0].rows_of("attributions").num_rows > 0
    assert {name.family for name in gold} > families
    for name, number in bare.items():
        flags = [flag for flag in gold[name]["flags"] if flag != "not_above_majority"]
        assert number == {**gold[name], "flags": flags}, name
    for family in ("attentiveness", "default_label", "naive_partial"):  # the model heeds some and not all
        assert any(0 < (number["value"] or 0) < 1 for name, number in bare.items() if name.family == family), family


def test_rows_are_the_same_but_for_gold_and_what_rests_on_it(both: tuple[Results, Results]) -> None:
    for evaluation in ("accuracy", "attentiveness", "naive_partial"):
        gold, bare = (results.rows_of(evaluation) for results in both)
        assert bare["gold"].null_count == bare.num_rows > 0
        kept = [name for name in gold.column_names if name not in ("gold", "gold2", "content")]
        assert gold.select(kept).equals(bare.select(kept))
    gold, bare = (select(results.rows_of("accuracy"), intervention=BASE)["content"] for results in both)
    assert set(gold.to_pylist()).isdisjoint(bare.to_pylist())


def test_attentiveness_by_hand(both: tuple[Results, Results]) -> None:
    rows = both[1].rows_of("attentiveness").to_pylist()
    swaps = [row for row in rows if row["intervention"] == "swap" and row["y"] != "neutral"]
    shares = []
    for draw in sorted({row["draw"] for row in swaps}):
        changed = [row["y"] != row["y2"] for row in swaps if row["draw"] == draw]
        shares.append(sum(changed) / len(changed))
    number = both[1].numbers[MetricName("attentiveness", "own", "premise")]
    assert number["value"] == pytest.approx(sum(shares) / len(shares), abs=1e-12)


def test_the_command_measures_logs(
    model: Path,
    both: tuple[Results, Results],
    labelled: list[dict[str, str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs = write(tmp_path / "logs.csv", without_label(labelled))
    argv = ["--model", model, "--model.max_length", 64, "--data", "mnli", "--data.path", logs, *ON_OWN]
    argv += ["--evaluations", "[accuracy, attentiveness]"]
    run(command.evaluate, *argv, "--output", tmp_path / "out")
    printed = capsys.readouterr()
    assert "better than a single answer is not known" in " ".join(printed.out.split())
    found = results_of(tmp_path / "out")
    expected = both[1].content["metrics"]
    assert found["metrics"] == {name: expected[name] for name in found["metrics"]}
    assert {name.split("/")[0] for name in found["metrics"]} == {"attentiveness", "null"}
    assert found["counts"]["unlabelled"] == 42
    run(command.evaluate, *argv, "--data.label", "null", "--output", tmp_path / "said")
    assert results_of(tmp_path / "said")["metrics"] == found["metrics"]
    with refused(DataError, "'gold'", "logs.csv"):
        run(command.evaluate, *argv, "--data.label", "gold", "--output", tmp_path / "typed")


def test_the_best_epoch_is_not_one_of_accuracy_without_gold(
    tiny_bert: Path, labelled: list[dict[str, str]], tmp_path: Path
) -> None:
    splits = {"train": [{**row, "hypothesis": f"{row['hypothesis']} now"} for row in labelled]}
    splits["validation"] = without_label(labelled)
    once: dict[str, Any] = {"trainer": QUIET | {"max_epochs": 1}, "output": tmp_path / "out"}

    def run_of(**more: Any) -> Any:
        model = heedful.load_model(tiny_bert, max_length=64)
        return heedful.train(model, heedful.load_data(splits, **OWN, **IDS), **{**once, **more})

    for monitor in (None, "accuracy/own", "loss/own", "accuracy/own/macro_f1"):
        more = {} if monitor is None else {"checkpoint": {"monitor": monitor}}
        with refused(SettingError, f"monitor {monitor or 'accuracy/own'}"):
            run_of(**more)
    done = run_of(checkpoint={"monitor": "attentiveness/own/premise"})
    assert "unlabelled" in done.content["counts"]
    assert not any(name.family in OF_GOLD for name in done.numbers)


def printed(main: Callable[[list[str]], None], argv: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    main(argv)
    return " ".join(" ".join(capsys.readouterr()).split())


def test_reports_read_such_runs_or_say_why_not(
    both: tuple[Results, Results],
    tiny_bert: Path,
    labelled: list[dict[str, str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    gold, bare = (str(results.folder) for results in both)
    again = str(
        measured(with_head(tiny_bert, tmp_path / "other", 1), without_label(labelled), tmp_path / "again").folder
    )
    unknown = "whether the model is better than a single answer is not known"
    for form in ([], ["--format", "csv"]):
        for words in (["compare", bare, gold], ["matrix", bare, gold], ["matrix", bare]):
            assert printed(command.main, [*words, *form], capsys).count(unknown) == 1
        assert unknown not in printed(command.main, ["matrix", gold, *form], capsys)
    assert printed(command.main, ["compare", bare], capsys).count(unknown) == 1
    assert printed(command.main, ["compare", "--agreed", bare, again], capsys).count(unknown) == 2
    with refused(RunError):
        command.main(["compare", "--agreed", again, gold])
    with refused(RunError, unknown):
        command.main(["figure", "partial", bare, "--output", str(tmp_path / "x.png")])
    with refused(RunError, "no gold labels"):
        command.main(["compare", "--inoculation", bare, again])
    with refused(RunError, "no gold labels"):
        read_suite("own", read_runs([bare, again]), {})
