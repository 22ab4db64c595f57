"""Load reading comprehension: questions about texts, in the format of SQuAD 2.0 or MRQA, or with a row per question."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import NoneType
from typing import Any

import numpy as np

from heedful.datamodules.loaders.pairs import Columns, require_columns, to_examples
from heedful.datamodules.sources.readers import Row
from heedful.datamodules.sources.source import Source, Split
from heedful.datamodules.sources.values import Rows, brief, text_of
from heedful.interventions import Swap
from heedful.records import CLUSTER, SPAN, DataError, Examples, ExamplesBuilder, agree, generator, inform
from heedful.records.answers import normalised

GOLD = "gold"  # added column: JSON list of the distinct gold answers
EDITED = "edited gold"  # added column: the same after the edit of a counterpart
STARTS = "starts"  # meta column: JSON list with the character offset of each gold answer, null if it is not in the text
ABSENT = "not_in_text"  # name of the count of questions whose answers are not in the text


def questions(rows: Iterator[tuple[int, Row]], where: str) -> Iterator[tuple[int | str, Row]]:
    """Flatten nested rows to one row per question, with the column names of the data sets on the hub.

    A SQuAD article (an object with ``paragraphs``) becomes rows with id, title, context, question and answers. An MRQA
    text (an object with ``qas``) becomes rows with key, context, question and answers. Other rows stay, except the
    header of MRQA files, which is dropped.

    Args:
        rows: Pairs (row number, values by column).
        where: Name of the source in messages.

    Yields:
        Pairs (row for messages, values by column).
    """
    for row, columns in rows:
        if "paragraphs" not in columns and "qas" not in columns:
            if columns.keys() != {"header"}:
                yield row, columns
            continue
        place = str(row)
        try:
            for paragraph in columns.get("paragraphs", [columns]):
                for question in paragraph["qas"]:
                    place = f"{row}, question {brief(question.get('id', question.get('qid')))}"
                    flat = _of_squad(question, columns) if "paragraphs" in columns else _of_mrqa(question)
                    yield place, {**question, **flat, "context": paragraph["context"]}
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            raise DataError(f"{where}, row {place}: not in the format of SQuAD or MRQA: {error!r}.") from None


def _of_squad(question: Row, article: Row) -> Row:
    answers = question["answers"]
    if question.get("is_impossible", not answers) != (not answers):
        raise ValueError(f"is_impossible with {len(answers)} answers")
    fields = {name: [answer[name] for answer in answers] for name in ("text", "answer_start")}
    return {"title": article["title"], "answers": fields}


def _of_mrqa(question: Row) -> Row:
    starts: dict[str, int] = {}
    for answer in question["detected_answers"]:
        starts.setdefault(answer["text"], answer["char_spans"][0][0])
    offsets = [starts.get(text) for text in question["answers"]]
    return {"key": question["qid"], "answers": {"text": question["answers"], "answer_start": offsets}}


def load_reading(source: Source, columns: Columns, split: Split, no_answer: str | None = None) -> Examples:
    """Load questions whose answers are spans, sorted by uid.

    Args:
        source: Rows, one per question or nested: see :func:`questions`.
        columns: Roles of the columns. ``label`` has the answers, and the first part is the text that contains them.
        split: The split.
        no_answer: Boolean column of unanswerable questions; by default, an empty list of answers means no answer.

    Returns:
        Examples with a JSON list of distinct answers as gold label, and the meta column ``starts``, a JSON list of the
        answers' character offsets. Without groups, each text is a cluster.

    Raises:
        DataError: A row lacks a column, has an empty part or malformed answers, or repeats an id, or an answer with an
            offset is not in its text; the message names the row.
    """
    where, rows = source.rows(split)
    text = next(iter(columns.parts))
    counterpart = columns.counterpart
    if counterpart is not None and counterpart.label_column is not None:
        counterpart = replace(counterpart, label=EDITED)
    columns_of_rows = {"label": GOLD, "labels": None, "meta": (STARTS, *columns.meta), "counterpart": counterpart}
    roles = replace(columns, cluster=columns.clustered_by or text, **columns_of_rows)
    rows = _with_gold(source.select(questions(rows, where), where), where, columns, no_answer)
    return to_examples(rows, where, roles, split)


def _with_gold(rows: Rows, where: str, columns: Columns, no_answer: str | None) -> Rows:
    """Add the columns ``gold`` and ``starts``, JSON lists of answers and of their offsets, to the rows."""
    text = next(iter(columns.parts.values()))
    edited = None if columns.counterpart is None else columns.counterpart.label_column
    hollow = 0
    for row, values in rows:
        require_columns(columns, values, where, row, more=() if no_answer is None else (no_answer,))
        has_none = no_answer is not None and _has_none(values[no_answer], where, row, no_answer)
        answers = {} if has_none else answers_of(values[columns.label], where, row, columns.label)
        hollow += bool(answers) and not any(map(normalised, answers))
        context = text_of(values[text], where, row, text)
        starts = [_answer_offset(context, answer, start, f"{where}, row {row}") for answer, start in answers.items()]
        is_unknown = no_answer is not None and not has_none and not answers
        gold = None if is_unknown else SPAN.write_gold(list(answers))
        added = {GOLD: gold, STARTS: json.dumps(starts)}
        if edited is not None:
            added[EDITED] = SPAN.write_gold(list(answers_of(values[edited], where, row, edited)))
        yield row, {**values, **added}
    if hollow:
        answers_of_articles = "only answers of articles and punctuation, which count as no answer."
        inform(f"{where}: {agree(hollow, 'question has', 'questions have')} {answers_of_articles}")


def _has_none(value: Any, where: str, row: int | str, column: str) -> bool:
    if value not in (True, False):
        raise DataError(f"{where}, row {row}: the column {column!r} is {brief(value)}, not true or false.")
    return bool(value)


def answers_of(value: Any, where: str, row: int | str, column: str) -> dict[str, int | None]:
    """Parse the answers to a question: map each distinct answer to its character offset, or to None without offsets.

    Args:
        value: ``["Rome", ...]``, or ``{"text": ["Rome", ...], "answer_start": [12, ...]}``.
        where: Name of the source in messages.
        row: Row in messages.
        column: Column in messages.

    Raises:
        DataError: The value has another format, or an answer is blank.
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
            raise DataError(f"{place} has a blank answer. Remove it; an empty list means that there is no answer.")
        indent = len(text) - len(text.lstrip())
        start_of.setdefault(text_of(answer, where, row, column), None if start is None else start + indent)
    return start_of


def _answer_offset(text: str, answer: str, start: int | None, display_name: str) -> int | None:
    """Return ``start`` if the answer is there, else the offset of its nearest occurrence; None without both."""
    if start is not None and start >= 0 and text.startswith(answer, start):
        return start
    place = find_answer(text, answer, start or 0)
    if start is not None and place is None:
        raise DataError(f"{display_name}: the answer {brief(answer)} is neither at its offset {start} nor elsewhere.")
    return place


def find_answer(text: str, answer: str, near: int = 0) -> int | None:
    """Return the offset of an answer in a text, as whole words; None if the answer does not occur.

    Of several occurrences, the nearest to the offset ``near`` counts. If the answer occurs only in another case, case
    is ignored.

    Example:
        >>> text = "A party at the Art Museum, with art."
        >>> find_answer(text, "art"), find_answer(text, "ART"), find_answer(text, "mus")
        (32, 15, None)
    """
    words = rf"(?<!\w){re.escape(answer)}(?!\w)"
    for flags in (0, re.IGNORECASE):
        if places := [match.start() for match in re.finditer(words, text, flags)]:
            return min(places, key=lambda place: abs(place - near))
    return None


def is_learnable(examples: Examples) -> np.ndarray:
    """Whether each question has a gold answer that occurs in its text, or is unanswerable: bool [examples]."""
    offsets = (json.loads(starts) for starts in examples.column(f"meta.{STARTS}"))
    return np.array([not starts or any(start is not None for start in starts) for starts in offsets], dtype=bool)


def with_random_part(examples: Examples, part: str, seed: int, within: str | None = None) -> Examples:
    """Keep ``part`` (question or text) of each example, and replace the other part at random.

    The new text or question comes from an unrelated example. Gold answers stay. If the text is replaced, the first gold
    answer is inserted before a random word or at the end of the new text. The paper does not define this for a question
    without answers: here, nothing is inserted.

    Source: the Counterfactual Attentiveness Test (CAT), footnote 16, after Kaushik and Lipton (2018).

    Args:
        examples: Questions with their texts.
        part: Name of the part that is kept.
        seed: The run's seed.
        within: Meta column: the new part comes from an example with the same value in this column.

    Raises:
        DataError: An example has no unrelated example.
    """
    text, question = examples.parts
    replaced = question if part == text else text
    groups = [group for group in examples.groups if group not in examples.parts]
    builder = ExamplesBuilder(examples.parts, groups, examples.meta)
    swap = Swap(replaced, None, name="partial", within=within)
    partners = swap.partners(examples, np.arange(len(examples)), 0, seed)
    for example, j in zip(examples, partners.tolist(), strict=True):
        if j < 0:
            raise DataError(f"partial {part}: no {replaced} is unrelated to {example.uid}. Take more data.")
        parts = {**example.parts, replaced: examples.value(f"parts.{replaced}", j)}
        meta = dict(example.meta)
        if replaced == text:
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
    partial = builder.finish().without_column(CLUSTER)
    return partial.with_column(CLUSTER, examples.table[CLUSTER]) if examples.has_clusters else partial


def inserted(answer: str, text: str, rng: np.random.Generator) -> tuple[str, int]:
    """Insert an answer before a random word or after the last word; return the new text and the answer's offset.

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
