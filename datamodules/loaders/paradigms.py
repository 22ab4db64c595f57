"""Loader of MSGS (Warstadt et al., 2020): sentences with a linguistic and a surface label.

A paradigm is a set of sentences that differ only as their labels require.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heedful.datamodules.base.mixture import Mixture
from heedful.datamodules.loaders.pairs import Columns, to_examples
from heedful.datamodules.loaders.targets import FINDERS, targets
from heedful.datamodules.sources.source import Source, Split
from heedful.datamodules.sources.values import Rows, as_text, require_column
from heedful.records import DataError, Examples, SettingError, agree, inform
from heedful.records.errors import suggestion

LINGUISTIC, SURFACE = "linguistic_feature_label", "surface_feature_label"
CONTROL = "control_train"  # file of training rows whose two labels differ
TARGET = "target"  # column with the index of the word that decides the linguistic label
SURFACE_ALONE = ("lexical_content_the_control", "relative_position_control")  # tasks without a linguistic label
FOLLOWING = {"L": LINGUISTIC, "S": SURFACE}


def load_paradigms(source: Source, columns: Columns, split: Split, task: str) -> Examples:
    """Load the examples of an MSGS task, with the added meta column ``target`` if ``columns`` names it.

    The target is the index of the word that decides the linguistic label.

    Args:
        source: The folder with a subfolder per task, or rows of this task in memory.
        columns: Roles of the columns.
        split: The split.
        task: Name of the task.

    Raises:
        DataError: A file is missing, or a row lacks a column.
    """
    if source.path is None or isinstance(source.path, str | Path):
        tasks = source.folder
        if not (tasks / task).is_dir():
            there = sorted(folder.name for folder in tasks.iterdir() if folder.is_dir()) if tasks.is_dir() else []
            hint = suggestion(task, there) if there else "Name the folder of all tasks."
            raise DataError(f"data.path {tasks} has no folder of the task {task!r}. {hint}")
        source = source.at(tasks / task)
    where, rows = source.rows(split)
    examples = to_examples(source.select(_with_targets(list(rows), where, task), where), where, columns, split)
    indices = examples.column(f"meta.{TARGET}") if TARGET in examples.meta and task in FINDERS else ()
    if n := sum(not index for index in indices):
        inform(f"{where}: the target word of {agree(n, 'sentence', 'sentences')} is unknown.")
    return examples


def _with_targets(rows: list[tuple[int, Mapping[str, Any]]], where: str, task: str) -> Rows:
    """Add the column ``target``: the index of the word that decides the linguistic label, or "" if it is unknown."""
    sentences = []
    for row, columns in rows:
        for name in ("sentence", "paradigmID", "condition", LINGUISTIC):
            require_column(name, columns, f"{where}, row {row}")
        group = f"{columns['paradigmID']} {columns['condition']}"
        sentences.append((group, str(columns["sentence"]), as_text(columns[LINGUISTIC]) == "1"))
    for (row, columns), place in zip(rows, targets(task, sentences), strict=True):
        yield row, {**columns, TARGET: "" if place is None else str(place)}


def mixtures_of(control: str) -> tuple[Mixture, ...]:
    """Parse the setting ``control``: percentages of control rows (rows whose two labels differ) in the training set.

    "2L1S" means 2 % control rows with their linguistic label (L), and 1 % with their surface label (S).

    Example:
        >>> [(mixture.share, mixture.label) for mixture in mixtures_of("2L1S")]
        [(0.02, 'linguistic_feature_label'), (0.01, 'surface_feature_label')]
    """
    number = r"(\d+(?:\.\d+)?)"
    if not (read := re.fullmatch(rf"(?:{number}L)?(?:{number}S)?", control)) or not any(read.groups()):
        raise SettingError(f"data.control {control!r} is not a percentage of control rows per label, such as 1L2S.")
    percents = zip(FOLLOWING.values(), read.groups(), strict=True)
    return tuple(Mixture(float(n) / 100, CONTROL, label=label) for label, n in percents if n is not None)
