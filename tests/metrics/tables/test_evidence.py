"""Evidence against loops over sets of keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.metrics.number import Number, measured
from heedful.metrics.tables.evidence import evidence
from heedful.records import NO_LABEL, DataError

from refusals import refused

KEYS = ("Born", "Died", "Genre", "Length")
E, N, C = LABELS
NAME = "evidence/d/"


def mean(values: list) -> float | None:
    return sum(values) / len(values) if values else None


def counts(gold, y, deletions, marked) -> bool:
    """Whether a pair counts: it is not neutral, has marked rows and deletions, and no answer is missing."""
    return bool(gold != N and marked and deletions) and NO_LABEL not in (y, *deletions.values())


def reference(cases: dict) -> dict[str, float | None]:
    """Map statistics to values, by a loop over cases (table, gold, y, y2 by deleted key, marked keys)."""
    hits = extras = misses = 0
    precisions, recalls, kinds = [], [], []
    for _, gold, y, deletions, marked in cases.values():
        if not counts(gold, y, deletions, marked):
            continue
        model = {key for key, y2 in deletions.items() if y2 != y}
        hit, extra, missed = model & marked, model - marked, marked - model
        hits, extras, misses = hits + len(hit), extras + len(extra), misses + len(missed)
        precisions.append(len(hit) / len(model) if model else None)
        recalls.append(len(hit) / len(marked))
        kind = "all" if marked <= model else "partial" if hit else "none"
        kinds.append((kind, not model, model == marked, y == gold))
    expected = {
        "precision": hits / (hits + extras) if hits + extras else None,
        "recall": hits / (hits + misses) if kinds else None,
        "macro_precision": mean([p for p in precisions if p is not None]),
        "macro_precision_or_zero": mean([p or 0 for p in precisions]),
        "macro_recall": mean(recalls),
        "exact": mean([k[2] for k in kinds]),
        "correct": mean([k[3] for k in kinds]),
        "ignored_of_none": mean([k[1] for k in kinds if k[0] == "none"]),
    }
    for share in ("all", "partial", "none", "ignored"):
        holds = [(k[1] if share == "ignored" else k[0] == share, k[3]) for k in kinds]
        expected[share] = mean([held for held, _ in holds])
        expected[f"correct/{share}"] = mean([held and right for held, right in holds])
        expected[f"among_correct/{share}"] = mean([held for held, right in holds if right])
    return expected


labels = st.sampled_from(LABELS)
answers = st.sampled_from(LABELS * 4 + (NO_LABEL,))
deletions = st.just({}) | st.fixed_dictionaries(dict.fromkeys(KEYS, answers))
case = st.tuples(st.sampled_from(("T1", "T2", "T3")), labels, answers, deletions, st.frozensets(st.sampled_from(KEYS)))
cases_of = st.lists(case, max_size=10).map(lambda drawn: {f"u{i}": one for i, one in enumerate(drawn)})


def table_of(rows_of, cases: dict):
    """Rows of the deletions, and rows of another part and of another intervention, which do not count."""
    base = {uid: (gold, y) for uid, (_, gold, y, _, _) in cases.items()}
    changed = [
        {"uid": uid, "intervention": "delete", "part": "table", "variant": key, "draw": -1, "y2": y2}
        | {"clusters": [uid, f"table {table}"]}
        for uid, (table, _, _, deletions, _) in cases.items()
        for key, y2 in deletions.items()
    ]
    others = [
        {"uid": uid, "intervention": name, "part": part, "variant": "Born", "y2": N, "clusters": [uid, "table T1"]}
        for uid in cases
        for name, part in (("delete", "hypothesis"), ("update", "table"))
    ]
    return rows_of(base, [*changed, *others])


def compute(rows_of, cases: dict):
    relevant = {uid: one[4] for uid, one in cases.items()}
    found = evidence(table_of(rows_of, cases), "d", "table", relevant)
    return {str(name): m for name, m in measured(found).items()}


@given(cases_of)
def test_equals_the_reference(rows_of, cases):
    found, expected = compute(rows_of, cases), reference(cases)
    assert set(found) == {NAME + name for name in expected}
    for name, value in expected.items():
        m = found[NAME + name]
        assert m.value == (None if value is None else pytest.approx(value, abs=1e-12)), name
        if value is None:
            assert (m.n, m.ci95, bool(m.reason)) == (0, None, True)
        else:
            assert 0 <= m.ci95[0] <= m.value + 1e-12
            assert m.value <= m.ci95[1] + 1e-12 <= 1 + 2e-12
            assert m.n > 0


@given(cases_of)
def test_what_does_not_count_is_counted(rows_of, cases):
    relevant = {uid: one[4] for uid, one in cases.items()} | {"elsewhere": {"Born"}, "also elsewhere": set()}
    yielded = evidence(table_of(rows_of, cases), "d", "table", relevant)
    (found,) = (counts_ for counts_ in yielded if not isinstance(counts_, Number))
    kept = [one for one in cases.values() if counts(*one[1:])]
    expected = {"pairs": len(kept), "tables": len({one[0] for one in kept}), "neutral": 0, "without_evidence": 0}
    expected |= {"without_deletions": 0, "without_answers": 0, "not_predicted": 1}
    for _, gold, y, deletions, marked in cases.values():
        if not counts(gold, y, deletions, marked):
            reasons = {"neutral": gold == N, "without_evidence": not marked, "without_deletions": not deletions}
            expected[next((reason for reason, holds in reasons.items() if holds), "without_answers")] += 1
    assert found == expected


def test_a_relevant_row_that_was_not_deleted_is_refused(rows_of):
    with refused(DataError, "'Kind' of f "):
        compute(rows_of, {"f": ("T1", E, E, {"Genre": E}, frozenset({"Genre", "Kind"}))})
