"""Random numbers are a function of their key, and of nothing else."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chisquare

from heedful.interventions import Null, Swap, base, manifest_hash
from heedful.records import Example, Examples, generator, keys, random_key, randomness, words_of
from heedful.records.randomness import below, philox

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]))
part_of_key = st.integers() | words
key_tuples = st.lists(part_of_key, min_size=1, max_size=4).map(tuple)


def numbers(*key: str | int) -> list[int]:
    return generator(*key).integers(2**63, size=4).tolist()


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ((1,), ("1",)),
        (("ab", "c"), ("a", "bc")),
        (("a", ""), ("a",)),
        ((1, 23), (12, 3)),
        (("a", "b"), ("b", "a")),
        ((-1,), (1,)),
        ((0,), (2**64,)),
    ],
)
def test_keys_that_look_alike_are_told_apart(key, other):
    assert numbers(*key) != numbers(*other)


def test_the_numbers_are_those_of_every_earlier_run():
    """Published rows can be made again only as long as these stand."""
    assert int(generator(0, "swap", "mnli/validation/7", 3).integers(1000)) == 701
    assert [int(generator(seed, "swap", 1, "premise", "u", 0).integers(10**6)) for seed in range(3)] == [
        14846,
        131999,
        706549,
    ]


ONES = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((ONES, ONES, ONES, ONES), (ONES, ONES), "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
    ids="zeros ones pi".split(),
)
def test_philox_gives_the_known_answers_of_its_authors(counter, key, expected):
    (low, high), columns = key, [np.array([word], dtype=np.uint32) for word in counter]
    for given_as in (counter, columns):
        words = philox(low | high << 32, given_as)
        assert (words.dtype, words.shape) == (np.uint32, (4, 1))
        assert [f"{word:08x}" for word in words[:, 0]] == expected.split()


counters = st.lists(st.tuples(*[st.integers(0, ONES)] * 4), min_size=1, max_size=20)


@given(counters, st.integers(0, 2**64 - 1))
def test_philox_is_a_function_of_each_counter_alone(counters, key):
    columns = np.array(counters, dtype=np.uint32).T
    words = philox(key, columns)
    np.testing.assert_array_equal(np.hstack([philox(key, counter) for counter in counters]), words)
    with_one_number = philox(key, (*columns[:3], counters[0][3]))
    same = columns[3] == counters[0][3]
    np.testing.assert_array_equal(with_one_number[:, same], words[:, same])
    assert (with_one_number[:, ~same] != words[:, ~same]).any(axis=0).all()


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5, unique=True), key_tuples, key_tuples)
def test_words_depend_on_key_uid_draw_and_block(uid_keys, key, other):
    assume(key != other)
    found = np.array(uid_keys, dtype=np.uint64)
    words = words_of(random_key(*key), found, 3, 1)
    assert words.shape == (4, len(uid_keys))
    np.testing.assert_array_equal(words, words_of(random_key(*key), found, np.full(len(found), 3), 1))
    others = [
        words_of(random_key(*other), found, 3, 1),
        words_of(random_key(*key), found, 2, 1),
        words_of(random_key(*key), found, 3, 0),
        words_of(random_key(*key), found ^ np.uint64(1), 3, 1),
        words_of(random_key(*key), found ^ np.uint64(2**63), 3, 1),
    ]
    assert all((words != o).any(axis=0).all() for o in others)
    assert len(set(map(tuple, words.T.tolist()))) == len(uid_keys)


def test_words_of_neighbouring_uids_draws_and_blocks_are_uniform_and_uncorrelated():
    uid_keys = keys(f"d/validation/{i}" for i in range(4000))
    words = [words_of(random_key(0, "test"), uid_keys, draw, block) for draw in range(2) for block in range(2)]
    shares = np.vstack(words) / 2**32
    for row in shares:
        assert chisquare(np.histogram(row, bins=20, range=(0, 1))[0]).pvalue > 0.0005
    correlation = np.corrcoef(np.vstack([shares, np.roll(shares, 1, axis=1)]))
    assert abs(correlation - np.eye(len(correlation))).max() < 4.5 / np.sqrt(4000)


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 255, 256])
def test_each_number_below_a_bound_comes_from_equally_many_words(bound, monkeypatch):
    """All words there are, of eight bits instead of 32."""
    monkeypatch.setattr(randomness, "HALF", np.uint64(8))
    monkeypatch.setattr(randomness, "LOW", np.uint64(255))
    monkeypatch.setattr(randomness, "WORDS", np.uint64(256))
    numbers_, taken = below(np.arange(256, dtype=np.uint32), bound)
    counts = np.bincount(numbers_[taken], minlength=bound)
    assert counts.tolist() == [256 // bound] * bound


def pool(*words_: str) -> Examples:
    return Examples.of([Example(f"u{i}", {"a": w, "b": w + w}, "yes") for i, w in enumerate(words_)])


@pytest.mark.parametrize(
    ("plan", "words_", "seed"),
    [
        ([Swap("b", "no")], "xy", 0),
        ([Swap("a", "no", draws=4)], "xy", 0),
        ([Swap("a", "no", version=99)], "xy", 0),
        ([Swap("a", "no", name="other")], "xy", 0),
        ([Swap("a", "no"), Null()], "xy", 0),
        ([], "xy", 0),
        ([Swap("a", "no")], "xz", 0),
        ([Swap("a", "no")], "xy", 1),
        ([Swap("a", "no", limit=1)], "xy", 0),
    ],
    ids="part draws version name more none pool seed limit".split(),
)
def test_a_manifest_sees_what_makes_other_changes(plan, words_, seed):
    assert manifest_hash(plan, pool(*words_), seed) != manifest_hash([Swap("a", "no")], pool("x", "y"), 0)


def test_a_manifest_sees_by_which_rule_a_limit_chooses_where_one_binds(monkeypatch):
    plans = [Swap("a", "no", limit=limit) for limit in (None, 2, 1)]
    before = [manifest_hash([plan], pool("x", "y"), 0) for plan in plans]
    monkeypatch.setattr(base, "LIMITED", 99)
    after = [manifest_hash([plan], pool("x", "y"), 0) for plan in plans]
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, True, False]
