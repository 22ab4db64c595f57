"""What is no answer: counted beside attentiveness, and never in it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics import METRICS
from heedful.metrics.attentiveness import WITHHELD
from heedful.metrics.natural_logic.entailment import disagreements
from heedful.metrics.one_text import OneText
from heedful.metrics.reading_comprehension import reading_scores
from heedful.metrics.statistics.paired import recording
from heedful.records import NO_LABEL, SPAN, TEXT, Context
from heedful.reports.comparable import Swaps

from made_rows import by_text, make
from natural_logic_rows import THREE, base_row, pair_row, table

LABELS = ("entailment", "neutral", "contradiction")
CONTEXT = Context("d", labels=LABELS, default_label="neutral", own={"swap": ["premise"]})
TEXTS = replace(CONTEXT, kind=SPAN, labels=(), default_label=None)
NAME = "attentiveness/d/premise"
METRIC = METRICS["attentiveness"]
score = by_text(METRIC.score)


def swapped(base, after):
    """Rows of base answers and of what each becomes, by draw."""
    made = {uid: ("entailment", y) for uid, y in base.items()}
    return make(made, [{"uid": uid, "draw": d, "y2": y2} for uid, ys in after.items() for d, y2 in enumerate(ys)])


answers = st.sampled_from([*LABELS, NO_LABEL])


@given(st.lists(st.tuples(answers, st.lists(answers, min_size=2, max_size=2)), min_size=1, max_size=14))
def test_attentiveness_is_over_pairs_of_answers(drawn):
    """Against plain loops, in the metric, in the report of prompts and in the comparison of models."""
    base = {f"u{i:02}": y for i, (y, _) in enumerate(drawn)}
    after = {f"u{i:02}": ys for i, (y, ys) in enumerate(drawn) if y != "neutral"}
    rows = swapped(base, after)
    found = score(rows, CONTEXT)
    counted = [(base[uid], y2) for uid, ys in after.items() for y2 in ys if base[uid] != NO_LABEL]
    pairs = [(y, y2) for y, y2 in counted if y2 != NO_LABEL]
    of_base = np.mean([y == NO_LABEL for y in base.values()])
    of_changed = np.mean([y2 == NO_LABEL for _, y2 in counted]) if counted else 0.0
    with_none = [(base[uid], y2) for uid, ys in after.items() for y2 in ys]
    in_pairs = Swaps.of(rows, "premise", CONTEXT)
    if of_base or of_changed:
        assert found[f"{NAME}/no_answer/base"].value == pytest.approx(of_base)
        assert found[f"{NAME}/no_answer/changed"].value == (pytest.approx(of_changed) if counted else None)
        assert f"{NAME}/with_invalid" in found
    else:
        assert not any("no_answer" in name or "invalid" in name for name in found)
    assert ("no_answers" in found[NAME].flags) == (max(of_base, of_changed) > 0.05)
    if not pairs or max(of_base, of_changed) > 0.5:
        assert found[NAME].value is None
        assert not in_pairs.eligible.any()
        assert all(m.value is None for name, m in found.items() if "no_answer" not in name and "elig" not in name) or (
            not max(of_base, of_changed) > 0.5
        )
    else:
        by_draw = [[(base[u], ys[d]) for u, ys in after.items() if NO_LABEL not in (base[u], ys[d])] for d in (0, 1)]
        shares = [np.mean([y != y2 for y, y2 in of_draw]) for of_draw in by_draw if of_draw]
        assert found[NAME].value == pytest.approx(np.mean(shares))
        with recording():  # as the report of prompts does
            (entries,) = (m.entries for n, m in METRIC.score(rows, CONTEXT).items() if str(n) == NAME)
        sums = [entries.hits.sum(), entries.counts.sum()]
        assert sums == pytest.approx([np.mean(shares) * len(pairs), len(pairs)])
        assert in_pairs.changed[in_pairs.eligible].sum() == sum(y != y2 for y, y2 in pairs)
        assert in_pairs.swaps[in_pairs.eligible].sum() == len(pairs)
        if of_base or of_changed:
            assert found[f"{NAME}/with_invalid"].value == pytest.approx(np.mean([y != y2 for y, y2 in with_none]))


def test_accuracy_counts_a_failure_as_wrong_and_says_how_many_there_are():
    base = {f"u{i}": ("neutral", "neutral" if i < 8 else NO_LABEL) for i in range(10)}
    found = by_text(METRICS["accuracy"].score)(make(base), CONTEXT)
    assert (found["accuracy/d"].value, found["no_answer/d"].value) == (0.8, 0.2)
    assert "no_answer/d" not in by_text(METRICS["accuracy"].score)(make({"a": ("neutral", "neutral")}), CONTEXT)


def test_a_text_that_is_none_is_never_like_a_gold_text():
    base = {"a": ('["no label"]', NO_LABEL), "b": ('["the label"]', NO_LABEL), "c": ("[]", NO_LABEL)}
    found = by_text(reading_scores)(make(base, labels=1), TEXTS)
    assert found["exact_match/d"].value == found["f1/d"].value == found["abstention/d"].value == 0


def test_texts_that_are_none_do_not_count_and_what_stays_is_over_pairs_of_answers():
    base = {f"u{i}": ('["x"]', y) for i, y in enumerate(["x", "x", "x", NO_LABEL, "", "x"])}
    after = ["", "x", NO_LABEL, "", "", "y"]
    for part in ("premise", "distractor"):
        rows = make(base, [{"uid": u, "part": part, "y2": y2} for u, y2 in zip(base, after, strict=True)], labels=1)
        own = {"swap": ["premise"], "distractors": ["distractor"]}
        found = score(rows, replace(TEXTS, own=own))
        if part == "premise":
            assert (found[NAME].value, found[NAME].n) == (pytest.approx(1 / 3), 3)
            assert found[f"{NAME}/changed"].value == pytest.approx(2 / 3)
            assert found[f"{NAME}/eligible"].value == pytest.approx(4 / 6)
            assert found[f"{NAME}/no_answer/changed"].value == 1 / 4
        else:
            kept = "attentiveness/d/distractor/kept"
            assert (found[kept].value, found[kept].n) == (0.5, 4)
            assert found[f"{kept}/no_answer/changed"].value == 1 / 5


FREE = replace(TEXTS, kind=TEXT)


@pytest.mark.parametrize("context", [TEXTS, FREE])
@pytest.mark.parametrize(("n", "is_flagged", "is_withheld"), [(4, False, False), (5, True, False), (25, True, True)])
def test_one_text_that_no_base_input_gets_is_flagged_or_withheld(context, n, is_flagged, is_withheld):
    gold = (lambda text: f'["{text}"]') if context.kind is SPAN else str
    base = {f"u{i:02}": (gold("x"), f"x{i}") for i in range(50)}
    failure = "Error: upstream timeout"
    written = "error upstream timeout" if context.kind is SPAN else failure
    rows = make(base, [{"uid": u, "y2": failure if i < n else f"y{i}"} for i, u in enumerate(base)], labels=1)
    text = OneText.of_rows(rows, "premise", context)
    assert text == (OneText(written, n, 50) if is_flagged else None)
    found = score(rows, context)[NAME]
    assert ("one_text" in found.flags) == is_flagged
    assert (found.value, found.reason) == ((None, WITHHELD) if is_withheld else (found.value, None))
    assert (found.value is None) == is_withheld
    assert Swaps.of(rows, "premise", context).has_too_few == is_withheld


EQUAL = [1 / 3] * 3  # what a refusal has in place of probabilities


def logical(failing_bases=(), failing_changes=()):
    """20 examples of natural logic, right ones, with a change of each set, of which some get no answer."""
    says = {"entailment": [0.1, 0.8, 0.1], "neutral": [0.1, 0.1, 0.8]}
    entries = []
    for i in range(20):
        gold, other = ("entailment", "neutral") if i % 2 else ("neutral", "entailment")
        p = EQUAL if i in failing_bases else says[gold]
        made = [base_row(f"nlixy/u{i:02}", p, THREE, gold)]
        for which, after in (("I0", other), ("I1", other), ("I2", gold), ("I3", gold)):
            p2 = EQUAL if i in failing_changes else says[after]
            made.append(pair_row(f"nlixy/u{i:02}", which, f"p{i % 5}", p, p2, THREE, after, held=f"h{i % 4}"))
            made[-1]["y2"] = NO_LABEL if i in failing_changes else after
        entries += [row | {"y": NO_LABEL} if i in failing_bases else row for row in made]
    return table(entries)


@pytest.mark.parametrize(("bases", "changes"), [((), range(4)), (range(4), ()), ((0, 1), (1, 2, 3))])
def test_a_failure_is_neither_a_causal_effect_nor_a_right_answer(bases, changes):
    """The perfect model has a TCE of 1 and a DCE of 0, whatever fails; a refusal is not "no entailment"."""
    context = Context("d", labels=THREE, own={"data": "nlixy"})
    rows = logical(bases, changes)
    found = by_text(METRICS["natural_logic"].score)(rows, context)
    for kind in ("context", "insertion"):
        name = f"natural_logic/nlixy/{kind}"
        assert (found[f"{name}/tce"].value, found[f"{name}/tce"].n) == (1, 20 - len({*bases, *changes}))
        assert found[f"{name}/dce"].value == found[f"{name}/dce/naive"].value == 0
        assert found[f"{name}/tce/signed"].value == pytest.approx(0.7)
        assert "no_answers" in found[f"{name}/tce"].flags
        assert found[f"{name}/tce/no_answer/base"].value == len(bases) / 20
        answered = [i for i in range(20) if i not in bases]
        assert found[f"{name}/tce/no_answer/changed"].value == np.mean([i in changes for i in answered])
    assert found["natural_logic/nlixy/accuracy"].value == 1 - len(bases) / 20
    assert disagreements(rows, THREE) == 0
    two = by_text(METRICS["two_class"].score)(rows, context)
    assert two["two_class/nlixy"].value == two["two_class/nlixy/argmax"].value == 1 - len(bases) / 20
    assert {name: two[name].value for name in two if "no_answer" in name} == (
        {"two_class/nlixy/no_answer": len(bases) / 20} if bases else {}
    )
