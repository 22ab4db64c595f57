"""What stands beside a headline: how much of it rests on changes that the model never reads, and what it is without."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.metrics import METRICS
from heedful.metrics.metric import MOST_UNREAD, UNREAD_CHANGES, Metric, beside
from heedful.metrics.tables.challenge import perturbations
from heedful.records import CLASSIFICATION, NO_LABEL, SPAN, Context, Line, Measurement, MetricName, RunError
from heedful.records.rows import BASE, where
from heedful.reports.results import score

from made_rows import make
from natural_logic_rows import base_row, pair_row, table
from refusals import refused

LABELS = ("entailment", "neutral", "contradiction")
NAME = MetricName("attentiveness", "d", "premise")
CONTEXT = Context("d", labels=LABELS, default_label="neutral", own={"swap": ["premise"]})
ANSWERS = st.sampled_from(LABELS)
ATTENTIVENESS = METRICS["attentiveness"]


WORDS = ("majority", "f1", "macro_f1", "matthews", "eligible", "to_default", "read", "unread", "loss")
ODD = st.sampled_from([*WORDS, "neutral", "kind=b", "majority/kind=b", '"f1"', "from_f1", "a/b", "f1/x"])


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(ODD, min_size=2, max_size=4, unique=True))
def test_no_label_has_the_name_of_another_number(labels):
    """Whatever labels are called, each number keeps a name of its own, and may be monitored by it."""
    base = {f"u{i}": (label, labels[i - 1]) for i, label in enumerate(labels)}
    swaps = [{"uid": uid, "y2": gold} for uid, (gold, _) in base.items()]
    keeps = [{"uid": uid, "y2": gold, "intervention": "keep", "variant": "premise"} for uid, (gold, _) in base.items()]
    rows = make(base, [*swaps, *keeps], labels=len(labels))
    rows = rows.set_column(rows.schema.get_field_index("slices"), "slices", pa.array([["kind=b"]] * rows.num_rows))
    own = {"swap": ["premise"], "sides": ["premise"]}
    context = Context("d", labels=tuple(labels), default_label=labels[0], slices=("kind",), own=own)
    for evaluation in ("accuracy", "attentiveness", "naive_partial"):
        metric = METRICS[evaluation]
        found = metric.score(rows, context)
        assert len({str(name) for name in found}) == len(found)
        of_labels = {name: m.value for name, m in found.items() if name.slice and not any(name.by)}
        if evaluation == "accuracy":
            assert list(of_labels.values()) == [0.0] * len(labels)  # each is predicted as the one before
        assert {name for name in found if any(name.by)} == {name for name in found if name.slice == "kind=b"}
        assert all(metric.may_have(str(name), context) for name in of_labels if evaluation != "naive_partial")


def test_two_numbers_of_one_name_are_refused():
    def twice(rows, context):
        return {
            MetricName("f", "d", "x"): Measurement(0.1, 1),
            MetricName("f", "d", statistic="x"): Measurement(0.2, 1),
        }

    metadata = {"context": CONTEXT.as_dict(), "counts": {}}
    run = {"data": "d", "split": "s", "seed": 0, "note": None, "counts": {}}
    with refused(RunError, "f and f ", "f/d/x"):
        score(run, {"f": (make({"u": ("neutral", "neutral")}), metadata)}, {"f": Metric("f", twice)})


def with_unread(rows: pa.Table, unread: np.ndarray) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index("unread"), "unread", pa.array(unread, pa.bool_()))


@settings(max_examples=25)
@given(
    st.lists(st.tuples(ANSWERS, st.lists(st.tuples(ANSWERS, st.sampled_from([True, False, False])), max_size=3))),
    st.booleans(),
)
def test_the_share_unread_and_the_number_without_are_those_of_plain_loops(examples, is_unknown):
    """Rows of predictions that do not count may be unread or not; and one that is unknown makes all unknown."""
    base = {f"u{i}": ("neutral", y) for i, (y, _) in enumerate(examples)}
    made = [(f"u{i}", y, d, *swap) for i, (y, swaps) in enumerate(examples) for d, swap in enumerate(swaps)]
    changed = [{"uid": u, "draw": d, "y2": y2, "unread": unread} for u, _, d, y2, unread in made]
    counted = [row for row in made if row[1] != "neutral"]
    if is_unknown and counted:
        next(c for c in changed if (c["uid"], c["draw"]) == (counted[0][0], counted[0][2]))["unread"] = None
    found = ATTENTIVENESS.score(make(base, changed), CONTEXT)
    unread, read = beside(NAME, "unread"), beside(NAME, "read")
    if is_unknown or not counted:
        assert not {unread, read} & found.keys()
        return
    share = np.mean([row[4] for row in counted])
    assert (found[unread].value, found[unread].n) == (pytest.approx(share), len(counted))
    assert (UNREAD_CHANGES in found[NAME].flags) == (share > MOST_UNREAD)
    assert (read in found) == (share > 0)
    rest = [row for row in counted if not row[4]]
    draws = sorted({d for _, _, d, _, _ in rest})
    scores = [np.mean([y2 != y for _, y, d, y2, _ in rest if d == draw]) for draw in draws]
    if share == 1:
        assert (found[read].value, found[read].reason) == (None, "the model reads none of the changes")
    elif share:
        assert (found[read].value, found[read].n) == (pytest.approx(np.mean(scores)), len({u for u, *_ in rest}))
    everyone = [
        np.mean([y2 != y for _, y, d, y2, _ in counted if d == draw]) for draw in {d for _, _, d, _, _ in counted}
    ]
    assert found[NAME].value == pytest.approx(np.mean(everyone))


@pytest.mark.parametrize(("unread", "is_flagged"), [(1, False), (2, True)])
def test_more_than_a_twentieth_is_flagged(unread, is_flagged):
    base = {f"u{i:02}": ("neutral", "entailment") for i in range(20)}
    changed = [{"uid": uid, "y2": "neutral", "unread": i < unread} for i, uid in enumerate(base)]
    found = ATTENTIVENESS.score(make(base, changed), CONTEXT)
    assert found[beside(NAME, "unread")].value == unread / 20
    assert (UNREAD_CHANGES in found[NAME].flags) == is_flagged
    assert UNREAD_CHANGES not in found[NAME._replace(statistic="to_default")].flags


def test_shown_below_the_headline_where_anything_is_unread():
    def shown(unread: bool) -> list[Line]:
        base = {"u0": ("neutral", "entailment"), "u1": ("neutral", "entailment")}
        changed = [{"uid": "u0", "y2": "neutral", "unread": unread}, {"uid": "u1", "y2": "neutral", "unread": False}]
        numbers = ATTENTIVENESS.score(make(base, changed), CONTEXT)
        return list(ATTENTIVENESS.shown(numbers, CONTEXT, {}).lines)

    plain = shown(False)
    below = [Line(f"{NAME}/unread", "unread", 1), Line(f"{NAME}/read", "read", 1)]
    assert shown(True) == [plain[0], *below, *plain[1:]]
    assert "unread" not in {line.label for line in plain}
    assert ATTENTIVENESS.may_have(f"{NAME}/read", CONTEXT)
    assert ATTENTIVENESS.may_have(f"{NAME}/unread", CONTEXT)


# each metric says which rows its headlines count


def swaps(answers: dict[str, str], after: list[str], kind=CLASSIFICATION, **own) -> tuple[pa.Table, Context]:
    base = {uid: ("[]" if kind is SPAN else "neutral", y) for uid, y in answers.items()}
    changed = [
        {"uid": uid, "draw": d, "y2": y2, "part": part} for uid in base for d, y2 in enumerate(after) for part in "ab"
    ]
    changed += [{"uid": uid, "intervention": "null", "part": "", "draw": -1, "y2": y} for uid, y in answers.items()]
    changed += [
        {"uid": uid, "intervention": "keep", "variant": side, "part": "", "draw": -1, "y2": after[0]}
        for uid in base
        for side in "ab"
    ]
    default = None if kind is SPAN else "neutral"
    return make(base, changed), Context("d", 0, kind, ("a", "b"), LABELS, default, own=own)


def classified(**own):
    answers = {"u0": "entailment", "u1": "neutral", "u2": "(no label)", "u3": "contradiction", "u4": "neutral"}
    return swaps(answers, ["neutral", "contradiction"], **own)


def answered(**own):
    return swaps({"u0": "x", "u1": "", "u2": "y"}, ["", "y"], SPAN, **own)


def tables() -> tuple[pa.Table, Context]:
    edits = [
        {"uid": f"u{i}", "intervention": name, "part": "table", "variant": str(k), "draw": -1, "y2": LABELS[k],
         "allowed": f"{name}/unknown", "clusters": [f"u{i}", f"table {i % 2}"]}
        for i in range(6) for k in range(3) for name in ("delete", "insert")
    ]  # fmt: skip
    edits[0]["y2"] = "(no label)"
    base = {f"u{i}": ("neutral", LABELS[i % 3]) for i in range(6)}
    return make(base, edits), Context("d", own={"operations": ["delete", "insert"]})


def challenged() -> tuple[pa.Table, Context]:
    golds = ("entailment", "contradiction")
    changed = [
        {"uid": f"u{i}", "intervention": name, "part": "hypothesis", "variant": str(k), "draw": -1,
         "gold": LABELS[(i + k) % 3], "y2": LABELS[k], "clusters": [f"u{i}", f"table {i % 2}"]}
        for i in range(6) for k in range(3) for name in (*perturbations(["numbers"]), "other")
    ]  # fmt: skip
    changed += [
        {
            "uid": f"u{i}",
            "intervention": "title",
            "gold": golds[i % 2],
            "y2": golds[0],
            "clusters": [f"u{i}", "table t"],
        }
        for i in range(4)
    ]
    base = {f"u{i}": (golds[i % 2] if i < 5 else "neutral", LABELS[i % 3]) for i in range(6)}
    return make(base, changed), Context("d", own={"kinds": ["numbers"], "title": True})


def of_sets() -> tuple[pa.Table, Context]:
    begin = "counterfactuals-s"
    golds = {"annotated/flipped": "contradiction", "annotated/preserved": "entailment"}
    changed = [
        {"uid": f"{begin}{s}/{i}", "intervention": name, "draw": -1, "y2": "entailment", "gold": gold,
         "clusters": ["x", f"table {i}"]}
        for s in "ab" for i in range(3) for name, gold in golds.items()
    ]  # fmt: skip
    base = {f"{begin}{s}/{i}": ("entailment", "entailment") for s in "ab" for i in range(3)}
    return make(base, changed), Context("d", own={"sets": ["sa", "sb"], "hypothesis_only": None})


def evident() -> tuple[pa.Table, Context]:
    changed = [
        {"uid": f"u{i}", "intervention": "delete", "part": "table", "variant": key, "draw": -1,
         "y2": LABELS[(i + k) % 3], "allowed": "delete/unknown", "clusters": [f"u{i}", f"table {i}"]}
        for i in range(6) for k, key in enumerate("xyz")
    ]  # fmt: skip
    changed += [
        {"uid": f"u{i}", "intervention": "values", "y2": "entailment", "clusters": [f"u{i}", "table t"]}
        for i in range(3)
    ]
    base = {f"u{i}": ("entailment", "contradiction" if i % 2 else "entailment") for i in range(6)}
    relevant = {f"u{i}": ["x", "y"] for i in range(5)}
    return make(base, changed), Context("d", own={"of": "e", "table": "table", "relevant": relevant})


def logical() -> tuple[pa.Table, Context]:
    labels = ("contradiction", "entailment", "neutral")
    yes, no = (0.1, 0.8, 0.1), (0.8, 0.1, 0.1)
    entries = [base_row(f"u{i}", yes, labels) for i in range(4)]
    entries += [
        pair_row(f"u{i}", which, str(k), yes, yes if (i + k) % 3 else no, labels, "entailment")
        for i in range(4) for k in range(2) for which in ("I0", "I1", "I2", "I3")
    ]  # fmt: skip
    return table(entries), Context("d", labels=labels, own={"data": "n"})


CASES: dict[str, Callable[[], tuple[pa.Table, Context]]] = {
    "attentiveness": lambda: classified(swap=["a", "b"]),
    "attentiveness of spans": lambda: answered(swap=["a"], distractors=["b"]),
    "default_label": lambda: classified(swap=["a", "b"], siblings={}),
    "naive_partial": lambda: classified(sides=["a", "b"]),
    "table_rows": tables,
    "challenge": challenged,
    "counterfactual_tables": of_sets,
    "evidence": evident,
    "natural_logic": logical,
}


def test_every_metric_over_changes_is_here():
    without = {"accuracy", "answers", "two_class", "attributions"}
    assert {name.split()[0] for name in CASES} == METRICS.keys() - without


@pytest.mark.parametrize("case", CASES)
def test_a_headline_rests_on_the_rows_without_which_it_changes(case):
    """Without them it is undefined; with them alone it is what it is with all."""
    metric: Metric = METRICS[case.split()[0]]
    rows, context = CASES[case]()
    uids = rows["uid"].to_pylist()
    is_base = np.array([name == BASE for name in rows["intervention"].to_pylist()])
    headlines = metric.rests_on(rows, context)
    alike = {
        here.tobytes(): (here, [n for n, h in headlines.items() if (h == here).all()]) for here in headlines.values()
    }
    plain = metric.score(rows, context)
    for counted, names in alike.values():
        here = counted & ~where(rows, y2=NO_LABEL)
        assert here.any()
        assert not (here & is_base).any()
        alone = metric.numbers(rows.filter(pa.array(is_base | here)), context)
        nothing = metric.score(with_unread(rows, here), context)
        third = here & (np.cumsum(here) % 3 == 1)
        some = metric.score(with_unread(rows, third), context)
        lost = {uid for uid, unread in zip(uids, third, strict=True) if unread}
        kept = is_base | [uid not in lost for uid in uids] if metric.whole else ~third
        rest = metric.numbers(rows.filter(pa.array(kept)), context)
        for name in names:
            unread, read = beside(name, "unread"), beside(name, "read")
            assert plain[name].value is not None
            assert (alone[name].value, alone[name].n) == (plain[name].value, plain[name].n)
            assert (nothing[unread].value, nothing[read].value) == (1, None)
            assert nothing[read].reason == "the model reads none of the changes"
            assert (some[unread].value, some[unread].n) == (third.sum() / here.sum(), here.sum())
            assert (some[read].value, some[read].n) == (rest[name].value, rest[name].n)
    if metric.name == "attentiveness":
        found = metric.score(with_unread(rows, np.zeros(len(uids), dtype=bool)), context)
        new = {beside(name, "unread") for name in headlines}
        assert found.keys() == plain.keys() | new
        assert {name: m for name, m in found.items() if name not in new} == plain
