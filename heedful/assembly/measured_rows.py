"""Data from the rows of ``heedful.measure``: columns, labels and their spellings."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, cast

from heedful.assembly.settings import several
from heedful.datamodules.base.loader import free_text
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.base.splits import ALIASES
from heedful.datamodules.loaders.gold import NO_GOLD
from heedful.datamodules.loaders.pairs import LABEL
from heedful.datamodules.sources.source import Source, Split
from heedful.datamodules.sources.values import plain
from heedful.records import DataError, ModelError, SettingError, inform, listing
from heedful.records.errors import guess
from heedful.records.parser import class_parser
from heedful.records.same import Same

MOST_LABELS = 50  # more distinct gold answers are free texts
HIDDEN = "If the function truncates inputs, a swap of truncated text looks like an unused part."
ALONE = "A single part is not swapped, since nothing would stay: attentiveness needs two parts."
Labels = Mapping[str, Any] | Sequence[str]


class RowSettings(NamedTuple):
    """The arguments of :func:`heedful.measure` that describe the rows."""

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
        """Select and normalise the arguments of a call."""
        settings = cls(**{name: arguments[name] for name in cls._fields if name in arguments})
        default = settings.default_label
        return settings._replace(
            default_label=None if default is None else plain(default),
            keeps=[settings.keeps] if isinstance(settings.keeps, str) else list(settings.keeps),
            swap=[settings.swap] if isinstance(settings.swap, str) else settings.swap,
        )


class Scan(NamedTuple):
    """The gold labels of all rows.

    Attributes:
        labels: Distinct labels, sorted.
        texts: Distinct labels as free texts, sorted.
        is_bare: Whether the column of labels exists and is empty in all rows.
    """

    labels: Sequence[str] = ()
    texts: Sequence[str] = ()
    is_bare: bool = False


def data_of(
    rows: Any, settings: RowSettings, outputs: Sequence[str], is_function: bool, kind: type[Pairs] = Pairs
) -> tuple[Pairs, set[str]]:
    """Build data from rows.

    Args:
        rows: As for :func:`heedful.measure`.
        settings: The arguments about the rows.
        outputs: Names of the model's labels; empty if it has none.
        is_function: Whether the model is a function, which may answer with free texts.
        kind: Class of data with labels; a Trainer needs PairedText.

    Returns:
        The data, and the distinct gold answers.

    Raises:
        HeedfulError: The rows cannot be read, lack a column, or have ambiguous labels.
    """
    rows = fspath(rows) if isinstance(rows, PathLike) else rows
    configured = _load_named(rows)
    if configured is not None:
        return _changed(configured, settings, is_function), set()
    names = settings.parts
    if names is None or isinstance(names, str) or not names:
        raise SettingError('parts is missing: name the columns that the model reads, as in parts=["text", "question"].')
    if repeated := [part for part in names if list(names).count(part) > 1]:
        raise SettingError(f"parts names {repeated[0]} twice.")
    parts = dict(names) if isinstance(names, Mapping) else {str(part): str(part) for part in names}
    if unknown := [part for part in settings.keeps if part not in parts]:
        raise SettingError(f"keeps {unknown[0]} is not a part. {guess(unknown[0], parts)}")
    scan = _scan(rows, settings) if settings.labels is None else Scan()
    labels = _labels(rows, settings, scan, outputs, is_function)
    swap = [part for part in parts if part not in settings.keeps] if len(parts) > 1 else []
    default = settings.default_label
    of_data: dict[str, Any] = {
        "path": rows,
        "default_label": default if default is None else _match_case(default, labels or ()),
        "swap": swap if settings.swap is None else list(settings.swap),
        "distractors": list(settings.keeps),
        "uid": settings.uid,
        "quoting": settings.quoting,
        "eval_batch_size": settings.batch_size,
        "note": " ".join(filter(None, (HIDDEN * is_function, ALONE * (len(parts) == 1)))) or None,
    }
    if scan.is_bare:
        inform(f"No row has a label in the column {settings.label!r}.")
    if scan.is_bare or settings.label != LABEL:  # the default column may be missing
        of_data["label"] = None if scan.is_bare else settings.label
    if settings.cluster is not None:
        of_data["cluster"] = settings.cluster
        of_data["meta"] = [] if settings.cluster in parts else [settings.cluster]
    name = settings.name or "rows"  # the same for every source: equal rows have equal uids, and so equal draws
    if labels is None:
        return Pairs(name, parts, {}, loader=free_text(_same(settings, scan.texts)), **of_data), {*scan.texts}
    return kind(name, parts, labels, **of_data), {*scan.labels}


def order_of_outputs(data: Pairs, is_ordered: bool) -> list[str] | None:
    """The labels in the order of a model's outputs, for outputs without names; None if the order is unknown.

    Spellings such as 0 or LABEL_0 give the number of a label's output.

    Args:
        data: The data.
        is_ordered: Whether the call gives the labels in order.
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
    """How to parse answers: spellings by label, or the equality of free texts."""
    return data.columns.labels, data.loader.same


def _same(settings: RowSettings, golds: Sequence[str]) -> Same:
    """The equality of free texts; the default label and gold answers represent the texts equal to them."""
    same = Same("normalised" if settings.same is None else settings.same)
    for text in (*filter(None, [settings.default_label]), *golds):  # in an order that rows do not change
        same(text)
    return same


def _load_named(rows: Any) -> Pairs | None:
    """Load data of a data module, a short name or a YAML file; None for rows and files of rows."""
    if isinstance(rows, Pairs):
        return rows
    is_config = str(rows).endswith((".yaml", ".yml"))
    if not isinstance(rows, str) or Path(rows).exists() and not is_config:
        return None
    if Path(rows).suffix and not is_config:
        raise DataError(f"rows {rows} does not exist.")
    from heedful.assembly.config import load_data  # imports Lightning

    return load_data(rows)


OF_ROWS = dict.fromkeys(("parts", "labels", "same", "uid", "name")) | {"label": LABEL, "quoting": True}  # and defaults


def _changed(data: Pairs, settings: RowSettings, is_function: bool) -> Pairs:
    """Named data with the settings of the call."""
    for setting, default in OF_ROWS.items():
        if getattr(settings, setting) != default:
            raise SettingError(f"{setting} is a setting of the data {data.name}. Change it with heedful.load_data.")
    changed: dict[str, Any] = {"eval_batch_size": settings.batch_size}
    if is_function:
        changed["note"] = " ".join(filter(None, (data.note, HIDDEN)))
    if settings.keeps:
        changed["distractors"] = list(settings.keeps)
        changed["swap"] = [part for part in data.swap if part not in settings.keeps]
    given_settings = {name: getattr(settings, name) for name in ("swap", "default_label", "cluster")}
    changed |= {name: value for name, value in given_settings.items() if value is not None}
    names = class_parser(cast(Any, type(data)), "data").names
    if unknown := sorted(name for name in changed if f"data.{name}" not in names):
        raise DataError(f"{unknown[0].replace('distractors', 'keeps')} is not for {data.name}. Leave it out.")
    return data.with_arguments(**changed)


def _scan(rows: Any, settings: RowSettings) -> Scan:
    label = settings.label
    labels: set[str] = set()
    texts: set[str] = set()
    n = n_bare = 0
    for _, values in Source(rows, quoting=settings.quoting).rows(Split("validation", aliases=ALIASES["validation"]))[1]:
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
    rows: Any, settings: RowSettings, scan: Scan, outputs: Sequence[str], is_function: bool
) -> dict[str, list[Any]] | None:
    """Spellings by label name; None if answers are free texts."""
    if settings.same is not None:
        if settings.labels is not None:
            raise SettingError("same is for free texts, and labels names labels. Leave one of the two out.")
        if not is_function:
            raise SettingError("same has no effect: the answers of this model are labels. Leave it out.")
        return None
    if settings.labels is not None:
        return spelled(settings.labels)
    golds = scan.labels
    if names := class_names(rows, settings.label):
        return {name: [number] for number, name in enumerate(names)}
    if outputs:
        return _of_outputs(outputs, golds)
    if not golds or len(golds) > MOST_LABELS:
        if is_function:
            return None
        wrong = "The rows have no labels, and the labels of the model have no names." if not golds else ""
        wrong = wrong or f"The column {settings.label!r} has {len(golds):,} distinct labels."
        raise SettingError(f'{wrong} Name the labels of the model, as in labels=["yes", "no"].')
    default = None if settings.default_label is None else _match_case(settings.default_label, golds)
    if default not in (None, *golds) and all(gold.isdecimal() for gold in golds):
        raise SettingError(
            f"default_label {default!r} is not among the labels of the rows: {listing(golds)}. Give its number, or "
            f"name the labels, as in labels={{{default!r}: [NUMBER], NAME: [NUMBER]}}."
        )
    return {name: [] for name in dict.fromkeys([*golds, *filter(None, [default])])}


def _match_case(name: str, labels: Iterable[str]) -> str:
    """The label that equals a name up to case, if there is exactly one; else the name."""
    matching = {label for label in labels if label.casefold() == name.casefold()}
    return matching.pop() if len(matching) == 1 else name


def spelled(labels: Labels) -> dict[str, list[Any]]:
    """Lists of spellings by label name.

    Raises:
        SettingError: A name is repeated, or the labels have no order.
    """
    if not isinstance(labels, Mapping | list | tuple) or len(set(map(str, labels))) < len(labels):
        raise SettingError(
            f"labels {labels!r} is not a list of distinct names. Give one, or a dictionary from names to spellings."
        )
    if isinstance(labels, Mapping):
        return {str(name): several(spellings) for name, spellings in labels.items()}
    return {str(name): [] for name in labels}


def _of_outputs(outputs: Sequence[str], golds: Sequence[str]) -> dict[str, list[Any]]:
    """The labels of a model and their spellings in the rows."""
    by_case = {name.casefold(): name for name in outputs}
    if unknown := [gold for gold in golds if gold.casefold() not in by_case]:
        raise ModelError(
            f"The label {unknown[0]!r} of the rows is not a label of the model: {listing(outputs)}. Map the labels, "
            f"as in labels={{{outputs[0]!r}: [{unknown[0]!r}], ...}}."
        )
    return {name: [gold for gold in golds if by_case[gold.casefold()] == name] for name in outputs}


def class_names(rows: Any, column: str | None) -> Sequence[str]:
    """Label names in the features of a ``datasets.Dataset`` or of its splits; empty for other rows."""
    rows = next(iter(rows.values()), None) if isinstance(rows, Mapping) else rows
    features = getattr(rows, "features", None)
    feature = features.get(column) if isinstance(features, Mapping) else None
    return list(getattr(feature, "names", None) or ())
