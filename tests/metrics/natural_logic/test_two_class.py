"""Accuracy in two classes against a loop over rows."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics import METRICS
from heedful.records import Context
from heedful.records import rows as r

from made_rows import by_text
from python_rows import make_rows

score = by_text(METRICS["two_class"].numbers)
LABELS = ("contradiction", "entailment", "neutral")
GOLD = {"mnli": LABELS, "rte": ("entailment", "not_entailment"), "med": ("Entailment", "non-entailment")}


def rows_of(entries):
    """entries: (uid, gold, probabilities)."""
    n, plain = len(entries), [""] * len(entries)
    columns = dict.fromkeys(("part", "variant", "partner", "allowed", "expectation", "content"), plain)
    columns |= {
        "uid": [e[0] for e in entries],
        "gold": [e[1] for e in entries],
        "p": [np.float32(e[2]) for e in entries],
    }
    columns |= {"y": [LABELS[int(np.argmax(e[2]))] for e in entries], "y2": [None] * n, "p2": [None] * n}
    columns |= {"unread": [None] * n}
    columns |= {"intervention": [r.BASE] * n, "version": [0] * n, "draw": [-1] * n}
    return make_rows(
        columns | {"group": [None] * n, "clusters": [[e[0]] for e in entries], "slices": [[]] * n}, len(LABELS)
    )


probabilities = st.lists(st.sampled_from([0.0, 0.125, 0.25, 0.5, 1.0]), min_size=3, max_size=3).filter(any)


@given(st.lists(st.tuples(st.sampled_from(sorted(GOLD)), st.integers(0, 2), probabilities), min_size=1, max_size=30))
def test_both_rules_on_each_data_set_are_what_a_loop_counts(drawn):
    entries = [(f"{d}/validation/{i}", GOLD[d][g % len(GOLD[d])], p) for i, (d, g, p) in enumerate(drawn)]
    found = score(rows_of(entries), Context("d", labels=LABELS))
    by_data = {}
    for uid, gold, p in entries:
        by_data.setdefault(uid.split("/")[0], []).append((gold.lower() == "entailment", p))
    assert set(found) == {f"two_class/{d}{tail}" for d in by_data for tail in ("", "/argmax", "/majority")}
    for d, seen in by_data.items():
        summed = sum((p[1] > p[0] + p[2]) == gold for gold, p in seen)
        first = sum((p.index(max(p)) == 1) == gold for gold, p in seen)
        positive = sum(gold for gold, _ in seen)
        assert found[f"two_class/{d}"].value == float(Fraction(summed, len(seen)))
        assert found[f"two_class/{d}/argmax"].value == float(Fraction(first, len(seen)))
        assert found[f"two_class/{d}/majority"].value == pytest.approx(max(positive, len(seen) - positive) / len(seen))
        assert {found[f"two_class/{d}{tail}"].n for tail in ("", "/argmax", "/majority")} == {len(seen)}


@pytest.mark.parametrize(("right", "flags"), [(61, ("not_above_majority",)), (69, ())])
def test_accuracy_that_is_not_above_the_larger_class_is_flagged(right, flags):
    """60 of 100 are no entailment; to be above that takes 69 (p = 0.04). By the other rule all is right."""
    yes, no, first = [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.25, 0.5, 0.25]
    entries = [(f"rte/validation/{i}", "entailment", yes if i < right - 60 else first) for i in range(40)]
    entries += [(f"rte/validation/{i}", "not_entailment", no) for i in range(40, 100)]
    found = score(rows_of(entries), Context("d", labels=LABELS))
    assert (found["two_class/rte"].value, found["two_class/rte"].flags) == (right / 100, flags)
    assert found["two_class/rte/argmax"].flags == ()
    assert found["two_class/rte/majority"].flags == ()
