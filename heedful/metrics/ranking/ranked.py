"""All rankers on one population of examples: their rankings, intervals and tests."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heedful.metrics.ranking.baselines import ACC, RANDOM, random_scores
from heedful.metrics.ranking.protocol import Ranking, drawn, sample_means, uniforms
from heedful.metrics.ranking.significance import RESAMPLES, holm, over_examples_and_models, over_samples, two_sided
from heedful.metrics.statistics.bootstrap import few_of, measured
from heedful.records import Measurement

# Different accuracies that Heedful's own test needs: under the null it fired in up to 7 % of 200 simulations of 3
# models, and in 44 % of 2.
FEWEST = 4


class Test(NamedTuple):
    """The few-shot accuracy of a factor less that of ACC.

    Attributes:
        by_samples: The difference, with the interval of the paper's bootstrap, which takes samples as data.
        p_samples: Its p value.
        own: The difference, with the interval of Heedful's own test, which resamples examples and models.
        p: Its p value; None where fewer than :data:`FEWEST` accuracies differ.
        p_holm: The same, corrected for the number of factors that are tried on the same samples (:func:`.holm`).
    """

    by_samples: Measurement
    p_samples: float
    own: Measurement
    p: float | None
    p_holm: float | None

    @property
    def is_better_by_samples(self) -> bool:
        """Whether it beats ACC by the paper's test, at 5 %."""
        return self.own.value is not None and self.own.value > 0 and self.p_samples < 0.05

    @property
    def is_better(self) -> bool:
        """Whether it beats ACC by Heedful's own test with Holm's correction, at 5 %."""
        return self.own.value is not None and self.own.value > 0 and self.p_holm is not None and self.p_holm < 0.05


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
            should be better, nan where it is not defined. The ranker named :data:`.baselines.ACC` is among them.
        factors: The rankers that are tested against ACC.
        correct: What each answer is worth, float64 [models, examples]; the truth is its mean, not the same for all.
        population: Which of the examples these are, int64 [population].
        clusters: The cluster of each example, int [examples].
        n: Examples of a sample.
        samples: How many samples (B).
        seed: Keys the samples and the resamples.
        resamples: How many of both examples and models.
    """
    choices = uniforms(n, samples, seed)
    truth = correct.mean(axis=1)
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
    tests = _tests(rankings, again, [name for name in values if name in factors], seed)
    return Ranked(n, rankings, few_shot, tests if len(np.unique(truth)) >= FEWEST else _without_p(tests))


def _tests(
    rankings: Mapping[str, Ranking], again: Mapping[str, np.ndarray], factors: Collection[str], seed: int
) -> dict[str, Test]:
    acc = rankings[ACC]
    tests = []
    p_values = []
    for name in factors:
        by_samples, p_samples = over_samples(rankings[name].success, acc.success, (seed, name))
        less = again[name] - again[ACC]
        assert by_samples.value is not None, "it is a mean over samples, and there are some"
        own = measured(by_samples.value, by_samples.n, less)
        p = two_sided(less)
        p_values.append(p)
        tests.append(Test(by_samples, p_samples, own, p, 1.0))
    adjusted = holm(p_values)
    return {name: test._replace(p_holm=p) for name, test, p in zip(factors, tests, adjusted, strict=True)}


def _without_p(tests: Mapping[str, Test]) -> dict[str, Test]:
    return {name: test._replace(p=None, p_holm=None) for name, test in tests.items()}
