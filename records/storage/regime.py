"""What folders of runs call a training that differs from plain training."""


def regime_name(partial: str | None, augment: str | None, n: int, fold: int | None) -> str:
    """The name of a regime, given the number of examples of an inoculation.

    Example:
        >>> regime_name("premise", None, 100, 2), regime_name(None, "inoculation", 100, None)
        ('partial-premise-fold-2', 'inoculation-100')
    """
    if augment == "inoculation" and not partial:
        return f"inoculation-{n}"
    name = f"partial-{partial}" if partial else augment or "plain"
    return name if fold is None else f"{name}-fold-{fold}"
