"""How sensitive and robust runs are among each other."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from heedful.cli import command
from heedful.records import Measurement, MetricName
from heedful.reports.terminal.natural_logic import RULE, categories, print_categories

import written_results

EFFECTS = {"tce": 0.613, "dce": 0.343, "delta": 0.27, "ratio": 1.787}
KINDS = ("context", "insertion")


def results(shift: float = 0.0, data: str = "nlixy") -> dict:
    """The results of one run; the intervals are 0.09 wide."""
    found = {MetricName("natural_logic", data, statistic="accuracy"): Measurement(0.61, 12345, ci95=(0.59, 0.63))}
    for kind in KINDS:
        for effect, value in EFFECTS.items():
            interval = (value + shift - 0.05, value + shift + 0.04)
            found[MetricName("natural_logic", data, kind, effect)] = Measurement(value + shift, 400, ci95=interval)
        found[MetricName("natural_logic", data, kind, "tce/argmax")] = Measurement(0.99, 400)
    return written_results.results(found)


def printed(found: dict[str, dict]) -> str:
    file = io.StringIO()
    print_categories(list(found.values()), Console(width=80, file=file))
    return file.getvalue()


def rows_of_categories(text: str) -> dict[str, list[str]]:
    found = re.findall(r"^(\S+ \S+) \((?:TCE|1 - DCE)\) +(.*?) *$", text, re.MULTILINE)
    return {name: words.split() for name, words in found}


def test_categories_follow_the_tce_and_the_reverse_of_the_dce():
    text = printed({"a": results(0.0), "b": results(0.3), "c": results(0.05)})
    expected = {"sensitivity": ["lowest", "highest", "low"], "robustness": ["highest", "lowest", "high"]}
    found = rows_of_categories(text)
    assert found == {f"{kind} {name}": v for name, v in expected.items() for kind in ("context", "word-pair")}
    assert text.count(RULE) == 1
    assert max(map(len, RULE.splitlines())) <= 80
    assert {word for words in rows_of_categories(printed({"a": results(), "b": results(0.08)})).values()
            for word in words} == {"alike"}  # fmt: skip


def test_the_interval_of_the_robustness_is_that_of_the_dce_turned_round():
    """Downwards it reaches as far as that of the DCE upwards, which decides here."""
    first, second = results(), results(0.1)
    for found, interval in ((first, (0.34, 0.44)), (second, (0.4424, 0.45))):
        found["metrics"]["natural_logic/nlixy/context/dce"]["ci95"] = list(interval)
    assert rows_of_categories(printed({"a": first, "b": second}))["context robustness"] == ["highest", "lowest"]
    first["metrics"]["natural_logic/nlixy/context/dce"]["ci95"][1] = 0.4425
    assert rows_of_categories(printed({"a": first, "b": second}))["context robustness"] == ["alike", "alike"]


def test_only_what_two_runs_have_is_compared():
    without = results(0.1)
    for name in ("context/tce", "context/dce", "insertion/dce"):
        del without["metrics"][f"natural_logic/nlixy/{name}"]
    undefined = results(0.2)
    undefined["metrics"]["natural_logic/nlixy/insertion/tce"] = Measurement(None, 0, reason="x").as_dict()
    found = rows_of_categories(printed({"a": results(), "b": without, "c": undefined}))
    assert found["context sensitivity"] == ["lowest", "highest"]
    assert found["word-pair sensitivity"] == ["lowest", "highest"]
    assert rows_of_categories(printed({"a": results(), "b": results(data="other")})) == {}


def test_without_natural_logic_or_without_a_second_run_nothing_is_printed():
    plain = written_results.results({MetricName("accuracy", "d"): Measurement(0.5, 4)})
    assert printed({"a": plain, "b": plain}) == printed({"a": results()}) == printed({"a": results(), "b": plain}) == ""


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.1, 0.1], "alike alike"),
        ([0.1, 0.9], "lowest highest"),
        ([0.0, 0.3, 0.34, 0.66, 0.67, 1.0], "lowest low mid mid high highest"),
        ([0.5, 0.5, 0.0, 0.5], "highest highest lowest highest"),
        ([0.25, None, 0.75], "lowest - highest"),
        ([None, 0.5], "- alike"),
        ([], ""),
    ],
)
def test_categories_by_hand(values, expected):
    measured = [None if value is None else (value, value, value) for value in values]
    assert [name or "-" for name in categories(measured)] == expected.split()


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        ([(0.2, 0.1, 0.4), (0.5, 0.4, 0.6)], "alike alike"),  # they touch
        ([(0.2, 0.1, 0.39), (0.5, 0.4, 0.6)], "lowest highest"),
        ([(0.2, 0.1, 0.3), (0.35, 0.0, 0.9), (0.5, 0.4, 0.6)], "lowest mid highest"),  # what lies between may overlap
        ([(0.2, 0.1, 0.3), (0.2, 0.1, 0.45), (0.5, 0.4, 0.6)], "alike alike alike"),  # one of the two lowest
        ([(0.5, 0.4, 0.6), (0.2, 0.1, 0.3), (0.5, 0.25, 0.6), None], "alike alike alike -"),
    ],
)
def test_runs_whose_intervals_overlap_are_alike(measured, expected):
    assert [name or "-" for name in categories(measured)] == expected.split()


@given(st.lists(st.floats(0, 1), min_size=2))
def test_categories_keep_the_order_of_the_values(values):
    order = ["lowest", "low", "mid", "high", "highest"]
    found = categories([(value, value, value) for value in values])
    if len(set(values)) == 1:
        assert set(found) == {"alike"}
        return
    for a, first in zip(values, found, strict=True):
        for b, second in zip(values, found, strict=True):
            assert a > b or order.index(first) <= order.index(second)
    assert {"lowest", "highest"} <= set(found)


def test_the_command_prints_categories_and_without_accuracy_no_paired_difference(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for name in "ab":
        written_results.save(tmp_path / name, results())
    command.main(["compare", str(tmp_path / "a"), str(tmp_path / "b")])
    text = capsys.readouterr().out
    assert "paired" not in text
    assert "alike" in text
    assert max(map(len, RULE.splitlines())) <= 80
