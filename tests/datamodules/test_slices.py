"""Slices: any column may be asked for, and what is no column or has too many values is refused."""

import json

import pytest

from heedful.callbacks import Attentiveness
from heedful.datamodules import PairedText, Planted
from heedful.records import DataError, generator
from heedful.records.storage.results import write_results
from heedful.reports.rescore import rescored

from oracles import measure
from refusals import refused

KINDS = ("overlap", "sub/sequence", "")
SETTINGS = {
    "name": "own",
    "parts": {"premise": "p", "hypothesis": "h"},
    "labels": {"entailment": [], "neutral": [], "contradiction": []},
    "default_label": "neutral",
}


@pytest.fixture
def own(tmp_path):
    """Makes a data module of 30 pairs with the columns kind and row; of each kind all have one label."""
    labels = list(SETTINGS["labels"])
    rows = [
        {"p": f"p {i}", "h": f"h {i}", "label": labels[i % 3], "kind": KINDS[i % 3], "half": i % 2, "row": i}
        for i in range(60)
    ]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return lambda *slices, **settings: PairedText(**SETTINGS, path=str(tmp_path), slices=slices, **settings)


def guess(premise, hypothesis):
    return list(SETTINGS["labels"])[generator("guess", premise, hypothesis).integers(3)]


def test_a_column_that_is_asked_for_goes_along_into_the_rows(own):
    data = own("kind", meta=["row"])
    data.setup("validate")
    assert set(data.pool.meta) == {"row", "kind"}
    assert {(e.parts["premise"], e.meta["kind"]) for e in data.pool} == {(f"p {i}", KINDS[i % 3]) for i in range(60)}


def test_what_cannot_be_a_slice_is_refused(own):
    with refused(DataError, "slices kinds", "dev.jsonl", "p, h", "mean kind?"):
        own("kinds").setup("validate")
    with refused(DataError, "slices row", 60, 50):
        own("row").setup("validate")
    with refused(DataError, "slices heuristic", "planted"):
        Planted(slices=["heuristic"]).setup("validate")
    own("row", max_validation=50).setup("validate")


def test_numbers_by_slice_come_from_rows_alone(own, tmp_path):
    engine = measure(guess, own("kind", "half"), Attentiveness(draws=3), only=["accuracy", "attentiveness"])
    by = {kind: f"kind={kind.replace('/', '-') or 'none'}" for kind in KINDS}
    found = {name: m["value"] for name, m in engine.content["metrics"].items()}
    assert {f"accuracy/own/{text}" for text in (*by.values(), "half=0", "half=1")} <= found.keys()
    assert {f"attentiveness/own/premise/{text}" for text in (*by.values(), "half=0", "half=1")} <= found.keys()
    majorities = [name for name in found if name.startswith("accuracy/own/majority/")]
    assert majorities == ["accuracy/own/majority/half=0", "accuracy/own/majority/half=1"]  # a kind has one label
    assert engine.content["metrics"]["accuracy/own/kind=overlap"]["flags"] == []
    write_results(tmp_path / "run", engine.content, engine.rows)
    assert rescored(tmp_path / "run") == (tmp_path / "run" / "results.json").read_text()
    pool = own("kind")
    pool.setup("validate")
    rows = engine.rows["accuracy"][0].to_pylist()
    right = [
        row["gold"] == row["y"] for row in rows if row["intervention"] == "base" and "kind=overlap" in row["slices"]
    ]
    assert len(right) == 20
    assert found["accuracy/own/kind=overlap"] == pytest.approx(sum(right) / 20)


def test_slices_are_not_curves(own):
    engine = measure(guess, own("kind"), Attentiveness(draws=2), only=["accuracy", "attentiveness"])
    assert not any("kind=" in str(name) for chart in engine.plans.charts for name in chart.curves.values())
