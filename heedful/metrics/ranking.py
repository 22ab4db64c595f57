"""Do a few examples order models as their accuracy on all examples does?

Source: "Assessing Out-of-Domain Language Model Performance from Few Examples" (Singhal et al. 2023), sections 3 and
4.3, and appendix B. Samples of n examples are drawn with replacement from a population that all models were given; the
mean of a number over a sample scores each model; the order of the scores is compared with the order of the accuracies.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from heedful.metrics.statistics.bootstrap import Key, few_of, interval, measured, resample
from heedful.records import Measurement, generator

ACC, CONF, CONF_GT, REVERSED, RANDOM = "acc", "conf", "conf_gt", "conf_gt reversed", "random"
RESAMPLES = 2_000  # of examples and models; each holds a ranking of all samples
# Different accuracies that Heedful's own test needs: under the null it fired in up to 7 % of 200 simulations of 3
# models, and in 44 % of 2.
FEWEST = 4


def uniforms(n: int, samples: int, seed: int) -> np.ndarray:
    """Random numbers that choose the examples per sample, the same for all models: float64 [samples, n] in [0, 1)."""
    return generator("few-shot samples", seed, n).random((samples, n))


def drawn(choices: np.ndarray, population: int) -> np.ndarray:
    """The examples that uniform numbers [samples, n] choose with replacement: int64 [samples, n].

    Example:
        >>> drawn(np.array([[0.0, 0.5, 0.99]]), 4).tolist()
        [[0, 2, 3]]
    """
    return (choices * population).astype(np.int64)


def sample_means(values: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """The mean over each sample: float64 [..., samples]; nan where no example of the sample has a value.

    Equal values give equal means, to the bit, so that ties are ties.

    Args:
        values: float64 [..., population]; nan where it is not defined.
        samples: int64 [samples, n].
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
    for k in range(samples.shape[1]):  # in one order for all, unlike a matrix product
        total += columns[samples[:, k]]
    return total


def ordered_pairs(truth: Sequence[float] | np.ndarray) -> np.ndarray:
    """The pairs of models whose truth differs, the better one first: int64 [pairs, 2], by the numbers of both.

    Example:
        >>> ordered_pairs([0.5, 0.7, 0.5]).tolist()
        [[1, 0], [1, 2]]
    """
    pairs = [
        (i, j) if truth[i] > truth[j] else (j, i) for i, j in combinations(range(len(truth)), 2) if truth[i] != truth[j]
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def successes(scores: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Whether scores put the better model first: 1, 0, or one half for a tie; float64 [..., pairs, samples].

    Args:
        scores: float64 [..., models, samples], higher for a model that should be better; nan ties with everything.
        pairs: int64 [pairs, 2], the better one first.
    """
    better, worse = scores[..., pairs[:, 0], :], scores[..., pairs[:, 1], :]
    return 0.5 + 0.5 * (better > worse) - 0.5 * (better < worse)


def pairwise(scores: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """The mean of :func:`successes` over samples, float64 [..., pairs], at a tenth of the cost."""
    better, worse = scores[..., pairs[:, 0], :], scores[..., pairs[:, 1], :]
    less = (better > worse).view(np.int8) - (better < worse).view(np.int8)
    samples = scores.shape[-1]
    return 0.5 + (less.astype(np.float32) @ np.ones(samples, dtype=np.float32)) / (2.0 * samples)  # exact


def kendall(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Kendall's tau-b of scores [models, samples] and truth [models] in each sample: float64 [samples]; 0 of ties."""
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
    """How well scores order models.

    Attributes:
        pairs: int64 [pairs, 2], the better model first; pairs of equal truth are left out.
        success: float64 [pairs, samples], as of :func:`successes`.
        tau: Kendall's tau, mean over samples.
        regret: The mean over samples, in the unit of the truth.
    """

    pairs: np.ndarray
    success: np.ndarray
    tau: float
    regret: float

    @classmethod
    def of(cls, scores: np.ndarray, truth: np.ndarray) -> "Ranking":
        """Rank models by scores [models, samples] against their truth [models]."""
        pairs = ordered_pairs(truth)
        tau, loss = kendall(scores, truth).mean(), regret(scores, truth).mean()
        return cls(pairs, successes(scores, pairs), float(tau), float(loss))

    @property
    def pairwise(self) -> np.ndarray:
        """The share of samples that order each pair rightly: float64 [pairs]."""
        return self.success.mean(axis=1)

    @property
    def few_shot(self) -> float:
        """Few-shot accuracy: the mean of :attr:`pairwise`."""
        return float(self.pairwise.mean())

    @property
    def ties(self) -> float:
        """The share of pairs and samples that tie."""
        return float((self.success == 0.5).mean())


def baselines(p: np.ndarray, y: np.ndarray, gold: np.ndarray) -> dict[str, np.ndarray]:
    """ACC, CONF and CONF-GT of one model for each example: float64 [examples] each; higher should be better.

    "conf_gt reversed" is minus CONF-GT: the numbers that the paper prints for CONF-GT look like those.

    Args:
        p: Probabilities of the labels, float [examples, labels]; without labels there is ACC alone.
        y: The predictions by the numbers of the labels, int [examples]; -1 for an answer that is not a label.
        gold: The gold labels, int [examples].
    """
    acc = {ACC: (y == gold).astype(np.float64)}
    if not p.shape[1]:
        return acc
    of_y, of_gold = (np.where(index < 0, np.nan, p.astype(np.float64)[np.arange(len(p)), index]) for index in (y, gold))
    return acc | {CONF: of_y, CONF_GT: of_gold, REVERSED: -of_gold}


def random_scores(models: int, samples: int, seed: int) -> np.ndarray:
    """RANDOM: a score that says nothing, drawn anew in each sample: float64 [models, samples]."""
    return generator("random ranker", seed).random((models, samples))


def guess(suites: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """GUESS: one model is taken for the best everywhere, and all other pairs are guessed.

    Args:
        suites: Model to its truth, per suite. Suites without the candidate are guessed.

    Returns:
        Each model to its few-shot accuracy, the mean over suites; pairs of equal truth are left out. The paper's 72.0
        is the few-shot accuracy of the best candidate.

    Example:
        >>> guess([{"a": 0.9, "b": 0.8, "c": 0.7}])
        {'a': 0.8333333333333334, 'b': 0.5, 'c': 0.16666666666666666}
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
        correct: What each answer of the model is worth, float64 [examples].
        baseline: The same of the other.
        clusters: Cluster per example, int [examples], numbered from 0.
    """
    less = np.asarray(correct, dtype=np.float64) - baseline
    of_clusters = np.bincount(clusters, less - less.mean())
    return float(less.mean()), float(np.sqrt((of_clusters**2).sum()) / len(less))


def holm(p: Sequence[float]) -> list[float]:
    """Adjusted p values of a family: all factors tried on one set, with one method and one size (Holm 1979).

    Example:
        >>> [round(x, 2) for x in holm([0.04, 0.01, 0.03])]
        [0.06, 0.03, 0.06]
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate([min(1.0, (len(p) - rank) * p[k]) for rank, k in enumerate(order)])
    return [float(value) for value in adjusted]


def two_sided(resampled: np.ndarray) -> float:
    """p value of a difference being 0, from its resamples [resamples]: it is below 0.05 where 0 is outside of 95 %.

    Twice the smaller share of resamples on either side of 0, the difference itself counted with them.
    """
    values = resampled[~np.isnan(resampled)]
    share_below = (1 + (values <= 0).sum()) / (1 + len(values))
    share_above = (1 + (values >= 0).sum()) / (1 + len(values))
    return float(min(1.0, 2 * min(share_below, share_above)))


def over_samples(success: np.ndarray, baseline: np.ndarray, key: Key) -> tuple[Measurement, float]:
    """The paper's paired bootstrap: the difference of few-shot accuracies of two rankers, over samples.

    It takes the samples as data, which they are not: with more samples any difference becomes significant.

    Args:
        success: float64 [pairs, samples], of the ranker.
        baseline: The same of the other, on the same samples.
        key: Keys the random numbers.

    Returns:
        The difference with its 95 % interval, and its p value, two-sided.
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
    """Few-shot accuracy where both all examples and the models are resampled, for Heedful's own test.

    A resample draws as many clusters of examples as there are, with replacement, and as many models. The population is
    what is drawn of it, and the truth is the accuracy on all drawn examples. Model i comes v_i times, and a pair of two
    different models weighs v_i v_j; a pair of equal truth does not count. All rankers see the same draws.

    The test is conservative. Of two rankers that are equally good it called one better, at p < 0.05, in 0 to 5 % of 200
    simulations of 4, 6 and 10 models and 100 of 1,000 examples; with the truth held fixed, in 3 to 9 %. What is due to
    an example and a model together counts about three times (Owen 2007, "The pigeonhole bootstrap", section 3). It does
    not hold for fewer models (:data:`FEWEST`), nor where nearly all examples are explained: then ACC sees the very
    errors that make the truth. Where models are near, the number itself may lie at an end of its interval, or outside.

    Args:
        values: Ranker to its value for each model and example of the population, float64 [models, population]; higher
            is better.
        correct: What each answer is worth, float64 [models, examples].
        population: Which of the examples these are, int64 [population].
        choices: float64 [samples, n], which choose the samples (:func:`uniforms`).
        clusters: Cluster per example, int [examples].
        key: Keys the random numbers.
        resamples: How many.

    Returns:
        Ranker to float64 [resamples]; nan where all models that were drawn are the same one, or have the same truth,
        or if no example of the population was drawn.
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
        p_samples: Its p value.
        own: The difference, with the interval of Heedful's own test, which resamples examples and models.
        p: Its p value; None where fewer than :data:`FEWEST` accuracies differ.
        p_holm: The same, corrected for the number of factors that are tried on the same samples (:func:`holm`).
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
        n: Examples of a sample.
        rankings: Ranker to its ranking.
        few_shot: Ranker to its few-shot accuracy with a 95 % interval by examples and models; RANDOM has none.
        tests: Factor to its tests against ACC.
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
        values: Ranker to its value for each model and example, float64 [models, population]; higher for a model that
            should be better, nan where it is not defined. The ranker named :data:`ACC` is among them.
        factors: The rankers that are tested against ACC.
        correct: What each answer is worth, float64 [models, examples]; the truth is its mean, not the same for all.
        population: Which of the examples these are, int64 [population].
        clusters: Cluster per example, int [examples].
        n: Examples of a sample.
        samples: How many samples (B).
        seed: Keys the samples and the resamples.
        resamples: How many of both examples and models.
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
