"""The null control changes nothing."""

import pickle

import numpy as np
import pyarrow as pa
import pytest

from heedful.interventions import Null
from heedful.records import Example, Examples

from changed_examples import Made, made


@pytest.fixture(scope="module")
def pool() -> Examples:
    examples = [
        Example(f"d/validation/{i}", {"a": f"x{i % 2}", "b": f"y{i}"}, "yes", {"topic": "t"}, {"line": str(i)})
        for i in range(5)
    ]
    return Examples.of(examples)


def test_it_gives_the_very_same_examples(pool):
    for positions in ([3, 0, 4], []):
        found = made(Null(), pool, positions)
        assert found == [Made(i, -1, pool[i], "", "", (pool.uid(i),), "") for i in positions]
        assert [list(one.example.parts.items()) for one in found] == [list(pool[i].parts.items()) for i in positions]


def test_nothing_is_lent_made_or_looked_up(pool):
    changes = Null().changes(pool, np.arange(5), 0)
    assert (dict(changes.lenders), changes.known, changes.examples) == ({}, None, None)


def test_it_does_not_depend_on_the_seed(pool):
    assert made(Null(), pool, seed=0) == made(Null(), pool, seed=1)


def test_every_prediction_is_eligible(pool):
    assert Null().eligible(pool, np.arange(3), pa.array(["yes", "no", ""])).tolist() == [True] * 3


def test_it_is_not_random_changes_no_part_and_expects_no_change():
    null = Null(limit=3)
    assert (null.name, null.parts, null.draws, null.expectation, null.limit) == ("null", (), 0, "stay", 3)
    assert pickle.loads(pickle.dumps(null)) == null
