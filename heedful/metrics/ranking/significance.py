"""Whether one ranker orders models better than another: two tests, and Holm's correction."""

from collections.abc import Mapping, Sequence

import numpy as np

from heedful.metrics.ranking.protocol import drawn, ordered_pairs, pairwise, sample_means
from heedful.metrics.statistics.bootstrap import Key, interval, ratio, resample
from heedful.records import Measurement, generator

RESAMPLES = 2_000  # of examples and models; each holds a ranking of all samples


def holm(p: Sequence[float]) -> list[float]:
    """Adjusted p values, by which no more than one in twenty families has a false alarm (Holm 1979).

    Example:
        >>> [round(x, 2) for x in holm([0.04, 0.01, 0.03])]
        [0.06, 0.03, 0.06]
    """
    adjusted = [0.0] * len(p)
    largest = 0.0
    for rank, k in enumerate(sorted(range(len(p)), key=lambda k: p[k])):
        largest = max(largest, min(1.0, (len(p) - rank) * p[k]))
        adjusted[k] = largest
    return adjusted


def two_sided(resampled: np.ndarray) -> float:
    """p value of a difference being 0, from its resamples [resamples]: it is below 0.05 where 0 is outside of 95 %.

    Twice the smaller share of resamples on either side of 0, the difference itself counted with them.
    """
    values = resampled[~np.isnan(resampled)]
    below = (1 + (values <= 0).sum()) / (1 + len(values))
    above = (1 + (values >= 0).sum()) / (1 + len(values))
    return float(min(1.0, 2 * min(below, above)))


def over_samples(success: np.ndarray, other: np.ndarray, key: Key) -> tuple[Measurement, float]:
    """The paper's paired bootstrap: the few-shot accuracy of a ranker less that of another, over samples.

    It takes the samples as data, which they are not: they come from one population of examples and one set of models,
    and with more samples any difference becomes significant.

    Args:
        success: float64 [pairs, samples], of the ranker.
        other: The same of the other, on the same samples.
        key: Keys the random numbers.

    Returns:
        The difference with its 95 % interval, and its p value, two-sided.
    """
    less = success.mean(axis=0) - other.mean(axis=0)
    resampled = ratio(resample(np.stack([less, np.ones_like(less)], axis=1), ("over samples", *key)))
    return Measurement(float(less.mean()), len(less), ci95=interval(resampled)), two_sided(resampled)


def over_examples_and_models(
    values: Mapping[str, np.ndarray],
    truth: np.ndarray,
    choices: np.ndarray,
    clusters: np.ndarray,
    key: Key,
    resamples: int = RESAMPLES,
) -> dict[str, np.ndarray]:
    """Few-shot accuracy where both the examples of the population and the models are resampled, for Heedful's own test.

    A resample draws as many clusters of examples as there are, with replacement, and as many models; model i comes v_i
    times, and a pair of two different models weighs v_i v_j. All rankers see the same draws. The truth stays as it is:
    it rests on many more examples.

    The test is conservative. Of two rankers that are equally good it called one better, at p < 0.05, in 0 to 3 % of 150
    simulations of 4, 6 and 10 models and 100 or 150 examples; most where models have a bias of their own. What is due
    to an example and a model together counts about three times, as in :mod:`heedful.metrics.statistics.multiway`. It
    does not hold for fewer models: see :data:`heedful.metrics.ranking.ranked.FEWEST`.

    Args:
        values: Ranker to its value for each model and example, float64 [models, population]; higher is better.
        truth: float64 [models].
        choices: float64 [samples, n], which choose the samples (:func:`~heedful.metrics.ranking.protocol.uniforms`).
        clusters: The cluster of each example, int [population].
        key: Keys the random numbers.
        resamples: How many.

    Returns:
        Ranker to float64 [resamples]; nan where all models that were drawn are the same one, or have the same truth.
    """
    stacked = np.stack(list(values.values()))
    pairs = ordered_pairs(truth)
    members = [np.flatnonzero(clusters == cluster) for cluster in np.unique(clusters)]
    rng = generator("examples and models", *key)
    found = np.empty((resamples, len(stacked)))
    for r in range(resamples):
        of_clusters = rng.integers(len(members), size=len(members))
        population = np.concatenate([members[cluster] for cluster in of_clusters])
        times = rng.multinomial(len(truth), np.full(len(truth), 1 / len(truth)))
        weight = times[pairs[:, 0]] * times[pairs[:, 1]]
        scores = sample_means(stacked, population[drawn(choices, len(population))])
        found[r] = pairwise(scores, pairs) @ weight / weight.sum() if weight.sum() else np.nan
    return dict(zip(values, found.T, strict=True))
