"""``heedful rescore`` computes the same bytes of results.json from the rows files."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heedful.callbacks import (
    Attentiveness,
    Challenge,
    CounterfactualTables,
    DefaultLabel,
    Evidence,
    Interaction,
    NaivePartial,
    Setting,
    TableRows,
    TwoClass,
)
from heedful.cli import command
from heedful.datamodules import Planted
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.records import RunError, SettingError, generator
from heedful.records.storage.results import read_evaluation, read_results, results_text, write_results
from heedful.reports.rescore import rescored

from infotabs_files import module, write_infotabs
from oracles import measure
from refusals import refused
from tiers import first_tier


def guess(table, hypothesis):
    """Predict a label by a hash of the input."""
    return LABELS[generator("guess", table.encode() if table else "", hypothesis).integers(3)]


class OtherData(TwoClass):
    """The evaluation of two classes on other data sets, which are planted here."""

    def plan(self, setting):
        def read(name, path):
            data = Planted(n_validation=12, name=name)
            data.setup("validate")
            return data

        return super().plan(Setting(setting.data, setting.monitoring, read))


def texts(*evaluations):
    data = Planted(n_validation=40, swap=["premise", "hypothesis"], eval_batch_size=16)
    return measure(guess, data, *evaluations, only=["accuracy", *(e.name for e in evaluations)])


@pytest.mark.parametrize("kind", first_tier(1, ["pairs", "tables"]))
def test_results_are_made_of_rows_alone(kind, tmp_path):
    """These evaluations are in no frozen run; ``test_ranking.py`` tests attributions."""
    if kind == "pairs":
        evaluations = [DefaultLabel(), NaivePartial(), Interaction(2), OtherData({"one": None, "two": None})]
        engine = texts(*evaluations)
    else:
        folder = write_infotabs(tmp_path / "files")
        evaluations = [TableRows(["delete", "delete+insert"]), Evidence(str(folder / "relevant.csv")), Challenge()]
        evaluations += [CounterfactualTables([str(folder / "flips")])]
        engine = measure(guess, module(folder), *evaluations)
    write_results(tmp_path / "run", engine.content, engine.rows)
    assert engine.rows.keys() >= {evaluation.name for evaluation in evaluations}
    assert rescored(tmp_path / "run") == (tmp_path / "run" / "results.json").read_text()


def test_the_command_writes_what_differs(tmp_path, capsys):
    """An edited number stands for the number of another version."""
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
    """A folder with runs of two models on the same examples."""
    folder = tmp_path_factory.mktemp("runs")
    rules = {"one": guess, "other": lambda table, hypothesis: LABELS[len(hypothesis) % 3]}
    for name, rule in rules.items():
        data = Planted(n_validation=40, swap=["premise", "hypothesis"], eval_batch_size=16)
        engine = measure(rule, data, Attentiveness(), only=["accuracy", "attentiveness"])
        write_results(folder / name, engine.content, engine.rows)
    return folder


@pytest.fixture
def runs(measured, tmp_path):
    """A copy of the folder."""
    return shutil.copytree(measured, tmp_path / "runs")


def save_edited(file, name, values):
    """Replace a column of a rows file, and keep its metadata."""
    table = pq.read_table(file)
    edited = table.set_column(table.schema.get_field_index(name), name, values(table))
    pq.write_table(edited.replace_schema_metadata(table.schema.metadata), file)


def nulls(table):
    return pa.nulls(table.num_rows, pa.string())


def flip(file, seed):
    """Flip one bit of a file."""
    content = bytearray(file.read_bytes())
    place = int(generator("flips", str(seed)).integers(len(content)))
    content[place] ^= 1 << place % 8
    file.write_bytes(content)


ACCURACY, ATTENTIVE = "accuracy.parquet", "attentiveness.parquet"
ATTACKS = {
    "y is gold": lambda rows, other: save_edited(rows / ACCURACY, "y", lambda table: table["gold"]),
    "no y2": lambda rows, other: save_edited(rows / ATTENTIVE, "y2", nulls),
    "no gold": lambda rows, other: save_edited(rows / ACCURACY, "gold", nulls),
    "of another model": lambda rows, other: shutil.copy(other / ATTENTIVE, rows / ATTENTIVE),
    "a missing file": lambda rows, other: (rows / ATTENTIVE).unlink(),
    "a file copied in": lambda rows, other: shutil.copy(other / ACCURACY, rows / "default_label.parquet"),
    **{f"bit {seed}": lambda rows, other, seed=seed: flip(rows / ATTENTIVE, seed) for seed in range(3)},
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_rows_that_were_not_recorded_are_not_scored(runs, attack):
    """results.json is not rewritten."""
    path = runs / "one" / "results.json"
    before = path.read_text()
    ATTACKS[attack](runs / "one" / "rows", runs / "other" / "rows")
    with refused(RunError, runs / "one"):
        command.main(["rescore", str(runs / "one")])
    assert path.read_text() == before


def test_rows_alone_give_the_same_results_and_edited_results_are_refused(runs, capsys):
    path = runs / "one" / "results.json"
    before = path.read_text()
    path.unlink()
    command.main(["rescore", str(runs / "one")])
    assert "written, there was none" in capsys.readouterr().out
    assert path.read_text() == before
    path.write_text(before.replace('"n": 40', '"n": 41'))
    with refused(RunError, path, "was edited"):
        command.main(["rescore", str(runs / "one")])


@pytest.mark.parametrize(("name", "error", "fact"), [("accuracy", RunError, "run"), ("new", SettingError, "new")])
def test_rows_of_two_evaluations_and_unknown_evaluations_are_refused(runs, tmp_path, name, error, fact):
    content, (rows, about) = read_results(runs / "one"), read_evaluation(runs / "one", "accuracy")
    rows_of = {"attentiveness": read_evaluation(runs / "one", "attentiveness")}
    rows_of[name] = (rows, about | {"run": about["run"] | ({"split": "test"} if name == "accuracy" else {})})
    write_results(tmp_path / "run", content, rows_of)
    with refused(error, tmp_path / "run", fact):
        rescored(tmp_path / "run")
