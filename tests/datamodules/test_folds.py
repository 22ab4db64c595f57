"""Cross-validation: folds are a partition that keeps groups together; samples by group leave whole groups."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules import PairedText, Planted
from heedful.datamodules.base.inoculation import Inoculation
from heedful.datamodules.base.splits import by_hash, fold_out, folds_of, groups_of, kept_together, sample
from heedful.records import DataError, Example, Examples, HeedfulError, SettingError

from refusals import refused

GROUPS = st.lists(st.text("abcdefgh", min_size=1, max_size=2), min_size=1, max_size=60)


def pool(groups: list[str], name: str = "table") -> Examples:
    rows = enumerate(groups)
    return Examples.of(Example(f"d/{i}", {"premise": f"p {i}"}, "neutral", {name: group}) for i, group in rows)


@given(groups=GROUPS, folds=st.integers(2, 6))
def test_folds_keep_groups_together_and_are_balanced_within_the_largest(groups: list[str], folds: int) -> None:
    found = folds_of(groups, folds)
    assert found.dtype == np.int64
    assert ((found >= 0) & (found < folds)).all()
    assert len(set(zip(groups, found.tolist(), strict=True))) == len(set(groups))
    sizes = np.bincount(found, minlength=folds)
    assert sizes.sum() == len(groups)
    assert sizes.max() - sizes.min() <= max(Counter(groups).values())


@given(groups=GROUPS, folds=st.integers(2, 6), shuffle=st.randoms(use_true_random=False))
def test_folds_do_not_depend_on_the_order(groups: list[str], folds: int, shuffle: Any) -> None:
    fold = dict(zip(groups, folds_of(groups, folds).tolist(), strict=True))
    shuffle.shuffle(groups)
    assert [fold[group] for group in groups] == folds_of(groups, folds).tolist()


def test_folds_are_mixed_and_stay_what_they_are() -> None:
    """The alphabet is no order of folds; a change of the rule would change published folds."""
    groups = [f"T{i}" for i in range(10)]
    assert folds_of(groups, 5).tolist() == [0, 2, 3, 2, 4, 4, 1, 0, 3, 1]
    many = folds_of([f"T{i}" for i in range(1000)], 5)
    assert np.abs(np.bincount(many[:500], minlength=5) - 100).max() < 40


@given(groups=GROUPS.filter(lambda groups: len(set(groups)) >= 3))
def test_every_example_is_validated_on_once_and_never_beside_its_group(groups: list[str]) -> None:
    examples = pool(groups)
    seen = []
    for k in range(3):
        rest, fold = fold_out(examples, 3, k)
        assert not set(rest.column("groups.table")) & set(fold.column("groups.table"))
        assert list(rest.column("uid")) == [uid for uid in examples.column("uid") if uid not in set(fold.column("uid"))]
        seen += fold.column("uid")
    assert sorted(seen) == sorted(examples.column("uid"))


def test_the_group_is_the_first_that_is_no_part_or_else_the_uid() -> None:
    assert list(groups_of(pool(["a", "b"]))) == list(pool(["a", "b"]).column("cluster")) == ["a", "b"]
    assert list(groups_of(pool(["a"]).rename_parts(["p"]))) == ["a"]
    assert list(groups_of(Examples.of([Example("u", {"premise": "p"}, None)]))) == ["u"]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("pqrstuvw"), st.booleans()), min_size=1))
def test_equal_examples_and_clusters_are_kept_together_and_nothing_else(rows: list[tuple[str, str, bool]]) -> None:
    """Against a loop that joins what shares a cluster or the text until nothing changes."""
    labels = ("yes", "no")
    made = [
        Example(f"d/{i}", {"premise": f" {text}" if odd else text}, labels[odd], {"table": group})
        for i, (group, text, odd) in enumerate(rows)
    ]
    together = [{i} for i in range(len(rows))]
    for i, (group, text, _) in enumerate(rows):
        joined = {k for one in together if any(rows[k][0] == group or rows[k][1] == text for k in one) for k in one}
        together = [one for one in together if not one & (joined | {i})] + [joined | {i}]
    found = kept_together(Examples.of(made))
    for one in together:
        assert {found[i] for i in one} == {min(rows[i][0] for i in one)}
    assert len(set(found)) == len(together)
    alone = kept_together(Examples.of(replace(e, groups={}) for e in made))
    assert (
        len(set(alone)) == len({text for _, text, _ in rows}) == len(set(zip(alone, (r[1] for r in rows), strict=True)))
    )


def test_more_folds_than_groups_are_refused() -> None:
    with refused(DataError, "folds 5", "1 different", "cluster", "groups"):
        fold_out(pool(["a"] * 9), 5, 0)
    with refused(DataError, "folds 5", "3 different examples"):
        fold_out(Examples.of([Example(f"u{i}", {"premise": f"p {i % 3}"}, None) for i in range(9)]), 5, 0)


@given(groups=GROUPS, seed=st.integers(0, 5), shuffle=st.randoms(use_true_random=False))
def test_a_sample_by_group_is_nested_and_begins_one_group_after_another(
    groups: list[str], seed: int, shuffle: Any
) -> None:
    examples = pool(groups)
    order = [examples[int(i)] for i in by_hash(examples, seed, "x", groups_of(examples))]
    blocks = [e.groups["table"] for e in order]
    begun = list(dict.fromkeys(blocks))
    assert blocks == sorted(blocks, key=begun.index)  # each group is one block
    for n in range(0, len(groups), 7):
        assert {e.uid for e in order[:n]} == set(sample(examples, n, seed, "x", by_group=True).column("uid"))
    positions = list(range(len(groups)))
    shuffle.shuffle(positions)
    mixed = examples.take(positions)
    assert [mixed.uid(i) for i in by_hash(mixed, seed, "x", groups_of(mixed))] == [e.uid for e in order]


# the data modules


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """40 training pairs about 10 articles, one of them without gold, and a validation pair."""
    head = "premise\thypothesis\tlabel\tarticle\n"
    rows = [f"p {i}\th {i}\t{i % 3 if i else '-'}\ta{i // 4}\n" for i in range(40)]
    (tmp_path / "train.tsv").write_text(head + "".join(rows))
    (tmp_path / "validation.tsv").write_text(head + "p\th\t0\tb\n")
    return tmp_path


def pairs(path: Path, **others: Any) -> PairedText:
    labels = {"entailment": [0], "neutral": [1], "contradiction": [2]}
    parts = {"premise": "premise", "hypothesis": "hypothesis"}
    arguments = {"name": "own", "parts": parts, "labels": labels, "default_label": "neutral", "path": str(path)}
    return PairedText(**arguments | others)


def test_a_cluster_that_is_no_group_is_resampled_and_split_off_whole_and_has_partners_within(folder: Path) -> None:
    data = pairs(folder, meta=["article"], cluster="article", folds=5, fold=0)
    data.setup("fit")
    assert list(data.pool.column("cluster")) == list(data.pool.column("meta.article"))
    assert not set(data.pool.column("cluster")) & set(data.train_examples.column("cluster"))
    assert data.pool.groups == ("premise", "hypothesis")
    assert data.pool.partners(["premise"]).counts.tolist() == [len(data.pool) - 1] * len(data.pool)
    grouped = pairs(folder, groups=["article"], folds=5, fold=0)
    grouped.setup("fit")
    assert list(grouped.pool.column("cluster")) == list(data.pool.column("cluster"))
    assert max(grouped.pool.partners(["premise"]).counts) < len(data.pool) - 1


def test_a_cluster_comes_before_the_first_group_and_is_a_part_or_a_column_that_goes_along(folder: Path) -> None:
    data = pairs(folder / "train.tsv", groups=["article"], cluster="premise", hold_out=7)
    data.setup("fit")
    assert list(data.pool.column("cluster")) == [e.groups["premise"][:16] for e in data.pool]
    with refused(SettingError, "cluster topic", "premise, hypothesis, article"):
        pairs(folder, groups=["article"], cluster="topic")


def test_a_cluster_may_not_be_empty_where_other_columns_may(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("premise\thypothesis\tlabel\ttemplate\np\th\t0\t\nq\ti\t1\tt\n")
    pairs(tmp_path / "train.tsv", meta=["template"], hold_out=1).setup("fit")
    with refused(DataError, "train.tsv, row 1", "'template'"):
        pairs(tmp_path / "train.tsv", meta=["template"], cluster="template", hold_out=1).setup("fit")


def test_a_fold_of_the_training_file_is_validated_on(folder: Path) -> None:
    validated = []
    for k in range(5):
        data = pairs(folder, groups=["article"], folds=5, fold=k)
        data.setup("fit")
        train, held = ({e.groups["article"] for e in found} for found in (data.train_examples, data.pool))
        assert len(train) == 8
        assert len(held) == 2
        assert not train & held
        assert data.regime == f"plain-fold-{k}"
        assert data.counts.no_gold == 1
        evaluated = pairs(folder, groups=["article"], folds=5, fold=k)
        evaluated.setup("validate")
        assert evaluated.pool.fingerprint == data.pool.fingerprint
        validated += data.pool.column("uid")
    assert len(set(validated)) == len(validated) == 39


def test_folds_go_with_partial_parts_counterfactuals_samples_and_one_file(folder: Path) -> None:
    data = pairs(folder, folds=2, fold=1, partial="hypothesis", max_train=6, max_validation=5)
    data.setup("fit")
    assert (len(data.train_examples), len(data.pool), data.regime) == (6, 5, "partial-hypothesis-fold-1")
    assert pairs(folder, folds=2, fold=0, augment="counterfactual").regime == "counterfactual-fold-0"
    one = pairs(folder / "train.tsv", folds=3, fold=0)
    one.setup("fit")
    assert (len(one.train_examples), len(one.pool)) == (26, 13)
    planted = Planted(n_train=30, n_validation=10, folds=3, fold=2)
    planted.setup("fit")
    assert (len(planted.train_examples), len(planted.pool)) == (20, 10)


@pytest.mark.parametrize(
    ("options", "error", "facts"),
    [
        ({"folds": 5}, SettingError, ["folds N", "fold K"]),
        ({"fold": 0}, SettingError, ["folds N", "fold K"]),
        ({"folds": 1, "fold": 0}, SettingError, ["1 folds"]),
        ({"folds": 5, "fold": 5}, SettingError, ["fold 5", "5 folds"]),
        ({"folds": 5, "fold": -1}, SettingError, ["fold -1", "5 folds"]),
        ({"folds": 5, "fold": 0, "hold_out": 3}, SettingError, ["data.hold_out and data.folds", "hold_out null"]),
        ({"folds": 5, "fold": 0, "augment": "inoculation"}, SettingError, ["folds", "augment inoculation"]),
    ],
)
def test_what_makes_no_sense_is_refused(
    folder: Path, options: dict[str, Any], error: type[HeedfulError], facts: list[Any]
) -> None:
    with refused(error, *facts):
        pairs(folder, **options)


def test_inoculation_by_group_leaves_whole_groups(folder: Path) -> None:
    chosen = []
    for n in (10, 20, 30):
        inoculation = Inoculation(str(folder / "train.tsv"), n, by_group=True)
        data = pairs(folder, groups=["article"], augment="inoculation", inoculation=inoculation)
        data.setup("fit")
        assert len({e.groups["article"] for e in data.train_examples}) <= n // 4 + 2  # one begun, one without gold
        chosen.append(set(data.train_examples.column("uid")))
    assert chosen[0] < chosen[1] < chosen[2]


def test_a_part_may_be_the_group_and_then_no_premise_is_split(folder: Path) -> None:
    head = "premise\thypothesis\tlabel\n"
    rows = [f"p {i // 3}\th {i}\t{i % 3}\n" for i in range(30)]
    (folder / "train.tsv").write_text(head + "".join(rows))
    data = pairs(folder / "train.tsv", groups=("premise",), hold_out=7)
    data.setup("fit")
    assert len(data.pool) == 9
    assert data.pool.groups == ("premise", "hypothesis")
    assert not set(data.pool.column("parts.premise")) & set(data.train_examples.column("parts.premise"))
    alone = pairs(folder / "train.tsv", groups=("premise",), hold_out=7, partial="hypothesis")
    alone.setup("fit")
    assert list(alone.pool.column("cluster")) == list(data.pool.column("cluster"))  # whatever part is left
