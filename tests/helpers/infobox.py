"""The tables and hypotheses of the paper's figures 1 and 2, and a pool of a few more."""

from heedful.records import Example, Examples, Table

BREAKFAST = Table(
    "Breakfast in America",
    (
        ("Released", ("29 March 1979",)),
        ("Recorded", ("May-December 1978",)),
        ("Studio", ("The Village Recorder in Los Angeles",)),
        ("Genre", ("pop", "art rock", "soft rock")),
        ("Length", ("46:06",)),
        ("Label", ("A&M",)),
        ("Producer", ("Peter Henderson", "Supertramp")),
    ),
)
BRIDESMAIDS = Table(
    "Bridesmaids",
    (
        ("Directed by", ("Paul Feig",)),
        ("Release date", ("May 13, 2011",)),
        ("Length", ("125 minutes",)),
        ("Producer", ("Judd Apatow",)),
        ("Label", ("Universal",)),
    ),
)
PERSON = Table(
    "Jane Doe (painter)",
    (
        ("Born", ("4 May 1950, Boston, Massachusetts",)),
        ("Died", ("7 June 1999, Paris, France",)),
        ("Occupation", ("Painter",)),
    ),
)
TOWN = Table(
    "Riverton, Ohio", (("Country", ("United States",)), ("Mayor", ("John Smith",)), ("Occupation", ("Singer",)))
)
H1 = "Breakfast in America is a pop album with a length of 46 minutes."
H2 = "Breakfast in America was released towards the end of 1979."
H3 = "Breakfast in America is on the record label A&M."
H5 = "Bridesmaids has a length of over 2 hours."
ROWS = [
    (BREAKFAST, H1, "entailment"),
    (BREAKFAST, H2, "contradiction"),
    (BREAKFAST, "Breakfast in America sold over 20 million copies.", "neutral"),
    (BREAKFAST, "Breakfast in America is over 40 minutes long.", "entailment"),
    (BREAKFAST, "Breakfast in America was recorded in multiple studios in London.", "contradiction"),
    (BRIDESMAIDS, H5, "entailment"),
    (BRIDESMAIDS, "Bridesmaids was released after 2012.", "contradiction"),
    (BRIDESMAIDS, "Bridesmaids was directed by Paul Feig.", "entailment"),
    (PERSON, "Jane Doe was born in the spring of 1950.", "entailment"),
    (PERSON, "Doe died in France in 1999.", "entailment"),
    (PERSON, "Jane Doe was not born in Boston.", "contradiction"),
    (TOWN, "Riverton is in the United States.", "entailment"),
    (TOWN, "John Smith is the mayor of Riverton, and the town was led by John Smith.", "entailment"),
]


def make_pool() -> Examples:
    """All of these as a pool; the uid ends in the row."""
    return Examples.of(
        [
            Example(
                f"t/dev/{i}",
                {"premise": table, "hypothesis": text},
                label,
                {"table": table.title},
                {"table": table.title},
            )
            for i, (table, text, label) in enumerate(ROWS)
        ]
    )
