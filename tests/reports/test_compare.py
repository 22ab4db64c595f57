"""The report at 80 columns, and the paired difference against a plain computation."""

import dataclasses
import io
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from metrics import accuracy, attentiveness, causal_effects, challenge, invalid_transitions, noise
from metrics.tables.challenge import HALF_ERROR
from records import HeedError, Measurement, read_json, write_json
from reports import compare as report

import written_results


def results(*measurements: tuple[str, Measurement], data: str = "d", note: str | None = None) -> dict:
    found = {"data": data, "metrics": {name: m.as_dict() for name, m in measurements}, "note": note}
    return written_results.PLAIN | found


def printed(found: dict[str, dict]) -> str:
    file = io.StringIO()
    report.print_table(found, Console(width=80, file=file))
    return file.getvalue()


SCORE = Measurement(0.61234, 4321, 5, 0.01278, (0.5944, 0.6301), (0.6,) * 5)
OTHER = Measurement(0.9, 4000, 5, 0.002, (0.89, 0.91))
PLAIN = Measurement(0.5, 4)
UNDEFINED = Measurement(None, 0, reason="every prediction is the default label 'neutral'")


def table_of(text: str) -> list[str]:
    """The lines of the table: from its header to the first footnote."""
    lines = [line for line in text.splitlines() if line.strip()]
    start = next(i for i, line in enumerate(lines) if line.startswith("% ±"))
    end = next(i for i, line in enumerate(lines) if re.match(r"\(\w\) |Note: |in ", line))
    return lines[start:end]


def words(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def column(text: str, run: int) -> str:
    """The words in the column of one of two runs, without its header."""
    header, *lines = table_of(text)
    start = header.index(f"({run})")
    end = header.index("(2)") if run == 1 else None
    return words([line[start:end] for line in lines])


def test_one_result():
    text = printed({"runs/mnli/bert/plain/version_0": results(("attentiveness/d/premise", SCORE))})
    assert table_of(text)[1].split() == "attentiveness premise 61.23 ± 1.28 [59.4, 63.0] n=4321".split()
    assert "in runs/mnli/bert/plain/version_0" in text


def test_the_data_set_is_named():
    assert "mnli, validation" in printed({"runs/a": results(("accuracy/mnli", PLAIN), data="mnli")})
    both = {d: results((f"accuracy/{d}", PLAIN), data=d) for d in ("mnli", "rte")}
    assert "mnli, rte, validation" in printed(both)


def test_data_of_which_no_example_was_predicted_are_not_the_title():
    found = results(("two_class/rte", PLAIN), data="mnli")
    assert "mnli" not in printed({"runs/a": found | {"counts": {"examples": 0}}})
    both = {"a": found | {"counts": {"examples": 0}}, "b": results(("accuracy/rte", PLAIN), data="rte")}
    assert "rte, validation" in printed(both)
    assert "mnli" not in printed(both)


def test_two_results_stand_side_by_side():
    first, second = (results(("attentiveness/d/premise", m)) for m in (SCORE, OTHER))
    text = printed({"runs/a": first, "runs/b": second})
    assert column(text, 1) == "61.23 ± 1.28 [59.4, 63.0] n=4321"
    assert column(text, 2) == "90.00 ± 0.20 [89.0, 91.0] n=4000"
    assert text.index("(1) runs/a") < text.index("(2) runs/b")


def test_one_result_shows_every_metric_and_two_only_the_main_ones():
    main = ["accuracy/d", "attentiveness/d/premise"]
    more = ["accuracy/d/majority", "accuracy/d/yes", "attentiveness/d/premise/from_yes", "null/d/flips"]
    found = results(*((name, PLAIN) for name in main + more))
    assert len(table_of(printed({"runs/a": found}))) == 1 + len(main + more)
    header, *lines = table_of(printed({"runs/a": found, "runs/b": found}))
    assert words([line[: header.index("(1)")] for line in lines]) == "accuracy attentiveness premise"


@pytest.mark.parametrize("runs", [1, 2])
def test_no_line_of_the_table_is_longer_than_80_columns_and_no_number_is_cut(runs):
    name = "attentiveness/d/hypothesis"
    found = results(
        (name, SCORE),
        (f"{name}/from_contradiction", UNDEFINED),
        ("accuracy/d", Measurement(0.5, 7, ci95=(0.25, 0.75))),
        (f"{name}2", UNDEFINED),
    )
    text = printed({f"runs/{i}": found for i in range(runs)})
    assert max(map(len, text.splitlines())) <= 80
    for word in "61.23 1.28 [59.4, 63.0] n=4321 50.00 [25.0, 75.0] n=7".split():
        assert text.split().count(word) == runs
    assert "…" not in text


def test_what_is_not_drawn_has_neither_std_nor_interval():
    text = printed({"runs/a": results(("accuracy/d/majority", Measurement(0.3545, 9815)))})
    assert table_of(text)[1].split() == ["majority", "35.45", "n=9815"]


@pytest.mark.parametrize(
    ("change", "shown"), [(0.0, "0.00"), (-0.0, "0.00"), (3.6e-7, "4e-05"), (-3.6e-7, "-4e-05"), (0.0123, "1.23")]
)
def test_the_noise_floor_is_not_rounded_away(change, shown):
    text = printed({"runs/a": results(("null/d/max_change", Measurement(change, 512)))})
    assert table_of(text)[1].split() == ["null", "max_change", shown, "n=512"]


def test_what_is_undefined_is_shown_so_with_its_reason():
    found = results(("attentiveness/d/premise", UNDEFINED))
    shown = "undefined: every prediction is the default label 'neutral'"
    one, two = printed({"a": found}), printed({"a": found, "b": found})
    assert words(table_of(one)[1:]) == f"attentiveness premise {shown}"
    assert column(two, 1) == column(two, 2) == shown
    for text in (one, two):
        assert "n=0" not in text
        assert "None" not in text


def test_a_metric_that_only_one_run_has_leaves_the_other_cell_empty():
    text = printed({"a": results(("accuracy/d", PLAIN)), "b": results(("attentiveness/d/premise", UNDEFINED))})
    assert column(text, 1) == "50.00 n=4"
    assert column(text, 2).startswith("undefined")


def raise_flag(flag: str) -> Measurement:
    return dataclasses.replace(PLAIN, flags=(flag,))


@pytest.mark.parametrize("flag", sorted(report.FLAGS))
@pytest.mark.parametrize("runs", [1, 2])
def test_a_flag_is_explained_once_and_only_where_it_was_raised(flag, runs):
    flagged = results(("accuracy/d", raise_flag(flag)), ("attentiveness/d/premise", raise_flag(flag)))
    text = words(printed({f"runs/{i}": flagged for i in range(runs)}).splitlines())
    assert text.count(report.FLAGS[flag][1]) == 1
    for other in set(report.FLAGS) - {flag}:
        assert report.FLAGS[other][1] not in text
    unflagged = printed({f"runs/{i}": results(("accuracy/d", PLAIN)) for i in range(runs)})
    assert report.FLAGS[flag][1] not in words(unflagged.splitlines())


def test_a_flag_marks_the_run_and_the_metric_that_it_is_about():
    flagged = raise_flag("not_above_majority")
    text = printed({"a": results(("accuracy/d", PLAIN)), "b": results(("accuracy/d", flagged))})
    assert column(text, 1) == "50.00 n=4"
    assert column(text, 2) == "50.00 n=4 (a)"
    lines = table_of(printed({"a": results(("accuracy/d", flagged), ("accuracy/d/yes", PLAIN))}))
    assert [line.split()[-1] for line in lines[1:]] == ["(a)", "n=4"]


def test_flags_are_explained_in_the_order_of_their_marks():
    flags = [(f"accuracy/{i}", raise_flag(flag)) for i, flag in enumerate(report.FLAGS)]
    text = printed({"a": results(*flags)})
    marks = re.findall(r"^\((\w)\)", text, re.MULTILINE)
    assert marks == sorted(mark for mark, _ in report.FLAGS.values())


def test_flags_have_marks_of_their_own():
    assert len({mark for mark, _ in report.FLAGS.values()}) == len(report.FLAGS)


def test_an_undefined_score_keeps_the_mark_of_its_flag():
    undefined = dataclasses.replace(UNDEFINED, flags=("not_above_majority",))
    text = printed({"a": results(("attentiveness/d/premise", undefined))})
    assert words(table_of(text)).endswith("'neutral' (a)")
    assert "(a) accuracy not above" in text


def test_every_flag_that_a_metric_can_raise_is_explained(rows_of):
    null = {"uid": "u", "intervention": "null", "part": "", "draw": -1, "y2": "no"}
    rows = rows_of({"u": ("yes", "yes")}, [null, {"uid": "u", "y2": "no"}])
    found = accuracy(rows, "d") | noise(rows, "d") | attentiveness(rows, "d", "premise", "no", ["yes", "no"])
    yes, no = ([0.8, 0.2, 0.0], [0.2, 0.8, 0.0])
    change = {"uid": "u", "part": "context", "draw": -1, "y2": "neutral", "gold": "neutral", "p": yes}
    pairs = [change | {"intervention": "I0", "partner": "c", "clusters": ["u", "a", "c"], "p2": no}]
    for i in range(9):  # of which one changes
        moved = {"p2": yes if i else no, "variant": str(i), "partner": str(i), "clusters": ["u", "a", str(i)]}
        pairs.append(change | {"intervention": "I2"} | moved)
    rows = rows_of({"u": ("entailment", "entailment")}, pairs)
    found |= causal_effects(rows, "d", ["entailment", "neutral", "contradiction"])
    change = {"uid": "u", "intervention": "change", "y2": "no", "clusters": ["u", "table t"]}
    found |= challenge(rows_of({"u": ("yes", "yes")}, [change]), "d", ["change"], "neutral")
    edit = {"intervention": "delete", "y2": "neutral", "allowed": "delete/unknown"}
    edits = [edit | {"uid": u, "clusters": [u, f"table {u}"], "slices": [f"split={u}"]} for u in "uv"]
    rows = rows_of(dict.fromkeys("uv", ("entailment", "entailment")), edits)
    found |= invalid_transitions(rows, "d", ["delete"], splits=["u", "v"])  # half of the resamples have one split only
    assert {flag for m in found.values() for flag in m.flags} == {HALF_ERROR, *report.FLAGS}


def test_a_flag_of_another_version_does_not_hide_the_numbers():
    text = printed({"runs/a": results(("accuracy/d", raise_flag("not_yet_invented")))})
    assert "50.00" in text
    assert "not_yet_invented" in text


def test_a_note_is_printed_once():
    noted = results(("accuracy/d", SCORE), note="Random partners are often neutral.")
    assert printed({"a": noted, "b": noted}).count("Note: Random partners are often neutral.") == 1
    assert "Note" not in printed({"a": results(("accuracy/d", SCORE))})


@pytest.mark.parametrize("name", ["sweep[lr]", "a[/b]", "[bold]"])
def test_square_brackets_in_names_are_printed_as_they_are(name):
    undefined, label = Measurement(None, 0, reason=f"no example is predicted as '{name}'"), name.replace("/", "")
    found = results((f"attentiveness/d/premise/from_{label}", undefined), data=f"my {name}", note=f"About {name}.")
    text = printed({f"runs/{name}": found})
    for shown in (f"in runs/{name}", f"from_{label}", f"'{name}'", f"About {name}.", f"my {name}"):
        assert shown in text


def save(folder, rows) -> None:
    found = {n: m.as_dict() for n, m in accuracy(rows, "d").items()}
    written_results.save(folder, {"accuracy": rows}, metrics=found)


answers = st.lists(st.tuples(*[st.sampled_from(["yes", "no"])] * 3), min_size=1, max_size=20)


@given(answers)
def test_the_paired_difference_is_the_mean_of_the_differences(rows_of, tmp_path_factory, triples):
    folder = tmp_path_factory.mktemp("runs")
    save(folder / "a", rows_of({f"u{i}": (gold, first) for i, (gold, first, _) in enumerate(triples)}))
    save(folder / "b", rows_of({f"u{i}": (gold, second) for i, (gold, _, second) in enumerate(triples)}))
    m = report.paired_difference(folder / "a", folder / "b")
    gained = sum(second == gold for gold, _, second in triples) - sum(first == gold for gold, first, _ in triples)
    assert m.value == pytest.approx(gained / len(triples), abs=1e-12)
    assert m.n == len(triples)
    assert -1 <= m.ci95[0] <= m.value + 1e-12
    assert m.value - 1e-12 <= m.ci95[1] <= 1


@pytest.fixture
def two_runs(rows_of, tmp_path):
    """Two runs of 200 examples, the second better by about 10 points; and the difference of each example."""
    rng = np.random.default_rng(0)
    first, second = rng.random(200) < 0.6, rng.random(200) < 0.7
    for name, right in (("a", first), ("b", second)):
        rows = rows_of({f"u{i:03}": ("yes", "yes" if r else "no") for i, r in enumerate(right)})
        save(tmp_path / name, rows)
    return tmp_path / "a", tmp_path / "b", second.astype(float) - first


def test_the_paired_interval_is_that_of_a_naive_bootstrap_over_examples(two_runs):
    a, b, change = two_runs
    rng, n = np.random.default_rng(1), len(change)
    means = [np.mean([change[i] for i in rng.integers(n, size=n)]) for _ in range(3000)]
    low, high = np.quantile(means, [0.025, 0.975])
    assert report.paired_difference(a, b).ci95 == pytest.approx((low, high), abs=0.06 * (high - low))


def test_the_other_way_round_the_difference_changes_its_sign(two_runs):
    a, b, change = two_runs
    assert report.paired_difference(a, b).value == -report.paired_difference(b, a).value == pytest.approx(change.mean())
    assert report.paired_difference(a, a).value == 0
    assert report.paired_difference(a, a).ci95 == (0, 0)


@pytest.mark.parametrize("uids", [["u0"], ["u0", "u2"], ["u0", "u1", "u2"]])
def test_different_examples_cannot_be_paired(rows_of, tmp_path, uids):
    save(tmp_path / "a", rows_of(dict.fromkeys(("u0", "u1"), ("yes", "yes"))))
    save(tmp_path / "b", rows_of(dict.fromkeys(uids, ("yes", "yes"))))
    with pytest.raises(HeedError, match="different examples") as error:
        report.paired_difference(tmp_path / "a", tmp_path / "b")
    assert str(tmp_path / "a") in str(error.value)
    assert str(tmp_path / "b") in str(error.value)


def test_examples_with_the_same_uids_and_other_content_cannot_be_paired(rows_of, two_runs, capsys):
    """As two files of the same data set, whose rows have the same numbers."""
    a, b, _ = two_runs
    for folder, third in ((a, "x"), (b, "y")):
        rows = rows_of(dict.fromkeys(("u0", "u1", "u2"), ("yes", "yes")))
        content = pa.array(["w", third, third])
        save(folder, rows.set_column(rows.schema.get_field_index("content"), "content", content))
    differ = "2 of 3 have another text or label, the first is u1"
    with pytest.raises(HeedError, match=f"{a} and {b} were evaluated on different examples, .*: {differ}.$"):
        report.paired_difference(a, b)
    report.main([str(a), str(b)])
    text = capsys.readouterr().out
    assert text.splitlines()[-1].endswith(f"{differ}.")
    assert "points" not in text


def test_a_run_is_averaged_once_by_whatever_name(two_runs, capsys):
    a, b, _ = two_runs
    report.main(["--mean", str(a), f"{a}/", str(b)])
    assert "mean of 2 runs" in capsys.readouterr().out
    with pytest.raises(HeedError, match="two runs or more"):
        report.main(["--mean", str(a), f"{a}/"])


def test_a_folder_with_an_odd_name_is_printed_in_one_line(two_runs, capsys):
    odd = two_runs[0].rename(two_runs[0].with_name("a b\n\x1b[31mé"))
    report.main([str(odd)])
    assert capsys.readouterr().out.splitlines()[-1] == f"in {odd.parent}/a b\\n\\x1b[31mé"


def test_rows_of_the_null_control_are_not_paired(rows_of, tmp_path):
    base = {"u0": ("yes", "yes"), "u1": ("yes", "no")}
    save(tmp_path / "a", rows_of(base))
    save(tmp_path / "b", rows_of(base, [{"uid": "u0", "intervention": "null", "part": "", "draw": -1, "y2": "yes"}]))
    assert report.paired_difference(tmp_path / "a", tmp_path / "b").n == 2


def test_the_command_prints_the_table_and_the_paired_difference(two_runs, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    a, b, change = two_runs
    report.main([str(a), str(b)])
    text = capsys.readouterr().out
    found = re.search(
        r"accuracy \(2\) - \(1\): ([+-][\d.]+) points, paired 95 % interval \[([+-][\d.]+), ([+-][\d.]+)\]", text
    )
    value, low, high = map(float, found.groups())
    assert value == pytest.approx(100 * change.mean(), abs=0.005)
    assert low < value < high
    report.main([str(a)])
    text = capsys.readouterr().out
    assert "majority" in text
    assert "paired" not in text


@pytest.mark.parametrize("case", ["other data", "no accuracy", "undefined", "no rows"])
def test_without_accuracy_on_the_same_data_there_is_only_the_table(two_runs, capsys, case):
    a, b, _ = two_runs
    save_results = {
        "other data": results(("accuracy/other", PLAIN), ("accuracy/d/yes", PLAIN), data="other"),
        "no accuracy": results(("two_class/d", PLAIN)),
        "undefined": results(("accuracy/d", UNDEFINED)),
        "no rows": results(("accuracy/d", PLAIN)),
    }
    write_json(b / "results.json", save_results[case] | {"rows": read_json(b / "results.json")["rows"]})
    if case == "no rows":
        (b / "rows" / "accuracy.parquet").unlink()
    report.main([str(a), str(b)])
    text = capsys.readouterr().out
    assert f"(2) {b}" in text
    assert "paired" not in text


def test_runs_on_other_examples_of_the_same_data_are_said_not_to_be_paired(rows_of, two_runs, capsys):
    a, b, _ = two_runs
    save(b, rows_of({"u000": ("yes", "yes")}))
    report.main([str(a), str(b)])
    last = capsys.readouterr().out.splitlines()[-1]
    differ = "199 are in one of them only, the first is u001"
    assert last == f"{a} and {b} were evaluated on different examples, so they cannot be paired: {differ}."


def test_a_run_beside_itself_is_one_run(two_runs, capsys):
    report.main([str(two_runs[0])] * 2)
    assert "(1)" not in capsys.readouterr().out


def test_a_folder_without_results_is_named(tmp_path):
    with pytest.raises(HeedError, match="results.json does not exist"):
        report.main([str(tmp_path)])


@given(st.lists(st.none() | st.floats(0, 1), min_size=2, max_size=5))
def test_the_mean_of_runs(values):
    runs = [results(("accuracy/d", Measurement(v, 9, reason="why" if v is None else None))) for v in values]
    m = report.averaged(runs)["metrics"]["accuracy/d"]
    if None in values:
        assert (m["value"], m["std"]) == (None, None)
        assert m["reason"] == f"in {values.count(None)} of {len(values)} runs"
        return
    mean = sum(values) / len(values)
    std = (sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5
    assert (m["value"], m["std"]) == (pytest.approx(mean), pytest.approx(std, abs=1e-12))
    assert (m["n"], m["per_draw"]) == (len(values), values)


def test_the_mean_is_of_what_all_runs_have(tmp_path, capsys):
    runs = [results(("accuracy/d", PLAIN), ("attentiveness/d/premise", SCORE)), results(("accuracy/d", OTHER))]
    for name, found in zip("ab", runs, strict=True):
        written_results.save(tmp_path / name, **found | {"split": f"fold-{name}"})
    report.main(["--mean", str(tmp_path / "a"), str(tmp_path / "b")])
    text = capsys.readouterr().out
    assert "mean of 2 runs, in %, ± std" in text
    assert "accuracy 70.00 ± 28.28 n=2" in " ".join(text.split())
    assert "fold-a, fold-b" in text
    assert "attentiveness" not in text
    assert "Metrics that not all of these runs have: 1." in text
    with pytest.raises(HeedError, match="two runs or more"):
        report.main(["--mean", str(tmp_path / "a")])


def test_labels_that_are_never_predicted_share_a_line():
    none = {
        label: Measurement(None, 0, reason=f"no example that was swapped is predicted as {label!r}") for label in "abc"
    }
    name = "attentiveness/d/image"
    found = results((name, SCORE), (f"{name}/from_x", PLAIN), *((f"{name}/from_{k}", m) for k, m in none.items()))
    found["metrics"][f"{name}/from_y"] = PLAIN.as_dict()
    found["metrics"][f"{name}/eligible"] = PLAIN.as_dict()
    lines = table_of(printed({"run": found}))
    assert [line.split()[0] for line in lines[1:]] == ["attentiveness", "from_x", "from_y", "from_...", "eligible"]
    assert words(lines[4:5]) == "from_... undefined: 3 labels are never predicted"
    del found["metrics"][f"{name}/from_b"]
    text = words(table_of(printed({"run": found})))
    assert "predicted as 'a'" in text
    assert "predicted as 'c'" in text
    assert "from_..." not in text


def test_names_from_data_do_not_command_the_terminal():
    found = results(("accuracy/d", PLAIN), ("accuracy/d/label/a\x1b[2Jb", PLAIN), note="note \x1b]0;title\x07")
    text = printed({"run": found})
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\\x1b]0;title" in text
