"""What folders of runs call a training that differs from plain training."""


def regime_name(
    partial: str | None, augment: str | None, n: int, fold: int | None, mixed: bool = False, control: str | None = None
) -> str:
    """The name of a regime, given the number of examples of an inoculation.

    ``mixed`` says whether other examples are mixed into the training set, and ``control`` which ones of MSGS.

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
