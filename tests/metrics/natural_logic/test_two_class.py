"""Accuracy in two classes against a loop over rows."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics import METRICS
from heedful.records import NO_LABEL, Context

from made_rows import by_text
from natural_logic_rows import THREE as LABELS
from natural_logic_rows import base_row, table

score = by_text(METRICS["two_class"].numbers)
GOLD = {"mnli": LABELS, "rte": ("entailment", "not_entailment"), "med": ("Entailment", "non-entailment")}


probabilities = st.lists(st.sampled_from([0.0, 0.125, 0.25, 0.5, 1.0]), min_size=3, max_size=3).filter(any)


@given(st.lists(st.tuples(st.sampled_from(sorted(GOLD)), st.integers(0, 2), probabilities, st.integers(0, 5)),
                min_size=1, max_size=30))  # fmt: skip
def test_both_rules_on_each_data_set_are_what_a_loop_counts(drawn):
    """One of six answers is missing, which is wrong."""
    entries, by_data = [], {}
    for i, (d, g, p, k) in enumerate(drawn):
        gold = GOLD[d][g % len(GOLD[d])]
        entries.append(base_row(f"{d}/validation/{i}", p, LABELS, gold) | ({} if k else {"y": NO_LABEL}))
        by_data.setdefault(d, []).append((gold.lower() == "entailment", p, k > 0))
    found = score(table(entries), Context("d", labels=LABELS))
    for d, seen in by_data.items():
        without = [not is_answer for *_, is_answer in seen]
        m = found.pop(f"two_class/{d}/no_answer", None)
        assert (m and m.value) == (float(Fraction(sum(without), len(seen))) if any(without) else None)
        summed = sum(is_answer and (p[1] > p[0] + p[2]) == gold for gold, p, is_answer in seen)
        first = sum(is_answer and (p.index(max(p)) == 1) == gold for gold, p, is_answer in seen)
        positive = sum(gold for gold, *_ in seen)
        assert found[f"two_class/{d}"].value == float(Fraction(summed, len(seen)))
        assert found[f"two_class/{d}/argmax"].value == float(Fraction(first, len(seen)))
        assert found[f"two_class/{d}/majority"].value == pytest.approx(max(positive, len(seen) - positive) / len(seen))
        assert {found.pop(f"two_class/{d}{tail}").n for tail in ("", "/argmax", "/majority")} == {len(seen)}
    assert not found


@pytest.mark.parametrize(("right", "flags"), [(64, ("not_above_majority",)), (65, ())])
def test_accuracy_that_is_not_above_the_larger_class_is_flagged(right, flags):
    """60 of 100 are non-entailment. The predictions differ from the constant answer in 4 (p = 0.06) or 5 entailments
    (p = 0.03), and are right. "argmax" is always right.
    """
    yes, no, first = [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.25, 0.5, 0.25]
    entries = [base_row(f"rte/{i}", yes if i < right - 60 else first, LABELS) for i in range(40)]
    entries += [base_row(f"rte/{i}", no, LABELS, "not_entailment") for i in range(40, 100)]
    found = score(table(entries), Context("d", labels=LABELS))
    assert (found["two_class/rte"].value, found["two_class/rte"].flags) == (right / 100, flags)
    assert found["two_class/rte/argmax"].flags == ()
    assert found["two_class/rte/majority"].flags == ()
