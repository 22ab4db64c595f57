"""Demonstrations: which training examples a prompt shows, in which order, and what augmentation adds."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from heedful.interventions.demonstrations import demonstrations
from heedful.records import CLASSIFICATION, SPAN, Example, Examples, HeedfulError, Table, Task

LABELS = "entailment", "neutral", "contradiction"
NLI = Task(CLASSIFICATION, ("premise", "hypothesis"), LABELS, "neutral")
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
    assert uids(shown) == ["d/train/16", "d/train/21", "d/train/21~", "d/train/29", "d/train/29~"]
    lent = [example.parts["premise"] for example in shown if example.uid.endswith("~")]
    assert lent == ["premise 12", "premise 22"]


def test_seed_draw_and_tuples_each_give_another_order() -> None:
    pool = nli(300)
    orders = {tuple(uids(demonstrations(pool, NLI, 3, seed, draw))) for seed in range(3) for draw in range(3)}
    assert len(orders) == 9
    two = uids(demonstrations(pool, NLI, 2, 0, 0))
    assert [uid for uid in uids(demonstrations(pool, NLI, 3, 0, 0)) if uid in two] != two


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
def test_counterfactual_ones_are_the_plain_ones_with_copies_of_the_default_label(
    seed: int, draw: int, tuples: int, swap: str
) -> None:
    pool = nli(18)
    plain = list(demonstrations(pool, NLI, tuples, seed, draw))
    shown = list(demonstrations(pool, NLI, tuples, seed, draw, "counterfactual", swap))
    assert [example for example in shown if not example.uid.endswith("~")] == plain
    for example in plain:
        i = shown.index(example)
        following = shown[i + 1] if i + 1 < len(shown) else None
        if example.label == "neutral":
            assert following is None or following in plain
            continue
        assert (following.uid, following.label) == (f"{example.uid}~", "neutral")
        own, lent = (
            {part for part in example.parts if following.parts[part] != example.parts[part]},
            [other for other in pool if any(following.parts[p] == other.parts[p] for p in swap.split("+"))],
        )
        assert own == set(swap.split("+"))
        assert len(lent) == 1  # every part comes from one and the same example
        assert lent[0].uid != example.uid
    assert counts(shown) == {"neutral": 3 * tuples, "entailment": tuples, "contradiction": tuples}


def test_three_tuples_of_three_labels_are_augmented_to_fifteen_with_nine_of_the_default_label() -> None:
    """The numbers of the paper: 9 demonstrations become 15, of which 9 are neutral."""
    for kind, all_, neutral in (
        ("plain", 9, 3),
        ("counterfactual", 15, 9),
        ("extra_tuple", 12, 4),
        ("matched_labels", 15, 9),
    ):
        shown = demonstrations(nli(60), NLI, 3, 0, 0, kind, "premise")
        assert (len(shown), counts(shown)["neutral"]) == (all_, neutral), kind


@given(seeds, st.integers(0, 4), st.integers(1, 3), st.sampled_from([NLI, PAIR]))
def test_the_exact_control_has_the_counts_of_the_augmentation_with_real_examples_alone(
    seed: int, draw: int, tuples: int, task: Task
) -> None:
    pool = pool_of([task.labels[i % len(task.labels)] for i in range(30)])
    augmented = demonstrations(pool, task, tuples, seed, draw, "counterfactual", "premise")
    matched = demonstrations(pool, task, tuples, seed, draw, "matched_labels", "premise")
    assert counts(matched) == counts(augmented)
    assert len(set(uids(matched))) == len(matched)
    assert all(example == pool[example.uid] for example in matched)
    assert set(uids(demonstrations(pool, task, tuples, seed, draw))) <= set(uids(matched))


@given(seeds, st.integers(0, 4), st.integers(1, 3))
def test_the_control_of_the_paper_is_one_tuple_more(seed: int, draw: int, tuples: int) -> None:
    more = demonstrations(nli(30), NLI, tuples + 1, seed, draw)
    assert demonstrations(nli(30), NLI, tuples, seed, draw, "extra_tuple") == more


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


def test_tables_are_lent_as_tables() -> None:
    tables = [Table(f"T{i}", (("key", (f"{i}",)),)) for i in range(6)]
    pool = Examples.of(
        [
            Example(f"d/train/{i}", {"premise": table, "hypothesis": f"h{i}"}, "yes" if i % 2 else "no")
            for i, table in enumerate(tables)
        ]
    )
    shown = demonstrations(pool, PAIR, 1, 0, 0, "counterfactual", "premise")
    (copy,) = (example for example in shown if example.uid.endswith("~"))
    assert copy.parts["premise"] in tables
    assert copy.parts["premise"] != pool[copy.uid[:-1]].parts["premise"]


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


def test_where_all_questions_have_answers_a_tuple_is_one_question() -> None:
    pool = questions(8, 8)
    assert len(demonstrations(pool, QUESTIONS, 2, 0, 0)) == 2
    shown = demonstrations(pool, QUESTIONS, 2, 0, 0, "counterfactual", "context")
    assert [example.label == "[]" for example in shown] == [False, True, False, True]
    with pytest.raises(HeedfulError, match="needs 2 training examples with 'no answer', and there are 0"):
        demonstrations(pool, QUESTIONS, 2, 0, 0, "matched_labels", "context")


# mistakes


@pytest.mark.parametrize("kind", ["plain", "extra_tuple", "matched_labels"])
def test_too_few_examples_of_a_label_are_named(kind: str) -> None:
    pool, needed = pool_of(["no", "yes", "no"]), {"plain": 2, "extra_tuple": 3, "matched_labels": 4}[kind]
    label = "no" if kind in ("matched_labels", "extra_tuple") else "yes"
    told = f"prompt needs {needed} training examples with '{label}', and there are {2 if label == 'no' else 1}: "
    with pytest.raises(HeedfulError, match=f"{told}ask for fewer tuples") as caught:
        demonstrations(pool, PAIR, 2, 0, 0, kind, "premise")
    assert caught.value.args[0].startswith("§prompt.tuples")


@pytest.mark.parametrize("kind", ["counterfactual", "matched_labels"])
def test_augmentation_needs_a_part_to_swap_and_a_default_label(kind: str) -> None:
    without = Task(CLASSIFICATION, PAIR.parts, PAIR.labels)
    for task, swap in ((PAIR, None), (without, "premise")):
        with pytest.raises(HeedfulError, match="needs a part to swap and a label for") as caught:
            demonstrations(nli(9), task, 1, 0, 0, kind, swap)
        assert f"§prompt.demonstrations {kind}" in caught.value.args[0]
        assert "§data.swap" in caught.value.args[0]


def test_an_example_to_which_nobody_may_lend_is_named() -> None:
    pool = Examples.of(
        [Example(f"d/train/{i}", {"premise": "one", "hypothesis": f"h{i}"}, "yes" if i % 2 else "no") for i in range(4)]
    )
    told = r"no training example may lend its premise to d/train/[13]: swap another part"
    with pytest.raises(HeedfulError, match=told) as caught:
        demonstrations(pool, PAIR, 1, 0, 0, "counterfactual", "premise")
    assert "§prompt.demonstrations" in caught.value.args[0]
