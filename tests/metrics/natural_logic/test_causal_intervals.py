"""Intervals of causal effects of pairs with common clusters; undefined numbers and refused rows."""

from itertools import product

import numpy as np
import pytest

from heedful.metrics.statistics.paired import recording
from heedful.records import NO_LABEL, DataError, RunError

from natural_logic_rows import THREE, base_row, effects, pair_row, table
from refusals import refused

# --- common clusters


def crossed(bases: int, partners: int, seed: int = 0, sets=("I0", "I2"), effect: float = 2.0) -> list[dict]:
    """All pairs of examples and partners; a change of the prediction depends on both."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=bases) * effect, rng.normal(size=partners) * effect
    entries = [base_row(f"u{i}", [0.25, 0.75, 0.0], THREE) for i in range(bases)]
    for i, j, which in product(range(bases), range(partners), sets):
        hit = rng.random() < 1 / (1 + np.exp(-a[i] - b[j]))
        p2 = [0.75, 0.25, 0.0] if hit else [0.25, 0.75, 0.0]
        entries.append(pair_row(f"u{i}", which, f"c{j}", [0.25, 0.75, 0.0], p2, THREE, "neutral"))
    return entries


def width(m) -> float:
    return m.ci95[1] - m.ci95[0]


def test_the_interval_is_wider_than_that_of_independent_pairs_where_clusters_matter():
    found = effects(table(crossed(20, 15)))
    for effect in ("tce", "dce"):
        name = f"natural_logic/d/context/{effect}"
        assert width(found[name]) > 2 * width(found[f"{name}/naive"])
        assert found[name].value == found[f"{name}/naive"].value


def test_what_two_sets_share_moves_together():
    """If both sets have the same answers, the difference of effects is more certain than each effect."""
    entries = crossed(10, 8, sets=("I0",))
    twins = [row | {"intervention": "I2", "expects": "stays"} for row in entries if row["intervention"] == "I0"]
    found = effects(table(entries + twins))
    assert found["natural_logic/d/context/delta"].value == 0
    assert found["natural_logic/d/context/ratio"].value == 1
    assert width(found["natural_logic/d/context/delta"]) < 0.95 * width(found["natural_logic/d/context/tce"])
    assert found["natural_logic/d/context/delta"].n == 10
    assert width(found["natural_logic/d/context/tce"]) > 0.1


def test_base_examples_that_share_what_their_pairs_keep_are_one_cluster():
    """The context of a pair, one of five, decides the prediction: clusters by example give too narrow intervals."""
    entries = crossed(30, 15, effect=0.5)
    for entry in entries:
        uid, *shared = entry["clusters"]
        if shared:
            context = int(uid[1:]) % 5
            entry["clusters"] = [uid, f"context {context}", shared[-1]]
            entry["p2"] = entry["p"] if context % 2 else entry["p2"]
    apart = [e | {"clusters": [e["uid"], f"of {e['uid']}", *e["clusters"][2:]]} for e in entries]
    together, alone = (effects(table(some)) for some in (entries, apart))
    for name in ("tce", "tce/per_seed", "dce", "dce/per_seed"):
        ours, theirs = (found[f"natural_logic/d/context/{name}"] for found in (together, alone))
        assert (ours.value, ours.n) == (theirs.value, 30)
        assert width(ours) > 1.5 * width(theirs)


def test_a_cluster_has_the_same_number_in_a_run_that_lacks_all_of_its_answers():
    """A paired comparison would otherwise take one cluster for another."""
    entries = crossed(6, 4)
    lacking = [e | {"y2": NO_LABEL} if e["clusters"][1:] and e["uid"] == "u0" else e for e in entries]
    with recording():
        full, less = (effects(table(some))["natural_logic/d/context/tce"] for some in (entries, lacking))
    assert [[*np.unique(way)] for way in full.entries.ways] == [[*range(6)], [*range(4)]]
    assert [[*np.unique(way)] for way in less.entries.ways] == [[*range(1, 6)], [*range(4)]]


def test_base_rows_that_name_context_and_pair_are_clustered_by_them():
    """The context decides whether a prediction is right: clusters by uid give too narrow an interval."""
    entries = []
    for c, w in product(range(10), range(10)):
        slices = [f"context={c}", f"pair={w}"]
        p = [0.25, 0.75, 0.0] if c % 2 else [0.75, 0.25, 0.0]
        entries.append(base_row(f"{c} {w}", p, THREE, slices=slices))
    two_way = effects(table(entries))["natural_logic/d/accuracy"]
    by_uid = effects(table([e | {"slices": []} for e in entries]))["natural_logic/d/accuracy"]
    assert two_way.value == by_uid.value == 0.5
    assert (two_way.n, by_uid.n) == (100, 100)
    assert two_way.flags == by_uid.flags == ("not_above_majority",)
    assert width(two_way) > 2 * width(by_uid)


# --- undefined numbers and refused rows


def one_change(hits: list[bool], which: str) -> list[dict]:
    p, moved = [0.25, 0.75, 0.0], [0.75, 0.25, 0.0]
    return [pair_row(f"u{i}", which, f"c{i}", p, moved if hit else p, THREE, "neutral") for i, hit in enumerate(hits)]


def test_the_ratio_has_no_interval_where_that_of_the_dce_begins_at_0():
    """Of nine answers in two contexts, one changes: the interval of the DCE begins at 0."""
    dce = [
        e | {"clusters": [e["uid"], "ab"[i % 2], f"c{i}"]} for i, e in enumerate(one_change([True] + [False] * 8, "I2"))
    ]
    found = effects(table(one_change([True] * 9, "I0") + dce))
    m, accuracy = found["natural_logic/d/context/ratio"], found["natural_logic/d/accuracy"]
    assert (m.value, m.ci95, m.flags) == (pytest.approx(9), None, ("interval_unbounded",))
    assert (accuracy.value, accuracy.n) == (None, 0)  # there are no base rows


@pytest.mark.parametrize("labels", [("yes", "no"), ("entailment", "Entailment"), ("not_entailment", "neutral")])
def test_a_model_without_one_entailment_label_is_refused(labels):
    with refused(DataError, '"entailment"', ", ".join(labels)):
        effects(table([base_row("u", [0.25, 0.75], labels)], labels), labels)


@pytest.mark.parametrize("missing", ["p", "p2"])
def test_a_model_without_probabilities_is_refused(missing):
    entries = [row | {missing: None} for row in one_change([True, False], "I0")]
    with refused(RunError, f"'{missing}'", "2 rows"):
        effects(table(entries))


def test_pairs_must_say_what_they_share():
    entries = [row | {"clusters": row["clusters"][::2]} for row in one_change([True, False], "I0")]
    with refused(RunError, "clusters"):
        effects(table(entries))
