"""Answers that are the same, and what they are worth: cases worked by hand, and the definition written out."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules.loaders.vqa_answers import most_frequent, normalised, spelled, worth

CASES = """
Yes=yes|  Hot   Dog =hot dog|T-shirt=t shirt|black/white=black white|on the left, near a tree.=on left near tree
two=2|None=0|twenty two=twenty 2|ten dogs=10 dogs|100,978=100978|1,000,000=1000000|red,blue=red blue|2, 3=2 3|3.5=3.5
.5=.5|5.=5|U.S.A.=usa|2:50 p.m.=2:50 pm|girl's=girl's|dont know=don't know|isnt=isn't|thats it=that's it
theyre=they're|its=its|well=well|were=were|10 oclock=10 o'clock|"stop"=stop|(nothing)=nothing|an apple a day=apple day
anthem=anthem|a=a|The=the|?=?|="""  # the rules know number words up to ten
PIECES = [*",.-': ?[]éİ\n", "  ", *"a The two none dont 1 22 Red".split()]


@pytest.mark.parametrize("case", [case for line in CASES.strip("\n").splitlines() for case in line.split("|")])
def test_answers_worked_by_hand(case: str) -> None:
    answer, _, expected = case.rpartition("=")
    assert normalised(answer) == expected


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_what_is_normalised_stays(answer: str) -> None:
    found = normalised(answer)
    assert normalised(found) == found
    assert found == " ".join(found.split())
    assert bool(found) == bool(answer.split())


def defined(answer: str, people: list[str]) -> float:
    """The mean over all groups without one person of min(1, how many in the group gave the answer / 3)."""
    groups = list(combinations(people, len(people) - 1))
    return sum(min(1.0, group.count(answer) / 3) for group in groups) / len(groups)


@given(st.lists(st.sampled_from(["red", "blue", "2", "", "white"]), min_size=2, max_size=12))
def test_worth_is_the_accuracy_over_all_groups_without_one_person(people: list[str]) -> None:
    found = worth(people)
    assert list(found) == sorted(set(people) - {""})
    for answer, value in found.items():
        assert value == pytest.approx(defined(answer, people), abs=1e-12)
        assert 0 < value <= 1 or people.count(answer) == 1


def test_of_ten_people() -> None:
    people = ["a"] + ["b"] * 2 + ["c"] * 3 + ["d"] * 4
    assert worth(people) == {"a": 0.3, "b": 0.6, "c": 0.9, "d": 1.0}
    assert worth(["yes"] * 10) == {"yes": 1.0}
    assert worth(["yes"] * 9 + [""]) == {"yes": 1.0}
    assert worth(["yes"]) == {"yes": 1.0}
    assert worth([""]) == worth([]) == worth([""] * 10) == {}


def test_frequent_answers_and_labels_by_what_they_mean() -> None:
    counts = Counter({"no": 3, "yes": 5, "blue": 3, "red": 1, "": 9})
    assert most_frequent(counts, 3) == ["yes", "blue", "no"]
    assert most_frequent(counts, 9) == ["yes", "blue", "no", "red"]
    assert spelled(["Two", "2", "t-shirt", "yes"]) == {"2": ["Two", "2"], "t shirt": ["t-shirt"], "yes": ["yes"]}
