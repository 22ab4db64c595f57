"""Data modules of all kinds of data: each class declares its settings and passes a loader to ``PairedData``."""

import functools
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from heedful.datamodules.base.loader import Loader, Prepared, kept_parts
from heedful.datamodules.base.paired_data import PairedData
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.base.splits import ALIASES
from heedful.datamodules.loaders.natural_logic import load_natural_logic
from heedful.datamodules.loaders.paradigms import (
    LINGUISTIC,
    SURFACE,
    SURFACE_ALONE,
    load_paradigms,
    mixtures_of,
)
from heedful.datamodules.loaders.pictures import listed_answers, load_pictures, with_default
from heedful.datamodules.loaders.questions import GOLD, UNKNOWN, Answers, answerable, count_answers, load_questions
from heedful.datamodules.loaders.reading import ABSENT, STARTS, is_learnable, load_reading, with_random_part
from heedful.datamodules.loaders.tables import (
    PREMISE,
    TABLE,
    challenge_tables,
    load_tables,
    perturbed_hypotheses,
    short_split,
)
from heedful.records import CONTAINED, SOFT, SPAN, DataError, Examples, SettingError, TableForm, agree, inform
from heedful.records.errors import suggestion
from heedful.records.rows import SPLIT

PICTURES = ("image",)  # default picture parts
READING_ALIASES = {
    split: (*names, *(f"{name}-v2.0" for name in names), *(f"{name}-v1.1" for name in names))
    for split, names in ALIASES.items()
}


class PairedText(PairedData):
    """Pairs of texts, as in natural language inference or paraphrase detection.

    :class:`~heedful.datamodules.Pairs` documents the settings.
    """


class NaturalLogic(PairedData):
    """NLI-XY (Rozanova et al., 2022): pairs of sentences that differ in one word.

    The columns are uid, premise, hypothesis, gold, context, insertion, pair, monotonicity, relation and operator.
    ``path`` is a folder with a subfolder per split, or the folder of a single split.

    Args:
        **kwargs: As for :class:`PairedText`.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(loader=Loader(load_natural_logic, needs_gold=True), **kwargs)


class PairedTables(PairedData):
    """Hypotheses about tables, in a folder like InfoTabS.

    A partner is the example whose part is swapped in. Examples about the same table are never partners. The rows of the
    files get three more columns: premise (the table), table (the id of the table) and category. Inoculation is training
    on challenge examples. ``inoculation.path`` has TabProbe's counterfactual tables, or hypotheses about the tables of
    ``path``. With ``inoculation.perturbed``, the challenge examples are training examples with changed hypotheses.

    Args:
        parts: Maps part names to columns, in reading order.
        groups: As for :class:`PairedText`; the table is always the first group.
        meta: As for :class:`PairedText`; the id of the table is always the first meta column.
        table_style: How tables are written as text: "paragraph" (a sentence per row), "structure" (keys with values) or
            "cells".
        keep_rows: Number of table rows to keep, those with the largest word overlap with the hypothesis; by default,
            long tables are truncated at the end.
        without_tables: A csv or tsv file with a column table_id, Table ID or original_tableid: the tables to exclude
            from training.
        **kwargs: As for :class:`PairedText`.
    """

    def __init__(
        self,
        parts: dict[str, str],
        groups: Sequence[str] = (),
        meta: Sequence[str] = (),
        table_style: Literal["paragraph", "structure", "cells"] = "paragraph",
        keep_rows: int | None = None,
        without_tables: str | None = None,
        **kwargs: Any,
    ) -> None:
        if keep_rows is not None and keep_rows < 1:
            raise SettingError(f"data.keep_rows {keep_rows} is less than 1.")
        loader = Loader(
            partial(load_tables, without=without_tables),
            kinds={part: "table" for part, column in parts.items() if column == PREMISE},
            form=TableForm(table_style, keep_rows),
            challenge=challenge_tables,
            perturb=perturbed_hypotheses,
            split_name=short_split,
        )
        groups = tuple(dict.fromkeys((TABLE, *groups)))
        meta = tuple(dict.fromkeys((TABLE, *meta)))
        super().__init__(parts=parts, groups=groups, meta=meta, loader=loader, **kwargs)


class PairedImages(PairedData):
    """Pictures with texts.

    A partner is the example whose part is swapped in. Examples with byte-identical pictures are never partners.

    Args:
        name: Name of the data set.
        parts: Maps part names to columns, in reading order. The column of a picture has paths or bytes, or is a pattern
            of file names such as ``images/{id}.png``. ``*`` in the file name matches letters and digits; each matching
            file becomes an example with the uid ``<uid>-<match>``.
        pictures: The parts that are pictures.
        labels: Maps label names to spellings in the source, in label order.
        answers: Instead of ``labels``, a file of labels, which is looked up in ``path`` first: a text file with a label
            per line, or json with a list of labels or with ``id2label``.
        default_label: The right label if picture and text are unrelated; added to ``answers`` if it is missing there.
        image_folder: Root of paths and patterns; by default the folder of the file that contains the rows.
        swap: As for :class:`PairedText`; by default all pictures together, then each text.
        path: As for :class:`PairedText`.
        **kwargs: As for :class:`PairedText`; ``groups`` may be patterns of columns, such as ``{id-2}``.
    """

    def __init__(
        self,
        name: str,
        parts: dict[str, str],
        pictures: Sequence[str] = PICTURES,
        labels: dict[str, list[str | int]] | None = None,
        answers: str | None = None,
        default_label: str | None = None,
        image_folder: str | None = None,
        swap: list[str] | None = None,
        path: str | dict[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        if (labels is None) == (answers is None):
            raise SettingError(f"{name} needs labels, from either data.labels or the file data.answers.")
        if labels is None:
            labels = {answer: [] for answer in with_default(listed_answers(answers, path), default_label, name)}
        super().__init__(
            name,
            parts,
            labels,
            default_label=default_label,
            path=path,
            swap=picture_sides(name, parts, pictures) if swap is None else swap,
            loader=Loader(partial(load_pictures, image_folder=image_folder), kinds=dict.fromkeys(pictures, "picture")),
            **kwargs,
        )


class VisualQuestions(PairedData):
    """Questions about pictures; the score of an answer grows with the number of people who gave it.

    Args:
        name: Name of the data set.
        parts: Maps part names to columns, in reading order.
        answers: The labels: a number of the most frequent answers in the training split, or a file as for
            :class:`PairedImages`, such as the config.json of a model.
        given: Column with one answer per person: a list of texts, or of objects with a text under ``answer``.
        label: Column of the most frequent answer, which is the only right answer if ``given`` is missing or empty.
        default_label: The right label if picture and question are unrelated; added to the answers if it is missing
            there.
        image_folder: As for :class:`PairedImages`.
        swap: As for :class:`PairedImages`.
        path: As for :class:`PairedImages`.
        groups: As for :class:`PairedImages`; by default, the pictures.
        pictures: As for :class:`PairedImages`.
        **kwargs: As for :class:`PairedText`.
    """

    def __init__(
        self,
        name: str,
        parts: dict[str, str],
        answers: int | str = 3129,
        given: str = "answers",
        label: str = "multiple_choice_answer",
        default_label: str | None = None,
        image_folder: str | None = None,
        swap: list[str] | None = None,
        path: str | dict[str, str] | None = None,
        groups: Sequence[str] = (),
        pictures: Sequence[str] = PICTURES,
        **kwargs: Any,
    ) -> None:
        if isinstance(answers, int) and answers < 1:
            raise SettingError(f"data.answers {answers} is less than 1. Give more, or a file.")
        listed = [] if isinstance(answers, int) else listed_answers(answers, path)
        columns = Answers(given, label, [answer for answer in listed if answer != default_label])

        def count_labels(*split: Any) -> list[str]:
            return with_default(count_answers(*split, columns, int(answers)), default_label, name)

        super().__init__(
            name,
            parts,
            {answer: [] for answer in (with_default(listed, default_label, name) if listed else [])},
            label=GOLD,
            default_label=default_label,
            path=path,
            swap=picture_sides(name, parts, pictures) if swap is None else swap,
            groups=tuple(groups) or tuple(pictures),
            loader=Loader(
                partial(load_questions, answers=columns, image_folder=image_folder),
                SOFT,
                kinds=dict.fromkeys(pictures, "picture"),
                prepare=answerable_questions,
                count_labels=count_labels,
                needs_gold=True,
            ),
            **kwargs,
        )


def picture_sides(name: str, parts: dict[str, str], pictures: Sequence[str]) -> list[str]:
    """Return the default of the setting ``swap``: all picture parts joined by "+", then each text part by itself.

    Raises:
        SettingError: ``pictures`` is empty, has an unknown or repeated name, or is not in the order of the parts.
    """
    if unknown := [part for part in pictures if part not in parts]:
        raise SettingError(f"data.pictures {unknown[0]} is not a part of {name}. {suggestion(unknown[0], parts)}")
    ordered = [part for part in parts if part in pictures]
    if ordered != list(pictures) or not ordered:
        raise SettingError(
            f"data.pictures [{', '.join(pictures)}] is empty, repeats a part, or is not in the order of data.parts."
        )
    return ["+".join(pictures), *(part for part in parts if part not in pictures)]


def answerable_questions(data: Pairs, examples: Examples, training: bool) -> Prepared:
    """Prepare visual questions for a model: keep only the parts in the setting ``partial``, or all without it.

    A question without a right answer among the labels is dropped in training; in validation, it stays and is counted.
    """
    has_label = answerable(examples, data.full_task.labels)
    n = int((~has_label).sum())
    if not training:
        if n:
            inform(f"{data.name}: no answer to {agree(n, 'evaluated question', 'evaluated questions')} is a label.")
        return replace(kept_parts(data, examples, training), hopeless={UNKNOWN: n})
    if not has_label.any():
        raise DataError(f"{data.name}: no answer to a training question is a label. Name others with data.answers.")
    if n:
        left_out = agree(n, "training question is", "training questions are")
        inform(f"{data.name}: {left_out} left out: no answer is a label.")
    return kept_parts(data, examples.take(np.flatnonzero(has_label)) if n else examples, training)


class Reading(PairedData):
    """Reading comprehension: questions whose answer is a span of a text, or that have no answer.

    Files have the format of SQuAD (json) or MRQA (jsonl), or a row per question. The answers in a row are a list of
    texts, or ``{text: [...], answer_start: [...]}``. With ``partial`` "question", the text is not dropped but replaced
    at random, and vice versa: :func:`~heedful.datamodules.loaders.reading.with_random_part`.

    Args:
        name: Name of the data set.
        parts: Maps part names to columns: the text, the question, and further texts for models that write the answer.
        answers: Column of the answers.
        no_answer: Boolean column that is true for unanswerable questions; by default, these have an empty list of
            answers.
        match: "exact" if a right answer has to equal a gold answer; "contained" if it may have more words.
        partial: As for :class:`PairedText`.
        meta: As for :class:`PairedText`.
        distractors: Further texts that are irrelevant to the question, as for :class:`PairedText`.
        **kwargs: As for :class:`PairedText`; by default, the questions about a text are a cluster.
    """

    def __init__(
        self,
        name: str,
        parts: dict[str, str],
        answers: str = "answers",
        no_answer: str | None = None,
        match: Literal["exact", "contained"] = "exact",
        partial: str | None = None,
        meta: Sequence[str] = (),
        distractors: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        names = list(parts)
        if len(names) < 2 or partial and len(names) > 2:
            raise SettingError(
                f"data.parts names {', '.join(names)}, not text and question (with partial, only these)."
            )
        if wrong := [part for part in distractors if part in names[:2]]:
            raise SettingError(f"data.distractors {wrong[0]}: the text and the question matter. Name further parts.")
        if STARTS in meta:
            raise SettingError(f"data.meta names {STARTS!r}, the column of answer offsets. Leave it out.")
        super().__init__(
            name,
            parts,
            {},
            label=answers,
            default_label="",
            partial=partial,
            meta=meta,
            distractors=distractors,
            loader=Loader(
                functools.partial(load_reading, no_answer=no_answer),
                SPAN if match == "exact" else CONTAINED,
                prepare=questions_to_read,
                needs_gold=True,
                replaces_parts=True,
                aliases=READING_ALIASES,
            ),
            **kwargs,
        )


def questions_to_read(data: Pairs, examples: Examples, training: bool) -> Prepared:
    """Prepare questions about texts for a model, for training or for validation.

    The setting ``partial`` names the part to keep, text or question. The other part comes from an unrelated example.
    A question may have gold answers, but none in the text that the model reads. Training leaves such questions out.
    Validation keeps such questions, and counts them in ``hopeless``.
    """
    within = SPLIT if data.splits_evaluated and SPLIT in examples.meta else None
    read = with_random_part(examples, data.partial, data.seed, within) if data.partial else examples
    if not training:
        inserts_answer = data.partial == data.full_task.parts[1]
        if n := 0 if inserts_answer else int((~is_learnable(examples)).sum()):
            questions = agree(n, "evaluated question is", "evaluated questions are")
            inform(f"{data.name}: the answers of {questions} not in the text.")
        return Prepared(examples, read.without_column(f"meta.{STARTS}"), {ABSENT: n})
    trainable = np.flatnonzero(is_learnable(read))
    if not len(trainable):
        raise DataError(f"{data.name}: no training question has an answer in its text. Take other answers or texts.")
    if missing := len(read) - len(trainable):
        left_out = agree(missing, "training question is", "training questions are")
        inform(f"{data.name}: {left_out} left out: no answer is in the text.")
    return Prepared(examples, read.take(trainable) if missing else read)


class Msgs(PairedData):
    """MSGS: training sentences whose linguistic and surface labels agree, and test sentences whose labels differ.

    The gold label is the linguistic label, or the surface label in tasks without a linguistic one. A model that follows
    the surface feature has an accuracy of 0 on rows with the condition "test". The added column ``target`` is the index
    of the word that decides the linguistic label: see :mod:`heedful.datamodules.loaders.targets`.

    Args:
        task: Name of the task and of its folder.
        control: Percentages of control rows (whose two labels differ) among the training examples, with the linguistic
            (L) or the surface label (S), such as "2L" or "1L2S" (Singhal et al. 2023, appendix A).
        name: Start of the name of the data set, ``<name>-<task>``.
        label: Column of the label.
        **kwargs: As for :class:`PairedText`; ``path`` is the folder with a subfolder per task, or rows of this task in
            memory.
    """

    def __init__(
        self, task: str, control: str | None = None, name: str = "msgs", label: str = LINGUISTIC, **kwargs: Any
    ) -> None:
        if not re.fullmatch(r"\w+", task):
            raise SettingError(f"data.task {task!r} is not a task of MSGS. Name one, such as main_verb_control.")
        if control is not None:
            if kwargs.get("mixture"):
                raise SettingError("data.control and data.mixture both define mixtures. Leave one of the two out.")
            kwargs["mixture"] = mixtures_of(control)
        label = SURFACE if label == LINGUISTIC and task in SURFACE_ALONE else label
        loader = Loader(partial(load_paradigms, task=task), needs_gold=True, control=control)
        super().__init__(name=f"{name}-{task}", label=label, loader=loader, **kwargs)
