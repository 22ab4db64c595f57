"""Causal effects of natural-logic features against loops over rows, some of which have no answer."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.natural_logic.causal_effects import disagreements
from heedful.metrics.natural_logic.two_class import entailed
from heedful.records import NO_LABEL
from heedful.records import rows as r

from natural_logic_rows import KINDS, THREE, base_row, effects, pair_row, table
from tiers import costly

PALETTES = {  # probabilities in eighths, by number of labels
    3: [
        (4, 2, 2),
        (2, 4, 2),
        (3, 2, 3),
        (2, 3, 3),
        (3, 3, 2),
        (1, 6, 1),
        (0, 1, 7),
        (1, 5, 2),
        (8, 0, 0),
    ],
    2: [(4, 4), (3, 5), (8, 0), (1, 7)],
}


# --- the reference


def two_class(p, labels) -> bool:
    entail = sum((Fraction(float(x)) for x, label in zip(p, labels, strict=True) if label == "entailment"), Fraction())
    return entail > sum((Fraction(float(x)) for x in p), Fraction()) / 2


def mean(numbers: list) -> Fraction:
    return sum(numbers, Fraction()) / len(numbers)


def reference_of_set(pairs: list[dict], labels) -> dict[str, tuple]:
    """Map ends of metric names to (value, number of examples n), for the pairs of one set."""
    hits: dict[str, list] = {"": [], "towards_gold": [], "argmax": [], "signed": [], "absolute": []}
    hits["total_variation"] = []
    for row in pairs:
        before, after = two_class(row["p"], labels), two_class(row["p2"], labels)
        right = after == (row["gold2"] == "entailment")
        at = labels.index("entailment")
        up = Fraction(float(row["p2"][at])) - Fraction(float(row["p"][at]))
        hits[""].append(Fraction(before != after))
        hits["towards_gold"].append(Fraction(before != after and right))
        hits["argmax"].append(Fraction((row["y"] == "entailment") != (row["y2"] == "entailment")))
        hits["signed"].append(up if row["gold2"] == "entailment" else -up)
        hits["absolute"].append(abs(up))
        moved = [abs(Fraction(float(b)) - Fraction(float(a))) for a, b in zip(row["p"], row["p2"], strict=True)]
        hits["total_variation"].append(sum(moved, Fraction()) / 2)
    uids = {row["uid"] for row in pairs}
    found = {name: (mean(values), len(uids)) for name, values in hits.items()}
    found["naive"] = found[""]
    own = [[h for h, row in zip(hits[""], pairs, strict=True) if row["uid"] == uid] for uid in uids]
    found["per_seed"] = (mean([mean(h) for h in own]), len(uids))
    for value in {s for row in pairs for s in row["slices"]}:
        inside = [(h, row["uid"]) for h, row in zip(hits[""], pairs, strict=True) if value in row["slices"]]
        name = value + "none" if value.endswith("=") else value
        found[name] = (mean([h for h, _ in inside]), len({uid for _, uid in inside}))
    return found


def reference(rows: list[dict], labels) -> dict[str, tuple]:
    """Map all metric names to (value, n); the value is None if undefined."""
    base = [row for row in rows if row["intervention"] == "base"]
    right = [
        Fraction(row["y"] != NO_LABEL and two_class(row["p"], labels) == (row["gold"] == "entailment")) for row in base
    ]
    rows = [row for row in rows if row["intervention"] != "base" and NO_LABEL not in (row["y"], row["y2"])]
    positive = mean([Fraction(row["gold"] == "entailment") for row in base])
    expected = {"natural_logic/d/accuracy": (mean(right), len(base))}
    expected["natural_logic/d/accuracy/majority"] = (max(positive, 1 - positive), len(base))
    for kind, interventions in KINDS.items():
        sets = {}
        for effect, name in zip(("tce", "dce"), interventions, strict=True):
            sets[effect] = [row for row in rows if row["intervention"] == name]
            if sets[effect]:
                found = reference_of_set(sets[effect], labels)
            else:
                found = dict.fromkeys(
                    ("", "towards_gold", "argmax", "signed", "absolute", "total_variation"), (None, 0)
                )
                found |= dict.fromkeys(("naive", "per_seed"), (None, 0))
            for suffix, m in found.items():
                expected["/".join(filter(None, ("natural_logic/d", kind, effect, suffix)))] = m
        tce, dce = (expected[f"natural_logic/d/{kind}/{effect}"][0] for effect in ("tce", "dce"))
        n = len({row["uid"] for pairs in sets.values() for row in pairs})
        defined = tce is not None and dce is not None
        expected[f"natural_logic/d/{kind}/delta"] = (tce - dce if defined else None, n)
        expected[f"natural_logic/d/{kind}/ratio"] = (tce / dce if defined and dce else None, n)
    return expected


@st.composite
def experiments(draw):
    """Rows and labels: up to 6 examples with up to 6 pairs each, from all four sets; some answers are missing."""
    labels = draw(st.sampled_from([THREE, ("entailment", "neutral", "contradiction"), ("neutral", "entailment")]))
    answers = st.sampled_from(PALETTES[len(labels)]).map(lambda eighths: [x / 8 for x in eighths])
    golds = st.sampled_from(["entailment", "non-entailment", "neutral"])
    fails = st.sampled_from([False] * 7 + [True])
    entries = []
    for i in range(draw(st.integers(1, 6))):
        uid, p = f"u{i}", draw(answers)
        slices = [
            f"monotonicity={draw(st.sampled_from(['up', 'down']))}",
            f"operator={draw(st.sampled_from(['', 'no']))}",
        ]
        slices.append(f"relation={draw(st.sampled_from(['leq', 'geq', 'none']))}")
        mine = [base_row(uid, p, labels, draw(golds), slices)]
        for j in range(draw(st.integers(0, 6))):
            which, partner = draw(st.sampled_from(["I0", "I1", "I2", "I3"])), draw(st.sampled_from("abcd"))
            mine.append(pair_row(uid, which, partner, p, draw(answers), labels, draw(golds), slices, str(j)))
            mine[-1] |= {"y2": NO_LABEL} if draw(fails) else {}
        failed = {"y": NO_LABEL} if draw(fails) else {}
        entries += [row | failed for row in mine]
    return entries, labels


@costly
@given(experiments())
def test_every_number_equals_the_reference(experiment):
    entries, labels = experiment
    found = effects(table(entries, labels), labels)
    expected = reference(entries, labels)
    assert set(found) == set(expected)
    for name, (value, n) in expected.items():
        m = found[name]
        assert m.n == n, name
        if value is None:
            assert (m.value, m.ci95) == (None, None)
            assert m.reason, name
            continue
        assert m.value == pytest.approx(float(value), abs=1e-12), name
        assert m.reason is None
        if name.endswith("/majority"):
            assert (m.ci95, m.flags) == (None, ())
        elif m.ci95 is None:
            assert m.flags == ("interval_unbounded",)
            assert name.endswith("ratio")
        else:
            assert np.isfinite(m.ci95).all()
            assert m.ci95[0] - 1e-12 <= m.value <= m.ci95[1] + 1e-12
            assert m.ci95[0] < m.ci95[1]
        assert ("interval_ignores_clusters" in m.flags) == name.endswith("/naive")


@costly
@given(experiments())
def test_the_two_rules_disagree_where_entailment_is_the_most_probable_of_three_but_no_majority(experiment):
    entries, labels = experiment
    rows, base = table(entries, labels), [row for row in entries if row["intervention"] == "base"]
    expected = sum(two_class(row["p"], labels) != (row["y"] == "entailment") for row in base if row["y"] != NO_LABEL)
    assert disagreements(rows, labels) == expected
    for which, p in (("y", "p"), ("y2", "p2")):
        pairs = rows.filter(pa.array(~r.rows_with(rows, intervention=r.BASE)))
        assert entailed(pairs, labels, which).tolist() == [two_class(v, labels) for v in pairs[p].to_pylist()]
        assert entailed(pairs, labels, which, "argmax").tolist() == [
            y == "entailment" for y in pairs[which].to_pylist()
        ]
