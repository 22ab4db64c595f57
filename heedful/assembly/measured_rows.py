"""The rows of ``heedful.measure`` as data: which columns are what, and which labels there are."""

import re
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from heedful.assembly.names import load_data
from heedful.datamodules import PairedData, PairedText
from heedful.datamodules.base.splits import ALIASES
from heedful.datamodules.free_text import FreeText
from heedful.datamodules.sources.gold import NO_GOLD
from heedful.datamodules.sources.hub_and_local import Local
from heedful.datamodules.sources.in_memory import InMemory
from heedful.datamodules.sources.values import plain
from heedful.records import HeedfulError, listing
from heedful.records.same import Same
from heedful.records.storage.folder_names import folder_name

LABEL = "label"  # the usual column of gold labels
MOST_LABELS = 50  # different gold answers; more are free texts
HIDDEN = "What the function leaves out of its input, as by a cut, is not known: a change there counts as not heeded."
Labels = Mapping[str, Any] | Sequence[str]


class RowSettings(NamedTuple):
    """What a user says of the rows; see :func:`heedful.measure`."""

    parts: Sequence[str] | Mapping[str, str] | None
    default_label: str | None
    label: str | None
    labels: Labels | None
    swap: Sequence[str] | None
    keeps: Sequence[str]
    same: str | Callable[..., Any] | None
    cluster: str | None
    by: Sequence[str] | str
    uid: str | None
    name: str | None
    batch_size: int

    @property
    def slices(self) -> list[str]:
        """The columns by whose values the numbers are broken down."""
        several = re.split(r"[\s,]+", self.by) if isinstance(self.by, str) else self.by
        return [column for column in several if column]


class Scan(NamedTuple):
    """What a look at all rows shows.

    Attributes:
        where: What errors call the rows.
        columns: The columns of the first row.
        golds: The different gold labels as text, in the order of their names; None without a column of them.
    """

    where: str
    columns: Sequence[str]
    golds: Sequence[str] | None


def data_of(rows: Any, said: RowSettings, outputs: Sequence[str], is_function: bool) -> PairedData:
    """The data that rows are.

    Args:
        rows: As :func:`heedful.measure` takes them.
        said: What the user says of them.
        outputs: What the model calls its labels; empty where it has no names for them.
        is_function: Whether the model is a function, which may answer with free texts.

    Raises:
        HeedfulError: The rows cannot be read, lack a column, or it is not clear what their labels mean.
    """
    named = _named(rows)
    if named is not None:
        return _changed(named, said, is_function)
    if said.parts is None or isinstance(said.parts, str) or not said.parts:
        wrong = "§parts does not name the columns that the model reads."
        raise HeedfulError("missing-setting", wrong, 'Name them, as parts=["premise", "hypothesis"].')
    parts = dict(said.parts) if isinstance(said.parts, Mapping) else {str(part): str(part) for part in said.parts}
    scan = _scan(rows, said.label)
    labels = _labels(rows, said, scan, outputs, is_function)
    swap = [part for part in parts if part not in said.keeps] if said.swap is None else list(said.swap)
    settings: dict[str, Any] = {
        "path": rows,
        "default_label": said.default_label,
        "swap": swap if len(parts) > 1 else [],
        "distractors": list(said.keeps),
        "slices": said.slices,
        "uid": said.uid,
        "eval_batch_size": said.batch_size,
        "note": HIDDEN if is_function else None,
    }
    if said.label != LABEL:  # which may be missing
        settings["label"] = said.label
    if said.cluster is not None:
        settings["cluster"] = said.cluster
        settings["meta"] = [] if said.cluster in parts else [said.cluster]
    name = said.name or (folder_name(Path(rows).name.split(".")[0]) if isinstance(rows, str | Path) else "") or "rows"
    if labels is None:
        return FreeText(name, parts, _same(said), **settings)
    return PairedText(name, parts, labels, **settings)


def _same(said: RowSettings) -> Same:
    same = Same("normalised" if said.same is None else said.same)
    if said.default_label is not None:
        same(said.default_label)  # all that is the same is written so
    return same


def _named(rows: Any) -> PairedData | None:
    """The data that have a name; None of rows and of files of them."""
    if isinstance(rows, PairedData):
        return rows
    if not isinstance(rows, str | PathLike) or Path(rows).exists() and not str(rows).endswith((".yaml", ".yml")):
        return None
    if Path(rows).suffix and not str(rows).endswith((".yaml", ".yml")):
        raise HeedfulError("missing-file", f"§rows {rows} does not exist.")
    return load_data(rows)


def _changed(data: PairedData, said: RowSettings, is_function: bool) -> PairedData:
    """Data of a name with what the user says otherwise."""
    for setting in ("parts", "label", "labels", "same", "uid", "name"):
        if getattr(said, setting) not in (None, LABEL):
            wrong = f"§{setting} is a matter of {data.name}, whose settings say it."
            raise HeedfulError("clashing-settings", wrong, "Leave it out, or change it with heedful.load_data.")
    changed: dict[str, Any] = {"eval_batch_size": said.batch_size}
    if is_function:
        changed["note"] = " ".join(filter(None, (data.note, HIDDEN)))
    lists = {"swap": said.swap, "distractors": said.keeps, "slices": said.slices}
    changed |= {setting: list(value) for setting, value in lists.items() if value}
    if said.default_label is not None:
        changed["default_label"] = said.default_label
    if said.cluster is not None:
        changed["cluster"] = said.cluster
    return data.with_settings(**changed)


def _scan(rows: Any, label: str | None) -> Scan:
    source: Any = Local(Path(rows)) if isinstance(rows, str | Path) else InMemory(rows)
    where, found = source.rows("validation", ALIASES["validation"])
    first: Mapping[str, Any] = {}
    golds: set[str] = set()
    for _, values in found:
        first = first or values
        if label is None or label not in first:
            break
        value = values.get(label)
        if not isinstance(value, list | dict) and (text := plain(value)).lower() not in NO_GOLD:
            golds.add(text)
    return Scan(where, list(first), sorted(golds) if label in first else None)


def _labels(
    rows: Any, said: RowSettings, scan: Scan, outputs: Sequence[str], is_function: bool
) -> dict[str, list[Any]] | None:
    """Label name to its spellings; None where answers are free texts.

    Raises:
        HeedfulError: Nobody says what the labels are, or what those in the rows mean.
    """
    if said.same is not None:
        if said.labels is not None:
            raise HeedfulError("clashing-settings", "§same is for free texts, and §labels names labels.")
        if not is_function:
            raise HeedfulError("idle-setting", "§same changes nothing: the answers of this model are labels.")
        return None
    if said.labels is not None:
        return spelled(said.labels)
    golds = list(scan.golds or ())
    if names_of := _class_names(rows, said.label):
        return {name: [number] for number, name in enumerate(names_of)}
    if outputs:
        return _of_outputs(outputs, golds)
    if not golds or len(golds) > MOST_LABELS:
        if is_function:
            return None
        wrong = "The rows have no labels, and the model has no names for its own." if not golds else ""
        wrong = wrong or f"The column {said.label!r} holds {len(golds):,} different labels."
        raise HeedfulError("missing-setting", wrong, "Name them with §labels, in the order of the model's outputs.")
    more = [said.default_label] if said.default_label not in (None, *golds) else []
    return {name: [] for name in (*golds, *filter(None, more))}


def spelled(labels: Labels) -> dict[str, list[Any]]:
    """Label name to a list of its spellings."""
    if isinstance(labels, Mapping):
        return {str(name): list(of) if isinstance(of, list | tuple) else [of] for name, of in labels.items()}
    return {str(name): [] for name in labels}


def _of_outputs(outputs: Sequence[str], golds: Sequence[str]) -> dict[str, list[Any]]:
    """The labels of a model with the spellings in the rows."""
    by_case = {name.casefold(): name for name in outputs}
    if unknown := [gold for gold in golds if gold.casefold() not in by_case]:
        do = f"Say it with §labels, as {{{outputs[0]!r}: [{unknown[0]!r}], ...}}."
        wrong = f"The rows have the label {unknown[0]!r}, and the model answers with {listing(outputs)}."
        raise HeedfulError("other-labels", wrong, do)
    return {name: [gold for gold in golds if by_case[gold.casefold()] == name] for name in outputs}


def _class_names(rows: Any, column: str | None) -> Sequence[str]:
    """The names of the labels that a ``datasets.Dataset`` knows; none of other rows."""
    features = getattr(rows, "features", None)
    feature = features.get(column) if isinstance(features, Mapping) else None
    return list(getattr(feature, "names", None) or ())
