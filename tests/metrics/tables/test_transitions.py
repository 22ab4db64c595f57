"""Transitions, and their intervals over tables, against loops."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.metrics.number import measured
from heedful.metrics.tables.transitions import Changes, invalid_transitions
from heedful.records import NO_LABEL, DataError, Measurement, RunError

from clustered_shares import Entry, share_interval
from refusals import refused
from tiers import costly

# forbidden transitions, as first letters of the labels before and after
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
    """Numbers by their names as text."""
    return {str(name): m for name, m in measured(invalid_transitions(*args, **settings)).items()}


def letters(before, after):
    return before[0].upper() + after[0].upper()


@st.composite
def experiments(draw):
    """An operation, and rows (uid, table, y, y2, variant, relevance) of hypotheses about three tables."""
    operation = draw(st.sampled_from(["delete", "insert", "update", "permute", "delete+insert"]))
    known = draw(st.sampled_from([("unknown",), ("relevant", "irrelevant"), ("unknown", "relevant", "irrelevant")]))
    predicted = st.sampled_from(draw(st.sampled_from([LABELS, LABELS[:2], (*LABELS, NO_LABEL)])))
    after = st.sampled_from(LABELS * 3 + (NO_LABEL,))
    rows = []
    for u in range(draw(st.integers(0, 6))):
        table, y = draw(st.sampled_from("ABC")), draw(predicted)
        for k in range(draw(st.integers(0, 4))):
            relevance = draw(st.sampled_from(known)) if operation == "delete" else None
            relevance = relevance or ("unknown" if "delete" in operation else "any")
            rows.append((f"u{u}", table, y, draw(after), str(k), relevance))
    return operation, rows


def table_of(rows_of, operation, rows):
    """Rows of the operation, and a row of another intervention for each example."""
    base = {uid: ("neutral", y) for uid, _, y, *_ in rows} or {"u": ("neutral", "neutral")}
    changed = [
        {"uid": uid, "y2": y2, "intervention": operation, "variant": variant, "clusters": [uid, f"table {table}"],
         "expects": f"transitions/{operation}/{relevance}",
         "slices": ["table=x", f"split={uid.partition('.')[0]}", "splits=y"]}
        for uid, table, _, y2, variant, relevance in rows
    ]  # fmt: skip
    others = [{"uid": uid, "y2": "neutral", "intervention": "swap", "draw": 1} for uid in base if rows]
    return rows_of(base, [*changed, *others])


def reference(rows, wrong) -> dict:
    """Map ends of metric names to (share, entries), or to None if the share is undefined."""
    found, per_label = {}, []
    rows = [row for row in rows if NO_LABEL not in row[2:4]]
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
    if operation == "delete+insert":  # in sequence, the operations allow all transitions
        expected = {k: v for k, v in reference(rows, set()).items() if k.startswith("invalid")}
        expected = {k.replace("invalid", "invalid_composed"): v for k, v in expected.items()}
        check(found, f"transitions/d/{operation}", expected)
    answered = [row for row in rows if NO_LABEL not in row[2:4]]
    if {relevance for *_, relevance in answered} & {"relevant", "irrelevant"}:
        for known in ("relevant", "irrelevant"):
            mine = [row for row in answered if row[-1] == known]
            check(found, f"transitions/d/delete_{known}", reference(mine, FORBIDDEN[f"delete/{known}"]))
    assert not found


@given(experiments())
def test_the_matrix_counts(rows_of, experiment):
    operation, rows = experiment
    changes = Changes(table_of(rows_of, operation, rows), operation)
    expected = [[sum((y, y2) == (b, a) for _, _, y, y2, *_ in rows) for a in LABELS] for b in LABELS]
    assert changes.matrix().tolist() == expected
    assert changes.hypotheses == len({uid for uid, *_ in rows})


@st.composite
def of_splits(draw):
    """An operation, splits and rows; uids begin with their split, and splits have common tables."""
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


def test_rows_of_an_unknown_split_are_refused(rows_of):
    rows = table_of(rows_of, "delete", [("a.u", "A", "neutral", "neutral", "", "unknown")])
    with refused(RunError, "'a'", "b, c"):
        compute(rows, "d", ["delete"], splits=["b", "c"])


def test_a_prediction_of_another_label_is_named(rows_of):
    rows = rows_of({"u": ("yes", "yes")}, [{"uid": "u", "y2": "no", "intervention": "delete", "clusters": ["u", "t"]}])
    with refused(DataError, "entailment", "'yes'"):
        compute(rows, "d", ["delete"])
