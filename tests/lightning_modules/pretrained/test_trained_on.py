"""Tests of the hashes of training examples: found by content, kept in files and checkpoints."""

import numpy as np
import torch

from heedful.lightning_modules.pretrained.trained_on import TrainedOn
from heedful.records import Example, Examples

PARTS = ("premise", "hypothesis")


def pool(pairs, names=PARTS):
    return Examples.of(Example(f"d/{i}", dict(zip(names, pair, strict=True)), "yes") for i, pair in enumerate(pairs))


def test_examples_are_found_again_by_their_content():
    known = TrainedOn.of(pool([("a", "b"), ("c", "d"), ("a", "b")]), PARTS)
    assert len(known.keys) == 2
    asked = pool([("a ", "b"), ("b", "a"), ("c", "d"), ("a", "d")])
    assert known.seen(asked, PARTS).tolist() == [True, False, True, False]
    assert known.seen(asked, PARTS[::-1]).tolist() == [True, False, True, False]  # the same names in another order
    others = pool([("a", "b"), ("b", "a")], ("one", "two"))
    assert known.seen(others, ("one", "two")).tolist() == [True, False]


def test_what_was_learned_before_stays():
    before = TrainedOn.of(pool([("a", "b")]), PARTS)
    after = TrainedOn.of(pool([("c", "d")], ("one", "two")), ("one", "two"), before)
    assert after.seen(pool([("a", "b"), ("c", "d"), ("e", "f")]), PARTS).tolist() == [True, True, False]
    assert np.array_equal(before.joined(after).keys, after.keys)
    assert before.joined(None) is before


def test_it_is_kept_in_files_and_checkpoints(tmp_path):
    known = TrainedOn.of(pool([("a", "b"), ("c", "d")]), PARTS)
    known.write(tmp_path)
    torch.save(known.state(), tmp_path / "state")
    for again in (TrainedOn.read(tmp_path), TrainedOn.of_state(torch.load(tmp_path / "state", weights_only=True))):
        assert again.parts == PARTS
        assert np.array_equal(again.keys, known.keys)
    assert TrainedOn.read(tmp_path / "elsewhere") is TrainedOn.of_state(None) is None
