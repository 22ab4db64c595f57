"""Samples are nested, folds and held-out examples keep groups together, partners are those of a brute force."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules.base.loader import Loader
from heedful.datamodules.base.splits import (
    ALIASES,
    aliases_of,
    by_hash,
    counterfactual_partners,
    fold_out,
    folds_of,
    groups_of,
    hold_out,
    require_gold,
    sample,
    split_groups,
)
from heedful.datamodules.kinds import READING_ALIASES
from heedful.datamodules.loaders.pairs import load_pairs
from heedful.interventions import Swap
from heedful.records import DataError, Example, Examples

from own_data import LABELS, nli_rows, own, uids
from refusals import refused

GROUPS = st.lists(st.text("abcdefgh", min_size=1, max_size=2), min_size=1, max_size=60)
SHUFFLE = st.randoms(use_true_random=False)


def grouped(groups: Sequence[str], name: str = "table") -> Examples:
    rows = enumerate(groups)
    return Examples.of(Example(f"d/{i}", {"premise": f"p {i}"}, "neutral", {name: group}) for i, group in rows)


def pool(n: int) -> Examples:
    parts = ("premise", "hypothesis")
    return Examples.of(Example(f"d/train/{i}", {p: f"{p} {i}" for p in parts}, LABELS[i % 3]) for i in range(n))


# samples


@given(n=st.integers(1, 30), sizes=st.tuples(*[st.integers(0, 30)] * 2), seed=st.integers(0, 5), shuffle=SHUFFLE)
def test_a_smaller_sample_lies_within_a_larger_one_in_any_order(
    n: int, sizes: tuple[int, int], seed: int, shuffle: Any
) -> None:
    examples, positions = pool(n), list(range(n))
    small, large = (uids(sample(examples, min(size, n), seed, "x")) for size in sorted(sizes))
    assert [len(small), len(large)] == [min(size, n) for size in sorted(sizes)]
    assert {*small} <= {*large}
    assert small == [uid for uid in uids(examples) if uid in {*small}]
    shuffle.shuffle(positions)
    mixed = examples.take(positions)
    assert {*uids(sample(mixed, len(small), seed, "x"))} == {*small}
    assert [examples.uid(i) for i in by_hash(examples, seed, "x")] == [mixed.uid(i) for i in by_hash(mixed, seed, "x")]


def test_a_sample_depends_on_seed_and_purpose_and_is_spread_over_the_examples() -> None:
    """Each tenth of the examples gives its share of a sample of half of them, within four standard deviations."""
    examples = pool(1000)
    found = [uids(sample(examples, 50, seed, purpose)) for seed, purpose in ((0, "a"), (0, "a"), (1, "a"), (0, "b"))]
    assert found[0] == found[1]
    assert len({tuple(one) for one in found}) == 3
    chosen = by_hash(examples, 0, "x")[:500]
    assert np.abs(np.histogram(chosen, bins=10, range=(0, 1000))[0] - 50).max() <= 20


@given(groups=GROUPS, seed=st.integers(0, 5), shuffle=SHUFFLE)
def test_a_sample_by_group_is_nested_and_begins_one_group_after_another(
    groups: list[str], seed: int, shuffle: Any
) -> None:
    examples = grouped(groups)
    order = [examples[int(i)] for i in by_hash(examples, seed, "x", groups_of(examples))]
    blocks = [e.groups["table"] for e in order]
    assert blocks == sorted(blocks, key=list(dict.fromkeys(blocks)).index)  # each group is one block
    for n in range(0, len(groups), 7):
        assert {e.uid for e in order[:n]} == {*uids(sample(examples, n, seed, "x", by_group=True))}
    positions = list(range(len(groups)))
    shuffle.shuffle(positions)
    mixed = examples.take(positions)
    assert [mixed.uid(i) for i in by_hash(mixed, seed, "x", groups_of(mixed))] == [e.uid for e in order]


# folds and held-out examples


@given(groups=GROUPS, folds=st.integers(2, 6), shuffle=SHUFFLE)
def test_folds_keep_groups_together_are_balanced_and_do_not_depend_on_the_order(
    groups: list[str], folds: int, shuffle: Any
) -> None:
    found = folds_of(groups, folds)
    assert found.dtype == np.int64
    assert ((found >= 0) & (found < folds)).all()
    fold = dict(zip(groups, found.tolist(), strict=True))
    assert [fold[group] for group in groups] == found.tolist()
    sizes = np.bincount(found, minlength=folds)
    assert sizes.max() - sizes.min() <= max(Counter(groups).values())
    shuffle.shuffle(groups)
    assert [fold[group] for group in groups] == folds_of(groups, folds).tolist()


def test_folds_are_mixed_and_stay_what_they_are() -> None:
    """The alphabet is no order of folds; a change of the rule would change published folds."""
    assert folds_of([f"T{i}" for i in range(10)], 5).tolist() == [0, 2, 3, 2, 4, 4, 1, 0, 3, 1]
    many = folds_of([f"T{i}" for i in range(1000)], 5)
    assert np.abs(np.bincount(many[:500], minlength=5) - 100).max() < 40


@given(groups=GROUPS.filter(lambda groups: len(set(groups)) >= 3))
def test_every_example_is_validated_on_once_and_never_beside_its_group(groups: list[str]) -> None:
    examples = grouped(groups)
    seen = []
    for k in range(3):
        rest, fold = fold_out(examples, 3, k)
        assert not {*rest.column("groups.table")} & {*fold.column("groups.table")}
        assert uids(rest) == [uid for uid in uids(examples) if uid not in {*uids(fold)}]
        seen += uids(fold)
    assert sorted(seen) == sorted(uids(examples))


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("pqrstuvw"), st.booleans()), min_size=1))
def test_equal_examples_and_clusters_are_kept_together_and_nothing_else(rows: list[tuple[str, str, bool]]) -> None:
    """Against a loop that joins examples with the same cluster or text until nothing changes."""
    examples = [
        Example(f"d/{i}", {"premise": f" {text}" if odd else text}, LABELS[odd], {"table": group})
        for i, (group, text, odd) in enumerate(rows)
    ]
    together = [{i} for i in range(len(rows))]
    for i, (group, text, _) in enumerate(rows):
        joined = {k for one in together if any(rows[k][0] == group or rows[k][1] == text for k in one) for k in one}
        together = [one for one in together if not one & (joined | {i})] + [joined | {i}]
    found = split_groups(Examples.of(examples))
    for one in together:
        assert {found[i] for i in one} == {min(rows[i][0] for i in one)}
    assert len({*found}) == len(together)
    alone = split_groups(Examples.of(replace(e, groups={}) for e in examples))
    texts = [text for _, text, _ in rows]
    assert len({*alone}) == len({*texts}) == len({*zip(alone, texts, strict=True)})


@given(n=st.integers(2, 30), held=st.integers(1, 29), seed=st.integers(0, 5))
def test_held_out_examples_and_the_rest_are_all_and_disjoint(n: int, held: int, seed: int) -> None:
    held = min(held, n - 1)
    rest, out = hold_out(pool(n), held, seed)
    assert len(out) == held
    assert sorted(uids(rest) + uids(out)) == sorted(uids(pool(n)))
    assert [uids(part) for part in hold_out(pool(n), held, seed)] == [uids(rest), uids(out)]


def test_a_cluster_that_is_no_group_is_kept_together_and_has_partners_within() -> None:
    rows = [row | {"article": f"a{i // 4}"} for i, row in enumerate(nli_rows(40))]
    data = own(rows, meta=["article"], cluster="article", folds=5, fold=0)
    assert list(data.pool.column("cluster")) == list(data.pool.column("meta.article"))
    assert not {*data.pool.column("cluster")} & {*data.train_examples.column("cluster")}
    assert data.pool.groups == ("premise", "hypothesis")
    assert data.pool.partners(["premise"]).counts.tolist() == [7] * 8
    by_group = own(rows, groups=["article"], folds=5, fold=0)
    assert list(by_group.pool.column("cluster")) == list(data.pool.column("cluster"))
    assert by_group.pool.partners(["premise"]).counts.tolist() == [4] * 8
    by_part = own(rows, groups=["article"], cluster="premise", hold_out=7)
    assert list(by_part.pool.column("cluster")) == [e.groups["premise"][:16] for e in by_part.pool]
    rows.append(rows[0] | {"premise": "x", "article": ""})
    own(rows, meta=["article"], hold_out=1)
    with refused(DataError, "row 41", "'article'"):
        own(rows, meta=["article"], cluster="article", hold_out=1)


def test_a_training_example_without_gold_is_refused() -> None:
    rows = [Example(str(i), {"p": str(i)}, label) for i, label in enumerate(["yes", None, "no"])]
    assert len(require_gold(Examples.of(rows[::2]), "own")) == 2
    with refused(DataError, "1 of 3 training examples of own"):
        require_gold(Examples.of(rows), "own")


# counterfactuals


def test_examples_of_other_labels_than_the_default_have_the_partners_of_the_attentiveness_test() -> None:
    examples, swap = pool(12), Swap("premise", "neutral")
    partners = counterfactual_partners(examples, swap, seed=3, draw=1)
    changed = np.flatnonzero([label != "neutral" for label in examples.column("label")])
    assert np.flatnonzero(partners >= 0).tolist() == changed.tolist()
    assert partners[changed].tolist() == swap.partners(examples, changed, 1, 3).tolist()


# names of splits


def test_a_split_is_the_one_that_is_asked_for() -> None:
    held = {name: nli_rows(8, 100 * i) for i, name in enumerate(("train", "dev", "test"))}
    swapped = {"train": "validation", "validation": "test"}
    usual = ("train", "dev")
    for splits, names in ((None, usual), ({"validation": "valid"}, usual), (swapped, ("dev", "test"))):
        data = own(held, splits=splits)
        found = [min(data.load(split).column("parts.premise")) for split in ("train", "validation")]
        assert found == [held[name][0]["premise"] for name in names]


def test_the_names_of_a_split_with_an_ending() -> None:
    assert aliases_of("validation-matched", ALIASES) == ["validation-matched", "dev-matched", "valid-matched"]
    assert aliases_of("validation-v2.0", READING_ALIASES) == list(READING_ALIASES["validation"])
    assert aliases_of("development", ALIASES) == []


def test_alternative_names_of_a_split_are_added_to_its_name() -> None:
    loader = Loader(load_pairs, aliases={"validation": ["held_out"]})
    assert loader.aliases == {"train": ("train",), "validation": ("validation", "held_out")}
    assert Loader(load_pairs).aliases == ALIASES
