"""Contexts and word pairs make the examples that they should, and say in which row they are wrong."""

import itertools
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules.loaders.natural_logic import compose
from heedful.records import DataError

from own_data import context_id
from refusals import refused


def context(sentence="He saw a x.", monotonicity="up", slots="s", operator=""):
    marks = {"singular": "s" in slots, "mass": "m" in slots, "plural": "p" in slots}
    marks = {slot: "x" if marked else "" for slot, marked in marks.items()}
    return {"context": sentence, "monotonicity": monotonicity, "operator": operator} | marks


def words(x="boy", y="child", relation="leq", grammar="ss"):
    return {"x": x, "y": y, "x_grammar": grammar[0], "y_grammar": grammar[1], "insertion_rel": relation}


def composed(contexts, pairs):
    return list(compose(enumerate(contexts, 1), enumerate(pairs, 1)))


def test_a_repeated_pair_counts_once_whichever_way_and_grammar():
    once = composed([context(slots="sm")], [words()])
    assert composed([context(slots="sm")], [words(), words(" boy ", "child ")]) == once
    assert composed([context(slots="sm")], [words(), words("child", "boy", "geq")]) == once
    assert composed([context(slots="sm")], [words(), words(grammar="mm")]) == once
    assert composed([context(slots="m")], [words(), words(grammar="mm")]) == once
    assert len(composed([context()], [words("sofa", "couch", "eq"), words("couch", "sofa", "eq")])) == 2
    assert len(composed([context()], [words("sofa", "sofa", "eq")])) == 1


def test_the_order_of_the_rows_changes_nothing():
    """Repeated contexts that differ in operator and marks, and pairs that stand both ways, among them."""
    contexts = [context(), context(operator="a", slots="sm"), context(operator="b"), context("No x.", "down")]
    pairs = [words("hound", "dog"), words("dog", "hound"), words(), words("rap", "food", "none", "mm")]
    expected = sorted(composed(contexts, pairs), key=lambda row: row["uid"])
    assert len(expected) == 26
    assert len({row["uid"] for row in expected}) == 26
    assert {row["operator"] for row in expected} == {"", "a", "b"}
    for shuffled in itertools.permutations(contexts):
        for others in (pairs[::-1], pairs[2:] + pairs[:2]):
            assert sorted(composed(shuffled, others), key=lambda row: row["uid"]) == expected


def test_a_word_is_taken_to_the_letter():
    found = composed([context("An x's tax, exactly.")], [words(r"\1 \g<0>", "x")])
    assert (found[0]["premise"], found[0]["hypothesis"]) == (r"An \1 \g<0>'s tax, exactly.", "An x's tax, exactly.")


@pytest.mark.parametrize(
    ("contexts", "pairs", "where", "facts"),
    [
        ([context(), context("No tax.")], [words()], "contexts.tsv, row 2", ["'No tax.'"]),
        ([context("An x is an x.")], [words()], "contexts.tsv, row 1", ["'An x is an x.'"]),
        ([context(monotonicity="flat")], [words()], "contexts.tsv, row 1", ["monotonicity", "'flat'", "neither"]),
        ([context() | {"mass": "y"}], [words()], "contexts.tsv, row 1", ["mass", "'y'"]),
        ([context(), context(monotonicity="down")], [words()], "contexts.tsv, row 2", ["'He saw a x.'", "row 1"]),
        ([{"context": "x"}], [words()], "contexts.tsv, row 1", ["'monotonicity'"]),
        ([context()], [words(relation="lt")], "insertions.tsv, row 1", ["insertion_rel", "'lt'", "leq"]),
        ([context()], [words(), words("a", "b", grammar="sq")], "insertions.tsv, row 2", ["y_grammar", "'q'"]),
        ([context()], [words(), words(relation="none")], "insertions.tsv, row 2", ["'boy'", "'child'", "row 1"]),
    ],
)
def test_a_mistake_is_named_with_file_and_row(contexts, pairs, where, facts):
    with refused(DataError, f"folder/{where}: ", *facts):
        list(compose(enumerate(contexts, 1), enumerate(pairs, 1), "folder/"))


WORDS = st.sampled_from(["boy", "child", "girl", "ox", "fox terrier", "x", "rice", "tax"])
MONOTONICITY = st.sampled_from(["up", "down", "neither"])
RELATION = st.sampled_from(["leq", "geq", "eq", "none"])
CONTEXTS = st.lists(
    st.tuples(st.sampled_from(["A x.", "x", "No axe, x!", "x's tax"]), st.sets(st.sampled_from("smp"))), max_size=6
)
TWO = st.tuples(WORDS, WORDS, st.text("smp", min_size=2, max_size=2)).filter(lambda pair: pair[0] != pair[1])
PAIRS = st.lists(TWO, max_size=6)


def reference(contexts, pairs, monotonicity_of, relation_of):
    """How often each (premise, hypothesis, label, relation) must come, by trial of all words in all contexts."""
    found = Counter()
    both_ways = {(x, y, relation_of[x, y], g) for x, y, g in pairs}
    both_ways |= {(y, x, {"leq": "geq", "geq": "leq"}.get(r, r), g) for x, y, r, g in both_ways}
    vocabulary = {word for x, y, _ in pairs for word in (x, y)}
    for sentence, slots in contexts:
        before, after = re.fullmatch(r"(|.*\W)x(|\W.*)", sentence).groups()
        for first, second, relation in itertools.product(vocabulary, vocabulary, ["leq", "geq", "eq", "none"]):
            if any((first, second, relation, g) in both_ways and set(g) <= slots for g in map("".join, GRAMMARS)):
                m = monotonicity_of[sentence]
                entails = relation == "eq" or (relation == "leq" and m == "up") or (relation == "geq" and m == "down")
                label = "entailment" if entails else "non-entailment"
                found[before + first + after, before + second + after, label, relation] += 1
    return found


GRAMMARS = list(itertools.product("smp", repeat=2))


@given(CONTEXTS, PAIRS, st.data())
def test_composition_is_that_of_the_reference(contexts, pairs, data):
    monotonicity_of = {sentence: data.draw(MONOTONICITY) for sentence, _ in contexts}
    relation_of = {(x, y): data.draw(RELATION) for x, y, _ in pairs}
    rows = composed(
        [context(sentence, monotonicity_of[sentence], slots) for sentence, slots in contexts],
        [words(x, y, relation_of[x, y], grammar) for x, y, grammar in pairs],
    )
    seen = Counter((r["premise"], r["hypothesis"], r["gold"], r["relation"]) for r in rows)
    assert seen == reference(contexts, pairs, monotonicity_of, relation_of)
    assert len({row["uid"] for row in rows}) == len(rows)
    sentences = {context_id(sentence): sentence for sentence, _ in contexts}
    for row in rows:
        first, second = words_of(row)
        before, after = re.fullmatch(r"(|.*\W)x(|\W.*)", sentences[row["context"]]).groups()
        assert (row["premise"], row["hypothesis"]) == (before + first + after, before + second + after)
        assert row["uid"].partition("/")[0] == row["context"]
        assert row["pair"] == "/".join(sorted((first, second)))


def words_of(row):
    first, _, second = row["uid"].split("/", 1)[1].split("#")[0].split("|")
    return first, second
