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
from heedful.datamodules.loaders.reading import answers_of, inserted, known, search, without_part
from heedful.records import SPAN, DataError, Example, Examples, HeedfulError, SettingError

from refusals import refused

PARTS = {"context": "context", "question": "question"}
COLUMNS = Columns(PARTS, "answers", {}, uid="id", groups=("title",))


def squad(path: Path, **settings: Any) -> Reading:
    return Reading("squad2", PARTS, path=str(path), uid="id", groups=["title"], **settings)


def row(context: str = "Rome is hot.", answers: Any = None, **columns: Any) -> dict[str, Any]:
    answers = [] if answers is None else answers
    return {"id": "1", "title": "t", "context": context, "question": "What?", "answers": answers, **columns}


def read(*rows: Mapping[str, Any], columns: Columns = COLUMNS, **settings: Any) -> Examples:
    return load_reading(Source(list(rows)), columns, Split("train", "d/train"), **settings)


def texts(examples: Examples) -> set[str]:
    return set(examples.column("groups.title"))


@pytest.mark.slow
def test_every_question_of_the_real_file(shared_data: Path) -> None:
    """SQuAD's own validation file, half of it: all questions, with the answers at their offsets."""
    file = shared_data / "squad2" / "dev-v2.0_half.json"
    data = squad(file, folds=4, fold=1)
    data.setup("fit")
    own = {}
    for article in json.loads(file.read_text())["data"]:
        for paragraph in article["paragraphs"]:
            for q in paragraph["qas"]:
                own[q["id"]] = (
                    paragraph["context"],
                    q["question"],
                    {a["text"] for a in q["answers"]},
                    article["title"],
                )
    seen = {}
    for examples in (data.train_examples, data.pool):
        for e in examples:
            golds = set(json.loads(e.label))
            seen[e.uid.split("/")[-1]] = (*e.parts.values(), golds, e.groups["title"])
            for gold, start in zip(json.loads(e.label), json.loads(e.meta.get("starts", "[]")), strict=False):
                assert e.parts["context"].startswith(gold, start)
    assert seen == own
    assert len(own) == 6078
    assert not texts(data.train_examples) & texts(data.pool)
    assert (data.counts.hopeless["not_in_text"], data.counts.no_gold) == (0, 0)
    assert data.pool.meta == ()


def test_mrqa_files_with_inclusive_spans(shared_data: Path) -> None:
    data = Reading("newsqa", PARTS, path=str(shared_data / "newsqa" / "sample_mrqa.jsonl"), uid="key", hold_out=5)
    data.setup("fit")
    assert len(data.train_examples) + len(data.pool) == 17
    assert set(data.train_examples.column("cluster")).isdisjoint(data.pool.column("cluster"))
    for e in data.train_examples:
        (gold,), (start,) = json.loads(e.label), json.loads(e.meta["starts"])
        assert e.parts["context"].startswith(gold, start)


@pytest.mark.parametrize("form", ["json", "jsonl", "parquet"])
def test_rows_as_they_are_on_the_hub(tmp_path: Path, form: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [row(answers={"text": ["Rome", "Rome"], "answer_start": [0, 0]}), row(id="2", title="u", question="Who?")]
    rows[1]["answers"] = {"text": [], "answer_start": []}
    path = tmp_path / f"train.{form}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text(json.dumps(rows) if form == "json" else "\n".join(map(json.dumps, rows)))
    data = squad(path, hold_out=1)
    data.setup("fit")
    found = {e.uid: e.label for examples in (data.train_examples, data.pool) for e in examples}
    assert found == {"squad2/train/1": '["Rome"]', "squad2/train/2": "[]"}
    assert (data.task.kind, data.task.parts, data.task.labels) == (SPAN, ("context", "question"), ())
    assert (data.default_label, data.task.default_gold, data.swap) == ("", "[]", ["context"])


def test_official_names_of_files_are_found(tmp_path: Path, write_squad: Callable[[Path, int], Path]) -> None:
    write_squad(tmp_path / "train-v2.0.json", 2)
    write_squad(tmp_path / "dev-v2.0.json", 1)
    data = squad(tmp_path)
    data.setup("fit")
    assert (len(data.train_examples), len(data.pool)) == (20, 10)
    assert {uid.rsplit("/", 1)[0] for uid in data.pool.column("uid")} == {"squad2/validation"}


def test_answers_of_duorc_need_not_stand_in_the_text() -> None:
    columns = Columns({"context": "plot", "question": "question"}, "answers", {}, "question_id", ("plot_id",))
    common = {"plot": "Tom meets Ann in Rome, and in rome's party stays.", "question": "?", "plot_id": "p"}
    rows = [
        {"answers": ["In Rome", "ann"], "no_answer": False},
        {"answers": ["He flees."], "no_answer": False},
        {"answers": ["NA"], "no_answer": True},
        {"answers": [], "no_answer": False},
    ]
    rows = [common | values | {"question_id": str(i)} for i, values in enumerate(rows)]
    examples = read(*rows, columns=columns, no_answer="no_answer")
    assert [e.label for e in examples] == ['["In Rome", "ann"]', '["He flees."]', "[]"]
    assert [e.meta["starts"] for e in examples] == ["[14, 10]", "[null]", "[]"]
    assert known(examples).tolist() == [True, False, True]
    assert examples.no_gold == 1
    with refused(DataError, "the list, row 1", "'no_answer'", "'False'"):
        read(rows[0] | {"no_answer": "False"}, columns=columns, no_answer="no_answer")


def test_what_cannot_be_learned_is_left_out_of_training_alone(tmp_path: Path, capsys: Any) -> None:
    rows = [row(answers=["He flees."], id=str(i), title=str(i % 5)) for i in range(9)] + [row(id="9", title="x")]
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "dev.jsonl").write_text("\n".join(map(json.dumps, rows)))
    data = squad(tmp_path, validate_on_train=True)
    data.setup("fit")
    assert (len(data.train_examples), len(data.pool), data.counts.hopeless["not_in_text"]) == (1, 10, 9)
    (tmp_path / "train.jsonl").write_text(json.dumps(rows[0]))
    with refused(DataError, "squad"):
        squad(tmp_path).setup("fit")


def test_an_answer_that_is_not_at_its_offset_is_searched_nearby() -> None:
    text = "An art party: art is art."
    examples = read(row(text, {"text": ["art"], "answer_start": [16]}))
    assert json.loads(examples[0].meta["starts"]) == [14]
    with refused(DataError, "the list, row 1", "'Paris'", "offset 3"):
        read(row(text, {"text": ["Paris"], "answer_start": [3]}))


def test_answers_lose_spaces_and_repetitions() -> None:
    found = answers_of({"text": [" Rome", "Rome ", "hot"], "answer_start": [3, 9, 8]}, "f", 1, "answers")
    assert found == {"Rome": 4, "hot": 8}


@pytest.mark.parametrize("blank", ["", " ", "\u00a0\t"])
def test_a_blank_answer_does_not_make_a_question_unanswerable(blank: str) -> None:
    for texts in ([blank], ["Rome", blank]):
        told = {"text": texts, "answer_start": [0] * len(texts)}
        with refused(DataError, "the list, row 2", "'answers'"):
            read(row(), row(answers=told, id="2"))
    article = changed(answers=[{"text": blank, "answer_start": 0}])
    with refused(DataError, "the list, row 1, question 'q'", "'answers'"):
        read(article)
    columns = Columns({"context": "context", "question": "question"}, "answers", {}, "id")
    examples = read(row(answers=[blank]) | {"none": True}, columns=columns, no_answer="none")
    assert examples[0].label == "[]"


def test_answers_that_the_measure_takes_for_none_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        assert len(read(row("The end, a.", ["The", "a."]), row("The end.", ["the end"], id="2"))) == 2
    assert "1 question has answers of articles and punctuation alone" in caplog.text


ARTICLE = {"title": "t", "paragraphs": [{"context": "Rome", "qas": [{"id": "q", "question": "?", "answers": []}]}]}


def changed(**columns: Any) -> dict[str, Any]:
    question = ARTICLE["paragraphs"][0]["qas"][0] | columns
    return {"title": "t", "paragraphs": [{"context": "Rome", "qas": [question]}]}


@pytest.mark.parametrize(
    ("rows", "error", "facts"),
    [
        ([row(), row()], DataError, ["the list, row 2", "'1'", "row 1"]),
        ([row(answers="Rome")], DataError, ["the list, row 1", "'answers'", "'Rome'"]),
        ([row(answers=[3])], DataError, ["the list, row 1", "'answers'", "[3]"]),
        ([row(answers={"text": ["Rome"], "answer_start": []})], DataError, ["row 1", "answer_start", "[]"]),
        ([row(answers={"text": ["Rome"], "answer_start": ["0"]})], DataError, ["row 1", "answer_start", "['0']"]),
        ([row(answers={"text": ["Rome"], "answer_start": [True]})], DataError, ["row 1", "answer_start", "[True]"]),
        ([row(context=" ")], DataError, ["the list, row 1", "'context'"]),
        ([row(question=None)], DataError, ["the list, row 1", "'question'"]),
        ([{"id": "1"}], DataError, ["the list, row 1", "'context'", "are id."]),
        ([], DataError, ["the list "]),
        ([{"title": 3, "paragraphs": []}], DataError, ["the list, row 1", "'title'", 3]),
        ([{"title": "t", "paragraphs": [3]}], DataError, ["the list, row 1", "'paragraphs'", 3]),
        ([{"title": "t", "paragraphs": [{"context": "x"}]}], DataError, ["the list, row 1", "'qas'"]),
        ([changed(answers=[{"text": "Rome"}])], DataError, ["the list, row 1, question 'q'", "'answer_start'"]),
        ([changed(is_impossible=False)], DataError, ["the list, row 1, question 'q'", "is_impossible", "0 answers"]),
        (
            [changed(answers=[{"text": "Rome", "answer_start": 0}], is_impossible=True)],
            DataError,
            ["the list, row 1, question 'q'", "is_impossible", "1 answers"],
        ),
        ([changed(question="")], DataError, ["the list, row 1, question 'q'", "'question'"]),
        (
            [{"context": "x", "qas": [{"qid": "q", "answers": []}]}],
            DataError,
            ["the list, row 1", "'detected_answers'"],
        ),
    ],
)
def test_a_broken_row_is_named(rows: list[dict[str, Any]], error: type[HeedfulError], facts: list[Any]) -> None:
    with refused(error, *facts):
        read(*rows)


def test_one_part_alone_is_no_text_with_a_question() -> None:
    with refused(SettingError, "parts", "context"):
        Reading("x", {"context": "context"})


@pytest.mark.parametrize(
    ("settings", "error", "facts"),
    [
        ({"partial": "question"}, SettingError, ["partial", "context, question, other"]),
        ({"distractors": ["context"]}, SettingError, ["distractors context"]),
        ({"distractors": ["other"], "swap": ["other"]}, SettingError, ["swap other", "distractors"]),
        ({"distractors": ["title"], "parts": PARTS}, SettingError, ["distractors title"]),
    ],
)
def test_further_texts_are_not_all_parts(settings: dict[str, Any], error: type[HeedfulError], facts: list[str]) -> None:
    with refused(error, *facts):
        Reading(**{"name": "x", "parts": PARTS | {"other": "other"}} | settings)


def test_the_column_of_places_is_no_column_of_the_data() -> None:
    with refused(SettingError, "meta", "'starts'"):
        Reading("d", PARTS, meta=["starts"])


WORDS = st.lists(st.sampled_from(["art", "Art", "party", "(art)", "a", "r", "t"]), min_size=1, max_size=8)


@given(words=WORDS, near=st.integers(0, 40))
def test_a_search_finds_words_of_their_own_nearest(words: list[str], near: int) -> None:
    text = " ".join(words)
    places = [k for k in range(len(text)) if text.startswith("art", k)]
    places = [k for k in places if not text[k - 1 : k].isalnum() and not text[k + 3 : k + 4].isalnum()]
    if places:
        assert search(text, "art", near) == min(places, key=lambda k: abs(k - near))
    else:
        assert search(text, "art", near) == (text.find("Art") if "Art" in words else None)


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
        golds, starts = ([], []) if i % 3 == 0 else ([f"word{i}", "more"], [text.index(f"word{i}"), text.index("more")])
        rows.append(
            Example(
                f"d/{i}",
                {"context": text, "question": f"What of {i} ?"},
                json.dumps(golds),
                {"title": f"t{i // 4}"},
                {"starts": json.dumps(starts), "passage": str(i // 2)},
            )
        )
    return Examples.of(rows)


def test_the_question_alone_stands_beside_a_text_with_its_answer_put_in() -> None:
    examples = questions(40)
    own = {e.parts["context"]: e.groups["title"] for e in examples}
    found = without_part(examples, "question", seed=0)
    places = set()
    for old, new in zip(examples, found, strict=True):
        golds, starts = json.loads(new.label), json.loads(new.meta["starts"])
        assert (new.uid, new.parts["question"], new.label) == (old.uid, old.parts["question"], old.label)
        text = new.parts["context"]
        if golds:
            assert text.startswith(golds[0], starts[0])
            assert starts[1:] == [None]
            places.add(len(text[: starts[0]].split()))
            text = " ".join((text[: starts[0]] + text[starts[0] + len(golds[0]) :]).split())
        assert own[text] != old.groups["title"]
    assert places == set(range(8))  # before each of the seven words, and behind the last


def test_the_text_alone_stands_beside_another_question() -> None:
    examples = questions(40)
    own = {e.parts["question"]: e.groups["title"] for e in examples}
    for old, new in zip(examples, without_part(examples, "context", seed=0), strict=True):
        assert (new.uid, new.label, new.meta) == (old.uid, old.label, old.meta)
        assert new.parts["context"] == old.parts["context"]
        assert own[new.parts["question"]] != old.groups["title"]


@pytest.mark.parametrize("part", ["context", "question"])
def test_what_one_part_meets_depends_on_the_seed_and_the_uid(part: str) -> None:
    examples = questions(12)
    first, again = (list(without_part(examples, part, seed=1)) for _ in range(2))
    assert first == again
    assert first != list(without_part(examples, part, seed=2))


def test_one_part_alone_needs_another_group() -> None:
    with refused(DataError, "partial question", "context", "d/0"):
        without_part(questions(4), "question", seed=0)


def test_partial_data_keep_both_parts_and_are_not_swapped(
    tmp_path: Path, write_squad: Callable[[Path, int], Path]
) -> None:
    file = write_squad(tmp_path / "squad.json", 4)
    data = squad(file, folds=2, fold=0, partial="question")
    data.setup("fit")
    assert (data.task.parts, data.swap, data.regime) == (("context", "question"), [], "partial-question-fold-0")
    plain = squad(file, folds=2, fold=0)
    plain.setup("fit")
    assert list(data.pool.column("uid")) == list(plain.pool.column("uid"))
    assert list(data.pool.column("parts.context")) != list(plain.pool.column("parts.context"))
    assert data.pool.meta == ()
    assert (
        list(data.pool.column("cluster"))
        == list(plain.pool.column("cluster"))
        == list(plain.pool.column("groups.title"))
    )


def test_counterfactuals_have_no_answer_and_a_text_of_another_article(
    tmp_path: Path, write_squad: Callable[[Path, int], Path]
) -> None:
    data = squad(write_squad(tmp_path / "squad.json", 5), hold_out=10, augment="counterfactual")
    data.setup("fit")
    assert (len(data.train_examples), len(data.pool)) == (40, 10)
    found = data.training_set()
    title = {e.parts["context"]: e.groups["title"] for e in data.train_examples}
    added = [found[i] for i in range(40, len(found))]
    assert len(added) == sum(e.label != "[]" for e in data.train_examples) == 24
    for e in added:
        assert e.label == "[]"
        assert title[e.parts["context"]] != e.groups["title"]


def test_holding_out_takes_whole_articles(tmp_path: Path, write_squad: Callable[[Path, int], Path]) -> None:
    file = write_squad(tmp_path / "squad.json", 4)
    for n, articles in ((1, 1), (10, 1), (11, 2), (30, 3)):
        data = squad(file, hold_out=n)
        data.setup("fit")
        assert len(data.pool) == 10 * articles
        assert not texts(data.pool) & texts(data.train_examples)
    with refused(DataError, "hold_out 31", "cluster", "groups"):
        squad(file, hold_out=31).setup("fit")


@pytest.mark.parametrize("part", ["context", "question"])
def test_of_several_splits_one_part_alone_meets_the_other_of_its_own_split(tmp_path: Path, part: str) -> None:
    """As if each were evaluated alone."""
    for name in ("one", "two"):
        rows = [row(f"{name} {i}", [], id=f"{i}", title=f"{name} {i}", question=f"{name} ? {i}") for i in range(12)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    data = squad(tmp_path, splits={"train": "one", "validation": ["one", "two"]}, partial=part)
    data.setup("validate")
    for example in data.pool:
        assert {text.split()[0] for text in example.parts.values()} == {example.meta["split"]}


@pytest.mark.parametrize("spans", [[], [3], [[]], [{"start": 3}]])
def test_an_answer_without_a_span_is_refused(spans: Any) -> None:
    answer = {"text": "Rome", "char_spans": spans}
    text = {"context": "In Rome.", "qas": [{"qid": "q", "answers": ["Rome"], "detected_answers": [answer]}]}
    with refused(DataError, "the list, row 1, question 'q'", "char_spans", spans):
        read(text)
