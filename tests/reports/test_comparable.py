"""Models on the examples on which they agree: against plain Python, and what cannot be compared."""

import csv
import io
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from heedful.cli import command
from heedful.metrics.attentiveness import attentiveness
from heedful.metrics.number import measured
from heedful.records import NO_LABEL, SPAN, Context, Measurement, MetricName, RunError
from heedful.records.rows import BASE, select
from heedful.records.storage.results import write_results
from heedful.reports import comparable as report

import written_results
from made_rows import make
from refusals import refused

LABELS = ("entailment", "neutral", "contradiction")
CONTEXT = Context("d", labels=LABELS, default_label="neutral", own={"swap": ["premise"]})
NAME = MetricName("attentiveness", "d", "premise")
DRAWS = 2

answer = st.sampled_from(LABELS)
example = st.tuples(answer, st.lists(answer, min_size=DRAWS, max_size=DRAWS))  # the base prediction, those of swaps


def rows_of(examples, default="neutral"):
    """Rows of a run: the examples that are predicted as the default label are not swapped."""
    base = {f"u{i}": ("entailment", y) for i, (y, _) in enumerate(examples)}
    swaps = [
        {"uid": f"u{i}", "draw": d, "y2": y2}
        for i, (y, after) in enumerate(examples)
        for d, y2 in enumerate(after)
        if y != default
    ]
    return make(base, swaps)


def save(folder, rows, manifest="m", seed=0, context=CONTEXT, flags=(), data="d"):
    context = Context(**{**vars(context), "seed": seed, "data": data})
    numbers = {NAME._replace(data=data): Measurement(0.5, 1, flags=flags)}
    found = written_results.results(numbers, seed=seed, data=data)
    write_results(folder, found, {"attentiveness": (rows, written_results.about(rows, context, manifest))})
    return str(folder)


several = st.integers(1, 12).flatmap(
    lambda n: st.lists(st.lists(example, min_size=n, max_size=n), min_size=2, max_size=3)
)


@given(several)
def test_scores_are_those_of_plain_python(models):
    found = report.comparison([rows_of(examples) for examples in models], CONTEXT, "premise")
    n = len(models[0])
    u = [i for i in range(n) if len({m[i][0] for m in models}) == 1 and models[0][i][0] != "neutral"]

    def score(model, chosen):
        hits = [after != y for y, afters in (model[i] for i in chosen) for after in afters]
        return sum(hits) / len(hits) if hits else None

    assert sum(found.labels.values()) == len(u)
    assert found.examples == n
    for k, model in enumerate(models):
        own = [i for i in range(n) if model[i][0] != "neutral"]
        assert found.on_u[k].value == pytest.approx(score(model, u))
        assert (found.on_u[k].n, found.own[k].n) == (len(u), len(own))
        assert found.own[k].value == pytest.approx(score(model, own))
        if u:
            assert found.less[k].value == pytest.approx(score(model, u) - score(model, own))
    for i, j in combinations(range(len(models)), 2):
        expected = score(models[j], u) - score(models[i], u) if u else None
        assert found.pairs[i, j].value == pytest.approx(expected)


def test_swaps_that_one_model_does_not_answer_do_not_count_in_it_alone():
    """The first answers half of the swaps of each example, the other all of them."""
    base = {f"u{i:02}": ("entailment", "entailment") for i in range(20)}
    of_runs = []
    for answers in (("neutral", NO_LABEL), ("neutral", "entailment")):
        swaps = [{"uid": uid, "draw": d, "y2": y2} for uid in base for d, y2 in enumerate(answers)]
        of_runs.append(make(base, swaps))
    found = report.comparison(of_runs, CONTEXT, "premise")
    assert [m.value for m in found.on_u] == [1, 0.5]
    assert found.pairs[0, 1].value == pytest.approx(-0.5)


def test_a_model_with_too_few_answers_is_the_reason_that_nothing_is_compared():
    base = {f"u{i:02}": ("entailment", "entailment") for i in range(20)}
    of_runs = [make(base, [{"uid": uid, "y2": y2} for uid in base]) for y2 in (NO_LABEL, "neutral")]
    found = report.comparison(of_runs, CONTEXT, "premise")
    assert {m.reason for m in (*found.on_u, found.own[0])} == {
        "more than half of the answers of a model are none, or one text"
    }
    assert found.own[1].value == 1


@given(st.lists(example, min_size=1, max_size=12))
def test_the_own_score_is_the_attentiveness_of_the_run(examples):
    rows = rows_of(examples)
    (own, _) = report.comparison([rows, rows], CONTEXT, "premise").own
    expected = measured(attentiveness(rows, "premise", CONTEXT))[NAME]
    assert own.value == pytest.approx(expected.value)
    assert own.n == expected.n


def test_intervals_are_those_of_a_naive_paired_bootstrap():
    rng = np.random.default_rng(0)
    models = [
        [(LABELS[2 * int(y)], [LABELS[int(a)] for a in rng.integers(0, 3, DRAWS)]) for y in rng.integers(0, 2, 150)]
        for _ in range(2)
    ]
    found = report.comparison([rows_of(examples) for examples in models], CONTEXT, "premise")
    changed = [np.array([np.mean([a != y for a in after]) for y, after in m]) for m in models]
    u = np.array([a[0] == b[0] for a, b in zip(*models, strict=True)])
    less, pair = [], []
    for _ in range(3000):
        i = rng.integers(150, size=150)
        less.append(changed[0][i][u[i]].mean() - changed[0][i].mean())
        pair.append((changed[1] - changed[0])[i][u[i]].mean())
    for m, values in ((found.less[0], less), (found.pairs[0, 1], pair)):
        low, high = np.quantile(values, [0.025, 0.975])
        assert m.ci95 == pytest.approx((low, high), abs=0.12 * (high - low))


def test_groups_are_clusters():
    """Ten groups of ten examples that change together: the interval is that of ten, not of a hundred."""
    examples = [("entailment", ["neutral" if i // 10 % 2 else "entailment"] * DRAWS) for i in range(100)]
    rows = rows_of(examples)
    groups = pa.array([f"g{int(uid[1:]) // 10}" for uid in rows["uid"].to_pylist()])
    grouped = rows.set_column(rows.schema.get_field_index("group"), "group", groups)
    (alone, _), (together, _) = (report.comparison([r, r], CONTEXT, "premise").on_u for r in (rows, grouped))
    assert alone.value == together.value == 0.5
    width, wide = (m.ci95[1] - m.ci95[0] for m in (alone, together))
    assert wide > 2.5 * width


def test_two_equal_runs_do_not_differ_and_agree_on_all_that_counts():
    rows = rows_of([("entailment", ["neutral"] * DRAWS), ("contradiction", ["contradiction"] * DRAWS)] * 5)
    found = report.comparison([rows, rows], CONTEXT, "premise")
    assert found.labels == {"contradiction": 5, "entailment": 5}
    assert [m.value for m in (*found.less, found.pairs[0, 1])] == [0, 0, 0]
    assert found.on_u[0].value == found.own[0].value == 0.5


def test_an_answer_that_is_no_label_does_not_count():
    rows = rows_of([(NO_LABEL, ["neutral"] * DRAWS), ("entailment", ["neutral"] * DRAWS)])
    assert report.comparison([rows, rows], CONTEXT, "premise").labels == {"entailment": 1}


def test_spans_agree_where_they_are_the_same_answer_and_should_become_none():
    context = Context("d", kind=SPAN, default_label="", own={"swap": ["premise"]})
    tables = [make({"u0": ("[]", y), "u1": ("[]", "")}, [{"uid": "u0", "y2": y2}], labels=1)
              for y, y2 in (("the Rhine", "Rhine"), ("Rhine", ""))]  # fmt: skip
    found = report.comparison(tables, context, "premise")
    assert found.labels == {"rhine": 1}
    assert [m.value for m in found.on_u] == [0, 1]


def test_models_that_disagree_everywhere_have_no_score_and_the_reason_is_said(tmp_path, capsys):
    folders = [save(tmp_path / y, rows_of([(y, ["neutral"] * DRAWS)] * 3)) for y in ("entailment", "contradiction")]
    command.main(["compare", "--agreed", *folders])
    text = capsys.readouterr().out
    assert "U: 0 of 3 examples" in text
    assert "Undefined: these models agree on no prediction but the default label." in text
    assert text.count("undefined") == 4


def test_models_at_the_majority_share_stay_out_unless_asked_for(tmp_path, capsys):
    good, bad = (rows_of([(y, ["neutral"] * DRAWS)] * 10) for y in ("entailment", "contradiction"))
    flagged = save(tmp_path / "c", bad, flags=("not_above_majority",))
    folders = [save(tmp_path / "a", good), save(tmp_path / "b", good), flagged]
    command.main(["compare", "--agreed", *folders])
    text = capsys.readouterr().out
    assert "U: 10 of 10 examples (100 %): entailment 10" in text
    assert "on U, (2) - (1): +0.0 [-30.8, +30.8]" in text
    assert "(3) -: accuracy not above the majority share" in text
    command.main(["compare", "--agreed", *folders, "--all"])
    assert "U: 0 of 10 examples" in capsys.readouterr().out
    command.main(["compare", "--agreed", folders[0], folders[2]])
    text = " ".join(capsys.readouterr().out.split())
    assert "fewer than two models have an accuracy above the majority share; --all compares the others, too." in text


@pytest.mark.parametrize(
    ("other", "fact"),
    [({"manifest": "n"}, "attentiveness"), ({"seed": 1}, "0 and 1"), ({"content": "x"}, "1 of 1")],
)
def test_runs_with_other_swaps_are_refused(tmp_path, other, fact):
    rows = rows_of([("entailment", ["neutral"] * DRAWS)])
    first = save(tmp_path / "a", rows)
    if content := other.pop("content", None):
        texts = [content if i == BASE else "" for i in rows["intervention"].to_pylist()]
        rows = rows.set_column(rows.schema.get_field_index("content"), "content", pa.array(texts))
        assert select(rows, intervention=BASE)["content"].to_pylist() == ["x"]
    with refused(RunError, first, tmp_path / "b", fact):
        command.main(["compare", "--agreed", first, save(tmp_path / "b", rows, **other)])


def test_runs_on_several_data_sets_are_compared_within_each(tmp_path, capsys):
    rows = rows_of([("entailment", ["neutral"] * DRAWS)] * 12)
    folders = [save(tmp_path / f"{data}{i}", rows, data=data, seed=k) for k, data in enumerate("de") for i in (0, 1)]
    command.main(["compare", "--agreed", *folders, "--format", "csv"])
    blocks = capsys.readouterr().out
    table = list(csv.reader(io.StringIO(blocks)))
    assert [row[0] for row in table[::3]] == ["d, validation: premise swapped", "e, validation: premise swapped"]
    assert [row[0] for row in table if row[0] in folders] == folders
    assert table[1][1:] == ["100.0 [73.5, 100.0]", "12", "100.0 [73.5, 100.0]", "12", "+0.0 [-26.5, +26.5]"]


def test_of_few_examples_their_number_stands_in_the_table(tmp_path, capsys):
    """Nine of twenty examples are in U: its scores and differences are not shown, the scores of each run are."""
    models = [[(y if i < 9 else other, ["neutral"] * DRAWS) for i in range(20)]
              for y, other in (("entailment", "entailment"), ("entailment", "contradiction"))]  # fmt: skip
    folders = [save(tmp_path / str(i), rows_of(examples)) for i, examples in enumerate(models)]
    command.main(["compare", "--agreed", *folders, "--format", "csv"])
    table = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert [row[1:] for row in table[1:]] == [["n=9", "9", "100.0 [83.2, 100.0]", "20", "n=9"]] * 2
    command.main(["compare", "--agreed", *folders])
    text = " ".join(capsys.readouterr().out.split())
    assert "on U, (2) - (1): n=9" in text
    assert "Note: fewer than 10 examples count" in text
    found = report.comparison([rows_of(examples) for examples in models], CONTEXT, "premise")
    assert (found.on_u[0].value, found.on_u[0].flags[0]) == (1.0, "few_examples")


def test_no_number_is_cut_at_80_columns():
    wide = Measurement(1.0, 30_000, ci95=(1.0, 1.0)), Measurement(-0.105, 30_000, ci95=(-0.123, -0.101))
    full, less = [wide[0]] * 2, [wide[1]] * 2
    found = report.Comparison({"entailment": 30_000}, 30_000, full, full, less, {(0, 1): wide[1]})
    console = Console(file=io.StringIO(), width=80)
    report._print(found, "hans, evaluation: premise swapped", ["(1)", "(2)"], console)
    lines = console.file.getvalue().splitlines()
    row = ["(1)", *["100.0 [100.0, 100.0]", "30000"] * 2, "-10.5 [-12.3, -10.1]"]
    assert [" ".join(line.split()) for line in lines if line.startswith("(1)")] == [" ".join(row)]


def test_mistakes_are_one_sentence(tmp_path):
    with refused(RunError):
        command.main(["compare", "--agreed", save(tmp_path / "a", rows_of([("entailment", ["neutral"] * DRAWS)]))])
    without = str(written_results.save(tmp_path / "b"))
    with refused(RunError, without, "attentiveness"):
        command.main(["compare", "--agreed", str(tmp_path / "a"), without])
    alone = Context("d", labels=LABELS, default_label="neutral", own={"swap": []})
    with refused(RunError, tmp_path / "c"):
        command.main(["compare", "--agreed", str(tmp_path / "a"), save(tmp_path / "c", rows_of([]), context=alone)])
    with pytest.raises(SystemExit) as asked:
        command.main(["compare", "--agreed", "--help"])
    assert asked.value.code == 0
