"""Examples as an Arrow table: round trips, and the relations between examples."""

import hashlib
import pickle
import re
import unicodedata
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.records import Composed, Example, Examples, ExamplesBuilder, examples, keys, repeats
from heedful.records.example import content_id
from heedful.records.partners import related, row_hashes

from changed_examples import sharing


class SmallBatches(ExamplesBuilder):
    """Several record batches from a few rows."""

    BATCH = 3


def build(rows: list[tuple], builder: type[ExamplesBuilder] = SmallBatches) -> Examples:
    """A pool from (premise, hypothesis, label, topic) tuples."""
    spool = builder(("premise", "hypothesis"), ("topic",), ("source",))
    for i, (premise, hypothesis, label, topic) in enumerate(rows):
        spool.add(f"d/validation/{i}", (premise, hypothesis), label, (topic,), (f"line {i}",))
    return spool.finish()


few = st.sampled_from(["", "a", "b", "c", "d"])
rows_lists = st.lists(st.tuples(few, few, st.sampled_from(["yes", "no", None]), few), min_size=1, max_size=12)
any_rows = st.lists(st.tuples(st.text(), st.text(), st.none() | st.text(), st.text()), min_size=1, max_size=10)


@given(any_rows)
def test_any_text_survives_the_round_trip(rows):
    pool = build(rows)
    assert len(pool) == len(rows)
    assert [(*e.parts.values(), e.label, e.groups["topic"], e.meta["source"]) for e in pool] == [
        (*row[:3], " ".join(unicodedata.normalize("NFC", row[3]).split()), f"line {i}") for i, row in enumerate(rows)
    ]
    assert all(tuple(e.parts) == ("premise", "hypothesis") for e in pool)


def test_slices_are_those_of_a_list():
    pool = build([(f"p{i}", "h", "yes", "t") for i in range(10)])
    some = Composed(pool, np.array([3, 1, 4, 1, 5]), {"premise": np.array([2, 7, 1, 8, 2])})
    for part in (slice(2, 5), slice(None), slice(None, None, -2), slice(-3, None), slice(8, 40), slice(4, 4)):
        assert list(pool[part]) == list(pool)[part]
        assert list(some[part]) == list(some)[part]


@pytest.mark.parametrize("n", [4096, 2 * 4096 + 5])
def test_round_trip_over_the_real_batch_size(n):
    pool = build([(f"p{i}", f"h{i % 7}", "yes", str(i % 5)) for i in range(n)], ExamplesBuilder)
    assert len(pool) == n
    assert max(batch.num_rows for batch in pool.table.to_batches()) <= 4096  # what is held at once
    assert list(pool.column("uid")) == [f"d/validation/{i}" for i in range(n)]
    assert list(pool.column("parts.premise")) == [f"p{i}" for i in range(n)]
    for i in sorted({0, 1, 4094, 4095, 4096, 4097, 8191, 8192, n - 1} & set(range(n))):
        assert pool[i] == pool[f"d/validation/{i}"]
        assert pool[i].parts == {"premise": f"p{i}", "hypothesis": f"h{i % 7}"}
        assert pool.position(pool.uid(i)) == i


def test_positions_and_uids():
    pool = build([("a", "b", "yes", "t"), ("c", "d", "no", "u")])
    assert pool["d/validation/1"] == pool[1] == pool[-1] == pool[np.int64(1)]
    with pytest.raises(KeyError):
        pool.position("d/validation/2")
    for out in (2, -3):
        with pytest.raises(IndexError):
            pool[out]


@given(rows_lists, st.sampled_from([("premise",), ("hypothesis",), ("third",), ("premise", "third")]))
def test_a_part_that_is_the_same_in_all_relates_nobody(rows, lent):
    """Brute force: as if it were not there, unless it alone is lent; then nobody has a partner."""
    examples = [
        Example(f"d/v/{i}", {"premise": f"p {p}", "hypothesis": f"h {h}", "third": "same"}, None, {"topic": t})
        for i, (p, h, _, t) in enumerate(rows)
    ]
    partners = Examples.of(examples).partners(lent)
    real = [tuple(example.parts.values()) for example in examples]
    same = {k for k in range(3) if len({parts[k] for parts in real}) == 1}
    moved = {("premise", "hypothesis", "third").index(part) for part in lent}
    for i, mine in enumerate(real):
        expected = [
            j
            for j, theirs in enumerate(real)
            if rows[i][3] != rows[j][3]
            and not any(mine[k] == theirs[k] for k in range(3) if k not in same or moved <= same)
            and not any(all(r[k] == (theirs if k in moved else mine)[k] for k in range(3)) for r in real if r != mine)
        ]
        assert partners.all_of(i).tolist() == expected
        assert partners.counts[i] == len(expected)


def relatives(rows: list[tuple], i: int) -> list[int]:
    """Brute force: a content counts wherever it stands, a topic among topics."""
    (premise, hypothesis, _, topic) = rows[i]
    return [j for j, (p, h, _, t) in enumerate(rows) if {p, h} & {premise, hypothesis} or t == topic]


@given(rows_lists)
def test_who_shares_what_is_the_same_for_one_for_many_and_counted(rows):
    pool = build(rows)
    expected = [relatives(rows, i) for i in range(len(rows))]
    assert [sharing(pool, i).tolist() for i in range(len(rows))] == expected
    i, j = np.indices((len(rows), len(rows))).reshape(2, -1)
    assert related(pool.table).share(i, j).tolist() == [
        b in expected[a] for a, b in zip(i.tolist(), j.tolist(), strict=True)
    ]
    assert related(pool.table).strangers.tolist() == [len(rows) - len(of) for of in expected]
    assert related(pool.table).strangers.dtype == np.int64


@given(
    st.lists(st.tuples(*[st.sampled_from("abc")] * 3, *[st.integers(0, 3)] * 2), min_size=1, max_size=40),
    st.lists(st.integers(0, 39), max_size=20),
)
def test_candidates_are_counted_by_inclusion_and_exclusion_of_many_groups(rows, alone):
    """Five columns of few values; some examples have values of their own."""
    rows = [tuple(f"own {i}.{k}" for k in range(5)) if i in alone else row for i, row in enumerate(rows)]
    spool = SmallBatches("xyz", ("topic", "table"))
    for i, row in enumerate(rows):
        spool.add(str(i), row[:3], "yes", (str(row[3]), str(row[4])))
    expected = [
        sum(not set(a[:3]) & set(b[:3]) and str(a[3]) != str(b[3]) and str(a[4]) != str(b[4]) for b in rows)
        for a in rows
    ]
    assert related(spool.finish().table).strangers.tolist() == expected


@given(st.lists(st.binary(max_size=4), max_size=8), st.sampled_from(["", "f" * 63, "g" * 64, "F" * 64, "é" * 32]))
def test_the_key_of_a_hash_is_its_first_64_bits(contents_, other):
    hashes = [hashlib.sha256(content).hexdigest() for content in contents_]
    column = pa.chunked_array([pa.array(hashes[:3], pa.string()), pa.array(["", *hashes[3:]], pa.string())[1:]])
    found = row_hashes(pa.table({"hash": column}), ["hash"])
    assert found.dtype == np.uint64
    assert found.tolist() == [int.from_bytes(bytes.fromhex(h)[:8], "little") for h in hashes]
    texts = [*hashes, other]
    assert (row_hashes(pa.table({"hash": texts}), ["hash"]) == keys(texts)).all()


@given(rows_lists, st.data())
def test_take_keeps_the_examples_in_the_order_asked_for(rows, data):
    pool = build(rows)
    positions = data.draw(st.permutations(range(len(rows))))[: data.draw(st.integers(0, len(rows)))]
    taken = pool.take(positions)
    assert list(taken) == [pool[i] for i in positions]
    for i, position in enumerate(positions):
        assert taken.position(pool.uid(position)) == i
        related = {positions[j] for j in sharing(taken, i)}
        assert related == set(sharing(pool, position).tolist()) & set(positions)


def test_keep_parts_keeps_these_parts_in_this_order_and_all_groups():
    pool = build([("a", "b", "yes", "t"), ("a", "c", "no", "u"), ("e", "f", None, "v")])
    kept = pool.keep_parts(["hypothesis"])
    assert kept.parts == ("hypothesis",)
    assert kept[0].parts == {"hypothesis": "b"}
    assert kept[0].groups == pool[0].groups
    assert (kept[2].label, kept[2].meta, kept[2].uid) == (None, {"source": "line 2"}, "d/validation/2")
    assert sharing(kept, 0).tolist() == [0, 1]  # related by the premise, although it is left out
    assert list(pool.keep_parts(["hypothesis", "premise"])[0].parts.items()) == [("hypothesis", "b"), ("premise", "a")]


@given(rows_lists, rows_lists)
def test_fingerprints_are_equal_for_equal_content_in_whatever_batches(rows, others):
    pool = build(rows)
    assert (pool.fingerprint == build(others).fingerprint) == (rows == others)
    assert build(rows, ExamplesBuilder).fingerprint == pool.take(range(len(rows))).fingerprint == pool.fingerprint


def test_the_fingerprint_sees_uids_and_their_order():
    a, b = Example("u", {"x": "1"}, "yes"), Example("v", {"x": "2"}, "yes")
    c = Example("w", {"x": "2"}, "yes")
    assert len({Examples.of(e).fingerprint for e in ([a, b], [b, a], [a, c], [a])}) == 4


def test_a_pool_can_be_pickled_with_cached_lookups():
    pool = build([(f"p{i % 4}", f"h{i}", "yes", str(i)) for i in range(10)])
    _ = pool[3], pool.position("d/validation/2"), pool.partners(["premise"]), pool.uids, pool.fingerprint
    copy = pickle.loads(pickle.dumps(pool))
    assert (list(copy), copy.fingerprint) == (list(pool), pool.fingerprint)
    assert (copy.parts, copy.groups, copy.meta) == (pool.parts, pool.groups, pool.meta)
    assert sharing(copy, 1).tolist() == sharing(pool, 1).tolist() == [1, 5, 9]


def test_of_computes_content_groups_and_takes_over_the_others():
    pool = Examples.of([Example("u", {"a": "x"}, "yes", {"a": "not a hash", "topic": "t"}, {"m": "1"})])
    assert pool[0].groups["topic"] == "t"
    assert pool[0].groups["a"] == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"  # sha256("x")
    assert pool[0].meta == {"m": "1"}
    assert (pool.parts, pool.groups, pool.meta) == (("a",), ("a", "topic"), ("m",))


@given(any_rows)
def test_keys_tell_texts_apart_and_depend_on_nothing_else(rows):
    texts = [text for row in rows for text in row if text is not None]
    found = keys(texts)
    assert found.dtype == np.uint64
    assert len(set(found.tolist())) == len(set(texts))
    assert keys(reversed(texts)).tolist() == found.tolist()[::-1]
    assert keys(["heedful"]).tolist() == [int.from_bytes(hashlib.blake2b(b"heedful", digest_size=8).digest(), "little")]


@given(st.permutations([f"d/{i}" for i in (1, 2, 9, 10, 11, 100)]))
def test_the_order_of_uids_is_that_of_sorted(uids):
    pool = Examples.of([Example(uid, {"premise": "a"}) for uid in uids])
    assert [pool.uid(int(i)) for i in pool.uid_order] == sorted(uids)


def test_long_texts_are_held_by_size_not_by_number(monkeypatch):
    monkeypatch.setattr(examples, "CHARACTERS", 100)
    pool = build([("x" * 60, "y" * 60, "yes", "t")] * 5, ExamplesBuilder)
    assert [batch.num_rows for batch in pool.table.to_batches() if batch.num_rows] == [1] * 5
    assert len(pool) == 5


def test_other_names_for_the_parts_change_nothing_else():
    pool = Examples.of([Example("u", {"a": "x", "b": "y"}, "yes", {"g": "1"}, {"m": "z"})])
    renamed = pool.rename_parts(["premise", "hypothesis"])
    assert renamed.parts == ("premise", "hypothesis")
    assert (dict(renamed[0].parts), renamed[0].label) == ({"premise": "x", "hypothesis": "y"}, "yes")
    content = {"premise": pool[0].groups["a"], "hypothesis": pool[0].groups["b"]}
    assert (dict(renamed[0].groups), dict(renamed[0].meta)) == (content | {"g": "1"}, {"m": "z"})
    assert dict(pool.rename_parts(["g", "a"])[0].groups) == {"g": pool[0].groups["a"], "a": pool[0].groups["b"]}
    with pytest.raises(ValueError):
        pool.rename_parts(["premise"])


def test_concatenated_pools_keep_the_groups_and_meta_columns_that_all_of_them_have():
    pools = [
        Examples.of([Example(f"{u}/1", {"a": u}, "yes", {"g": u}, {"m": u})]).with_column("meta.split", pa.array([u]))
        for u in "uv"
    ]
    both = Examples.concatenate(pools)
    assert list(both) == [e for pool in pools for e in pool]
    assert [e.meta for e in both] == [{"m": u, "split": u} for u in "uv"]
    other = Examples.of([Example("w/1", {"a": "w"}, None, {}, {"m": "1"})])
    three = Examples.concatenate([both, other])
    assert (three.groups, three.meta, three.position("w/1")) == (("a",), ("m",), 2)
    assert [(e.uid, dict(e.parts), e.label) for e in three] == [
        (e.uid, dict(e.parts), e.label) for pool in (both, other) for e in pool
    ]


def test_the_content_of_an_example_is_its_label_and_all_of_its_parts():
    examples = [
        Example("u0", {"a": "x", "b": "y"}, "yes", {"g": "1"}),
        Example("u1", {"a": "x", "b": "y"}, "no", {"g": "1"}),
        Example("u2", {"a": "y", "b": "x"}, "yes", {"g": "1"}),
        Example("u3", {"a": "x", "b": "y"}, "yes", {"g": "2"}),
        Example("u4", {"a": "x", "b": "y"}, None, {"g": "1"}),
    ]
    pool = Examples.of(examples)
    found = pool.contents(["a", "b"]).to_pylist()
    assert all(re.fullmatch("[0-9a-f]{16}", content) for content in found)
    assert len(set(found)) == 4
    assert found[3] == found[0]  # a group that the YAML names is not content
    for same in (pool.contents(["b", "a"]), pool.keep_parts(["b"]).contents(["a", "b"])):
        assert same.to_pylist() == found


def test_clusters_are_those_of_the_named_group_and_stay_with_their_examples():
    table = [("u", "p1", "h1", "t1"), ("v", "p1", "h2", "t2"), ("w", "p2", "h3", "t1")]

    def build(*cluster: str) -> Examples:
        builder = ExamplesBuilder(("premise", "hypothesis"), ("topic",), (), {}, *cluster)
        for uid, premise, hypothesis, topic in table:
            builder.add(uid, (premise, hypothesis), None, (topic,))
        return builder.finish()

    assert list(build().column("cluster")) == ["t1", "t2", "t1"]
    of_premises = build("premise")
    assert list(of_premises.column("cluster")) == [content_id(row[1])[:16] for row in table]
    assert list(of_premises.keep_parts(["hypothesis"]).take([2, 0]).column("cluster")) == [
        content_id(row)[:16] for row in ("p2", "p1")
    ]
    alone = Examples.of([Example("x", {"premise": "p", "hypothesis": "h"})])
    assert not alone.has_clusters
    assert list(Examples.concatenate([build(), alone]).column("cluster")) == ["t1", "t2", "t1", "x"]
    assert not build().without_column("cluster").has_clusters
    assert build().fingerprint == of_premises.fingerprint  # the same examples


@given(st.lists(st.tuples(few, few), min_size=1, max_size=12))
def test_equal_examples_are_one_cluster_and_others_are_alone(pairs):
    made = [Example(f"d/{i}", {"p": f" {p}", "h": f"{h} "}, ("yes", "no")[i % 2]) for i, (p, h) in enumerate(pairs)]
    pool = Examples.of(made)
    found = pool.clusters(["p", "h"]).to_pylist()
    assert [cluster is None for cluster in found] == [pairs.count(pair) == 1 for pair in pairs]
    for cluster, pair in zip(found, pairs, strict=True):
        assert cluster is None or [cluster == other for other in found] == [pair == other for other in pairs]
    assert repeats(pool.content_keys(["p", "h"])) == len(pairs) - len(set(pairs))
    named = Examples.of(replace(e, groups={"topic": e.uid}) for e in made)
    assert named.clusters(["p", "h"]).to_pylist() == [e.uid for e in made]
