"""The sample of rows on a page against a loop over rows, and the verdicts against the metrics."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics import METRICS
from heedful.records import KINDS, NO_LABEL, Context, keys, random_key, words_of
from heedful.reports.page.sample import sampled

import made_rows
import natural_logic_rows
import paged_runs
import written_results
from paged_runs import CONTEXT, LABELS


def evaluated(table):
    return {"attentiveness": (table, written_results.about(table, CONTEXT))}


def expected(table, most):
    """The keys of the sampled rows, by a loop, and the number of candidates."""
    kinds = {}
    for row in table.to_pylist():
        if row["intervention"] != "base" and row["draw"] <= 0:
            high, low, *_ = (int(word) for word in words_of(random_key(0, "page"), keys([row["uid"]]))[:, 0])
            kind = row["intervention"], row["part"], row["y"], row["y"] != row["y2"]
            kinds.setdefault(kind, []).append((high * 2**32 + low, row["variant"], row))
    order = []
    for rows in kinds.values():
        for turn, (rank, _, row) in enumerate(sorted(rows, key=lambda found: found[:2])):
            key = [row[name] for name in ("uid", "intervention", "part", "variant", "draw")]
            order.append((turn, rank, key))
    return [key for *_, key in sorted(order)[:most]], sum(map(len, kinds.values()))


def chosen(found):
    return [[row[name] for name in ("uid", "intervention", "part", "variant", "draw")] for row in found.rows]


@pytest.mark.parametrize("most", [1, 7, 20, 1000])
def test_it_is_the_one_that_is_chosen_one_by_one(most):
    table = paged_runs.rows(60)
    found = sampled(evaluated(table), 0, most)
    assert (chosen(found), found.total) == expected(table, most)


def test_the_order_of_rows_changes_nothing():
    table = paged_runs.rows(60)
    shuffled = table.take(np.random.default_rng(1).permutation(table.num_rows))
    assert sampled(evaluated(table), 0, 25) == sampled(evaluated(shuffled), 0, 25)
    assert sampled({}, 0) == ([], 0)


def test_more_rows_of_one_kind_do_not_push_out_another():
    base = {f"u{i}": ("neutral", LABELS[0]) for i in range(300)} | {"v": ("neutral", LABELS[2])}
    table = made_rows.make(base, [{"uid": uid, "y2": y} for uid, (_, y) in base.items()], likely=LABELS)
    found = sampled(evaluated(table), 0, 6)
    assert Counter(row["y"] for row in found.rows) == {LABELS[0]: 5, LABELS[2]: 1}


def test_probabilities_are_those_of_the_answer_before_the_change():
    table = paged_runs.rows(20)
    of = {(row["uid"], row["draw"]): row for row in table.to_pylist() if row["intervention"] == "swap"}
    for row in sampled(evaluated(table), 0).rows:
        number = LABELS.index(row["y"])
        before, after = (of[row["uid"], 0][name][number] for name in ("p", "p2"))
        assert (row["p"], row["p2"]) == pytest.approx((before, after))
        assert row["moved"] == pytest.approx(after - before)
        assert row["changed"] == (row["y"] != row["y2"])


def test_of_accuracy_the_examples_themselves_are_shown_right_and_wrong():
    table = paged_runs.rows(30)
    base = table.filter(np.array(table["intervention"].to_pylist()) == "base")
    found = sampled({"accuracy": (base, written_results.about(base, CONTEXT))}, 0)
    assert found.total == 30
    assert all(row["verdict"] == (row["gold"] == row["y"]) for row in found.rows)


GOLDS = {  # gold labels, and answers, by kind of task
    "classification": (LABELS, LABELS),
    "soft": (['{"cat": 1.0}', '{"cat": 0.3, "dog": 0.9}', "{}"], ["cat", "dog", "no"]),
    "span": (["[]", '["cat", "the dog"]'], ["", "cat", "The cat.", "dog", "the"]),
    "text": (["cat", "dog"], ["cat", "dog", "Cat"]),
    "contained": (["[]", '["cat", "the dog"]'], ["", "cat", "It is the cat.", "dogs"]),
}
DEFAULTS = {"classification": "neutral", "soft": "no", "span": "", "text": "dog", "contained": ""}
ROWS = {  # the number that averages each kind of row
    ("accuracy", "base", ""): "accuracy/d", ("accuracy", "null", ""): "null/d/flips",
    ("attentiveness", "swap", "premise"): "attentiveness/d/premise",
    ("attentiveness", "swap", "hypothesis"): "attentiveness/d/hypothesis/kept",
    ("default_label", "swap", "premise"): "default_label/d/premise",
    ("default_label", "sibling", "hypothesis"): "default_label/d/premise/siblings",
}  # fmt: skip
EXPECTS = {  # of eligible examples
    ("accuracy", "null", ""): "stays",
    ("attentiveness", "swap", "premise"): "leaves",
    ("attentiveness", "swap", "hypothesis"): "stays",
    ("default_label", "swap", "premise"): "stays",
    ("default_label", "sibling", "hypothesis"): "leaves",
}


def verdicts_and_number(name, rows, context, number):
    """The verdicts of the page on rows, and the number of the metric over these rows; None if no row counts."""
    found = [entry["verdict"] for entry in sampled({name: (rows, written_results.about(rows, context))}, 0).rows]
    numbers = {str(key): m for key, m in METRICS[name].score(rows, context).items()}
    return [verdict for verdict in found if verdict is not None], numbers[number].value


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_the_verdict_on_each_row_is_that_of_the_metric(kind, data):
    golds, answers = GOLDS[kind]
    (name, intervention, part), number = data.draw(st.sampled_from([*ROWS.items()]))
    gold, y, y2 = (data.draw(st.sampled_from(each)) for each in (golds, [*answers, NO_LABEL], [*answers, NO_LABEL]))
    settings = {"attentiveness": {"swap": [["premise", "leaves"], ["hypothesis", "stays"]]}}
    settings["default_label"] = {"swap": ["premise"], "siblings": {"premise": "hypothesis"}}
    labels = tuple(answers) if KINDS[kind].has_labels else ()
    context = Context("d", labels=labels, default_label=DEFAULTS[kind], kind=KINDS[kind], own=settings.get(name, {}))
    is_default = y == DEFAULTS[kind]  # the engine changes only eligible examples, or gives them no expectation
    is_eligible = {"attentiveness": part == "hypothesis" or not is_default, "default_label": is_default}.get(name, True)
    expects = EXPECTS.get((name, intervention, part), "") if is_eligible else ""
    change = {"uid": "u", "intervention": intervention, "part": part, "y2": y2, "gold2": gold, "expects": expects}
    rows = made_rows.make({"u": (gold, y)}, [change] * (intervention != "base"))
    if (name, kind) == ("accuracy", "span"):
        name, number = "answers", number.replace("accuracy", "exact_match")
    is_null = intervention == "null"  # flips are over the rows of the null control, of which the page shows the flips
    rows = rows.filter(np.array(rows["intervention"].to_pylist()) == "null") if is_null else rows
    found, value = verdicts_and_number(name, rows, context, number)
    if is_null:
        assert found == [0.0] * (value == 1 and NO_LABEL not in (y, y2))  # a flip to or from a missing answer has none
    else:
        assert found == ([] if value is None else [value])


@given(st.lists(st.sampled_from([(0.6, 0.3, 0.1), (0.3, 0.4, 0.3), (0.1, 0.3, 0.6)]), min_size=2, max_size=2))
def test_in_natural_logic_two_classes_decide(p):
    """A change from neutral to contradiction is none."""
    labels = natural_logic_rows.THREE
    for which, number in [
        ("I0", "context/tce"),
        ("I1", "insertion/tce"),
        ("I2", "context/dce"),
        ("I3", "insertion/dce"),
    ]:
        pair = natural_logic_rows.pair_row("u", which, "v", *p, labels, "entailment")
        rows = natural_logic_rows.table([natural_logic_rows.base_row("u", p[0], labels), pair])
        context = Context("d", labels=labels, own={"data": "d"})
        found, value = verdicts_and_number("natural_logic", rows, context, f"natural_logic/d/{number}")
        assert found == [value if which in ("I0", "I1") else 1 - value]


def verdict_on(change, gold="neutral", y="cat", kind="classification"):
    """The entry of the page about one change of an example."""
    rows = made_rows.make({"u": (gold, y)}, [{"uid": "u", **change}])
    own = {"swap": [["premise", "leaves"], ["hypothesis", "stays"]]}
    context = Context("d", labels=(), default_label=DEFAULTS[kind], kind=KINDS[kind], own=own)
    (entry,) = sampled({"attentiveness": (rows, written_results.about(rows, context))}, 0).rows
    return entry


@pytest.mark.parametrize(("kind", "gold"), [("text", "cat"), ("span", '["cat"]')])
@pytest.mark.parametrize(("y2", "verdict"), [("cat", 1), ("dog", 0)])
def test_an_answer_that_a_distractor_does_not_change_is_no_failure(kind, gold, y2, verdict):
    entry = verdict_on({"part": "hypothesis", "expects": "stays", "y2": y2}, gold, kind=kind)
    assert (entry["verdict"], entry["changed"]) == (verdict, not verdict)


def test_a_swap_that_leads_to_another_wrong_span_is_a_change_and_a_failure():
    """The model gives an answer about a passage that has none, but another one than before."""
    for y2, verdict, is_changed in (("dog", 0, True), ("The cat.", 0, False), ("", 1, True)):
        entry = verdict_on({"y2": y2}, '["cat"]', kind="span")
        assert (entry["verdict"], entry["changed"]) == (verdict, is_changed)


@pytest.mark.parametrize("y", ["neutral", "cat"])
def test_a_change_has_a_verdict_if_and_only_if_the_engine_gave_it_an_expectation(y):
    """Whatever the answer before it: it may be the default label if the most probable label is another."""
    assert verdict_on({"y2": "dog", "expects": ""}, y=y)["verdict"] is None
    assert verdict_on({"y2": "dog", "expects": "leaves"}, y=y)["verdict"] == 1


@pytest.mark.parametrize("answers", [{"y": NO_LABEL, "y2": "cat"}, {"y": "cat", "y2": NO_LABEL}])
def test_a_change_with_a_missing_answer_has_no_verdict(answers):
    assert verdict_on({**answers, "expects": "leaves"})["verdict"] is None
