"""Row operations on models with known transitions."""

from collections import Counter
from dataclasses import replace

import pytest

from heedful.callbacks import Nothing, Setting, TableRows
from heedful.datamodules import Planted
from heedful.interventions import Donors, RowEdits
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.records import Example, Table

import oracles
from tiers import first_tier

E, N, C = LABELS
TABLES = {
    "t0": ("album", Table("Alpha", (("Genre", ("rock", "pop")), ("Length", ("1:00",)), ("Label", ("XL",))))),
    "t1": ("album", Table("Beta", (("Genre", ("jazz", "folk")), ("Producer", ("Ann",))))),
    "t2": ("album", Table("Gamma", (("Genre", ("opera",)), ("Length", ("2:00",)), ("Year", ("1999",))))),
    "t3": ("city", Table("Delta", (("Mayor", ("Bob",)), ("Area", ("9",))))),
    "t4": ("river", Table("Eps", (("Mouth", ("sea",)),))),
}
CLAIMS = (
    ("Genre", "pop"),
    ("Genre", "jazz"),
    ("Length", "1:00"),
    ("Producer", "Ann"),
    ("Year", "1999"),
    ("Mayor", "Eve"),
)


SPLITS = {"left": ("t0", "t1", "t2"), "right": ("t2", "t3", "t4")}  # t2 is in both


def claims(labels=LABELS, splits=(), **settings):
    """Each claim about each table; or, in some splits, about the tables of each split."""
    examples = []
    for split, tables in SPLITS.items() if splits else (("validation", TABLES),):
        for t in tables:
            for k, (key, value) in enumerate(CLAIMS):
                parts = {"premise": TABLES[t][1], "hypothesis": f"{key}: {value}"}
                meta = {"table": t, "category": TABLES[t][0], "split": split}
                examples.append(Example(f"d/{split}/{t}.{k}", parts, labels[k % len(labels)], {}, meta))
    return oracles.Given(examples, labels, splits, default_label="neutral", **settings)


def reads_the_row(table, hypothesis):
    """Look up the key that the hypothesis names."""
    key, value = hypothesis.split(": ")
    if key not in table.values:
        return N
    return E if value in table.values[key] else C


def reads_the_hypothesis(table, hypothesis):
    return LABELS[CLAIMS.index(tuple(hypothesis.split(": "))) % 3]


def measure(rule, evaluation=None, data=None, **settings):
    return oracles.measure(rule, data or claims(), evaluation or TableRows(**settings))


def rows_of(engine, operation):
    rows, _ = engine.rows["table_rows"]
    return [row for row in rows.to_pylist() if row["intervention"] == operation]


ALL = ["delete", "insert", "update", "permute", "delete+insert", "delete+delete", "identity"]


def test_a_model_that_reads_only_the_hypothesis_makes_no_transitions():
    engine = measure(reads_the_hypothesis, operations=ALL)
    for operation in ALL:
        counts = engine.content["counts"][f"table_rows/{operation}"]
        assert counts["edited"] == sum(counts["transitions"][label][label] for label in LABELS) > 0
        for label in LABELS:
            found = engine[f"transitions/d/{operation}/from_{label}/to_{label}"]
            assert (found.value, found.n) == (1, counts["transitions"][label][label])
        assert engine[f"transitions/d/{operation}/invalid"].value == 0


def test_a_model_that_reads_the_row_makes_exactly_the_predicted_transitions():
    engine = measure(reads_the_row, operations=ALL)
    for row in rows_of(engine, "delete"):
        key = CLAIMS[int(row["uid"][-1])][0]
        assert row["y2"] == (N if row["variant"] == key else row["y"])
    for row in rows_of(engine, "insert"):
        key, value = CLAIMS[int(row["uid"][-1])]
        lent = TABLES[row["partner"].split("/")[-1][:2]][1].values[row["variant"]]
        assert row["y2"] == ((E if value in lent else C) if row["variant"] == key else row["y"])
    for row in rows_of(engine, "update"):
        assert row["y2"] == row["y"] or row["variant"] == CLAIMS[int(row["uid"][-1])][0]
    assert all(row["y2"] == row["y"] for row in rows_of(engine, "permute") + rows_of(engine, "identity"))
    for operation in ALL:
        rows, counts = rows_of(engine, operation), engine.content["counts"][f"table_rows/{operation}"]
        edited = {row["uid"] for row in rows}
        assert (counts["edited"], counts["hypotheses"]) == (len(rows), len(edited))
        assert counts["hypotheses"] + counts["without_edit"] == len(TABLES) * len(CLAIMS)
        assert counts["tables"] == len({uid.split(".")[0] for uid in edited})
        pairs = Counter((row["y"], row["y2"]) for row in rows)
        assert counts["transitions"] == {y: {y2: pairs[y, y2] for y2 in LABELS} for y in LABELS}
        m = engine[f"transitions/d/{operation}/from_{E}/to_{N}"]
        assert (m.value, m.n) == (pytest.approx(pairs[E, N] / m.n), sum(pairs[E, y2] for y2 in LABELS))
    deleted = {row["uid"].split(".")[0][-2:] for row in rows_of(engine, "delete")}
    assert deleted == {"t0", "t1", "t2", "t3"}, "the only row of a table is not deleted"
    for operation in set(ALL) - {"update"}:
        assert engine[f"transitions/d/{operation}/invalid"].value == 0
    assert engine["transitions/d/update/invalid/from_entailment"].value == 0


class WithRelevance(TableRows):
    """Deletions with the relevant row of each hypothesis about the first three tables."""

    def plan(self, setting):
        known = {f"d/validation/t{t}.{k}": (key,) for t in range(3) for k, (key, _) in enumerate(CLAIMS)}
        edits = [RowEdits("delete", "premise", Donors(setting.data.pool, "premise"), relevant=known)]
        return replace(super().plan(setting), interventions=edits)


def test_transitions_are_judged_by_relevance_if_it_is_known():
    of_rows, found = (
        {k.removeprefix("transitions/d/"): m for k, m in measure(rule, WithRelevance(["delete"])).items()}
        for rule in (reads_the_row, reads_the_hypothesis)
    )
    for label in (E, C):
        for name in ("delete", "delete_relevant", "delete_irrelevant"):
            assert of_rows[f"{name}/invalid/from_{label}"].value == 0
        assert of_rows[f"delete_relevant/from_{label}/to_{N}"].value == 1
        assert of_rows[f"delete_irrelevant/from_{label}/to_{label}"].value == 1
    assert of_rows[f"delete_relevant/invalid/from_{N}"].n == 0  # a missing row cannot be deleted
    assert found["delete/invalid"].value == found["delete_irrelevant/invalid"].value == 0
    assert [found[f"delete_relevant/invalid/from_{label}"].value for label in LABELS] == [1, 0, 1]


def test_a_sample_of_hypotheses_and_of_rows():
    """All operations change the same hypotheses; a smaller sample is part of a larger one."""
    operations = ["delete", "insert", "identity"]
    engine = measure(reads_the_row, operations=operations, max_examples=10, rows_per_table=1)
    more = measure(reads_the_row, operations=operations, max_examples=20)
    sampled = {row["uid"] for row in rows_of(engine, "identity")}
    assert len(sampled) == 10
    for operation in operations:
        counts = engine.content["counts"][f"table_rows/{operation}"]
        assert counts["hypotheses"] + counts["without_edit"] == 10
        assert counts["edited"] == counts["hypotheses"]
        uids = {row["uid"] for row in rows_of(engine, operation)}
        assert uids <= sampled & {row["uid"] for row in rows_of(more, operation)}
        assert operation != "delete" or uids == {
            uid for uid in sampled if len(TABLES[uid.split("/")[-1][:2]][1].rows) > 1
        }
    both = measure(reads_the_row, data=claims(splits=("left", "right")), operations=["identity"], max_examples=9)
    assert Counter(row["uid"].split("/")[1] for row in rows_of(both, "identity")) == {"left": 9, "right": 9}


def test_there_is_nothing_to_do_without_a_table_the_labels_or_operations():
    data, evaluation = claims(), TableRows()
    data.setup("validate")
    assert evaluation.plan(Setting(data)).pool is data.pool
    assert TableRows([]).plan(Setting(data)) == Nothing("has no operation in table_rows.operations")
    assert ("transitions", "d", "delete", "invalid", "") in measure(reads_the_row).plans.curves
    for other in (Planted(n_validation=8), claims(labels=("yes", "no", "neutral")), claims(partial="hypothesis")):
        other.setup("validate")
        assert isinstance(evaluation.plan(Setting(other)), Nothing)


@pytest.mark.parametrize("settings", first_tier(1, [{}, {"max_examples": 7, "rows_per_table": 1}]))
def test_a_split_has_the_rows_and_numbers_of_an_evaluation_of_that_split_alone(settings):
    both, *apart = (
        measure(reads_the_row, data=claims(splits=splits), operations=ALL, **settings)
        for splits in (("left", "right"), ("left",), ("right",))
    )
    alone = dict(zip(("left", "right"), apart, strict=True))

    def edited(*engines):  # all columns except the split and the group, which the other split shares
        rows = [row for engine in engines for operation in ALL for row in rows_of(engine, operation)]
        assert all((row["group"] is None) == (len(engines) == 2 or "/t2." not in row["uid"]) for row in rows)
        rows = [row | {"slices": row["slices"][:2], "group": None} for row in rows]
        return sorted(rows, key=lambda row: [row[k] for k in ("uid", "intervention", "variant")])

    assert edited(both) == edited(*alone.values())
    for split, engine in alone.items():
        for name, found in engine.items():
            if name.startswith("transitions/") or name == "accuracy/d":
                assert both[f"{name}/split={split}"] == found
    for name, found in alone["left"].items():
        other = alone["right"][name]
        if name.startswith("transitions/"):
            mean = None if None in (found.value, other.value) else (found.value + other.value) / 2
            assert both[name].value == pytest.approx(mean)
            assert both[name].n == found.n + other.n
    for operation in ALL:
        counts, *apart = (e.content["counts"][f"table_rows/{operation}"] for e in (both, *alone.values()))
        for what in ("hypotheses", "without_edit", "edited"):
            assert counts[what] == sum(c[what] for c in apart)
        assert all(row["slices"][-1] == f"split={row['uid'].split('/')[1]}" for row in rows_of(both, operation))
