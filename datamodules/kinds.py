"""The kinds of data that a setting can name: each declares its settings, and hands its loader to ``PairedData``."""

import functools
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from heedful.datamodules.base.loader import Loader, Prepared, Regime, kept_parts
from heedful.datamodules.base.paired_data import PairedData
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
from heedful.datamodules.loaders.reading import ABSENT, STARTS, known, load_reading, without_part
from heedful.datamodules.loaders.tables import (
    PREMISE,
    TABLE,
    challenge_tables,
    load_tables,
    perturbed_hypotheses,
    short_split,
)
from heedful.records import SOFT, SPAN, DataError, Examples, SettingError, TableForm, agree, inform
from heedful.records.errors import guess
from heedful.records.rows import SPLIT

PICTURES = ("image",)  # the parts that are pictures, by default
OF_READING = {
    split: (*names, *(f"{name}-v2.0" for name in names), *(f"{name}-v1.1" for name in names))
    for split, names in ALIASES.items()
}


class PairedText(PairedData):
    """Pairs of texts: natural language inference, paraphrase detection and the like.

    The settings are those of :class:`~heedful.datamodules.Pairs`.
    """


class NaturalLogic(PairedData):
    """NLI-XY (Rozanova et al., 2022): pairs of sentences that differ in one word, from ``data.path`` alone.

    The columns are uid, premise, hypothesis, gold, context, insertion, pair, monotonicity, relation and operator.
    ``path`` names a folder with a folder for each split, or with one split.

    Args:
        **kwargs: As for :class:`PairedText`.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(loader=Loader(load_natural_logic, needs_gold=True), **kwargs)


class PairedTables(PairedData):
    """Tables with hypotheses about them, from ``data.path`` alone; partners never come from the same table.

    The columns are those of the files, and premise (the table), table (its id) and category. Inoculation takes the
    modified tables of TabProbe's annotated counterfactuals, or a file of pairs on tables of ``data.path``.

    Args:
        parts: Part name to column, in reading order.
        groups: As for :class:`PairedText`; tables come first.
        meta: As for :class:`PairedText`; tables come first.
        table_style: How a model reads a table: "paragraph" (a sentence for each row), "structure" (keys with their
            values) or "cells".
        keep_rows: Of each table, keep this many rows, those that share most words with the hypothesis; without it, what
            is longer than the model reads is cut at the end.
        without_tables: A csv or tsv file that names tables (column table_id, Table ID or original_tableid): none of
            them is trained on.
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
            called=short_split,
        )
        groups = tuple(dict.fromkeys((TABLE, *groups)))
        meta = tuple(dict.fromkeys((TABLE, *meta)))
        super().__init__(parts=parts, groups=groups, meta=meta, loader=loader, **kwargs)


class PairedImages(PairedData):
    """One or several pictures with a text, from files, from parquet or from the hub.

    Pictures that stand in the same file or byte for byte elsewhere are one content, and never partners.

    Args:
        name: Name of the data set.
        parts: Part name to column, in reading order. A picture's column holds a path or its bytes; instead of a column
            there may be a pattern of file names: ``images/{id}.png``. In the file name, ``*`` stands for letters and
            digits, and every file that matches makes an example of its own, with the uid ``<uid>-<what * stands for>``.
        pictures: Which parts are pictures.
        labels: Label name to its spellings in the sources, in label order.
        answers: Instead of ``labels``, a file that lists them: a line for each (.txt), or json, as a list or under
            ``id2label``; it is looked for in ``path`` first.
        default_label: The label of parts that have nothing to do with each other; where it is none of ``answers``, it
            is added to them.
        image_folder: Where paths and patterns begin, if not at the file that names them.
        swap: As for :class:`PairedText`; by default the pictures together, then each text.
        path: As for :class:`PairedText`.
        **kwargs: As for :class:`PairedText`; ``groups`` may be patterns as those of file names.
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
        path: str | None = None,
        **kwargs: Any,
    ) -> None:
        if (labels is None) == (answers is None):
            raise SettingError(
                f"{name} takes its labels either from data.labels or from the file data.answers. Give one of the two."
            )
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
    """Questions about pictures, a task of the kind "soft": an answer is worth more, the more people gave it.

    Args:
        name: Name of the data set.
        parts: Part name to column, in reading order.
        answers: The labels: a file, as for :class:`PairedImages` (the config.json of a model will do), or how many of
            the most frequent answers of the training split.
        given: Column of what people answered: a list of texts, or of objects with a text under ``answer``.
        label: Column of the most frequent answer of each question; it is gold where ``given`` is missing or empty.
        default_label: The label of parts that have nothing to do with each other; where it is no answer, it is added.
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
        path: str | None = None,
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
    """The pictures together, then each text.

    Raises:
        SettingError: The pictures are no parts, or not in their order.
    """
    if unknown := [part for part in pictures if part not in parts]:
        raise SettingError(f"data.pictures {unknown[0]} is not a part of {name}. {guess(unknown[0], parts)}")
    ordered = [part for part in parts if part in pictures]
    if ordered != list(pictures) or not ordered:
        raise SettingError(
            f"data.pictures [{', '.join(pictures)}] names no part, one twice, or is not in the order of data.parts."
        )
    return ["+".join(pictures), *(part for part in parts if part not in pictures)]


def answerable_questions(regime: Regime, examples: Examples, training: bool) -> Prepared:
    """The questions; to train, those that have an answer among the labels. Others that are evaluated are counted.

    Raises:
        DataError: There is no such training question.
    """
    has_label = answerable(examples, regime.task.labels)
    n = int((~has_label).sum())
    if not training:
        if n:
            evaluated = agree(n, "evaluated question", "evaluated questions")
            inform(f"{regime.name}: no answer to {evaluated} is a label: none can be right.")
        return replace(kept_parts(regime, examples, training), hopeless={UNKNOWN: n})
    if not has_label.any():
        raise DataError(
            f"{regime.name}: none of the answers to training questions is a label. Give labels that are answers with "
            "data.answers."
        )
    if n:
        left_out = agree(n, "training question is", "training questions are")
        inform(f"{regime.name}: {left_out} left out: no answer is a label.")
    return kept_parts(regime, examples.take(np.flatnonzero(has_label)) if n else examples, training)


class Reading(PairedData):
    """Questions about texts; the answer is a piece of the text, or there is none.

    The files may be SQuAD's own (json), MRQA's (jsonl), or have a row for each question, with the answers as a list of
    texts, or as texts with offsets (``{text: [...], answer_start: [...]}``). ``partial`` trains on one part as Kaushik
    and Lipton (2018) do: see :func:`~heedful.datamodules.loaders.reading.without_part`.

    Args:
        name: Name of the data set.
        parts: The text that answers are cut out of and the question, each with its column, in this order; behind them
            further texts, for models that write the answer.
        answers: Column of the answers.
        no_answer: Column that says whether there is no answer. Without one, an empty list says so.
        partial: As for :class:`PairedText`.
        meta: As for :class:`PairedText`.
        distractors: Further texts in which nothing belongs to the question. Another's in their place must not change
            the answer; the attentiveness test counts how often it stays.
        **kwargs: As for :class:`PairedText`; clusters of intervals are the first group that is named, or else texts.
    """

    def __init__(
        self,
        name: str,
        parts: dict[str, str],
        answers: str = "answers",
        no_answer: str | None = None,
        partial: str | None = None,
        meta: Sequence[str] = (),
        distractors: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        names = list(parts)
        if len(names) < 2 or partial and len(names) > 2:
            raise SettingError(
                f"data.parts names {', '.join(names)}. Name a text and a question, and with partial no more."
            )
        if wrong := [part for part in distractors if part in names[:2]]:
            raise SettingError(f"data.distractors {wrong[0]}: the text and the question matter. Name further parts.")
        if STARTS in meta:
            raise SettingError(f"data.meta names {STARTS!r}, the column that says where answers begin. Leave it out.")
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
                SPAN,
                prepare=questions_to_read,
                needs_gold=True,
                replaces_parts=True,
                aliases=OF_READING,
            ),
            **kwargs,
        )


def questions_to_read(regime: Regime, examples: Examples, training: bool) -> Prepared:
    """The questions, and as the model reads them: with ``partial``, the other part is another's.

    To train, those stay of whose answers one stands in the text. Others that are evaluated are counted.

    Raises:
        DataError: There is no such training question.
    """
    within = SPLIT if regime.splits and SPLIT in examples.meta else None
    read = without_part(examples, regime.partial, regime.seed, within) if regime.partial else examples
    if not training:
        is_put_in = regime.partial == regime.task.parts[1]
        if n := 0 if is_put_in else int((~known(examples)).sum()):
            evaluated = agree(n, "evaluated question", "evaluated questions")
            inform(f"{regime.name}: no answer to {evaluated} stands in the text.")
        return Prepared(examples, read.without_column(f"meta.{STARTS}"), {ABSENT: n})
    trainable = np.flatnonzero(known(read))
    if not len(trainable):
        raise DataError(
            f"{regime.name}: there is no training question whose answer stands in its text. Take answers that stand in "
            "their texts."
        )
    if missing := len(read) - len(trainable):
        left_out = agree(missing, "training question is", "training questions are")
        inform(f"{regime.name}: {left_out} left out: no answer stands in the text.")
    return Prepared(examples, read.take(trainable) if missing else read)


class Msgs(PairedData):
    """A task of MSGS: it is trained where both features agree, and evaluated where they do not.

    Gold is the linguistic label, or the surface label of a task that has no other. A model that follows the surface
    feature has an accuracy of 0 on the rows of the condition "test", where the surface label is always the other one.

    The column ``target`` says which word decides the linguistic label: see :mod:`heedful.datamodules.loaders.targets`.

    Args:
        task: Which of the tasks, by the name of its folder; its examples are called ``msgs-<task>``.
        control: Percent of control rows among the training examples, with the linguistic label (L) or the surface label
            (S): "2L", "1L2S". None for none. (Singhal et al. 2023, appendix A.)
        name: Name of the data set.
        label: Column of the label.
        **kwargs: As for :class:`PairedText`; ``path`` names the folder of all tasks, or is the rows of this one.
    """

    def __init__(
        self, task: str, control: str | None = None, name: str = "msgs", label: str = LINGUISTIC, **kwargs: Any
    ) -> None:
        if not re.fullmatch(r"\w+", task):
            raise SettingError(f"data.task {task!r} is not a task of MSGS. Name one, such as main_verb_control.")
        if control is not None:
            if kwargs.get("mixture"):
                raise SettingError("data.control and data.mixture both say what is mixed in. Leave one of the two out.")
            kwargs["mixture"] = mixtures_of(control)
        label = SURFACE if label == LINGUISTIC and task in SURFACE_ALONE else label
        loader = Loader(partial(load_paradigms, task=task), needs_gold=True, control=control)
        super().__init__(name=f"{name}-{task}", label=label, loader=loader, **kwargs)
