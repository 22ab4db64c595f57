"""Factors by name: factors of the paper, and users' functions as ``module:function``."""

import importlib
import math
import sys
from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path

from heedful.metrics.attributions.attribution import Attribution
from heedful.metrics.attributions.factors import FACTORS, VARIANTS, Factor
from heedful.records import SettingError
from heedful.records.errors import guess, nearest


def factors_named(names: Sequence[str]) -> dict[str, Factor]:
    """Factors by their names.

    A factor of one's own is ``module:function``, importable from the working directory: a function of one
    :class:`~heedful.metrics.attributions.attribution.Attribution` that returns a number, higher for a model that will
    do worse, or None if undefined. Its name is ``module:function``.

    Args:
        names: Keys of ``FACTORS`` or ``VARIANTS``, or ``module:function``; a name counts once.

    Raises:
        HeedfulError: A name is unknown, or a module or its function cannot be found or imported.
    """
    return {name: _custom(name) if ":" in name else _built_in(name) for name in names}


def _built_in(name: str) -> Factor:
    factors = FACTORS | VARIANTS
    if name not in factors:
        raise SettingError(
            f"factors {name}: there is no such factor. {guess(name, factors if nearest(name, factors) else FACTORS)} "
            "One of your own is module:function."
        )
    return factors[name]


def _custom(name: str) -> Factor:
    module, _, function = name.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        imported = importlib.import_module(module)
    except Exception as error:  # whatever a user's module raises
        raise SettingError(f"factors {name} cannot be imported from {folder}: {_summary(error)}.") from error
    factor = getattr(imported, function, None)
    if not callable(factor):
        file = getattr(imported, "__file__", None)
        at = Path(file).parent if file else "Python"  # perhaps another module of the same name
        raise SettingError(f"factors {name}: {module} in {at} has no function {function!r}.")
    return factor


def value_of(name: str, factor: Factor, attribution: Attribution) -> float | None:
    """The value of a factor for one example; None if undefined.

    Raises:
        HeedfulError: It raises, or returns neither a finite number nor None.
    """
    try:
        value = factor(attribution)
    except Exception as error:  # whatever a user's function raises
        raise SettingError(
            f"The factor {name} fails for {attribution.uid} ({attribution.method}): {_summary(error)}."
        ) from error
    if value is None:
        return None
    if not isinstance(value, Real) or not math.isfinite(value):
        raise SettingError(f"The factor {name} gives {value!r} for {attribution.uid}. Return a number or None.")
    return float(value)


def values_of(factors: Mapping[str, Factor], attribution: Attribution) -> dict[str, float | None]:
    """The value per factor for one example, by :func:`value_of`."""
    return {name: value_of(name, factor, attribution) for name, factor in factors.items()}


def _summary(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": .")
