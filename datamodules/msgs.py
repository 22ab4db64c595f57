"""MSGS (Warstadt et al., 2020): sentences that a linguistic and a surface feature label alike, or not."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heedful.datamodules.base.transforms import Change
from heedful.datamodules.mixture import Mixture
from heedful.datamodules.paradigms import TASKS_WITH_TARGETS, targets
from heedful.datamodules.sources.hub_and_local import Hub, Local
from heedful.datamodules.sources.in_memory import InMemory
from heedful.datamodules.sources.values import Rows, plain
from heedful.datamodules.text import PairedText
from heedful.records import DataError, Examples, SettingError
from heedful.records.errors import guess

LINGUISTIC, SURFACE = "linguistic_feature_label", "surface_feature_label"
CONTROL = "control_train"  # the file of rows whose two labels differ
TARGET = "target"  # the meta column that says where the word stands that decides the linguistic label
SURFACE_ALONE = ("lexical_content_the_control", "relative_position_control")  # tasks without a linguistic label
FOLLOWING = {"L": LINGUISTIC, "S": SURFACE}


@dataclass(frozen=True)
class Paradigms(Local):
    """The folder of one task, with a file for each split; rows have the column ``target`` as well.

    Attributes:
        task: The name of the task.
    """

    task: str = ""

    def rows(self, split: str, aliases: Sequence[str]) -> tuple[str, Rows]:
        """(File, rows) of a split, as :class:`Local` has them.

        Raises:
            HeedfulError: There is no such file, or a row lacks a column that says which sentences are siblings.
        """
        where, rows = super().rows(split, aliases)
        return where, with_targets(list(rows), where, self.task)


@dataclass(frozen=True, eq=False)
class ParadigmsInMemory(InMemory):
    """The rows of one task in memory; they have the column ``target`` as well.

    Attributes:
        task: The name of the task.
    """

    task: str = ""

    def rows(self, split: str, aliases: Sequence[str]) -> tuple[str, Rows]:
        """As :class:`Paradigms` has them."""
        where, rows = super().rows(split, aliases)
        return where, with_targets(list(rows), where, self.task)


def with_targets(rows: list[tuple[int, Mapping[str, Any]]], where: str, task: str) -> Rows:
    """The rows with the column ``target``, which is made of all of them.

    Raises:
        HeedfulError: A row lacks a column that says which sentences are siblings.
    """
    needed = ("sentence", "paradigmID", "condition", LINGUISTIC)
    for row, columns in rows:
        if missing := [name for name in needed if name not in columns]:
            raise DataError(
                f"{where}, row {row}: there is no column {missing[0]!r}, but {', '.join(columns)}. Name the folder of "
                "all tasks of MSGS with data.path."
            )
    sentences = [
        (
            f"{columns['paradigmID']} {columns['condition']}",
            str(columns["sentence"]),
            plain(columns[LINGUISTIC]) == "1",
        )
        for _, columns in rows
    ]
    for (row, columns), place in zip(rows, targets(task, sentences), strict=True):
        yield row, {**columns, TARGET: "" if place is None else str(place)}


class Msgs(PairedText):
    """A task of MSGS: it is trained where both features agree, and evaluated where they do not.

    Gold is the linguistic label, or the surface label of a task that has no other. A model that follows the surface
    feature has an accuracy of 0 on the rows of the condition "test", where the surface label is always the other one.

    The meta column ``target`` says which word decides the linguistic label: see :mod:`heedful.datamodules.paradigms`.
    It is the number of the word, from 0, as :func:`heedful.records.parts.words.words` has them; empty where none can
    be told.

    Args:
        task: Which of the tasks, by the name of its folder; its examples are called ``msgs-<task>``.
        control: Percent of control rows among the training examples, with the linguistic label (L) or the surface label
            (S): "2L", "1L2S". None for none. (Singhal et al. 2023, appendix A.)
        name: Name of the data set.
        label: Column of the label.
        **kwargs: As for :class:`PairedText`; ``path`` names the folder of all tasks, or is the rows of this one.
    """

    needs_gold = True
    only_local = "Name the folder of all tasks with data.path."

    def __init__(
        self, task: str, control: str | None = None, name: str = "msgs", label: str = LINGUISTIC, **kwargs: Any
    ) -> None:
        if control is not None:
            if kwargs.get("mixture"):
                raise SettingError("data.control and data.mixture both say what is mixed in. Leave one of the two out.")
            kwargs["mixture"] = regime_of(control)
        if not re.fullmatch(r"\w+", task):
            raise SettingError(f"data.task {task!r} is not a task of MSGS. Name one, such as main_verb_control.")
        label = SURFACE if label == LINGUISTIC and task in SURFACE_ALONE else label
        super().__init__(f"{name}-{task}", label=label, **kwargs)
        self.msgs_task = task
        self.control = control
        if task in TASKS_WITH_TARGETS:
            self.transforms.append(Change(self._count_targets, "validation"))

    def _source(self, path: Any) -> Local | Hub | InMemory:
        source = super()._source(path)
        if isinstance(source, InMemory):
            return ParadigmsInMemory(source.content, self.msgs_task)
        tasks = source.path
        if not (tasks / self.msgs_task).is_dir():
            there = sorted(folder.name for folder in tasks.iterdir() if folder.is_dir()) if tasks.is_dir() else []
            raise DataError(
                f"data.path {path} has no folder of the task {self.msgs_task!r}. "
                f"{guess(self.msgs_task, there) if there else 'Name the folder of all tasks, which has one for each.'}"
            )
        return Paradigms(tasks / self.msgs_task, self.quoting, self.header, self.msgs_task)

    def _count_targets(self, examples: Examples) -> Examples:
        if TARGET in examples.meta:
            empty = sum(not value for value in examples.column(f"meta.{TARGET}"))
            self.counts.without["validation"] = {"target word that can be told": empty}
        return examples


def regime_of(control: str) -> tuple[Mixture, ...]:
    """The mixtures that a short form names.

    Example:
        >>> [(mixture.share, mixture.label) for mixture in regime_of("2L1S")]
        [(0.02, 'linguistic_feature_label'), (0.01, 'surface_feature_label')]

    Raises:
        HeedfulError: It is not of the form.
    """
    number = r"(\d+(?:\.\d+)?)"
    if not (read := re.fullmatch(rf"(?:{number}L)?(?:{number}S)?", control)) or not any(read.groups()):
        raise SettingError(
            f"data.control {control!r} does not say how many percent of control rows have which label. Write it as "
            "2L, 2S or 1L2S."
        )
    percents = zip(FOLLOWING.values(), read.groups(), strict=True)
    return tuple(Mixture(float(n) / 100, CONTROL, label=label) for label, n in percents if n is not None)
