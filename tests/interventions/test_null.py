"""The null control changes nothing."""

import pickle

import pytest

from interventions import Null
from records import Changed, Example, Examples, Prediction


@pytest.fixture(scope="module")
def pool() -> Examples:
    examples = [
        Example(f"d/validation/{i}", {"a": f"x{i % 2}", "b": f"y{i}"}, "yes", {"topic": "t"}, {"line": str(i)})
        for i in range(5)
    ]
    return Examples.of(examples)


def test_it_gives_the_very_same_example(pool):
    for example in pool:
        (changed,) = Null().apply(pool, example.uid, -1, 0)
        assert changed == Changed(example, clusters=(example.uid,))
        assert list(changed.example.parts.items()) == list(example.parts.items())


def test_it_depends_on_neither_draw_nor_seed(pool):
    assert len({repr(Null().apply(pool, "d/validation/3", draw, seed)) for draw in (-1, 0, 4) for seed in (0, 1)}) == 1


@pytest.mark.parametrize("answer", ["yes", "no", ""])
def test_every_prediction_is_eligible(answer):
    assert Null().eligible("d/validation/0", Prediction(answer))


def test_it_is_not_random_changes_no_part_and_expects_no_change():
    null = Null(limit=3)
    assert (null.name, null.parts, null.draws, null.expectation, null.limit) == ("null", (), 0, "stay", 3)
    assert pickle.loads(pickle.dumps(null)) == null
