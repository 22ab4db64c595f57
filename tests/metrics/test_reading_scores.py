"""Exact match, F1 and attentiveness of answers, against another implementation of the published definitions."""

import json
import re
import string
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.metrics.attentiveness import attentiveness
from heedful.metrics.reading_comprehension import reading_scores
from heedful.records import SPAN, Context
from heedful.records import rows as r
from heedful.records.answers import exact_match, f1

from made_rows import by_text
from python_rows import make_rows, sort_rows
from tiers import costly

reading_scores, attentiveness = by_text(reading_scores), by_text(attentiveness)
SWAPPED = Context("d", kind=SPAN, own={"swap": ["context"]})
KEPT = Context("d", kind=SPAN, own={"swap": [], "distractors": ["context"]})

WORDS = ["the", "The", "an", "A", "Rome", "rome", "Roman", "Empire", "U.S.", "1,000", "don't", "—", "it's", ".", "café"]
ANSWER = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
GOLDS = st.lists(ANSWER, max_size=3)
QUESTION = st.tuples(st.integers(0, 3), GOLDS, ANSWER, st.lists(ANSWER, min_size=3, max_size=3))


def words(text: str) -> list[str]:
    """Words of an answer, letter by letter: lower case, no ASCII punctuation, no articles."""
    kept = "".join(c for c in text.lower() if c not in string.punctuation)
    kept = re.sub(r"(?<!\w)(?:a|an|the)(?!\w)", " ", kept)
    return [word for word in re.split(r"\s+", kept) if word]


def scores(golds: list[str], answer: str) -> tuple[int, float]:
    """(Exact match, F1) of an answer, by counting words off."""
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


def rows_of(questions: list[tuple[int, list[str], str, list[str]]], all_swapped: bool = False) -> pa.Table:
    """Rows of (text, gold answers, answer, answers after each draw); mostly only what has an answer is swapped."""
    entries: list[dict[str, Any]] = []
    for i, (text, golds, answer, changed) in enumerate(questions):
        common = {"uid": f"q{i:03}", "gold": json.dumps(golds), "y": answer, "group": f"text {text}", "p": None}
        common |= {
            "variant": "",
            "allowed": "",
            "expectation": "",
            "content": "",
            "version": 1,
            "p2": None,
            "unread": None,
        }
        entries.append(common | {"intervention": r.BASE, "part": "", "y2": None, "draw": -1, "partner": ""})
        for draw, after in enumerate(changed if answer or all_swapped else ()):
            swapped = {"intervention": "swap", "part": "context", "y2": after, "draw": draw, "partner": ""}
            entries.append(common | swapped)
    columns = {name: [entry.get(name, []) for entry in entries] for name in r.schema(0).names}
    return sort_rows(make_rows(columns, 0))


@given(golds=GOLDS, answer=ANSWER)
def test_one_answer_is_scored_as_defined(golds: list[str], answer: str) -> None:
    assert (exact_match(answer, golds), f1(answer, golds)) == pytest.approx(scores(golds, answer), abs=1e-12)


def test_definitions_at_their_edges() -> None:
    assert exact_match("", []) == f1("", []) == 1
    assert exact_match("Rome", []) == f1("Rome", []) == 0
    assert exact_match("The.", []) == 1  # what is nothing when normalised is no answer
    assert exact_match("", ["The"]) == 1  # a gold answer of nothing but an article is none
    assert exact_match("the U.S.", ["us"]) == 1
    assert f1("a b b c", ["b b b"]) == pytest.approx(2 * 2 / (3 + 3))  # "a" is an article
    assert exact_match("ROME", ["Paris", "rome!"]) == 1


@costly
@given(questions=st.lists(QUESTION, min_size=1, max_size=12))
def test_every_number_follows_from_the_questions(questions: list[tuple[int, list[str], str, list[str]]]) -> None:
    found = reading_scores(rows_of(questions), Context("d", 3, SPAN))
    each = [(bool(golds), *scores(golds, answer)) for _, golds, answer, _ in questions]
    for k, name in enumerate(("exact_match", "f1"), 1):
        for suffix, kept in (("", each), ("/has_answer", [e for e in each if e[0]])):
            measured = found[f"{name}/d{suffix}"]
            assert measured.n == len(kept)
            assert measured.value == (pytest.approx(np.mean([e[k] for e in kept])) if kept else None)
        without = [e[k] for e in each if not e[0]]
        assert found[f"{name}/d/no_answer"].value == (pytest.approx(np.mean(without)) if without else None)
        majority = np.mean([scores(golds, "")[k - 1] for _, golds, _, _ in questions])
        assert found[f"{name}/d/majority"].value == pytest.approx(majority)
    silent = [(bool(golds), answer == "") for _, golds, answer, _ in questions]
    for suffix, kept in (("", (True, False)), ("/has_answer", (True,)), ("/no_answer", (False,))):
        of = [none for has, none in silent if has in kept]
        assert found[f"abstention/d{suffix}"].value == (pytest.approx(np.mean(of)) if of else None)
    assert "abstention/d/majority" not in found


@costly
@given(questions=st.lists(QUESTION, min_size=1, max_size=12))
def test_attentiveness_is_the_share_that_becomes_no_answer(questions: list[Any]) -> None:
    found = attentiveness(rows_of(questions), "context", SWAPPED)
    answered = [(answer, changed) for _, _, answer, changed in questions if answer]
    assert found["attentiveness/d/context/eligible"].value == pytest.approx(len(answered) / len(questions))
    name = "attentiveness/d/context"
    if not answered:
        assert found[name].value is None
        assert "every prediction is no answer" in found[name].reason
        return
    none = [np.mean([changed[draw] == "" for _, changed in answered]) for draw in range(3)]
    other = [np.mean([not c[draw] or words(c[draw]) != words(a) for a, c in answered]) for draw in range(3)]
    for suffix, per_draw in (("", none), ("/changed", other)):
        assert found[name + suffix].per_draw == pytest.approx(tuple(per_draw))
        assert found[name + suffix].value == pytest.approx(np.mean(per_draw))
        assert found[name + suffix].std == pytest.approx(np.std(per_draw, ddof=1))
        assert found[name + suffix].n == len(answered)


@settings(max_examples=20)
@given(questions=st.lists(QUESTION, min_size=1, max_size=12))
def test_what_stays_where_a_distractor_is_anothers(questions: list[Any]) -> None:
    """Silence that stays counts as well; an answer of nothing but an article is not silence."""
    found = attentiveness(rows_of(questions, all_swapped=True), "context", KEPT)
    name = "attentiveness/d/context"
    assert set(found) == {f"{name}/kept", f"{name}/changed"}

    def stays(before: str, after: str) -> bool:
        return before == after == "" or (before != "" != after and words(before) == words(after))

    per_draw = [np.mean([stays(answer, changed[draw]) for _, _, answer, changed in questions]) for draw in range(3)]
    assert found[f"{name}/kept"].per_draw == pytest.approx(tuple(per_draw))
    assert found[f"{name}/kept"].value == pytest.approx(np.mean(per_draw))
    assert (found[f"{name}/kept"].n, found[f"{name}/kept"].draws) == (len(questions), 3)
    answered = [(answer, changed) for _, _, answer, changed in questions if answer]
    moved = [not stays(answer, after) for answer, changed in answered for after in changed]
    assert found[f"{name}/changed"].value == (pytest.approx(np.mean(moved)) if moved else None)
    assert (
        found[f"{name}/changed"].value == attentiveness(rows_of(questions), "context", SWAPPED)[f"{name}/changed"].value
    )
