"""How well a few examples order models: the protocol of sections 4.3 and appendix B of the paper.

Source: "Assessing Out-of-Domain Language Model Performance from Few Examples" (Singhal et al. 2023). Samples
of n examples are drawn with replacement from a population that all models were given; the mean of a number over a
sample scores each model; and the order of the scores is held against the order of the models' accuracy on all of the
data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from heedful.records import generator


def uniforms(n: int, samples: int, seed: int) -> np.ndarray:
    """What chooses the examples of each sample, the same for all models and rankers: float64 [samples, n] in [0, 1)."""
    return generator("few-shot samples", seed, n).random((samples, n))


def drawn(choices: np.ndarray, population: int) -> np.ndarray:
    """The examples that uniform numbers [samples, n] choose among so many, with replacement: int64 [samples, n].

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
    better = scores[..., pairs[:, 0], :]
    worse = scores[..., pairs[:, 1], :]
    return 0.5 + 0.5 * (better > worse) - 0.5 * (better < worse)


def pairwise(scores: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """The mean of :func:`successes` over samples, float64 [..., pairs], at a tenth of the cost."""
    better = scores[..., pairs[:, 0], :]
    worse = scores[..., pairs[:, 1], :]
    less = (better > worse).view(np.int8) - (better < worse).view(np.int8)
    samples = scores.shape[-1]
    return 0.5 + (less.astype(np.float32) @ np.ones(samples, dtype=np.float32)) / (2.0 * samples)  # exact


def kendall(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Kendall's tau-b of the scores of models and their truth in each sample: float64 [samples]; 0 where all tie.

    With ties that count one half, few-shot accuracy is (1 + tau-a) / 2; tau-b tells apart what ties from what is wrong.

    Args:
        scores: float64 [models, samples].
        truth: float64 [models].
    """
    first, second = np.triu_indices(len(truth), 1)
    with np.errstate(invalid="ignore"):
        by_score = np.nan_to_num(np.sign(scores[first] - scores[second]))
    by_truth = np.sign(truth[first] - truth[second])
    scale = np.sqrt((by_score != 0).sum(axis=0) * (by_truth != 0).sum())
    return np.divide(by_truth @ by_score, scale, out=np.zeros(scores.shape[1]), where=scale > 0)


def regret(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The truth of the best model less that of the one with the highest score, in each sample: float64 [samples].

    Of several with the highest score any may be chosen: it is the mean over these.

    Args:
        scores: float64 [models, samples].
        truth: float64 [models].
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
        tau = kendall(scores, truth).mean()
        loss = regret(scores, truth).mean()
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
