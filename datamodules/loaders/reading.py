"""Reading comprehension: questions about texts, as SQuAD 2.0, MRQA or a row for each question write them."""

import json
import re
from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any

import numpy as np

from heedful.datamodules.loaders.pairs import Columns, in_order, require_columns, uid_of
from heedful.datamodules.sources.readers import Row
from heedful.datamodules.sources.source import Source, Split
from heedful.datamodules.sources.values import brief, text_of
from heedful.interventions import Swap
from heedful.records import CLUSTER, SPAN, DataError, Examples, ExamplesBuilder, agree, generator, inform
from heedful.records.answers import normalised

STARTS = "starts"  # meta column: where each gold answer begins in its text, in characters, or null: a JSON list
ABSENT = "not_in_text"  # no answer stands in the text
HOLLOW = "question has", "questions have", "answers of articles and punctuation alone, which count as none."
MOVED = "answer is", "answers are", "not at the offset, and searched for."
KINDS = {str: "a text", int: "a whole number", list: "a list"}


def questions(rows: Iterator[tuple[int, Row]], where: str) -> Iterator[tuple[int | str, Row]]:
    """(Row, columns) of each question; a row with several names the question as well.

    An article of SQuAD's own files (with ``paragraphs``) becomes rows with the columns id, title, context, question
    and answers; a text of MRQA's (with ``qas``) becomes rows with key, context, question and answers: the columns that
    their copies on the hub have. Any other row is a question already; MRQA's header is none.

    Raises:
        HeedfulError: A part of an article or of a text is missing, or of another kind; the message names the row.
    """
    for row, columns in rows:
        if "paragraphs" in columns:
            yield from _of_article(columns, where, row)
        elif "qas" in columns:
            yield from _of_text(columns, where, row)
        elif columns.keys() != {"header"}:
            yield row, columns


def _of_article(article: Row, where: str, row: int) -> Iterator[tuple[str, Row]]:
    title = _field(article, "title", str, where, row)
    for paragraph in _objects(article, "paragraphs", where, row):
        context = _field(paragraph, "context", str, where, row)
        for question in _objects(paragraph, "qas", where, row):
            asked = f"{row}, question {brief(question.get('id'))}"
            answers = _objects(question, "answers", where, asked)
            if question.get("is_impossible", not answers) != (not answers):
                raise DataError(f"{where}, row {asked}: is_impossible does not agree with its {len(answers)} answers.")
            texts = [_field(answer, "text", str, where, asked) for answer in answers]
            starts = [_field(answer, "answer_start", int, where, asked) for answer in answers]
            own_fields = {"title": title, "context": context, "answers": {"text": texts, "answer_start": starts}}
            yield asked, question | own_fields


def _of_text(text: Row, where: str, row: int) -> Iterator[tuple[str, Row]]:
    context = _field(text, "context", str, where, row)
    for question in _objects(text, "qas", where, row):
        asked = f"{row}, question {brief(question.get('qid'))}"
        starts = {}
        for answer in _objects(question, "detected_answers", where, asked):
            spans = _field(answer, "char_spans", list, where, asked)
            if not (spans and isinstance(spans[0], list) and spans[0]):
                raise DataError(f"{where}, row {asked}: char_spans holds {brief(spans)}, not spans.")
            starts.setdefault(_field(answer, "text", str, where, asked), spans[0][0])
        texts = _field(question, "answers", list, where, asked)
        starts_of_texts = [starts.get(text) if isinstance(text, str) else None for text in texts]
        own_fields = {
            "key": question.get("qid"),
            "context": context,
            "answers": {"text": texts, "answer_start": starts_of_texts},
        }
        yield asked, question | own_fields


def _field(columns: Row, name: str, kind: type, where: str, row: int | str) -> Any:
    value = columns.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise DataError(f"{where}, row {row}: {name!r} is {brief(value)}, not {KINDS[kind]}.")
    return value


def _objects(columns: Row, name: str, where: str, row: int | str) -> list[Row]:
    values = _field(columns, name, list, where, row)
    if other := [value for value in values if not isinstance(value, dict)]:
        raise DataError(f"{where}, row {row}: {name!r} holds {brief(other[0])}, not an object.")
    return values


def load_reading(source: Source, columns: Columns, split: Split, no_answer: str | None = None) -> Examples:
    """The questions of a split, whose answers are spans.

    Args:
        source: Rows with a question each, or nested as :func:`questions` reads them.
        columns: Which column is what; ``label`` is that of the answers, and the first part is the text they stand in.
        split: Which split.
        no_answer: Column that says whether there is no answer. Without one, an empty list says so.

    Returns:
        The examples, with the gold answers as a JSON list, without repetitions; their meta columns are ``starts`` and
        those that are named. Where no group is named, texts are the clusters of intervals.

    Raises:
        HeedfulError: A missing column, an empty part, answers of another kind, an answer with an offset that stands
            nowhere in its text, or a repeated id; the message names the row.
    """
    where, rows = source.rows(split)
    further = columns.further_groups
    cluster = columns.clustered_by or next(iter(columns.parts))
    builder = ExamplesBuilder(tuple(columns.parts), further, (STARTS, *columns.meta), cluster=cluster)
    flags = () if no_answer is None else (no_answer,)
    rows_taken = []  # the rows that became examples
    no_gold = hollow = moved = 0
    for row, values in source.select(questions(rows, where), where):
        require_columns(columns, values, where, row, more=flags)
        parts = [text_of(values[column], where, row, column) for column in columns.parts.values()]
        has_none = no_answer is not None and _has_none(values[no_answer], where, row, no_answer)
        answers = {} if has_none else answers_of(values[columns.label], where, row, columns.label)
        if no_answer is not None and not has_none and not answers:
            no_gold += 1
            continue
        hollow += bool(answers) and not any(map(normalised, answers))
        starts = [_place(parts[0], answer, start, f"{where}, row {row}") for answer, start in answers.items()]
        moved += sum(start not in (None, place) for start, place in zip(answers.values(), starts, strict=True))
        groups = [text_of(values[column], where, row, column) for column in further]
        meta = columns.meta_of(values, where, row)
        uid = uid_of(values, where, row, split.prefix, columns)
        builder.add(uid, parts, SPAN.write_gold(list(answers)), groups, [json.dumps(starts), *meta])
        rows_taken.append(row)
    if not rows_taken:
        raise DataError(f"{where} has no question with a gold answer ({no_gold} without). Take data with gold labels.")
    for n, (singular, plural, what) in ((hollow, HOLLOW), (moved, MOVED)):
        if n:
            inform(f"{where}: {agree(n, singular, plural)} {what}")
    examples = in_order(builder.finish(), rows_taken, where, split.prefix, columns)
    examples.no_gold, examples.origin = no_gold, where
    return examples


def _has_none(value: Any, where: str, row: int | str, column: str) -> bool:
    """What a row says of whether there is no answer."""
    if value not in (True, False):
        raise DataError(f"{where}, row {row}: the column {column!r} is {brief(value)}, not true or false.")
    return bool(value)


def answers_of(value: Any, where: str, row: int | str, column: str) -> dict[str, int | None]:
    """Each different answer and where it is said to begin, from a list of texts, or from texts with offsets.

    Args:
        value: ``["Rome", ...]``, or ``{"text": ["Rome", ...], "answer_start": [12, ...]}``.
        where: What to call the source in an error.
        row: Which row of it.
        column: Which column.

    Raises:
        HeedfulError: It is something else, or an answer is blank, by which its question would have none.
    """
    place = f"{where}, row {row}: the column {column!r}"
    texts = value
    starts = None
    if isinstance(value, Mapping):
        texts = value.get("text")
        starts = value.get("answer_start")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise DataError(f"{place} is {brief(value)}, neither a list of texts nor texts with answer_start.")
    starts = [None] * len(texts) if starts is None else starts
    if not isinstance(starts, list) or len(starts) != len(texts) or not all(type(s) in (int, NoneType) for s in starts):
        raise DataError(f"{place} needs an offset in answer_start for each text, and has {brief(starts)}.")
    start_of: dict[str, int | None] = {}
    for text, start in zip(texts, starts, strict=True):
        if not (answer := text.strip()):
            raise DataError(
                f"{place} has an answer without any text. Take it out; a question without an answer has an empty list."
            )
        indent = len(text) - len(text.lstrip())
        start_of.setdefault(text_of(answer, where, row, column), None if start is None else start + indent)
    return start_of


def _place(text: str, answer: str, start: int | None, display_name: str) -> int | None:
    """Where an answer begins in its text: at its offset, or where it stands nearest to that; None for nowhere."""
    if start is not None and start >= 0 and text.startswith(answer, start):
        return start
    place = search(text, answer, start or 0)
    if start is not None and place is None:
        raise DataError(f"{display_name}: the answer {brief(answer)} is neither at its offset {start} nor elsewhere.")
    return place


def search(text: str, answer: str, near: int = 0) -> int | None:
    """Where an answer begins as words of their own, nearest to an offset; in any case, if not in its own.

    Example:
        >>> text = "A party at the Art Museum, with art."
        >>> search(text, "art"), search(text, "ART"), search(text, "mus")
        (32, 15, None)
    """
    words = rf"(?<!\w){re.escape(answer)}(?!\w)"
    for flags in (0, re.IGNORECASE):
        if places := [match.start() for match in re.finditer(words, text, flags)]:
            return min(places, key=lambda place: abs(place - near))
    return None


def known(examples: Examples) -> np.ndarray:
    """Which questions can be trained on, since an answer stands in the text, or there is none: bool [examples]."""
    starts = (json.loads(starts) for starts in examples.column(f"meta.{STARTS}"))
    return np.array([not places or any(place is not None for place in places) for places in starts], dtype=bool)


def without_part(examples: Examples, part: str, seed: int, within: str | None = None) -> Examples:
    """Questions that one part alone is left of (CAT, footnote 16, after Kaushik and Lipton, 2018).

    For the question alone, its first gold answer is put between two words of the text of a random other example, at a
    random place; where there is no answer, nothing is put in (the paper does not say). For the text alone, the question
    is that of a random other example. Others never share a group. Gold answers stay.

    Args:
        examples: With the parts (text, question), and the meta column ``starts`` or not.
        part: The part that stays.
        seed: The run's seed; what an example becomes depends on it, its uid and the others alone.
        within: A meta column in which the other is the same (the split, where there are several); None for any.

    Raises:
        HeedfulError: An example has no other, since all are of one group.
    """
    text, question = examples.parts
    other = question if part == text else text
    groups = [group for group in examples.groups if group not in examples.parts]
    builder = ExamplesBuilder(examples.parts, groups, examples.meta)
    partners = Swap(other, None, name="partial", within=within).partners(examples, np.arange(len(examples)), 0, seed)
    for example, j in zip(examples, partners.tolist(), strict=True):
        if j < 0:
            raise DataError(
                f"partial {part} needs a {other} of another group, and {example.uid} finds none. Take more data."
            )
        parts = {**example.parts, other: examples.value(f"parts.{other}", j)}
        meta = dict(example.meta)
        if other == text:
            golds = SPAN.parse_gold(example.label)
            starts: list[int | None] = [None] * len(golds)
            if golds:
                parts[text], starts[0] = inserted(golds[0], parts[text], generator(seed, "insert", example.uid))
            meta |= {STARTS: json.dumps(starts)} if STARTS in meta else {}
        builder.add(
            example.uid,
            [parts[name] for name in examples.parts],
            example.label,
            [example.groups[group] for group in groups],
            [meta[name] for name in examples.meta],
        )
    made = builder.finish().without_column(CLUSTER)
    return made.with_column(CLUSTER, examples.table[CLUSTER]) if examples.has_clusters else made


def inserted(answer: str, text: str, rng: np.random.Generator) -> tuple[str, int]:
    """A text with an answer put in before a random word or behind the last, and where the answer begins.

    Example:
        >>> inserted("Rome", "It is hot.", np.random.default_rng(0))
        ('It is hot. Rome', 11)
    """
    places = [match.start() for match in re.finditer(r"\S+", text)]
    k = int(rng.integers(len(places) + 1))
    if k < len(places):
        before = text[: places[k]]
        after = f" {text[places[k] :]}"
    else:
        before = f"{text.rstrip()} "
        after = ""
    return f"{before}{answer}{after}", len(before)
