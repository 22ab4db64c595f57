"""Hypotheses that go to another table together with the rows that they rest on."""

from hypothesis import given
from hypothesis import strategies as st

from heedful.interventions import SwapValues
from heedful.interventions.tables.statements import Statement, why_not

from infobox import BREAKFAST, BRIDESMAIDS, H1, H5, make_pool

POOL = make_pool()
RELEVANT = {
    uid: [key for key in table.keys if key in ("Length", "Label", "Occupation")]
    for uid, table in zip(POOL.column("uid"), POOL.column("parts.premise"), strict=True)
}
SWAP = SwapValues(RELEVANT, POOL, "premise", "hypothesis", draws=3)


@given(st.sampled_from(sorted(RELEVANT)), st.integers(0, 2), st.integers(0, 5))
def test_nothing_but_the_relevant_values_and_the_title_expression_moves(uid, draw, seed):
    base, changed = POOL[uid], SWAP.apply(POOL, uid, draw, seed)
    table, keys = base.parts["premise"], RELEVANT[uid]
    statement = Statement(uid, table, base.parts["hypothesis"], base.label, tuple(keys))
    possible = [other for other in set(POOL.column("parts.premise")) if not why_not(statement, other, "values")]
    assert len(changed) == (1 if possible else 0)
    for one in changed:
        other, new = POOL[one.partner].parts["premise"], one.example.parts["premise"]
        assert other in possible
        assert (new.title, new.keys) == (other.title, other.keys)
        assert all(found == (table if key in keys else other).values[key] for key, found in new.rows)
        assert (one.example.label, one.example.uid) == (base.label, uid)
        assert one.example.groups["premise"] != base.groups["premise"]
        assert one.clusters[0] == uid
    assert changed == SWAP.apply(POOL, uid, draw, seed)


def test_figure_5_goes_both_ways():
    swap = SwapValues({uid: ["Length"] for uid in RELEVANT}, POOL, "premise", "hypothesis")
    one, other = (
        next(c.example for e in POOL if e.parts["hypothesis"] == text for c in swap.apply(POOL, e.uid, 0, 0))
        for text in (H1, H5)
    )
    assert one.parts["premise"].title == BRIDESMAIDS.title
    assert one.parts["premise"].values["Length"] == BREAKFAST.values["Length"]
    assert one.parts["hypothesis"] == H1.replace("Breakfast in America", "Bridesmaids")
    assert other.parts["premise"].values["Length"] == BRIDESMAIDS.values["Length"]
    assert other.parts["hypothesis"] == H5.replace("Bridesmaids", "Breakfast in America")


def test_what_has_no_known_evidence_is_left_alone():
    swap = SwapValues({}, POOL, "premise", "hypothesis")
    assert not any(swap.covers(uid) for uid in RELEVANT)
    assert SWAP.settings != SwapValues(RELEVANT, POOL.take([0, 5]), "premise", "hypothesis").settings
