"""Rank models by a few examples, and compare the ranking with their accuracies on all examples.

Source: "Assessing Out-of-Domain Language Model Performance from Few Examples" (Singhal et al. 2023), sections 3 and
4.3, and appendix B. A ranker, such as ACC (accuracy) or a factor of attributions, gives each model a value on each
example. A sample is n examples, drawn with replacement from a population of examples; samples are the same for all
models. The score of a model is the mean of its values over a sample; the truth is its accuracy on all examples.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from heedful.metrics.statistics.bootstrap import Key, few_clusters_flag, interval, measured, resample
from heedful.records import Measurement, generator

ACC, CONF, CONF_GT, REVERSED, RANDOM = "acc", "conf", "conf_gt", "conf_gt reversed", "random"
RESAMPLES = 2_000  # resamples of examples and models
FEWEST = 4  # different accuracies for Heedful's test; with 3, up to 7 % of 200 simulations had a false alarm


def uniforms(n: int, samples: int, seed: int) -> np.ndarray:
    """Draw random numbers in [0, 1) for :func:`drawn_positions`, one per example of a sample: float64 [samples, n]."""
    return generator("few-shot samples", seed, n).random((samples, n))


def drawn_positions(choices: np.ndarray, population: int) -> np.ndarray:
    """Convert random numbers to positions of examples in a population: int64 [samples, n].

    Args:
        choices: Random numbers of :func:`uniforms`: float64 [samples, n].
        population: Number of examples in the population.
    """
    return (choices * population).astype(np.int64)


def sample_means(values: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Return the mean of the values that are not nan over each sample: float64 [..., samples]; nan if all are nan.

    Equal values have bit-identical means, so that ties stay ties.

    Args:
        values: Values of the examples, nan if undefined: float64 [..., population].
        samples: Positions of the examples of a sample: int64 [samples, n].
    """
    columns = np.ascontiguousarray(values.reshape(-1, values.shape[-1]).T)  # a row per example, which is fast to gather
    sums = _sums(np.nan_to_num(columns), samples)
    if (missing := np.isnan(columns)).any():
        counts = _sums((~missing).astype(np.float64), samples)
        means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    else:
        means = sums / samples.shape[1]
    return np.ascontiguousarray(means.T).reshape(*values.shape[:-1], len(samples))


def _sums(columns: np.ndarray, samples: np.ndarray) -> np.ndarray:
    total = np.zeros((len(samples), columns.shape[1]))
    for k in range(samples.shape[1]):  # a fixed order of summation, unlike a matrix product
        total += columns[samples[:, k]]
    return total


def ordered_pairs(truth: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the positions of pairs of models with different accuracies, the better model first: int64 [pairs, 2].

    Args:
        truth: Accuracy per model on all examples.
    """
    pairs = [
        (i, j) if truth[i] > truth[j] else (j, i) for i, j in combinations(range(len(truth)), 2) if truth[i] != truth[j]
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def successes(scores: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Whether the better model of a pair has the higher score: 1, 0, or 0.5 for a tie; float64 [..., pairs, samples].

    Args:
        scores: Score per model, higher for a better model: float64 [..., models, samples]; nan ties with any score.
        pairs: Pairs of :func:`ordered_pairs`.
    """
    better, worse = scores[..., pairs[:, 0], :], scores[..., pairs[:, 1], :]
    return 0.5 + 0.5 * (better > worse) - 0.5 * (better < worse)


def pairwise(scores: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the share of samples in which the better model of a pair has the higher score: float32 [..., pairs].

    The better model, the first of the pair, has the higher true accuracy. A tie counts 1/2. The result is the mean of
    :func:`successes` over samples. Both functions have the same arguments.
    """
    better, worse = scores[..., pairs[:, 0], :], scores[..., pairs[:, 1], :]
    # needs less memory than the mean of successes
    less = (better > worse).view(np.int8) - (better < worse).view(np.int8)
    samples = scores.shape[-1]
    return 0.5 + (less.astype(np.float32) @ np.ones(samples, dtype=np.float32)) / (2.0 * samples)  # exact in float32


def kendall(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return Kendall's tau-b between the scores of models in each sample and their true accuracies: float64 [samples];
    0 if all scores or all accuracies tie.

    Args:
        scores: Score per model and sample: float64 [models, samples].
        truth: Accuracy per model on all examples: float64 [models].
    """
    first, second = np.triu_indices(len(truth), 1)
    with np.errstate(invalid="ignore"):
        by_score = np.nan_to_num(np.sign(scores[first] - scores[second]))
    by_truth = np.sign(truth[first] - truth[second])
    scale = np.sqrt((by_score != 0).sum(axis=0) * (by_truth != 0).sum())
    return np.divide(by_truth @ by_score, scale, out=np.zeros(scores.shape[1]), where=scale > 0)


def regret(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the accuracy lost by choosing the model with the highest score instead of the best: float64 [samples].

    If several models have the highest score, their accuracies are averaged. Arguments are as in :func:`kendall`.
    """
    scores = np.where(np.isnan(scores), -np.inf, scores)
    is_chosen = scores == scores.max(axis=0)
    return truth.max() - (truth @ is_chosen) / is_chosen.sum(axis=0)


@dataclass(frozen=True)
class Ranking:
    """How well scores put models in the order of their true accuracies.

    A model has one score in each sample of a few examples. Its true accuracy is its accuracy on all examples.

    Attributes:
        pairs: Pairs of models with different true accuracies, the better model first: int64 [pairs, 2].
        success: Whether the better model of a pair has the higher score in a sample (:func:`successes`): float64
            [pairs, samples].
        tau: Mean of Kendall's tau over samples.
        regret: Mean over samples of the lost accuracy, by :func:`regret`.
    """

    pairs: np.ndarray
    success: np.ndarray
    tau: float
    regret: float

    @classmethod
    def of(cls, scores: np.ndarray, truth: np.ndarray) -> "Ranking":
        """Compute the ranking from the scores of models, [models, samples], and their true accuracies, [models].

        The ranking holds the pairs of models, whether each sample puts each pair in the true order, tau and regret.
        """
        pairs = ordered_pairs(truth)
        tau, loss = kendall(scores, truth).mean(), regret(scores, truth).mean()
        return cls(pairs, successes(scores, pairs), float(tau), float(loss))

    @property
    def pairwise(self) -> np.ndarray:
        """Pairwise accuracy: the share of samples with a pair in the right order; ties count 1/2: float64 [pairs]."""
        return self.success.mean(axis=1)

    @property
    def few_shot(self) -> float:
        """Few-shot accuracy: how often a few examples tell which of two models is better.

        The better model of a pair has the higher accuracy on all examples. The few-shot accuracy is the share of pairs
        and samples in which the better model has the higher score; a tie counts 1/2.
        """
        return float(self.pairwise.mean())

    @property
    def ties(self) -> float:
        """Share of pairs and samples in which both models have the same score."""
        return float((self.success == 0.5).mean())


def baselines(p: np.ndarray, y: np.ndarray, gold: np.ndarray) -> dict[str, np.ndarray]:
    """Map each baseline ranker to the values that the ranker gives one model: float64 [examples].

    The keys are "acc" (whether the prediction is gold), "conf" (probability of the prediction), "conf_gt" (probability
    of the gold label) and "conf_gt reversed" (minus the probability of the gold label). Results of "conf_gt reversed"
    resemble those that Singhal et al. (2023) report for CONF-GT.

    Args:
        p: Probabilities of the labels: float [examples, labels]. If ``labels`` is 0, only ACC is computed.
        y: Positions of the predicted labels, -1 for a missing answer: int [examples].
        gold: Positions of the gold labels: int [examples].
    """
    acc = {ACC: (y == gold).astype(np.float64)}
    if not p.shape[1]:
        return acc
    of_y, of_gold = (np.where(index < 0, np.nan, p.astype(np.float64)[np.arange(len(p)), index]) for index in (y, gold))
    return acc | {CONF: of_y, CONF_GT: of_gold, REVERSED: -of_gold}


def random_scores(models: int, samples: int, seed: int) -> np.ndarray:
    """Draw random scores for the baseline RANDOM, which ranks models at random: float64 [models, samples]."""
    return generator("random ranker", seed).random((models, samples))


def guessed_scores(suites: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Compute how well models are ranked by the baseline GUESS, which ranks the same model first in every suite.

    A suite is a set of models with their accuracies on one data set. GUESS orders the other models at random. The paper
    reports 72.0 for the best choice of the first model.

    Args:
        suites: For each suite, the accuracy per model by name.

    Returns:
        Maps each model to the accuracy of the ranking that has this model first: the expected share of pairs of models
        in the order of their accuracies, as a mean over suites. Pairs with equal accuracies do not count.
    """
    names = dict.fromkeys(name for suite in suites for name in suite)
    return {name: float(np.mean([_guessed(name, suite) for suite in suites])) for name in names}


def _guessed(candidate: str, suite: Mapping[str, float]) -> float:
    pairs = [pair for pair in combinations(suite, 2) if suite[pair[0]] != suite[pair[1]]]
    right = [float(max(pair, key=suite.__getitem__) == candidate) if candidate in pair else 0.5 for pair in pairs]
    return float(np.mean(right))


def gap(correct: np.ndarray, baseline: np.ndarray, clusters: np.ndarray) -> tuple[float, float]:
    """Return the difference of the accuracies of two models on the same examples, first minus second, and its standard
    error over clusters.

    Args:
        correct: Scores of the first model: float64 [examples].
        baseline: Scores of the second model: float64 [examples].
        clusters: Cluster per example, from 0: int [examples].
    """
    less = np.asarray(correct, dtype=np.float64) - baseline
    of_clusters = np.bincount(clusters, less - less.mean())
    return float(less.mean()), float(np.sqrt((of_clusters**2).sum()) / len(less))


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p values for the number of tests by the method of Holm (1979).

    Example:
        >>> [round(x, 2) for x in holm([0.04, 0.01, 0.03])]
        [0.06, 0.03, 0.06]
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate([min(1.0, (len(p) - rank) * p[k]) for rank, k in enumerate(order)])
    return [float(value) for value in adjusted]


def two_sided(resampled: np.ndarray) -> float:
    """Return the two-sided p value of a difference. ``resampled`` has the difference per resample: float64 [resamples].

    Two shares are computed: of resamples with a difference of at most 0, and of at least 0. The p value is twice the
    smaller share, but at most 1. Resamples that are nan do not count. Each share is (1 + count) / (1 + resamples), so
    that the p value is never 0.
    """
    values = resampled[~np.isnan(resampled)]
    share_below = (1 + (values <= 0).sum()) / (1 + len(values))
    share_above = (1 + (values >= 0).sum()) / (1 + len(values))
    return float(min(1.0, 2 * min(share_below, share_above)))


def over_samples(success: np.ndarray, baseline: np.ndarray, key: Key) -> tuple[Measurement, float]:
    """Compare two rankers of models by the paper's paired bootstrap.

    A ranker scores each model on samples of a few examples. The accuracy of its ranking is the share of pairs of models
    in the order of their true accuracies, as a mean over samples. The bootstrap treats each sample as an observation,
    although samples are drawn from the same examples: with enough samples, any difference becomes significant.

    Args:
        success: Values of :func:`successes` for the first ranker: float64 [pairs, samples].
        baseline: Values of :func:`successes` for the second ranker, on the same samples.
        key: Seed and purpose, which determine the random numbers.

    Returns:
        The first accuracy minus the second, with its 95 % interval; and the two-sided p value of this difference.
    """
    less = success.mean(axis=0) - baseline.mean(axis=0)
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
    """Compute the ranking accuracy of each ranker in bootstrap resamples of examples and models.

    The true accuracy of a model is its accuracy on all examples. A ranker sees only few-shot samples: n examples each,
    drawn from the population (a subset of all examples). The ranking accuracy of a ranker is the share of pairs of
    models that the ranker puts in the order of their true accuracies, as a mean over few-shot samples.

    Each resample draws clusters of examples and models with replacement, as many as there are. True accuracies are
    computed on the drawn examples; few-shot samples are drawn from those drawn examples that are in the population.
    All rankers share the resamples.

    :func:`ranked` tests with the resamples whether a ranker has a higher ranking accuracy than ACC. The test is not
    valid for fewer than :data:`FEWEST` different true accuracies, nor if the population holds nearly all examples.

    Args:
        values: Maps each ranker to the value that it gives each model on each example of the population, higher for a
            better model: float64 [models, population].
        correct: Scores of predictions, whose mean is the true accuracy of a model: float64 [models, examples].
        population: Indices, among all examples, of the examples in the population: int64 [population].
        choices: Random numbers of :func:`uniforms` that choose the examples of few-shot samples: float64 [samples, n].
        clusters: Cluster (group of dependent examples) per example: int [examples].
        key: Seed and purpose, which determine the random numbers.
        resamples: Number of resamples.

    Returns:
        Maps each ranker to its ranking accuracy in each resample: float64 [resamples]; nan if the drawn models have the
        same true accuracy, or if no example of the population was drawn.
    """
    # A pair of models that are drawn v_i and v_j times has the weight v_i * v_j; pairs of equal true accuracies do not
    # count. If models have similar true accuracies, a ranking accuracy may lie at an end of its interval, or outside.
    #
    # The test is conservative: in 200 simulations of 4, 6 and 10 models and 100 of 1,000 examples, it preferred one of
    # two equally good rankers (p < 0.05) in 0 to 5 %; with fixed true accuracies, in 3 to 9 %. The interaction of
    # examples and models counts about three times (Owen 2007, "The pigeonhole bootstrap", section 3). If the population
    # holds nearly all examples, the ranker ACC nearly is the true accuracy.
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
            scores = sample_means(stacked, again[drawn_positions(choices, len(again))])
            accuracies[r] = pairwise(scores, pairs) @ weight / weight.sum()
    return dict(zip(values, accuracies.T, strict=True))


class Test(NamedTuple):
    """Two tests whether a factor ranks models better than ACC, by the paper's bootstrap and by Heedful's.

    A factor scores models by their attributions, ACC by their accuracy on a few examples. The ranking accuracy is the
    share of pairs of models in the right order. The difference is the ranking accuracy of the factor minus the ranking
    accuracy of ACC.

    Attributes:
        by_samples: The difference, with the interval of the paper's bootstrap over samples.
        p_samples: p value of the paper's bootstrap.
        by_models: The difference, with the interval of Heedful's bootstrap over examples and models.
        p: p value of Heedful's bootstrap; None if the models have fewer than :data:`FEWEST` different accuracies.
        p_holm: ``p``, adjusted for the number of factors by :func:`holm`.
    """

    by_samples: Measurement
    p_samples: float
    by_models: Measurement
    p: float | None
    p_holm: float | None

    def is_better(self, p: float | None) -> bool:
        """Whether the factor ranks models better than ACC does, with the given p value (None if unknown) below 0.05."""
        return self.by_models.value is not None and self.by_models.value > 0 and p is not None and p < 0.05


@dataclass(frozen=True)
class Ranked:
    """How well several rankers put the same models in order, each from the same samples of n examples.

    A ranker scores each model in a sample, higher for a better model. The ranker "acc" scores by the accuracy on the
    sample, "random" by a random number. A factor is a ranker that scores by a number computed from attributions
    (contributions of words), averaged over the sample. The true order of the models is the order of their accuracies
    on all examples. The ranking accuracy is the share of pairs of models that a ranker puts in the true order, as a
    mean over samples.

    Attributes:
        n: Number of examples per sample.
        rankings: Maps each ranker to the comparison of its scores with the true order.
        few_shot: Maps each ranker to its ranking accuracy; with an interval over examples and models, except "random".
        tests: Maps each tested ranker, a factor, to the test whether its ranking accuracy is above that of "acc".
    """

    n: int
    rankings: Mapping[str, Ranking]
    few_shot: Mapping[str, Measurement]
    tests: Mapping[str, Test]


def ranked(
    values: Mapping[str, np.ndarray],
    factors: Collection[str],
    correct: np.ndarray,
    population: np.ndarray,
    clusters: np.ndarray,
    n: int,
    samples: int,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Ranked:
    """Measure how well rankers order models, and test whether the rankers in ``factors`` do better than ACC.

    The true order of the models is the order of their accuracies on all examples. A ranker sees only samples of n
    examples, drawn with replacement from the population. The score of a model is the mean of its ``values`` over a
    sample; the ranker :data:`ACC` has the accuracy on the sample as score. The ranking accuracy is the share of pairs
    of models that the scores put in the true order, as a mean over samples. All rankers see the same samples. A further
    ranker of the result is :data:`RANDOM`, whose scores are random numbers.

    Args:
        values: Maps each ranker, :data:`ACC` among them, to the value that it gives each model on each example of the
            population, higher for a better model and nan if undefined: float64 [models, population].
        factors: Names of the rankers to test against ACC.
        correct: Scores of predictions, whose means over examples are not all equal: float64 [models, examples].
        population: Indices, among all examples, of the examples that samples are drawn from: int64 [population].
        clusters: Cluster per example: int [examples].
        n: Number of examples per sample.
        samples: Number of samples (B).
        seed: Seed of the samples and resamples.
        resamples: Number of resamples of examples and models.
    """
    choices, truth = uniforms(n, samples, seed), correct.mean(axis=1)
    scores = sample_means(np.stack(list(values.values())), drawn_positions(choices, len(population)))
    of_rankers = dict(zip(values, scores, strict=True)) | {RANDOM: random_scores(len(truth), samples, seed)}
    rankings = {name: Ranking.of(each, truth) for name, each in of_rankers.items()}
    again = over_examples_and_models(values, correct, population, choices, clusters, (seed, n), resamples)
    flags = few_clusters_flag(clusters[population])
    few_shot = {
        name: measured(ranking.few_shot, samples, again[name], flags)
        if name in again
        else Measurement(ranking.few_shot, samples)
        for name, ranking in rankings.items()
    }
    tests: dict[str, Test] = {}
    for name in (name for name in values if name in factors):
        by_samples, p_samples = over_samples(rankings[name].success, rankings[ACC].success, (seed, name))
        assert by_samples.value is not None, "it is a mean over samples, and there are some"
        less = again[name] - again[ACC]
        by_models = measured(by_samples.value, by_samples.n, less)
        p = two_sided(less) if len(np.unique(truth)) >= FEWEST else None
        tests[name] = Test(by_samples, p_samples, by_models, p, None)
    p_values = [test.p for test in tests.values() if test.p is not None]
    for name, adjusted in zip(tests if p_values else (), holm(p_values), strict=True):
        tests[name] = tests[name]._replace(p_holm=adjusted)
    return Ranked(n, rankings, few_shot, tests)
