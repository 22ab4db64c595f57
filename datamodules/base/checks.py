"""Checks of data settings: which ones exclude each other, and whether the named parts, splits and labels exist.

A part is a named component of the input, such as "premise"; a swap replaces parts by the parts of another example.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from heedful.datamodules.base.splits import aliases_of
from heedful.records import SettingError, parts_of
from heedful.records.errors import suggestion
from heedful.records.rows import SPLIT
from heedful.records.storage.results import FIT, is_folder_name
from heedful.records.text import plain_template

RESERVED = "+/{}"  # separators in "left+right" and in names of metrics; braces of templates


def require_sizes(name: str, sizes: Mapping[str, int | None]) -> None:
    """Raise SettingError unless ``name`` can be the name of a folder, and no size is too small.

    Each of the ``sizes``, by setting, is at least 1 (0 for ``num_workers``) or None.
    """
    if not is_folder_name(name):
        raise SettingError(f"data.name {name!r} cannot name a folder. Use {FIT}.")
    for flag, n in sizes.items():
        if n is not None and n < (least := 0 if flag == "num_workers" else 1):
            raise SettingError(f"data.{flag} {n} is less than {least}.")


def require_names(parts: Sequence[Any], labels: Sequence[Any]) -> None:
    """Raise SettingError if a name of a part or label is not valid, if there is no part, or if there is just one label.

    Valid names are printable texts that differ in more than case. Part names do not contain "+", "/" or braces, and no
    label is "majority". An unquoted yes, no, null or number in YAML is not a text, and raises the error.
    """
    for flag, names in (("data.parts", parts), ("data.labels", labels)):
        for name in names:
            if not isinstance(name, str):
                raise SettingError(f"{flag}: {name!r} is not a text. Put it in quotes.")
            if not name or name != name.strip() or not name.isprintable():
                raise SettingError(f"{flag}: the name {name!r} is empty, has outer blanks, or cannot be printed.")
        twice = [name for name, n in Counter(name.casefold() for name in names).items() if n > 1]
        if twice:
            same = " and ".join(repr(name) for name in names if name.casefold() == twice[0])
            raise SettingError(f"{flag}: the names {same} differ in case alone. Rename or merge them.")
    if not parts:
        raise SettingError("data.parts names no part. Name each with its column.")
    if reserved := [part for part in parts if set(RESERVED) & set(part)]:
        raise SettingError(f"data.parts: the name {reserved[0]!r} has one of {' '.join(RESERVED)}. Choose another.")
    if "majority" in labels:
        raise SettingError("data.labels: 'majority' is the name of the baseline. Rename the label.")
    if len(labels) == 1:
        raise SettingError(f"data.labels names {labels[0]!r} alone. Name two or more.")


def require_regime(
    name: str, parts: Sequence[str], swap: Sequence[str], partial: str | None, augment: str | None
) -> None:
    """Raise SettingError if ``swap`` or ``partial`` names an unknown part, or if these settings conflict.

    Args:
        name: Name of the data set, for messages.
        parts: Names of all parts.
        swap: Parts to swap, such as "premise"; "left+right" swaps two parts together.
        partial: The part, or parts joined by "+", that the model reads; None for all parts.
        augment: "counterfactual", "inoculation" or None.
    """
    if len(parts) == 1 and (swap or augment == "counterfactual"):
        setting = f"data.swap {swap[0]}" if swap else "augment counterfactual"
        raise SettingError(f"{setting}: {name} has one part, {parts[0]}, and a swap needs two.")
    for option, joined in (("swap", swap), ("partial", [partial] if partial else [])):
        if unknown := [part for names in joined for part in names.split("+") if part not in parts]:
            raise SettingError(f"data.{option} {unknown[0]} is not a part of {name}. {suggestion(unknown[0], parts)}")
    if twice := [part for k, part in enumerate(swap) if part in swap[:k] or len({*part.split("+")}) <= part.count("+")]:
        raise SettingError(f"data.swap names {twice[0]} twice.")
    if swap_of_all := [part for part in swap if {*part.split("+")} == {*parts}]:
        raise SettingError(f"data.swap {swap_of_all[0]} replaces every part by another example's. Leave one out.")
    if partial and augment == "counterfactual":
        raise SettingError("partial reads one part, and augment counterfactual swaps one of two. Leave one out.")
    if augment == "counterfactual" and not swap:
        raise SettingError("augment counterfactual needs a part to swap. Name one with data.swap.")


def require_distractors(name: str, distractors: Sequence[str], parts: Sequence[str], swap: Sequence[str]) -> None:
    """Raise SettingError unless the distractors (parts that must not matter) exist and are not swapped.

    At least one part must not be a distractor.
    """
    for part in distractors:
        if part not in parts:
            raise SettingError(f"data.distractors {part} is not a part of {name}. {suggestion(part, parts)}")
        if any(part in joined.split("+") for joined in swap):
            raise SettingError(f"data.swap {part} and data.distractors {part} exclude each other. Leave one out.")
    if len(distractors) == len(parts):
        raise SettingError("data.distractors names every part. Leave one out that matters.")


def require_folds(hold_out: int | None, folds: int | None, fold: int | None, augment: str | None) -> None:
    """Raise SettingError unless ``folds`` and ``fold`` are given together, and ``fold`` is from 0 to ``folds`` - 1.

    With folds, neither ``hold_out`` nor ``augment`` "inoculation" is allowed: ``hold_out`` defines another validation
    set, and inoculation (training on challenge examples) another training set.
    """
    if folds is None and fold is None:
        return
    if folds is None or fold is None:
        raise SettingError("Give both data.folds N, the number of folds, and data.fold K, from 0 to N - 1.")
    if folds < 2 or not 0 <= fold < folds:
        raise SettingError(f"data.fold {fold} is not one of {folds} folds. Give two or more folds, and 0 to N - 1.")
    if hold_out is not None:
        raise SettingError("data.hold_out and data.folds both define the validation set. Set data.hold_out null.")
    if augment == "inoculation":
        raise SettingError("data.folds splits the training set, which augment inoculation replaces. Leave one out.")


def require_splits(splits: Mapping[str, str | Sequence[str]], validation: Sequence[str], meta: Sequence[str]) -> None:
    """Raise SettingError unless there is one training split, and one or more validation splits with distinct names.

    Args:
        splits: The setting ``splits``, with the key "train".
        validation: Names of the validation splits.
        meta: Names of the meta columns. With several validation splits, "split" must not be one of them.
    """
    if not isinstance(splits["train"], str):
        raise SettingError("data.splits: train is a list. Name one split; only validation may be a list.")
    names = [name.casefold() for name in validation]
    if not names or len(set(names)) < len(names):
        raise SettingError(f"data.splits: validation names no split, or one twice: {', '.join(validation)}.")
    if len(names) > 1 and SPLIT in meta:
        raise SettingError(f"data.meta names {SPLIT!r}, the column that is added for several splits. Leave it out.")


def require_one_validation(
    name: str,
    held_out: Mapping[str, int | None],
    splits: Mapping[str, str | Sequence[str]],
    where: Mapping[str, Any],
    aliases: Mapping[str, Sequence[str]],
) -> None:
    """Raise SettingError if the settings both hold out training examples and choose a validation split.

    Args:
        name: Name of the data set, for the message.
        held_out: Maps "hold_out", "folds" and "fold" to their values; None is unset.
        splits: Maps "train" and "validation" to splits of the source.
        where: The setting ``where``; conditions under "validation" choose rows of the validation split.
        aliases: Maps "validation" to the default names of that split.
    """
    if not (flags := [flag for flag, n in held_out.items() if n is not None]):
        return
    names = [splits["validation"]] if isinstance(splits["validation"], str) else splits["validation"]
    is_default = names[0] == splits["train"] or aliases_of(names[0], {"validation": aliases["validation"]})
    reasons = [] if len(names) == 1 and is_default else [f"data.splits names {', '.join(names)}"]
    if isinstance(where.get("validation"), Mapping):
        reasons.append("data.where chooses rows of the validation split")
    if reasons:
        off = " ".join(f"data.{flag} null" for flag in flags)
        raise SettingError(
            f"data.{flags[0]} {held_out[flags[0]]} (given, or the default of {name}) validates on training examples, "
            f"and {' and '.join(reasons)}. Leave one of the two out; {off} switches it off."
        )


def template_of(
    name: str, template: str | None, verbalisers: Mapping[str, str] | None, parts: Sequence[str], labels: Sequence[str]
) -> tuple[str, dict[str, str]]:
    """Return the input template of text-to-text models, and a mapping of labels to the texts that such models write.

    Args:
        name: Name of the data set, which starts the default template.
        template: Text with part names in braces; None for the default template.
        verbalisers: Maps labels to texts. A label that is missing here is written as its name.
        parts: Names of the parts.
        labels: Names of the labels.

    Raises:
        SettingError: The template does not have each part once, or two labels have the same text.
    """
    template, verbalisers = template or plain_template(parts, name), dict(verbalisers or {})
    if sorted(parts_of(template)) != sorted(parts):
        raise SettingError(f"data.template {template!r} must name each of {', '.join(parts)} once, in braces.")
    if unknown := [label for label in verbalisers if label not in labels]:
        raise SettingError(f"data.verbalisers {unknown[0]} is not a label of {name}. {suggestion(unknown[0], labels)}")
    texts = [verbalisers.get(label, label).strip() for label in labels]
    if "" in texts or len(set(texts)) < len(texts):
        listed = ", ".join(map(repr, texts))
        raise SettingError(
            f"data.verbalisers: the labels {', '.join(labels)} have the texts {listed}, not distinct ones."
        )
    return template, verbalisers
