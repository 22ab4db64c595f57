"""The command ``heedful rank RUN RUN [RUN ...]``: which model performs best on out-of-distribution data?

Models are ranked by a number computed on a few out-of-distribution examples, such as a factor: a statistic of the
attributions of words. The report compares this ranking with the ranking by accuracy on all examples. Source: "Assessing
Out-of-Domain Language Model Performance from Few Examples", tables 1 to 9 and figures 4 to 6.

RUN is the folder of an evaluation with accuracy and attributions. Evaluations are grouped by data set and split, or by
``--set NAME=RUN,RUN,...``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heedful.command_lines import CommandParser
from heedful.metrics.attributions.attribution import Attribution, by_method, normalised
from heedful.metrics.attributions.factors import FACTORS, Factor, factors_named, has_swapped_words
from heedful.metrics.ranking import (
    ACC,
    CONF,
    CONF_GT,
    FEWEST,
    RANDOM,
    REVERSED,
    Ranked,
    baselines,
    gap,
    guessed_scores,
    ordered_pairs,
    ranked,
)
from heedful.records import RunError, SettingError, atomic_path
from heedful.records.rows import BASE, cluster_of, probabilities, select, strings
from heedful.reports.alike import EXAMPLES, PAIRED, REMEDIES, require_alike
from heedful.reports.figures.rankings import against, histograms
from heedful.reports.flags import FLAGS
from heedful.reports.runs import Run, columns, read_runs, require_gold, short_names
from heedful.reports.tables import FORMATS, Cells, emit, number, percents

USUAL = 10  # examples per sample in the tables that show a single size
SAMPLES = 500
ACCURACY, ATTRIBUTIONS = "accuracy", "attributions"  # names of evaluations
BASELINES = (ACC, CONF, CONF_GT, REVERSED, RANDOM)
BY_SAMPLES, BY_MODELS, NEAR = "†", "‡", "*"  # marks in tables, see NOTES
SPECIFIC = ("const", "irreg", "adj", "verb")  # factors for the examples of a single data set
SWAPS = ("swap_avg", "swap_max_diff")  # factors of words that occur in both parts
TO_DO = REMEDIES | {EXAMPLES: "Evaluate both with one seed and number of examples, or name two sets with --set."}
NOTES = (
    f"{BY_SAMPLES} better than ACC by the paper's bootstrap (p < 0.05), which treats samples as data and so finds too "
    f"many differences. {BY_MODELS} better by Heedful's test, which resamples models and examples, the examples of the "
    "truth included (p < 0.05 after Holm's correction over the factors of one set, method and n). Intervals belong to "
    "Heedful's test; p values are two-sided.",
    f"{NEAR} near pair: the gap in accuracy is less than two standard errors. Ties count one half.",
)


@dataclass(frozen=True)
class Population:
    """The examples that one attribution method explains (the population), with the numbers by which models are ranked.

    A ranker gives each model a number on each example; models are ranked by the mean. There are two sorts of rankers. A
    factor is a statistic of the attributions (contributions of words). A baseline, such as accuracy, needs none.

    Attributes:
        values: Numbers by ranker, higher for a better model: float64 [models, population]. Factors, which are lower for
            better models, are negated; nan if a factor is undefined.
        undefined: For each factor in ``values``, the number of examples on which it is undefined for some model.
        left_out: The reason why a factor is omitted, by factor; Holm's correction does not count omitted factors.
        without_swap: Number of examples without swapped words (words that the parts have in different orders). On these
            examples, the factors "swap_avg" and "swap_max_diff" are 0.
        places: Indices of the population among all examples: int64 [population].
    """

    values: Mapping[str, np.ndarray]
    undefined: Mapping[str, int]
    left_out: Mapping[str, str]
    without_swap: int
    places: np.ndarray

    def notes(self) -> Iterator[str]:
        """Yield notes about factors that are omitted, or that are undefined or 0 on some examples."""
        total = len(self.places)
        for why in dict.fromkeys(self.left_out.values()):
            yield f"{why}, and left out: {', '.join(name for name in self.left_out if self.left_out[name] == why)}."
        for name, count in self.undefined.items():
            if count:
                yield f"{name} is not defined for {count:,} of {total:,} examples, which do not count."
        if self.without_swap and any(name in self.undefined for name in SWAPS):
            yield f"{self.without_swap:,} of {total:,} examples have no swapped words: SWAP factors are 0."


@dataclass(frozen=True)
class Suite:
    """The models that are ranked on one out-of-distribution data set, with their scores."""

    name: str  # name of the data set
    models: tuple[str, ...]  # names of the models
    folders: tuple[str, ...]  # folders of their results
    correct: np.ndarray  # scores of the predictions: float64 [models, examples]
    clusters: np.ndarray  # number of the cluster of each example: int [examples]
    populations: Mapping[str, Population]  # examples with attributions, by method of attribution

    @property
    def truth(self) -> np.ndarray:
        """The true accuracy per model, on all examples: float64 [models]."""
        return self.correct.mean(axis=1)

    def near(self) -> set[tuple[int, int]]:
        """Pairs of models, the better one first, whose true accuracies differ by less than two standard errors."""
        gaps = {(b, w): gap(self.correct[b], self.correct[w], self.clusters) for b, w in ordered_pairs(self.truth)}
        return {(int(b), int(w)) for (b, w), (value, error) in gaps.items() if value < 2 * error}


class Ranking(NamedTuple):
    """The rankings of the models of a suite by all rankers, for one attribution method and one sample size."""

    suite: Suite
    method: str
    result: Ranked

    def heading(self, title: str, end: str = "") -> str:
        """Return the heading of a table: ``title``, data set, method and sample size, then ``end``."""
        return f"{title}, {self.suite.name}, {self.method}, n = {self.result.n}{end}"


def sets_of(folders: Sequence[str], assignments: Sequence[str] = ()) -> dict[str, list[Run]]:
    """Read runs, and group them by out-of-distribution data set.

    Args:
        folders: Folders of results, grouped by data set and split.
        assignments: Further sets, "NAME=FOLDER,FOLDER,...".

    Returns:
        The runs by name of the set, a run for each model.

    Raises:
        HeedfulError: A folder has no results, two sets have the same name, or a set has fewer than two models.
    """
    groups: list[tuple[str, list[Run]]] = []
    for text in assignments:
        if (match := re.fullmatch("([^=]+)=(.+)", text)) is None:
            raise SettingError(f"--set {text} is not a set. Write NAME=FOLDER,FOLDER,... with a folder for each model.")
        groups.append((match[1], read_runs(match[2].split(","))))
    runs = read_runs(folders)
    for pair, name in columns(runs).items():
        groups.append((name, [run for run in runs if (run.data, run.split) == pair]))
    sets = dict(groups)
    for name, (first, *more) in sets.items():
        if not more:
            raise RunError(
                f"The set {name} has results of one model, {first.folder}. Name two models on the same examples."
            )
    if len(sets) < len(groups):
        raise SettingError(f"Two of these sets have one name: {', '.join(name for name, _ in groups)}. Use --set.")
    return sets


def read_suite(name: str, runs: Sequence[Run], factors: Mapping[str, Factor]) -> Suite:
    """Read the results of models on one out-of-distribution data set.

    Args:
        name: Name of the data set.
        runs: A run for each model.
        factors: Factors by name.

    Raises:
        HeedfulError: A folder has no accuracy or no attributions, the examples or the methods of attribution of the
            models differ, or all models have the same accuracy.
    """
    folders = tuple(run.folder for run in runs)
    explained = [_explained(run) for run in runs]
    require_alike(runs, PAIRED, (ACCURACY, ATTRIBUTIONS), TO_DO)
    bases = [select(run.rows[ACCURACY][0], intervention=BASE) for run in runs]
    scores = [run.contexts[ACCURACY].kind.scores(strings(base, "y"), strings(base, "gold"))
              for run, base in zip(runs, bases, strict=True)]  # fmt: skip
    correct = np.array(scores, dtype=np.float64)
    if len(np.unique(correct.mean(axis=1))) == 1:
        raise RunError(f"{name}: all models have the same accuracy and no order. Name models that differ in it.")
    labels = [run.contexts[ACCURACY].labels for run in runs]
    populations = {
        method: _population(bases, labels, [by_method[method] for by_method in explained], factors)
        for method in explained[0]  # equal for all models, as require_alike has compared their manifests
    }
    return Suite(name, tuple(short_names(folders)), folders, correct, cluster_of(bases[0]), populations)


def _explained(run: Run) -> dict[str, list[Attribution]]:
    """Read the attributions of the unchanged examples of a run: a list for each attribution method."""
    if missing := {ACCURACY, ATTRIBUTIONS} - run.rows.keys():
        raise RunError(
            f"{run.folder} has no rows of {min(missing)}. Evaluate again, with {ACCURACY} and {ATTRIBUTIONS} among "
            "evaluations."
        )
    context = run.contexts[ATTRIBUTIONS]
    require_gold(run.folder, context)
    explained = by_method(run.rows[ATTRIBUTIONS][0], context)
    if len({tuple(attribution.uid for attribution in examples) for examples in explained.values()}) != 1:
        raise RunError(f"{run.folder}: its methods explain different examples, or none. Evaluate again.")
    return explained


def _population(
    bases: Sequence[pa.Table],
    labels: Sequence[Sequence[str]],
    explained: Sequence[Sequence[Attribution]],
    factors: Mapping[str, Factor],
) -> Population:
    """Compute the values by which models are ranked, on the examples that one attribution method explains.

    Each ranker (a factor or a baseline) gives each model one value per example. A factor is omitted if it is undefined
    for all examples, if it equals an earlier factor, or if it is about swapped words (words that the parts have in
    different orders) and no example has such words. A baseline is omitted if a model lacks it.

    Args:
        bases: Base rows (predictions for the original examples) of each model.
        labels: Labels of each model.
        explained: Attributions of each model, of the same examples.
        factors: Factors by name.
    """
    at = {uid: k for k, uid in enumerate(bases[0]["uid"].to_pylist())}
    places = np.array([at[attribution.uid] for attribution in explained[0]])
    by_model = [_baselines(base.take(pa.array(places)), names) for base, names in zip(bases, labels, strict=True)]
    shared = [name for name in by_model[0] if all(name in values for values in by_model)]
    values = {name: np.stack([baseline[name] for baseline in by_model]) for name in shared}
    swapped = [has_swapped_words(attribution) for attribution in explained[0]]
    undefined: dict[str, int] = {}
    left_out = {}
    for name, factor in factors.items():
        numbers = [[factor(attribution) for attribution in examples] for examples in explained]
        column = np.array(numbers, dtype=np.float64)  # None becomes nan
        is_undefined = np.isnan(column).any(axis=0)
        twin = next(
            (earlier for earlier in undefined if np.array_equal(values[earlier], -column, equal_nan=True)), None
        )
        if is_undefined.all():
            left_out[name] = "not defined for any example"
        elif name in SWAPS and not any(swapped):
            left_out[name] = "0 for all examples, and none has swapped words"
        elif twin is not None:
            left_out[name] = f"the same as {twin}"
        else:
            undefined[name] = int(is_undefined.sum())
            values[name] = -column
    return Population(values, undefined, left_out, swapped.count(False), places)


def _baselines(base: pa.Table, labels: Sequence[str]) -> dict[str, np.ndarray]:
    index = {label: k for k, label in enumerate(labels)}
    y, gold = (np.array([index.get(text, -1) for text in strings(base, name)]) for name in ("y", "gold"))
    has_p = labels and not base["p"].null_count
    return baselines(probabilities(base, "p") if has_p else np.zeros((len(y), 0)), y, gold)


def build(suites: Sequence[Suite], sizes: Sequence[int], rankings: Sequence[Ranking], samples: int) -> Iterator[Cells]:
    """Build the tables of ``heedful rank``, which compare rankings by a few examples with the ranking by true accuracy.

    The true accuracy of a model is its accuracy on all examples. The tables show the sizes of the data, the true
    accuracies, the share of pairs of models that each ranking orders as the true accuracies do, significance tests,
    Kendall's tau and regret, single pairs, and means over data sets.

    Args:
        suites: The suites; a suite is all models on one data set.
        sizes: Numbers of examples per sample.
        rankings: The rankings for each suite, method of attribution and size.
        samples: Number of samples.
    """
    yield _sizes(suites, sizes, samples)
    accuracies = [dict(zip(suite.models, suite.truth, strict=True)) for suite in suites]
    models = dict.fromkeys(model for suite in suites for model in suite.models)
    rows = [[model, *(percents(truth[model]) if model in truth else "-" for truth in accuracies)] for model in models]
    yield Cells("Accuracy of each model (tables 5 and 6), %", ["model", *(suite.name for suite in suites)], rows)
    methods = list(dict.fromkeys(ranking.method for ranking in rankings))
    for method in methods:
        for n in sizes:
            results = {r.suite.name: r.result for r in rankings if (r.method, r.result.n) == (method, n)}
            yield _few_shot(f"Few-shot accuracy [95 %], {method}, n = {n} (tables 2, 7, 8), %", results)
    usual = [ranking for ranking in rankings if ranking.result.n == _usual(sizes)]
    for suite in (suite for suite in suites if len(suite.populations) > 1):
        results = {r.method: r.result for r in usual if r.suite is suite}
        table = _few_shot(f"Few-shot accuracy by method, {suite.name}, n = {_usual(sizes)} (table 1), %", results)
        for row in (row for row in table.rows if row[0] in BASELINES):  # baselines do not depend on the method
            row[2:] = [""] * len(row[2:])
        yield table
    for table_of in (_tests, _rankings, _pairs):
        yield from map(table_of, usual)
    for method in methods:
        yield _pooled([ranking for ranking in usual if ranking.method == method])


def _usual(sizes: Sequence[int]) -> int:
    return USUAL if USUAL in sizes else sizes[0]


def _sizes(suites: Sequence[Suite], sizes: Sequence[int], samples: int) -> Cells:
    """Build table 9: the number of examples, of models and of pairs of models for each data set."""
    rows = []
    for suite in suites:
        explained = len(next(iter(suite.populations.values())).places)
        pairs = len(ordered_pairs(suite.truth))
        counts = suite.correct.shape[1], explained, len(suite.models), pairs, len(suite.near())
        rows.append([suite.name, *(f"{count:,}" for count in counts)])
    heading = f"Sizes (table 9); {samples:,} samples of {', '.join(map(str, sizes))}"
    return Cells(heading, ["set", "examples", "explained", "models", "pairs", "near pairs"], rows)


def rankers(results: Sequence[Ranked]) -> list[str]:
    """Return the names of all rankers in several results, each name once.

    A ranker is a baseline, such as accuracy on a few examples, or a factor (a statistic of attributions). Baselines
    come first, then the factors of the paper in the order of the paper, then other factors.
    """
    names = dict.fromkeys(name for each in results for name in each.rankings)
    return list(dict.fromkeys([*(name for name in (*BASELINES, *FACTORS) if name in names), *names]))


def _few_shot(heading: str, results: Mapping[str, Ranked]) -> Cells:
    """Build a table of few-shot accuracies: a row for each ranker, a column for each entry of ``results``.

    A ranker (a factor or a baseline) ranks models by a few examples. The few-shot accuracy of a ranker is the share of
    pairs of models that it orders as the accuracies on all examples do. A cell has the few-shot accuracy, its interval
    and the marks of both significance tests.
    """

    def cell(name: str, ranking: Ranked) -> str:
        if name not in ranking.rankings:
            return "-"
        marks = ""
        if (test := ranking.tests.get(name)) is not None:
            marks += BY_SAMPLES if test.is_better(test.p_samples) else ""
            marks += BY_MODELS if test.is_better(test.p_holm) else ""
        return f"{number(ranking.few_shot[name], ci95=True)} {marks}".strip()

    rows = [[name, *(cell(name, each) for each in results.values())] for name in rankers(list(results.values()))]
    return Cells(heading, ["ranker", *results], rows)


def _tests(ranking: Ranking) -> Cells:
    """Build the table that tests, for each factor, whether the factor ranks models better than ACC does.

    On a few examples, a factor ranks models by a statistic of attributions, and ACC by accuracy. Few-shot accuracy is
    the share of pairs of models that a ranking orders as the accuracies on all examples do. The table shows the
    few-shot accuracy of the factor minus that of ACC, and p values of the paper's test and of Heedful's test.
    """

    def p(value: float | None) -> str:
        return "-" if value is None else f"{value:.3f}" if value >= 0.001 else "<0.001"

    rows = [
        [name, number(test.by_models, "+", ci95=True), *map(p, (test.p_samples, test.p, test.p_holm))]
        for name, test in ranking.result.tests.items()
    ]
    header = ["factor", "less ACC [95 %]", "p samples", "p", "p Holm"]
    return Cells(ranking.heading("Factors less ACC", "; points and p values"), header, rows)


def _rankings(ranking: Ranking) -> Cells:
    """Build the table that compares, for each ranker, its ranking of the models with the true ranking.

    A ranker ranks models by a number on a few examples; the true ranking is by accuracy on all examples. The columns
    are few-shot accuracy (the share of pairs of models that both rankings order alike), ties, Kendall's tau and regret.
    """
    results = {name: ranking.result.rankings[name] for name in rankers([ranking.result])}
    rows = [
        [name, percents(r.few_shot), percents(r.ties), f"{r.tau:+z.2f}", percents(r.regret)]
        for name, r in results.items()
    ]
    header = ["ranker", "few-shot accuracy", "ties", "Kendall's tau", "regret"]
    return Cells(ranking.heading("Rankings", "; tau and %"), header, rows)


def _pairs(ranking: Ranking) -> Cells:
    """Build table 4: for each ranker (factor or baseline) and pair of models, the share of samples that it orders
    correctly. The first model of a pair is the better one.
    """
    near, models = ranking.suite.near(), ranking.suite.models
    header = [
        f"{models[better]} > {models[worse]}{NEAR if (better, worse) in near else ''}"
        for better, worse in ranking.result.rankings[ACC].pairs.tolist()
    ]
    rows = [[name, *map(percents, ranking.result.rankings[name].pairwise)] for name in rankers([ranking.result])]
    return Cells(ranking.heading("Pairwise accuracy", " (table 4), %"), ["ranker", *header], rows)


def _pooled(rankings: Sequence[Ranking]) -> Cells:
    """Build table 3: few-shot accuracies (:func:`_few_shot`), averaged over data sets. The rows are:

    - each ranker (a factor or a baseline) that all data sets have;
    - "guess, best candidate": GUESS ranks one model, the candidate, first on all data sets, and the others at random.
      The candidate is the model with the best result;
    - "guess, mean of candidates": the mean result of GUESS over all models as candidate;
    - "set-dependent": on each data set, the factor that :func:`set_dependent` selects for it. The row is omitted if a
      data set has no such factor.
    """

    def row(label: str, names: Sequence[str]) -> list[str]:
        shares = [each.result.rankings[name].few_shot for each, name in zip(rankings, names, strict=True)]
        return [label, percents(float(np.mean(shares)))]

    suites = [each.suite for each in rankings]
    shared = [
        name for name in rankers([r.result for r in rankings]) if all(name in r.result.rankings for r in rankings)
    ]
    guessed = guessed_scores([dict(zip(suite.models, suite.truth.tolist(), strict=True)) for suite in suites])
    best = max(guessed, key=guessed.__getitem__)
    guesses = [
        [f"guess, best candidate ({best})", percents(guessed[best])],
        ["guess, mean of candidates", percents(float(np.mean(list(guessed.values()))))],
    ]
    dependent = [set_dependent(each) for each in rankings]
    if all(dependent):
        guesses.append(row(f"set-dependent ({', '.join(dict.fromkeys(dependent))})", dependent))
    at = sum(name in BASELINES for name in shared)
    rows = [row(name, [name] * len(rankings)) for name in shared]
    sets = f"{len(suites)} sets" if len(suites) > 1 else suites[0].name
    heading = f"Pooled few-shot accuracy, {sets}, {rankings[0].method}, n = {rankings[0].result.n} (table 3), %"
    return Cells(heading, ["ranker", "mean"], [*rows[:at], *guesses, *rows[at:]])


def set_dependent(ranking: Ranking) -> str:
    """Return the name of the factor that suits the data set of a ranking; "" for none.

    The result is the first of these factors (:data:`.FACTORS`, statistics of attributions) that the ranking has:

    - "const", "irreg", "adj" or "verb", if defined on more than half of the examples;
    - "swap_avg", if more than half of the examples have swapped words (words that the parts have in different orders);
    - "index_diff".
    """
    # The paper gives no rule for the choice
    population = ranking.suite.populations[ranking.method]
    half = len(population.places) / 2
    candidates = [name for name in SPECIFIC if population.undefined.get(name, half) < half]
    candidates += ["swap_avg"] if population.without_swap < half else []
    return next((name for name in (*candidates, "index_diff") if name in ranking.result.tests), "")


def notes(suites: Sequence[Suite], rankings: Sequence[Ranking]) -> Iterator[str]:
    """Yield the notes below the tables of rankings."""
    yield from NOTES
    for suite in suites:
        by_text: dict[str, list[str]] = {}
        for method, population in suite.populations.items():
            for text in population.notes():
                by_text.setdefault(text, []).append(method)
        yield from (f"{suite.name}, {', '.join(methods)}: {text}" for text, methods in by_text.items())
        if (models := len(set(suite.truth.tolist()))) < FEWEST:
            yield (
                f"{suite.name}: {models} models that differ in accuracy are too few to say anything of other models "
                f"(Heedful's test needs {FEWEST}), so its intervals hold for these models alone, and are too narrow."
            )
    flags = {flag for ranking in rankings for m in ranking.result.few_shot.values() for flag in m.flags}
    yield from (f"Note: {FLAGS[flag].short}." for flag in FLAGS if flag in flags)


def draw(rankings: Sequence[Ranking], folder: Path) -> Iterator[Path]:
    """Draw figures 4 to 6 of the paper for each method of attribution, write them as PNG, and yield their paths."""
    for method in dict.fromkeys(ranking.method for ranking in rankings):
        results = {ranking.suite.name: ranking.result for ranking in rankings if ranking.method == method}
        shares = {
            name: {key: each.rankings[name].pairwise for key, each in results.items() if name in each.rankings}
            for name in rankers(list(results.values()))
        }
        factors = {name: shares[name] for name in shares if any(name in each.tests for each in results.values())}
        about = f"{method}, n = {rankings[0].result.n}"
        figures = {"pairwise": histograms(shares, f"pairwise accuracy, {about}")}
        if factors:
            figures["against-acc"] = against(factors, shares[ACC], f"factors against ACC, {about}")
        for name, figure in figures.items():
            file = folder / f"ranking-{method}-{name}.png"
            with atomic_path(file) as temporary:
                figure.savefig(temporary, dpi=160, format="png")
            yield file


def of_normalised(factor: Factor, attribution: Attribution) -> float | None:
    """Compute a factor after dividing the phi (contributions of words) by the sum of their absolute values."""
    return factor(normalised(attribution))


def _parser() -> CommandParser:
    about = (
        "Which model will hold on other data? Ranks the models of a suite by their attributions on a few examples of "
        "other data, and compares the ranking with their accuracy on all examples."
    )
    examples = [
        ("runs/hans/*", "models on the same data"),
        ("--set morph=RUN,RUN,RUN --n 5,10,20", "evaluations of one set, samples of three sizes"),
    ]
    parser = CommandParser("rank", about, examples)
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folder of an evaluation")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=RUN,RUN", help="evaluations on one set")
    parser.add_argument("--n", default=str(USUAL), help="examples of a sample: one number or several, such as 5,10,20")
    parser.add_argument("--samples", type=int, default=SAMPLES, help=f"number of samples; {SAMPLES} by default")
    parser.add_argument("--factors", default="", help="names of factors, or module:function; by default all")
    parser.add_argument("--l1", action="store_true", help="divide the phi of an example by the sum of their sizes")
    parser.add_argument("--seed", type=int, default=0, help="seed of the samples")
    parser.add_argument("--figures", metavar="FOLDER", help="write the figures there, as PNG")
    help_format = "print the tables alone, in this format; notes go to standard error"
    parser.add_argument("--format", choices=list(FORMATS), help=help_format)
    return parser


def main(arguments: list[str]) -> None:
    """Print the tables of ``heedful rank``, and write the figures with --figures."""
    options = _parser().parse_intermixed_args(arguments)
    texts = options.n.split(",")
    if not all(text.strip().isdecimal() and int(text) > 0 for text in texts):
        raise SettingError(f"--n {options.n}: these are not numbers of examples. Write them as in 5,10,20.")
    if options.samples < 1:
        raise SettingError(f"--samples is {options.samples}. Take one sample or more.")
    if not options.runs and not options.set:
        raise RunError("There is nothing to rank. Name the folders of two evaluations or more.")
    factors = factors_named([name for name in options.factors.split(",") if name] or list(FACTORS))
    factors = {name: partial(of_normalised, factor) for name, factor in factors.items()} if options.l1 else factors
    sizes = list(dict.fromkeys(map(int, texts)))
    suites = [read_suite(name, runs, factors) for name, runs in sets_of(options.runs, options.set).items()]
    if options.l1:
        suites = [replace(s, populations={f"{method}-l1": p for method, p in s.populations.items()}) for s in suites]
    rankings = [
        Ranking(suite, method, ranked(p.values, p.undefined, suite.correct, p.places, suite.clusters, n,
                                      options.samples, options.seed))
        for suite in suites
        for method, p in suite.populations.items()
        for n in sizes
    ]  # fmt: skip
    footer = [f"{s.name} {model}: {folder}" for s in suites for model, folder in zip(s.models, s.folders, strict=True)]
    if options.figures:
        usual = [ranking for ranking in rankings if ranking.result.n == _usual(sizes)]
        footer += [f"in {file}" for file in draw(usual, Path(options.figures))]
    emit(build(suites, sizes, rankings, options.samples), options.format, notes(suites, rankings), footer)
