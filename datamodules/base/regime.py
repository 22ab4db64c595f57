"""How training differs from plain training: which settings go together."""

from collections.abc import Sequence

from heedful.records import HeedfulError


def require_regime(
    name: str,
    parts: Sequence[str],
    swap: Sequence[str],
    partial: str | None,
    augment: str | None,
    folds: int | None,
    fold: int | None,
) -> None:
    """Check settings of a data module against each other; they are described there.

    Raises:
        HeedfulError: Two of them exclude each other, one needs another, or one names a part that is not there.
    """
    _require_parts(name, parts, swap, partial, augment)
    if partial and augment == "counterfactual":
        raise HeedfulError("§partial leaves one part, and §augment counterfactual swaps one of two: use either.")
    if augment == "counterfactual" and not swap:
        raise HeedfulError("§augment counterfactual needs a part to swap: name one with §data.swap.")
    _require_folds(folds, fold, augment)


def _require_parts(
    name: str, parts: Sequence[str], swap: Sequence[str], partial: str | None, augment: str | None
) -> None:
    """Check that the settings name parts of the data, and each once."""
    if len(parts) == 1 and (swap or augment == "counterfactual"):
        option = f"§data.swap {swap[0]}" if swap else "§augment counterfactual"
        raise HeedfulError(f"{option}: {name} has one part, {parts[0]}, so that there is nothing to swap.")
    for option, named in (("swap", swap), ("partial", [partial] if partial else [])):
        if unknown := [part for joined in named for part in joined.split("+") if part not in parts]:
            raise HeedfulError(f"§data.{option} {unknown[0]}: {name} has the parts {', '.join(parts)}.")
    if twice := [part for k, part in enumerate(swap) if part in swap[:k]]:
        raise HeedfulError(f"§data.swap names {twice[0]} twice: name each part once.")


def _require_folds(folds: int | None, fold: int | None, augment: str | None) -> None:
    """Check the settings of cross-validation."""
    if folds is None and fold is None:
        return
    if folds is None or fold is None:
        raise HeedfulError("Cross-validation needs both §data.folds N, how many, and §data.fold K, from 0 to N - 1.")
    if folds < 2:
        raise HeedfulError(f"§data.folds {folds} must be at least 2.")
    if not 0 <= fold < folds:
        raise HeedfulError(f"§data.fold {fold}: the folds go from 0 to {folds - 1}.")
    if augment == "inoculation":
        raise HeedfulError("§data.folds splits the training set, which §augment inoculation leaves alone: use either.")
