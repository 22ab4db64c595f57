"""How many examples a study needs, from a pilot: studies are simulated until four of five reach the aim.

What a pilot leaves open is drawn by the Bayesian bootstrap (Rubin 1981, Annals of Statistics 9): each simulated study
takes its clusters from those of the pilot, with weights of its own. Beside these stand a cluster of hits alone and one
of misses, for half a cluster each, as in Jeffreys' prior of a share: a pilot without a hit does not say that there are
none. So a promise of 80 % is one over pilots and studies together. Where a difference is assumed, the weights are
tilted to it exponentially (Efron 1981, Canadian Journal of Statistics 9), which changes them least.

The intervals of the simulated studies are those of :mod:`heedful.metrics.statistics.intervals`.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from heedful.metrics.statistics.intervals import LEVEL, Bounds, between, interval, shares
from heedful.records import SettingError

OFTEN = 0.8  # of the studies that reach the aim
STUDIES = 200  # that are simulated; then 80 % is known to 3 points
MARGIN = 1.02  # more clusters: a share near one half may vary by so much more, and never less, than any simulated
LEAST = 10  # clusters
MOST = 5_000  # clusters of a simulated study; from there on the square law holds
CLOSE = 0.005  # two sizes that differ by less are one
STEPS, FAR = 6, 2  # of the search, and those that are far off
HALVINGS = 60


@dataclass(frozen=True)
class Pilot:
    """The sums that a pilot found.

    Attributes:
        sums: float64 [clusters, draws, models, 2]: hits in the cluster in that draw, and of how many. Clusters of which
            nothing counts are among them. There is one model, or two on the same examples.
        examples: How many examples are in the clusters, whether they count or not.
    """

    sums: np.ndarray
    examples: int

    @property
    def draws(self) -> int:
        """How many draws it has."""
        return self.sums.shape[1]

    @property
    def models(self) -> int:
        """One or two."""
        return self.sums.shape[2]

    def value(self) -> float:
        """The share; of two models, that of the second less that of the first. It is nan where none counts."""
        hits, of = self.sums.sum(axis=(0, 1)).T
        with np.errstate(invalid="ignore"):
            return float((hits / of)[-1] - (hits / of)[0] * (self.models == 2))

    def bounds(self) -> Bounds:
        """The 95 % interval of the value."""
        return _interval(self.sums.sum(axis=1))


@dataclass(frozen=True)
class Width:
    """The aim of an interval that is at most so wide, from its low end to its high end."""

    width: float

    def excess(self, bounds: np.ndarray) -> float:
        """By how much intervals, float64 [studies, 2], are too wide: 1 if just enough of them reach the aim."""
        return float(np.quantile(bounds[:, 1] - bounds[:, 0], OFTEN, method="higher")) / self.width


@dataclass(frozen=True)
class Told:
    """The aim of telling the second model from the first, if it is above it by ``difference``, which is not 0."""

    difference: float

    def excess(self, bounds: np.ndarray) -> float:
        """How far, by the difference, the end towards 0 is away: 1 if just enough intervals leave 0 out."""
        size = abs(self.difference)
        ends = bounds[:, 0] if self.difference > 0 else -bounds[:, 1]
        return (size - float(np.quantile(ends, 1 - OFTEN, method="lower"))) / size


def examples_needed(pilot: Pilot, aim: Width | Told, draws: int, seed: int = 0) -> int | None:
    """How many examples a study needs, so that four of five studies reach their aim.

    Clusters of the study hold as many examples as those of the pilot.

    Args:
        pilot: The pilot.
        aim: What the interval must be. :class:`Told` is of two models.
        draws: Of the study, at most as many as the pilot has.
        seed: Of the simulated studies.

    Returns:
        The number; None where no example counts, or the difference cannot be.

    Example:
        >>> hits = np.arange(200) < 60
        >>> pilot = Pilot(np.stack([hits, np.ones(200)], axis=1)[:, None, None, :], 200)
        >>> 1300 < examples_needed(pilot, Width(0.05), draws=1) < 1500
        True
        >>> round(4 * 1.96**2 * 0.3 * 0.7 / 0.05**2)  # as text books have it, for a share of 0.3 that is known
        1291
    """
    kinds = _kinds(pilot.sums, draws)
    if kinds is None:
        return None
    sums, counts = kinds
    # a Dirichlet draw for each study: which shares the kinds may have among all clusters, as far as the pilot tells
    weights = np.random.default_rng(seed).standard_gamma(counts, (STUDIES, len(counts)))
    weights /= weights.sum(axis=1, keepdims=True)
    if isinstance(aim, Told):
        tilted = _tilted(weights, sums, aim.difference)
        if tilted is None:
            return None
        weights = tilted
    clusters = _clusters_needed(sums, weights, aim, len(pilot.sums), seed)
    return int(np.ceil(MARGIN * clusters * pilot.examples / len(pilot.sums)))


def at_worst(width: float) -> int:
    """How many examples have an interval of this width whatever the share, where each is its own cluster.

    That is the width at one half, with 2 / width more for an interval that is exact (Fleiss, Levin and Paik 2003,
    section 2.5).

    Example:
        >>> at_worst(0.02), at_worst(0.1)
        (9704, 405)
    """
    return int(np.ceil((-ndtri((1 - LEVEL) / 2) / width) ** 2 + 2 / width))


def _kinds(sums: np.ndarray, draws: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The different clusters in so many draws: float64 [kinds, models, 2], and how many there are of each; None where
    none counts.

    Each cluster is there once for each of its draws, from which it takes those that follow, and counts as one.
    """
    n, every, models, _ = sums.shape
    draws_from = [sums.take(range(first, first + draws), axis=1, mode="wrap").sum(axis=1) for first in range(every)]
    kinds, counts = np.unique(np.concatenate(draws_from), axis=0, return_counts=True)
    of = kinds[..., 1]
    if not of.any(axis=0).all():
        return None
    size = max(1.0, np.rint(np.average(of[of > 0], weights=np.broadcast_to(counts[:, None], of.shape)[of > 0])))
    extreme = np.full((2, models, 2), size)
    extreme[0, 0, 0] = 0.0
    extreme[1, -1, 0] = 0.0
    if models == 1:
        extreme[1, 0, 0] = size
    return np.concatenate([kinds, extreme]), np.append(counts / every, [0.5, 0.5])


def _differences(weights: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """The second share less the first, for each row of weights: float64 [studies]."""
    totals = np.tensordot(weights, sums, axes=1)
    return totals[:, 1, 0] / totals[:, 1, 1] - totals[:, 0, 0] / totals[:, 0, 1]


def _tilted(weights: np.ndarray, sums: np.ndarray, difference: float) -> np.ndarray | None:
    """Weights under which the second share is above the first by a difference; None where there are none such."""
    totals = weights.mean(axis=0) @ sums.reshape(len(sums), -1)
    (hits, of), (others, other_of) = totals.reshape(2, 2)
    pull = (sums[:, 1, 0] - others / other_of * sums[:, 1, 1]) / other_of
    pull -= (sums[:, 0, 0] - hits / of * sums[:, 0, 1]) / of
    most = 200 / np.abs(pull).max()  # e to this is nothing beside e to its opposite

    def tilted(by: np.ndarray) -> np.ndarray:
        power = np.outer(by, pull)
        tilted_weights = weights * np.exp(power - power.max(axis=1, keepdims=True))
        return tilted_weights / tilted_weights.sum(axis=1, keepdims=True)

    low = np.full(len(weights), -most)
    high = -low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_below = _differences(tilted(middle), sums) < difference
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    tilted_weights = tilted(high)
    return tilted_weights if np.allclose(_differences(tilted_weights, sums), difference, atol=1e-4) else None


def _clusters_needed(sums: np.ndarray, weights: np.ndarray, aim: Width | Told, start: int, seed: int) -> int:
    """With how many clusters four of five studies reach their aim: ends come nearer with the root of the number.

    Each step says so from other studies; what the first ones say is far off, and the others are averaged.
    """
    clusters = start
    estimates: list[float] = []
    for step in range(STEPS):
        at = min(max(LEAST, clusters), MOST)
        estimates.append(max(LEAST, at * aim.excess(_simulated(sums, weights, at, (seed, step))) ** 2))
        if abs(estimates[-1] - clusters) <= CLOSE * clusters:
            break
        clusters = round(float(np.mean(estimates[min(step, FAR) :])))
    return int(np.ceil(max(clusters, estimates[-1]) if step + 1 < STEPS else clusters))


def _simulated(sums: np.ndarray, weights: np.ndarray, clusters: int, seed: tuple[int, int]) -> np.ndarray:
    """The intervals of studies of so many clusters of these kinds: float64 [studies, 2]."""
    counts = np.random.default_rng([1, *seed]).multinomial(clusters, weights)
    return np.array([_interval(np.repeat(sums, times, axis=0)) for times in counts])


def _interval(sums: np.ndarray) -> Bounds:
    """The 95 % interval of a study: of the share of one model, or of the second less the first.

    Args:
        sums: float64 [clusters, models, 2].
    """
    sums = sums[sums[..., 1].any(axis=1)]
    models = sums.shape[1]
    if not sums[..., 1].any(axis=0).all():
        return (0.0, 1.0) if models == 1 else (-1.0, 1.0)
    cells = np.zeros(len(sums), dtype=np.int64)
    ways = [np.arange(len(sums))]
    columns = [(side[:, 0], side[:, 1]) for side in sums.transpose(1, 0, 2)]
    if models == 1:
        return interval(shares(*columns[0], cells, ways))
    return between(columns[1], columns[0], cells, ways)


def require_aim(models: int, width: float | None, difference: float | None) -> None:
    """Refuse aims of a study that make no sense.

    Raises:
        HeedfulError: There is none, there are two, or one is not a share.
    """
    if models not in (1, 2):
        raise SettingError(f"A study is planned from one pilot or two, and these are {models}.")
    if models == 1 and difference is not None:
        raise SettingError("difference is of two models. Name another one, or leave it out.")
    if models == 1 and width is None:
        raise SettingError("One pilot needs width. Add width .02, or name two models.")
    if width is not None and difference is not None:
        raise SettingError("width and difference are two aims. Leave one out.")
    for name, value in (("width", width), ("difference", difference)):
        if value is not None and not 0 < value < 1:
            raise SettingError(f"{name} {value:g} is not a share. Write .02 for 2 points.")
