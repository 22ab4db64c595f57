"""``heedful sheet``: the content of annotation sheets, and their scores."""

import csv
import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import measure as measure_function
from heedful.callbacks import Attentiveness
from heedful.callbacks.outputs.page import RecomputedContents
from heedful.cli import command
from heedful.datamodules import Planted
from heedful.records import Context, RunError, generator, read_json, write_json
from heedful.records.storage.results import write_results
from heedful.reports.page.examples import FILE, write_examples
from heedful.reports.page.sample import swaps_to_judge
from heedful.reports.runs import read_runs
from heedful.reports.sheet import ANSWER

from made_rows import make
from oracles import measure
from refusals import refused

LABELS = ("entailment", "neutral", "contradiction")
CONTEXT = Context("d", labels=LABELS, default_label="neutral", own={"swap": [["premise", "leaves"]]})
DATA = {"n_validation": 60, "n_train": 10}


def by_words(table, hypothesis):
    """Predict a label by a hash of the hypothesis."""
    return LABELS[int(generator("words", hypothesis).integers(3))]


def uids(rows, n, seed=0):
    context = Context(**{**vars(CONTEXT), "seed": seed})
    found = swaps_to_judge(rows, context, n)
    assert all(row["draw"] == 0 and row["intervention"] == "swap" for row in found)
    return [row["uid"] for row in found]


def rows_of(seconds):
    """Rows of twelve examples, a third of them predicted as the default label, with predictions after the swaps."""
    base = {f"u{i:02}": ("entailment", LABELS[i % 3]) for i in range(12)}
    swaps = [{"uid": u, "draw": d, "y2": seconds[i]} for i, u in enumerate(base) for d in (0, 1)]
    return make(base, swaps)


@given(st.lists(st.sampled_from(LABELS), min_size=12, max_size=12), st.integers(1, 9), st.integers(0, 3))
def test_the_choice_knows_nothing_of_the_second_prediction(seconds, n, seed):
    found = uids(rows_of(seconds), n, seed)
    assert found == uids(rows_of(["neutral"] * 12), n, seed)
    assert len(found) == min(n, 8)
    assert not {"u01", "u04", "u07", "u10"} & set(found)
    assert set(found) <= set(uids(rows_of(seconds), n + 1, seed))
    assert len({tuple(uids(rows_of(seconds), 3, other)) for other in range(3)}) > 1


@pytest.fixture
def run(tmp_path):
    """The folder of a run on 60 planted pairs."""
    engine = measure(by_words, Planted(**DATA), Attentiveness(draws=2))
    folder = tmp_path / "run"
    write_results(folder, engine.content, engine.rows)
    data = Planted(**DATA)
    data.setup("validate")
    write_examples(folder, RecomputedContents.of(engine.plans, data))
    return folder


def read_sheet(path):
    """The lines of a sheet, without the apostrophes before formulas."""
    with open(path, encoding="utf-8", newline="") as file:
        return [{name: text.removeprefix("'") for name, text in line.items()} for line in csv.DictReader(file)]


def write(run, n=7):
    path = run.parent / "sheet.csv"
    command.main(["sheet", str(run), "--n", str(n), "--output", str(path)])
    return path


def fill(path, answers, name="filled.csv"):
    """Copy a sheet with answers, in the encoding of a spreadsheet program."""
    lines = read_sheet(path)
    filled = path.with_name(name)
    with open(filled, "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(line | {ANSWER: answer} for line, answer in zip(lines, answers, strict=True))
    return str(filled)


def test_a_sheet_shows_the_swapped_input_and_the_first_prediction_alone(run):
    path = write(run)
    data = Planted(**DATA)
    data.setup("validate")
    rows = read_runs([str(run)])[0].swaps()[0]
    first = {r["uid"]: r for r in rows.to_pylist() if r["intervention"] == "swap" and r["draw"] == 0}
    lines = read_sheet(path)
    assert len(lines) == 7
    for line in lines:
        row = first[line["uid"]]
        assert line["premise"] == data.pool[row["partner"]].parts["premise"]
        assert line["hypothesis"] == data.pool[row["uid"]].parts["hypothesis"]
        assert line["label"] == row["y"] != "neutral"
        assert (line[ANSWER], line["lent_by"]) == ("", row["partner"])
        assert list(line) == ["uid", "swapped", "premise", "hypothesis", "label", ANSWER, "lent_by"]
    assert "neutral" not in path.read_text()


def test_scores_are_those_of_the_answers(run, capsys):
    sheet = write(run, 30)
    file = fill(sheet, ["yes", "YES ", "no", "yes", "yes", "", "no"] + [""] * 23)
    capsys.readouterr()
    command.main(["sheet", str(run), "--score", file])
    text = capsys.readouterr().out
    assert "the label is now wrong: 66.7 [30.0, 90.3] %, n=6 of 30" in text
    assert "wrong in 30 % to 90 % of cases (people judged 6)" in text
    command.main(["sheet", str(run), "--score", fill(sheet, [""] * 30, "empty.csv")])
    assert "undefined: no case was answered, n=0 of 30" in capsys.readouterr().out
    command.main(["sheet", str(run), "--score", fill(sheet, ["yes"] * 30, "all.csv")])
    assert "Note" not in capsys.readouterr().out
    with refused(RunError, sheet, "output"):
        write(run)


def test_inputs_that_a_run_did_not_keep_are_refused(run):
    content = read_json(run / FILE)
    kept = {json.dumps(key): contents for key, *contents in content["examples"]}
    assert len(kept) == len(content["examples"])
    write_json(run / FILE, content | {"examples": content["examples"][:1]})
    with refused(RunError, run / FILE, "7 swapped inputs"):
        write(run)
    write_json(run / FILE, content | {"rows": {}})
    with refused(RunError, run / FILE, "0 of the 7"):
        write(run)
    (run / FILE).unlink()
    with refused(RunError, run / FILE):
        write(run)


def test_a_measured_run_has_a_sheet_whose_texts_are_no_formulas(tmp_path):
    rows = [{"text": f"=1+{i}", "question": f"- q {i}", "label": "yes"} for i in range(20)]
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    settings = {"parts": ["text", "question"], "labels": ["yes", "no"], "evaluations": "attentiveness"}
    for path, name in ((tmp_path / "rows.csv", "file"), (rows, "memory")):
        measure_function(lambda rows: ["yes"] * len(rows), path, **settings, output=tmp_path / name)
    for name in ("memory", "file"):
        (tmp_path / "sheet.csv").unlink(missing_ok=True)
        path = write(tmp_path / name)
    assert {line["swapped"] for line in read_sheet(path)} == {"text", "question"}
    for line in read_sheet(path):
        assert line["text"].startswith("=1+")
        assert line["question"].startswith("- q")
    with open(path, encoding="utf-8", newline="") as file:
        written = [*csv.DictReader(file)]
    assert all(line["text"].startswith("'=1+") and line["question"].startswith("'- q") for line in written)


def test_a_run_of_which_no_prediction_counts_has_no_sheet(tmp_path):
    engine = measure(lambda premise, hypothesis: "neutral", Planted(**DATA), Attentiveness(draws=1))
    write_results(tmp_path, engine.content, engine.rows)
    with refused(RunError, tmp_path):
        write(tmp_path)
