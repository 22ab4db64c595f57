"""Reading comprehension: questions about texts, of which some have no answer (CAT, §4.1), and retrieved passages."""

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from heedful.datamodules.base.splits import ALIASES
from heedful.datamodules.base.transforms import Change, Split
from heedful.datamodules.sources.question_files import STARTS, Oddities, to_questions
from heedful.datamodules.sources.values import Rows
from heedful.datamodules.text import PairedText
from heedful.interventions import Swap
from heedful.records import SPAN, DataError, Examples, ExamplesBuilder, SettingError, Task, generator, inform
from heedful.records.rows import SPLIT

ABSENT = "not_in_text"  # no answer stands in the text
HOLLOW = "{:,} questions have answers of articles and punctuation alone, which count as none."
MOVED = "{:,} answers are not at their offset and were searched."


class Reading(PairedText):
    """Questions about texts; the answer is a piece of the text, or there is none.

    The files may be SQuAD's own (json), MRQA's (jsonl), or have a row for each question, with the answers as a list of
    texts, or as texts with offsets (``{text: [...], answer_start: [...]}``). ``partial`` trains on one part as Kaushik
    and Lipton (2018) do: see :func:`without_part`.

    Args:
        name: Name of the data set.
        parts: The text that answers are cut out of and the question, each with its column, in this order; behind them
            further texts, for models that write the answer.
        answers: Column of the answers.
        no_answer: Column that says whether there is no answer. Without one, an empty list says so.
        distractors: Further texts in which nothing belongs to the question. Another's in their place must not change
            the answer; the attentiveness test counts how often it stays.
        **kwargs: As for :class:`PairedText`; clusters of intervals are the first group that is named, or else texts.
    """

    aliases = {
        split: (*names, *(f"{name}-v2.0" for name in names), *(f"{name}-v1.1" for name in names))
        for split, names in ALIASES.items()
    }
    kind = SPAN
    needs_gold = True

    def __init__(
        self,
        name: str,
        parts: dict[str, str],
        answers: str = "answers",
        no_answer: str | None = None,
        distractors: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        if kwargs.get("several") is not None:
            raise SettingError(
                f"data.several is about labels, and the column {answers!r} lists all right answers already. Leave it "
                "out."
            )
        super().__init__(name, parts, labels={}, label=answers, default_label="", **kwargs)
        if STARTS in self.columns.meta:
            setting = "slices" if STARTS in self.columns.slices else "meta"
            raise SettingError(
                f"data.{setting} names {STARTS!r}, the column that says where answers begin. Leave it out, or rename "
                "the column in the file."
            )
        if len(parts) < 2:
            raise SettingError(f"data.parts names {', '.join(parts)}. Name a text and a question.")
        if self.partial and len(parts) > 2:
            raise DataError(
                f"partial {self.partial} is for a text and a question, and {name} has {', '.join(parts)}. Name two "
                "parts with data.parts."
            )
        self._keep_distractors(distractors, self.full_task.parts[2:])
        self.no_answer = no_answer
        self._oddities: dict[tuple[str, str], Oddities] = {}  # of each split, by where its questions are from
        self.counts.hopeless[ABSENT] = 0
        self.transforms.append(Change(self._evaluated, "validation"))
        self.inputs = [Change(self._without_part)] if self.partial else []
        self.inputs.append(Change(self._trainable, "train"))

    @property
    def task(self) -> Task:
        """A model reads both parts; with ``partial``, one of them is another's."""
        return self.full_task

    def made(self, rows: Rows, where: str, prefix: str, split: Split) -> tuple[Examples, int]:
        examples, oddities = to_questions(rows, where, prefix, self.columns, self.no_answer)
        self._oddities[split, where] = oddities
        of_split = [one for (name, _), one in self._oddities.items() if name == split]  # which may be several files
        self.counts.say(split, HOLLOW, sum(one.hollow for one in of_split))
        self.counts.say(split, MOVED, sum(one.moved for one in of_split))
        return examples, oddities.no_gold

    def _evaluated(self, examples: Examples) -> Examples:
        if self.partial != self.full_task.parts[1]:
            n = self.counts.hopeless[ABSENT] = int((~known(examples)).sum())
            self.counts.say("validation", "Of {:,} questions no answer stands in the text.", n)
        return Examples(examples.table.drop_columns([f"meta.{STARTS}"]))  # for training alone

    def _without_part(self, examples: Examples) -> Examples:
        within = SPLIT if self.splits_evaluated and SPLIT in examples.meta else None
        return without_part(examples, self.partial, self.seed, within)

    def _trainable(self, examples: Examples) -> Examples:
        trainable = np.flatnonzero(known(examples))
        if not len(trainable):
            raise DataError(
                f"{self.name}: there is no training question whose answer stands in its text. Take answers that stand "
                "in their texts."
            )
        if missing := len(examples) - len(trainable):
            inform(f"{self.name}: {missing:,} training questions are left out: no answer stands in their text.")
        return examples.take(trainable) if missing else examples


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
    return builder.finish().with_clusters_of(examples)


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
