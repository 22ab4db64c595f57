"""Hits and attentiveness against loops, for each kind of task, with missing answers."""

from dataclasses import replace
from statistics import mean, stdev
from typing import NamedTuple

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heedful.metrics.attentiveness import METRIC, WITHHELD, attentiveness
from heedful.metrics.hits import alike, eligible, hits
from heedful.metrics.one_text import OneText
from heedful.metrics.statistics.paired import recording
from heedful.records import CLASSIFICATION, MANY, NO_LABEL, SOFT, SPAN, TEXT, Context
from heedful.reports.comparable import Swaps

from made_rows import by_text, make
from tiers import costly

attentiveness, score = by_text(attentiveness), by_text(METRIC.score)
LABELS = ("entailment", "neutral", "contradiction")
TEXTS = ("", "Rome", "the rome!", "the", "Paris", NO_LABEL)
GOLD = {CLASSIFICATION: "neutral", SOFT: '{"neutral": 1.0}', SPAN: "[]"}
CONTEXT = Context(
    "d", labels=LABELS, default_label="neutral", own={"swap": [["premise", "leaves"], ["other", "stays"]]}
)
NAME = "attentiveness/d/premise"


class Case(NamedTuple):
    """Answers to examples, and to up to three swaps of "premise" and of "other", a distractor, for each example."""

    context: Context
    base: dict[str, str]
    after: dict[tuple[str, str, int], str]

    @property
    def rows(self):
        expects = dict(self.context.own["swap"])
        swaps = [
            {"uid": uid, "part": part, "draw": d, "y2": y2, "expects": expects[part]}
            for (uid, part, d), y2 in self.after.items()
        ]
        null = [{"uid": uid, "intervention": "null", "part": "", "draw": -1, "y2": "x"} for uid in self.base]
        return make({uid: (GOLD[self.context.kind], y) for uid, y in self.base.items()}, [*swaps, *null])


@st.composite
def cases(draw):
    kind = draw(st.sampled_from([CLASSIFICATION, SOFT, SPAN]))
    texts = draw(st.sampled_from([TEXTS, TEXTS[:-1]] if kind is SPAN else [(*LABELS, NO_LABEL), LABELS, LABELS[:2]]))
    answers = st.sampled_from(texts)
    default = None if kind is SPAN else draw(st.none() | st.sampled_from(LABELS))
    base = {f"u{i:02}": draw(answers) for i in range(draw(st.integers(1, 12)))}
    keys = [(uid, part, d) for uid in base for part in ("premise", "other") for d in range(3)]
    after = {key: draw(answers) for key in keys if draw(st.booleans())}
    labels = () if kind is SPAN else LABELS
    case = Case(replace(CONTEXT, kind=kind, labels=labels, default_label=default), base, after)
    # numbers are flagged or withheld if most answers after a swap are one text: see the test below
    assume(all(OneText.of_rows(case.rows, part, case.context) is None for part in ("premise", "other")))
    return case


def is_same(kind, y, y2):
    if kind is not SPAN:
        return y == y2
    words = [text.lower().strip("!").removeprefix("the").strip() for text in (y, y2)]
    return words[0] == words[1] and (y == "") == (y2 == "")


def is_hit(kind, part, y, y2):
    return is_same(kind, y, y2) if part == "other" else y2 == "" if kind is SPAN else y != y2


@given(cases(), st.sampled_from(["premise", "other"]))
def test_swaps_count_and_hit_as_defined(case, part):
    kind, rows = case.context.kind, case.rows
    default = "" if kind is SPAN else case.context.default_label
    found = hits(rows, part, case.context)
    same, counts = alike(rows, kind), eligible(rows, part, case.context)
    for i, row in enumerate(rows.to_pylist()):
        y, y2 = row["y"], row["y2"]
        is_other = part == "other" or y != default
        swapped = row["intervention"] == "swap" and row["part"] == part and is_other
        assert counts[i] == (is_other and y != NO_LABEL)
        assert found.swapped[i] == swapped
        assert found.base_answered[i] == (swapped and y != NO_LABEL)
        assert found.counted[i] == (swapped and NO_LABEL not in (y, y2))
        assert same[i] == (y2 is not None and is_same(kind, y, y2))
        assert found.hit[i] == (swapped and is_hit(kind, part, y, y2))


def reference(case, part):
    """Map ends of metric names to hits by example and draw (CAT, sections 3.3 and 4)."""
    kind, default = case.context.kind, "" if case.context.kind is SPAN else case.context.default_label
    swaps = {(uid, d): (case.base[uid], y2) for (uid, of, d), y2 in case.after.items() if of == part}
    swapped = {key: pair for key, pair in swaps.items() if part == "other" or pair[0] != default}
    counted = {key: pair for key, pair in swapped.items() if NO_LABEL not in pair}
    expected = {"/kept" if part == "other" else "": {k: is_hit(kind, part, *pair) for k, pair in counted.items()}}
    if kind is SPAN:
        return expected | {"/changed": {k: not is_same(kind, *pair) for k, pair in counted.items() if pair[0] != ""}}
    if default is not None and part != "other":
        expected["/to_default"] = {k: y2 == default for k, (_, y2) in counted.items()}
    if NO_LABEL in case.base.values() or len(counted) < len(swapped):
        expected["/kept/with_invalid" if part == "other" else "/with_invalid"] = {
            k: is_hit(kind, part, *pair) for k, pair in swapped.items()
        }
    for label in LABELS:
        if label != default:
            of_label = {k: is_hit(kind, part, *pair) for k, pair in counted.items() if pair[0] == label}
            expected[f"{'/kept' if part == 'other' else ''}/from_{label}"] = of_label
    return expected


@given(cases(), st.sampled_from(["premise", "other"]))
def test_attentiveness_is_that_of_loops(case, part):
    found, name = attentiveness(case.rows, part, case.context, flags=("f",)), f"attentiveness/d/{part}"
    default = "" if case.context.kind is SPAN else case.context.default_label
    if part == "premise":
        share = found.pop(f"{name}/eligible")
        counts = [y not in (default, NO_LABEL) for y in case.base.values()]
        assert (share.value, share.n) == (pytest.approx(mean(counts)), len(counts))
    expected = reference(case, part)
    assert set(found) == {name + suffix for suffix in expected}
    for suffix, of_swaps in expected.items():
        m, draws = found[name + suffix], sorted({d for _, d in of_swaps})
        n = len({uid for uid, _ in of_swaps})
        assert (m.n, m.flags) == (n, ("f", "few_examples") if 0 < n < 10 else ("f",))
        if not draws:
            assert (m.value, m.draws, m.std, m.ci95, m.per_draw) == (None, None, None, None, ())
            assert m.reason
            continue
        scores = [mean(hit for (_, d), hit in of_swaps.items() if d == draw) for draw in draws]
        assert m.per_draw == pytest.approx(scores)
        assert (m.value, m.draws, m.reason) == (pytest.approx(mean(scores)), len(draws), None)
        assert m.std == (pytest.approx(stdev(scores)) if len(draws) > 1 else None)
        assert 0 <= m.ci95[0] <= m.value + 1e-12
        assert m.value - 1e-12 <= m.ci95[1] <= 1
        assert m.ci95[0] < m.ci95[1]


@costly
@given(cases())
def test_missing_answers_are_counted_below_and_too_many_leave_no_number(case):
    """The same in the metric, in recorded entries and in the comparison of models."""
    rows = case.rows
    with recording():  # as for the report on prompts
        found = score(rows, case.context)
    counted = [pair for pair in swaps_of(case) if pair[0] != NO_LABEL]
    pairs = [pair for pair in counted if pair[1] != NO_LABEL]
    of_base = mean(y == NO_LABEL for y in case.base.values())
    of_changed = mean(y2 == NO_LABEL for _, y2 in counted) if counted else 0.0
    if of_base or of_changed:
        assert found[f"{NAME}/no_answer/base"].value == pytest.approx(of_base)
        assert found[f"{NAME}/no_answer/changed"].value == (pytest.approx(of_changed) if counted else None)
    else:
        assert not any("no_answer" in name for name in found if NAME in name)
    too_many = max(of_base, of_changed) > 0.5
    in_pairs, m = Swaps.of(rows, "premise", case.context), found[NAME]
    assert in_pairs.has_too_few == too_many
    assert ("no_answers" in m.flags) == (max(of_base, of_changed) > 0.05)
    plain = attentiveness(rows, "premise", case.context)[NAME].value
    assert m.value == (None if too_many else plain)
    changed = [is_hit(case.context.kind, "premise", *pair) for pair in pairs]
    assert len(in_pairs.hit) == (0 if too_many else len(pairs))
    assert in_pairs.hit.sum() == (0 if too_many else sum(changed))
    if m.value is not None:
        assert [m.entries.hits.sum(), m.entries.counts.sum()] == pytest.approx([m.value * len(pairs), len(pairs)])


def swaps_of(case):
    """Answers before and after each swap of the premise, if the former is not the default answer."""
    default = "" if case.context.kind is SPAN else case.context.default_label
    pairs = [(case.base[uid], y2) for (uid, part, _), y2 in case.after.items() if part == "premise"]
    return [pair for pair in pairs if pair[0] != default]


@pytest.mark.parametrize(
    ("answers", "kind", "reason"),
    [
        (["neutral"] * 3, CLASSIFICATION, "every prediction is the default label 'neutral'"),
        (["neutral", NO_LABEL], CLASSIFICATION, "every prediction is the default label 'neutral', or not a label"),
        ([NO_LABEL] * 2, CLASSIFICATION, "no prediction is a label"),
        (["", ""], SPAN, "every prediction is no answer"),
        (["entailment"], CLASSIFICATION, "no example has a partner"),
        ([], CLASSIFICATION, "no example has a partner"),
    ],
)
def test_without_eligible_examples_the_reason_is_given(answers, kind, reason):
    context = replace(CONTEXT, kind=kind, labels=() if kind is SPAN else LABELS)
    rows = make({f"u{i}": (GOLD[kind], y) for i, y in enumerate(answers)})
    assert attentiveness(rows, "premise", context)[NAME].reason == reason


@pytest.mark.parametrize("default", ["neutral", None])
def test_the_count_of_eligible_examples_is_their_share(default):
    rows = make({"a": ("yes", "yes"), "b": ("yes", NO_LABEL), "c": ("neutral", "neutral")})
    context = Context("d", labels=("yes", "neutral"), default_label=default, own={"swap": [["premise", "leaves"]]})
    _, counts = METRIC.evaluate(rows, context)
    assert counts["premise"]["eligible"] == round(3 * score(rows, context)[f"{NAME}/eligible"].value)


@pytest.mark.parametrize("right", [50, 80])
def test_the_score_of_a_model_no_better_than_the_majority_is_flagged(right):
    base = {f"u{i}": (LABELS[i % 2], LABELS[(i + (i >= right)) % 2]) for i in range(100)}
    rows = make(base, [{"uid": uid, "y2": "contradiction"} for uid in base])
    found = attentiveness(rows, "premise", CONTEXT)
    for suffix in ("", "/to_default", "/from_entailment"):
        assert ("not_above_majority" in found[NAME + suffix].flags) == (right == 50)
    assert attentiveness(rows, "premise", replace(CONTEXT, unlabelled=True))[NAME].flags == ()


def test_a_slice_has_the_score_of_its_examples_alone():
    base = {f"u{i}": ("entailment", LABELS[i % 3]) for i in range(24)}
    changed = [{"uid": uid, "draw": d, "y2": LABELS[(i * (d + 1)) % 3]} for i, uid in enumerate(base) for d in range(2)]
    kinds = {uid: f"kind={'ab'[i % 2]}" for i, uid in enumerate(base)}
    rows = make(base, changed)
    slices = pa.array([[kinds[uid]] for uid in rows["uid"].to_pylist()])
    rows = rows.set_column(rows.column_names.index("slices"), "slices", slices)
    found = attentiveness(rows, "premise", replace(CONTEXT, slices=("kind",)), flags=("f",))
    for kind in ("kind=a", "kind=b"):
        uids = {uid for uid in base if kinds[uid] == kind}
        alone = make({u: base[u] for u in uids}, [c for c in changed if c["uid"] in uids])
        expected = attentiveness(alone, "premise", CONTEXT, flags=("f",))[NAME]
        assert replace(found.pop(f"{NAME}/{kind}"), ci95=None) == replace(expected, ci95=None)
    assert found == attentiveness(rows, "premise", CONTEXT, flags=("f",))


@pytest.mark.parametrize("labels", [MANY, MANY + 1])
def test_more_than_a_few_labels_have_no_numbers_of_their_own(labels):
    names = tuple(f"answer {i}" for i in range(labels))
    context = replace(CONTEXT, labels=names, default_label=None)
    rows = make({f"u{i}": (names[0], names[i % 2]) for i in range(20)}, labels=labels)
    assert (f"{NAME}/from_answer 1" in attentiveness(rows, "premise", context)) == (labels == MANY)


SPANS = replace(CONTEXT, kind=SPAN, labels=(), default_label=None)


@pytest.mark.parametrize("context", [SPANS, replace(SPANS, kind=TEXT)], ids=["span", "text"])
@pytest.mark.parametrize(("n", "is_flagged", "is_withheld"), [(4, False, False), (5, True, False), (25, True, True)])
def test_one_text_that_no_base_input_gets_is_flagged_or_withheld(context, n, is_flagged, is_withheld):
    gold = (lambda text: f'["{text}"]') if context.kind is SPAN else str
    base = {f"u{i:02}": (gold("x"), f"x{i}") for i in range(50)}
    failure = "Error: upstream timeout"
    written = "error upstream timeout" if context.kind is SPAN else failure
    rows = make(base, [{"uid": u, "y2": failure if i < n else f"y{i}"} for i, u in enumerate(base)], labels=1)
    assert OneText.of_rows(rows, "premise", context) == (OneText(written, n, 50) if is_flagged else None)
    found = score(rows, context)[NAME]
    assert ("one_text" in found.flags) == is_flagged
    assert (found.value is None, found.reason == WITHHELD) == (is_withheld, is_withheld)
    assert Swaps.of(rows, "premise", context).has_too_few == is_withheld
