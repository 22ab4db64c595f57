"""Questions about texts: files as SQuAD 2.0 and MRQA write them, and tables with a row for each question."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any

from heedful.datamodules.sources.hub_and_local import Columns, in_order, require_columns, uid_of
from heedful.datamodules.sources.readers import Row, brief
from heedful.datamodules.sources.values import Rows, text_of
from heedful.records import SPAN, DataError, Examples, ExamplesBuilder
from heedful.records.answers import normalised

STARTS = "starts"  # meta column: where each gold answer begins in its text, in characters, or null: a JSON list
KINDS = {str: "a text", int: "a whole number", list: "a list"}


@dataclass
class Oddities:
    """How many rows and answers are unusual.

    Attributes:
        no_gold: Rows that were left out, since they have no answer and do not say that there is none.
        hollow: Questions with answers of articles and punctuation alone, which exact match and F1 take for no answer.
        moved: Answers that do not stand at the offset that is given for them, but elsewhere in their text.
    """

    no_gold: int = 0
    hollow: int = 0
    moved: int = 0


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


def to_questions(
    rows: Rows,
    where: str,
    prefix: str,
    columns: Columns,
    no_answer: str | None = None,
) -> tuple[Examples, Oddities]:
    """Turn rows into examples whose answers are spans.

    Args:
        rows: (row, columns) pairs, a question each, or nested as :func:`questions` reads them.
        where: What to call the source in an error.
        prefix: ``<data>/<split>``, the start of each uid.
        columns: Which column is what; ``label`` is that of the answers, and the first part is the text they stand in.
        no_answer: Column that says whether there is no answer. Without one, an empty list says so.

    Returns:
        The examples, with the gold answers as a JSON list, without repetitions; their meta columns are ``starts`` and
        those that are named. Where no group is named, texts are the clusters of intervals.

    Raises:
        HeedfulError: A missing column, an empty part, answers of another kind, an answer with an offset that stands
            nowhere in its text, or a repeated id; the message names the row.
    """
    further = columns.further_groups
    cluster = columns.clustered_by or next(iter(columns.parts))
    builder = ExamplesBuilder(tuple(columns.parts), further, (STARTS, *columns.meta), cluster=cluster)
    wanted = [*columns.parts.values(), columns.label, *further, *columns.meta]
    wanted += [name for name in (columns.uid, no_answer) if name is not None]
    oddities = Oddities()
    rows_taken = []  # the rows that became examples
    for row, values in questions(rows, where):
        require_columns(wanted, values, where, row, columns.slices)
        parts = [text_of(values[column], where, row, column) for column in columns.parts.values()]
        has_none = no_answer is not None and _has_none(values[no_answer], where, row, no_answer)
        answers = {} if has_none else answers_of(values[columns.label], where, row, columns.label)
        if no_answer is not None and not has_none and not answers:
            oddities.no_gold += 1
            continue
        oddities.hollow += bool(answers) and not any(map(normalised, answers))
        starts = [_place(parts[0], answer, start, f"{where}, row {row}", oddities) for answer, start in answers.items()]
        of_group = [text_of(values[column], where, row, column) for column in further]
        meta = columns.meta_of(values, where, row)
        gold = SPAN.write_gold(list(answers))
        uid = uid_of(values, where, row, prefix, columns)
        builder.add(uid, parts, gold, of_group, [json.dumps(starts), *meta])
        rows_taken.append(row)
    if not rows_taken:
        raise DataError(
            f"{where} has no question with a gold answer ({oddities.no_gold} without). Take data with gold labels."
        )
    return in_order(builder.finish(), rows_taken, where, prefix, columns), oddities


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


def _place(text: str, answer: str, start: int | None, display_name: str, oddities: Oddities) -> int | None:
    """Where an answer begins in its text: at its offset, or where it stands nearest to that; None for nowhere."""
    if start is not None and start >= 0 and text.startswith(answer, start):
        return start
    place = search(text, answer, start or 0)
    if start is not None:
        if place is None:
            raise DataError(
                f"{display_name}: the answer {brief(answer)} is neither at its offset {start} nor elsewhere."
            )
        oddities.moved += 1
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
