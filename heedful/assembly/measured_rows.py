"""The rows of ``heedful.measure`` as data: which columns are what, and which labels there are."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, cast

from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.base.splits import ALIASES
from heedful.datamodules.free_text_pairs import FreeTextPairs
from heedful.datamodules.loaders.gold import NO_GOLD
from heedful.datamodules.loaders.pairs import LABEL
from heedful.datamodules.sources.source import Source, Split
from heedful.datamodules.sources.values import plain
from heedful.records import DataError, ModelError, SettingError, inform, listing
from heedful.records.errors import guess
from heedful.records.parser import class_parser
from heedful.records.same import Same

MOST_LABELS = 50  # different gold answers; more are free texts
HIDDEN = "If the function cuts long inputs, a change that it cuts off counts as one that is not heeded."
ALONE = "A part alone is not swapped, since nothing would stay: attentiveness needs two."
Labels = Mapping[str, Any] | Sequence[str]


class RowSettings(NamedTuple):
    """The arguments of :func:`heedful.measure` that are about the rows."""

    parts: Sequence[str] | Mapping[str, str] | None
    default_label: str | None
    label: str | None
    labels: Labels | None
    swap: Sequence[str] | None
    keeps: Sequence[str]
    same: str | Callable[..., Any] | None
    cluster: str | None
    uid: str | None
    name: str | None
    quoting: bool = True
    batch_size: int = 64

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> "RowSettings":
        """Those among the arguments of a call, each in one form."""
        said = cls(**{name: arguments[name] for name in cls._fields if name in arguments})
        default = said.default_label
        return said._replace(
            default_label=None if default is None else plain(default),
            keeps=[said.keeps] if isinstance(said.keeps, str) else list(said.keeps),
            swap=[said.swap] if isinstance(said.swap, str) else said.swap,
        )


class Scan(NamedTuple):
    """The gold labels of all rows.

    Attributes:
        labels: The different ones, as labels are told apart, in the order of their names.
        texts: The same as free texts.
        is_bare: Whether there is a column of labels, and no row has a label in it.
    """

    labels: Sequence[str] = ()
    texts: Sequence[str] = ()
    is_bare: bool = False


def data_of(
    rows: Any, said: RowSettings, outputs: Sequence[str], is_function: bool, kind: type[Pairs] = Pairs
) -> tuple[Pairs, set[str]]:
    """The data that rows are, and the gold answers in them that were looked at.

    Args:
        rows: As :func:`heedful.measure` takes them.
        said: What the user says of them.
        outputs: What the model calls its labels; empty where it has no names for them.
        is_function: Whether the model is a function, which may answer with free texts.
        kind: The class of data with labels; a Trainer needs PairedText.

    Raises:
        HeedfulError: The rows cannot be read, lack a column, or it is not clear what their labels mean.
    """
    rows = fspath(rows) if isinstance(rows, PathLike) else rows
    configured = _named(rows)
    if configured is not None:
        return _changed(configured, said, is_function), set()
    if said.parts is None or isinstance(said.parts, str) or not said.parts:
        raise SettingError(
            'parts does not name the columns that the model reads. Name them, as parts=["premise", "hypothesis"].'
        )
    if twice := [part for part in said.parts if list(said.parts).count(part) > 1]:
        raise SettingError(f"parts names {twice[0]} twice.")
    parts = dict(said.parts) if isinstance(said.parts, Mapping) else {str(part): str(part) for part in said.parts}
    if unknown := [part for part in said.keeps if part not in parts]:
        raise SettingError(f"keeps {unknown[0]} is not a part. {guess(unknown[0], parts)}")
    scan = _scan(rows, said) if said.labels is None else Scan()
    labels = _labels(rows, said, scan, outputs, is_function)
    swap = [part for part in parts if part not in said.keeps] if len(parts) > 1 else []
    default = said.default_label
    settings: dict[str, Any] = {
        "path": rows,
        "default_label": default if default is None else _spelled_like(default, labels or ()),
        "swap": swap if said.swap is None else list(said.swap),
        "distractors": list(said.keeps),
        "uid": said.uid,
        "quoting": said.quoting,
        "eval_batch_size": said.batch_size,
        "note": " ".join(said for said in (HIDDEN * is_function, ALONE * (len(parts) == 1)) if said) or None,
    }
    if scan.is_bare:
        inform(f"No row has a label in the column {said.label!r}.")
    if scan.is_bare or said.label != LABEL:  # which may be missing
        settings["label"] = None if scan.is_bare else said.label
    if said.cluster is not None:
        settings["cluster"] = said.cluster
        settings["meta"] = [] if said.cluster in parts else [said.cluster]
    name = said.name or "rows"  # whatever they come from: equal rows have equal uids, and so equal draws
    if labels is None:
        return FreeTextPairs(name, parts, _same(said, scan.texts), **settings), {*scan.texts}
    return kind(name, parts, labels, **settings), {*scan.labels}


def order_of_outputs(data: Pairs, is_ordered: bool) -> list[str] | None:
    """The labels in the order of outputs without names, where somebody says it; else None, and the model refuses.

    Where each label has the number or the name of an output among its spellings, as 0 or LABEL_0, these say it.

    Args:
        data: The data.
        is_ordered: Whether the call names the labels in their order; labels of the rows have none.
    """
    labels = data.columns.labels or {}
    numbers = {
        int(match[1]): label
        for label, spellings in labels.items()
        for spelling in spellings
        if (match := re.fullmatch(r"(?:label_?)?(\d+)", str(spelling), re.IGNORECASE))
    }
    if sorted(numbers) == list(range(len(labels))):
        return [numbers[k] for k in sorted(numbers)] or None
    return list(labels) if is_ordered else None


def readings(data: Pairs) -> tuple[Mapping[str, Any] | None, Same | None]:
    """How answers to some data are read: label to its spellings, or when two free texts are one."""
    return data.columns.labels, data.loader.same


def _same(said: RowSettings, golds: Sequence[str]) -> Same:
    """When two answers are one: all that are the same as the default label, or a gold answer, are written like it."""
    same = Same("normalised" if said.same is None else said.same)
    for text in (*filter(None, [said.default_label]), *golds):  # whatever the order of the rows
        same(text)
    return same


def _named(rows: Any) -> Pairs | None:
    """The data that have a name; None of rows and of files of them."""
    if isinstance(rows, Pairs):
        return rows
    is_config = str(rows).endswith((".yaml", ".yml"))
    if not isinstance(rows, str) or Path(rows).exists() and not is_config:
        return None
    if Path(rows).suffix and not is_config:
        raise DataError(f"rows {rows} does not exist.")
    from heedful.assembly.config import load_data  # imports Lightning

    return load_data(rows)


OF_ROWS = {
    "parts": None,
    "label": LABEL,
    "labels": None,
    "same": None,
    "uid": None,
    "name": None,
    "quoting": True,
}  # and their defaults


def _changed(data: Pairs, said: RowSettings, is_function: bool) -> Pairs:
    """Data of a name with what the user says otherwise."""
    for setting, default in OF_ROWS.items():
        if getattr(said, setting) != default:
            raise SettingError(
                f"{setting} is a matter of {data.name}, whose settings say it. Leave it out, or change it with "
                "heedful.load_data."
            )
    changed: dict[str, Any] = {"eval_batch_size": said.batch_size}
    if is_function:
        changed["note"] = " ".join(filter(None, (data.note, HIDDEN)))
    if said.keeps:
        changed["distractors"] = list(said.keeps)
    if said.swap is not None:
        changed["swap"] = list(said.swap)
    elif said.keeps:
        changed["swap"] = [part for part in data.swap if part not in said.keeps]
    changed |= {name: value for name in ("default_label", "cluster") if (value := getattr(said, name)) is not None}
    if unknown := sorted(
        name for name in changed if f"data.{name}" not in class_parser(cast(Any, type(data)), "data").names
    ):
        raise DataError(
            f"{'keeps' if unknown[0] == 'distractors' else unknown[0]} is not for {data.name}. Leave it out."
        )
    return data.with_arguments(**changed)


def _scan(rows: Any, said: RowSettings) -> Scan:
    label = said.label
    labels: set[str] = set()
    texts: set[str] = set()
    n = n_bare = 0
    for _, values in Source(rows, quoting=said.quoting).rows(Split("validation", aliases=ALIASES["validation"]))[1]:
        if label is None or label not in values:
            break
        gold = values[label]
        n += 1
        if isinstance(gold, list | dict):
            continue
        if plain(gold).lower() in NO_GOLD:
            n_bare += 1
        else:
            labels.add(plain(gold))
            texts.add(str(gold).strip())
    return Scan(sorted(labels), sorted(texts), 0 < n == n_bare)


def _labels(
    rows: Any, said: RowSettings, scan: Scan, outputs: Sequence[str], is_function: bool
) -> dict[str, list[Any]] | None:
    """Label name to its spellings; None where answers are free texts.

    Raises:
        HeedfulError: Nobody says what the labels are, or what those in the rows mean.
    """
    if said.same is not None:
        if said.labels is not None:
            raise SettingError("same is for free texts, and labels names labels. Leave one of the two out.")
        if not is_function:
            raise SettingError("same changes nothing: the answers of this model are labels. Leave it out.")
        return None
    if said.labels is not None:
        return spelled(said.labels)
    golds = scan.labels
    if names_of := class_names(rows, said.label):
        return {name: [number] for number, name in enumerate(names_of)}
    if outputs:
        return _of_outputs(outputs, golds)
    if not golds or len(golds) > MOST_LABELS:
        if is_function:
            return None
        wrong = "The rows have no labels, and the model has no names for its own." if not golds else ""
        wrong = wrong or f"The column {said.label!r} holds {len(golds):,} different labels."
        raise SettingError(f'{wrong} Name those of the model, as labels=["yes", "no"].')
    default = None if said.default_label is None else _spelled_like(said.default_label, golds)
    if default not in (None, *golds) and all(gold.isdecimal() for gold in golds):
        raise SettingError(
            f"The labels of the rows are {listing(golds)}, and default_label {default!r} is none of these numbers. "
            "Give its number as default_label, or name each label, as "
            f"labels={{{default!r}: [NUMBER], NAME: [NUMBER]}}."
        )
    more = [default] if default not in (None, *golds) else []
    return {name: [] for name in (*golds, *filter(None, more))}


def _spelled_like(name: str, labels: Iterable[str]) -> str:
    """The one of some labels that differs from a name in case alone, or the name."""
    alike = {label for label in labels if label.casefold() == name.casefold()}
    return alike.pop() if len(alike) == 1 else name


def spelled(labels: Labels) -> dict[str, list[Any]]:
    """Label name to a list of its spellings.

    Raises:
        HeedfulError: They have no order, as a set has none, or a name stands twice.
    """
    if not isinstance(labels, Mapping | list | tuple) or len(set(map(str, labels))) < len(labels):
        raise SettingError(
            f"labels {labels!r} does not name each label once, in an order. Give a list of different names, or a "
            "dictionary of their spellings."
        )
    if isinstance(labels, Mapping):
        return {str(name): list(of) if isinstance(of, list | tuple) else [of] for name, of in labels.items()}
    return {str(name): [] for name in labels}


def _of_outputs(outputs: Sequence[str], golds: Sequence[str]) -> dict[str, list[Any]]:
    """The labels of a model with the spellings in the rows."""
    by_case = {name.casefold(): name for name in outputs}
    if unknown := [gold for gold in golds if gold.casefold() not in by_case]:
        raise ModelError(
            f"The rows have the label {unknown[0]!r}, and the model answers with {listing(outputs)}. Say which is "
            f"which, as labels={{{outputs[0]!r}: [{unknown[0]!r}], ...}}."
        )
    return {name: [gold for gold in golds if by_case[gold.casefold()] == name] for name in outputs}


def class_names(rows: Any, column: str | None) -> Sequence[str]:
    """The names of the labels that a ``datasets.Dataset``, or one of several splits, knows; none of other rows."""
    rows = next(iter(rows.values()), None) if isinstance(rows, Mapping) else rows
    features = getattr(rows, "features", None)
    feature = features.get(column) if isinstance(features, Mapping) else None
    return list(getattr(feature, "names", None) or ())
