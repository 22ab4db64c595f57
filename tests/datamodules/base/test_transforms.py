"""Transforms: they are composed in order, and each reads what those before it leave."""

from collections import Counter

import pytest

from heedful.datamodules import Planted
from heedful.datamodules.base.counts import Counts
from heedful.datamodules.base.transforms import Change, Divided, composed
from heedful.lightning_modules.predictor import Statistics
from heedful.records import Example, Examples

POOLS = {
    split: Examples.of([Example(f"{split}/{i}", {"left": f"{split} {i}"}, "yes") for i in range(6)])
    for split in ("train", "validation")
}


def uids(examples):
    return list(examples.column("uid"))


def first(n):
    return lambda examples: examples[:n]


def test_a_change_is_one_of_its_split_alone_or_of_both():
    read = composed(POOLS.__getitem__, [Change(first(4)), Change(first(2), "train")])
    assert uids(read("train")) == ["train/0", "train/1"]
    assert uids(read("validation")) == [f"validation/{i}" for i in range(4)]


def test_each_is_done_to_what_those_before_it_leave():
    behind = Change(lambda examples: examples[2:])
    assert uids(composed(POOLS.__getitem__, [Change(first(3)), behind])("train")) == ["train/2"]
    assert uids(composed(POOLS.__getitem__, [behind, Change(first(3))])("train")) == ["train/2", "train/3", "train/4"]


def test_nothing_is_done_without_a_transform():
    assert composed(POOLS.__getitem__, [])("train") is POOLS["train"]


def test_a_divided_training_set_is_read_once_and_the_validation_split_never():
    asked = Counter()

    def read(split):
        asked[split] += 1
        return POOLS[split]

    counts = Counts(no_gold={"train": 3})
    counts.say("train", "{:,} rows are odd.", 4)
    divided = composed(read, [Divided(lambda examples: (examples[:5], examples[5:]), counts)])
    assert uids(divided("validation")) == ["train/5"]
    assert uids(divided("train")) == [f"train/{i}" for i in range(5)]
    assert asked == {"train": 1}
    assert counts.asides("validation") == " 3 rows without a gold label were left out. 4 rows are odd."


def test_a_sentence_is_said_of_its_split_once_with_its_last_number_and_not_of_none():
    counts = Counts()
    for n in (5, 1_200):
        counts.say("train", "{:,} tables are long.", n)
    counts.say("train", "{:,} tables are empty.", 0)
    assert counts.asides("train", Statistics(unknown=0.5)) == (
        " 50 % of the tokens are unknown to the model. 1,200 tables are long."
    )
    assert counts.asides("validation") == ""


@pytest.mark.parametrize("partial", [None, "hypothesis"])
def test_a_kind_of_data_adds_transforms_of_its_examples_and_of_what_the_model_reads(partial):
    class Halved(Planted):
        def __init__(self, **kwargs):
            super().__init__(n_train=9, n_validation=8, **kwargs)
            self.transforms.append(Change(first(4), "train"))
            self.inputs.append(Change(first(3)))

    data = Halved(partial=partial)
    data.setup("fit")
    assert [len(pool) for pool in (data.trained, data.train_examples, data.whole, data.pool)] == [4, 3, 8, 3]
    assert data.whole.parts == ("premise", "hypothesis")
    assert data.pool.parts == data.train_examples.parts == ((partial,) if partial else data.whole.parts)
