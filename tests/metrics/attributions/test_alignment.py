"""Words that two segments share, against a search over all subsequences."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.attributions.alignment import FUNCTION_WORDS, aligned, is_content, shared, swapped

words = st.lists(st.sampled_from(["the", "The", "cat", "dog", "to", "?"]), max_size=7)


def longest(a, b):
    """The length of the longest common subsequence, by trying all of the first list."""
    a, b = [w.lower() for w in a], [w.lower() for w in b]

    def is_within(short):
        rest = iter(b)
        return all(word in rest for word in short)

    return max(k for k in range(len(a) + 1) if any(map(is_within, combinations(a, k))))


@given(words, words)
def test_the_alignment_is_a_longest_common_subsequence(a, b):
    pairs = aligned(a, b)
    assert len(pairs) == longest(a, b)
    assert all(a[i].lower() == b[j].lower() for i, j in pairs)
    assert all((after > before).all() for before, after in zip(pairs, pairs[1:], strict=False))


@given(words, words)
def test_swapped_words_are_in_both_outside_the_alignment(a, b):
    pairs = aligned(a, b).tolist()
    outside_a = [i for i in range(len(a)) if i not in [i for i, _ in pairs]]
    outside_b = [j for j in range(len(b)) if j not in [j for _, j in pairs]]
    of_a = [i for i in outside_a if a[i].lower() in [b[j].lower() for j in outside_b]]
    of_b = [j for j in outside_b if b[j].lower() in [a[i].lower() for i in outside_a]]
    if any(a[i].lower() in ("cat", "dog") for i in of_a):
        of_a = [i for i in of_a if a[i].lower() in ("cat", "dog")]
        of_b = [j for j in of_b if b[j].lower() in ("cat", "dog")]
    assert [places.tolist() for places in swapped(a, b)] == [of_a, of_b]


@given(words, words)
def test_shared_words_occur_in_both(a, b):
    of_a, of_b = shared(a, b)
    assert of_a.tolist() == [i for i, w in enumerate(a) if w.lower() in [v.lower() for v in b]]
    assert of_b.tolist() == [j for j, w in enumerate(b) if w.lower() in [v.lower() for v in a]]


def test_the_swapped_words_of_the_paper():
    """Section 6.1: "good" and "bad"."""
    a = "What factors cause a good person to become bad ?".split()
    b = "What factors cause a bad person to become good ?".split()
    assert [[text[i] for i in places] for text, places in zip((a, b), swapped(a, b), strict=True)] == [
        ["good", "bad"],
        ["bad", "good"],
    ]


def test_function_words_are_lower_case_and_stand_once():
    assert all(word == word.lower() for word in FUNCTION_WORDS)
    assert is_content("yes")
    assert not is_content("no")
