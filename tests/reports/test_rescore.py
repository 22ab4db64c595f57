"""results.json comes from the rows files alone, byte for byte, for every evaluation."""

import json

import pytest

from heedful.callbacks import (
    Attentiveness,
    Attributions,
    Challenge,
    CounterfactualTables,
    DefaultLabel,
    Evidence,
    NaivePartial,
    NaturalLogic,
    Setting,
    TableRows,
    TwoClass,
)
from heedful.datamodules import Planted
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.metrics import METRICS
from heedful.records import HeedfulError, generator
from heedful.records.storage.results import read_results, write_results
from heedful.reports.rescore import main, rescored

from infotabs_files import module, write_infotabs
from letters import METHODS, Letters, reader
from oracles import measure

CONTEXTS = [("A x ran.", "up"), ("No x ran.", "down"), ("A x sat.", "up"), ("No x sat here.", "down")]
PAIRS = [("dog", "animal", "leq"), ("boy", "child", "leq"), ("cat", "child", "none")]


def guess(table, hypothesis):
    """A label from whatever is there."""
    return LABELS[generator("guess", table.encode() if table else "", hypothesis).integers(3)]


class OtherData(TwoClass):
    """The benchmarks, without a command line that reads them."""

    def plan(self, setting):
        def read(name, path):
            data = Planted(n_validation=12, name=name)
            data.setup("validate")
            return data

        return super().plan(Setting(setting.data, setting.monitoring, read))


def texts(*evaluations):
    data = Planted(n_validation=40, swap=["premise", "hypothesis"], eval_batch_size=16)
    return measure(guess, data, *evaluations, only=["accuracy", *(e.name for e in evaluations)])


def tables(folder, *evaluations, **settings):
    return measure(guess, module(folder, **settings), *evaluations)


@pytest.fixture
def made(request, tmp_path, write_nlixy, tiny_bert):
    """The engine after an evaluation."""
    folder = write_infotabs(tmp_path / "files")
    flips = [str(folder / "flips")]

    def natural_logic():
        return texts(NaturalLogic(str(write_nlixy(tmp_path / "xy" / "test", CONTEXTS, PAIRS).parent)))

    def counterfactuals():
        alone = tables(folder, CounterfactualTables(flips), partial="hypothesis")
        write_results(tmp_path / "alone", alone.results, alone.rows)
        return tables(folder, CounterfactualTables(flips, str(tmp_path / "alone")))

    def attributions():
        data = Letters(swap=["premise"])
        evaluation = Attributions(sorted(METHODS), samples=64, steps=4, shown=2)
        return measure(reader(tiny_bert, data), data, evaluation, only=["accuracy", "attributions"])

    return {
        "accuracy": texts,
        "attributions": attributions,
        "attentiveness": lambda: texts(Attentiveness()),
        "default_label": lambda: texts(DefaultLabel()),
        "naive_partial": lambda: texts(NaivePartial()),
        "natural_logic": natural_logic,
        "two_class": lambda: texts(OtherData({"one": None, "two": None})),
        "table_rows": lambda: tables(folder, TableRows(["delete", "delete+insert"])),
        "evidence": lambda: tables(folder, Evidence(str(folder / "relevant.csv"))),
        "challenge": lambda: tables(folder, Challenge()),
        "counterfactual_tables": counterfactuals,
    }[request.param]()


ELSEWHERE = {"answers", "attributions"}  # with the runs of a reader, and with rankings


@pytest.mark.parametrize("made", sorted(METRICS.keys() - ELSEWHERE), indirect=True)
def test_results_are_made_of_rows_alone(made, request, tmp_path):
    evaluation = request.node.callspec.params["made"]
    write_results(tmp_path / "run", made.results, made.rows)
    assert evaluation in made.rows
    assert json.loads(rescored(tmp_path / "run"))["rows"].keys() == made.rows.keys()
    assert rescored(tmp_path / "run") == (tmp_path / "run" / "results.json").read_text()


def test_the_command_writes_what_is_missing_or_differs(tmp_path, capsys):
    engine = texts()
    write_results(tmp_path, engine.results, engine.rows)
    path, text = tmp_path / "results.json", (tmp_path / "results.json").read_text()
    main([str(tmp_path)])
    path.write_text(text.replace('"n": 40', '"n": 41'))
    main([str(tmp_path)])
    path.unlink()
    main([str(tmp_path)])
    said = [line.partition("results.json: ")[2] for line in capsys.readouterr().out.splitlines()]
    assert said[0] == "the same"
    assert said[1].startswith("written, ")
    assert "metrics differ, the first is accuracy/planted" in said[1]
    assert said[2] == "written, there was none"
    assert path.read_text() == text
    assert read_results(tmp_path)["metrics"]


def test_what_cannot_be_scored_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(HeedfulError, match="has no rows: name the folder of a run"):
        rescored(tmp_path)
    engine = texts(Attentiveness())
    write_results(tmp_path, engine.results, engine.rows)
    file = tmp_path / "rows" / "accuracy.parquet"
    rows, (table, meta) = file.read_bytes(), engine.rows["accuracy"]
    write_results(tmp_path / "other", engine.results, {"accuracy": (table, meta | {"run": meta["run"] | {"seed": 7}})})
    file.write_bytes((tmp_path / "other" / "rows" / "accuracy.parquet").read_bytes())
    with pytest.raises(HeedfulError, match="were not written by one evaluation"):
        rescored(tmp_path)
    write_results(tmp_path / "third", engine.results, {"accuracy": (table, {"data": "d", "seed": 0, "manifest": "m"})})
    with pytest.raises(HeedfulError, match="is damaged: it does not say its 'context'"):
        rescored(tmp_path / "third")
    file.write_bytes(rows)
    file.rename(file.with_name("unheard_of.parquet"))
    with pytest.raises(HeedfulError, match="unheard_of is unknown"):
        rescored(tmp_path)
