"""The command ``heedful rank RUN RUN [RUN ...]``: which model performs best on out-of-distribution data?

Models are ranked by a number computed on a few out-of-distribution examples, such as a factor: a statistic of the
attributions of words. The report compares this ranking with the ranking by accuracy on all examples. Source: "Assessing
Out-of-Domain Language Model Performance from Few Examples", tables 1 to 9 and figures 4 to 6.

RUN is the folder of an evaluation with accuracy and attributions. Evaluations are grouped by data set and split, or by
``--set NAME=RUN,RUN,...``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heedful.command_lines import CommandParser
from heedful.metrics.attributions.attribution import Attribution, by_method, normalised
from heedful.metrics.attributions.factors import FACTORS, Factor, factors_named
from heedful.metrics.ranking import (
    ACC,
    BASELINES,
    FEWEST,
    SWAPS,
    Population,
    Ranked,
    guessed_scores,
    near_pairs,
    ordered_pairs,
    population_of,
    ranked,
)
from heedful.records import Measurement, RunError, SettingError, atomic_path
from heedful.records.rows import BASE, cluster_of, select, strings
from heedful.reports.alike import EXAMPLES, PAIRED, REMEDIES, by_data, require_alike
from heedful.reports.figures.rankings import against, histograms
from heedful.reports.flags import FLAGS
from heedful.reports.frame import fields_of
from heedful.reports.runs import Run, columns, read_runs, require_gold, short_names
from heedful.reports.tables import FORMATS, Cells, Number, emit, number, percents, tabulate

USUAL = 10  # examples per sample in the tables that show a single size
SAMPLES = 500
ACCURACY, ATTRIBUTIONS = "accuracy", "attributions"  # names of evaluations
BY_SAMPLES, BY_MODELS, NEAR = "†", "‡", "*"  # marks in tables, see NOTES
SPECIFIC = ("const", "irreg", "adj", "verb")  # factors for the examples of a single data set
FEW_SHOT, RANKINGS, PAIRS, TESTS = "Few-shot accuracy [95 %]", "Rankings", "Pairwise accuracy", "Factors less ACC"
LESS, FEW, TAU = "less ACC [95 %]", "few-shot accuracy", "Kendall's tau"  # columns
TO_DO = REMEDIES | {EXAMPLES: "Evaluate both with one seed and number of examples, or name two sets with --set."}
NOTES = (
    f"{BY_SAMPLES} better than ACC by the paper's bootstrap (p < 0.05), which treats samples as data and so finds too "
    f"many differences. {BY_MODELS} better by Heedful's test, which resamples models and examples, the examples of the "
    "truth included (p < 0.05 after Holm's correction over the factors of one set, method and n). Intervals belong to "
    "Heedful's test; p values are two-sided.",
    f"{NEAR} near pair: the gap in accuracy is less than two standard errors. Ties count one half.",
)


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

    @property
    def near(self) -> set[tuple[int, int]]:
        """Pairs of models with similar accuracies, see :func:`.near_pairs`."""
        return near_pairs(self.correct, self.clusters)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of examples, explained examples, models, pairs of models, and near pairs."""
        explained = next(iter(self.populations.values())).places
        return self.correct.shape[1], len(explained), len(self.models), len(ordered_pairs(self.truth)), len(self.near)


class Ranking(NamedTuple):
    """The rankings of the models of a suite by all rankers, for one attribution method and one sample size."""

    suite: Suite
    method: str
    result: Ranked

    def numbers(self) -> Iterator[dict[str, Any]]:
        """Yield the numbers of rankers as rows of a frame, with table, column, set, method, size, ranker and marks."""
        models, near = self.suite.models, self.suite.near
        pairs = self.result.rankings[ACC].pairs.tolist()
        titles = [f"{models[b]} > {models[w]}{NEAR if (b, w) in near else ''}" for b, w in pairs]
        for name, ranking in self.result.rankings.items():
            tables: dict[str, dict[str, Any]] = {
                FEW_SHOT: {self.suite.name: self.result.few_shot[name]},
                RANKINGS: {FEW: ranking.few_shot, "ties": ranking.ties, TAU: ranking.tau, "regret": ranking.regret},
                PAIRS: dict(zip(titles, ranking.pairwise.tolist(), strict=True)),
            }
            marks = ""
            if (test := self.result.tests.get(name)) is not None:
                p = {"p samples": test.p_samples, "p": test.p, "p Holm": test.p_holm}
                tables[TESTS] = {LESS: test.by_models, **p}
                marks += BY_SAMPLES if test.is_better(test.p_samples) else ""
                marks += BY_MODELS if test.is_better(test.p_holm) else ""
            about = {"set": self.suite.name, "method": self.method, "size": self.result.n, "ranker": name}
            for table, column, m in ((table, *entry) for table, row in tables.items() for entry in row.items()):
                fields = fields_of(m) if isinstance(m, Measurement) else {"value": m, "flags": "", "unit": "share"}
                if column == TAU or (table == TESTS and column != LESS):
                    fields["unit"] = "ratio"
                yield {**about, **fields, "table": table, "column": column, "marks": marks}


def sets_of(folders: Sequence[str], assignments: Sequence[str] = ()) -> dict[str, list[Run]]:
    """Read the results in folders, grouped by data set and split, and further sets "NAME=FOLDER,FOLDER,...".

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
    groups += zip(columns(runs).values(), by_data(runs), strict=True)
    for name, members in groups:
        if len(members) == 1:
            raise RunError(
                f"The set {name} has results of one model, {members[0].folder}. Name two models on the same examples."
            )
    if len(sets := dict(groups)) < len(groups):
        raise SettingError(f"Two of these sets have one name: {', '.join(name for name, _ in groups)}. Use --set.")
    return sets


def read_suite(name: str, runs: Sequence[Run], factors: Mapping[str, Factor], l1: bool = False) -> Suite:
    """Read the results of models on one data set.

    Args:
        name: Name of the data set.
        runs: A run for each model.
        factors: Factors by name.
        l1: Whether factors are computed from :func:`.normalised` attributions; names of methods then end with "-l1".

    Raises:
        HeedfulError: A folder has no accuracy or no attributions, the examples or the methods of attribution of the
            models differ, or all models have the same accuracy.
    """
    folders = tuple(run.folder for run in runs)
    explained = [_explained(run, l1) for run in runs]
    require_alike(runs, PAIRED, (ACCURACY, ATTRIBUTIONS), TO_DO)
    bases = [select(run.rows[ACCURACY][0], intervention=BASE) for run in runs]
    contexts = [run.contexts[ACCURACY] for run in runs]
    columns = [(strings(base, "y"), strings(base, "gold")) for base in bases]
    correct = np.array([context.kind.scores(*texts) for context, texts in zip(contexts, columns, strict=True)])
    if len(np.unique(correct.mean(axis=1))) == 1:
        raise RunError(f"{name}: all models have the same accuracy and no order. Name models that differ in it.")
    labels = [context.labels for context in contexts]
    populations = {
        method: population_of(bases, labels, [examples[method] for examples in explained], factors)
        for method in explained[0]  # equal for all models, as require_alike has compared their manifests
    }
    return Suite(name, tuple(short_names(folders)), folders, correct, cluster_of(bases[0]), populations)


def _explained(run: Run, l1: bool) -> dict[str, list[Attribution]]:
    """Read the attributions of the unchanged examples of a run, by method, normalised with ``l1``."""
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
    return {f"{method}-l1": [*map(normalised, several)] for method, several in explained.items()} if l1 else explained


def _build(suites: Sequence[Suite], rankings: Sequence[Ranking], frame: pd.DataFrame, samples: int) -> Iterator[Cells]:
    """Yield the tables of ``heedful rank``; ``rankings`` have one sample size, ``frame`` all."""
    sizes, size = frame["size"].unique(), rankings[0].result.n
    header = ["set", "examples", "explained", "models", "pairs", "near pairs"]
    heading = f"Sizes (table 9); {samples:,} samples of {', '.join(map(str, sizes))}"
    yield Cells(heading, header, [[suite.name, *(f"{count:,}" for count in suite.sizes)] for suite in suites])
    truths = [
        {"set": suite.name, "model": model, **fields_of(Measurement(truth, suite.correct.shape[1]))}
        for suite in suites
        for model, truth in zip(suite.models, suite.truth.tolist(), strict=True)
    ]
    yield tabulate(pd.DataFrame(truths), "model", "set", heading="Accuracy of each model (tables 5 and 6), %")
    few_shot, usual = frame[frame["table"] == FEW_SHOT], frame[frame["size"] == size]
    for (method, n), group in few_shot.groupby(["method", "size"], sort=False):
        yield tabulate(group, "ranker", "set", _text, f"{FEW_SHOT}, {method}, n = {n} (tables 2, 7, 8), %")
    for name, group in few_shot[few_shot["size"] == size].groupby("set", sort=False):
        if group["method"].nunique() > 1:  # baselines do not depend on the method
            once = group[~group["ranker"].isin(BASELINES) | (group["method"] == group["method"].iloc[0])]
            heading = f"Few-shot accuracy by method, {name}, n = {size} (table 1), %"
            yield tabulate(once, "ranker", "method", _text, heading)
    for table, end in {TESTS: "; points and p values", RANKINGS: "; tau and %", PAIRS: " (table 4), %"}.items():
        for (name, method), group in usual[usual["table"] == table].groupby(["set", "method"], sort=False):
            yield tabulate(group, "ranker", "column", _text, f"{table}, {name}, {method}, n = {size}{end}")
    for method, group in usual[usual["column"] == FEW].groupby("method", sort=False):
        yield _pooled(group, [ranking for ranking in rankings if ranking.method == method])


def _frame_of(rankings: Sequence[Ranking]) -> pd.DataFrame:
    """Return the numbers of rankings in one frame, a row for each ranker and number, baselines first."""
    frame = pd.DataFrame([row for ranking in rankings for row in ranking.numbers()])
    order = list(dict.fromkeys([*BASELINES, *FACTORS, *frame["ranker"]]))
    return frame.sort_values("ranker", key=lambda names: names.map(order.index), kind="stable")


def _text(m: Mapping[str, Any]) -> str:
    """Format a number of the frame of rankings: a share with its marks, a difference, Kendall's tau or a p value."""
    if m["unit"] == "share":
        text = number(m, "+" if m["column"] == LESS else "", ci95=True)
        return Number(f"{text} {m['marks']}".strip() if m["table"] == FEW_SHOT else text, m)
    if m["table"] == RANKINGS:
        return Number(f"{m['value']:+z.2f}", m)
    return Number("-" if m["value"] is None else f"{m['value']:.3f}" if m["value"] >= 0.001 else "<0.001", m)


def _pooled(frame: pd.DataFrame, rankings: Sequence[Ranking]) -> Cells:
    """Build table 3: few-shot accuracies, averaged over data sets, also of GUESS and :func:`set_dependent`."""
    shares = frame.pivot(index="ranker", columns="set", values="value").reindex(frame["ranker"].unique()).dropna()
    means = shares.mean(axis=1).to_dict()
    guessed = guessed_scores([dict(zip(r.suite.models, r.suite.truth.tolist(), strict=True)) for r in rankings])
    best = max(guessed, key=guessed.__getitem__)
    guesses = {f"guess, best candidate ({best})": guessed[best]}
    guesses["guess, mean of candidates"] = float(np.mean(list(guessed.values())))
    dependent = [set_dependent(each) for each in rankings]
    if all(dependent):
        of_sets = [each.result.rankings[name].few_shot for each, name in zip(rankings, dependent, strict=True)]
        guesses[f"set-dependent ({', '.join(dict.fromkeys(dependent))})"] = float(np.mean(of_sets))
    first = {name: means.pop(name) for name in BASELINES if name in means}
    rows = [[name, percents(value)] for name, value in {**first, **guesses, **means}.items()]
    sets = f"{len(rankings)} sets" if len(rankings) > 1 else rankings[0].suite.name
    heading = f"Pooled few-shot accuracy, {sets}, {rankings[0].method}, n = {rankings[0].result.n} (table 3), %"
    return Cells(heading, ["ranker", "mean"], rows)


def set_dependent(ranking: Ranking) -> str:
    """Return the name of the factor that suits the data set of a ranking; "" for none. The paper gives no rule.

    It is a factor of :data:`SPECIFIC` that is defined on more than half of the examples, or else "swap_avg" if more
    than half of the examples have swapped words, or else "index_diff".
    """
    population = ranking.suite.populations[ranking.method]
    half = len(population.places) / 2
    candidates = [name for name in SPECIFIC if population.undefined.get(name, half) < half]
    candidates += ["swap_avg"] if population.without_swap < half else []
    return next((name for name in (*candidates, "index_diff") if name in ranking.result.tests), "")


def _notes(suites: Sequence[Suite], rankings: Sequence[Ranking]) -> Iterator[str]:
    """Yield the notes below the tables of rankings."""
    yield from NOTES
    for suite in suites:
        by_text: dict[str, list[str]] = {}
        for method, population in suite.populations.items():
            for text in _notes_on(population):
                by_text.setdefault(text, []).append(method)
        yield from (f"{suite.name}, {', '.join(methods)}: {text}" for text, methods in by_text.items())
        if (models := len(set(suite.truth.tolist()))) < FEWEST:
            yield (
                f"{suite.name}: {models} models that differ in accuracy are too few to say anything of other models "
                f"(Heedful's test needs {FEWEST}), so its intervals hold for these models alone, and are too narrow."
            )
    flags = {flag for ranking in rankings for m in ranking.result.few_shot.values() for flag in m.flags}
    yield from (f"Note: {FLAGS[flag].short}." for flag in FLAGS if flag in flags)


def _notes_on(population: Population) -> Iterator[str]:
    """Yield notes about factors that are omitted, or that are undefined or 0 on some examples."""
    total, left_out = len(population.places), population.left_out
    for reason in dict.fromkeys(left_out.values()):
        yield f"{reason}, and left out: {', '.join(name for name in left_out if left_out[name] == reason)}."
    for name, count in population.undefined.items():
        if count:
            yield f"{name} is not defined for {count:,} of {total:,} examples, which do not count."
    if population.without_swap and any(name in population.undefined for name in SWAPS):
        yield f"{population.without_swap:,} of {total:,} examples have no swapped words: SWAP factors are 0."


def _draw(frame: pd.DataFrame, folder: Path) -> Iterator[Path]:
    """Write figures 4 to 6 of the paper for each method of attribution as PNG, and yield their paths."""
    tested = set(frame["ranker"][frame["table"] == TESTS])
    for method, group in frame[frame["table"] == PAIRS].groupby("method", sort=False):
        shares = {
            ranker: {name: pairs.tolist() for name, pairs in of_ranker.groupby("set", sort=False)["value"]}
            for ranker, of_ranker in group.groupby("ranker", sort=False)
        }
        factors = {name: of_sets for name, of_sets in shares.items() if name in tested}
        about = f"{method}, n = {group['size'].iloc[0]}"
        figures = {"pairwise": histograms(shares, f"pairwise accuracy, {about}")}
        if factors:
            figures["against-acc"] = against(factors, shares[ACC], f"factors against ACC, {about}")
        for name, figure in figures.items():
            file = folder / f"ranking-{method}-{name}.png"
            with atomic_path(file) as temporary:
                figure.savefig(temporary, dpi=160, format="png")
            yield file


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
    sizes = list(dict.fromkeys(map(int, texts)))
    suites = [read_suite(name, runs, factors, options.l1) for name, runs in sets_of(options.runs, options.set).items()]
    rankings = [
        Ranking(suite, method, ranked(population, suite.correct, suite.clusters, n, options.samples, options.seed))
        for suite in suites
        for method, population in suite.populations.items()
        for n in sizes
    ]
    frame = _frame_of(rankings)
    usual = USUAL if USUAL in sizes else sizes[0]
    footer = [f"{s.name} {model}: {folder}" for s in suites for model, folder in zip(s.models, s.folders, strict=True)]
    if options.figures:
        footer += [f"in {file}" for file in _draw(frame[frame["size"] == usual], Path(options.figures))]
    tables = _build(suites, [r for r in rankings if r.result.n == usual], frame, options.samples)
    emit(tables, options.format, _notes(suites, rankings), footer)
