"""Build the data module for ``heedful.measure`` from the user's rows."""

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
from heedful.datamodules.sources.values import as_text
from heedful.parser import class_parser
from heedful.records import DataError, ModelError, SettingError, inform, listing
from heedful.records.answers import Same
from heedful.records.errors import suggestion
from heedful.records.storage.named_configs import names as config_names
from heedful.records.text import composed

MOST_LABELS = 50  # if more gold answers are distinct, answers are free texts
MAY_TRUNCATE = "If the function truncates inputs, a change behind the cut counts as an unused part."
SINGLE_PART = "A single part is not swapped, since nothing would stay: attentiveness needs two parts."
Labels = Mapping[str, Any] | Sequence[str]


class RowSettings(NamedTuple):
    """The rows, and the arguments of :func:`heedful.measure` that describe them."""

    rows: Any
    parts: Sequence[str] | Mapping[str, str] | None = None
    default_label: str | None = None
    label: str | None = LABEL
    labels: Labels | None = None
    swap: Sequence[str] | None = None
    keeps: Sequence[str] = ()
    same: str | Callable[..., Any] | None = None
    cluster: str | None = None
    uid: str | None = None
    name: str | None = None
    batch_size: int | None = None

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> "RowSettings":
        """Select these arguments from all arguments of a call of :func:`heedful.measure`, and normalise them."""
        settings = cls(**{name: arguments[name] for name in cls._fields})
        default = settings.default_label
        return settings._replace(
            rows=fspath(settings.rows) if isinstance(settings.rows, PathLike) else settings.rows,
            default_label=None if default is None else as_text(default),
            keeps=tuple(several(settings.keeps)),
            swap=None if settings.swap is None else several(settings.swap),
        )

    @property
    def class_names(self) -> Sequence[str]:
        """Label names of the ``ClassLabel`` column of a ``datasets.Dataset``; else empty."""
        rows = next(iter(self.rows.values()), None) if isinstance(self.rows, Mapping) else self.rows
        features = getattr(rows, "features", None)
        feature = features.get(self.label) if isinstance(features, Mapping) else None
        return getattr(feature, "names", None) or ()

    @property
    def is_ordered(self) -> bool:
        """Whether the order of the labels is known."""
        return self.labels is not None or bool(self.class_names)


def data_of(settings: RowSettings, outputs: Sequence[str], is_function: bool, kind: type[Pairs] = Pairs) -> Pairs:
    """Build the data module from the user's rows.

    ``outputs`` are the labels of the model, if known. A function may answer with free texts. For rows with labels, the
    data module is a ``kind``: a Trainer needs PairedText.
    """
    if (data := _load_named(settings.rows)) is not None:
        return _adapt_to_call(data, settings, is_function)
    parts = _columns_by_part(settings)
    golds, texts, is_unlabelled = _read_gold(settings) if settings.labels is None else ([], [], False)
    labels = _spellings_by_label(settings, golds, outputs, is_function)
    swap = [part for part in parts if part not in settings.keeps] if len(parts) > 1 else []
    of_data: dict[str, Any] = {
        "path": settings.rows,
        "default_label": _match_case(settings.default_label, labels or ()),
        "swap": swap if settings.swap is None else settings.swap,
        "distractors": list(settings.keeps),
        "uid": settings.uid,
        "eval_batch_size": settings.batch_size,
        "note": " ".join(filter(None, (MAY_TRUNCATE * is_function, SINGLE_PART * (len(parts) == 1)))) or None,
    }
    if is_unlabelled:
        inform(f"No row has a label in the column {settings.label!r}.")
    if is_unlabelled or settings.label != LABEL:  # rows may lack the default column
        of_data["label"] = None if is_unlabelled else settings.label
    if settings.cluster is not None:
        of_data["cluster"] = settings.cluster
        of_data["meta"] = [] if settings.cluster in parts else [settings.cluster]
    name = settings.name or "rows"  # the same for every source: equal rows have equal uids, and so equal draws
    if labels is not None:
        return kind(name, parts, labels, **of_data)
    same = Same("normalised" if settings.same is None else settings.same)
    for text in (*filter(None, [settings.default_label]), *texts):  # the default label represents its equals
        same(text)
    return Pairs(name, parts, {}, loader=free_text(same), **of_data)


def order_of_outputs(data: Pairs, settings: RowSettings) -> list[str] | None:
    """Return the labels in the order of the outputs of a model without label names; None if the order is unknown.

    A label that the rows spell as 0 or LABEL_0 belongs to output 0. For data by name, only the argument ``labels``
    counts, since a published data set may number its labels differently from the model.
    """
    if settings.parts is None:
        return None if settings.labels is None else list(settings.labels)
    labels = data.columns.labels or {}
    label_at = {
        int(match[1]): label
        for label, spellings in labels.items()
        for spelling in spellings
        if (match := re.fullmatch(r"(?:label_?)?(\d+)", str(spelling), re.IGNORECASE))
    }
    if sorted(label_at) == list(range(len(labels))):
        return [label_at[index] for index in sorted(label_at)] or None
    return list(labels) if settings.is_ordered else None


def _columns_by_part(settings: RowSettings) -> dict[str, str | list[str]]:
    """Map parts to columns."""
    names = settings.parts
    if isinstance(names, str) or not names:
        raise SettingError(
            f'parts is {names!r}. Give a list of the columns that the model reads, as in parts=["text", "question"].'
        )
    parts: dict[str, str | list[str]]
    parts = dict(names) if isinstance(names, Mapping) else {str(part): str(part) for part in names}
    if len(parts) < len(names):
        raise SettingError(f"parts {listing(list(names))}: a part is named twice.")
    if unknown := [part for part in settings.keeps if part not in parts]:
        raise SettingError(f"keeps {unknown[0]} is not a part. {suggestion(unknown[0], parts)}")
    return parts


def _load_named(rows: Any) -> Pairs | None:
    """Return the data module if ``rows`` is one, or is a short name or a YAML file; else None."""
    if isinstance(rows, Pairs):
        return rows
    is_config = str(rows).endswith((".yaml", ".yml"))
    if not isinstance(rows, str) or Path(rows).exists() and not is_config and rows not in config_names("data"):
        return None
    if Path(rows).suffix and not is_config:
        raise DataError(f"rows {rows} does not exist.")
    from heedful.assembly.loading import load_data  # imports Lightning

    return load_data(rows)


def load_other_data(name: str, path: str | None) -> Pairs:
    """Load a further data set by its short name, from ``path`` or, if that is None, from the hub; and set it up."""
    from heedful.assembly.loading import load_data  # imports Lightning

    data = load_data(name, **({} if path is None else {"path": path}))
    data.setup("validate")
    return data


def _adapt_to_call(data: Pairs, settings: RowSettings, is_function: bool) -> Pairs:
    """Return a copy of the data with the batch size and, for a function, the label order of the call."""
    names = class_parser(cast(Any, type(data)), "data").names
    arguments: dict[str, Any] = {"eval_batch_size": settings.batch_size}
    unused = RowSettings(settings.rows, batch_size=settings.batch_size)
    spellings = data.columns.labels or {}
    listed = list(map(str, settings.labels)) if isinstance(settings.labels, list | tuple) else []
    may_reorder = not is_function or "data.labels" in names  # generated data have one order
    if listed and (sorted(listed) == sorted(spellings) if may_reorder else listed == list(spellings)):
        unused = unused._replace(labels=settings.labels)
        if is_function and may_reorder:  # an array of probabilities has the order of the labels of the data
            arguments["labels"] = {label: list(spellings[label]) for label in listed}
    if changed := [name for name in settings._fields[1:] if getattr(settings, name) != getattr(unused, name)]:
        raise SettingError(
            f"{changed[0]} is a setting of the data {data.name}, which have the parts {list(data.columns.parts)} and "
            f"the labels {list(spellings)}. Leave it out, or pass rows=heedful.load_data({data.name!r}, "
            f"{changed[0]}=...)."
        )
    if is_function:
        arguments["note"] = " ".join(filter(None, (data.note, MAY_TRUNCATE)))
    return data.with_arguments(**{name: value for name, value in arguments.items() if f"data.{name}" in names})


def _read_gold(settings: RowSettings) -> tuple[list[str], list[str], bool]:
    """Return the distinct gold labels, as compared and as written; and whether the column of labels is empty."""
    golds = []
    for _, values in Source(settings.rows).rows(Split("validation", aliases=ALIASES["validation"]))[1]:
        if settings.label is None or settings.label not in values:
            break
        golds.append(values[settings.label])
    single = [gold for gold in golds if not isinstance(gold, list | dict)]
    present = [gold for gold in single if as_text(gold).lower() not in NO_GOLD]
    is_empty = bool(golds) and len(single) == len(golds) and not present
    labels = sorted(set(map(as_text, present)), key=lambda text: (len(text) * text.isdecimal(), text))  # 2 before 10
    return labels, sorted({str(gold).strip() for gold in present}), is_empty


def _spellings_by_label(
    settings: RowSettings, golds: Sequence[str], outputs: Sequence[str], is_function: bool
) -> dict[str, list[Any]] | None:
    """Map each label to its spellings in the rows; None if answers are free texts."""
    if settings.same is not None and is_function:
        if settings.labels is not None:
            raise SettingError("same is for free texts, and labels names labels. Leave one of the two out.")
        return None
    if settings.labels is not None:
        return _spellings(settings.labels)
    if names := settings.class_names:
        return {name: [number] for number, name in enumerate(names)}
    if outputs:
        return _spellings_of_outputs(outputs, golds)
    if not golds or len(golds) > MOST_LABELS:
        if is_function:
            return None
        wrong = "The rows have no labels, and the labels of the model have no names." if not golds else ""
        wrong = wrong or f"The column {settings.label!r} has {len(golds):,} distinct labels."
        raise SettingError(f'{wrong} Name the labels of the model, as in labels=["yes", "no"].')
    default = _match_case(settings.default_label, golds)
    if default is not None and default not in golds:
        do = f"There are {listing(golds)}. Give a number, or labels={{{default!r}: [NUMBER], NAME: [NUMBER]}}."
        if not all(gold.isdecimal() for gold in golds):
            do = f"If it is a label that no row has, name all labels: labels={[*golds, default]}."
            do = f"{suggestion(default, golds)} {do}"
        raise SettingError(f"default_label {default!r} is not among the labels of the rows. {do}")
    return {name: [] for name in golds}


def _match_case(name: str | None, labels: Iterable[str]) -> str | None:
    """Return the only label that equals ``name`` in lower case; else ``name`` itself."""
    matching = {label for label in labels if name is not None and label.casefold() == name.casefold()}
    return matching.pop() if len(matching) == 1 else name


def _spellings(labels: Labels) -> dict[str, list[Any]]:
    """Map the names in the argument ``labels`` of :func:`heedful.measure` to lists of spellings."""
    labels = labels.tolist() if hasattr(labels, "tolist") else labels  # an array, such as classes_ of scikit-learn
    if not isinstance(labels, Mapping | list | tuple) or len(set(map(composed, map(str, labels)))) < len(labels):
        raise SettingError(
            f"labels {labels!r} is not a list of distinct names. Give one, or a dictionary from names to spellings."
        )
    spellings = labels if isinstance(labels, Mapping) else {}
    return {composed(str(name)): several(spellings.get(name)) for name in labels}


def _spellings_of_outputs(outputs: Sequence[str], golds: Sequence[str]) -> dict[str, list[Any]]:
    """Map each label of a model to its spellings among the gold labels, which may differ in case."""
    by_case = {composed(name).casefold(): name for name in outputs}
    if unknown := [gold for gold in golds if gold.casefold() not in by_case]:
        raise ModelError(
            f"The label {unknown[0]!r} of the rows is not a label of the model: {listing(outputs)}. Map the labels, "
            f"as in labels={{{outputs[0]!r}: [{unknown[0]!r}], ...}}."
        )
    return {name: [gold for gold in golds if by_case[gold.casefold()] == name] for name in outputs}
