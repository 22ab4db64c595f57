"""``heedful compare --agreed`` against loops over examples."""

import csv
import io
from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.cli import command
from heedful.metrics.attentiveness import attentiveness
from heedful.metrics.number import measured
from heedful.records import NO_LABEL, SPAN, Context, Measurement, MetricName, RunError
from heedful.records.storage.results import write_results
from heedful.reports import comparable as report

import written_results
from made_rows import make
from refusals import refused

LABELS = ("entailment", "neutral", "contradiction")
CONTEXT = Context("d", labels=LABELS, default_label="neutral", own={"swap": [["premise", "leaves"]]})
NAME = MetricName("attentiveness", "d", "premise")
DRAWS = 2
CHANGED, KEPT = ("entailment", ["neutral"] * DRAWS), ("entailment", ["entailment"] * DRAWS)

answer = st.sampled_from(LABELS)
example = st.tuples(answer, st.lists(answer, min_size=DRAWS, max_size=DRAWS))  # predictions before and after swaps
several = st.integers(1, 12).flatmap(
    lambda n: st.lists(st.lists(example, min_size=n, max_size=n), min_size=2, max_size=3)
)


def rows_of(examples):
    """Rows of a run; examples that are predicted as the default label are not swapped."""
    base = {f"u{i:02}": ("entailment", y) for i, (y, _) in enumerate(examples)}
    swaps = [
        {"uid": uid, "draw": d, "y2": y2}
        for uid, (y, after) in zip(base, examples, strict=True)
        for d, y2 in enumerate(after)
        if y != "neutral"
    ]
    return make(base, swaps)


def with_column(rows, name, values):
    return rows.set_column(rows.schema.get_field_index(name), name, pa.array(values))


def save(folder, rows, manifest="m", seed=0, flags=(), data="d"):
    numbers = {NAME._replace(data=data): Measurement(0.5, 1, flags=flags)}
    about = written_results.about(rows, replace(CONTEXT, seed=seed, data=data), manifest)
    write_results(folder, written_results.results(numbers, seed=seed, data=data), {"attentiveness": (rows, about)})
    return str(folder)


def compared(*tables, context=CONTEXT):
    return report.comparison(tables, context, "premise")


def printed(capsys, *words):
    command.main(["compare", "--agreed", *words])
    return " ".join(capsys.readouterr().out.split())


@given(several)
def test_scores_are_those_of_plain_python(models):
    tables = [rows_of(examples) for examples in models]
    found = compared(*tables)
    n = len(models[0])
    u = [i for i in range(n) if len({m[i][0] for m in models}) == 1 and models[0][i][0] != "neutral"]

    def score(model, chosen):
        hits = [after != y for y, afters in (model[i] for i in chosen) for after in afters]
        return sum(hits) / len(hits) if hits else None

    assert (sum(found.labels.values()), found.examples) == (len(u), n)
    for k, model in enumerate(models):
        eligible = [i for i in range(n) if model[i][0] != "neutral"]
        assert (found.on_u[k].n, found.eligible[k].n) == (len(u), len(eligible))
        assert found.on_u[k].value == pytest.approx(score(model, u))
        assert found.eligible[k].value == pytest.approx(score(model, eligible))
        assert found.eligible[k].value == pytest.approx(
            measured(attentiveness(tables[k], "premise", CONTEXT))[NAME].value
        )
        if u:
            assert found.less[k].value == pytest.approx(score(model, u) - score(model, eligible))
    for i, j in combinations(range(len(models)), 2):
        expected = score(models[j], u) - score(models[i], u) if u else None
        assert found.pairs[i, j].value == pytest.approx(expected)


def test_swaps_that_one_model_does_not_answer_do_not_count_in_it_alone():
    """The first model answers half of the swapped inputs of each example, the second all, the third none."""
    half, every, none = (
        rows_of([("entailment", answers)] * 20)
        for answers in (["neutral", NO_LABEL], ["neutral", "entailment"], [NO_LABEL] * 2)
    )
    found = compared(half, every)
    assert [m.value for m in found.on_u] == [1, 0.5]
    assert found.pairs[0, 1].value == pytest.approx(-0.5)
    found = compared(none, half)
    assert {m.reason for m in (*found.on_u, found.eligible[0])} == {report.TOO_FEW_ANSWERS}
    assert found.eligible[1].value == 1


def test_intervals_are_those_of_a_naive_paired_bootstrap_and_groups_are_clusters():
    rng = np.random.default_rng(0)
    models = [
        [(LABELS[2 * int(y)], [LABELS[int(a)] for a in rng.integers(0, 3, DRAWS)]) for y in rng.integers(0, 2, 100)]
        for _ in range(2)
    ]
    found = compared(*map(rows_of, models))
    changed = [np.array([np.mean([a != y for a in after]) for y, after in m]) for m in models]
    u = np.array([a[0] == b[0] for a, b in zip(*models, strict=True)])
    less, pair = [], []
    for _ in range(3000):
        i = rng.integers(100, size=100)
        less.append(changed[0][i][u[i]].mean() - changed[0][i].mean())
        pair.append((changed[1] - changed[0])[i][u[i]].mean())
    for m, values in ((found.less[0], less), (found.pairs[0, 1], pair)):
        low, high = np.quantile(values, [0.025, 0.975])
        assert m.ci95 == pytest.approx((low, high), abs=0.15 * (high - low))
    rows = rows_of(
        [CHANGED if i // 10 % 2 else KEPT for i in range(100)]
    )  # ten groups in which all predictions change, or none
    grouped = with_column(rows, "group", [f"g{int(uid[1:]) // 10}" for uid in rows["uid"].to_pylist()])
    (alone, _), (together, _) = (compared(table, table).on_u for table in (rows, grouped))
    assert alone.value == together.value == 0.5
    assert np.ptp(together.ci95) > 2.5 * np.ptp(alone.ci95)


def test_spans_agree_if_they_are_the_same_answer_and_should_become_none():
    context = Context("d", kind=SPAN, default_label="", own={"swap": [["premise", "leaves"]]})
    tables = [make({"u0": ("[]", y), "u1": ("[]", "")}, [{"uid": "u0", "y2": y2}], labels=1)
              for y, y2 in (("the Rhine", "Rhine"), ("Rhine", ""))]  # fmt: skip
    found = compared(*tables, context=context)
    assert found.labels == {"rhine": 1}
    assert [m.value for m in found.on_u] == [0, 1]


def test_models_at_the_majority_share_stay_out_unless_asked_for(tmp_path, capsys):
    good, bad = (rows_of([(y, ["neutral"] * DRAWS)] * 10) for y in ("entailment", "contradiction"))
    folders = [save(tmp_path / "a", good), save(tmp_path / "b", good)]
    flagged = save(tmp_path / "c", bad, flags=("not_above_majority",))
    text = printed(capsys, *folders, flagged)
    assert "U: 10 of 10 examples (100 %): entailment 10" in text
    assert "on U, (2) - (1): +0.0 [-30.8, +30.8]" in text
    assert "(3) -: accuracy not above the majority share" in text
    text = printed(capsys, *folders, flagged, "--all")
    assert "U: 0 of 10 examples" in text
    assert "Undefined: these models agree on no prediction but the default label." in text
    assert "fewer than two models have" in printed(capsys, folders[0], flagged)


@pytest.mark.parametrize(
    ("settings", "fact"),
    [({"manifest": "n"}, "attentiveness"), ({"seed": 1}, "0 and 1")],
)
def test_runs_with_other_swaps_are_refused(tmp_path, settings, fact):
    rows = rows_of([CHANGED])
    first = save(tmp_path / "a", rows)
    with refused(RunError, first, tmp_path / "b", fact):
        command.main(["compare", "--agreed", first, save(tmp_path / "b", rows, **settings)])


def test_runs_on_several_data_sets_are_compared_within_each(tmp_path, capsys):
    folders = [save(tmp_path / f"{d}{i}", rows_of([CHANGED] * 12), data=d, seed=i) for i, d in ((0, "d"), (1, "e"))]
    folders = [path for folder in folders for path in (folder, f"{folder}x")]
    for folder, twin in zip(folders[::2], folders[1::2], strict=True):
        save(twin, rows_of([CHANGED] * 12), data=folder[-2], seed=int(folder[-1]))
    command.main(["compare", "--agreed", *folders, "--format", "csv"])
    table = [row for row in csv.reader(io.StringIO(capsys.readouterr().out)) if row]
    assert [row[0] for row in table[::3]] == ["d, validation: premise swapped", "e, validation: premise swapped"]
    assert [row[0] for row in table if row[0] in folders] == folders
    found = dict(zip(table[0], table[1], strict=True))
    assert [found[name] for name in ("on U", "on U n", "own score", "own score n", "on U - own")] == [
        "100", "12", "100", "12", "0",
    ]  # fmt: skip
    assert float(found["on U low"]) == pytest.approx(73.535, abs=0.001)
    assert float(found["on U - own high"]) == pytest.approx(26.465, abs=0.001)


def test_of_few_examples_their_number_stands_in_the_table(tmp_path, capsys):
    """Nine of twenty examples are in U: "n=9" replaces the scores on U and the differences."""
    models = [[CHANGED] * 20, [CHANGED] * 9 + [("contradiction", ["neutral"] * DRAWS)] * 11]
    folders = [save(tmp_path / str(i), rows_of(examples)) for i, examples in enumerate(models)]
    text = printed(capsys, *folders)
    for run in "12":
        assert f"({run}) n=9 9 100.0 [83.2, 100.0] 20 n=9" in text
    assert "on U, (2) - (1): n=9" in text
    assert "Note: fewer than 10 examples count" in text
