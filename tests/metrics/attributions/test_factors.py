"""Factors against loops over words, on real control words, and what one of a user's own may do."""

import doctest
import gzip
import json
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.attributions import alignment, choice, factors, sample
from heedful.metrics.attributions.choice import factors_named, value_of
from heedful.metrics.attributions.factors import FACTORS, VARIANTS, control_words, has_swapped_words
from heedful.metrics.attributions.sample import example
from heedful.records import HeedfulError, SettingError
from heedful.records.parts.words import words as words_of

from refusals import refused

WORDS = ("the", "cat", "dog", "?")
sentence = st.lists(st.tuples(st.sampled_from(WORDS), st.integers(-9, 9).map(lambda k: k / 8)), min_size=1, max_size=7)


@pytest.mark.parametrize("module", [alignment, factors, sample], ids=lambda module: module.__name__)
def test_the_examples_of_the_docstrings_run(module):
    failed, tried = doctest.testmod(module)
    assert tried
    assert not failed


def test_each_factor_has_an_example():
    assert not [name for name, factor in FACTORS.items() if ">>>" not in getattr(factor, "func", factor).__doc__]
    assert list(FACTORS) == (
        ["max_diff", "sum_diff", "index_diff", "first_tok", "const"]
        + ["swap_avg", "swap_max_diff", "irreg", "adj", "verb"]
    )


def made(first, second):
    a, b = (" ".join(word for word, _ in side) for side in (first, second))
    return example(a, [x for _, x in first], b, [x for _, x in second], separators=[0.125, 0.5])


@given(sentence, sentence)
def test_factors_of_two_segments_are_those_of_loops(first, second):
    of = made(first, second)
    phi_a, phi_b = [x for _, x in first], [x for _, x in second]
    in_a, in_b = alignment.aligned(of.words["a"], of.words["b"])
    index = [sum(x * share for x, share in zip(phi, shares, strict=True)) for phi, shares in
             ((phi_a, in_a), (phi_b, in_b))]  # fmt: skip
    in_both = {w for w, _ in first} & {w for w, _ in second}
    bag_a, bag_b = ([x for w, x in side if w in in_both] for side in (first, second))
    swap_a, swap_b = ([phi[i] for i in of_side] for phi, of_side in
                      zip((phi_a, phi_b), alignment.swapped(of.words["a"], of.words["b"]), strict=True))  # fmt: skip

    def largest(values):
        top = {x for x in values if abs(x) == max(map(abs, values))}
        return sum(top) / len(top)

    expected = {
        "max_diff": max(phi_a) - max(phi_b),
        "sum_diff": sum(phi_a) - sum(phi_b),
        "index_diff": index[0] - index[1],
        "index_diff_mean": (index[0] - index[1]) / sum(in_a) if any(in_a) else None,
        "index_diff_bag": sum(bag_a) - sum(bag_b),
        "index_diff_bag_mean": sum(bag_a) / len(bag_a) - sum(bag_b) / len(bag_b) if in_both else None,
        "first_tok": 0.125,
        "swap_avg": sum(swap_a + swap_b) / len(swap_a + swap_b) if swap_a else 0.0,
        "swap_max_diff": largest(swap_a) - largest(swap_b) if swap_a else 0.0,
        "const": None, "irreg": None, "adj": None, "verb": None,
    }  # fmt: skip
    found = {name: factor(of) for name, factor in (FACTORS | VARIANTS).items()}
    assert found == {name: None if x is None else pytest.approx(x) for name, x in expected.items()}
    assert has_swapped_words(of) == bool(swap_a)


@given(sentence, st.integers(0, 8))
def test_the_window_is_two_words_on_either_side_of_the_target(words, target):
    of = example(" ".join(w for w, _ in words), [x for _, x in words], target=str(target))
    near = [x for i, (_, x) in enumerate(words) if abs(i - target) <= 2]
    expected = None if target >= len(words) else -sum(near)
    for factor in (FACTORS[name] for name in ("irreg", "adj", "verb")):
        assert factor(of) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("task", "own"), [("irregular_form", "irreg"), ("syntactic_category", "adj"), ("main_verb", "verb")]
)
def test_a_task_of_msgs_has_the_factor_of_its_own_feature(task, own):
    of = replace(example("it ran", [1, 2], target="0"), uid=f"msgs-{task}_lexical_content_the/test/7")
    values = {name: FACTORS[name](of) for name in ("irreg", "adj", "verb")}
    assert values == dict.fromkeys(values) | {own: -3}


def test_factors_of_two_segments_are_not_defined_for_one():
    of = example("the cat slept", [1, 2, 3], target="")
    assert {name: factor(of) for name, factor in FACTORS.items()} == dict.fromkeys(FACTORS) | {"first_tok": 0.0}
    assert has_swapped_words(of) is None


def leaves(parse):
    """(tag, word) of each word of a parse in brackets."""
    return re.findall(r"\(([^\s()]+) ([^\s()]+)\)", parse)


def of_parse(subcase, parse):
    """The control words by the parse alone: those before the first noun phrase, the verb with "that", or the CC."""
    tagged = leaves(parse)
    if "verb" in subcase and "adverb" not in subcase:
        k = next(k for k, (tag, word) in enumerate(tagged) if (tag, word) == ("IN", "that"))
        return [k - 1, k]
    if "junction" in subcase:
        return [k for k, (tag, _) in enumerate(tagged) if tag == "CC"]
    clause = re.search(r"\(S \(NP \(DT the", parse).start()  # the first clause within
    return list(range(len(leaves(parse[:clause]))))


@pytest.fixture(scope="module")
def constituents(shared_data):
    path = shared_data / "hans" / "evaluation.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"no HANS in {path}")
    with gzip.open(path, "rt") as file:
        rows = [json.loads(line) for line in file]
    return [row for row in rows if row["heuristic"] == "constituent"]


def test_control_words_are_those_of_the_parse_in_all_ten_subcases_of_hans(constituents):
    right = Counter()
    for row in constituents:
        words = words_of(row["premise"])
        assert words == [word for _, word in leaves(row["premise_parse"])]
        places = control_words(words, row["subcase"])
        right[row["subcase"]] += places is not None and places.tolist() == of_parse(
            row["subcase"], row["premise_parse"]
        )
    assert right == Counter(row["subcase"] for row in constituents)
    assert len(right) == 10
    assert sum(right.values()) == 10_000


def test_a_subcase_that_is_not_in_the_table_has_no_control_words():
    assert control_words("If it ran , he slept".split(), "ln_passive") is None
    assert control_words("It ran".split(), "cn_embedded_under_if") is None
    of = example("If it ran", [1, 0, 0], "it ran", [0, 0])
    assert FACTORS["const"](of) is None


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "my_factors.py").write_text(
        "longest = 3\n"
        "def longest_word(of):\n    return max(len(w) for part in of.words.values() for w in part)\n"
        "def broken(of):\n    return 1 / 0\n"
        "def text(of):\n    return 'much'\n"
        "def nan(of):\n    return float('nan')\n"
        "def never(of):\n    return None\n"
    )
    (tmp_path / "my_broken.py").write_text("import no_such_module_here\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*choice.sys.path])


def test_a_factor_of_ones_own_is_a_function_by_its_name(own):
    chosen = factors_named(["max_diff", "my_factors:longest_word", "my_factors:never", "max_diff"])
    assert list(chosen) == ["max_diff", "my_factors:longest_word", "my_factors:never"]
    of = example("the cat slept", [1, 2, 3], "no", [0])
    assert choice.values_of(chosen, of) == {"max_diff": 3, "my_factors:longest_word": 5, "my_factors:never": None}


@pytest.mark.parametrize(
    ("name", "error", "facts"),
    [
        ("maxdiff", SettingError, ["max_diff", "module:function"]),
        ("no_such_file:f", SettingError, ["ModuleNotFoundError"]),
        ("my_broken:f", SettingError, ["no_such_module_here"]),
        ("my_factors:f", SettingError, [" my_factors in ", "'f'"]),
        ("my_factors:longest", SettingError, [" my_factors in ", "'longest'"]),
        (":f", SettingError, ["ValueError"]),
    ],
)
def test_a_factor_that_cannot_be_found_is_said(own, name, error: type[HeedfulError], facts):
    with refused(error, f"factors {name}", *facts):
        factors_named([name])


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("my_factors:broken", ["sample", "shap", "ZeroDivisionError: division by zero"]),
        ("my_factors:text", ["'much'", "sample"]),
        ("my_factors:nan", [" nan ", "sample"]),
    ],
)
def test_a_factor_that_gives_no_number_is_said(own, name, facts):
    with refused(SettingError, name, *facts):
        value_of(name, factors_named([name])[name], example("it ran", [1, np.float64(2)]))
