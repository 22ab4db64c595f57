"""The ranking protocol against loops over samples and pairs of models."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from heedful.metrics.ranking import Ranking, drawn_positions, kendall, ordered_pairs, regret, sample_means, uniforms

few = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


@st.composite
def suites(draw, defined=True):
    """Values [models, population], truth [models] and samples [samples, n]."""
    models, population = draw(st.integers(2, 5)), draw(st.integers(1, 6))
    value = few if defined else st.one_of(few, st.just(np.nan))
    rows = st.lists(value, min_size=population, max_size=population)
    values = np.array(draw(st.lists(rows, min_size=models, max_size=models)))
    truth = np.array(draw(st.lists(few, min_size=models, max_size=models)))
    samples = draw(st.lists(st.lists(st.integers(0, population - 1), min_size=3, max_size=3), min_size=1, max_size=5))
    return values, truth, np.array(samples)


@given(suites(defined=False))
def test_rankings_are_those_of_loops(suite):
    values, truth, samples = suite
    scores = sample_means(values, samples)
    right, ties, of_pair, taus, losses = [], [], {}, [], []
    for b, sample in enumerate(samples):
        means = []
        for model in values:
            of_sample = [model[k] for k in sample if not np.isnan(model[k])]
            means.append(sum(of_sample) / len(of_sample) if of_sample else None)
        assert scores[:, b].tolist() == pytest.approx([np.nan if x is None else x for x in means], nan_ok=True)
        for i, j in combinations(range(len(truth)), 2):
            if truth[i] == truth[j]:
                continue
            tied = means[i] is None or means[j] is None or means[i] == means[j]
            success = 0.5 if tied else float((means[i] > means[j]) == (truth[i] > truth[j]))
            right.append(success)
            ties.append(tied)
            of_pair.setdefault((i, j), []).append(success)
        if None not in means:
            tau = kendalltau(means, truth).statistic
            taus.append(0.0 if np.isnan(tau) else tau)
        top = max((x for x in means if x is not None), default=None)
        chosen = [t for x, t in zip(means, truth, strict=True) if x == top]
        losses.append(max(truth) - sum(chosen) / len(chosen))
    if not right:
        assert not len(ordered_pairs(truth))
        return
    ranking = Ranking.of(scores, truth)
    assert ranking.few_shot == pytest.approx(np.mean(right))
    assert ranking.ties == pytest.approx(np.mean(ties))
    found = {tuple(sorted(pair)): x for pair, x in zip(ranking.pairs.tolist(), ranking.pairwise, strict=True)}
    assert found == {pair: pytest.approx(np.mean(of)) for pair, of in of_pair.items()}
    assert ranking.regret == pytest.approx(np.mean(losses))
    if len(taus) == len(samples):
        assert ranking.tau == pytest.approx(np.mean(taus))


def test_samples_are_uniform_with_replacement_and_keyed_by_the_seed_and_n():
    samples = drawn_positions(uniforms(20, 5_000, 0), 7)
    assert samples.shape == (5_000, 20)
    assert np.bincount(samples.ravel(), minlength=7) == pytest.approx(100_000 / 7, rel=0.05)
    assert (samples == drawn_positions(uniforms(20, 5_000, 0), 7)).all()
    assert (samples[:, :5] != drawn_positions(uniforms(5, 5_000, 0), 7)).any()
    assert (samples != drawn_positions(uniforms(20, 5_000, 1), 7)).any()


def test_undefined_scores_tie_and_are_chosen_last():
    scores = np.array([[np.nan], [0.1], [np.nan]])
    truth = np.array([0.9, 0.5, 0.1])
    assert Ranking.of(scores, truth).success.tolist() == [[0.5], [0.5], [0.5]]
    assert kendall(scores, truth).tolist() == [0]
    assert regret(scores, truth) == pytest.approx([0.4])
