"""Pages about runs: numbers, verdicts, examples, escaped texts, and no paths of the machine."""

import base64
import dataclasses
import getpass
import hashlib
import json
import re
import shutil
import socket
import string

import pyarrow as pa
import pytest

from heedful.assembly.results import load
from heedful.callbacks import EVALUATIONS
from heedful.cli import command
from heedful.metrics import METRICS
from heedful.records import Measurement, MetricName, read_json, write_json
from heedful.records.storage.results import EPOCHS, as_plain
from heedful.reports.flags import FLAGS, warnings
from heedful.reports.lines import lines_of
from heedful.reports.page import writing
from heedful.reports.page.about import abouts
from heedful.reports.page.made import without_places
from heedful.reports.page.writing import REPORT, write_page

import paged_runs
import written_results
from paged_runs import LABELS, Page
from registered import CLASSES

ENCODER = {"class_path": "heedful.lightning_modules.Encoder", "init_args": {"backbone": written_results.MINILM}}
PLANTED = {"class_path": "heedful.datamodules.Planted", "init_args": {"name": "d"}}
TRAINED = {"model": ENCODER, "data": PLANTED, "checkpoint": {"save_last": True}}
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
def other(tmp_path_factory):
    """A run on 28 of the 30 examples."""
    return paged_runs.saved(tmp_path_factory.mktemp("runs") / "other", paged_runs.rows(28))


@pytest.fixture(scope="module")
def text(folder):
    return write_page([folder], folder / REPORT).read_text()


@pytest.fixture
def page_of(tmp_path):
    """A function that writes the page about runs, and parses it."""
    return lambda *folders, **more: Page(write_page(folders, tmp_path / "a.html", **more).read_text())


def percents(m):
    """The value and the interval of a measurement, as a page formats them."""
    value = f"{100 * m['value']:.2f} %"
    value += "" if m["std"] is None else f" ± {100 * m['std']:.2f} %"
    return value, "" if m["ci95"] is None else "[{:.1f}, {:.1f}]".format(*(100 * bound for bound in m["ci95"]))


def test_each_number_and_its_place_on_a_scale_are_those_of_the_results(folder, text):
    results = read_json(folder / "results.json")
    page = Page(text)
    lines = {line.metric: line for line in lines_of(results)}
    assert page.lines.keys() == lines.keys()
    checked = 0
    for name, line in lines.items():
        m = results["metrics"][name]
        ((label, value, interval, _, n),) = page.lines[name]
        assert label.startswith(line.label)
        assert n == f"{m['n']:,}"
        if m["value"] is not None and line.unit == "percent" and "few_examples" not in m["flags"]:
            assert (value, interval) == percents(m)
            checked += 1
    assert checked > 8
    m = results["metrics"]["attentiveness/d/premise"]
    low, high = (f"{100 * bound:.1f}" for bound in m["ci95"])
    assert f"{100 * m['value']:.1f} % [{low}, {high}]" in page.verdicts["attentiveness/d/premise"]
    line = re.search(r'<tr class="l0" data-metric="attentiveness/d/premise".*?</tr>', text, re.DOTALL)[0]
    found = [float(re.search(rf'{name}="([\d.]+)"', line)[1]) for name in ('class="ci" x1', 'class="ci".*? x2', "cx")]
    assert found == pytest.approx([2 + 100 * x for x in (*m["ci95"], m["value"])])


def test_a_caution_stands_once_and_its_numbers_refer_to_it(folder, text):
    page = Page(text)
    assert page.text.count(FLAGS["not_above_majority"].warning[:60]) == 1
    assert page.verdicts["accuracy/d"].endswith(".1")
    marked = re.findall(r'data-metric="([^"]*)">\n<th scope="row"><bdi>[^<]*</bdi><sup><a href="#caution-1"', text)
    metrics = read_json(folder / "results.json")["metrics"]
    assert {name for name in marked if name in page.lines} == {
        name for name in page.lines if name in metrics and "not_above_majority" in metrics[name]["flags"]
    }
    places = re.findall(r'<li id="caution-(\d+)"', text)
    assert places == [str(k) for k in range(1, len(places) + 1)]


def test_failures_of_the_model_come_first_and_figures_follow_the_theme(text):
    outcomes = [re.search("prediction (kept, not as|changed, as) expected|$", card)[1] for card in Page(text).cards]
    assert outcomes == sorted(outcomes, key=["kept, not as", "changed, as", None].index)
    assert set(outcomes) == {"kept, not as", "changed, as", None}
    figures = re.findall(r'<div class="figure".*?</div>', text, re.DOTALL)
    assert figures
    assert all("currentColor" in figure and not re.search("#000000|#ffffff", figure) for figure in figures)


def test_a_table_of_moves_counts_the_rows(text):
    rows = [row for row in paged_runs.rows().to_pylist() if row["intervention"] == "swap"]
    page = Page(text)
    for y in {row["y"] for row in rows}:
        after = [row["y2"] for row in rows if row["y"] == y]
        n = len({row["uid"] for row in rows if row["y"] == y})
        labels = [label for label in LABELS if any(label in (row["y2"], row["y"]) for row in rows)]
        cells = " ".join(f"{100 * after.count(label) / len(after):.1f} %" for label in labels)
        assert f"{y} {cells} {n}" in page.text


def test_the_same_page_is_written_each_time_and_by_the_results(folder, text, tmp_path):
    assert write_page([folder], tmp_path / "a.html").read_text() == text
    assert load(folder).page(tmp_path / "mine.html").read_text() == text
    assert load(folder).page() == folder / REPORT


def test_examples_of_other_rows_are_not_taken_and_may_be_left_out(folder, other, page_of, tmp_path):
    copy = shutil.copytree(other, tmp_path / "copy")
    shutil.copy(folder / "examples.json", copy)
    assert "Premise of" not in page_of(copy).text
    text = page_of(folder, examples=False).text
    assert "Premise of" not in text
    assert "d/validation/1" not in text
    assert "This page has no examples" in text


@pytest.mark.parametrize("hostile", HOSTILE)
def test_texts_of_the_data_stay_texts(tmp_path, page_of, hostile):
    page = page_of(paged_runs.saved(tmp_path / "run", paged_runs.rows(8, "d/#" + hostile), text=f"{hostile} #"))
    assert len(page.scripts) == 1
    assert not [name for name, _ in page.attributes if name.startswith("img ") or " on" in name]
    facets = [json.loads(value) for name, value in page.attributes if name == "article data-facets"]
    assert len(facets) == len(page.cards) > 8
    assert all(hostile.replace("\u202e", "\\u202e") in card for card in page.cards)


def test_the_page_loads_nothing_runs_its_script_alone_and_has_headings_in_order(text, folder, other, page_of):
    for page in (Page(text), page_of(folder, other)):
        (policy,) = (v for name, v in page.attributes if name == "meta content" and v.startswith("default-src"))
        allowed = re.search(r"default-src 'none'; img-src data:; .*script-src 'sha256-([^']+)'", policy)[1]
        assert base64.b64encode(hashlib.sha256(page.scripts[0].encode()).digest()).decode() == allowed
        assert "innerHTML" not in page.scripts[0]
        assert len(page.ids) == len(set(page.ids)) > 5
        targets = [value for name, value in page.attributes if name.endswith(("href", "src", "url"))]
        assert all(value.startswith(("#", "data:image/")) for value in targets)
        labels = {value for name, value in page.attributes if name.endswith("aria-labelledby")}
        assert labels
        assert labels | {value[1:] for value in targets if value.startswith("#")} <= set(page.ids)
        assert (page.headings[0], page.headings.count(1)) == (1, 1)
        assert all(after <= before + 1 for before, after in zip(page.headings, page.headings[1:], strict=False))


@pytest.mark.slow
def test_a_page_stays_small_and_says_how_much_it_shows(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "LARGEST", 1_500_000)
    folder = paged_runs.saved(tmp_path / "run", paged_runs.rows(2000), accuracy=False, text="word # " * 400)
    to = write_page([folder], tmp_path / "a.html")
    assert 1_400_000 < to.stat().st_size < 1_500_000
    page = Page(to.read_text())
    total = sum(row["intervention"] == "swap" and row["draw"] == 0 for row in paged_runs.rows(2000).to_pylist())
    assert 0 < len(page.cards) < 600
    assert f"{len(page.cards):,} of {total:,} examples and changes are on this page" in page.text


@pytest.mark.slow
def test_a_page_names_no_place_no_user_and_no_host(tmp_path, monkeypatch, page_of):
    home = tmp_path / "home" / "somebody-here"
    monkeypatch.setenv("HOME", str(home))
    config = {"data": {**PLANTED, "init_args": {"name": "d", "path": f"{home}/data/mine.csv"}}, "checkpoint": {}}
    config["model"] = {**ENCODER, "init_args": {"backbone": f"{home}/models/own-bert"}}
    folders = [paged_runs.saved(home / "runs" / str(n), paged_runs.rows(n), **config) for n in (30, 28)]
    words = ["evaluate.py", f"--data.path={home}/data/mine.csv", "--output", str(folders[0]), "--x", "~/a/b.yaml"]
    about = {"command": words, "host": "host-of-somebody", "python": "3.11.1", "packages": {"torch": "2.13.0"}}
    (folders[0] / "run.json").write_text(json.dumps(about))
    for runs in (folders[:1], folders):
        page = page_of(*runs)
        for secret in (str(tmp_path), "somebody", "host-of", "~/", getpass.getuser() + "/", socket.gethostname() + " "):
            assert secret not in page.text, secret
        assert "python evaluate.py --data.path=mine.csv --output 30 --x b.yaml" in page.text
        assert "path: mine.csv" in page.text
        assert "torch 2.13.0" in page.text


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("--data.path=/home/jo/data/mnli/", "--data.path=mnli"),
        ("~/data/a.csv", "a.csv"),
        ("FacebookAI/roberta-large-mnli", "FacebookAI/roberta-large-mnli"),
        ("{'snli': '/srv/x/snli.jsonl', 'med': None}", "{'snli': 'snli.jsonl', 'med': None}"),
        ("[/srv/x, /srv/y/z]", "[x, z]"),
        ("3 / 4", "3 / 4"),
    ],
)
def test_paths_outside_the_working_folder_are_their_last_names(tmp_path, monkeypatch, place, expected):
    monkeypatch.chdir(tmp_path)
    assert without_places(place) == expected
    assert without_places(f"--output {tmp_path}/runs/a {place}") == f"--output runs/a {expected}"


def test_runs_are_compared_with_the_first_or_the_reason_is_named(folder, other, page_of, tmp_path):
    folders = [shutil.copytree(folder, tmp_path / name) for name in "ab"]
    page = page_of(*folders, other)
    assert "attentiveness, %" in page.text
    assert re.search(r"b less a .*?attentiveness premise \*? ?\S*0\.0 \[\S+, \S+\] \d", page.text)
    assert "other less a" not in page.text
    assert re.search(r"other and a are not paired: .*2 are in one run only", page.text)
    assert page.text.count(abouts()["attentiveness"].limits[:50]) == 1


@pytest.mark.slow
def test_a_model_of_one_part_among_the_runs_stands_in_the_verdict(tmp_path, page_of):
    name = MetricName("accuracy", "d")
    numbers = {name: Measurement(0.6, 30), name._replace(statistic="majority"): Measurement(0.4, 30)}
    found = written_results.results(numbers)
    written_results.configured(tmp_path / "alone", found=found, name="d", partial="hypothesis")
    page = page_of(paged_runs.saved(tmp_path / "full", paged_runs.rows(), **TRAINED), tmp_path / "alone")
    sentence = page.verdicts["attentiveness/d/premise"]
    assert "a model trained on the hypothesis alone reaches 60.0 % accuracy, one constant answer 40 %" in sentence


@pytest.mark.slow
def test_unlabelled_and_unfinished_runs_say_so(tmp_path, page_of):
    table = paged_runs.rows()
    table = table.set_column(table.schema.get_field_index("gold"), "gold", pa.nulls(table.num_rows, pa.string()))
    context = dataclasses.replace(paged_runs.CONTEXT, unlabelled=True)
    folder = paged_runs.saved(tmp_path / "run", table, context, accuracy=False)
    written_results.rewrite(folder, unfinished="epoch 1 of 4, step 30")
    page = page_of(folder)
    assert "without gold labels, whether the model is better than a single answer is not known" in page.text
    assert "the run had not ended (epoch 1 of 4, step 30)" in page.text


@pytest.mark.slow
def test_the_curves_of_a_training_are_drawn_in_the_section_of_their_evaluation(tmp_path):
    folder = paged_runs.saved(tmp_path / "run", paged_runs.rows())
    points = [(epoch, {"premise": Measurement(0.2 * epoch, 9, ci95=(0.1, 0.9))}) for epoch in (1, 2)]
    history = {"attentiveness": points, "of_nobody": points, "once": points[:1]}
    write_json(folder / EPOCHS, as_plain(history))
    text = write_page([folder], tmp_path / "a.html").read_text()
    assert {'id="r0-attentiveness-epochs-attentiveness-title"', 'id="r0-attentiveness-epochs-of_nobody-title"'} <= {
        *re.findall(r'id="[\w-]+-title"', text)
    }
    assert "After epoch 1, on the examples watched during training: premise 20.0 % [10.0, 90.0]." in text


@pytest.mark.slow
def test_the_command_writes_a_page_and_rescore_writes_it_again(tmp_path, capsys):
    folder = paged_runs.saved(tmp_path / "run", paged_runs.rows())
    results = (folder / "results.json").read_text()
    command.main(["page", str(folder)])
    assert capsys.readouterr().out == f"in {folder / REPORT}\n"
    page = (folder / REPORT).read_text()
    written_results.rewrite(folder, note="Old.")
    command.main(["page", str(folder)])
    assert "Old." in (folder / REPORT).read_text()
    command.main(["rescore", str(folder)])
    assert (folder / "results.json").read_text() == results
    assert (folder / REPORT).read_text() == page


def test_each_evaluation_and_each_flag_has_its_words():
    assert EVALUATIONS.keys() == METRICS.keys()
    assert abouts().keys() == CLASSES
    for about in abouts().values():
        for words in (about.title, about.question, about.reading, about.limits):
            assert words
            assert words == " ".join(words.split())
        assert about.question.endswith("?")
        for sentence in about.says.values():
            places = {place for _, place, _, _ in string.Formatter().parse(sentence) if place}
            assert "value" in places <= {"value", "part", "data"}
    for flag in FLAGS:
        (warning,) = warnings([flag])
        assert warning.startswith("Do not "), flag
        assert ": " in warning
    assert warnings(["of_a_plugin"]) == ("of_a_plugin",)
