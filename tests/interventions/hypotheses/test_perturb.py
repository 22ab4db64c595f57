"""Perturbed hypotheses: edits, labels against a truth that is written out, what is drawn, and by which numbers."""

import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.interventions import (
    DIRECTIONS,
    KINDS,
    Edit,
    PerturbHypothesis,
    RuleAnalyser,
    Source,
    SpacyAnalyser,
    apply_edits,
)
from heedful.interventions.hypotheses.analysis import MONOTONICITY, Analysis, Span
from heedful.interventions.hypotheses.claim import Claim
from heedful.interventions.hypotheses.quantities import dates, numbers
from heedful.interventions.hypotheses.rules import RULES
from heedful.interventions.hypotheses.spacy_analyser import INSTALL
from heedful.records import HeedfulError, RunError, Table, generator

from infobox import BREAKFAST, H1, H2, make_pool
from refusals import refused
from tiers import costly

seeds = st.integers(0, 2**32)
TRUTH = {  # of "v years old", say, against the number of the hypothesis
    "over": lambda v, n: v > n, "more than": lambda v, n: v > n, "above": lambda v, n: v > n,
    "at least": lambda v, n: v >= n, "older than": lambda v, n: v > n, "greater than": lambda v, n: v > n,
    "longer than": lambda v, n: v > n, "higher than": lambda v, n: v > n, "larger than": lambda v, n: v > n,
    "under": lambda v, n: v < n, "less than": lambda v, n: v < n, "below": lambda v, n: v < n,
    "at most": lambda v, n: v <= n, "within": lambda v, n: v <= n, "younger than": lambda v, n: v < n,
    "fewer than": lambda v, n: v < n, "shorter than": lambda v, n: v < n, "smaller than": lambda v, n: v < n,
    "lower than": lambda v, n: v < n,
    "before": lambda v, n: v < n, "prior to": lambda v, n: v < n, "earlier than": lambda v, n: v < n,
    "after": lambda v, n: v > n, "later than": lambda v, n: v > n,
}  # fmt: skip
TIMES = ("before", "prior to", "earlier than", "after", "later than")
COUNTS = sorted(set(TRUTH) - set(TIMES))


@dataclass(frozen=True)
class KnowsNames:
    """Finds the names that it was told."""

    name: str = "told"
    knows_entities: bool = True

    def analyse(self, text: str) -> Analysis:
        names = {"Paul Feig": "person", "John Smith": "person", "Judd Apatow": "person", "France": "location"}
        names |= {"United States": "location", "London": "location", "Boston": "location"}
        found = [Span(m.start(), m.end(), kind) for name, kind in names.items() for m in re.finditer(name, text)]
        plain = RuleAnalyser().analyse(text)
        return Analysis(**{**vars(plain), "entities": tuple(sorted(found))})


def claim(text: str, entailed: bool, table: Table = BREAKFAST) -> Claim:
    return Claim(RuleAnalyser().analyse(text), entailed, table, {}, {})


def test_every_governor_has_a_truth_and_two_directions():
    assert set(TRUTH) == set(MONOTONICITY)
    assert all(len(set(by_label.values())) == 2 for by_label in MONOTONICITY.values())


@given(st.sampled_from(COUNTS), st.integers(2, 5000), st.integers(0, 12000), seeds)
def test_a_moved_number_keeps_the_truth_and_an_opposite_flips_it(word, n, value, seed):
    """For every value v that a table may have: preserved hypotheses are as true as before, flipped ones false."""
    text = f"The tower is {word} {n} metres tall."
    truth = TRUTH[word](value, n)
    rng = generator(seed, "test")
    for edits in numbers(claim(text, truth), False, rng):
        new = apply_edits(text, edits)
        moved = re.fullmatch(rf"The tower is {word} ([\d,]+) metres tall\.", new)
        assert TRUTH[word](value, int(moved[1].replace(",", ""))) == truth
        assert int(moved[1].replace(",", "")) != n
    flipped = numbers(claim(text, True), True, rng) if truth else []
    for edits in flipped:
        now, number = re.fullmatch(r"The tower is ([a-z ]+) ([\d,]+) metres tall\.", apply_edits(text, edits)).groups()
        assert number == str(n)
        assert not TRUTH[now](value, n)
    assert not truth or word == "within" or len(flipped) == 1


@given(st.sampled_from(TIMES), st.integers(1700, 2005), st.integers(1650, 2018), st.booleans(), seeds)
def test_a_moved_year_keeps_the_truth_and_an_opposite_flips_it(word, year, value, decade, seed):
    text = f"The tower was built {word} {year}."
    truth = TRUTH[word](value, year)
    for edits in dates(claim(text, truth), False, generator(seed, "test")):
        moved = re.fullmatch(rf"The tower was built {word} (\d+)\.", apply_edits(text, edits))
        assert TRUTH[word](value, int(moved[1])) == truth
    for edits in dates(claim(text, True), True, generator(seed, "test")) if truth else []:
        now = re.fullmatch(r"The tower was built ([a-z ]+) \d+\.", apply_edits(text, edits))[1]
        assert not TRUTH[now](value, year)


@given(st.integers(2, 10**7), seeds)
def test_an_ungoverned_number_is_halved_or_doubled(n, seed):
    text = f"The town has {n} inhabitants." if n < 1000 else f"The town has {n:,} inhabitants."
    made = {apply_edits(text, edits) for edits in numbers(claim(text, True), True, generator(seed, "test"))}
    values = {int(re.sub(r"\D", "", new)) for new in made}
    assert values == {2 * n} | ({n // 2} if n % 2 == 0 and n > 2 else set())
    assert numbers(claim(text, True), False, generator(seed, "test")) == []  # no direction keeps the label


@given(
    st.sampled_from(("opened", "operated")),
    st.integers(1100, 2015),
    st.lists(st.tuples(st.integers(1100, 2018), st.integers(-1, 30)), min_size=1, max_size=4),
    seeds,
)
def test_another_year_is_near_and_outside_of_all_years_and_spans_of_the_table(verb, year, tabled, seed):
    """What lasts goes before all years of the table. A length of 0 is a single year, of -1 one that has no end."""
    values, spans = [], []
    for first, length in tabled:
        values.append(f"in {first}" if not length else f"{first} - {first + length if length > 0 else 'present'}")
        spans.append(range(first, (2020 if length < 0 else first + length) + 1))
    table = Table("The tower", tuple((f"k{i}", (value,)) for i, value in enumerate(values)))
    text = f"It {verb} in {year}."
    for flip, entailed in ((True, True), (False, False)):
        made = dates(claim(text, entailed, table), flip, generator(seed, "test"))
        for edits in made:
            new = int(edits[0].new)
            assert 5 <= abs(new - year) <= 40
            assert new <= 2020
            assert not any(new in span for span in spans)
            assert verb == "opened" or new < min(span[0] for span in spans)
        if verb == "opened" and all(2020 not in span for span in spans) and year < 1980:
            assert made or sum(map(len, spans)) > 30
    assert dates(claim(text, True, table), False, generator(seed, "test")) == []


@pytest.mark.parametrize("value", ["May 1967 – 4 June 1990", "4 May 1967 - June 4, 1990", "May 1967 to Sept. 1990"])
def test_a_year_between_two_days_is_one_of_the_table(value):
    """It was built in any of them."""
    table = Table("The tower", (("Construction", (value,)),))
    for text in ("It was built in 1967.", "It was built in 1990."):
        made = {dates(claim(text, True, table), True, generator(i, ""))[0][0].new for i in range(200)}
        assert made
        assert not made & {str(year) for year in range(1967, 1991)}


def test_no_span_of_years_crosses_two_values_of_the_table():
    table = Table("The tower", (("Used", ("1900 - present",)), ("Opened", ("in 1900",))))
    changes = [dates(claim("It opened in 1930.", True, table), True, generator(i, "")) for i in range(300)]
    years = {int(change[0][0].new) for change in changes if change}
    assert years
    assert max(years) < 1900


def test_another_decade_holds_no_year_of_the_table():
    table = Table("The tower", (("Opened", ("4 May 1967",)), ("Closed", ("1981-95",))))
    made = {dates(claim("It opened in the 1960s.", True, table), True, generator(i, ""))[0][0].new for i in range(300)}
    assert made == {"1920s", "1930s", "1940s", "1950s", "1970s", "2000s"}


@pytest.mark.parametrize(
    ("text", "kind", "flipped"),
    [
        ("The river is over thirty miles long.", "numbers", ["The river is under thirty miles long."]),
        ("At least 6 acts took part.", "numbers", ["Less than 6 acts took part."]),
        ("He was signed under four labels.", "numbers", [f"He was signed under {n} labels." for n in ("two", "eight")]),
        ("It took 12 days or less.", "numbers", []),
        ("It was shown at the 84 Olympics.", "numbers", []),
        ("Some nations sent several teams.", "quantifiers", []),
        ("She has four children.", "numbers", ["She has two children.", "She has eight children."]),
        ("She won twenty four awards.", "numbers", [f"She won {n} awards." for n in ("twelve", "forty-eight")]),
        ("She won over twenty five awards.", "numbers", ["She won under twenty five awards."]),
        ("He was born before 1950.", "dates", ["He was born after 1950."]),
        ("It was painted in the fall.", "dates", ["It was painted in the spring."]),
        ("The band was formed in Ohio.", "negation", ["The band was not formed in Ohio."]),
        ("She has 3 children.", "negation", ["She does not have 3 children."]),
        ("She was never married.", "negation", ["She was married."]),
        ("He has no pets.", "negation", ["He has pets."]),
        ("All of the members sing.", "quantifiers", ["None of the members sing."]),
        ("It has several owners.", "quantifiers", ["It has no owners."]),
        ("He always sang.", "quantifiers", ["He never sang."]),
    ],
)
def test_flipped_hypotheses(text, kind, flipped):
    assert [apply_edits(text, e) for e in RULES[kind](claim(text, True), True, generator(0, "test"))] == flipped


@pytest.mark.parametrize(
    ("title", "text", "flip", "made"),
    [
        ("Life is Beautiful", "Life is Beautiful was made there.", True, ["Life is Beautiful was not made there."]),
        ("Death is not the End", "Death is not the End was made there.", False, []),
        ("Death is not the End", "Death is not the End was made there.", True, []),
        ("It was never There", "It was never There took long.", True, []),
    ],
)
def test_a_title_is_not_negated(title, text, flip, made):
    told = claim(text, True, Table(title, (("Length", ("5 minutes",)),)))
    assert [apply_edits(text, edits) for edits in RULES["negation"](told, flip, generator(0, "test"))] == made


@pytest.mark.parametrize(
    ("text", "entailed", "kind", "kept"),
    [
        ("All of the members sing.", True, "quantifiers", ["Some of the members sing."]),
        ("Most of the members sing.", False, "quantifiers", ["All of the members sing."]),
        ("It has several owners.", False, "quantifiers", ["It has very many owners."]),
        ("He was not born in Ohio.", True, "negation", ["He wasn't born in Ohio."]),
        ("He wasn't born in Ohio.", False, "negation", ["He was not born in Ohio."]),
        ("He was born in Ohio.", True, "negation", []),
    ],
)
def test_preserved_hypotheses(text, entailed, kind, kept):
    assert [apply_edits(text, e) for e in RULES[kind](claim(text, entailed), False, generator(0, "test"))] == kept


@pytest.mark.parametrize(
    "text",
    [
        "He was not married for over 20 years.",  # negated
        "No more than 20 people came.",
        "It is the first film after 1990.",  # a superlative is not monotone
        "Anyone with over 200 points wins.",  # of all with 200 points, and not of all with 300
        "The Boeing 747 has wings.",  # a name
        "The song was ranked 12 there.",
        "It was released on March 29, 1979 with 1960.",  # days, and what may be a year
        "It took place over 16 days.",  # for 16 days, and not for more
        "He died 2 years before 1990.",  # a distance
        "They met after 5 years.",
        "It was fought in the War of 1812.",
        "It took 12 days or less.",
    ],
)
def test_numbers_and_dates_that_are_left_alone(text):
    found = [
        edits
        for rule in (numbers, dates)
        for entailed in (True, False)
        for edits in rule(claim(text, entailed), False, generator(0, "test"))
        if edits[0].old not in ("March", "1979")
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "The film is just slightly under two hours long.",
        "The tower has at or over 50 steps.",
        "It was built before the 1990s.",
        "It was built before 2 March 1979.",
        "It was built until the early summer of 1950.",
        "It was built before the end of May.",
        "It was built before the 12th of May, 1950.",
        "It was built between May and June.",
        "It was built in 1950 or later.",
        "She won a minimum of 50 awards.",
        "She won 50 plus awards.",
        "She won over about 50 awards.",
        "She has exceeded 50 awards.",
        "It was made within a 6 month period.",
        "She won two hundred fifty awards.",
        "She put on twenty one-act plays.",
    ],
)
@pytest.mark.parametrize("entailed", [True, False])
def test_numbers_and_dates_that_hold_of_several_values_are_not_made_others(text, entailed):
    """With another number or date they may be as true as before."""
    table = Table("The tower", (("Built", ("May 1948",)),))
    told = claim(text, entailed, table)
    made = [
        edits
        for rule in (numbers, dates)
        for flip in (True, False)
        if entailed or not flip
        for i in range(5)
        for edits in rule(told, flip, generator(i, "test"))
    ]
    assert made == []


@pytest.mark.parametrize(
    "text",
    [
        "He is one of all time greats.",
        "It won the most awards.",
        "As many as 5 came.",
        "She won every year.",
        "A star of all.",
    ],
)
def test_quantifiers_that_do_not_count_are_left_alone(text):
    assert RULES["quantifiers"](claim(text, True), True, generator(0, "test")) == []


def all_perturbations(analyser=None) -> list[PerturbHypothesis]:
    source = Source(make_pool(), analyser or KnowsNames())
    return [PerturbHypothesis(kind, direction, source) for kind in KINDS for direction in DIRECTIONS]


@costly
@given(seeds, st.integers(0, 3))
def test_edits_give_the_new_text_and_labels_follow_the_direction(seed, draw):
    pool = make_pool()
    for change in all_perturbations():
        for base in pool:
            edits = change.edits(base.uid, draw, seed)
            found = change.apply(pool, base.uid, draw, seed)
            assert bool(found) == bool(edits)
            for changed in found:
                new, text = changed.example, base.parts["hypothesis"]
                assert apply_edits(text, edits) == new.parts["hypothesis"] != text
                assert all(text[e.start : e.end] == e.old and e.kind == change.kind for e in edits)
                assert new.parts["premise"] == base.parts["premise"]
                assert base.label != "neutral"
                flipped = change.direction == "flipped"
                assert (base.label != new.label) == flipped
                assert {base.label, new.label} <= {"entailment", "contradiction"}
                assert changed.variant == "; ".join(map(str, edits))
                assert (new.uid, changed.clusters) == (base.uid, (base.uid, f"table {base.meta['table']}"))


@given(seeds)
def test_a_new_name_is_in_neither_hypothesis_nor_table(seed):
    source = Source(make_pool(), KnowsNames())
    assert source.names == {"location": ("Boston", "France", "United States"), "person": ("John Smith", "Paul Feig")}
    (edit,) = PerturbHypothesis("entities", "flipped", source).edits("t/dev/7", 0, seed)
    assert (edit.old, edit.new) == ("Paul Feig", "John Smith")
    (edit,) = PerturbHypothesis("entities", "flipped", source).edits("t/dev/11", 0, seed)
    assert (edit.old, edit.new) == ("the United States", "France")
    (edit,) = PerturbHypothesis("entities", "preserved", source).edits("t/dev/4", 0, seed)
    assert (edit.old, edit.new) == ("London", "Boston")  # and no country, which may hold a city
    assert PerturbHypothesis("entities", "flipped", source).edits("t/dev/12", 0, seed) == ()  # it stands there twice


@given(seeds)
def test_a_clause_of_the_table_keeps_the_label_and_another_flips_it(seed):
    source = Source(make_pool(), RuleAnalyser())
    (kept,) = PerturbHypothesis("nominal_modifiers", "preserved", source).edits("t/dev/8", 0, seed)
    (flipped,) = PerturbHypothesis("nominal_modifiers", "flipped", source).edits("t/dev/8", 0, seed)
    assert kept == Edit(8, 8, "", ", whose occupation is painter,", "nominal_modifiers")
    assert flipped == Edit(8, 8, "", ", whose occupation is singer,", "nominal_modifiers")


@pytest.mark.parametrize(
    ("key", "own", "others", "made"),
    [
        ("Country", "United States", ["U.S.", "USA", "US", "United States of America", "France"], {"France"}),
        ("Nationality", "American", ["USA", "United States", "Dutch"], {"Dutch"}),
        ("Residence", "Hollywood Hills, California, U.S.", ["United States", "Oslo, Norway"], {"Oslo, Norway"}),
        ("Origin", "New Orleans", ["United States", "Louisiana", "Europe", "Austin, Texas"], {"Austin, Texas"}),
        ("Origin", "Ladbroke Grove", ["London", "UK", "Essex"], set()),  # it lies in all of them
        ("Occupation", "Singer", ["Musician", "Songwriter", "DJ", "lawyer"], {"lawyer"}),
    ],
)
def test_another_value_of_a_clause_is_false_of_the_table(key, own, others, made):
    """Not the same in other words, and not a place that holds the own one."""
    table = Table("Jane Doe", ((key, (own,)),))
    told = Claim(RuleAnalyser().analyse("Jane Doe is tall."), True, table, {}, {key: others})
    changes = [RULES["nominal_modifiers"](told, True, generator(i, "")) for i in range(40)]
    clauses = {apply_edits(told.text, edits) for found in changes for edits in found}
    assert {re.search(r" is (.*), is tall", clause)[1] for clause in clauses} == made


@pytest.mark.parametrize(
    ("old", "others", "made"),
    [
        ("Los Angeles", ["California", "United States", "Nevada", "Europe", "Paris"], {"Paris"}),
        ("San Diego", ["California", "London", "Oslo"], {"Oslo"}),  # of London, parts have names of their own
        ("Nevada", ["Texas", "France", "Europe", "Oslo"], {"Texas"}),
        ("France", ["Texas", "Oslo", "Norway"], {"Norway"}),
    ],
)
def test_another_place_neither_holds_the_old_one_nor_lies_in_it(old, others, made):
    text = f"Jane Doe was born in {old}."
    table = Table("Jane Doe", (("Born", (f"1950, {old}",)),))
    for entailed in (True, False):
        found = Analysis(text, entities=(Span(text.index(old), len(text) - 1, "location"),))
        told = Claim(found, entailed, table, {"location": others}, {})
        changes = [RULES["entities"](told, entailed, generator(i, "")) for i in range(40)]
        assert {edits[0].new for (edits,) in changes} == made


def test_what_the_figures_of_the_paper_give():
    """H1 with another length is a contradiction (table 3), and H2 with another year remains one."""
    source = Source(make_pool(), RuleAnalyser())
    texts = {apply_edits(H1, PerturbHypothesis("numbers", "flipped", source).edits("t/dev/0", d, 0)) for d in range(20)}
    assert texts == {H1.replace("46", "23"), H1.replace("46", "92")}
    new = apply_edits(H2, PerturbHypothesis("dates", "preserved", source).edits("t/dev/1", 0, 0))
    assert re.fullmatch(r"Breakfast in America was released towards the end of \d{4}\.", new)
    assert int(new[-5:-1]) not in (1978, 1979)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("The tower is over 30 metres tall.", ["The tower is over 60 metres tall."]),
        ("The tower is under 30 metres tall.", ["The tower is under 15 metres tall."]),
        ("The tower is at most 3 metres tall.", []),
        ("The tower is 30 metres tall.", ["The tower is 15 metres tall.", "The tower is 60 metres tall."]),
        ("Over 60% came.", []),
    ],
)
def test_half_or_double_is_for_governed_numbers_too_and_says_more_than_before(text, made):
    changes = numbers(claim(text, True), True, generator(0, "test"), half_or_double=True)
    assert [apply_edits(text, edits) for edits in changes] == made


def test_without_spacy_one_sentence_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("heedful.interventions.hypotheses.spacy_analyser.MODELS", ("no_such_model",))
    with refused(RunError, "spaCy", INSTALL):
        SpacyAnalyser()


@pytest.fixture(scope="module")
def spacy_analyser() -> SpacyAnalyser:
    try:
        return SpacyAnalyser()
    except HeedfulError as error:
        pytest.skip(str(error))


def test_spacy_finds_names_and_main_verbs(spacy_analyser):
    found = spacy_analyser.analyse("Jane Doe married Paul Feig in Los Angeles, and died after 1990.")
    names = {found.text[start:end]: kind for start, end, kind in found.entities}
    assert names["Paul Feig"] == "person"
    assert names["Los Angeles"] == "location"
    assert (found.verb.start, found.verb.negated) == (9, "did not marry")
    assert [(d.value, d.governor) for d in found.dates] == [(1990, "after")]
    assert found.numbers == ()
