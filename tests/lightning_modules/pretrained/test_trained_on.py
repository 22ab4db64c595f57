"""What a model was trained on: by content, in any order of the parts' names, and written whole."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from heedful.lightning_modules.pretrained.trained_on import FILE, TrainedOn
from heedful.records import Example, Examples, ModelError, RunError

from refusals import refused

PARTS = ("premise", "hypothesis")


def pool(pairs: list[tuple[str, str]], names: tuple[str, str] = PARTS) -> Examples:
    return Examples.of(Example(f"d/{i}", dict(zip(names, pair, strict=True)), "yes") for i, pair in enumerate(pairs))


def test_examples_are_found_again_by_their_content() -> None:
    known = TrainedOn.of(pool([("a", "b"), ("c", "d"), ("a", "b")]), PARTS)
    assert len(known.keys) == 2
    asked = pool([("a ", "b"), ("b", "a"), ("c", "d"), ("a", "d")])
    assert known.seen(asked, PARTS).tolist() == [True, False, True, False]
    assert known.seen(asked, PARTS[::-1]).tolist() == [True, False, True, False]  # the same names in another order
    others = pool([("a", "b"), ("b", "a")], ("one", "two"))
    assert known.seen(others, ("one", "two")).tolist() == [True, False]


def test_what_was_learned_before_stays() -> None:
    before = TrainedOn.of(pool([("a", "b")]), PARTS)
    after = TrainedOn.of(pool([("c", "d")], ("one", "two")), ("one", "two"), before)
    assert after.seen(pool([("a", "b"), ("c", "d"), ("e", "f")]), PARTS).tolist() == [True, True, False]
    assert np.array_equal(before.joined(after).keys, after.keys)
    assert before.joined(None) is before


def test_it_is_kept_in_files_and_checkpoints(tmp_path: Path) -> None:
    known = TrainedOn.of(pool([("a", "b"), ("c", "d")]), PARTS)
    known.write(tmp_path)
    torch.save(known.state(), tmp_path / "state")
    for again in (TrainedOn.read(tmp_path), TrainedOn.of_state(torch.load(tmp_path / "state", weights_only=True))):
        assert again.parts == PARTS
        assert np.array_equal(again.keys, known.keys)
    assert TrainedOn.read(tmp_path / "elsewhere") is TrainedOn.of_state(None) is None
    content = (tmp_path / FILE).read_bytes()
    for damaged in (b"", content[:-40], b"PK" + content[4:]):
        (tmp_path / FILE).write_bytes(damaged)
        with refused(ModelError, tmp_path / FILE):
            TrainedOn.read(tmp_path)
    with refused(RunError):
        TrainedOn.of_state({"parts": ["a"], "keys": [1]})


WEIGHTS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2)}


def as_one(folder: Path, weights: dict[str, torch.Tensor]) -> None:
    save_file(weights, folder / "model.safetensors")


def as_shards(folder: Path, weights: dict[str, torch.Tensor]) -> None:
    for name, value in weights.items():
        save_file({name: value}, folder / f"model-{name}.safetensors")


def as_pickle(folder: Path, weights: dict[str, torch.Tensor]) -> None:
    torch.save(weights, folder / "pytorch_model.bin")


@pytest.mark.parametrize("save", [as_one, as_shards, as_pickle])
def test_it_belongs_to_the_weights_beside_it_in_whatever_files(tmp_path: Path, save) -> None:
    as_one(tmp_path, WEIGHTS)
    TrainedOn.of(pool([("a", "b")]), PARTS).write(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    assert TrainedOn.read(tmp_path) is not None  # those of a checkpoint are somewhere else
    save(tmp_path, WEIGHTS)
    assert TrainedOn.read(tmp_path) is not None
    save(tmp_path, WEIGHTS | {"b": torch.tensor([1.0, 1.0000001])})
    with refused(ModelError, tmp_path, FILE):
        TrainedOn.read(tmp_path)


def test_a_file_of_before_says_nothing_of_weights(tmp_path: Path) -> None:
    as_one(tmp_path, WEIGHTS)
    known = TrainedOn.of(pool([("a", "b")]), PARTS)
    np.savez(tmp_path / FILE, keys=known.keys, parts=np.array(PARTS))
    assert np.array_equal(TrainedOn.read(tmp_path).keys, known.keys)


def test_weights_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    as_one(tmp_path, WEIGHTS)
    TrainedOn.of(pool([("a", "b")]), PARTS).write(tmp_path)
    (tmp_path / "model.safetensors").write_bytes((tmp_path / "model.safetensors").read_bytes()[:-5])
    with refused(ModelError, tmp_path / "model.safetensors"):
        TrainedOn.read(tmp_path)
