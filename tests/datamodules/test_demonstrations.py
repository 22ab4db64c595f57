"""Demonstrations: which training examples a prompt shows, in which order, and what augmentation adds."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from heedful.datamodules.demonstrations import demonstrations
from heedful.records import CLASSIFICATION, SPAN, DataError, Example, Examples, SettingError, Task

from refusals import refused

LABELS = "entailment", "neutral", "contradiction"
NLI = Task(CLASSIFICATION, ("premise", "hypothesis"), LABELS, "neutral")
FOUR = Task(CLASSIFICATION, NLI.parts, (*LABELS, "other"), "neutral")
PAIR = Task(CLASSIFICATION, ("premise", "hypothesis"), ("no", "yes"), "no")
QUESTIONS = Task(SPAN, ("context", "question"), (), "")
KINDS = ("plain", "counterfactual", "extra_tuple", "matched_labels")
seeds = st.integers(0, 2**32 - 1)


def pool_of(labels: Sequence[str | None], parts: tuple[str, str] = ("premise", "hypothesis")) -> Examples:
    """Examples with these gold labels and with texts of their own."""
    first, second = parts
    return Examples.of(
        [
            Example(f"d/train/{i}", {first: f"{first} {i}", second: f"{second} {i}"}, label)
            for i, label in enumerate(labels)
        ]
    )


def nli(n: int) -> Examples:
    return pool_of([LABELS[i % 3] for i in range(n)])


def uids(shown: Sequence[Example]) -> list[str]:
    return [example.uid for example in shown]


def counts(shown: Sequence[Example]) -> Counter:
    return Counter(example.label for example in shown)


# which examples


@given(seeds, st.integers(0, 5))
def test_fewer_tuples_are_among_more_and_each_tuple_has_one_example_of_every_label(seed: int, draw: int) -> None:
    pool, before = nli(24), set()
    for tuples in range(5):
        shown = demonstrations(pool, NLI, tuples, seed, draw)
        assert counts(shown) == Counter(dict.fromkeys(LABELS, tuples)) if tuples else shown == ()
        assert len(set(uids(shown))) == 3 * tuples
        added = [example for example in shown if example.uid not in before]
        assert sorted(example.label for example in added) == (sorted(LABELS) if tuples else [])
        assert before <= set(uids(shown))
        before = set(uids(shown))
        assert all(example == pool[example.uid] for example in shown)


@given(seeds, st.permutations(range(24)), st.sampled_from(KINDS), st.integers(1, 2))
def test_the_order_of_the_training_examples_does_not_matter(
    seed: int, order: list[int], kind: str, tuples: int
) -> None:
    pool = nli(24)
    shown = demonstrations(pool, NLI, tuples, seed, 1, kind, "premise")
    assert demonstrations(pool.take(order), NLI, tuples, seed, 1, kind, "premise") == shown


def test_the_examples_are_the_same_in_every_process() -> None:
    """Known once and for all: what depends on a hash of this process or on global state gives others."""
    shown = demonstrations(nli(30), NLI, 1, 0, 0, "counterfactual", "premise")
    assert uids(shown) == ["d/train/21~", "d/train/29", "d/train/29~", "d/train/16", "d/train/21"]
    lent = [example.parts["premise"] for example in shown if example.uid.endswith("~")]
    assert lent == ["premise 12", "premise 22"]
    plain = uids(demonstrations(nli(30), NLI, 3, 7, 2))  # as in version 1, which is still theirs
    assert plain == [f"d/train/{i}" for i in (14, 17, 16, 9, 2, 24, 3, 19, 13)]


def test_every_example_is_as_likely_as_another_and_every_label_stands_anywhere() -> None:
    pool = nli(24)
    shown = [demonstrations(pool, NLI, 1, 0, draw) for draw in range(800)]
    for label in LABELS:
        drawn = Counter(example.uid for one in shown for example in one if example.label == label)
        assert len(drawn) == 8
        assert chisquare(list(drawn.values())).pvalue > 0.001
    orders = Counter(tuple(example.label for example in one) for one in shown)
    assert len(orders) == 6
    assert chisquare(list(orders.values())).pvalue > 0.001


def test_examples_without_a_gold_label_or_of_a_label_of_no_output_are_not_shown() -> None:
    pool = pool_of(["no", None, "yes", "maybe"])
    assert sorted(uids(demonstrations(pool, PAIR, 1, 0, 0))) == ["d/train/0", "d/train/2"]


# augmentation, and its controls


@given(seeds, st.integers(0, 4), st.integers(1, 3), st.sampled_from(["premise", "hypothesis", "premise+hypothesis"]))
def test_counterfactual_ones_are_the_plain_ones_and_a_copy_of_each_that_has_another_label(
    seed: int, draw: int, tuples: int, swap: str
) -> None:
    pool = nli(18)
    plain = {example.uid: example for example in demonstrations(pool, NLI, tuples, seed, draw)}
    shown = {e.uid: e for e in demonstrations(pool, NLI, tuples, seed, draw, "counterfactual", swap)}
    assert {uid: example for uid, example in shown.items() if not uid.endswith("~")} == plain
    copies = {uid for uid in shown if uid.endswith("~")}
    assert copies == {f"{uid}~" for uid, example in plain.items() if example.label != "neutral"}
    for uid in copies:
        base = plain[uid[:-1]]
        changed = {part for part in base.parts if shown[uid].parts[part] != base.parts[part]}
        lenders = [other for other in pool if any(shown[uid].parts[p] == other.parts[p] for p in swap.split("+"))]
        assert changed == set(swap.split("+"))
        assert len(lenders) == 1  # every part comes from one and the same example
        assert lenders[0].uid != base.uid
        assert shown[uid].label == "neutral"


@given(seeds, st.integers(0, 4), st.integers(1, 3), st.sampled_from([NLI, FOUR]))
def test_in_the_control_of_the_paper_half_have_the_default_label_and_all_are_real(
    seed: int, draw: int, tuples: int, task: Task
) -> None:
    pool = pool_of([task.labels[i % len(task.labels)] for i in range(40)])
    shown = demonstrations(pool, task, tuples, seed, draw, "extra_tuple", "premise")
    assert 2 * sum(example.label == "neutral" for example in shown) == len(shown)
    assert all(counts(shown)[label] == tuples for label in task.labels if label != "neutral")
    assert len(set(uids(shown))) == len(shown)
    assert all(example == pool[example.uid] for example in shown)
    assert set(uids(demonstrations(pool, task, tuples, seed, draw))) < set(uids(shown))


@given(seeds, st.integers(0, 4), st.integers(1, 3), st.sampled_from([NLI, PAIR, FOUR]))
def test_the_exact_control_has_a_real_example_of_the_default_label_in_the_place_of_each_copy(
    seed: int, draw: int, tuples: int, task: Task
) -> None:
    pool = pool_of([task.labels[i % len(task.labels)] for i in range(60)])
    augmented = demonstrations(pool, task, tuples, seed, draw, "counterfactual", "premise")
    matched = demonstrations(pool, task, tuples, seed, draw, "matched_labels", "premise")
    assert [example.label for example in matched] == [example.label for example in augmented]
    for own, other in zip(matched, augmented, strict=True):
        assert own == pool[own.uid]
        assert own == other or (other.uid.endswith("~") and own.label == task.default_label)
    assert len(set(uids(matched))) == len(matched)


def test_a_part_is_lent_by_any_unrelated_example_as_likely_as_by_another() -> None:
    """Nobody lends who shares a group, and no pair comes of it that stands in the training set."""
    rows = [("p0", "h0", "a", "yes"), ("p1", "h1", "a", "no"), ("p2", "h0", "b", "no"), ("p3", "h3", "c", "no")]
    rows += [(f"p{i}", f"h{i}", f"t{i}", "no") for i in range(4, 9)]
    pool = Examples.of(
        [
            Example(f"d/train/{i}", {"premise": p, "hypothesis": h}, label, {"topic": topic})
            for i, (p, h, topic, label) in enumerate(rows)
        ]
    )
    lent = Counter()
    for draw in range(600):
        shown = demonstrations(pool, PAIR, 1, 0, draw, "counterfactual", "premise")
        (copy,) = (example for example in shown if example.uid == "d/train/0~")
        assert copy.parts["hypothesis"] == "h0"
        lent[copy.parts["premise"]] += 1
    assert sorted(lent) == ["p3", "p4", "p5", "p6", "p7", "p8"]  # p1 has the topic, p2 the hypothesis of p0
    assert chisquare(list(lent.values())).pvalue > 0.001


# questions


def questions(n: int, answered: int) -> Examples:
    golds = [SPAN.write_gold([f"context {i}"] if i < answered else []) for i in range(n)]
    return pool_of(golds, ("context", "question"))


@given(seeds, st.integers(1, 3))
def test_of_questions_a_tuple_is_one_with_an_answer_and_one_without(seed: int, tuples: int) -> None:
    none = SPAN.write_gold([])
    shown = demonstrations(questions(12, 6), QUESTIONS, tuples, seed, 0)
    assert Counter(example.label == none for example in shown) == {True: tuples, False: tuples}
    augmented = demonstrations(questions(12, 6), QUESTIONS, tuples, seed, 0, "counterfactual", "context")
    matched = demonstrations(questions(12, 6), QUESTIONS, tuples, seed, 0, "matched_labels", "context")
    for more in (augmented, matched):
        assert Counter(example.label == none for example in more) == {True: 2 * tuples, False: tuples}
    for copy in (example for example in augmented if example.uid.endswith("~")):
        assert copy.label == none
        assert copy.parts["question"] == copy.uid[:-1].replace("d/train/", "question ")
        assert copy.parts["context"] != copy.uid[:-1].replace("d/train/", "context ")


# mistakes


@pytest.mark.parametrize(("kind", "needed"), [("plain", 2), ("extra_tuple", 4), ("matched_labels", 6)])
def test_too_few_examples_of_a_label_are_named(kind: str, needed: int) -> None:
    label = "contradiction" if kind == "plain" else "neutral"
    pool = pool_of([name for name in LABELS for _ in range(needed - (name == label))])
    with refused(DataError, "prompt.tuples", f" {needed} ", f"'{label}'", f" {needed - 1}"):
        demonstrations(pool, NLI, 2, 0, 0, kind, "premise")


@pytest.mark.parametrize("kind", ["counterfactual", "extra_tuple", "matched_labels"])
def test_augmentation_needs_a_part_to_swap_and_a_default_label(kind: str) -> None:
    without = Task(CLASSIFICATION, PAIR.parts, PAIR.labels)
    for task, swap in ((PAIR, None), (without, "premise")):
        with refused(SettingError, f"prompt.demonstrations {kind} ", "data.swap", "data.default_label"):
            demonstrations(nli(9), task, 1, 0, 0, kind, swap)
