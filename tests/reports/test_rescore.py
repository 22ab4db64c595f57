"""results.json comes from the rows files alone, byte for byte, for every evaluation."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
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
from heedful.cli import command
from heedful.datamodules import Planted
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.metrics import METRICS
from heedful.records import RunError, SettingError, generator
from heedful.records.storage.results import read_results, results_text, write_results
from heedful.reports.rescore import rescored

from infotabs_files import module, write_infotabs
from letters import METHODS, Letters, reader
from oracles import measure
from refusals import refused
from tiers import first_tier

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
        write_results(tmp_path / "alone", alone.content, alone.rows)
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


@pytest.mark.parametrize("made", first_tier(4, sorted(METRICS.keys() - ELSEWHERE)), indirect=True)
def test_results_are_made_of_rows_alone(made, request, tmp_path):
    evaluation = request.node.callspec.params["made"]
    write_results(tmp_path / "run", made.content, made.rows)
    assert evaluation in made.rows
    assert json.loads(rescored(tmp_path / "run"))["rows"].keys() == made.rows.keys()
    assert rescored(tmp_path / "run") == (tmp_path / "run" / "results.json").read_text()


def test_the_command_writes_what_differs(tmp_path, capsys):
    """As where another version has counted otherwise."""
    engine = texts()
    write_results(tmp_path, engine.content, engine.rows)
    path, text = tmp_path / "results.json", (tmp_path / "results.json").read_text()
    command.main(["rescore", str(tmp_path)])
    other = json.loads(text.replace('"n": 40', '"n": 41'))
    path.write_text(results_text({k: v for k, v in other.items() if k != "checksum"}, other["rows"]))
    command.main(["rescore", str(tmp_path)])
    assert path.read_text() == text
    said = [line.partition("results.json: ")[2] for line in capsys.readouterr().out.splitlines()]
    assert said[0] == "the same"
    assert said[1].startswith("written, ")
    assert "metrics differ, the first is accuracy/planted" in said[1]
    assert read_results(tmp_path)["metrics"]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The folder of a run with accuracy and attentiveness, and that of another model of the same examples."""
    folder = tmp_path_factory.mktemp("runs")
    rules = {"one": guess, "other": lambda table, hypothesis: LABELS[len(hypothesis) % 3]}
    for name, rule in rules.items():
        data = Planted(n_validation=40, swap=["premise", "hypothesis"], eval_batch_size=16)
        engine = measure(rule, data, Attentiveness(), only=["accuracy", "attentiveness"])
        write_results(folder / name, engine.content, engine.rows)
    return folder


@pytest.fixture
def runs(measured, tmp_path):
    """A copy of both folders."""
    return shutil.copytree(measured, tmp_path / "runs")


def save_edited(file, edit):
    """The rows of a file after an edit, under the metadata that it had."""
    table = pq.read_table(file)
    pq.write_table(edit(table).replace_schema_metadata(table.schema.metadata), file)


def column(name, values):
    """An edit of one column by a function of the table."""
    return lambda table: table.set_column(table.schema.get_field_index(name), name, values(table))


def flip(file, place):
    content = bytearray(file.read_bytes())
    content[place % len(content)] ^= 1 << place % 8
    file.write_bytes(content)


ACCURACY = "accuracy.parquet"
ATTENTIVE = "attentiveness.parquet"
NULLS = column("y2", lambda table: pa.nulls(table.num_rows, pa.string()))
ATTACKS = {
    "y is gold": lambda rows, other: save_edited(rows / ACCURACY, column("y", lambda table: table["gold"])),
    "no y2": lambda rows, other: save_edited(rows / ATTENTIVE, NULLS),
    "no gold": lambda rows, other: save_edited(
        rows / ACCURACY, column("gold", lambda table: pa.nulls(table.num_rows, pa.string()))
    ),
    "the first half": lambda rows, other: save_edited(rows / ACCURACY, lambda table: table[: table.num_rows // 2]),
    "of another model": lambda rows, other: shutil.copy(other / ATTENTIVE, rows / ATTENTIVE),
    "a bit": lambda rows, other: flip(rows / ATTENTIVE, 4321),
    "a missing file": lambda rows, other: (rows / ATTENTIVE).unlink(),
    "a file copied in": lambda rows, other: shutil.copy(other / ACCURACY, rows / "default_label.parquet"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_rows_that_were_not_recorded_are_not_scored(runs, attack):
    """And results.json stays as it was."""
    before = (runs / "one" / "results.json").read_text()
    ATTACKS[attack](runs / "one" / "rows", runs / "other" / "rows")
    with pytest.raises(RunError, match="Evaluate again"):
        command.main(["rescore", str(runs / "one")])
    assert (runs / "one" / "results.json").read_text() == before


def test_rows_alone_give_the_same_results(runs, capsys):
    path = runs / "one" / "results.json"
    before = path.read_text()
    path.unlink()
    command.main(["rescore", str(runs / "one")])
    assert "written, there was none" in capsys.readouterr().out
    assert path.read_text() == before


def test_results_that_were_edited_are_not_scored_over(runs):
    path = runs / "one" / "results.json"
    path.write_text(path.read_text().replace('"n": 40', '"n": 41'))
    with refused(RunError, path, "was edited"):
        command.main(["rescore", str(runs / "one")])


def test_a_flipped_bit_is_seen_wherever_it_is(runs):
    file = runs / "one" / "rows" / ATTENTIVE
    content = file.read_bytes()
    for place in generator("flips").integers(len(content), size=20).tolist():
        flip(file, place)
        with refused(RunError, file):
            rescored(runs / "one")
        file.write_bytes(content)


def test_what_cannot_be_scored_is_refused_in_a_sentence(tmp_path):
    with refused(RunError, tmp_path):
        rescored(tmp_path)
    with refused(RunError):
        command.main(["rescore"])
    engine = texts(Attentiveness())
    table, meta = engine.rows["accuracy"]
    others = {"accuracy": (table, meta | {"run": meta["run"] | {"split": "test"}})}
    write_results(tmp_path, engine.content, engine.rows | others)
    with refused(RunError, tmp_path, "were not written by one evaluation"):
        rescored(tmp_path)
    write_results(tmp_path / "fourth", engine.content, {"unheard_of": (table, meta)})
    with refused(SettingError, "fourth", "unheard_of"):
        rescored(tmp_path / "fourth")
