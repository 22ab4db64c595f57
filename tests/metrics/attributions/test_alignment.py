"""Common words of two lists, against a search over all of their subsequences."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.attributions.alignment import FUNCTION_WORDS, aligned, is_content, swapped

words = st.lists(st.sampled_from(["the", "The", "cat", "dog", "to", "?"]), max_size=6)


def longest(a, b):
    """All longest common subsequences as sets of pairs of positions, found by trying all positions."""
    a, b = [w.lower() for w in a], [w.lower() for w in b]
    for k in range(min(len(a), len(b)), -1, -1):
        found = [
            set(zip(of_a, of_b, strict=True))
            for of_a in combinations(range(len(a)), k)
            for of_b in combinations(range(len(b)), k)
            if [a[i] for i in of_a] == [b[j] for j in of_b]
        ]
        if found:
            return found
    raise AssertionError("the empty one is always there")


def moving(a, b):
    """Positions of the words that some longest common subsequence omits in both lists."""
    a, b = [w.lower() for w in a], [w.lower() for w in b]
    left_out = [([i for i in range(len(a)) if i not in dict(of)], [j for j in range(len(b)) if j not in
                 [j for _, j in of]]) for of in longest(a, b)]  # fmt: skip
    wanted = {word for of_a, of_b in left_out for word in {a[i] for i in of_a} & {b[j] for j in of_b}}
    wanted = {word for word in wanted if word in ("cat", "dog")} or wanted
    anywhere = ({i for of_a, _ in left_out for i in of_a}, {j for _, of_b in left_out for j in of_b})
    return tuple(
        [k for k in sorted(places) if text[k] in wanted] for text, places in zip((a, b), anywhere, strict=True)
    )


def listed(places):
    return tuple(of_words.tolist() for of_words in places)


@given(words, words)
def test_a_word_is_aligned_in_its_share_of_all_longest_common_subsequences(a, b):
    every = longest(a, b)
    expected_a = [sum(i in dict(of) for of in every) / len(every) for i in range(len(a))]
    expected_b = [sum(j in [j for _, j in of] for of in every) / len(every) for j in range(len(b))]
    assert listed(aligned(a, b)) == (expected_a, expected_b)


@given(words, words)
def test_swapped_words_are_those_that_some_longest_common_subsequence_leaves_out_in_both(a, b):
    assert listed(swapped(a, b)) == moving(a, b)


def test_function_words_are_lower_case_and_stand_once():
    assert all(word == word.lower() for word in FUNCTION_WORDS)
    assert is_content("yes")
    assert not is_content("no")
