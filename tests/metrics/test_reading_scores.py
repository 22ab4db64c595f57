"""Exact match, F1 and abstention, against another implementation of the published definitions."""

import json
import re
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.reading_comprehension import reading_scores
from heedful.records import NO_LABEL, SPAN, Context
from heedful.records.answers import exact_match, f1

from made_rows import by_text, make

WORDS = ["the", "The", "an", "A", "Rome", "rome", "Roman", "Empire", "U.S.", "1,000", "don't", "—", "it's", ".", "café"]
ANSWER = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
GOLDS = st.lists(ANSWER, max_size=3)
QUESTION = st.tuples(GOLDS, ANSWER | st.just(NO_LABEL))


def words(text: str) -> list[str]:
    """Words of an answer in lower case, without ASCII punctuation and articles."""
    kept = "".join(c for c in text.lower() if c not in string.punctuation)
    kept = re.sub(r"(?<!\w)(?:a|an|the)(?!\w)", " ", kept)
    return [word for word in re.split(r"\s+", kept) if word]


def scores(golds: list[str], answer: str) -> tuple[int, float]:
    """Exact match and F1 of an answer, by counting common words."""
    golds = [gold for gold in golds if words(gold)]
    best = 0, 0.0
    for gold in golds or [""]:
        left, hits = words(gold), 0
        for word in words(answer):
            if word in left:
                left.remove(word)
                hits += 1
        if words(gold) and words(answer):
            f = 2 * hits / (len(words(gold)) + len(words(answer)))
        else:
            f = float(words(gold) == words(answer))
        best = max(best[0], int(words(gold) == words(answer))), max(best[1], f)
    return best


@given(golds=GOLDS, answer=ANSWER)
def test_one_answer_is_scored_as_defined(golds: list[str], answer: str) -> None:
    assert (exact_match(answer, golds), f1(answer, golds)) == pytest.approx(scores(golds, answer), abs=1e-12)


def test_definitions_at_their_edges() -> None:
    assert exact_match("", []) == f1("", []) == 1
    assert exact_match("Rome", []) == f1("Rome", []) == 0
    assert exact_match("The.", []) == 1  # an article alone is normalised to no answer
    assert exact_match("", ["The"]) == 1  # an article alone is no gold answer
    assert exact_match("the U.S.", ["us"]) == 1
    assert f1("a b b c", ["b b b"]) == pytest.approx(2 * 2 / (3 + 3))  # "a" is an article
    assert exact_match("ROME", ["Paris", "rome!"]) == 1


@given(st.lists(QUESTION, min_size=1, max_size=12))
def test_every_number_follows_from_the_questions(questions: list[tuple[list[str], str]]) -> None:
    """A missing answer is wrong, and not an abstention."""
    rows = make({f"q{i:02}": (json.dumps(golds), answer) for i, (golds, answer) in enumerate(questions)}, labels=1)
    found = by_text(reading_scores)(rows, Context("d", 3, SPAN))
    of_answer = [(scores(golds, y) if y != NO_LABEL else (0, 0.0)) + (y == "",) for golds, y in questions]
    silent = [scores(golds, "") for golds, _ in questions]
    for k, name in enumerate(("exact_match", "f1", "abstention")):
        for suffix, kept in (("", (True, False)), ("/has_answer", (True,)), ("/no_answer", (False,))):
            values = [e[k] for e, (golds, _) in zip(of_answer, questions, strict=True) if bool(golds) in kept]
            m = found.pop(f"{name}/d{suffix}")
            assert (m.value, m.n) == (pytest.approx(np.mean(values)) if values else None, len(values))
        if k < 2:
            assert found.pop(f"{name}/d/majority").value == pytest.approx(np.mean([e[k] for e in silent]))
    assert not found
