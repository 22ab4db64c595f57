"""Rank models by a few examples, and compare the ranking with their accuracies on all examples.

Source: "Assessing Out-of-Domain Language Model Performance from Few Examples" (Singhal et al. 2023), sections 3 and
4.3, and appendix B. A ranker, such as ACC (accuracy) or a factor (a statistic of attributions), gives each model a
value on each example, higher for a better model. A sample is n examples, drawn with replacement from a population of
examples; samples are the same for all models and rankers. The score of a model is the mean of its values over a sample;
the truth is its accuracy on all examples. The ranking accuracy of a ranker ("few-shot accuracy") is the share of pairs
of models with different truths that the scores put in the true order, as a mean over samples; a tie counts 1/2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heedful.metrics.attributions.attribution import Attribution
from heedful.metrics.attributions.factors import Factor, has_swapped_words
from heedful.metrics.statistics.bootstrap import Key, few_clusters_flag, interval, measured, resample
from heedful.records import Measurement, generator
from heedful.records.rows import probabilities, strings

ACC, CONF, CONF_GT, REVERSED, RANDOM = "acc", "conf", "conf_gt", "conf_gt reversed", "random"
BASELINES = (ACC, CONF, CONF_GT, REVERSED, RANDOM)
SWAPS = ("swap_avg", "swap_max_diff")  # factors of words that occur in both parts
RESAMPLES = 2_000  # resamples of examples and models
FEWEST = 4  # different accuracies for Heedful's test; with 3, up to 7 % of 200 simulations had a false alarm


def uniforms(n: int, samples: int, seed: int) -> np.ndarray:
    """Draw random numbers in [0, 1) for :func:`drawn_positions`, one per example of a sample: float64 [samples, n]."""
    return generator("few-shot samples", seed, n).random((samples, n))


def drawn_positions(choices: np.ndarray, population: int) -> np.ndarray:
    """Convert :func:`uniforms`, [samples, n], to positions in a population of this size: int64 [samples, n]."""
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


def ordered_pairs(truth: np.ndarray) -> np.ndarray:
    """Return pairs of positions of models with different truths, [models], the better one first: int64 [pairs, 2]."""
    pairs = np.column_stack(np.triu_indices(len(truth), 1))
    pairs = pairs[truth[pairs[:, 0]] != truth[pairs[:, 1]]]
    return np.where(truth[pairs[:, :1]] > truth[pairs[:, 1:]], pairs, pairs[:, ::-1])


def successes(scores: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Whether the better model of a pair has the higher score: 1, 0, or 0.5 for a tie; float64 [..., pairs, samples].

    Args:
        scores: Score per model: [..., models, samples]; nan ties with any score.
        pairs: Pairs of :func:`ordered_pairs`.
    """
    better, worse = scores[..., pairs[:, 0], :], scores[..., pairs[:, 1], :]
    return 0.5 + 0.5 * (better > worse) - 0.5 * (better < worse)


def _pairwise(scores: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the mean of :func:`successes` over samples, with less memory: float32 [..., pairs]."""
    better, worse = scores[..., pairs[:, 0], :], scores[..., pairs[:, 1], :]
    less = (better > worse).view(np.int8) - (better < worse).view(np.int8)
    samples = scores.shape[-1]
    return 0.5 + (less.astype(np.float32) @ np.ones(samples, dtype=np.float32)) / (2.0 * samples)  # exact in float32


def kendall(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return Kendall's tau-b of scores, [models, samples], and truths, [models]: float64 [samples]; 0 if all tie."""
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


class Ranking(NamedTuple):
    """How well the scores of a ranker put models in their true order."""

    pairs: np.ndarray  # of ordered_pairs: int64 [pairs, 2]
    success: np.ndarray  # of successes: float64 [pairs, samples]
    tau: float  # mean of kendall over samples
    regret: float  # mean over samples

    @classmethod
    def of(cls, scores: np.ndarray, truth: np.ndarray) -> "Ranking":
        """Compare scores, [models, samples], with truths, [models]."""
        pairs = ordered_pairs(truth)
        tau, loss = kendall(scores, truth).mean(), regret(scores, truth).mean()
        return cls(pairs, successes(scores, pairs), float(tau), float(loss))

    @property
    def pairwise(self) -> np.ndarray:
        """Share of samples that put each pair in the true order; ties count 1/2: float64 [pairs]."""
        return self.success.mean(axis=1)

    @property
    def few_shot(self) -> float:
        """The ranking accuracy."""
        return float(self.pairwise.mean())

    @property
    def ties(self) -> float:
        """Share of pairs and samples in which both models have the same score."""
        return float((self.success == 0.5).mean())


@dataclass(frozen=True)
class Population:
    """The examples that one attribution method explains (the population), with the values of all rankers.

    Attributes:
        values: Values by ranker, :data:`ACC` among them, nan if undefined: float64 [models, population]. Factors, which
            are lower for better models, are negated.
        undefined: For each factor in ``values``, the number of examples on which it is undefined for some model.
        left_out: The reason why a factor is omitted, by factor; Holm's correction does not count omitted factors.
        without_swap: Number of examples without swapped words (words that the parts have in different orders), on which
            the factors :data:`SWAPS` are 0.
        places: Indices of the population among all examples: int64 [population].
    """

    values: Mapping[str, np.ndarray]
    undefined: Mapping[str, int]
    left_out: Mapping[str, str]
    without_swap: int
    places: np.ndarray


def population_of(
    bases: Sequence[pa.Table],
    labels: Sequence[Sequence[str]],
    explained: Sequence[Sequence[Attribution]],
    factors: Mapping[str, Factor],
) -> Population:
    """Compute the values of baselines and factors; a baseline is omitted if a model lacks it.

    A factor is omitted if it is undefined for all examples, if it equals an earlier factor, or if it is about swapped
    words and no example has such words.

    Args:
        bases: Rows of unchanged examples per model, the same examples in the same order.
        labels: Labels per model, in the order of its probabilities.
        explained: Attributions per model, for the same examples.
        factors: Factors by name.
    """
    position = {uid: k for k, uid in enumerate(bases[0]["uid"].to_pylist())}
    places = np.array([position[attribution.uid] for attribution in explained[0]])
    by_model = [baselines(base.take(pa.array(places)), names) for base, names in zip(bases, labels, strict=True)]
    shared = [name for name in by_model[0] if all(name in values for values in by_model)]
    values = {name: np.stack([of_model[name] for of_model in by_model]) for name in shared}
    has_swap = [has_swapped_words(attribution) for attribution in explained[0]]
    undefined: dict[str, int] = {}
    left_out: dict[str, str] = {}
    for name, factor in factors.items():
        column = -np.array([[factor(each) for each in examples] for examples in explained], dtype=np.float64)
        twins = (earlier for earlier in undefined if np.array_equal(values[earlier], column, equal_nan=True))
        is_undefined = np.isnan(column).any(axis=0)  # None became nan
        if is_undefined.all():
            left_out[name] = "not defined for any example"
        elif name in SWAPS and not any(has_swap):
            left_out[name] = "0 for all examples, and none has swapped words"
        elif twin := next(twins, None):
            left_out[name] = f"the same as {twin}"
        else:
            undefined[name], values[name] = int(is_undefined.sum()), column
    return Population(values, undefined, left_out, has_swap.count(False), places)


def baselines(base: pa.Table, labels: Sequence[str]) -> dict[str, np.ndarray]:
    """Map each baseline ranker to its values of one model: float64 [examples].

    ACC is whether the prediction is gold, CONF the probability of the prediction (nan for a missing answer), CONF_GT
    the probability of the gold label, and REVERSED minus CONF_GT, which resembles the results of CONF-GT in the paper.

    Args:
        base: Rows of unchanged examples; without probabilities, only ACC is computed.
        labels: Labels in the order of the probabilities.
    """
    y, gold = strings(base, "y"), strings(base, "gold")
    acc = {ACC: (y == gold).astype(np.float64)}
    if not labels or base["p"].null_count:
        return acc
    column = {label: k for k, label in enumerate(labels)}
    p = np.column_stack([probabilities(base, "p").astype(np.float64), np.full(len(y), np.nan)])  # the last for no label
    of_y, of_gold = (p[np.arange(len(p)), [column.get(text, -1) for text in texts]] for texts in (y, gold))
    return acc | {CONF: of_y, CONF_GT: of_gold, REVERSED: -of_gold}


def guessed_scores(suites: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Compute the ranking accuracy of GUESS, which ranks one model first in every suite, and the others at random.

    ``suites`` holds the truths by model for each data set. The result maps each model to the expected accuracy of the
    ranking with this model first, as a mean over suites. The paper reports 72.0 for the best choice.
    """

    def of_suite(first: str, suite: Mapping[str, float]) -> float:
        scores = np.array([[name == first] for name in suite])
        return successes(scores, ordered_pairs(np.array(list(suite.values())))).mean()

    names = dict.fromkeys(name for suite in suites for name in suite)
    return {name: float(np.mean([of_suite(name, suite) for suite in suites])) for name in names}


def gap(correct: np.ndarray, baseline: np.ndarray, clusters: np.ndarray) -> tuple[float, float]:
    """Return the difference of two accuracies, first minus second, and its standard error over clusters.

    Both models have a score for each example: float64 [examples]. Clusters are numbers from 0: int [examples].
    """
    less = np.asarray(correct, dtype=np.float64) - baseline
    of_clusters = np.bincount(clusters, less - less.mean())
    return float(less.mean()), float(np.sqrt((of_clusters**2).sum()) / len(less))


def near_pairs(correct: np.ndarray, clusters: np.ndarray) -> set[tuple[int, int]]:
    """Return pairs of models, the better one first, whose accuracies differ by less than two standard errors.

    ``correct`` holds the scores of predictions: float64 [models, examples]; ``clusters`` is as in :func:`gap`.
    """
    pairs = [(int(better), int(worse)) for better, worse in ordered_pairs(correct.mean(axis=1))]
    gaps = {(better, worse): gap(correct[better], correct[worse], clusters) for better, worse in pairs}
    return {pair for pair, (value, error) in gaps.items() if value < 2 * error}


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p values for the number of tests by the method of Holm (1979).

    Example:
        >>> [round(x, 2) for x in holm([0.04, 0.01, 0.03])]
        [0.06, 0.03, 0.06]
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate([min(1.0, (len(p) - rank) * p[k]) for rank, k in enumerate(order)])
    return adjusted.tolist()


def two_sided(resampled: np.ndarray) -> float:
    """Return the two-sided p value of a difference from its resamples, float64 [resamples], of which nan do not count.

    It is twice the smaller of two shares, of differences of at most 0 and of at least 0, but at most 1. Each share is
    (1 + count) / (1 + resamples), so that the p value is never 0.
    """
    values = resampled[~np.isnan(resampled)]
    counts = (values <= 0).sum(), (values >= 0).sum()
    return float(min(1.0, 2 * ((1 + min(counts)) / (1 + len(values)))))


def over_samples(success: np.ndarray, baseline: np.ndarray, key: Key) -> tuple[Measurement, float]:
    """Return a ranking accuracy minus another, with its 95 % interval and two-sided p value by the paper's bootstrap.

    The bootstrap treats each sample as an observation, although samples are drawn from the same examples: with enough
    samples, any difference becomes significant.

    Args:
        success: Values of :func:`successes` for the first ranker: float64 [pairs, samples].
        baseline: The same for the second ranker, on the same samples.
        key: Seed and purpose, which determine the random numbers.
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

    Each resample draws clusters of examples and models with replacement, as many as there are. Truths are computed on
    the drawn examples; samples are drawn from those drawn examples that are in the population. All rankers share the
    resamples. A test with them is not valid for fewer than :data:`FEWEST` different truths, nor if the population holds
    nearly all examples.

    Args:
        values: Values by ranker; nan if undefined: float64 [models, population].
        correct: As in :func:`ranked`, like ``clusters`` and ``resamples``.
        population: Indices, among all examples, of the population: int64 [population].
        choices: Random numbers of :func:`uniforms`: float64 [samples, n].
        key: Seed and purpose, which determine the random numbers.

    Returns:
        Ranking accuracies by ranker: float64 [resamples]; nan if the drawn models have the same truth, or if no example
        of the population was drawn.
    """
    # A pair of models that are drawn v_i and v_j times has the weight v_i * v_j; pairs of equal truths do not count. If
    # models have similar truths, a ranking accuracy may lie at an end of its interval, or outside.
    # The test is conservative: in 200 simulations of 4, 6 and 10 models and 100 of 1,000 examples, it preferred one of
    # two equally good rankers (p < 0.05) in 0 to 5 %; with fixed truths, in 3 to 9 %. The interaction of examples and
    # models counts about three times (Owen 2007, "The pigeonhole bootstrap", section 3). If the population holds nearly
    # all examples, the ranker ACC nearly is the truth.
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
        weight = of_models[pairs].prod(axis=1)
        again = np.repeat(np.arange(len(population)), times[population])
        if weight.sum() and len(again):
            scores = sample_means(stacked, again[drawn_positions(choices, len(again))])
            accuracies[r] = _pairwise(scores, pairs) @ weight / weight.sum()
    return dict(zip(values, accuracies.T, strict=True))


class Test(NamedTuple):
    """Two tests of the ranking accuracy of a factor minus that of ACC: the paper's, and Heedful's."""

    by_samples: Measurement  # the difference, with the interval of over_samples
    p_samples: float  # of over_samples
    by_models: Measurement  # the difference, with the interval of over_examples_and_models
    p: float | None  # of these resamples; None for fewer than FEWEST different truths
    p_holm: float | None  # adjusted for the number of factors

    def is_better(self, p: float | None) -> bool:
        """Whether the factor ranks models better than ACC does, with the given p value (None if unknown) below 0.05."""
        return self.by_models.value is not None and self.by_models.value > 0 and p is not None and p < 0.05


class Ranked(NamedTuple):
    """How well several rankers put the same models in order."""

    n: int  # examples per sample
    rankings: Mapping[str, Ranking]  # by ranker
    few_shot: Mapping[str, Measurement]  # ranking accuracies; of RANDOM without an interval over examples and models
    tests: Mapping[str, Test]  # by factor


def ranked(
    population: Population,
    correct: np.ndarray,
    clusters: np.ndarray,
    n: int,
    samples: int,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Ranked:
    """Measure how well rankers order models, and test whether factors do better than ACC.

    A further ranker of the result is :data:`RANDOM`, whose scores are random numbers.

    Args:
        population: The explained examples, with the values of the rankers.
        correct: Scores of predictions, whose means over examples are not all equal: float64 [models, examples].
        clusters: Cluster (group of dependent examples) per example: int [examples].
        n: Number of examples per sample.
        samples: Number of samples (B).
        seed: Seed of the samples and resamples.
        resamples: Number of resamples of examples and models.
    """
    values, places = population.values, population.places
    choices, truth = uniforms(n, samples, seed), correct.mean(axis=1)
    means = sample_means(np.stack(list(values.values())), drawn_positions(choices, len(places)))
    scores = dict(zip(values, means, strict=True))
    scores[RANDOM] = generator("random ranker", seed).random((len(truth), samples))
    rankings = {name: Ranking.of(each, truth) for name, each in scores.items()}
    again = over_examples_and_models(values, correct, places, choices, clusters, (seed, n), resamples)
    flags = few_clusters_flag(clusters[places])
    few_shot = {name: measured(rankings[name].few_shot, samples, again[name], flags) for name in values}
    few_shot[RANDOM] = Measurement(rankings[RANDOM].few_shot, samples)
    less = {name: again[name] - again[ACC] for name in population.undefined}
    is_tested = len(np.unique(truth)) >= FEWEST
    p = {name: two_sided(resampled) for name, resampled in less.items() if is_tested}
    p_holm = dict(zip(p, holm(list(p.values())), strict=True))
    tests: dict[str, Test] = {}
    for name, resampled in less.items():
        by_samples, p_samples = over_samples(rankings[name].success, rankings[ACC].success, (seed, name))
        assert by_samples.value is not None, "it is a mean over samples, and there are some"
        by_models = measured(by_samples.value, by_samples.n, resampled)
        tests[name] = Test(by_samples, p_samples, by_models, p.get(name), p_holm.get(name))
    return Ranked(n, rankings, few_shot, tests)
