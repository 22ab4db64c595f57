"""Settings of data that exclude each other, or name what is not there."""

from collections.abc import Mapping, Sequence
from typing import Any

from heedful.datamodules.base.splits import aliases_of
from heedful.records import SettingError
from heedful.records.errors import guess
from heedful.records.rows import SPLIT
from heedful.records.storage.folder_names import FIT, is_folder_name


def require_sizes(name: str, sizes: Mapping[str, int | None]) -> None:
    """Refuse a name that cannot name a folder, and sizes below 1."""
    if not is_folder_name(name):
        raise SettingError(f"data.name {name!r} cannot name a folder. Use {FIT}.")
    for flag, n in sizes.items():
        if n is not None and n < (least := 0 if flag == "num_workers" else 1):
            raise SettingError(f"data.{flag} {n} is less than {least}.")


def require_regime(
    name: str, parts: Sequence[str], swap: Sequence[str], partial: str | None, augment: str | None
) -> None:
    """Refuse settings of the training that exclude each other or name a part that is not there.

    Args:
        name: Name of the data set.
        parts: Its parts.
        swap: The parts that are swapped.
        partial: The part that the model reads alone.
        augment: How the training set is augmented.
    """
    if len(parts) == 1 and (swap or augment == "counterfactual"):
        needs_two = f"data.swap {swap[0]}" if swap else "augment counterfactual"
        raise SettingError(f"{needs_two}: {name} has one part, {parts[0]}, and a swap needs two.")
    for option, named in (("swap", swap), ("partial", [partial] if partial else [])):
        joined = [part for each in named for part in each.split("+")]
        if unknown := [part for part in joined if part not in parts]:
            raise SettingError(f"data.{option} {unknown[0]} is not a part of {name}. {guess(unknown[0], parts)}")
    if twice := [part for k, part in enumerate(swap) if part in swap[:k] or len({*part.split("+")}) <= part.count("+")]:
        raise SettingError(f"data.swap names {twice[0]} twice.")
    if swap_of_all := [part for part in swap if {*part.split("+")} == {*parts}]:
        raise SettingError(
            f"data.swap {swap_of_all[0]} replaces every part, so that the input is another example with its own "
            "answer. Leave one part out, which stays."
        )
    if partial and augment == "counterfactual":
        raise SettingError(
            "partial leaves one part, and augment counterfactual swaps one of two. Leave one of the two out."
        )
    if augment == "counterfactual" and not swap:
        raise SettingError("augment counterfactual needs a part to swap. Name one with data.swap.")


def require_distractors(name: str, distractors: Sequence[str], parts: Sequence[str], swap: Sequence[str]) -> None:
    """Refuse distractors that are no parts, that are swapped, or beside which no part is left."""
    for part in distractors:
        if part not in parts:
            raise SettingError(f"data.distractors {part} is not a part of {name}. {guess(part, parts)}")
        if any(part in joined.split("+") for joined in swap):
            raise SettingError(
                f"data.swap {part} must change the answer, and {part} is among data.distractors. Leave one of the two "
                "out."
            )
    if len(distractors) == len(parts):
        raise SettingError("data.distractors names every part. Leave one out that matters.")


def require_folds(hold_out: int | None, folds: int | None, fold: int | None, augment: str | None) -> None:
    """Refuse settings of held-out examples that exclude each other or are out of range."""
    if folds is None and fold is None:
        return
    if folds is None or fold is None:
        raise SettingError(
            f"data.{'folds' if fold is None else 'fold'} is given alone. Give data.folds N, how many there are, and "
            "data.fold K, which one, from 0 to N - 1."
        )
    if folds < 2 or not 0 <= fold < folds:
        raise SettingError(f"data.fold {fold} is not one of {folds} folds, two or more. They go from 0 to N - 1.")
    if hold_out is not None:
        raise SettingError(
            "data.hold_out and data.folds both say what to validate on. Leave one of the two out; data.hold_out null "
            "switches it off."
        )
    if augment == "inoculation":
        raise SettingError(
            "data.folds splits the training set, which augment inoculation does not read. Leave one of the two out."
        )


def require_splits(splits: Mapping[str, str | Sequence[str]], called: Sequence[str], meta: Sequence[str]) -> None:
    """Refuse several training splits, and validation splits that cannot be told apart.

    Args:
        splits: Which splits of the source are "train" and "validation".
        called: The names of the validation splits in uids.
        meta: The meta columns.
    """
    if not isinstance(splits["train"], str):
        raise SettingError("data.splits: train is a list. Name one split; for validation, one or several.")
    names = [name.casefold() for name in called]
    if not names or len(set(names)) < len(names):
        raise SettingError(f"data.splits: validation names no split, or one twice: {', '.join(called)}.")
    if len(names) > 1 and SPLIT in meta:
        raise SettingError(
            f"data.meta names {SPLIT!r}, the column that tells several splits apart. Leave it out, or rename the "
            "column in the files."
        )


def require_one_validation(
    name: str,
    held_out: Mapping[str, int | None],
    splits: Mapping[str, str | Sequence[str]],
    where: Mapping[str, Any],
    aliases: Mapping[str, Sequence[str]],
) -> None:
    """Refuse another set to validate on where some of the training set is; its usual name alone says nothing.

    Args:
        name: Name of the data set.
        held_out: The settings that hold training examples out.
        splits: Which splits of the source are "train" and "validation".
        where: Conditions on rows.
        aliases: What files of a split may be called.
    """
    if not (flags := [flag for flag, n in held_out.items() if n is not None]):
        return
    names = [splits["validation"]] if isinstance(splits["validation"], str) else splits["validation"]
    reasons = []
    if (
        len(names) > 1
        or names[0] != splits["train"]
        and not aliases_of(names[0], {"validation": aliases["validation"]})
    ):
        reasons.append(f"data.splits names {', '.join(names)}")
    if isinstance(where.get("validation"), Mapping):
        reasons.append("data.where chooses rows of the validation split")
    if reasons:
        off = " ".join(f"data.{flag} null" for flag in flags)
        raise SettingError(
            f"data.{flags[0]} {held_out[flags[0]]} (given, or the default of {name}) validates on training examples, "
            f"and {' and '.join(reasons)}. Leave one of the two out; {off} switches it off."
        )
