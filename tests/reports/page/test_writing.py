"""The page about runs: what it says is what was measured, and what stands in data stays text."""

import base64
import dataclasses
import getpass
import hashlib
import json
import re
import shutil
import socket

import pyarrow as pa
import pytest

from heedful.assembly.measuring import measure
from heedful.assembly.results import load
from heedful.cli import command
from heedful.records import Measurement, MetricName, RunError, read_json
from heedful.records.storage.epochs import write_epochs
from heedful.reports.page import writing
from heedful.reports.page.writing import REPORT, write_page

import paged_runs
import written_results
from paged_runs import LABELS, Page
from refusals import refused

HOSTILE = (
    '<script>alert("1")</script>',
    "{{7*7}} {% raw %}",
    "\u202eright to left",
    "</script><img src=x onerror=alert(1)>",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return paged_runs.saved(tmp_path_factory.mktemp("runs") / "run", paged_runs.rows())


@pytest.fixture(scope="module")
def text(folder):
    to = write_page([folder], folder / REPORT)
    return to.read_text()


def percents(m):
    """A measurement in percent, value and interval, written anew here."""
    value = f"{100 * m['value']:.2f} %"
    value += "" if m["std"] is None else f" ± {100 * m['std']:.2f} %"
    return value, "" if m["ci95"] is None else "[{:.1f}, {:.1f}]".format(*(100 * bound for bound in m["ci95"]))


def test_each_number_is_that_of_the_results(folder, text):
    results = read_json(folder / "results.json")
    page = Page(text)
    shown = {line["metric"]: line for line in results["display"]["lines"]}
    assert page.lines.keys() == shown.keys()
    checked = 0
    for name, line in shown.items():
        m = results["metrics"][name]
        ((label, value, interval, _, n),) = page.lines[name]
        assert label.startswith(line["label"])
        assert n == f"{m['n']:,}"
        if m["value"] is not None and line.get("unit", "percent") == "percent" and "few_examples" not in m["flags"]:
            assert (value, interval) == percents(m)
            checked += 1
    assert checked > 8


def test_each_place_on_a_scale_is_that_of_the_number(folder, text):
    results = read_json(folder / "results.json")
    m = results["metrics"]["attentiveness/d/premise"]
    line = re.search(r'<tr class="l0" data-metric="attentiveness/d/premise".*?</tr>', text, re.DOTALL)[0]
    found = [float(re.search(rf'{name}="([\d.]+)"', line)[1]) for name in ('class="ci" x1', 'class="ci".*? x2', "cx")]
    assert found == pytest.approx([2 + 100 * x for x in (*m["ci95"], m["value"])])


def test_the_verdict_says_the_number_and_what_it_is_compared_with(folder, text):
    results = read_json(folder / "results.json")
    verdicts = Page(text).verdicts
    m = results["metrics"]["attentiveness/d/premise"]
    told = verdicts["attentiveness/d/premise"]
    low, high = (f"{100 * bound:.1f}" for bound in m["ci95"])
    assert f"changes {100 * m['value']:.1f} % [{low}, {high}] of the predictions that it should change" in told
    assert f"{m['n']} of 30 examples count, those not predicted as “neutral”, each with 2 replacements" in told
    majority = results["metrics"]["accuracy/d/majority"]["value"]
    assert f"one constant answer would reach {100 * majority:.1f} %" in verdicts["accuracy/d"]


def test_a_caution_stands_once_and_the_numbers_refer_to_it(folder, text):
    page = Page(text)
    assert page.text.count("Do not read a high number as a merit: the accuracy is not above") == 1
    assert page.verdicts["accuracy/d"].endswith(".1")
    marked = re.findall(r'data-metric="([^"]*)">\n<th scope="row"><bdi>[^<]*</bdi><sup><a href="#caution-1"', text)
    results = read_json(folder / "results.json")
    metrics = results["metrics"]
    assert {name for name in marked if name in page.lines} == {
        name for name in page.lines if name in metrics and "not_above_majority" in metrics[name]["flags"]
    }
    places = re.findall(r'<li id="caution-(\d+)"', text)
    assert places == [str(k) for k in range(1, len(places) + 1)]


def test_what_the_model_gets_wrong_comes_first(text):
    cards = Page(text).cards
    outcomes = [
        "kept" if "prediction kept" in card else "changed" if "prediction changed" in card else "" for card in cards
    ]
    assert outcomes == sorted(outcomes, key=["kept", "changed", ""].index)
    assert set(outcomes) == {"kept", "changed", ""}


def test_inputs_that_were_predicted_once_are_no_caution(tmp_path):
    folder = paged_runs.saved(tmp_path / "run", paged_runs.rows())
    before = write_page([folder], tmp_path / "a.html").read_text()
    counts = read_json(folder / "results.json")["counts"]
    written_results.rewrite(folder, counts=counts | {"attentiveness/identical": 3})
    page = Page(write_page([folder], tmp_path / "a.html").read_text())
    assert "were predicted once" not in page.text
    assert page.verdicts == Page(before).verdicts
    assert "changed inputs that were the same as others to the model 3" in page.text


def test_figures_follow_the_theme(text):
    figures = re.findall(r'<div class="figure".*?</div>', text, re.DOTALL)
    assert figures
    for figure in figures:
        assert "currentColor" in figure
        assert not re.search("#000000|#ffffff", figure)


def test_a_table_of_moves_counts_the_rows(folder, text):
    rows = [row for row in paged_runs.rows().to_pylist() if row["intervention"] == "swap"]
    page = Page(text)
    for y in {row["y"] for row in rows}:
        here = [row["y2"] for row in rows if row["y"] == y]
        n = len({row["uid"] for row in rows if row["y"] == y})
        after = [label for label in LABELS if any(row["y2"] == label or row["y"] == label for row in rows)]
        cells = " ".join(f"{100 * here.count(label) / len(here):.1f} %" for label in after)
        assert f"{y} {cells} {n}" in page.text


def test_it_is_whole_without_its_data_and_the_same_each_time(folder, text, tmp_path):
    again = write_page([folder], tmp_path / "a.html")
    assert again.read_text() == text


@pytest.mark.slow
def test_texts_of_other_rows_are_not_taken(folder, text, tmp_path):
    other = paged_runs.saved(tmp_path / "other", paged_runs.rows(28))
    shutil.copy(folder / "examples.json", other)
    page = write_page([other], tmp_path / "a.html").read_text()
    assert "Premise of" not in page
    assert "Its texts were not kept" in page


def test_without_examples_nothing_of_the_data_is_there(folder, tmp_path):
    page = write_page([folder], tmp_path / "a.html", examples=False).read_text()
    assert "Premise of" not in page
    assert "d/validation/1" not in page
    assert "This page has no examples" in page


@pytest.mark.parametrize("hostile", HOSTILE)
def test_what_stands_in_data_stays_text(tmp_path, hostile):
    table = paged_runs.rows(8, "d/validation/# " + hostile)
    folder = paged_runs.saved(tmp_path / "run", table, text=f"{hostile} #")
    text = write_page([folder], tmp_path / "a.html").read_text()
    page = Page(text)
    assert len(page.scripts) == 1
    assert not [name for name, _ in page.attributes if name.startswith("img ") or " on" in name]
    facets = [json.loads(value) for name, value in page.attributes if name == "article data-facets"]
    assert len(facets) == len(page.cards) > 8
    shown = hostile.replace("\u202e", "\\u202e")
    assert all(shown in card for card in page.cards)


def test_the_script_is_the_one_that_the_policy_allows(text):
    page = Page(text)
    policy = next(
        value for name, value in page.attributes if name == "meta content" and value.startswith("default-src")
    )
    allowed = re.search(r"script-src 'sha256-([^']+)'", policy)[1]
    assert base64.b64encode(hashlib.sha256(page.scripts[0].encode()).digest()).decode() == allowed
    assert policy.startswith("default-src 'none'; img-src data:; ")
    assert "innerHTML" not in page.scripts[0]


def test_it_asks_for_nothing_and_all_ids_are_unique(folder, text, tmp_path):
    other = paged_runs.saved(tmp_path / "other", paged_runs.rows(28))
    both = write_page([folder, other], tmp_path / "a.html").read_text()
    for page in map(Page, (text, both)):
        assert len(page.ids) == len(set(page.ids)) > 5
        targets = [value for name, value in page.attributes if name.endswith(("href", "src", "url"))]
        assert all(value.startswith(("#", "data:image/")) for value in targets)
        used = {value[1:] for value in targets if value.startswith("#")}
        assert used <= set(page.ids)
        labels = [value for name, value in page.attributes if name.endswith("aria-labelledby")]
        assert labels
        assert set(labels) <= set(page.ids)


@pytest.mark.slow
def test_headings_are_in_order(folder, text, tmp_path):
    other = paged_runs.saved(tmp_path / "other", paged_runs.rows(28))
    both = write_page([folder, other], tmp_path / "a.html").read_text()
    for page in map(Page, (text, both)):
        assert page.headings.count(1) == 1
        assert page.headings[0] == 1
        assert all(after <= before + 1 for before, after in zip(page.headings, page.headings[1:], strict=False))


@pytest.mark.slow
def test_it_stays_small_and_says_how_much_is_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "LARGEST", 1_500_000)
    folder = paged_runs.saved(tmp_path / "run", paged_runs.rows(2000), accuracy=False, text="word # " * 400)
    to = write_page([folder], tmp_path / "a.html")
    assert 1_400_000 < to.stat().st_size < 1_500_000
    page = Page(to.read_text())
    shown = len(page.cards)
    of = sum(row["intervention"] == "swap" and row["draw"] == 0 for row in paged_runs.rows(2000).to_pylist())
    assert 0 < shown < 600
    assert f"{shown:,} of {of:,} examples and changes are on this page" in page.text


@pytest.mark.slow
def test_it_names_no_place_no_user_and_no_host(tmp_path, monkeypatch):
    home = tmp_path / "home" / "somebody-here"
    monkeypatch.setenv("HOME", str(home))
    data = {"class_path": "heedful.datamodules.Planted", "init_args": {"name": "d", "path": f"{home}/data/mine.csv"}}
    model = {"class_path": "heedful.lightning_modules.Encoder", "init_args": {"backbone": f"{home}/models/own-bert"}}
    folder = paged_runs.saved(home / "runs" / "one", paged_runs.rows(), data=data, model=model, checkpoint={})
    other = paged_runs.saved(home / "runs" / "two", paged_runs.rows(28), data=data, model=model, checkpoint={})
    about = {
        "command": ["evaluate.py", f"--data.path={home}/data/mine.csv", "--output", str(folder), "--x", "~/a/b.yaml"]
    }
    about |= {"host": "host-of-somebody", "server": "abc", "python": "3.11.1", "packages": {"torch": "2.13.0"}}
    (folder / "run.json").write_text(json.dumps(about))
    for runs in ([folder], [folder, other]):
        text = write_page(runs, tmp_path / "a.html").read_text()
        for secret in (str(tmp_path), "somebody", "host-of", "~/", getpass.getuser() + "/", socket.gethostname() + " "):
            assert secret not in text, secret
        page = Page(text).text
        assert "python evaluate.py --data.path=mine.csv --output one --x b.yaml" in page
        assert "path: mine.csv" in page
        assert "torch 2.13.0" in page


@pytest.mark.slow
def test_several_runs_are_compared_with_the_first(tmp_path):
    table = paged_runs.rows()
    folders = [paged_runs.saved(tmp_path / name, table) for name in "abc"]
    page = Page(write_page(folders, tmp_path / "a.html").read_text())
    assert "attentiveness, %" in page.text
    for name in "bc":
        assert re.search(rf"{name} less a .*?attentiveness premise \*? ?\S*0\.0 \[\S+, \S+\] \d", page.text)


@pytest.mark.slow
def test_runs_on_other_examples_are_not_paired_and_it_says_why(tmp_path):
    folders = [paged_runs.saved(tmp_path / name, paged_runs.rows(n)) for name, n in (("a", 30), ("b", 28))]
    page = Page(write_page(folders, tmp_path / "a.html").read_text())
    assert "b less a" not in page.text
    assert re.search(r"b and a are not paired: .*2 are in one run only", page.text)


@pytest.mark.slow
def test_a_model_of_one_part_among_the_runs_stands_in_the_verdict(tmp_path):
    name = MetricName("accuracy", "d")
    numbers = {name: Measurement(0.6, 30), name._replace(statistic="majority"): Measurement(0.4, 30)}
    alone = written_results.results(numbers)
    written_results.configured(tmp_path / "alone", found=alone, name="d", partial="hypothesis")
    model = {"class_path": "heedful.lightning_modules.Encoder", "init_args": {"backbone": written_results.MINILM}}
    data = {"class_path": "heedful.datamodules.Planted", "init_args": {"name": "d"}}
    whole = tmp_path / "whole"
    paged_runs.saved(whole, paged_runs.rows(), model=model, data=data, checkpoint={"save_last": True})
    page = Page(write_page([whole, tmp_path / "alone"], tmp_path / "a.html").read_text())
    told = page.verdicts["attentiveness/d/premise"]
    assert "a model trained on the hypothesis alone reaches 60.0 % accuracy, one constant answer 40 %" in told


@pytest.mark.slow
def test_unlabelled_and_unfinished_runs_say_so(tmp_path):
    table = paged_runs.rows()
    table = table.set_column(table.schema.get_field_index("gold"), "gold", pa.nulls(table.num_rows, pa.string()))
    context = dataclasses.replace(paged_runs.CONTEXT, unlabelled=True)
    folder = paged_runs.saved(tmp_path / "run", table, context, accuracy=False)
    written_results.rewrite(folder, unfinished="epoch 1 of 4, step 30")
    page = Page(write_page([folder], tmp_path / "a.html").read_text())
    assert "without gold labels, whether the model is better than a single answer is not known" in page.text
    assert "the run had not ended (epoch 1 of 4, step 30)" in page.text


@pytest.mark.slow
def test_without_gold_labels_the_null_control_is_not_called_accuracy(tmp_path):
    rows = [{"premise": f"One {k}.", "hypothesis": f"Two {k}."} for k in range(12)]
    quiet = {"enable_progress_bar": False}
    result = measure(lambda asked: ["yes"] * len(asked), rows, ["premise", "hypothesis"], trainer=quiet)
    page = Page(result.page(tmp_path / "a.html").read_text())
    assert "How often is the model right" not in page.text
    assert "Does a prediction change when nothing but the other inputs of its batch do?" in page.text
    assert "null/rows/flips" in page.lines


@pytest.mark.slow
def test_the_curves_of_a_training_are_drawn_where_their_evaluation_stands(tmp_path):
    folder = paged_runs.saved(tmp_path / "run", paged_runs.rows())
    before = write_page([folder], tmp_path / "a.html").read_text()
    points = [(epoch, {"premise": Measurement(0.2 * epoch, 9, ci95=(0.1, 0.9))}) for epoch in (1, 2)]
    write_epochs(folder, {"attentiveness": points, "of_nobody": points})
    after = write_page([folder], tmp_path / "a.html").read_text()
    assert after.count("over the epochs of training") - before.count("over the epochs of training") > 1
    assert {'id="r0-attentiveness-epochs-attentiveness-title"', 'id="r0-attentiveness-epochs-of_nobody-title"'} <= {
        *re.findall(r'id="[\w-]+-title"', after)
    }
    assert "data:image/png" not in after


@pytest.mark.slow
def test_the_results_write_their_page(folder, text, tmp_path):
    assert load(folder).page(tmp_path / "mine.html").read_text() == text
    assert load(folder).page() == folder / REPORT


@pytest.mark.slow
def test_rescore_writes_the_page_again_where_there_is_one(tmp_path, capsys):
    folder = paged_runs.saved(tmp_path / "run", paged_runs.rows())
    results = folder / "results.json"
    told = results.read_text()
    command.main(["page", str(folder)])
    page = (folder / REPORT).read_text()
    written_results.rewrite(folder, note="Old.")
    command.main(["page", str(folder)])
    assert "Old." in (folder / REPORT).read_text()
    command.main(["rescore", str(folder)])
    assert results.read_text() == told
    assert (folder / REPORT).read_text() == page
    (folder / REPORT).unlink()
    written_results.rewrite(folder, note="Old.")
    command.main(["rescore", str(folder)])
    assert not (folder / REPORT).exists()


def test_a_page_that_cannot_be_written_is_named(folder, tmp_path):
    (tmp_path / "file").touch()
    with refused(RunError, tmp_path / "file" / "a.html"):
        write_page([folder], tmp_path / "file" / "a.html")
