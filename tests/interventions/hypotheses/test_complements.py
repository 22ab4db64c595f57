"""Contradictions that become entailments: against a truth that is written out, and where they are left alone."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.interventions import KINDS, PerturbHypothesis, RuleAnalyser, Source, apply_edits
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
        ("The tower was not built in Spain.", "negation", "The tower was built in Spain."),
        ("It isn't Spanish.", "negation", "It is Spanish."),
        ("The tower has never been closed.", "negation", "The tower has been closed."),
        ("The tower never closed.", "negation", "The tower closed."),
        ("The tower has no bells.", "negation", "The tower has bells."),
        ("There are no bells in the tower.", "negation", "There are bells in the tower."),
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
        "The tower was not built in Spain and is tall.",
        "The tower is not tall but Spanish.",
        "Its bells were not made in Spain.",
        "The tower never has any visitors.",  # "has any visitors"
        "The tower never lost a single bell.",  # nor one
        "The tower was not built until 1950.",
        "The tower is no longer closed.",
        "The tower is not only a church.",
        "The tower has not been closed for ten years.",
        "All of the tower was not built in Spain.",
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


HOW_MANY = {  # the longest first; of the things in question, which are so
    "not all": lambda so: not all(so), "not every": lambda so: not all(so), "not always": lambda so: not all(so),
    "at most half": lambda so: 2 * sum(so) <= len(so), "at most one": lambda so: sum(so) <= 1,
    "one or more": any, "none": lambda so: not any(so), "no": lambda so: not any(so),
    "all": all, "every": all, "each": all, "always": all,
    "most": lambda so: 2 * sum(so) > len(so), "some": any, "multiple": lambda so: sum(so) > 1,
}  # fmt: skip
QUANTIFIED = {
    "All of the bells are loud.": "Not all of the bells are loud.",
    "All of its bells are loud.": "Not all of its bells are loud.",
    "All the bells are loud.": "Not all the bells are loud.",
    "All bells are loud.": "Not all bells are loud.",
    "Every bell is loud.": "Not every bell is loud.",
    "Each of the bells is loud.": "Not all of the bells is loud.",
    "Most of the bells are loud.": "At most half of the bells are loud.",
    "Most of its bells are loud.": "At most half of its bells are loud.",
    "Some of the bells are loud.": "None of the bells are loud.",
    "Some of its bells are loud.": "None of its bells are loud.",
    "None of the bells are loud.": "One or more of the bells are loud.",
    "The tower's bells are all loud.": "The tower's bells are not all loud.",
    "The tower has always been in the same state.": "The tower has not always been in the same state.",
    "The tower has no bells.": "The tower has one or more bells.",
    "There are no loud bells in the tower.": "There are one or more loud bells in the tower.",
    "The tower has multiple bells.": "The tower has at most one bell.",
    "It was built in multiple old towns.": "It was built in at most one old town.",
}


def how_many(text: str):
    return next(test for words, test in HOW_MANY.items() if re.search(rf"\b{words}\b", text.lower()))


@given(st.sampled_from(sorted(QUANTIFIED)), st.lists(st.booleans(), min_size=1, max_size=6))
def test_whatever_is_so_either_the_quantifier_or_its_complement_is_true(text, so):
    (new,) = flips(text, "quantifiers")
    assert new == QUANTIFIED[text]
    assert how_many(text)(so) != how_many(new)(so)


@pytest.mark.parametrize(
    "text",
    [
        "The tower has bells.",
        "Many of the bells are loud.",
        "The tower has several bells.",
        "Several of the bells are loud.",
        "All of the bells are loud and old.",  # one of the two may be true
        "All of the bells that ring are loud.",
        "None of the bells are loud, old ones.",
        "All of the bells in some of the towers are loud.",
        "Not all of the bells are loud.",
        "Most bells are loud.",
        "Some bells are loud.",
        "The tower was loved by all.",
        "The tower was a gift by multiple kings.",  # it may not be a gift
        "The tower is the work of multiple kings, who died.",
        "It was held at multiple towns.",  # "at at most one"
        "It was built by multiple countries.",  # "at most one countrie"
        "The tower was closed multiple times for years.",
        "People have multiple bells.",
        "The tower has no bell.",
        "The tower has no more bells.",
        "The tower has no other bells.",
    ],
)
def test_other_quantifiers_have_no_complement(text):
    assert flips(text, "quantifiers") == []


def test_the_quantifier_of_a_title_says_nothing():
    table = Table("All Is Lost", (("Length", ("106 minutes",)),))
    assert flips("All Is Lost is long.", "quantifiers", table) == []
    assert flips("All Is Lost has no songs.", "quantifiers", table) == ["All Is Lost has one or more songs."]


MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip
WRITTEN = ("{month} {day}, {year}", "( {year}-01-01 ) {day} {month} {year} (age 50), Boston", "{day} {month} {year}")
BEGINS = {"winter": (12, 21), "spring": (3, 20), "summer": (6, 21), "fall": (9, 22)}  # month, and the day in it
CLAUSES = (
    "in the {season}",
    "in {season} of {year}",
    "in {year}",
    "in {month}",
    "in the {decade}s",
    "in {month} {year}",
)
days = st.tuples(st.integers(1, 28), st.integers(1, 12), st.integers(1700, 2015))


def said_of(clause: str, day: int, month: int, year: int) -> set[str]:
    """The clause about this day, by seasons that begin with a solstice or equinox, and with the first of a month."""
    by_sun = max((name for name in BEGINS if BEGINS[name] <= (month, day)), key=BEGINS.__getitem__, default="winter")
    by_month = max((name for name in BEGINS if BEGINS[name][0] <= month), key=BEGINS.__getitem__, default="winter")
    date = {"month": MONTHS[month - 1], "year": year, "decade": year // 10 * 10}
    return {f"Jane Doe was born {clause.format(season=season, **date)}." for season in (by_sun, by_month)}


@given(st.sampled_from(CLAUSES), st.sampled_from(WRITTEN), days, days, st.booleans())
def test_a_date_becomes_that_of_the_row(clause, written, told, true, same_month):
    """What is true already was contradicted for another reason, and where seasons differ by custom nothing is sure."""
    told = (told[0], true[1], told[2]) if same_month else told
    day, month, year = true
    born = ("Born", (written.format(day=day, month=MONTHS[month - 1], year=year),))
    text = min(said_of(clause, *told))
    made = flips(text, "dates", Table("Jane Doe", (born, ("Died", ("3 May 2019",)))))
    right = said_of(clause, *true)
    assert set(made) <= right - {text}
    assert made or text in right or ("season" in clause and month % 3 == 0)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("The father of Jane Doe was born in 1990.", {"Born": "1950"}),
        ("Jane Doe's father was born in 1990.", {"Born": "1950"}),
        ("Jane Doe was born in Boston in 1990.", {"Born": "1950"}),  # and maybe not in Boston
        ("Jane Doe was born in 1990 and died in 1999.", {"Born": "1950", "Died": "1999"}),
        ("Jane Doe was not born in 1990.", {"Born": "1950"}),
        ("Jane Doe was born in late 1990.", {"Born": "1950"}),
        ("Jane Doe was born in 1990.", {"Died": "1999"}),
        ("Jane Doe was born in 1990.", {"Born": "c. 1950"}),
        ("Jane Doe was born in 1990.", {"Born": "1950 or 1951"}),
        ("Jane Doe was born in 1990.", {"Born": "1950s"}),
        ("Jane Doe was born in 1990.", {"Born": "Boston"}),
        ("Jane Doe was recorded in 1990.", {"Recorded": "1995-96"}),
        ("Jane Doe was released in 1990.", {"Released": "1950", "Release date": "1951"}),
        ("Jane Doe was born in the spring.", {"Born": "1950"}),
        ("Jane Doe was born in the spring.", {"Born": "May or July 1950"}),
        ("Jane Doe was born in the spring.", {"Born": "4 July 1950, Sydney, Australia"}),
        ("The album was released in 1990.", {"Released": "1950"}),
        ("It was released in autumn.", {"Released": "4 November 1950"}),
        ("It was released in the 1950's.", {"Released": "4 November 1950"}),
    ],
)
def test_other_dates_stay(text, rows):
    assert flips(text, "dates", Table("Jane Doe", tuple((key, (value,)) for key, value in rows.items()))) == []


@pytest.mark.parametrize(
    ("text", "row", "new"),
    [
        ("The band Jane Doe formed in 1990.", ("Formation", "1950; 70 years ago (1950)"),
         "The band Jane Doe formed in 1950."),
        ("She died in the Fall of 2000.", ("Died:", "April 7, 1999 (aged 48)"), "She died in the Spring of 1999."),
        ("It was released in March of 2000", ("Released", "7 May 1999"), "It was released in May of 1999"),
        ("It was painted in the 1890s.", ("Year", "1916"), "It was painted in the 1910s."),
    ],
)  # fmt: skip
def test_each_date_of_the_clause_is_put_right(text, row, new):
    assert flips(text, "dates", Table("Jane Doe", ((row[0], (row[1],)),))) == [new]


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


def test_a_contradiction_becomes_entailed_by_four_kinds_and_by_no_other():
    pool = make_pool()
    source = Source(pool, RuleAnalyser())
    assert source.opposite("entailment") == "contradiction"
    (changed,) = PerturbHypothesis("dates", "flipped", source).apply(pool, "t/dev/6", 0, 0)
    assert changed.example.parts["hypothesis"] == "Bridesmaids was released in or before 2012."
    assert (pool["t/dev/6"].label, changed.example.label) == ("contradiction", "entailment")
    assert set(COMPLEMENTS) == set(KINDS) - {"entities", "nominal_modifiers"}
    assert PerturbHypothesis("nominal_modifiers", "flipped", source).apply(pool, "t/dev/6", 0, 0) == []
