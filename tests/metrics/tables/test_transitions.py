"""Transitions against a reference in plain loops, and so their intervals, over tables."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.metrics.tables.transitions import METRIC, Changes, invalid_transitions
from heedful.records import Context, DataError, Line, Measurement, RunError

from clustered_shares import Entry, share_interval
from python_rows import sort_rows
from refusals import refused
from tiers import costly

# written down once more: what must not happen, by the first letters of before and after
FORBIDDEN = {
    "delete/unknown": {"EC", "NE", "NC", "CE"},
    "delete/relevant": {"EE", "EC", "NE", "NC", "CE", "CC"},
    "delete/irrelevant": {"EN", "EC", "NE", "NC", "CE", "CN"},
    "insert/any": {"EN", "EC", "CE", "CN"},
    "update/any": {"CE"},
    "permute/any": {"EN", "EC", "NE", "NC", "CE", "CN"},
    "delete+insert/unknown": {"EC", "CE"},
}


def compute(*args, **settings) -> dict[str, Measurement]:
    """The numbers by the texts of their names."""
    return {str(name): m for name, m in invalid_transitions(*args, **settings).items()}


def letters(before, after):
    return before[0].upper() + after[0].upper()


@st.composite
def experiments(draw):
    """(operation, rows): (uid, table, y, y2, variant, relevance) of hypotheses about a few tables."""
    operation = draw(st.sampled_from(["delete", "insert", "update", "permute", "delete+insert"]))
    known = draw(st.sampled_from([("unknown",), ("relevant", "irrelevant"), ("unknown", "relevant", "irrelevant")]))
    predicted = st.sampled_from(draw(st.sampled_from([LABELS, LABELS[:2]])))
    rows = []
    for u in range(draw(st.integers(0, 6))):
        table, y = draw(st.sampled_from("ABC")), draw(predicted)
        for k in range(draw(st.integers(0, 4))):
            relevance = draw(st.sampled_from(known)) if operation == "delete" else None
            relevance = relevance or ("unknown" if "delete" in operation else "any")
            rows.append((f"u{u}", table, y, draw(st.sampled_from(LABELS)), str(k), relevance))
    return operation, rows


def table_of(rows_of, operation, rows, others=()):
    base = {uid: ("neutral", y) for uid, _, y, *_ in rows} or {"u": ("neutral", "neutral")}
    changed = [
        {"uid": uid, "y2": y2, "intervention": operation, "variant": variant, "clusters": [uid, f"table {table}"],
         "allowed": f"{operation}/{relevance}", "slices": ["table=x", f"split={uid.partition('.')[0]}", "splits=y"]}
        for uid, table, _, y2, variant, relevance in rows
    ]  # fmt: skip
    return rows_of(base, [*changed, *others])


def reference(rows, wrong) -> dict:
    """What names end with -> (share, its entries), or None where there is nothing to count."""
    found, per_label = {}, []
    for before in LABELS:
        mine = [(table, y2) for _, table, y, y2, *_ in rows if y == before]
        bad = [Entry(table, letters(before, y2) in wrong, cell=before) for table, y2 in mine]
        found[f"invalid/from_{before}"] = (sum(e.hits for e in bad) / len(mine), bad) if mine else None
        per_label.append(found[f"invalid/from_{before}"])
        for after in LABELS:
            hits = [Entry(table, y2 == after) for table, y2 in mine]
            found[f"from_{before}/to_{after}"] = (sum(e.hits for e in hits) / len(mine), hits) if mine else None
    found["invalid"] = None
    if None not in per_label:
        found["invalid"] = sum(v for v, _ in per_label) / 3, [entry for _, bad in per_label for entry in bad]
    return found


def check(found: dict[str, Measurement], name: str, expected: dict) -> None:
    for suffix, pair in expected.items():
        m = found.pop(f"{name}/{suffix}")
        if pair is None:
            assert (m.value, m.ci95) == (None, None)
            assert m.reason
        else:
            assert m.value == pytest.approx(pair[0], abs=1e-12)
            assert (m.n, m.reason, m.flags) == (len(pair[1]), None, ())
            assert m.ci95 == pytest.approx(share_interval(pair[1]), abs=1e-9)


@costly
@given(experiments())
def test_equals_the_reference(rows_of, experiment):
    operation, rows = experiment
    found = compute(table_of(rows_of, operation, rows), "d", [operation])
    plain = f"{operation}/{'unknown' if 'delete' in operation else 'any'}"
    check(found, f"transitions/d/{operation}", reference(rows, FORBIDDEN[plain]))
    if operation == "delete+insert":  # one after the other allow everything
        expected = {k: v for k, v in reference(rows, set()).items() if k.startswith("invalid")}
        expected = {k.replace("invalid", "invalid_composed"): v for k, v in expected.items()}
        check(found, f"transitions/d/{operation}", expected)
    if {relevance for *_, relevance in rows} & {"relevant", "irrelevant"}:
        for known in ("relevant", "irrelevant"):
            mine = [row for row in rows if row[-1] == known]
            check(found, f"transitions/d/delete_{known}", reference(mine, FORBIDDEN[f"delete/{known}"]))
    assert not found


@costly
@given(experiments())
def test_other_interventions_do_not_count_and_shares_from_a_label_add_up(rows_of, experiment):
    operation, rows = experiment
    others = [{"uid": uid, "y2": "neutral", "intervention": "swap", "draw": 1} for uid in {r[0] for r in rows}]
    found = compute(table_of(rows_of, operation, rows), "d", [operation])
    assert compute(table_of(rows_of, operation, rows, others), "d", [operation]) == found
    for before in LABELS:
        shares = [found[f"transitions/d/{operation}/from_{before}/to_{after}"].value for after in LABELS]
        assert None in shares or sum(shares) == pytest.approx(1)


@given(experiments())
def test_the_matrix_counts(rows_of, experiment):
    operation, rows = experiment
    changes = Changes(table_of(rows_of, operation, rows), operation)
    expected = [[sum((y, y2) == (b, a) for _, _, y, y2, *_ in rows) for a in LABELS] for b in LABELS]
    assert changes.matrix().tolist() == expected
    assert changes.hypotheses == len({uid for uid, *_ in rows})


def test_a_case_done_by_hand(rows_of):
    E, N, C = LABELS
    rows = [("a", "A", E, C, "1"), ("a", "A", E, E, "2"), ("b", "A", E, N, "1"), ("b", "A", E, E, "2"),
            ("c", "B", N, N, "1"), ("d", "B", C, E, "1")]  # fmt: skip
    rows = [(*row, "unknown") for row in rows]
    found = compute(table_of(rows_of, "delete", rows), "d", ["delete", "insert"])
    name = "transitions/d/delete/invalid"
    assert [found[f"{name}/from_{label}"].value for label in LABELS] == [0.25, 0, 1]
    assert found[name].value == pytest.approx(1.25 / 3)
    assert (found[name].n, found[f"{name}/from_{E}"].n) == (6, 4)
    assert found["transitions/d/insert/invalid"].reason == "no table could be edited this way"


@st.composite
def of_splits(draw):
    """(operation, splits, rows) of an experiment; the uids begin with their split, and splits share tables."""
    operation, rows = draw(experiments())
    splits = draw(st.sampled_from([("alpha1", "alpha2"), ("b", "a", "c")]))
    of = {uid: draw(st.sampled_from(splits)) for uid, *_ in rows}
    return operation, splits, [(f"{of[uid]}.{uid}", *others) for uid, *others in rows]


@costly
@given(of_splits())
def test_over_several_splits_each_number_is_the_mean_of_what_it_is_in_each(rows_of, experiment):
    operation, splits, rows = experiment
    found = compute(table_of(rows_of, operation, rows), "d", [operation], splits=splits)
    wrong = FORBIDDEN[f"{operation}/{'unknown' if 'delete' in operation else 'any'}"]
    by_split = {split: [row for row in rows if row[0].startswith(f"{split}.")] for split in splits}
    each = {split: reference(mine, wrong) for split, mine in by_split.items()}
    for suffix in reference([], wrong):
        m, pairs = found[f"transitions/d/{operation}/{suffix}"], [each[split][suffix] for split in splits]
        if None in pairs:
            assert (m.value, m.ci95) == (None, None)
            assert m.reason.startswith(f"{splits[pairs.index(None)]}: no ")
            continue
        assert m.value == pytest.approx(sum(value for value, _ in pairs) / len(splits), abs=1e-12)
        assert m.n == sum(len(entries) for _, entries in pairs)
        each_cell = [e._replace(cell=f"{i} {e.cell}") for i, (_, entries) in enumerate(pairs) for e in entries]
        assert m.ci95 == pytest.approx(share_interval(each_cell), abs=1e-9)
    for split, mine in by_split.items():
        alone = compute(table_of(rows_of, operation, mine), "d", [operation])
        assert {name: found[f"{name}/split={split}"] for name in alone} == alone


def test_splits_count_alike_however_many_rows_they_have(rows_of):
    rng, rows = np.random.default_rng(1), []
    for t in range(15):  # the tables 0 to 4 stand in both splits
        for split in [s for s, here in (("a", t < 10), ("b", t < 5 or t >= 10)) if here]:
            wrong = 0.9 if t % 2 else 0.1
            for k in range(2 if split == "a" else 20):
                y = LABELS[k % 3] if k > 2 else LABELS[(t + k) % 3]
                bad = {"entailment": "contradiction", "neutral": "entailment", "contradiction": "entailment"}[y]
                rows.append((f"{split}.{t}.{k}", str(t), y, bad if rng.random() < wrong else y, "", "unknown"))
    table = table_of(rows_of, "delete", rows)
    both = compute(table, "d", ["delete"], splits=["a", "b"])["transitions/d/delete/invalid"]
    pooled = compute(table, "d", ["delete"])["transitions/d/delete/invalid"]
    assert abs(both.value - pooled.value) > 0.01
    assert both.n == pooled.n


def test_rows_of_an_unknown_split_are_refused(rows_of):
    rows = table_of(rows_of, "delete", [("a.u", "A", "neutral", "neutral", "", "unknown")])
    with refused(RunError, "'a'", "b, c"):
        compute(rows, "d", ["delete"], splits=["b", "c"])


def test_a_prediction_of_another_label_is_named(rows_of):
    rows = rows_of({"u": ("yes", "yes")}, [{"uid": "u", "y2": "no", "intervention": "delete", "clusters": ["u", "t"]}])
    with refused(DataError, "entailment", "'yes'"):
        compute(rows, "d", ["delete"])


# --- what is shown


def shown(rows, operations, splits=()) -> list[Line]:
    context = Context("d", splits=splits, own={"operations": operations})
    return list(METRIC.show(METRIC.score(rows, context), context, {}).lines)


def test_shown_is_what_is_forbidden_and_below_it_from_each_label(rows_of):
    """Of a model that always ends at neutral; single transitions stand in results.json only."""
    rows = [(label[0], "A", label, "neutral", "", "unknown") for label in LABELS]
    tables = [table_of(rows_of, operation, rows) for operation in ("delete", "delete+insert")]
    both = pa.concat_tables([tables[0], tables[1].filter(pc.equal(tables[1]["intervention"], "delete+insert"))])
    both = sort_rows(both)
    lines, name = shown(both, ["delete", "delete+insert"]), "transitions/d/delete"
    labels = [(f"from {label}", 1) for label in LABELS]
    titles = ["invalid: delete", "invalid: delete+insert", "invalid: delete+insert (composed)"]
    assert [(line.label, line.level) for line in lines] == [pair for title in titles for pair in ((title, 0), *labels)]
    assert [line.metric for line in lines[:2]] == [f"{name}/invalid", f"{name}/invalid/from_entailment"]
    assert lines[8].metric == f"{name}+insert/invalid_composed"
    assert [line.label for line in lines if line.beside] == titles
    assert {(line.unit, line.section, line.text) for line in lines} == {("percent", "", "")}


def test_where_the_relevance_is_known_it_has_lines_of_its_own(rows_of):
    rows = [("u", "A", "neutral", "neutral", known, known) for known in ("relevant", "irrelevant")]
    titles = [line.label for line in shown(table_of(rows_of, "delete", rows), ["delete"]) if not line.level]
    assert titles == ["invalid: delete", "invalid: delete, relevant", "invalid: delete, irrelevant"]


def test_of_several_splits_the_averages_of_each_are_shown(rows_of):
    rows = [(f"{s}.{y[0]}", "A", y, "neutral", "", "unknown") for s in ("alpha_1", "alpha_2") for y in LABELS]
    lines = shown(table_of(rows_of, "delete", rows), ["delete"], ("alpha_1", "alpha_2"))
    splits = ["split=alpha_1", "split=alpha_2"]
    assert [line.label for line in lines] == ["invalid: delete", *splits, *(f"from {label}" for label in LABELS)]
    assert [line.metric for line in lines[1:3]] == [f"transitions/d/delete/invalid/{split}" for split in splits]
    assert [line.beside for line in lines] == [True, *[False] * 5]


def test_the_curve_is_of_the_first_operation():
    (chart,) = METRIC.charts(Context("d", own={"operations": ["insert", "delete"]}))
    assert {curve: str(name) for curve, name in chart.curves.items()} == {
        "invalid: insert": "transitions/d/insert/invalid"
    }
    assert (chart.title, chart.figure) == ("invalid", "table_rows")
