"""What the report says of natural logic: rows, categories and where the breakdowns are."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from records import Measurement
from reports import compare as report
from reports.terminal.natural_logic import DIFFERENT_PAIRS, RULE, categories, ordered

import written_results

ALSO = ("naive", "per_seed", "argmax", "total_variation")
EFFECTS = {"tce": 0.613, "dce": 0.343, "delta": 0.27, "ratio": 1.787}


def results(shift: float = 0.0, data: str = "nlixy") -> dict:
    """The results of one run, with as many digits as they can have."""
    name = f"natural_logic/{data}"
    found = {f"{name}/accuracy": Measurement(0.61, 12345, ci95=(0.59, 0.63))}
    for kind in ("context", "insertion"):
        for effect, value in EFFECTS.items():
            interval = (value + shift - 0.05, value + shift + 0.04)
            found[f"{name}/{kind}/{effect}"] = Measurement(value + shift, 400, ci95=interval)
        for suffix in (*ALSO, "monotonicity=up", "operator=no", "relation=leq"):
            flags = ("interval_ignores_clusters",) if suffix == "naive" else ()
            found[f"{name}/{kind}/tce/{suffix}"] = Measurement(0.6, 200, ci95=(0.5, 0.7), flags=flags)
    found[f"two_class/{data}"] = Measurement(0.766, 9842, ci95=(0.75, 0.78))
    return {"data": data, "metrics": {name: m.as_dict() for name, m in sorted(found.items())}, "note": None}


def printed(found: dict[str, dict]) -> str:
    file = io.StringIO()
    report.print_table(found, Console(width=80, file=file))
    return file.getvalue()


def lines_of(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip()]


LABELS = [
    "two-class accuracy",
    *(text.format(kind) for kind in ("context", "insertion") for text in
      ("TCE {}", "DCE {}", "TCE - DCE {}", "TCE / DCE {} (ratio)")),
    "two-class accuracy nlixy",
]  # fmt: skip


@pytest.mark.parametrize("runs", [2, 3])
def test_headline_rows_of_several_runs_are_named_and_fit_80_columns(runs):
    text = printed({f"runs/{i}": results(i / 10) for i in range(runs)})
    assert max(map(len, text.splitlines())) <= 80
    table = text.split("among these runs")[0].splitlines()
    assert [line[:27].strip() for line in table[3:] if line[:27].strip()] == ["natural logic: NLI-XY", *LABELS]
    assert text.count("[59.0, 63.0]") == text.count("n=12345") == runs
    assert "naive" not in text
    assert "…" not in text


def test_of_one_run_all_is_shown_but_what_is_said_to_be_elsewhere():
    text = printed({"runs/a": results()})
    elsewhere = "By context operator, monotonicity and relation, other rules and naive intervals: results.json"
    assert elsewhere in " ".join(text.split())
    assert text.count("results.json") == 1
    for hidden in ("=up", "leq", "  naive", "argmax", "total_variation", "(d)", "sensitivity"):
        assert hidden not in text
    assert ["per_seed", "60.00", "[50.0,", "70.0]", "n=200"] in lines_of(text)
    names = [line[:27].strip() for line in text.splitlines()[3:]]
    assert [name for name in names if name in LABELS] == LABELS
    assert names.index("TCE context") + 1 == names.index("per_seed")


@pytest.mark.parametrize(
    ("kept", "line"),
    [
        (("relation",), "By relation: results.json"),
        (("relation", "monotonicity"), "By monotonicity and relation: results.json"),
        (("total_variation",), "Other rules: results.json"),
        (("argmax", "total_variation", "operator"), "By context operator and other rules: results.json"),
        (("naive", "argmax"), "Other rules and naive intervals: results.json"),
    ],
)
def test_what_is_elsewhere_is_named_and_nothing_else(kept, line):
    found, hidden = results(), ("=", "naive", "argmax", "total_variation")
    found["metrics"] = {
        k: m for k, m in found["metrics"].items() if not any(h in k for h in hidden) or any(h in k for h in kept)
    }
    assert line in printed({"a": found}).splitlines()


def test_where_nothing_is_elsewhere_nothing_is_named():
    found = results()
    hidden = ("=", "naive", "argmax", "total_variation")
    found["metrics"] = {k: m for k, m in found["metrics"].items() if not any(h in k for h in hidden)}
    assert "results.json" not in printed({"a": found})


def counts(sha: str = "a", examples: int = 0, split: str | None = "test") -> dict:
    """The counts of a run with 39,184 pairs of 1,518 seeds."""
    found = {"examples": examples, "natural_logic/examples": 5226, "natural_logic/eq": 0}
    found |= {} if split is None else {"natural_logic/split": split}
    for name, pairs in (("I0", 6687), ("I1", 13399), ("I2", 8753), ("I3", 10345)):
        without = 82 if name == "I0" else 0
        found[f"natural_logic/{name}"] = {"pairs": pairs, "seeds": 400, "seeds_without_match": without, "sha256": sha}
    return found


def test_a_heading_says_what_was_measured_and_the_title_stands_only_over_data_of_its_own():
    text = printed({"a": results() | {"counts": counts()}})
    assert lines_of(text)[1] == "natural logic: NLI-XY test, 39,184 pairs of 1,518 seeds".split()
    assert "validation" not in text
    assert "nlixy, validation" in printed({"a": results() | {"counts": counts(examples=8)}})
    assert "NLI-XY 39,184 pairs" in " ".join(printed({"a": results() | {"counts": counts(split=None)}}).split())


def test_the_heading_stands_below_other_metrics_and_above_all_of_natural_logic():
    found = results() | {"counts": counts(examples=8)}
    found["metrics"] |= {name: Measurement(0.5, 8).as_dict() for name in ("accuracy/nlixy", "null/nlixy/flips")}
    names = [line[:27].strip() for line in printed({"a": found}).splitlines()[3:]]
    assert names[:4] == ["accuracy", "null flips", "natural logic: NLI-XY", "two-class accuracy"]


def test_each_of_several_runs_says_what_it_was_measured_on():
    runs = {"a": results() | {"counts": counts()}, "b": results() | {"counts": counts(split="dev")}, "c": results()}
    text = printed(runs)
    assert lines_of(text)[0] == ["nlixy,", "validation"]  # of the third
    assert lines_of(text)[2:5] == [
        "natural logic: NLI-XY test, dev,".split(),
        "39,184 pairs 39,184 pairs".split(),
        "of 1,518 seeds of 1,518 seeds".split(),
    ]
    assert max(map(len, text.splitlines())) <= 80


def test_runs_measured_on_different_pairs_say_so_once():
    same, other = ({"a": results() | {"counts": counts()}, "b": results() | {"counts": counts(s)}} for s in "ab")
    assert printed(other).count(f"Note: {DIFFERENT_PAIRS}") == 1
    assert DIFFERENT_PAIRS not in printed(same)
    assert DIFFERENT_PAIRS not in printed({"a": same["a"], "b": results()})  # which was not measured
    fewer = results() | {"counts": {k: v for k, v in counts().items() if not k.endswith("I0")}}
    assert DIFFERENT_PAIRS in printed({"a": same["a"], "b": fewer})


def test_a_label_of_another_kind_of_metric_may_hold_an_equals_sign():
    found = {"data": "d", "metrics": {"accuracy/d/a=b": Measurement(0.5, 4).as_dict()}, "note": None}
    assert ["a=b", "50.00", "n=4"] in lines_of(printed({"a": found}))


def test_shares_and_differences_are_in_percent_and_ratios_are_plain():
    text = printed({"runs/a": results()})
    assert ["TCE", "context", "61.30", "[56.3,", "65.3]", "n=400"] in lines_of(text)
    assert ["TCE", "-", "DCE", "context", "27.00", "[22.0,", "31.0]", "n=400"] in lines_of(text)
    assert ["TCE", "/", "DCE", "context", "(ratio)", "1.79", "[1.74,", "1.83]", "n=400"] in lines_of(text)


def test_a_negative_difference_keeps_its_sign():
    found = results()
    found["metrics"]["natural_logic/nlixy/context/delta"] = Measurement(-0.027, 400, ci95=(-0.07, 0.01)).as_dict()
    assert "-2.70 [-7.0, 1.0] n=400" in printed({"a": found})


def rows_of_categories(text: str) -> dict[str, list[str]]:
    found = re.findall(r"^(\S+ \S+) \((?:TCE|1 - DCE)\) +(.*?) *$", text, re.MULTILINE)
    return {name: words.split() for name, words in found}


def test_categories_follow_the_tce_and_the_reverse_of_the_dce():
    text = printed({"a": results(0.0), "b": results(0.3), "c": results(0.05)})  # intervals are 0.09 wide
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


def test_without_natural_logic_there_are_no_categories():
    plain = {"data": "d", "metrics": {"accuracy/d": Measurement(0.5, 4).as_dict()}, "note": None}
    assert RULE not in printed({"a": plain, "b": plain})


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


def test_metrics_of_other_kinds_keep_their_order_and_the_benchmarks_come_last():
    mine = ["natural_logic/d/accuracy", "natural_logic/d/context/tce"]
    names = ["two_class/d", "null/d/flips", mine[1], "accuracy/d", mine[0], "two_class/c"]
    assert ordered(names) == ["null/d/flips", "accuracy/d", *mine, "two_class/d", "two_class/c"]


def test_runs_without_accuracy_have_no_paired_difference_of_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for name in "ab":
        written_results.save(tmp_path / name, **results())
    report.main([str(tmp_path / "a"), str(tmp_path / "b")])
    text = capsys.readouterr().out
    assert "paired" not in text
    assert "alike" in text
