"""``heedful matrix``: tables of models by data sets."""

import csv
import io

import pytest

from heedful.cli import command
from heedful.records import Measurement, MetricName

import written_results

FLAG = ("not_above_majority",)


def folder(path, data, score, attention=None, flags=(), naive=False, **settings):
    numbers = {
        MetricName("accuracy", data): Measurement(score, 100, flags=flags),
        MetricName("accuracy", data, statistic="majority"): Measurement(0.35, 100),
    }
    if attention is not None:
        name = MetricName("attentiveness", data, "premise")
        numbers[name] = Measurement(attention, 60, 5, 0.0123, flags=flags)
        numbers[name._replace(statistic="to_default")] = Measurement(0.1, 60)
        numbers[name._replace(slice="from_yes")] = Measurement(0.1, 60)
    if naive:
        name = MetricName("naive_partial", data, "hypothesis")
        numbers[name] = Measurement(0.7, 100)
        numbers[name._replace(statistic="accuracy")] = Measurement(0.6, 100)
    return written_results.configured(path, found=written_results.results(numbers, data=data), **settings)


@pytest.fixture
def runs(tmp_path):
    return [
        folder(tmp_path / "a", "mnli", 0.8, 0.746),
        folder(tmp_path / "b", "rte", 0.36, 0.9, flags=FLAG),
        folder(tmp_path / "c", "mnli", 0.81, 0.99, augment="counterfactual", naive=True),
        folder(tmp_path / "d", "mnli", 0.566, partial="hypothesis"),
        folder(tmp_path / "e", "mnli", 0.345, partial="premise"),
    ]


def test_a_column_of_different_examples_is_said(runs, tmp_path, capsys):
    few = {MetricName("accuracy", "mnli"): Measurement(0.5, 20)}
    few[MetricName("accuracy", "mnli", statistic="majority")] = Measurement(0.7, 20)
    other = written_results.configured(tmp_path / "f", found=written_results.results(few, data="mnli"), seed=5)
    for form in ([], ["--format", "csv"]):
        command.main(["matrix", *runs, other, *form])
        text = " ".join(capsys.readouterr()[bool(form)].split())
        assert f"Note: {runs[0]} and {other} were evaluated on different examples: there are 100 and 20" in text
        assert text.count("Note:") == 1


def test_the_tables_hold_what_was_measured_and_no_more(runs, capsys):
    command.main(["matrix", *runs, "--format", "markdown"])
    tables = capsys.readouterr().out.replace("---: |", "").replace("| --- |", "").split("\n\n")
    cells = [[[c.strip() for c in line.split("|")[1:-1]] for line in t.splitlines() if line.strip()] for t in tables]
    assert cells == [
        [
            ["score of the whole input, %", "mnli", "rte"],
            ["majority", "35.0", "35.0"],
            ["minilm", "80.0", "36.0"],
            ["minilm counterfactual", "81.0", ""],
        ],
        [
            ["attentiveness, %", "mnli premise", "rte premise"],
            ["minilm", "74.6 ± 1.2", "-"],
            ["minilm counterfactual", "99.0 ± 1.2", ""],
        ],
        [
            ["score of a model of one part, %", "mnli hypothesis alone", "mnli premise alone"],
            ["majority", "35.0", "35.0"],
            ["minilm", "56.6", "34.5"],
        ],
        [
            [
                "one part for a model of all, %",
                "mnli hypothesis alone: agreement",
                "mnli hypothesis alone: score",
            ],
            ["minilm counterfactual", "70.0", "60.0"],
        ],
    ]


def test_csv_has_a_column_for_value_deviation_and_n(runs, capsys):
    command.main(["matrix", *runs, "--format", "csv"])
    _, table, *_ = (list(csv.reader(io.StringIO(text))) for text in capsys.readouterr().out.split("\n\n"))
    assert table[0][1:] == ["mnli premise", "mnli premise std", "mnli premise n", "rte premise"]
    assert table[1:] == [["minilm", "74.6", "1.23", "60", "-"], ["minilm counterfactual", "99", "1.23", "60", ""]]


def test_intervals_and_models_at_chance_are_added(tmp_path, capsys):
    name = MetricName("attentiveness", "rte", "sentence1")
    numbers = {name: Measurement(0.9, 60, 5, 0.0123, (0.8, 0.95), flags=FLAG)}
    run = written_results.configured(tmp_path / "a", found=written_results.results(numbers, data="rte"))
    shown = []
    for options in ([], ["--all"], ["--all", "--intervals"]):
        command.main(["matrix", run, *options])
        shown.append(" ".join(capsys.readouterr().out.split()))
    assert "90.0" not in shown[0]
    assert "90.0 ± 1.2 (a)" in shown[1]
    assert "90.0 ± 1.2 [80.0, 95.0] (a)" in shown[2]
    assert "(a) accuracy not above the majority share" in shown[2]


def test_the_caption_has_the_range_of_n_and_of_draws_in_the_terminal_too(tmp_path, capsys):
    of = {"premise": (60, 5, ()), "hypothesis": (1200, 3, ()), "title": (4, 5, ("few_examples",))}
    numbers = {MetricName("attentiveness", "mnli", part): Measurement(0.5, n, draws, 0.01, flags=flags)
               for part, (n, draws, flags) in of.items()}  # fmt: skip
    run = written_results.configured(tmp_path / "a", found=written_results.results(numbers, data="mnli"))
    command.main(["matrix", run])
    text = " ".join(capsys.readouterr().out.split())
    assert "minilm 50.0 ± 1.0 50.0 ± 1.0 n=4" in text
    assert "Numbers rest on 4 to 1,200 examples each." in text
    assert "over 3 to 5 draws." in text
    assert "n=: fewer than 10 examples count" in text
