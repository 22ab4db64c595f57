"""Pages about runs: numbers, sentences, examples, escaped texts, and no paths of the machine."""

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
from hypothesis import given
from hypothesis import strategies as st

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
from heedful.reports.page.numbers import VISIBLE, axis_of
from heedful.reports.page.origin import without_places
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
    value = f"{100 * m['value']:.2f}" + ("" if m["std"] is None else f" ± {100 * m['std']:.2f}")
    return f"{value} %", "" if m["ci95"] is None else "[{:.1f}, {:.1f}]".format(*(100 * bound for bound in m["ci95"]))


BAR = re.compile(r'"left:([\d.]+)%;width:([\d.]+)%"></i><i class="dot" style="left:([\d.]+)%')


def bars(text, kind):
    """Left end, right end and dot of the bars on a page, in percent of their axes, by metric."""
    found = {}
    for name, row in re.findall(rf'<tr [^>]*data-{kind}="([^"]*)">(.*?)</tr>', text, re.DOTALL):
        for places in BAR.findall(row):
            low, width, dot = map(float, places)
            found.setdefault(name, []).append((low, low + width, dot))
    return found


def test_each_number_and_its_place_on_a_scale_are_those_of_the_results(folder, text):
    results = read_json(folder / "results.json")
    page = Page(text)
    lines = {line.metric: line for line in lines_of(results)}
    assert page.lines.keys() == lines.keys()
    checked = 0
    for name, line in lines.items():
        m = results["metrics"][name]
        ((label, value, *interval_and_n),) = page.lines[name]
        assert label.startswith(line.label)
        if m["value"] is not None and line.unit == "percent" and "few_examples" not in m["flags"]:
            assert [value, *interval_and_n] == [*percents(m), f"{m['n']}", ""]
            checked += 1
    assert checked > 8
    m = results["metrics"]["attentiveness/d/premise"]
    low, high = (f"{100 * bound:.1f}" for bound in m["ci95"])
    assert f"{100 * m['value']:.1f} % [{low}, {high}]" in page.sentences["attentiveness/d/premise"]
    for kind in ("metric", "headline"):  # all intervals are wide, so that their axes go from 0 to 100 %
        (found,) = bars(text, kind)["attentiveness/d/premise"]
        assert found == pytest.approx([100 * x for x in (*m["ci95"], m["value"])], abs=0.02)


def test_the_bars_of_one_number_share_an_axis_on_which_they_can_be_seen(page_of, tmp_path):
    folders, spans = [], {"a": (0.501, 0.5, 0.502), "b": (0.52, 0.519, 0.521)}
    for name, (value, *ci95) in spans.items():
        m = Measurement(value, 10_000, ci95=tuple(ci95))
        numbers = {
            MetricName("accuracy", "d"): m,
            MetricName("accuracy", "d", statistic="majority"): Measurement(0.51, 9),
        }
        folders.append(
            written_results.save(tmp_path / name, written_results.results(numbers, [MetricName("accuracy", "d")]))
        )
    text = write_page(folders, tmp_path / "a.html").read_text()
    found = bars(text, "headline")["accuracy/d"]
    table = text[text.index("overview") :]
    low, middle, high = (float(x.split()[0]) for x in re.findall("<span>([^<]*)</span>", table)[:3])
    assert middle == pytest.approx((low + high) / 2)
    for place, (value, *ci95) in zip(found, spans.values(), strict=True):
        expected = [100 * (100 * x - low) / (high - low) for x in (*ci95, value)]
        assert place == pytest.approx(expected, abs=0.02)
        assert place[1] - place[0] > 4
    references = re.findall(r'class="reference" style="left:([\d.]+)%', table)
    assert [float(x) for x in references] == pytest.approx([100 * (51 - low) / (high - low)] * 2, abs=0.02)


ends = st.tuples(*[st.floats(0, 100)] * 3).map(sorted).map(lambda x: (x[1], x[0], x[2]))


@given(st.lists(ends, min_size=1, max_size=4), st.booleans())
def test_every_interval_is_on_its_axis(spans, is_share):
    axis = axis_of(spans, is_share)
    assert axis.low < axis.high
    assert not is_share or (axis.low >= 0 and axis.high <= 100)
    for span in spans:
        value, low, high = map(axis.place, span)
        assert 0 <= low <= value <= high <= 100
    widths = [high - low for _, low, high in spans]
    assert len(spans) > 1 or widths[0] < 1e-6 or 100 * widths[0] / (axis.high - axis.low) > VISIBLE * 0.9


def test_flags_are_words_that_lead_to_a_caution(folder, text):
    page = Page(text)
    assert page.text.count(FLAGS["not_above_majority"].warning[:60]) == 1
    metrics = read_json(folder / "results.json")["metrics"]
    flagged = {name for name in page.lines if "not above majority" in page.lines[name][0][0]}
    assert flagged == {n for n in page.lines if n in metrics and "not_above_majority" in metrics[n]["flags"]}
    assert flagged
    targets = {value[1:] for name, value in page.attributes if name == "a href" and value.startswith("#caution-")}
    assert targets == {name for name in page.ids if name.startswith("caution-")}


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
    differences = page.text[
        page.text.index("Each run minus a, in points") : page.text.index("A grey line marks no difference")
    ]
    assert re.search(
        r"attentiveness premise \S+ 0 \S+ points b not above majority \+?0\.0 \[\S+, \S+\] \d", differences
    )
    assert "other" not in differences
    assert re.search(r"other and a are not paired: .*2 are in one run only", page.text)
    assert page.text.count(abouts()["attentiveness"].limits[:50]) == 1


@pytest.mark.slow
def test_a_model_of_one_part_among_the_runs_stands_in_the_sentence(tmp_path, page_of):
    name = MetricName("accuracy", "d")
    numbers = {name: Measurement(0.6, 30), name._replace(statistic="majority"): Measurement(0.4, 30)}
    found = written_results.results(numbers)
    written_results.configured(tmp_path / "alone", found=found, name="d", partial="hypothesis")
    page = page_of(paged_runs.saved(tmp_path / "full", paged_runs.rows(), **TRAINED), tmp_path / "alone")
    sentence = page.sentences["attentiveness/d/premise"]
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
    assert {
        'id="run-0-attentiveness-epochs-attentiveness-title"',
        'id="run-0-attentiveness-epochs-of_nobody-title"',
    } <= {*re.findall(r'id="[\w-]+-title"', text)}
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
