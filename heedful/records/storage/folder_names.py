"""Names of the folders of runs and evaluations."""

import re

FIT = "letters, digits, '.', '_', '+' and '-' only, and a letter, digit or '_' first"


def folder_name(*parts: str) -> str:
    """Join the parts of a folder name by "-", which also replaces slashes and other special characters.

    Example:
        >>> folder_name("mnli", "data/dev set.jsonl", "best"), folder_name("../..")
        ('mnli-data-dev-set.jsonl-best', '')
    """
    return re.sub(r"[^\w.+-]+", "-", "-".join(parts)).strip("-.")


def is_folder_name(name: object) -> bool:
    """Whether a name begins with a letter, a digit or "_", and has only letters, digits, ".", "_", "+" and "-".

    Example:
        >>> is_folder_name("a-1"), is_folder_name("a/b"), is_folder_name(".a"), is_folder_name("")
        (True, False, False, False)
    """
    return isinstance(name, str) and re.fullmatch(r"\w[\w.+-]*", name) is not None


def regime_name(
    partial: str | None, augment: str | None, n: int, fold: int | None, mixed: bool = False, control: str | None = None
) -> str:
    """Return the folder name of a training regime: which parts, examples and augmentation a model is trained with.

    Args:
        partial: Name of the only part that the model receives; None if the model receives all parts.
        augment: Name of the augmentation, or None.
        n: Number of challenge examples, for inoculation (fine-tuning on a few of them).
        fold: Index of the held-out fold, or None without folds.
        mixed: Whether examples of another data set are mixed into the training set.
        control: Name of the mixture of control examples, such as "2L1S", for the data set MSGS; or None.

    Example:
        >>> regime_name("premise", None, 100, 2), regime_name(None, "inoculation", 100, None)
        ('partial-premise-fold-2', 'inoculation-100')
        >>> regime_name(None, None, 100, None, True), regime_name(None, None, 100, None, True, "2L1S")
        ('mixture', 'mixture-2L1S')
    """
    if augment == "inoculation" and not partial:
        return f"inoculation-{n}"
    mixture = "-".join(filter(None, ["mixture", control])) if mixed or control else None
    name = f"partial-{partial}" if partial else augment or mixture or "plain"
    return name if fold is None else f"{name}-fold-{fold}"
