"""Rankers that need no attribution (section 3 of the paper), and the truth about models."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from heedful.records import generator

ACC = "acc"
CONF = "conf"
CONF_GT = "conf_gt"
REVERSED = "conf_gt reversed"
RANDOM = "random"


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
    of_y = np.where(y < 0, np.nan, p.astype(np.float64)[np.arange(len(p)), y])
    of_gold = np.where(gold < 0, np.nan, p.astype(np.float64)[np.arange(len(p)), gold])
    return acc | {CONF: of_y, CONF_GT: of_gold, REVERSED: -of_gold}


def random_scores(models: int, samples: int, seed: int) -> np.ndarray:
    """RANDOM: a score that says nothing, drawn anew in each sample: float64 [models, samples]."""
    return generator("random ranker", seed).random((models, samples))


def guess(suites: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """GUESS: one model is taken for the best everywhere, and all other pairs are guessed.

    Args:
        suites: For each, the name of each model to its truth. Suites that do not have the candidate are guessed.

    Returns:
        Each model to its few-shot accuracy, the mean over suites; pairs of equal truth are left out. The paper's 72.0
        is that of the best candidate.

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


def gap(correct: np.ndarray, other: np.ndarray, clusters: np.ndarray) -> tuple[float, float]:
    """The accuracy of a model less that of another on the same examples, and its standard error.

    The error is that of a mean over clusters of paired differences.

    Args:
        correct: What each answer of the model is worth, float64 [examples].
        other: The same of the other.
        clusters: The cluster of each example, int [examples], numbered from 0.
    """
    less = np.asarray(correct, dtype=np.float64) - other
    of_clusters = np.bincount(clusters, less - less.mean())
    return float(less.mean()), float(np.sqrt((of_clusters**2).sum()) / len(less))
