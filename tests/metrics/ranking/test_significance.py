"""Both significance tests against loops, Holm's correction, and false alarms in simulations."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.ranking import (
    Population,
    drawn_positions,
    holm,
    ordered_pairs,
    over_examples_and_models,
    over_samples,
    ranked,
    sample_means,
    successes,
    two_sided,
    uniforms,
)
from heedful.records import generator


@given(st.lists(st.floats(0, 1), max_size=6))
def test_holm_rejects_what_the_steps_of_its_definition_reject(p):
    order, rejected = sorted(range(len(p)), key=lambda k: p[k]), set()
    for rank, k in enumerate(order):
        if (len(p) - rank) * p[k] >= 0.05:
            break
        rejected.add(k)
    assert {k for k, x in enumerate(holm(p)) if x < 0.05} == rejected


def test_a_p_value_is_twice_the_smaller_side():
    assert two_sided(np.array([1.0] * 97 + [-1.0] * 2)) == pytest.approx(2 * 3 / 100)
    assert two_sided(np.array([-1.0] * 99)) == pytest.approx(2 / 100)
    assert two_sided(np.array([np.nan] * 50 + [1.0] * 99)) == pytest.approx(2 / 100)
    assert two_sided(np.zeros(99)) == 1


def test_the_bootstrap_over_samples_is_a_naive_one():
    rng = np.random.default_rng(0)
    success, other = (rng.choice([0, 0.5, 1], size=(3, 80), p=p) for p in ((0.3, 0.1, 0.6), (0.4, 0.2, 0.4)))
    m, p = over_samples(success, other, (0,))
    less = (success - other).mean(axis=0)
    naive = np.array([less[rng.integers(80, size=80)].mean() for _ in range(5_000)])
    assert m.value == pytest.approx(success.mean() - other.mean())
    assert m.ci95 == pytest.approx(np.quantile(naive, [0.025, 0.975]), abs=0.005)
    assert p == pytest.approx(2 * (naive <= 0).mean(), abs=0.005)
    assert over_samples(success, success, (0,))[1] == 1


def share_in_order(of, truth, times, samples):
    """Few-shot accuracy by loops: the weighted share of pairs and samples in the true order; None if no pair counts."""
    total, weight = 0.0, 0
    for i, j in product(range(len(truth)), repeat=2):
        if truth[i] <= truth[j]:
            continue
        right = []
        for examples in samples:
            means = [np.nanmean(of[k][examples]) if not np.isnan(of[k][examples]).all() else np.nan for k in (i, j)]
            right.append(1.0 if means[0] > means[1] else 0.0 if means[0] < means[1] else 0.5)
        total += times[i] * times[j] * sum(right) / len(right)
        weight += times[i] * times[j]
    return total / weight if weight else None


def test_resamples_of_examples_and_models_are_those_of_loops():
    """The population is five of nine examples; one of the four clusters has no example of the population."""
    rng = np.random.default_rng(0)
    correct, clusters = rng.choice([0.0, 1.0], size=(4, 9)), np.array([0, 0, 3, 1, 2, 2, 2, 3, 1])
    clusters[[2, 7]], places = 3, np.array([1, 3, 4, 6, 8])
    values = {"f": rng.choice([0.0, 0.5, 1.0], size=(4, 5)), "acc": correct[:, places]}
    values["f"][1, 2] = np.nan
    choices = uniforms(3, 11, 0)
    found = over_examples_and_models(values, correct, places, choices, clusters, (5,), 40)
    again = generator("examples and models", 5)
    for r in range(40):
        examples = [k for c in again.integers(4, size=4) for k in range(9) if clusters[k] == c]
        times = again.multinomial(4, [0.25] * 4)
        truth = [sum(correct[i, k] for k in examples) for i in range(4)]
        population = sorted(places.tolist().index(k) for k in examples if k in places)
        for name, of in values.items():
            expected = None
            if population:
                samples = [[population[int(u * len(population))] for u in sample] for sample in choices]
                expected = share_in_order(of, truth, times, samples)
            assert found[name][r] == pytest.approx(np.nan if expected is None else expected, nan_ok=True)


def made(rng, models, examples, bias=1.0):
    """Scores of 1,000 answers; and ACC and a factor, both with noise by example and, times ``bias``, by model."""
    truth = rng.normal(size=models)
    correct = truth[:, None] + 2 * rng.normal(size=(models, 1_000))
    values = {
        name: truth[:, None] + bias * rng.normal(size=(models, 1)) + 2 * rng.normal(size=(models, examples))
        for name in ("acc", "f")
    }
    return correct, Population(values, {"f": 0}, {}, 0, np.arange(examples))


def test_few_shot_accuracies_and_their_differences_are_those_of_the_protocol():
    rng = np.random.default_rng(2)
    correct, population = made(rng, 5, 40)
    found, values = ranked(population, correct, np.arange(1_000), 10, 60, resamples=50), population.values
    samples, pairs = drawn_positions(uniforms(10, 60, 0), 40), ordered_pairs(correct.mean(axis=1))
    expected = {name: successes(sample_means(of, samples), pairs).mean() for name, of in values.items()}
    assert {name: found.few_shot[name].value for name in values} == {k: pytest.approx(x) for k, x in expected.items()}
    assert found.tests["f"].by_models.value == pytest.approx(expected["f"] - expected["acc"])
    assert found.tests["f"].p_holm == found.tests["f"].p


@pytest.mark.parametrize(("models", "equal", "is_tested"), [(3, 1, False), (4, 1, True), (4, 2, False), (5, 2, True)])
def test_too_few_models_have_no_p_value_of_our_own_test(models, equal, is_tested):
    correct, population = made(np.random.default_rng(3), models, 40)
    correct[:equal] = correct[0]
    test = ranked(population, correct, np.arange(1_000), 10, 60, resamples=50).tests["f"]
    assert (test.p is not None, test.p_holm is not None) == (is_tested, is_tested)
    assert test.by_models.ci95 is not None
    if not is_tested:
        assert not test.is_better(test.p_holm)


@pytest.mark.slow
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_false_alarms_are_no_more_than_promised(bias):
    """For a factor as good as ACC, Heedful's test finds a difference in at most 5 %, the paper's in far more."""
    own, by_samples = [], []
    for k in range(60):
        correct, population = made(np.random.default_rng([k, int(bias)]), 6, 100, bias=bias)
        found = ranked(population, correct, np.arange(1_000), 10, 100, seed=k, resamples=300)
        own.append(found.tests["f"].p < 0.05)
        by_samples.append(found.tests["f"].p_samples < 0.05)
    assert np.mean(own) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 60)
    assert np.mean(by_samples) > 0.25
