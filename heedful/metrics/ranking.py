"""Rank models by a few examples, and compare the ranking with their accuracies on all examples.

Source: "Assessing Out-of-Domain Language Model Performance from Few Examples" (Singhal et al. 2023), sections 3 and
4.3, and appendix B. Samples of n examples are drawn with replacement from a population, the same for all models; a
model's score is the mean of a number over a sample.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from heedful.metrics.statistics.bootstrap import Key, few_of, interval, measured, resample
from heedful.records import Measurement, generator

ACC, CONF, CONF_GT, REVERSED, RANDOM = "acc", "conf", "conf_gt", "conf_gt reversed", "random"
RESAMPLES = 2_000  # of examples and models; each resample ranks all samples
FEWEST = 4  # different accuracies for Heedful's test: with 3 it had up to 7 % false alarms in 200 simulations


def uniforms(n: int, samples: int, seed: int) -> np.ndarray:
    """Random numbers that select the examples of each sample, the same for all models: float64 [samples, n] in [0,
    1)."""
    return generator("few-shot samples", seed, n).random((samples, n))


def drawn(choices: np.ndarray, population: int) -> np.ndarray:
    """Draw examples of a population with replacement by uniform numbers [samples, n]: int64 [samples, n]."""
    return (choices * population).astype(np.int64)


def sample_means(values: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """The mean of values, float64 [..., population], over samples, int64 [samples, n]: float64 [..., samples].

    Undefined values and means without a value are nan. Equal values give bit-identical means, which are ties.
    """
    columns = np.ascontiguousarray(values.reshape(-1, values.shape[-1]).T)  # a row for each example: fast to gather
    sums = _sums(np.nan_to_num(columns), samples)
    if (missing := np.isnan(columns)).any():
        counts = _sums((~missing).astype(np.float64), samples)
        means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    else:
        means = sums / samples.shape[1]
    return np.ascontiguousarray(means.T).reshape(*values.shape[:-1], len(samples))


def _sums(columns: np.ndarray, samples: np.ndarray) -> np.ndarray:
    total = np.zeros((len(samples), columns.shape[1]))
    for k in range(samples.shape[1]):  # in a fixed order, unlike a matrix product
        total += columns[samples[:, k]]
    return total


def ordered_pairs(truth: Sequence[float] | np.ndarray) -> np.ndarray:
    """Pairs of models with different true accuracies, the better model first: int64 [pairs, 2]."""
    pairs = [
        (i, j) if truth[i] > truth[j] else (j, i) for i, j in combinations(range(len(truth)), 2) if truth[i] != truth[j]
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def successes(scores: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Whether scores rank the better model of a pair first: 1, 0, or 0.5 for a tie; float64 [..., pairs, samples].

    Args:
        scores: float64 [..., models, samples], higher for a better model; nan ties with all scores.
        pairs: Pairs of :func:`ordered_pairs`.
    """
    better, worse = scores[..., pairs[:, 0], :], scores[..., pairs[:, 1], :]
    return 0.5 + 0.5 * (better > worse) - 0.5 * (better < worse)


def pairwise(scores: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """The mean of :func:`successes` over samples, float64 [..., pairs], ten times as fast."""
    better, worse = scores[..., pairs[:, 0], :], scores[..., pairs[:, 1], :]
    less = (better > worse).view(np.int8) - (better < worse).view(np.int8)
    samples = scores.shape[-1]
    return 0.5 + (less.astype(np.float32) @ np.ones(samples, dtype=np.float32)) / (2.0 * samples)  # exact


def kendall(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Kendall's tau-b of scores [models, samples] and truth [models]: float64 [samples]; 0 if all tie."""
    first, second = np.triu_indices(len(truth), 1)
    with np.errstate(invalid="ignore"):
        by_score = np.nan_to_num(np.sign(scores[first] - scores[second]))
    by_truth = np.sign(truth[first] - truth[second])
    scale = np.sqrt((by_score != 0).sum(axis=0) * (by_truth != 0).sum())
    return np.divide(by_truth @ by_score, scale, out=np.zeros(scores.shape[1]), where=scale > 0)


def regret(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The truth of the best model minus the truth of the model with the highest score: float64 [samples].

    Ties for the highest score are averaged.
    """
    scores = np.where(np.isnan(scores), -np.inf, scores)
    is_chosen = scores == scores.max(axis=0)
    return truth.max() - (truth @ is_chosen) / is_chosen.sum(axis=0)


@dataclass(frozen=True)
class Ranking:
    """A ranking of models by scores, compared with their truth.

    Attributes:
        pairs: Pairs of :func:`ordered_pairs`.
        success: float64 [pairs, samples], from :func:`successes`.
        tau: Kendall's tau, mean over samples.
        regret: Mean of :func:`regret` over samples.
    """

    pairs: np.ndarray
    success: np.ndarray
    tau: float
    regret: float

    @classmethod
    def of(cls, scores: np.ndarray, truth: np.ndarray) -> "Ranking":
        """Compare scores [models, samples] with the truth [models]."""
        pairs = ordered_pairs(truth)
        tau, loss = kendall(scores, truth).mean(), regret(scores, truth).mean()
        return cls(pairs, successes(scores, pairs), float(tau), float(loss))

    @property
    def pairwise(self) -> np.ndarray:
        """Share of samples in the right order, per pair: float64 [pairs]."""
        return self.success.mean(axis=1)

    @property
    def few_shot(self) -> float:
        """Few-shot accuracy, the mean of :attr:`pairwise`."""
        return float(self.pairwise.mean())

    @property
    def ties(self) -> float:
        """Share of pairs and samples that tie."""
        return float((self.success == 0.5).mean())


def baselines(p: np.ndarray, y: np.ndarray, gold: np.ndarray) -> dict[str, np.ndarray]:
    """ACC, CONF and CONF-GT of a model: float64 [examples] each; higher should be better.

    "conf_gt reversed" is minus CONF-GT, which resembles the paper's numbers for CONF-GT.

    Args:
        p: Probabilities of the labels, float [examples, labels]; without labels there is ACC alone.
        y: Positions of the predicted labels, int [examples]; -1 for a missing answer.
        gold: Positions of the gold labels, int [examples].
    """
    acc = {ACC: (y == gold).astype(np.float64)}
    if not p.shape[1]:
        return acc
    of_y, of_gold = (np.where(index < 0, np.nan, p.astype(np.float64)[np.arange(len(p)), index]) for index in (y, gold))
    return acc | {CONF: of_y, CONF_GT: of_gold, REVERSED: -of_gold}


def random_scores(models: int, samples: int, seed: int) -> np.ndarray:
    """RANDOM: random scores, float64 [models, samples]."""
    return generator("random ranker", seed).random((models, samples))


def guess(suites: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """GUESS: one candidate is assumed to be the best model of every suite, and other pairs are guessed at random.

    Args:
        suites: True accuracy by model, for each suite.

    Returns:
        The few-shot accuracy of each candidate, averaged over suites; 72.0 in the paper is the value of the best
        candidate.
    """
    names = dict.fromkeys(name for suite in suites for name in suite)
    return {name: float(np.mean([_guessed(name, suite) for suite in suites])) for name in names}


def _guessed(candidate: str, suite: Mapping[str, float]) -> float:
    pairs = [pair for pair in combinations(suite, 2) if suite[pair[0]] != suite[pair[1]]]
    right = [float(max(pair, key=suite.__getitem__) == candidate) if candidate in pair else 0.5 for pair in pairs]
    return float(np.mean(right))


def gap(correct: np.ndarray, baseline: np.ndarray, clusters: np.ndarray) -> tuple[float, float]:
    """The difference of accuracies of two models on the same examples, and its standard error over clusters.

    Args:
        correct: Scores of the answers of the first model, float64 [examples].
        baseline: Scores of the answers of the second model, float64 [examples].
        clusters: Cluster per example, int [examples], numbered from 0.
    """
    less = np.asarray(correct, dtype=np.float64) - baseline
    of_clusters = np.bincount(clusters, less - less.mean())
    return float(less.mean()), float(np.sqrt((of_clusters**2).sum()) / len(less))


def holm(p: Sequence[float]) -> list[float]:
    """Adjust the p values (Holm 1979) of all factors that are tested on a set with one method and one sample size.

    Example:
        >>> [round(x, 2) for x in holm([0.04, 0.01, 0.03])]
        [0.06, 0.03, 0.06]
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate([min(1.0, (len(p) - rank) * p[k]) for rank, k in enumerate(order)])
    return [float(value) for value in adjusted]


def two_sided(resampled: np.ndarray) -> float:
    """Two-sided p value of a difference from its resamples: twice the smaller of the shares on both sides of 0.

    The difference itself is counted on both sides.
    """
    values = resampled[~np.isnan(resampled)]
    share_below = (1 + (values <= 0).sum()) / (1 + len(values))
    share_above = (1 + (values >= 0).sum()) / (1 + len(values))
    return float(min(1.0, 2 * min(share_below, share_above)))


def over_samples(success: np.ndarray, baseline: np.ndarray, key: Key) -> tuple[Measurement, float]:
    """The paper's paired bootstrap: the difference of few-shot accuracies of two rankers, over samples.

    It treats the samples as data, so that with enough samples any difference becomes significant.

    Args:
        success: float64 [pairs, samples], of the first ranker.
        baseline: float64 [pairs, samples], of the second ranker, on the same samples.
        key: Keys the random numbers.

    Returns:
        The difference with its 95 % interval, and its two-sided p value.
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
    """Few-shot accuracy of resampled examples and models, for Heedful's own test.

    A resample draws clusters of examples and models with replacement, as many as there are. The population of a
    resample consists of the drawn examples of the population, and the true accuracy is the accuracy on all drawn
    examples. A pair of models that are drawn v_i and v_j times has the weight v_i v_j; pairs of equal truth do not
    count. All rankers see the same draws.

    The test is conservative. It preferred one of two equally good rankers, at p < 0.05, in 0 to 5 % of 200 simulations
    of 4, 6 and 10 models and 100 of 1,000 examples; with fixed true accuracies, in 3 to 9 %. The variance of an example
    and a model together counts about three times (Owen 2007, "The pigeonhole bootstrap", section 3). The test is not
    valid for fewer models (:data:`FEWEST`), nor if nearly all examples are explained: then ACC is computed from nearly
    the same predictions as the true accuracy. If models are close, the number may lie at an end of its interval, or
    outside.

    Args:
        values: Maps rankers to values, float64 [models, population]; higher is better.
        correct: Scores of the answers, float64 [models, examples].
        population: Positions of the population among the examples, int64 [population].
        choices: Random numbers of :func:`uniforms`, float64 [samples, n].
        clusters: Cluster per example, int [examples].
        key: Keys the random numbers.
        resamples: Number of resamples.

    Returns:
        For each ranker, float64 [resamples]; nan if all drawn models are the same or have the same truth, or if no
        example of the population was drawn.
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


class Test(NamedTuple):
    """The few-shot accuracy of a factor minus the few-shot accuracy of ACC.

    Attributes:
        by_samples: The difference, with the interval of the paper's bootstrap, which takes samples as data.
        p_samples: p value of the paper's bootstrap.
        own: The difference, with the interval of Heedful's test, which resamples examples and models.
        p: p value of Heedful's test; None if fewer than :data:`FEWEST` accuracies differ.
        p_holm: ``p``, adjusted for the number of factors (:func:`holm`).
    """

    by_samples: Measurement
    p_samples: float
    own: Measurement
    p: float | None
    p_holm: float | None

    def is_better(self, p: float | None) -> bool:
        """Whether the factor beats ACC at 5 %, by one of the p values."""
        return self.own.value is not None and self.own.value > 0 and p is not None and p < 0.05


@dataclass(frozen=True)
class Ranked:
    """Models ranked by samples of n examples.

    Attributes:
        n: Examples per sample.
        rankings: Maps rankers to rankings.
        few_shot: Maps rankers to few-shot accuracy with a 95 % interval by examples and models; RANDOM has none.
        tests: Maps factors to tests against ACC.
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
    """Rank models by each ranker, and RANDOM, on the same samples.

    Args:
        values: Maps rankers to values, float64 [models, population]; higher for a better model, nan if undefined.
            :data:`ACC` is one of the rankers.
        factors: The rankers to test against ACC.
        correct: Scores of the answers, float64 [models, examples]; their means, not all equal, are the truth.
        population: Positions of the population among the examples, int64 [population].
        clusters: Cluster per example, int [examples].
        n: Examples per sample.
        samples: Number of samples (B).
        seed: Keys the samples and the resamples.
        resamples: Number of resamples of examples and models.
    """
    choices, truth = uniforms(n, samples, seed), correct.mean(axis=1)
    scores = sample_means(np.stack(list(values.values())), drawn(choices, len(population)))
    of_rankers = dict(zip(values, scores, strict=True)) | {RANDOM: random_scores(len(truth), samples, seed)}
    rankings = {name: Ranking.of(each, truth) for name, each in of_rankers.items()}
    again = over_examples_and_models(values, correct, population, choices, clusters, (seed, n), resamples)
    flags = few_of(clusters[population])
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
