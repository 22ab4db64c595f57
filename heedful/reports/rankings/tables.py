"""The tables of the paper, in form, as texts: a heading, a header, and rows of cells."""

from collections.abc import Mapping, Sequence

import numpy as np

from heedful.metrics.attributions.factors import FACTORS
from heedful.metrics.ranking.baselines import ACC, CONF, CONF_GT, RANDOM, REVERSED, gap, guess
from heedful.metrics.ranking.protocol import ordered_pairs
from heedful.metrics.ranking.ranked import Ranked
from heedful.reports.rankings.suite import Suite
from heedful.reports.tables import Cells, number, percents

BASELINES = (ACC, CONF, CONF_GT, REVERSED, RANDOM)
BY_SAMPLES, BY_MODELS, NEAR = "†", "‡", "*"
SPECIFIC = ("const", "irreg", "adj", "verb")  # made for one set, where they are defined
SET_DEPENDENT = "set-dependent"
Results = Mapping[tuple[str, str, int], Ranked]  # of a set, a method, a size


def rankers(found: Sequence[Ranked]) -> list[str]:
    """Every ranker of these, baselines first, then factors in the order of the paper, then others."""
    names = dict.fromkeys(name for each in found for name in each.rankings)
    order = [*BASELINES, *FACTORS]
    return [*(name for name in order if name in names), *(name for name in names if name not in order)]


def accuracies(suites: Sequence[Suite]) -> Cells:
    """Tables 5 and 6: the accuracy of each model on each OOD set."""
    names = list(dict.fromkeys(name for suite in suites for name in suite.models))
    of = [dict(zip(suite.models, suite.correct, strict=True)) for suite in suites]
    rows = [[name, *(percents(correct[name].mean()) if name in correct else "-" for correct in of)] for name in names]
    return Cells("Accuracy of each model (tables 5 and 6), %", ["model", *(suite.name for suite in suites)], rows)


def sizes(suites: Sequence[Suite], ns: Sequence[int], samples: int) -> Cells:
    """Table 9: how many examples and models there are."""
    rows = []
    for suite in suites:
        pairs = ordered_pairs(suite.truth)
        explained = len(next(iter(suite.populations.values())).places)
        counts = suite.correct.shape[1], explained, len(suite.models), len(pairs), len(near(suite))
        rows.append([suite.name, *(f"{count:,}" for count in counts)])
    heading = f"Sizes (table 9); {samples:,} samples of {', '.join(map(str, ns))}"
    return Cells(heading, ["set", "examples", "explained", "models", "pairs", "near pairs"], rows)


def few_shot(suites: Sequence[Suite], method: str, n: int, results: Results) -> Cells:
    """Tables 2, 7 and 8: few-shot accuracy of each ranker on each set, with intervals and marks of both tests."""
    of = [results[suite.name, method, n] for suite in suites]
    rows = []
    for name in rankers(of):
        rows.append([name, *(_marked(name, each) if name in each.rankings else "-" for each in of)])
    heading = f"Few-shot accuracy [95 %], {method}, n = {n} (tables 2, 7, 8), %"
    return Cells(heading, ["ranker", *(suite.name for suite in suites)], rows)


def _marked(name: str, found: Ranked) -> str:
    test = found.tests.get(name)
    marks = ""
    if test is not None and test.is_better_by_samples:
        marks += BY_SAMPLES
    if test is not None and test.is_better:
        marks += BY_MODELS
    return " ".join(filter(None, (number(found.few_shot[name], ci95=True), marks)))


def by_method(suite: Suite, methods: Sequence[str], n: int, results: Results) -> Cells:
    """Table 1: few-shot accuracy of one set's rankers by each method; baselines need none."""
    of = [results[suite.name, method, n] for method in methods]
    rows = []
    for name in rankers(of):
        cells = [_marked(name, each) if name in each.rankings else "-" for each in of]
        rows.append([name, *(cells[:1] + [""] * (len(cells) - 1) if name in BASELINES else cells)])
    return Cells(f"Few-shot accuracy by method, {suite.name}, n = {n} (table 1), %", ["ranker", *methods], rows)


def rankings(suite: Suite, method: str, n: int, results: Results) -> Cells:
    """What else says how well each ranker orders models."""
    found = results[suite.name, method, n]
    rows = []
    for name in rankers([found]):
        each = found.rankings[name]
        rows.append([name, percents(each.few_shot), percents(each.ties), f"{each.tau:+z.2f}", percents(each.regret)])
    heading = f"Rankings, {suite.name}, {method}, n = {n}; tau and %"
    return Cells(heading, ["ranker", "few-shot accuracy", "ties", "Kendall's tau", "regret"], rows)


def tests(suite: Suite, method: str, n: int, results: Results) -> Cells:
    """Each factor against ACC: the paper's test, which takes samples as data, and Heedful's own."""
    rows = []
    for name, test in results[suite.name, method, n].tests.items():
        rows.append([name, number(test.own, "+", ci95=True), *map(_p, (test.p_samples, test.p, test.p_holm))])
    heading = f"Factors less ACC, {suite.name}, {method}, n = {n}; points and p values"
    return Cells(heading, ["factor", "less ACC [95 %]", "p samples", "p", "p Holm"], rows)


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if value >= 0.001 else "<0.001"


def near(suite: Suite) -> set[tuple[int, int]]:
    """The pairs, the better model first, whose gap is less than two standard errors."""
    close = set()
    for better, worse in ordered_pairs(suite.truth).tolist():
        value, error = gap(suite.correct[better], suite.correct[worse], suite.clusters)
        if value < 2 * error:
            close.add((better, worse))
    return close


def pairs(suite: Suite, method: str, n: int, results: Results) -> Cells:
    """Table 4: pairwise accuracy of each ranker, by pairs of models, the better one first."""
    found = results[suite.name, method, n]
    close = near(suite)
    of = {name: found.rankings[name] for name in rankers([found])}
    header = [
        f"{suite.models[better]} > {suite.models[worse]}{NEAR if (better, worse) in close else ''}"
        for better, worse in found.rankings[ACC].pairs.tolist()
    ]
    rows = [[name, *map(percents, ranking.pairwise)] for name, ranking in of.items()]
    return Cells(f"Pairwise accuracy, {suite.name}, {method}, n = {n} (table 4), %", ["ranker", *header], rows)


def pooled(suites: Sequence[Suite], method: str, n: int, results: Results) -> Cells:
    """Table 3: the mean over sets of what ranks all of them, with GUESS, and the factor that is made for each set."""
    of = [results[suite.name, method, n] for suite in suites]
    rows = [
        [name, percents(np.mean([each.rankings[name].few_shot for each in of]))]
        for name in rankers(of)
        if all(name in each.rankings for each in of)
    ]
    named = [dict(zip(suite.models, suite.truth.tolist(), strict=True)) for suite in suites]
    guessed = guess(named)
    best = max(guessed, key=guessed.__getitem__)
    at = sum(row[0] in BASELINES for row in rows)
    rows[at:at] = [
        [f"guess, best candidate ({best})", percents(guessed[best])],
        ["guess, mean of candidates", percents(np.mean(list(guessed.values())))],
    ]
    made = [set_dependent(suite, method, each) for suite, each in zip(suites, of, strict=True)]
    if all(made):
        mean = np.mean([each.rankings[name].few_shot for name, each in zip(made, of, strict=True)])
        rows.insert(at + 2, [f"{SET_DEPENDENT} ({', '.join(dict.fromkeys(made))})", percents(mean)])
    several = f"{len(suites)} sets" if len(suites) > 1 else suites[0].name
    return Cells(f"Pooled few-shot accuracy, {several}, {method}, n = {n} (table 3), %", ["ranker", "mean"], rows)


def set_dependent(suite: Suite, method: str, found: Ranked) -> str:
    """The factor that is made for a set; "" for none.

    Heedful's own rule, as the paper names none: CONST, IRREG, ADJ or VERB where it is defined for most examples; else
    SWAP-AVG where most examples have swapped words; else INDEX-DIFF.
    """
    population = suite.populations[method]
    half = len(population.places) / 2
    candidates = [name for name in SPECIFIC if name in population.undefined and population.undefined[name] < half]
    if population.without_swap < half:
        candidates.append("swap_avg")
    candidates.append("index_diff")
    return next((name for name in candidates if name in found.tests), "")
