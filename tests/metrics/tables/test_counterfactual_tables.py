"""The eight cells against loops, and several sets of counterfactual tables in one evaluation."""

from dataclasses import replace
from itertools import product

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.number import measured
from heedful.metrics.tables.challenge import challenge, challenge_pairs
from heedful.metrics.tables.counterfactual_tables import METRIC, eight_cells, set_changes, set_data
from heedful.records import Context, MetricName, RunError

from challenge_rows import INTERVENTIONS, LABELS, Case, E, N, by_hand, cases, rows_from
from refusals import refused
from tiers import costly

OF = MetricName("challenge", "d")


def cells(rows_of, full: dict[str, Case], partial: dict[str, Case]):
    right_alone = {uid: case.y == case.gold for uid, case in partial.items()}
    found = eight_cells(rows_from(rows_of, full), right_alone, OF, INTERVENTIONS)
    return {name.statistic.removeprefix("flipped/cells/"): m for name, m in measured(found).items()}


@costly
@given(cases(), st.data())
def test_the_cells_equal_the_reference_and_add_up(rows_of, of_uid, data):
    partial = {uid: replace(case, y=data.draw(st.sampled_from(LABELS)), changes={}) for uid, case in of_uid.items()}
    found = cells(rows_of, of_uid, partial)
    counted = dict.fromkeys(product(("right", "wrong"), repeat=3), 0)
    pairs = challenge_pairs(rows_from(rows_of, of_uid), INTERVENTIONS)["flipped"]
    for pair in pairs:
        case, (name, _, variant, _) = of_uid[pair.uid], pair.which
        gold, y2 = case.changes[name, variant]
        sides = case.y == case.gold, y2 == gold, partial[pair.uid].y == case.gold
        counted[tuple("right" if side else "wrong" for side in sides)] += 1
    assert list(found) == ["_".join(cell) for cell in counted]
    for cell, count in counted.items():
        m = found["_".join(cell)]
        assert (m.n, m.value) == (len(pairs), pytest.approx(count / len(pairs), abs=1e-12) if pairs else None)
    if pairs:
        accuracy = measured(challenge(rows_from(rows_of, of_uid), OF, INTERVENTIONS))[
            OF._replace(statistic="flipped")
        ].value
        assert sum(m.value for m in found.values()) == pytest.approx(1)
        assert sum(m.value for name, m in found.items() if name.split("_")[1] == "right") == pytest.approx(accuracy)


def test_both_models_need_the_same_originals(rows_of):
    full, partial = by_hand(), by_hand()
    del partial["b"], partial["e"]
    with refused(RunError, " b."):
        cells(rows_of, full, partial)


# --- sets


def of_sets(rows_of) -> pa.Table:
    """Two sets with the examples of ``by_hand`` and a common prefix of names; one set has swapped titles."""
    renamed = {"values": "annotated/flipped", "negation": "annotated/preserved"}
    of_uid = {}
    for name in ("flips", "flips-2"):
        for uid, case in by_hand().items():
            changes = {(renamed[change], variant): new for (change, variant), new in case.changes.items()}
            changes |= {("title/flips", "t"): (case.gold, E)} if name == "flips" and case.gold != N else {}
            of_uid[f"{set_data(name)}/{uid}"] = replace(case, changes=changes)
    return rows_from(rows_of, of_uid)


def test_each_set_is_measured_on_its_own_examples(rows_of):
    rows, found = of_sets(rows_of), {}
    for name in ("flips-2", "flips"):
        of = MetricName("challenge", f"counterfactuals-{name}")
        mine = rows.filter(pc.starts_with(rows["uid"], f"counterfactuals-{name}/"))
        assert set(mine["uid"].to_pylist()) == {f"counterfactuals-{name}/{uid}" for uid in by_hand()}
        found |= measured(challenge(mine, of, set_changes(name), 7))
    context = Context("d", seed=7, own={"sets": ["flips-2", "flips"], "hypothesis_only": None})
    assert METRIC.score(rows, context) == found
    preserved = {
        name: found[MetricName("challenge", set_data(name), statistic="preserved")].n for name in context.own["sets"]
    }
    assert preserved == {"flips": 4, "flips-2": 1}
