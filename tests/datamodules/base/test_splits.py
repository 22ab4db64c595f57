"""Samples are nested, held-out examples are disjoint, and counterfactual partners are those of a brute force."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules.base.splits import by_hash, counterfactual_partners, hold_out, sample, with_counterfactuals
from heedful.interventions import Swap
from heedful.records import DataError, Example, Examples, SettingError

from changed_examples import sharing
from refusals import refused

NLI = ("entailment", "neutral", "contradiction")


def pool(n: int, premises: int = 0, labels: Sequence[str] = NLI, start: int = 0) -> Examples:
    """``n`` examples with labels in turn; ``premises`` different premises, or one for each example."""
    return Examples.of(
        Example(
            f"d/train/{i}",
            {"premise": f"premise {i % premises if premises else i}", "hypothesis": f"hypothesis {i}"},
            labels[i % len(labels)],
        )
        for i in range(start, start + n)
    )


def uids(examples: Sequence[Example]) -> list[str]:
    return [e.uid for e in examples]


@given(
    n=st.integers(1, 30), small=st.integers(0, 30), large=st.integers(0, 30), seed=st.integers(0, 5), where=st.text()
)
def test_a_smaller_sample_lies_within_a_larger_one(n: int, small: int, large: int, seed: int, where: str) -> None:
    examples = pool(n)
    small, large = sorted((min(small, n), min(large, n)))
    few = uids(sample(examples, small, seed, where)) if small else []
    many = uids(sample(examples, large, seed, where)) if large else []
    assert len(set(few)) == small
    assert set(few) <= set(many)
    assert few == [uid for uid in uids(examples) if uid in set(few)]


def test_one_hundred_lie_within_two_hundred() -> None:
    examples = pool(1000)
    hundreds = [set(uids(sample(examples, n, 0, "inoculation"))) for n in (100, 200, 300)]
    assert [len(chosen) for chosen in hundreds] == [100, 200, 300]
    assert hundreds[0] < hundreds[1] < hundreds[2]


def test_a_sample_depends_on_seed_and_purpose_and_on_nothing_else() -> None:
    examples = pool(200)
    chosen = uids(sample(examples, 50, 0, "a"))
    assert chosen == uids(sample(pool(200), 50, 0, "a"))
    assert chosen != uids(sample(examples, 50, 1, "a"))
    assert chosen != uids(sample(examples, 50, 0, "b"))


@given(seed=st.integers(0, 9), shuffle=st.randoms(use_true_random=False))
def test_which_examples_are_chosen_does_not_depend_on_their_order(seed: int, shuffle: object) -> None:
    examples = pool(40)
    positions = list(range(40))
    shuffle.shuffle(positions)
    mixed = examples.take(positions)
    assert set(uids(sample(mixed, 10, seed, "x"))) == set(uids(sample(examples, 10, seed, "x")))
    order, again = by_hash(examples, seed, "x"), by_hash(mixed, seed, "x")
    assert [examples.uid(i) for i in order] == [mixed.uid(i) for i in again]


def test_samples_are_spread_over_the_examples() -> None:
    """Each tenth of the examples gives its share of a sample of half of them, within four standard deviations."""
    chosen = by_hash(pool(1000), 0, "x")[:500]
    assert np.abs(np.histogram(chosen, bins=10, range=(0, 1000))[0] - 50).max() <= 20


def test_more_than_there_are_is_refused_with_both_numbers() -> None:
    with refused(DataError, 10, "inoculation asks for 11"):
        sample(pool(10), 11, 0, "inoculation")


@pytest.mark.parametrize("n", [-1, -5])
def test_less_than_nothing_is_refused(n: int) -> None:
    """A negative number is not "all": taken as a slice it would leave out the last few."""
    with refused(DataError, 10, f"max_train asks for {n}"):
        sample(pool(10), n, 0, "max_train")
    with refused(SettingError, f"hold_out {n}"):
        hold_out(pool(10), n, 0)


@given(n=st.integers(2, 30), held=st.integers(1, 29), seed=st.integers(0, 5))
def test_held_out_examples_and_the_rest_are_all_and_disjoint(n: int, held: int, seed: int) -> None:
    examples, held = pool(n), min(held, n - 1)
    rest, out = hold_out(examples, held, seed)
    assert len(out) == held
    assert sorted(uids(rest) + uids(out)) == sorted(uids(examples))
    assert [uids(part) for part in hold_out(pool(n), held, seed)] == [uids(rest), uids(out)]


def test_holding_out_everything_is_refused() -> None:
    for n in (10, 11):
        with refused(DataError, f"hold_out {n}", 10):
            hold_out(pool(10), n, 0)


def test_partial_keeps_one_part_and_what_makes_examples_related() -> None:
    one = pool(6, premises=2).keep_parts(["hypothesis"])
    assert one.parts == ("hypothesis",)
    assert dict(one[3].parts) == {"hypothesis": "hypothesis 3"}
    assert uids(one) == uids(pool(6))
    assert sharing(one, 0).tolist() == [0, 2, 4]


POOLS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from(NLI), st.integers(0, 6)), min_size=1, max_size=14
)


def related_pool(rows: Sequence[tuple[int, int, str, int]]) -> Examples:
    """Examples that may share a premise, a hypothesis or a document."""
    return Examples.of(
        Example(f"u{i}", {"premise": f"p{p}", "hypothesis": f"h{h}"}, label, {"document": f"d{d}"})
        for i, (p, h, label, d) in enumerate(rows)
    )


@given(rows=POOLS, part=st.sampled_from(["premise", "hypothesis"]), default=st.sampled_from(NLI))
def test_partners_are_unrelated_and_only_for_other_labels(
    rows: list[tuple[int, int, str, int]], part: str, default: str
) -> None:
    """Compared with all examples one by one: a partner shares neither a part nor a group, and makes no real pair."""
    pairs = {(p, g) for p, g, _, _ in rows}
    partners = counterfactual_partners(related_pool(rows), Swap(part, default), seed=0)
    for i, (p, h, label, d) in enumerate(rows):
        allowed = {j for j, (q, g, _, e) in enumerate(rows) if q != p and g != h and e != d}
        allowed = {j for j in allowed if ((rows[j][0], h) if part == "premise" else (p, rows[j][1])) not in pairs}
        if label == default or not allowed:
            assert partners[i] == -1
        else:
            assert partners[i] in allowed


def test_every_allowed_partner_occurs() -> None:
    """Over many draws a partner is uniform over all that are allowed (chi-squared, 1 in 1,000)."""
    examples = related_pool([(0, 0, "entailment", 0), (0, 1, "neutral", 1), *((i, i, "neutral", i) for i in (2, 3, 4))])
    found = [counterfactual_partners(examples, Swap("premise", "neutral"), 0, draw)[0] for draw in range(900)]
    numbers = np.bincount(found, minlength=5)
    assert numbers[:2].tolist() == [0, 0]
    assert (((numbers[2:] - 300) ** 2) / 300).sum() < 13.8


def test_partners_follow_the_seed_and_the_draw_only() -> None:
    examples, swap = pool(90), Swap("premise", "neutral")
    first = counterfactual_partners(examples, swap, seed=0)
    assert np.array_equal(first, counterfactual_partners(pool(90), swap, seed=0, draw=0))
    changed = [counterfactual_partners(examples, swap, 0, draw=1), counterfactual_partners(examples, swap, seed=1)]
    for other in changed:
        assert (other[first >= 0] != first[first >= 0]).mean() > 0.8


@pytest.mark.parametrize("part", ["premise", "hypothesis"])
def test_a_training_set_is_the_examples_and_then_their_counterfactuals(part: str) -> None:
    """Of three labels in equal shares two get one counterfactual each: two thirds more examples."""
    examples, swap = pool(300), Swap(part, "neutral")
    partners = counterfactual_partners(examples, swap, seed=0)
    both = with_counterfactuals(examples, swap, partners)
    assert len(both) == 500
    assert list(both)[:300] == list(examples)
    added = [both[i] for i in range(300, 500)]
    assert {e.label for e in added} == {"neutral"}
    other = ({"premise", "hypothesis"} - {part}).pop()
    for i, changed in zip(both.positions[300:], added, strict=True):
        base, partner = examples[int(i)], examples[int(partners[i])]
        assert base.label != "neutral"
        assert changed.uid == base.uid
        assert list(changed.parts) == ["premise", "hypothesis"]
        assert changed.parts[other] == base.parts[other]
        assert changed.parts[part] == partner.parts[part] != base.parts[part]
        assert changed.groups == {other: base.groups[other], part: partner.groups[part]}
    assert [i for i, label in enumerate(examples.column("label")) if label != "neutral"] == both.positions[
        300:
    ].tolist()
    for name in ("premise", "hypothesis"):  # without making an example
        assert list(both.column(f"parts.{name}")) == [e.parts[name] for e in both]
    assert list(both.column("label")) == [e.label for e in both]


def test_examples_without_a_partner_get_no_counterfactual() -> None:
    examples, swap = pool(4, premises=1), Swap("premise", "neutral")
    both = with_counterfactuals(examples, swap, counterfactual_partners(examples, swap, 0))
    assert list(both) == list(examples)


def test_the_last_example_of_a_training_set_is_its_last_counterfactual() -> None:
    examples, swap = pool(6), Swap("premise", "neutral")
    both = with_counterfactuals(examples, swap, counterfactual_partners(examples, swap, 0))
    assert both[-1] == both[len(both) - 1]
