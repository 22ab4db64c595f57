"""Reading comprehension: what the files become, what is refused, and what is left of one part."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules import Columns, Reading, Source, Split, load_reading
from heedful.datamodules.loaders.reading import answers_of, find_answer, inserted, is_learnable, with_random_part
from heedful.records import SPAN, DataError, Example, Examples

from own_data import set_up
from refusals import refused

PARTS = {"context": "context", "question": "question"}
COLUMNS = Columns(PARTS, "answers", {}, uid="id", groups=("title",))


def squad(path: Any, stage: str = "fit", **settings: Any) -> Reading:
    path = str(path) if isinstance(path, Path) else path
    return set_up(Reading("squad2", PARTS, path=path, uid="id", groups=["title"], **settings), stage)


def row(context: str = "Rome is hot.", answers: Any = (), **columns: Any) -> dict[str, Any]:
    answers = list(answers) if isinstance(answers, tuple) else answers
    return {"id": "1", "title": "t", "context": context, "question": "What?", "answers": answers, **columns}


def read(*rows: Mapping[str, Any], columns: Columns = COLUMNS, **settings: Any) -> Examples:
    return load_reading(Source(list(rows)), columns, Split("train", "d/train"), **settings)


def test_rows_as_they_are_on_the_hub() -> None:
    rows = [
        row(answers={"text": ["Rome", "Rome"], "answer_start": [0, 0]}),
        row(answers={"text": [], "answer_start": []}, id="2", title="u", question="Who?"),
    ]
    data = squad(rows, hold_out=1)
    found = {e.uid: e.label for examples in (data.train_examples, data.pool) for e in examples}
    assert found == {"squad2/train/1": '["Rome"]', "squad2/train/2": "[]"}
    assert (data.task.kind, data.task.labels, data.swap) == (SPAN, (), ["context"])
    assert (data.default_label, data.task.default_gold) == ("", "[]")


def test_answers_of_duorc_need_not_stand_in_the_text() -> None:
    columns = Columns({"context": "plot", "question": "question"}, "answers", {}, "question_id", ("plot_id",))
    common = {"plot": "Tom meets Ann in Rome, and in rome's party stays.", "question": "?", "plot_id": "p"}
    told = [(["In Rome", "ann"], False), (["He flees."], False), (["NA"], True), ([], False), ([" "], True)]
    rows = [common | {"answers": a, "no_answer": none, "question_id": str(i)} for i, (a, none) in enumerate(told)]
    examples = read(*rows, columns=columns, no_answer="no_answer")
    assert [e.label for e in examples] == ['["In Rome", "ann"]', '["He flees."]', "[]", "[]"]
    assert [e.meta["starts"] for e in examples] == ["[14, 10]", "[null]", "[]", "[]"]
    assert is_learnable(examples).tolist() == [True, False, True, True]
    assert examples.no_gold == 1
    with refused(DataError, "the list, row 1", "'no_answer'", "'False'"):
        read(rows[0] | {"no_answer": "False"}, columns=columns, no_answer="no_answer")


def test_what_cannot_be_learned_is_left_out_of_training_alone() -> None:
    rows = [row(answers=["He flees."], id=str(i), title=str(i % 5)) for i in range(9)] + [row(id="9", title="x")]
    data = squad({"train": rows, "dev": rows}, validate_on_train=True)
    assert (len(data.train_examples), len(data.pool), data.counts.hopeless["not_in_text"]) == (1, 10, 9)
    with refused(DataError, "squad"):
        squad({"train": rows[:1], "dev": rows})


def test_an_answer_that_is_not_at_its_offset_is_searched_nearby(caplog: pytest.LogCaptureFixture) -> None:
    text = "An art party: art is art."
    with caplog.at_level("INFO"):
        examples = read(
            row(text, {"text": ["art"], "answer_start": [16]}), row("The end, a.", ["The", "a."], id="2", question="W")
        )
    assert json.loads(examples[0].meta["starts"]) == [14]
    assert "1 question has only answers of articles and punctuation" in caplog.text
    with refused(DataError, "the list, row 1", "'Paris'", "offset 3"):
        read(row(text, {"text": ["Paris"], "answer_start": [3]}))
    found = answers_of({"text": [" Rome", "Rome ", "hot"], "answer_start": [3, 9, 8]}, "f", 1, "answers")
    assert found == {"Rome": 4, "hot": 8}


def article(**columns: Any) -> dict[str, Any]:
    question = {"id": "q", "question": "?", "answers": []} | columns
    return {"title": "t", "paragraphs": [{"context": "Rome", "qas": [question]}]}


def passage(spans: Any) -> dict[str, Any]:
    answer = {"text": "Rome", "char_spans": spans}
    return {"context": "In Rome.", "qas": [{"qid": "q", "answers": ["Rome"], "detected_answers": [answer]}]}


@pytest.mark.parametrize(
    ("rows", "facts"),
    [
        ([row(), row()], ["row 2", "'1'", "row 1"]),
        ([row(answers="Rome")], ["row 1", "'answers'", "'Rome'"]),
        *(
            ([row(answers={"text": ["Rome"], "answer_start": starts})], ["row 1", "answer_start", str(starts)])
            for starts in ([], ["0"], [True])
        ),
        *(
            ([row(), row(answers={"text": texts, "answer_start": [0] * len(texts)}, id="2")], ["row 2", "'answers'"])
            for blank in ("", " ", "\u00a0\t")  # which would make the question unanswerable
            for texts in ([blank], ["Rome", blank])
        ),
        ([row(context=" ")], ["row 1", "'context'"]),
        ([{"id": "1"}], ["row 1", "'context'", "are id."]),
        ([], ["the list "]),
        ([{"title": "t", "paragraphs": [{"context": "x"}]}], ["row 1", "'qas'"]),
        ([article(answers=[{"text": "Rome"}])], ["row 1, question 'q'", "'answer_start'"]),
        ([article(is_impossible=False)], ["row 1, question 'q'", "is_impossible with 0 answers"]),
        ([{"context": "x", "qas": [{"qid": "q", "answers": []}]}], ["row 1", "'detected_answers'"]),
        *(([passage(x)], ["row 1, question 'q'", "MRQA"]) for x in ([], [3], [[]], [{"start": 3}])),
    ],
)
def test_a_broken_row_is_named(rows: list[dict[str, Any]], facts: list[Any]) -> None:
    with refused(DataError, "the list", *facts):
        read(*rows)


WORDS = st.lists(st.sampled_from(["art", "Art", "party", "(art)", "a", "r", "t"]), min_size=1, max_size=8)


@given(words=WORDS, near=st.integers(0, 40))
def test_a_search_finds_words_of_their_own_nearest(words: list[str], near: int) -> None:
    text = " ".join(words)
    places = [k for k in range(len(text)) if text.startswith("art", k)]
    places = [k for k in places if not text[k - 1 : k].isalnum() and not text[k + 3 : k + 4].isalnum()]
    if places:
        assert find_answer(text, "art", near) == min(places, key=lambda k: abs(k - near))
    else:
        assert find_answer(text, "art", near) == (text.find("Art") if "Art" in words else None)


@given(words=st.lists(st.sampled_from(["Rome", "is", " \n", "hot."]), max_size=6), seed=st.integers(0, 99))
def test_an_inserted_answer_stands_between_words(words: list[str], seed: int) -> None:
    text = " ".join(words)
    found, start = inserted("the answer", text, np.random.default_rng(seed))
    assert found.startswith("the answer", start)
    before, after = found[:start], found[start + len("the answer") :]
    assert (before + after).split() == text.split()
    assert not before or before[-1].isspace()
    assert not after or after[0].isspace()


def questions(n: int) -> Examples:
    """Questions about texts of two or three each; every third has no answer."""
    rows = []
    for i in range(n):
        text = f"Text {i // 2} says word{i} and more ."
        golds = [] if i % 3 == 0 else [f"word{i}", "more"]
        starts = json.dumps([text.index(gold) for gold in golds])
        parts = {"context": text, "question": f"What of {i} ?"}
        rows.append(Example(f"d/{i}", parts, json.dumps(golds), {"title": f"t{i // 4}"}, {"starts": starts}))
    return Examples.of(rows)


@pytest.mark.parametrize("part", ["context", "question"])
def test_one_part_alone_stands_beside_another_examples(part: str) -> None:
    """The question beside a text with its answer put in, the text beside another question."""
    examples, other = questions(40), {"context": "question", "question": "context"}[part]
    title = {e.parts[other]: e.groups["title"] for e in examples}
    found, places = list(with_random_part(examples, part, seed=0)), set()
    for old, new in zip(examples, found, strict=True):
        assert (new.uid, new.label, new.parts[part]) == (old.uid, old.label, old.parts[part])
        golds, starts, text = json.loads(new.label), json.loads(new.meta["starts"]), new.parts[other]
        if part == "context":
            assert new.meta == old.meta
        elif golds:
            assert text.startswith(golds[0], starts[0])
            assert starts[1:] == [None]
            places.add(len(text[: starts[0]].split()))
            text = " ".join((text[: starts[0]] + text[starts[0] + len(golds[0]) :]).split())
        assert title[text] != old.groups["title"]
    assert places == ({*range(8)} if part == "question" else set())  # before each of the seven words, and behind
    assert list(with_random_part(examples, part, seed=0)) == found != list(with_random_part(examples, part, seed=1))
    with refused(DataError, f"partial {part}", other, "d/0"):
        with_random_part(questions(4), part, seed=0)


@pytest.mark.parametrize("part", ["context", "question"])
def test_of_several_splits_one_part_alone_meets_the_other_of_its_own_split(part: str) -> None:
    """As if each were evaluated alone."""
    path = {
        name: [row(f"{name} {i}", [], id=f"{i}", title=f"{name} {i}", question=f"{name} ? {i}") for i in range(12)]
        for name in ("one", "two")
    }
    data = squad(path, "validate", splits={"train": "one", "validation": ["one", "two"]}, partial=part)
    for example in data.pool:
        assert {text.split()[0] for text in example.parts.values()} == {example.meta["split"]}


def test_whole_articles_are_held_out(tmp_path: Path, write_squad: Callable[[Path, int], Path]) -> None:
    file = write_squad(tmp_path / "train-v2.0.json", 4)
    for n, articles in ((1, 1), (10, 1), (11, 2), (30, 3)):
        held_out = squad(file, hold_out=n)
        assert len(held_out.pool) == 10 * articles
        assert {*held_out.pool.column("groups.title")}.isdisjoint(held_out.train_examples.column("groups.title"))
