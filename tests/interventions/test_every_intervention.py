"""The contract of interventions, for each of them: columns, dependence on seed, uid and draw, manifest."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules.loaders.natural_logic import compose
from heedful.interventions import (
    DIRECTIONS,
    KINDS,
    Annotated,
    Design,
    Donors,
    EditedParts,
    Families,
    KeepPart,
    Members,
    Null,
    PerturbHypothesis,
    RowEdits,
    RuleAnalyser,
    Siblings,
    Source,
    Swap,
    SwapTitle,
    SwapValues,
    intervention_sets,
    manifest_hash,
)
from heedful.interventions.tables.allowed_transitions import transitions
from heedful.records import EMPTIED, Example, Examples, ExamplesBuilder, Table
from heedful.records.example import content_id

from changed_examples import made
from infobox import make_pool

LABELS = ("entailment", "neutral", "contradiction")
PAIRS = Examples.of(
    Example(f"d/{i}", {"premise": f"p{i // 3}", "hypothesis": f"h{i}"}, LABELS[i % 3], {"topic": f"t{i // 3}"})
    for i in range(30)
)
TABLES = make_pool()
META = {"table": "t", "modified": "m"}
EDITED = Examples.of(
    Example(e.uid, {**e.parts, "premise": Table("New", e.parts["premise"].rows)}, e.label, {}, META) for e in TABLES
)
LOGIC = Examples.of(
    Example(
        row["uid"],
        {part: row[part] for part in ("premise", "hypothesis")},
        row["gold"],
        meta={name: row[name] for name in ("context", "insertion", "pair", "monotonicity", "relation", "operator")},
    )
    for row in compose(
        [(i, {"context": f"c{i} x", "monotonicity": m, "operator": "", "singular": "x", "mass": "", "plural": ""})
         for i, m in enumerate(("up", "down", "up"))],
        [(i, {"x": f"a{i}", "y": f"b{i}", "x_grammar": "s", "y_grammar": "s", "insertion_rel": r})
         for i, r in enumerate(("leq", "none"))],
    )
)  # fmt: skip


def counterparts(n: int, edited: Sequence[str], groups: Sequence[str] = ()) -> Examples:
    builder = ExamplesBuilder(("text", "other"), groups, edited=edited)
    for i in range(n):
        about = {"text": f"edit {i}", "label": LABELS[i % 2], "kind": "xy"[i % 2], "original": f"d/{i - i % 3}"}
        about["original"] = about["original"] if i % 3 else None
        builder.add(
            f"d/{i}", [f"t{i}", "o"], LABELS[i % 3], [f"s{i // 3}"] * len(groups), (), [about[n] for n in edited]
        )
    return builder.finish()


ROWS_WITH_EDITS = counterparts(9, ("text", "label", "kind"))
ORIGINALS, SETS = (counterparts(9, names, ("counterparts",)) for names in (("original", "kind"), ()))


def source() -> Source:
    return Source(TABLES, RuleAnalyser())


RELEVANT = {uid: ["Length"] for uid in TABLES.column("uid")}
ROWS = ("delete", "insert", "update", "permute", "identity", "delete+insert")
INTERVENTIONS = {  # name: (pool, function that returns a fresh intervention)
    "null": (PAIRS, Null),
    "keep": (PAIRS, lambda: KeepPart("hypothesis", ("premise",))),
    "swap": (PAIRS, lambda: Swap("premise", "neutral", draws=3)),
    "empty": (PAIRS, lambda: KeepPart("", ("premise", "hypothesis"), name="empty")),
    "swap pair": (PAIRS, lambda: Swap("premise", None, draws=2, pair=("premise", "hypothesis"))),
    "swap both": (PAIRS, lambda: Swap("premise+hypothesis", None, draws=2)),
    "sibling": (PAIRS, lambda: Siblings("premise", Families(PAIRS, "premise", "neutral"), draws=1)),
    "predicted as": (PAIRS, lambda: Swap("premise", None, draws=2, predicted_as="neutral")),
    "annotated": (TABLES, lambda: Annotated("a", EDITED, "premise", flips=False)),
    "edited": (ROWS_WITH_EDITS, lambda: EditedParts(("text",))),
    "edits": (ORIGINALS, lambda: Members.of(ORIGINALS)),
    "members": (SETS, lambda: Members.of(SETS)),
    "values": (TABLES, lambda: SwapValues(RELEVANT, TABLES, "premise", "hypothesis", draws=2)),
    "title": (TABLES, lambda: SwapTitle(source(), ("premise", "hypothesis"))),
    **{f"rows {name}": (TABLES, lambda n=name: RowEdits(n, "premise", Donors(TABLES, "premise"))) for name in ROWS},
    **{f"{k} {d}": (TABLES, lambda k=k, d=d: PerturbHypothesis(k, d, source())) for k in KINDS for d in DIRECTIONS},
    **{f"I{k}": (LOGIC, lambda k=k: intervention_sets(Design(LOGIC), 9, 0)[k]) for k in range(4)},
}  # fmt: skip
NO_RANDOMNESS = {"null", "keep", "empty", "annotated", "rows delete", "rows identity", "I0", "I1", "I2", "I3"}
NO_RANDOMNESS |= {"edited", "edits", "members"}


@pytest.fixture(params=INTERVENTIONS, scope="module")
def case(request):
    pool, make = INTERVENTIONS[request.param]
    return request.param, pool, make


def positions_of(pool, intervention) -> np.ndarray:
    """The positions that may be changed, for some answers."""
    answers = pa.array([LABELS[i % 3] for i in range(len(pool))])
    mask = intervention.eligible(pool, np.arange(len(pool)), answers)
    assert (mask.dtype, len(mask)) == (bool, len(pool))
    assert intervention.eligible(pool, np.zeros(0, np.int64), answers[:0]).dtype == bool
    return np.flatnonzero(mask)


def test_columns(case):
    name, pool, make = case
    intervention = make()
    positions = positions_of(pool, intervention)
    assert (intervention.draws == 0) == (name in NO_RANDOMNESS)
    changes, nothing = (intervention.changes(pool, p, 0) for p in (positions, positions[:0]))
    assert len(nothing) == 0
    for column in ("positions", "draws"):
        assert getattr(nothing, column).dtype == getattr(changes, column).dtype
    assert nothing.clusters.type == changes.clusters.type
    rank = np.searchsorted(positions, changes.positions)
    assert (np.diff(rank) >= 0).all()
    assert [c[0] for c in changes.clusters.to_pylist()] == pool.uids.take(changes.positions).to_pylist()
    draws = set(changes.draws.tolist())
    assert draws <= (set(range(intervention.draws)) if intervention.draws else {-1})
    assert len(changes) or name.startswith(("entities", "quantifiers")), "the pool has an example for each intervention"
    keys = zip(changes.positions, changes.draws, [c.variant for c in made(intervention, pool, positions)], strict=True)
    assert len({*keys}) == len(changes)


def test_a_changed_example_keeps_its_uid_and_the_other_parts(case):
    _, pool, make = case
    intervention = make()
    changes = intervention.changes(pool, positions_of(pool, intervention), 0)
    for change in made(intervention, pool, positions_of(pool, intervention)):
        base, new = pool[change.position], change.example
        if changes.known is not None:  # becomes another example of the pool
            assert new == pool[change.partner]
            continue
        assert (new.uid, list(new.parts)) == (base.uid, list(base.parts))
        for part in base.parts:
            if part not in intervention.parts:
                assert new.parts[part] == base.parts[part]
            elif changes.examples is not None:
                assert new.groups[part] == content_id(new.parts[part])
    for lenders in changes.lenders.values():
        assert ((lenders == EMPTIED) | (lenders >= 0)).all()


def test_changes_depend_on_seed_uid_and_draw_only(case):
    """Neither on the other positions, nor on the object; and on the order of the pool only in swaps."""
    name, pool, make = case
    intervention = make()
    positions = positions_of(pool, intervention)
    everything = made(intervention, pool, positions, seed=3)
    subset = positions[::2][::-1]
    assert made(make(), pool, subset, seed=3) == [c for i in subset for c in everything if c.position == i]
    if "swap" not in name and name not in ("predicted as", "I0", "I1", "I2", "I3", "sibling", "edits", "members"):
        turned = pool.take(range(len(pool) - 1, -1, -1))
        expected = {(pool.uid(c.position), c.draw, c.variant): c.example for c in everything}
        found = made(make(), turned, np.sort(len(pool) - 1 - positions), seed=3)
        assert {(turned.uid(c.position), c.draw, c.variant): c.example for c in found} == expected
    if name in NO_RANDOMNESS:
        assert made(make(), pool, positions, seed=4) == everything


def test_the_manifest_identifies_the_intervention(case):
    _, pool, make = case
    assert manifest_hash([make()], pool, 0) == manifest_hash([make()], pool, 0) != manifest_hash([make()], pool, 1)


def test_every_change_has_an_expectation_except_of_a_part_kept_alone(case):
    name, pool, make = case
    intervention = make()
    for change in made(intervention, pool, positions_of(pool, intervention)):
        expects = intervention.expects if change.expects is None else change.expects
        if name.startswith("rows "):
            assert transitions(expects.removeprefix("transitions/"))
        else:
            assert expects in (("",) if name in ("keep", "empty") else ("stays", "leaves", "gold2"))


def test_all_manifests_differ():
    found = {name: manifest_hash([make()], pool, 0) for name, (pool, make) in INTERVENTIONS.items()}
    limited = manifest_hash([Null(limit=3)], PAIRS, 0)
    assert len({*found.values(), limited}) == len(found) + 1


@given(st.integers(0, 2**32))
def test_null_and_keep_part(seed):
    for change in made(Null(), PAIRS, [3, 0], seed):
        assert (change.example, change.draw, change.variant, change.partner) == (PAIRS[change.position], -1, "", "")
    for change in made(KeepPart("hypothesis", ("premise",)), PAIRS, [2, 0], seed):
        base = PAIRS[change.position]
        assert change.example.parts == {"premise": "", "hypothesis": base.parts["hypothesis"]}
        assert (change.example.label, change.variant) == (base.label, "hypothesis")
