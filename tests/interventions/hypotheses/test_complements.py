"""Contradictions that become entailments: against a truth that is written out, and where they are left alone."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.interventions import PerturbHypothesis, RuleAnalyser, Source, apply_edits
from heedful.interventions.hypotheses.analysis import MONOTONICITY, OPPOSITE
from heedful.interventions.hypotheses.claim import Claim
from heedful.interventions.hypotheses.complements import COMPLEMENTS, OF_NUMBERS, OF_YEARS
from heedful.records import Table

from infobox import make_pool

TOWER = Table("The tower", (("Height", ("46 m",)), ("Built", ("1912",)), ("Country", ("France",))))
HOLDS = {
    "at most": lambda v, n: v <= n,
    "at least": lambda v, n: v >= n,
    "less than": lambda v, n: v < n,
    "more than": lambda v, n: v > n,
    "in or after": lambda v, n: v >= n,
    "in or before": lambda v, n: v <= n,
}
MORE = ("over", "above", "older than", "greater than", "longer than", "higher than", "larger than")
LESS = ("under", "below", "fewer than", "younger than", "shorter than", "smaller than", "lower than")
HOLDS |= dict.fromkeys((*MORE, "after", "later than"), HOLDS["more than"])
HOLDS |= dict.fromkeys((*LESS, "before", "prior to", "earlier than"), HOLDS["less than"])


def flips(text: str, kind: str, table: Table = TOWER) -> list[str]:
    claim = Claim(RuleAnalyser().analyse(text), False, table, {}, {})
    return [apply_edits(text, edits) for edits in COMPLEMENTS[kind](claim)]


def test_every_governor_but_within_has_a_complement():
    assert {*OF_NUMBERS, *OF_YEARS} == set(MONOTONICITY) - {"within"}
    assert set(OPPOSITE) <= {*OF_NUMBERS, *OF_YEARS}


@given(st.sampled_from(sorted(OF_NUMBERS)), st.integers(2, 5000), st.integers(0, 12000))
def test_of_each_value_either_the_number_or_its_complement_is_true(word, n, value):
    (new,) = flips(f"The tower is {word} {n} metres tall.", "numbers")
    now, number = re.fullmatch(r"The tower is ([a-z ]+) (\d+) metres tall\.", new).groups()
    assert number == str(n)
    assert HOLDS[word](value, n) != HOLDS[now](value, n)


@given(st.sampled_from(sorted(OF_YEARS)), st.integers(1700, 2015), st.integers(1700, 2018))
def test_of_each_year_either_the_year_or_its_complement_is_true(word, year, value):
    """Where the claim is false of all years of the table; where it is true of them, something else is wrong."""
    made = flips(f"The tower was built {word} {year}.", "dates", Table("The tower", (("Built", (str(value),)),)))
    if HOLDS[word](value, year):
        assert made == []
    else:
        now = re.fullmatch(r"The tower was built ([a-z ]+) \d+\.", made[0])[1]
        assert HOLDS[now](value, year)


@pytest.mark.parametrize(
    ("text", "kind", "made"),
    [
        ("The tower was built in Spain.", "negation", "The tower was not built in Spain."),
        ("It has 3 bells.", "negation", "It does not have 3 bells."),
        ("The monument is Spanish.", "negation", "The monument is not Spanish."),
        ("The mess was made in the U.S. Army.", "negation", "The mess was not made in the U.S. Army."),
        ("There are over 50 bells.", "numbers", "There are at most 50 bells."),
        ("Over 50 people work at the tower.", "numbers", "At most 50 people work at the tower."),
        ("The tower was built after the year 1950.", "dates", "The tower was built in or before the year 1950."),
    ],
)
def test_a_plain_clause_becomes_what_it_denies(text, kind, made):
    assert flips(text, kind) == [made]


@pytest.mark.parametrize(
    "text",
    [
        "The tower was not built in Spain.",
        "The tower was built in Spain and is tall.",  # one of the two may be true
        "The tower was built in Spain, a country.",
        "The tower was built in a town that is Spanish.",
        "The tower was built when Spain was rich.",
        "Its builders were from Spain.",  # some of them may be
        "All of the tower was built in Spain.",
        "The tower is usually closed.",
        "The tower is still closed.",
        "The tower has been closed for ten years.",  # for these years not, or not for as many
        "The builder of the tower was Spanish.",
        "A tower was built in Spain.",
        "There are 5 bells in the tower.",
        "People went where the tower was built.",
        "The bells were made in Spain.",  # some of them may be
        "The people are Spanish.",
        "The tower was built in Spain. It is tall.",  # one of the two may be true
        "It was built in the U.S. It is tall.",
        "The tower was built in Spain - it is tall.",
        "The tower has been closed for a decade.",
        "The tower has been closed for a century.",
    ],
)
def test_other_sentences_are_not_negated(text):
    assert flips(text, "negation") == []


@pytest.mark.parametrize(
    "text",
    [
        "The tower is over 50 metres tall and closed.",
        "The tower has 3 bells of over 50 tons.",
        "The Spanish tower, built in 1950, is over 50 metres tall.",
        "The tower is just over 50 metres tall.",
        "The tower is one of over 50 towers.",
        "Every tower is over 50 metres tall.",
        "It is the tallest tower with over 50 steps.",
        "It took place over 16 days.",
        "It was not built after 1950.",
        "It was built 2 years after 1950.",
        "It was built shortly after 1950.",
        "It was built in or before 1900.",  # "in or in or after"
        "It was built after the 1950s.",
        "It was built within 50 days.",
        "Its bells are over 50 tons.",  # some of them may be
        "It is open for people over 18.",
        "It was closed at over 50 degrees.",  # "at at most"
        "It is over 50 metres tall. It is closed.",
        "The tower closed before 1910.",  # it may be open
        "The tower was visited by the king before 1910.",
    ],
)
def test_other_quantities_have_no_complement(text):
    assert flips(text, "numbers") == flips(text, "dates") == []


def test_a_table_without_numbers_does_not_say_how_many():
    assert flips("It has over 50 steps.", "numbers", Table("The tower", (("Country", ("France",)),))) == []


@pytest.mark.parametrize("text", ["Over and Out is over 50 minutes long.", "Over and Out was over 50 minutes long."])
def test_the_words_of_a_title_say_nothing(text):
    table = Table("Over and Out", (("Length", ("40:12",)),))
    assert flips(text, "numbers", table) == [text.replace("over", "at most")]
    assert len(flips(text, "negation", table)) == 1


def test_the_verb_of_a_title_is_not_negated():
    table = Table("Life is Beautiful", (("Length", ("40:12",)),))
    assert flips("Life is Beautiful was made there.", "negation", table) == ["Life is Beautiful was not made there."]


def test_a_contradiction_becomes_entailed_by_three_kinds_and_by_no_other():
    pool = make_pool()
    source = Source(pool, RuleAnalyser())
    assert source.opposite("entailment") == "contradiction"
    (changed,) = PerturbHypothesis("dates", "flipped", source).apply(pool, "t/dev/6", 0, 0)
    assert changed.example.parts["hypothesis"] == "Bridesmaids was released in or before 2012."
    assert (pool["t/dev/6"].label, changed.example.label) == ("contradiction", "entailment")
    for kind in ("nominal_modifiers", "quantifiers"):
        assert PerturbHypothesis(kind, "flipped", source).apply(pool, "t/dev/6", 0, 0) == []
