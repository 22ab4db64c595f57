"""Whether one ranker orders models better than another: two tests, and Holm's correction over a family of them."""

from collections.abc import Mapping, Sequence

import numpy as np

from heedful.metrics.ranking.protocol import drawn, ordered_pairs, pairwise, sample_means
from heedful.metrics.statistics.bootstrap import Key, interval, resample
from heedful.records import Measurement, generator

RESAMPLES = 2_000  # of examples and models; each holds a ranking of all samples


def holm(p: Sequence[float]) -> list[float]:
    """Adjusted p values, by which no more than one in twenty families has a false alarm (Holm 1979).

    A family is all factors that are tried on one set, with one method and one size of samples: of these somebody takes
    the best, so that trying more must not make one succeed by chance. Another set, method or size asks another
    question, and is a family of its own; of 20 families one may have a false alarm.

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
    resampled = resample(less[:, None], ("over samples", *key))[:, 0] / len(less)
    return Measurement(float(less.mean()), len(less), ci95=interval(resampled)), two_sided(resampled)


def over_examples_and_models(
    values: Mapping[str, np.ndarray],
    correct: np.ndarray,
    population: np.ndarray,
    choices: np.ndarray,
    clusters: np.ndarray,
    key: Key,
    resamples: int = RESAMPLES,
) -> dict[str, np.ndarray]:
    """Few-shot accuracy where both all examples and the models are resampled, for Heedful's own test.

    A resample draws as many clusters of examples as there are, with replacement, and as many models. The population is
    what is drawn of it, and the truth is the accuracy on all that is drawn, the population among it; so the order of
    models that are near is as uncertain as it is. Model i comes v_i times, and a pair of two different models weighs
    v_i v_j; a pair of equal truth does not count. All rankers see the same draws.

    The test is conservative. Of two rankers that are equally good it called one better, at p < 0.05, in 0 to 5 % of 200
    simulations of 4, 6 and 10 models and 100 of 1,000 examples; most where models have a bias of their own. Where
    models were equally good or nearly so, and a factor had them in an arbitrary order, it was 0 to 1 % of 150; with the
    truth held fixed, 3 to 9 %. What is due to an example and a model together counts about three times
    (Owen 2007, "The pigeonhole bootstrap", section 3).

    It does not hold for fewer models (:data:`heedful.metrics.ranking.ranked.FEWEST`), nor where nearly all examples are
    explained: then ACC sees the very errors that make the truth, and is ahead of a factor that does not.

    Where models are near, the order in a resample is another one than that of all examples, and few-shot accuracy comes
    nearer to one half than the number itself, which may lie at an end of its interval, or outside.

    Args:
        values: Ranker to its value for each model and example of the population, float64 [models, population]; higher
            is better.
        correct: What each answer is worth, float64 [models, examples].
        population: Which of the examples these are, int64 [population].
        choices: float64 [samples, n], which choose the samples (:func:`~heedful.metrics.ranking.protocol.uniforms`).
        clusters: The cluster of each example, int [examples].
        key: Keys the random numbers.
        resamples: How many.

    Returns:
        Ranker to float64 [resamples]; nan where all models that were drawn are the same one, or have the same truth,
        or where nothing of the population was drawn.
    """
    stacked = np.stack(list(values.values()))
    models = len(correct)
    distinct, of_example = np.unique(clusters, return_inverse=True)
    number = len(distinct)
    rng = generator("examples and models", *key)
    accuracies = np.full((resamples, len(stacked)), np.nan)
    for r in range(resamples):
        times = np.bincount(rng.integers(number, size=number), minlength=number)[of_example]
        of_models = rng.multinomial(models, np.full(models, 1 / models))
        pairs = ordered_pairs(correct @ times)
        weight = of_models[pairs[:, 0]] * of_models[pairs[:, 1]]
        again = np.repeat(np.arange(len(population)), times[population])
        if weight.sum() and len(again):
            scores = sample_means(stacked, again[drawn(choices, len(again))])
            accuracies[r] = pairwise(scores, pairs) @ weight / weight.sum()
    return dict(zip(values, accuracies.T, strict=True))
