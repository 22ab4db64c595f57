"""``heedful matrix --prompts``: means over seeds against loops over rows, tables, and refused runs."""

import csv
import io
from dataclasses import replace
from statistics import mean, stdev

import numpy as np
import pyarrow as pa
import pytest

from heedful.cli import command
from heedful.metrics.accuracy import accuracy
from heedful.metrics.attentiveness import attentiveness
from heedful.metrics.number import measured as by_name
from heedful.records import NO_LABEL, SPAN, DataError, HeedfulError, MetricName, RunError
from heedful.records.numbers import Measurement
from heedful.records.rows import BASE
from heedful.records.storage.results import read_evaluation, read_results
from heedful.records.task import SOFT
from heedful.reports.flags import FLAGS
from heedful.reports.in_context.prompts import groups_of, result_folders, with_most_probable
from heedful.reports.in_context.tables import print_summary
from heedful.reports.runs import read_runs

import written_results
from made_rows import make
from prompted_runs import CONTEXT, LABELS, rows_of, save
from refusals import refused

SOFT_ROWS = make({"u00": ('{"entailment": 1.0}', "entailment")}, labels=1)
KINDS = {"": "plain", " augmented": "counterfactual", " half default": "extra_tuple", " matched": "matched_labels"}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs with k = 0 and 1, three seeds, two wordings and all kinds of demonstrations, on two data sets; on the second
    the model is at chance."""
    root, n = tmp_path_factory.mktemp("runs"), 0
    prompted = [("paper", "plain", 0), ("short", "plain", 1), *(("paper", kind, 1) for kind in KINDS.values())]
    for data, right in (("nli", 0.8), ("hard", 0.2)):
        context = replace(CONTEXT, data=data)
        for wording, kind, tuples in prompted:
            for seed in range(3 if tuples else 1):
                n += 1
                rows = rows_of(right=right, attentive=0.5 + 0.4 * (kind == "counterfactual"), seed=n, context=context)
                folder = root / data / f"{wording}-{kind}-k{tuples}-seed{seed}"
                save(folder, rows, tuples, seed, kind, wording, context)
    return str(root)


def tables(capsys, *arguments):
    """Parse the tables of the report: rows, as cells by header, by heading."""
    command.main(["matrix", "--prompts", *arguments, "--format", "csv"])
    found = {}
    for block in capsys.readouterr().out.split("\n\n"):
        (heading, *header), *rows = csv.reader(io.StringIO(block))
        assert heading not in found
        found[heading] = [dict(zip(["", *header], row, strict=True)) for row in rows]
    return found


def table(found, *words):
    """The rows of the only table whose heading contains all words."""
    (rows,) = (rows for heading, rows in found.items() if all(word in heading for word in words))
    return rows


def row_of(rows, label):
    return next(row for row in rows if row[""] == label)


def by_loops(root, kind, likely=False):
    """Accuracy, agreement, attentiveness, its standard deviation over draws, and the share of "neutral", by seed."""
    found = []
    for seed in range(3):
        rows = read_evaluation(f"{root}/nli/paper-{kind}-k1-seed{seed}", "attentiveness")[0].to_pylist()
        probable = [LABELS[row["p"].index(max(row["p"]))] for row in rows]
        base = [k for k, row in enumerate(rows) if row["intervention"] == BASE]
        agreement = mean(rows[k]["y"] == probable[k] for k in base)
        for row, y in zip(rows, probable, strict=True) if likely else ():
            row["y"], row["y2"] = y, LABELS[row["p2"].index(max(row["p2"]))] if row["p2"] else None
        draws = {}
        for row in rows:
            if row["intervention"] == "swap" and row["y"] not in ("neutral", NO_LABEL) and row["y2"] != NO_LABEL:
                draws.setdefault(row["draw"], []).append((row["y2"] != row["y"], row["y2"] == "neutral"))
        changed, default = ([mean(hit[k] for hit in hits) for hits in draws.values()] for k in (0, 1))
        right = mean(rows[k]["y"] == rows[k]["gold"] for k in base)
        found.append((right, agreement, mean(changed), stdev(changed), mean(default)))
    return list(zip(*found, strict=True))


def percent(value, sign=""):
    return f"{100 * value:{sign}z.1f}"


def test_numbers_are_those_of_loops_over_the_rows(runs, capsys):
    found = tables(capsys, f"{runs}/nli", "--all")
    answers = found["models-tiny, nli validation: 60 examples, %"]
    swapped = table(found, "nli validation: attentiveness")
    for words, kind in KINDS.items():
        right, agreement, attentive, stds, _ = by_loops(runs, kind)
        likely, _, of_likely, stds_of_likely, _ = by_loops(runs, kind, likely=True)
        row = row_of(answers, f"k=1{words} paper")
        shown = [row["accuracy"], row["± seeds"], row["seeds"], row["scored"].partition(" ")[0], row["agree"]]
        assert shown == [
            *map(percent, (mean(right), stdev(right))),
            "3",
            *map(percent, (mean(likely), mean(agreement))),
        ]
        for row, answer, values, spread in zip(
            (row for row in swapped if row[""] == f"k=1{words} paper"),
            ("written", "scored"), (attentive, of_likely), (stds, stds_of_likely), strict=True,
        ):  # fmt: skip
            shown = [row["answer"], row["value"].partition(" ")[0], row["± draws"], row["± seeds"]]
            assert shown == [answer, *map(percent, (mean(values), mean(spread), stdev(values)))]
            assert ("(no_answers)" in row["value"]) == (answer == "written")
    assert [answers[0][name] for name in ("", "seeds", "± seeds")] == ["k=0 paper", "1", ""]
    assert answers[-1]["accuracy"] == "33.3"


@pytest.mark.slow
def test_the_tables_of_the_paper_hold_the_same_numbers(runs, capsys):
    found = tables(capsys, runs)
    counts = {"(table 6)": 1, "(table 7)": 2, "(table 9)": 1, "(table 11)": 1, "Augmented less others": 2}
    assert {part: sum(part in heading for heading in found) for part in counts} == counts
    right, _, attentive, stds, default = by_loops(runs, "plain")
    six, nine, eleven = (table(found, f"(table {n})") for n in (6, 9, 11))
    label = "models-tiny k=1 paper"
    value = f"{percent(mean(attentive))} (no_answers) ± {percent(mean(stds))}"
    assert row_of(six, label) == {"": label, "nli": value, "hard": "-"}
    assert nine[0] == {"": "majority", "nli": "33.3", "hard": "33.3"}
    assert row_of(nine, label)["nli"] == percent(mean(right))
    assert all(row["hard"].endswith(" (not_above_majority)") for row in nine[1:])
    assert row_of(eleven, label)["nli"].split(" ")[0] == percent(mean(default))
    assert [row[""] for row in table(found, "(table 7)", "nli")] == ["plain", "half default", "matched", "augmented"]
    right, _, attentive, _, _ = by_loops(runs, "counterfactual")
    for row, kind in zip(table(found, "less others", "nli"), ("plain", "extra_tuple", "matched_labels"), strict=True):
        other_right, _, other_attentive, _, _ = by_loops(runs, kind)
        pairs = zip(("accuracy", "attentiveness"), ((right, other_right), (attentive, other_attentive)), strict=True)
        for name, values in pairs:
            assert row[name].partition(" ")[0] == percent(mean(a - b for a, b in zip(*values, strict=True)), "+")
        assert row["seeds"] == "3"
    assert {row["attentiveness"] for row in table(found, "less others", "hard")} == {"-"}


@pytest.mark.parametrize("group", [1, 4])
def test_one_seed_has_the_intervals_of_its_evaluation(tmp_path, capsys, group):
    rows = rows_of(group=group, invalid=0.0)  # missing answers would make draws unequally large
    save(tmp_path / "one", rows, 1, 0)
    (found,) = groups_of(read_runs([str(tmp_path / "one")]))
    expected = by_name(accuracy(rows, CONTEXT))[MetricName("accuracy", "nli")]
    number = found.numbers["written", "", "worth"]
    assert (number.value, number.ci95) == (expected.value, pytest.approx(expected.ci95))
    expected = by_name(attentiveness(rows, "premise", CONTEXT))[MetricName("attentiveness", "nli", "premise")]
    number = found.numbers["written", "premise", "attentiveness"]
    assert (number.value, number.std_draws) == (pytest.approx(expected.value), expected.std)
    assert number.ci95 == pytest.approx(expected.ci95)
    command.main(["matrix", "--prompts", str(tmp_path)])
    text = " ".join(capsys.readouterr().out.split())
    assert "One seed alone: k=1." in text
    assert "crosses" not in text


@pytest.mark.slow
def test_the_terminal_has_80_columns_and_at_chance_attentiveness_is_hidden(runs, capsys):
    command.main(["matrix", "--prompts", f"{runs}/hard"])
    text = capsys.readouterr().out
    assert max(len(line) for line in text.splitlines() if runs not in line) <= 80
    assert f"in {runs}/hard: 16 prompts" in text
    assert "(a) accuracy not above the majority share" in text
    assert "crosses examples and seeds" in text
    for more, is_shown in (((), False), (("--all",), True)):
        rows = table(tables(capsys, f"{runs}/hard", *more), "attentiveness, premise")
        assert all((row["value"] != "-") == ("(not_above_majority)" in row["value"]) == is_shown for row in rows)


def test_the_summary_after_several_prompts_is_short(runs, tmp_path, capsys):
    print_summary([f"{runs}/nli/paper-plain-k1-seed{seed}" for seed in range(3)])
    text = capsys.readouterr().out
    labels = [line.split()[:2] for line in text.splitlines() if line.startswith("k=")]
    assert labels == [["k=1", "3"], ["k=1", "written"], ["k=1", "scored"]]
    assert text.count(f"in {runs}/nli/paper-plain-k1-seed") == 3
    assert "table" not in text
    number = {MetricName("exact", "d"): Measurement(0.25, 4)}
    print_summary([str(written_results.save(tmp_path / name, written_results.results(number))) for name in "ab"])
    assert "(1)" in capsys.readouterr().out


def test_seeds_that_predict_the_default_label_alone_are_told(tmp_path, capsys):
    base = rows_of(invalid=0.0, seed=1)
    save(tmp_path / "a", base, seed=0)
    default = base.filter([row["intervention"] == BASE for row in base.to_pylist()])
    default = default.set_column(default.schema.get_field_index("y"), "y", [["neutral"] * default.num_rows])
    save(tmp_path / "b", default, seed=1)
    command.main(["matrix", "--prompts", str(tmp_path), "--all"])
    text = " ".join(capsys.readouterr().out.split())
    assert "k=1: with 1 of 2 seeds attentiveness to premise is undefined; they do not count." in text
    assert FLAGS["one_seed"].short in text


@pytest.mark.slow
def test_of_texts_it_is_exact_match_abstention_and_what_stays(tmp_path, capsys):
    own = {"swap": [["passage", "leaves"], ["distractor", "stays"]]}
    context = replace(CONTEXT, kind=SPAN, labels=(), default_label="", own=own)
    base = {f"u{i}": ('["x"]', "x" if i % 4 else "") for i in range(16)}
    swaps = [
        {"uid": uid, "draw": d, "y2": ("", y, "z")[(i + d) % 3], "part": part, "expects": expects}
        for i, (uid, (_, y)) in enumerate(base.items())
        for d in range(2)
        for part, expects in own["swap"]
    ]
    for seed in range(2):
        for kind in ("plain", "counterfactual"):
            save(tmp_path / f"{kind}{seed}", make(base, swaps, labels=1), seed=seed, kind=kind, context=context)
    found = tables(capsys, str(tmp_path), "--all")
    (row, *rows) = found["models-tiny, nli validation: 16 examples, %"]
    assert (row["match"], row["no answer"], rows[-1][""]) == ("75.0", "25.0", "never answering")
    hits = [change["y2"] == "" for change in swaps if change["part"] == "passage" and base[change["uid"]][1]]
    assert table(found, "attentiveness, passage")[0]["value"] == percent(mean(hits)) + " (one_text)"
    hits = [change["y2"] == base[change["uid"]][1] for change in swaps if change["part"] == "distractor"]
    assert table(found, "answers that stay, distractor")[0]["value"] == percent(mean(hits)) + " (one_text)"
    assert not [heading for heading in found if "(table 7)" in heading and "distractor" in heading]
    assert not any("with invalid" in row for rows in found.values() for row in rows)


def test_models_and_kinds_of_one_name_are_told_apart(tmp_path):
    """Settings that change answers distinguish models; the version that drew demonstrations distinguishes kinds."""
    for decoding in ("greedy", "likelihood"):
        save(tmp_path / decoding, rows_of(), decoding=decoding)
    for version in (0, None):
        settings = {"kind": "extra_tuple", "version": version, "decoding": "greedy"}
        save(tmp_path / str(version), rows_of(), seed=version or 1, **settings)
    save(tmp_path / "other", rows_of(), backbone="models/other")
    save(tmp_path / "seed", rows_of(seed=1), seed=1, backbone="models/other", max_requests=5, concurrency=2)
    names = {("greedy", "plain"): 1, ("greedy", "extra_tuple, version 1"): 1, ("greedy", "extra_tuple"): 1}
    names = {(f"models-tiny, decoding {name}", kind): n for (name, kind), n in names.items()}
    names |= {("models-tiny, decoding likelihood", "plain"): 1, ("models-other", "plain"): 2}
    groups = groups_of(read_runs(result_folders([str(tmp_path)])))
    assert {(group.key.model, group.key.kind): len(group.prompts) for group in groups} == names


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"decoding": "likelihood"}, {"read": "first_token"}, {}])
def test_a_model_that_writes_nothing_or_has_no_probabilities_has_one_answer(tmp_path, capsys, settings):
    for seed in range(2):
        rows = rows_of(seed=seed, right=0.9, with_p=bool(settings))
        save(tmp_path / str(seed), rows, seed=seed, swapped=bool(settings), **settings)
    found = tables(capsys, str(tmp_path))
    (row, *_) = found["models-tiny, nli validation: 60 examples, %"]
    command.main(["matrix", "--prompts", str(tmp_path)])
    text = " ".join(capsys.readouterr().out.split())
    assert "written: the label" not in text
    assert ("models-tiny: nothing is written;" in text) == bool(settings)
    if settings:
        assert "scored" not in row
        assert [row["answer"] for row in table(found, "attentiveness, premise")] == ["scored"]
    else:  # neither probabilities nor swaps
        assert row["scored"] == ""
        assert not any("swapped" in heading or "(table 6)" in heading for heading in found)


@pytest.mark.slow
@pytest.mark.parametrize("few", [9, 10])
def test_of_few_examples_their_number_stands_in_every_table(tmp_path, capsys, few):
    """Attentiveness counts few of 60 examples, since the others are predicted as the default label."""
    uids = [f"u{i:02}" for i in range(60)]
    for k, (seed, kind) in enumerate((seed, kind) for seed in range(2) for kind in ("plain", "counterfactual")):
        base = {uid: (LABELS[i % 2], "entailment" if i < few else "neutral") for i, uid in enumerate(uids)}
        swaps = [
            {"uid": uid, "draw": d, "y2": LABELS[(i + d + k) % 2]} for i, uid in enumerate(uids[:few]) for d in (0, 1)
        ]
        save(tmp_path / f"{kind}{seed}", make(base, swaps, likely=LABELS), seed=seed, kind=kind)
    found = tables(capsys, str(tmp_path), "--all")
    swapped, seven, less = (
        table(found, "attentiveness, premise"),
        table(found, "(table 7)"),
        table(found, "less others"),
    )
    cells = [row["value"] for row in swapped] + [table(found, f"(table {n})")[0]["nli"] for n in (6, 11)]
    cells += [row["attentiveness"] for row in (*seven, *less)] + [
        row["with invalid"] for row in swapped if row["with invalid"]
    ]
    spreads = [row[name] for row in (*swapped, *seven) for name in ("± draws", "± seeds")]
    assert [cell.startswith("n=9") for cell in cells] == [few == 9] * len(cells)
    assert ["few_examples" in row["value"] for row in swapped] == [few == 9] * len(swapped)
    assert {bool(cell) for cell in (*spreads, *(row["[95 %]"] for row in swapped))} == {few == 10}


def test_differences_are_over_the_seeds_that_both_have(tmp_path, capsys):
    for kind, seeds in (("plain", (0, 1)), ("counterfactual", (1, 2))):
        for seed in seeds:
            save(tmp_path / f"{kind}{seed}", rows_of(seed=seed), seed=seed, kind=kind)
    (row,) = table(tables(capsys, str(tmp_path)), "less others")
    assert (row["seeds"], row["accuracy"]) == ("1", "+0.0")  # both have the same rows


@pytest.mark.parametrize(
    ("settings", "error", "facts"),
    [
        ({"rows": rows_of(50)}, RunError, ["/a", "10 are in one"]),
        ({"manifest": "n"}, RunError, ["/a", "attentiveness"]),
        ({"swapped": False}, RunError, ["attentiveness", "evaluations"]),
        ({"context": replace(CONTEXT, seed=1)}, RunError, ["/a", "0 and 1", "seed_everything"]),
        ({"seed": 0}, RunError, ["/a"]),
        ({"context": replace(CONTEXT, kind=SOFT, data="x"), "rows": SOFT_ROWS}, DataError, ["x"]),
        (None, RunError, ["accuracy"]),
    ],
)
def test_runs_that_do_not_belong_together_are_refused(tmp_path, settings, error: type[HeedfulError], facts):
    save(tmp_path / "a", rows_of())
    save(tmp_path / "b", **{"rows": rows_of(seed=1), "seed": 1, **(settings or {})})
    if settings is None:  # results without rows
        written_results.save(tmp_path / "b", written_results.results(identity=read_results(tmp_path / "b")["identity"]))
    with refused(error, tmp_path / "b", *facts):
        command.main(["matrix", "--prompts", str(tmp_path / "a"), str(tmp_path / "b")])


def test_rows_are_read_as_the_most_probable_labels():
    rows = rows_of(seed=1)
    likely = with_most_probable(rows, LABELS)
    assert likely.schema == rows.schema
    for before, after in zip(rows.to_pylist(), likely.to_pylist(), strict=True):
        y2 = None if before["p2"] is None else LABELS[int(np.argmax(before["p2"]))]
        assert after == before | {"y": LABELS[int(np.argmax(before["p"]))], "y2": y2}
    assert with_most_probable(likely, LABELS).equals(likely)


def test_equal_probabilities_leave_the_answer_and_missing_ones_score_nothing():
    flat, rows = np.float32([1 / 3] * 3), rows_of(seed=1)
    changed = {name: [flat if value is not None else None for value in rows[name].to_pylist()] for name in ("p", "p2")}
    for name, column in changed.items():
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, name, pa.array(column, rows.schema.field(place).type))
    assert with_most_probable(rows, LABELS).equals(rows)
    assert with_most_probable(rows_of(with_p=False), LABELS) is None
    lacking = pa.array([None] * rows.num_rows, rows.schema.field("p2").type)
    assert with_most_probable(rows.set_column(rows.schema.get_field_index("p2"), "p2", lacking), LABELS) is None
