"""Factors against loops over words, and control words against the parses of HANS."""

import gzip
import json
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.attributions import alignment
from heedful.metrics.attributions.attribution import normalised
from heedful.metrics.attributions.factors import FACTORS, control_words, factors_named, has_swapped_words
from heedful.records import SettingError
from heedful.records.text import words as words_of

from attribution_rows import example
from refusals import refused

WORDS = ("the", "cat", "dog", "?")
sentence = st.lists(st.tuples(st.sampled_from(WORDS), st.integers(-9, 9).map(lambda k: k / 8)), min_size=1, max_size=7)


def made(first, second):
    a, b = (" ".join(word for word, _ in side) for side in (first, second))
    return example(a, [x for _, x in first], b, [x for _, x in second], separators=[0.125, 0.5])


def largest(values):
    """The number with the largest absolute value; 0 for a tie between opposite signs."""
    top = {x for x in values if abs(x) == max(map(abs, values))}
    return sum(top) / len(top)


@given(sentence, sentence)
def test_factors_of_two_parts_are_those_of_loops(first, second):
    of = made(first, second)
    phi_a, phi_b = ([x for _, x in side] for side in (first, second))
    a, b = of.words.values()
    index, swap = ([], [])
    for phi, shares, places in zip((phi_a, phi_b), alignment.aligned(a, b), alignment.swapped(a, b), strict=True):
        index.append(sum(x * share for x, share in zip(phi, shares, strict=True)))
        swap.append([phi[i] for i in places])
    expected = {
        "max_diff": max(phi_a) - max(phi_b),
        "sum_diff": sum(phi_a) - sum(phi_b),
        "index_diff": index[0] - index[1],
        "first_tok": 0.125,
        "const": None,
        "swap_avg": np.mean(swap[0] + swap[1]) if swap[0] else 0.0,
        "swap_max_diff": largest(swap[0]) - largest(swap[1]) if swap[0] else 0.0,
        "irreg": None, "adj": None, "verb": None,
    }  # fmt: skip
    found = {name: factor(of) for name, factor in FACTORS.items()}
    assert found == {name: None if x is None else pytest.approx(x) for name, x in expected.items()}
    assert has_swapped_words(of) == bool(swap[0])


@given(sentence, st.integers(0, 8))
def test_the_window_is_two_words_on_either_side_of_the_target(words, target):
    of = example(" ".join(w for w, _ in words), [x for _, x in words], target=str(target))
    near = [x for i, (_, x) in enumerate(words) if abs(i - target) <= 2]
    expected = None if target >= len(words) else pytest.approx(-sum(near))
    assert [FACTORS[name](of) for name in ("irreg", "adj", "verb")] == [expected] * 3
    for task, own in (("irregular_form", "irreg"), ("syntactic_category", "adj"), ("main_verb", "verb")):
        in_task = replace(of, uid=f"msgs-{task}_lexical_content_the/test/7")
        values = {name: FACTORS[name](in_task) for name in ("irreg", "adj", "verb")}
        assert values == dict.fromkeys(values) | {own: expected}


def test_a_tie_between_opposite_signs_counts_as_0():
    of = example("good dog , bad cat", [-0.5, 0, 0, 0.5, 0], "bad dog , good cat", [0.125, 0, 0, 0.25, 0])
    assert FACTORS["swap_max_diff"](of) == -0.25


def test_factors_of_two_parts_are_not_defined_for_one():
    of = example("the cat slept", [1, 2, 3], target="")
    assert {name: factor(of) for name, factor in FACTORS.items()} == dict.fromkeys(FACTORS) | {"first_tok": 0.0}
    assert has_swapped_words(of) is None


@given(sentence, sentence)
def test_normalised_sizes_sum_to_one(first, second):
    of = made(first, second)
    found = normalised(of)
    total = sum(abs(x) for _, x in first + second) + 0.625
    assert found.separator_phi == pytest.approx(of.separator_phi / total)
    assert [*found.phi["a"], *found.phi["b"]] == pytest.approx([x / total for _, x in first + second])
    assert normalised(silent := example("a", [0.0])) is silent


def leaves(parse):
    """Pairs (tag, word) of a bracketed parse."""
    return re.findall(r"\(([^\s()]+) ([^\s()]+)\)", parse)


def of_parse(subcase, parse):
    """Positions of control words by the parse: before the first noun phrase, a verb with "that", or a conjunction."""
    tagged = leaves(parse)
    if "verb" in subcase and "adverb" not in subcase:
        k = next(k for k, (tag, word) in enumerate(tagged) if (tag, word) == ("IN", "that"))
        return [k - 1, k]
    if "junction" in subcase:
        return [k for k, (tag, _) in enumerate(tagged) if tag == "CC"]
    clause = re.search(r"\(S \(NP \(DT the", parse).start()  # first embedded clause
    return list(range(len(leaves(parse[:clause]))))


def test_control_words_are_those_of_the_parse_in_all_ten_subcases_of_hans(shared_data):
    path = shared_data / "hans" / "evaluation.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"no HANS in {path}")
    with gzip.open(path, "rt") as file:
        rows = [row for row in map(json.loads, file) if row["heuristic"] == "constituent"]
    right = Counter()
    for row in rows:
        words, subcase = words_of(row["premise"]), row["subcase"]
        assert words == [word for _, word in leaves(row["premise_parse"])]
        expected, places = of_parse(subcase, row["premise_parse"]), control_words(words, subcase)
        right[subcase] += places is not None and places.tolist() == expected
    assert right == Counter(row["subcase"] for row in rows)
    assert (len(right), sum(right.values())) == (10, 10_000)


def test_const_is_the_mean_phi_of_control_words_and_not_defined_without_them():
    of = example("He knew that it ran", [9, 2, 4, 9, 9], "it ran", [9, 9], subcase="ce_embedded_under_verb")
    assert FACTORS["const"](of) == 3
    assert control_words("If it ran , he slept".split(), "ln_passive") is None
    assert control_words("It ran".split(), "cn_embedded_under_if") is None
    assert FACTORS["const"](example("It ran", [1, 0], "it", [0], subcase="cn_embedded_under_if")) is None


def test_a_factor_of_ones_own_is_a_function_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "my_factors.py").write_text("def words(of):\n    return len(of.words['a'])\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    chosen = factors_named(["max_diff", "my_factors:words", "max_diff"])
    values = {name: factor(example("the cat slept", [1, 2, 3], "no", [0])) for name, factor in chosen.items()}
    assert values == {"max_diff": 3, "my_factors:words": 3}
    for name in ("maxdiff", "no_such_file:f", "my_factors:f"):
        with refused(SettingError, f"factors {name}", "max_diff", "module:function"):
            factors_named([name])
