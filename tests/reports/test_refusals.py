"""Mistakes on the command lines of reports raise errors that name the cause."""

from dataclasses import replace

import pytest

from heedful.cli import command
from heedful.records import Context, DataError, Measurement, MetricName, RunError, SettingError

import written_results
from made_rows import make
from refusals import refused

LABELS = ("entailment", "neutral", "contradiction")
CONTEXT = Context("d", parts=("premise", "hypothesis"), labels=LABELS, default_label="neutral")
SWAPPED = replace(CONTEXT, own={"swap": [["premise", "leaves"]]})
REFUSED = {
    "compare": (SettingError, "RUN"),
    "compare empty": (RunError, "empty/results.json"),
    "compare --mean swapped": (RunError, "mean"),
    "compare --mean swapped swapped/": (RunError, "mean"),
    "compare --agreed swapped": (RunError,),
    "compare --agreed swapped bare": (RunError, "bare", "attentiveness"),
    "compare --agreed swapped one_part": (RunError, "one_part"),
    "compare --inoculation swapped": (RunError,),
    "compare --inoculation swapped gone": (DataError, "gone"),
    "compare --inoculation swapped swapped": (RunError,),
    "compare --inoculation swapped bare": (RunError, "bare", "accuracy"),
    "compare --inoculation swapped twin": (RunError, "swapped", "twin", "challenge", "counterfactual_tables"),
    "matrix": (RunError,),
    "matrix bare": (RunError,),
    "matrix --mean swapped": (RunError, "mean"),
    "matrix --mean empty": (RunError, "empty"),
    "rank": (RunError,),
    "rank gone": (DataError, "gone"),
    "rank swapped": (RunError, "swapped"),
    "rank swapped twin": (RunError, "attributions", "evaluations"),
    "rank swapped twin --n 5,x": (SettingError, "n 5,x", "5,10,20"),
    "rank swapped twin --n 0": (SettingError, "n 0"),
    "rank swapped twin --samples 0": (SettingError, "samples", "0"),
    "rank swapped twin --set x": (SettingError, "set x", "NAME=FOLDER"),
    "rank swapped twin --factors nope": (SettingError, "factors nope", "max_diff"),
    "figure nothing swapped": (SettingError, "nothing"),
    "figure attentiveness swapped --output f": (SettingError, "output f", ".png, .pdf, .svg"),
    "figure attentiveness swapped --output f.gif": (SettingError, "output f.gif", ".png, .pdf, .svg"),
    "figure attentiveness swapped --name other": (SettingError, "name other"),
    "figure attentiveness empty": (RunError, "empty/results.json"),
    "figure attentiveness bare": (RunError, "bare", "attentiveness"),
    "figure causal_effects bare": (RunError, "bare", "natural_logic"),
    "figure transitions bare": (RunError, "bare", "table_rows"),
    "figure partial bare": (RunError, "attentiveness"),
    "page": (RunError,),
    "page swapped bare": (SettingError, "output"),
    "page empty": (RunError, "empty"),
    "page swapped -o file/a.html": (RunError, "file/a.html"),
    "page swapped -o other.csv": (RunError, "output other.csv", ".html"),
    "rescore": (RunError,),
    "rescore empty": (RunError, "empty"),
    "sheet swapped": (RunError, "examples.json"),
    "sheet swapped --score other.csv": (DataError, "other.csv", "'now_wrong'"),
    "sheet swapped --score latin.csv": (DataError, "latin.csv", "UTF-8"),
    "sheet swapped --score maybe.csv": (DataError, "maybe.csv, row 3", "'maybe'"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with runs (with swaps, without rows, of one part), an empty folder and damaged sheets."""
    folder = tmp_path_factory.mktemp("place")
    rows = make({"u0": ("entailment", "entailment")}, [{"uid": "u0", "y2": "neutral"}])
    name = MetricName("attentiveness", "d", "premise")
    found = written_results.results({name: Measurement(0.5, 20)})
    for run, content in (("swapped", found), ("twin", found | {"note": "Another run."})):
        written_results.save(folder / run, content, {"accuracy": rows, "attentiveness": rows}, SWAPPED)
    written_results.save(folder / "one_part", rows={"attentiveness": rows}, context=replace(CONTEXT, own={"swap": []}))
    written_results.save(folder / "bare")
    (folder / "empty").mkdir()
    (folder / "file").touch()
    (folder / "other.csv").write_text("a,b\n1,2\n")
    (folder / "latin.csv").write_bytes(b"\xff")
    (folder / "maybe.csv").write_text("uid,now_wrong\nu0,yes\nu1,maybe\n")
    return folder


@pytest.mark.parametrize("words", REFUSED)
def test_a_mistake_is_refused_with_its_facts(place, monkeypatch, words):
    monkeypatch.chdir(place)
    before = sorted(place.rglob("*"))
    with refused(*REFUSED[words]):
        command.main(words.split())
    assert sorted(place.rglob("*")) == before
