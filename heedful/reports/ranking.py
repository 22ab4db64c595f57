"""Do ten examples tell which model will hold? ``heedful rank [RUN ...] [--set NAME=RUN,RUN,...]``.

Ranks the models of a suite by their attributions on a few out-of-distribution examples, and compares that with their
accuracy on all of them ("Assessing Out-of-Domain Language Model Performance from Few Examples", tables 1 to 9, figures
4 to 6). RUN is the folder of an evaluation with accuracy and attributions, or a folder that holds those of one set:
then the set has the name of the folder. Evaluations that are named one by one are grouped by their data and split.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console

from heedful.metrics.attributions.attribution import Attribution, attributions, normalised
from heedful.metrics.attributions.choice import factors_named, value_of
from heedful.metrics.attributions.factors import FACTORS, Factor, has_swapped_words
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
    guess,
    ordered_pairs,
    ranked,
)
from heedful.records import Context, RunError, SettingError, atomic_path, listing, printable
from heedful.records.command_lines import CommandParser
from heedful.records.rows import BASE, cluster_of, probabilities, select, strings
from heedful.records.storage.folder_names import newest_versions
from heedful.records.storage.results import RESULTS, distinct, read_evaluation, read_results, rows_file
from heedful.reports.alike import EXAMPLES, PAIRED, REMEDIES, require_alike
from heedful.reports.figures import rankings as figures
from heedful.reports.flags import FLAGS
from heedful.reports.runs import measured, require_gold, short_names
from heedful.reports.tables import FORMATS, Cells, emit, number, percents

USUAL = 10  # examples of a sample, of which all tables are made where it is among the sizes
SAMPLES = 500
ACCURACY, ATTRIBUTIONS = "accuracy", "attributions"  # evaluations
BASELINES = (ACC, CONF, CONF_GT, REVERSED, RANDOM)
BY_SAMPLES, BY_MODELS, NEAR = "†", "‡", "*"
SPECIFIC = ("const", "irreg", "adj", "verb")  # made for one set, where they are defined
SWAPS = ("swap_avg", "swap_max_diff")  # factors of words that are in both parts
TO_DO = REMEDIES | {EXAMPLES: "Evaluate both with one seed and as many examples, or name two sets with --set."}
NOTES = (
    f"{BY_SAMPLES} better than ACC by the paper's bootstrap (p < 0.05), which takes samples as data and so finds too "
    f"much. {BY_MODELS} better by Heedful's test, which resamples models and examples, those of the truth among them "
    "(p < 0.05 after Holm's correction over the factors of one set, method and n). Intervals are those of Heedful's "
    "test; p values are two-sided.",
    f"{NEAR} near pair: the gap in accuracy is less than two standard errors. Ties count one half.",
)


@dataclass(frozen=True)
class Population:
    """The explained examples of a suite, by one method.

    Attributes:
        values: Ranker to its value for each model and example, float64 [models, population]; higher for a model that
            should be better, so that factors stand with their sign reversed; nan where a factor is not defined.
        undefined: Each factor among the rankers to how many examples it is not defined for, in one model or more.
        left_out: Factor that is no ranker to the reason; each would count in the correction for several tests.
        without_swap: How many examples have no swapped words, and so count 0 in the SWAP factors.
        places: Which of all examples these are, int64 [population].
    """

    values: Mapping[str, np.ndarray]
    undefined: Mapping[str, int]
    left_out: Mapping[str, str]
    without_swap: int
    places: np.ndarray

    def notes(self) -> Iterator[str]:
        """Which factors are not defined, for some examples or for all, or say nothing of their own."""
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
    """Models on one OOD set.

    Attributes:
        name: Of the set.
        models: Names of the models.
        folders: Folders of their results.
        correct: What each answer is worth, float64 [models, examples].
        clusters: The cluster of each example, int [examples].
        populations: Method to the explained examples.
    """

    name: str
    models: tuple[str, ...]
    folders: tuple[str, ...]
    correct: np.ndarray
    clusters: np.ndarray
    populations: Mapping[str, Population]

    @property
    def truth(self) -> np.ndarray:
        """The accuracy of each model on all examples: float64 [models]."""
        return self.correct.mean(axis=1)

    def near(self) -> set[tuple[int, int]]:
        """The pairs, the better model first, whose gap is less than two standard errors."""
        gaps = {(b, w): gap(self.correct[b], self.correct[w], self.clusters) for b, w in ordered_pairs(self.truth)}
        return {(int(b), int(w)) for (b, w), (value, error) in gaps.items() if value < 2 * error}


def sets_of(folders: Sequence[str], named: Sequence[str] = ()) -> dict[str, list[str]]:
    """The name of each OOD set to the folders of results on it, one for each model.

    Args:
        folders: Folders of results, or folders that hold them.
        named: Further sets, "NAME=FOLDER,FOLDER,...".

    Raises:
        HeedfulError: A folder holds no results, a set is named twice, or a set has fewer than two models.
    """
    found: list[tuple[str, list[str]]] = []
    for text in named:
        if (of := re.fullmatch("([^=]+)=(.+)", text)) is None:
            raise SettingError(f"--set {text} is not a set. Write NAME=FOLDER,FOLDER,... with a folder for each model.")
        found.append((of[1], [below for folder in of[2].split(",") for below in _below(folder)]))
    runs = [folder for folder in distinct(folders) if (Path(folder) / RESULTS).exists()]
    found += [(Path(folder).resolve().name, _below(folder)) for folder in distinct(folders) if folder not in runs]
    about = {folder: (read_results(folder)["data"], read_results(folder)["split"]) for folder in runs}
    for data, split in dict.fromkeys(about.values()):
        has_splits = len({other for of, other in about.values() if of == data}) > 1
        of_set = [folder for folder in runs if about[folder] == (data, split)]
        found.append((f"{data} {split}" if has_splits else data, of_set))
    sets = {name: distinct(below) for name, below in found}
    for name, below in sets.items():
        if len(below) < 2:
            raise RunError(
                f"The set {name} has the results of one model alone: {below[0]}. Name those of two models or more on "
                "the same examples."
            )
    if len(sets) < len(found):
        raise SettingError(f"Two of these sets have one name: {', '.join(name for name, _ in found)}. Use --set.")
    return sets


def _below(folder: str) -> list[str]:
    """The folder itself, or the folders below it that hold attributions; step-25 stands before step-100."""
    files = [] if (Path(folder) / RESULTS).exists() else Path(folder).rglob(str(rows_file("", ATTRIBUTIONS)))
    below = list(map(str, newest_versions([path.parents[1] for path in files])))
    if not below:
        read_results(folder)  # says what is missing
    return sorted(below, key=lambda p: [(s, int(k or 0)) for s, k in re.findall(r"(\D*)(\d*)", p)]) or [folder]


def _unexplained(folders: Sequence[str], sets: Mapping[str, Sequence[str]]) -> list[Path]:
    """The folders of results below those that were named which hold no attributions, and so are in no set."""
    above = [Path(folder) for folder in folders if not (Path(folder) / RESULTS).exists()]
    below = newest_versions([path.parent for folder in above for path in folder.rglob(RESULTS)])
    return sorted({*below} - {Path(folder) for of_set in sets.values() for folder in of_set})


def read_suite(name: str, folders: Sequence[str], factors: Mapping[str, Factor], methods: Sequence[str]) -> Suite:
    """Read the results of all models on one OOD set.

    Args:
        name: Of the set.
        folders: A folder of results for each model.
        factors: The factors that are tried.
        methods: Methods of attribution that are wanted; none for all that all models have.

    Raises:
        HeedfulError: A folder has no accuracy or no attributions, the models were not given the same examples or not
            explained alike, or they are all equally good.
    """
    models = [_read(folder) for folder in folders]
    require_alike(measured(folders), PAIRED, (ACCURACY, ATTRIBUTIONS), TO_DO)
    there = list(models[0][2])  # of all models, since their manifests are the same
    if missing := [method for method in methods if method not in there]:
        raise RunError(
            f"{name}: these models were not explained by {missing[0]}. They were explained by {listing(there)}."
        )
    of_models = [context.kind.scores(strings(base, "y"), strings(base, "gold")) for base, context, _ in models]
    correct = np.array(of_models, dtype=np.float64)
    if len(np.unique(correct.mean(axis=1))) == 1:
        raise RunError(
            f"{name}: all models have the same accuracy, so that there is no order to predict. Name models that differ "
            "in it."
        )
    populations = {
        method: _population([(base, context, own[method]) for base, context, own in models], factors)
        for method in methods or there
    }
    return Suite(name, tuple(short_names(folders)), tuple(folders), correct, cluster_of(models[0][0]), populations)


def _read(folder: str) -> tuple[pa.Table, Context, dict[str, list[Attribution]]]:
    """The base rows of all examples, their context, and each method's attributions of the explained ones by uid."""
    read_results(folder)
    evaluated = {name: read_evaluation(folder, name) for name in (ACCURACY, ATTRIBUTIONS)}
    for name, found in evaluated.items():
        if found is None:
            raise RunError(
                f"{folder} has no rows of {name}. Evaluate again, with {ACCURACY} and {ATTRIBUTIONS} among evaluations."
            )
    (rows, metadata), (words, about) = evaluated.values()
    require_gold(folder, Context.of(about["context"]))
    several: dict[str, list[Attribution]] = {}
    for one in attributions(words, Context.of(about["context"])):
        if one.variant == "":
            several.setdefault(one.method, []).append(one)
    if len({tuple(one.uid for one in examples) for examples in several.values()}) != 1:
        raise RunError(f"{folder}: its methods explain different examples, or none. Evaluate again.")
    return select(rows, intervention=BASE), Context.of(metadata["context"]), several


def _population(
    models: Sequence[tuple[pa.Table, Context, Sequence[Attribution]]], factors: Mapping[str, Factor]
) -> Population:
    """The rankers of the examples that one method explains, given base rows, context and attributions of each model."""
    at = {uid: k for k, uid in enumerate(models[0][0]["uid"].to_pylist())}
    places = np.array([at[one.uid] for one in models[0][2]])
    own = [_baselines(base.take(pa.array(places)), context.labels) for base, context, _ in models]
    values = {name: np.stack([of[name] for of in own]) for name in own[0] if all(name in of for of in own)}
    swaps = [has_swapped_words(one) for one in models[0][2]]
    undefined: dict[str, int] = {}
    left_out = {}
    for name, factor in factors.items():
        of_models = [[value_of(name, factor, one) for one in examples] for _, _, examples in models]
        column = np.array(of_models, dtype=np.float64)  # None becomes nan
        is_undefined = np.isnan(column).any(axis=0)
        twin = next((other for other in undefined if np.array_equal(values[other], -column, equal_nan=True)), None)
        if is_undefined.all():
            left_out[name] = "not defined for any example"
        elif name in SWAPS and not any(swaps):
            left_out[name] = "0 for all examples, none of which has swapped words"
        elif twin is not None:
            left_out[name] = f"the same as {twin}"
        else:
            undefined[name] = int(is_undefined.sum())
            values[name] = -column
    return Population(values, undefined, left_out, swaps.count(False), places)


def _baselines(base: pa.Table, labels: Sequence[str]) -> dict[str, np.ndarray]:
    of = {label: k for k, label in enumerate(labels)}
    y, gold = (np.array([of.get(text, -1) for text in strings(base, name)]) for name in ("y", "gold"))
    has_p = labels and not base["p"].null_count
    return baselines(probabilities(base, "p") if has_p else np.zeros((len(y), 0)), y, gold)


@dataclass(frozen=True)
class Report:
    """The rankings of each suite by each method and size.

    Attributes:
        suites: The suites.
        sizes: Examples of a sample.
        samples: How many samples.
        results: (set, method, size) to what was found.
    """

    suites: Sequence[Suite]
    sizes: Sequence[int]
    samples: int
    results: Mapping[tuple[str, str, int], Ranked]

    @classmethod
    def of(cls, suites: Sequence[Suite], sizes: Sequence[int], samples: int, seed: int) -> "Report":
        """Rank the models of each set by each method that explains them, and each size of samples."""
        results = {
            (suite.name, method, n): ranked(
                of.values, of.undefined, suite.correct, of.places, suite.clusters, n, samples, seed
            )
            for suite in suites
            for method, of in suite.populations.items()
            for n in sizes
        }
        return cls(suites, sizes, samples, results)

    @property
    def n(self) -> int:
        """The size of samples of which all tables and figures are made."""
        return USUAL if USUAL in self.sizes else self.sizes[0]

    def by_method(self) -> dict[str, list[Suite]]:
        """Each method to the suites that it explains."""
        methods = dict.fromkeys(method for suite in self.suites for method in suite.populations)
        return {method: [suite for suite in self.suites if method in suite.populations] for method in methods}

    def tables(self) -> Iterator[Cells]:
        """The tables in the order of reading: what models are worth, few-shot accuracy, tests, and single pairs."""
        yield self._sizes()
        yield self._accuracies()
        for method, of in self.by_method().items():
            for n in self.sizes:
                heading = f"Few-shot accuracy [95 %], {method}, n = {n} (tables 2, 7, 8), %"
                yield _few_shot(heading, {suite.name: self.results[suite.name, method, n] for suite in of})
        for suite in (suite for suite in self.suites if len(suite.populations) > 1):
            of_methods = {method: self.results[suite.name, method, self.n] for method in suite.populations}
            table = _few_shot(f"Few-shot accuracy by method, {suite.name}, n = {self.n} (table 1), %", of_methods)
            for row in (row for row in table.rows if row[0] in BASELINES):  # baselines need no method
                row[2:] = [""] * len(row[2:])
            yield table
        for make in (_tests, _rankings, _pairs):
            for suite in self.suites:
                for method in suite.populations:
                    yield make(suite, method, self.results[suite.name, method, self.n])
        for method, of in self.by_method().items():
            yield self._pooled(of, method)

    def _sizes(self) -> Cells:
        """Table 9: how many examples and models there are."""
        rows = []
        for suite in self.suites:
            explained = len(next(iter(suite.populations.values())).places)
            pairs = len(ordered_pairs(suite.truth))
            counts = suite.correct.shape[1], explained, len(suite.models), pairs, len(suite.near())
            rows.append([suite.name, *(f"{count:,}" for count in counts)])
        heading = f"Sizes (table 9); {self.samples:,} samples of {', '.join(map(str, self.sizes))}"
        return Cells(heading, ["set", "examples", "explained", "models", "pairs", "near pairs"], rows)

    def _accuracies(self) -> Cells:
        """Tables 5 and 6: the accuracy of each model on each OOD set."""
        of = [dict(zip(suite.models, suite.truth, strict=True)) for suite in self.suites]
        models = dict.fromkeys(model for suite in self.suites for model in suite.models)
        rows = [[model, *(percents(truth[model]) if model in truth else "-" for truth in of)] for model in models]
        header = ["model", *(suite.name for suite in self.suites)]
        return Cells("Accuracy of each model (tables 5 and 6), %", header, rows)

    def _pooled(self, suites: Sequence[Suite], method: str) -> Cells:
        """Table 3: the mean over sets of what ranks all, with GUESS, and the factor that is made for each set."""
        of = [self.results[suite.name, method, self.n] for suite in suites]

        def row(label: str, names: Sequence[str]) -> list[str]:
            shares = [each.rankings[name].few_shot for each, name in zip(of, names, strict=True)]
            return [label, percents(float(np.mean(shares)))]

        shared = [name for name in rankers(of) if all(name in each.rankings for each in of)]
        guessed = guess([dict(zip(suite.models, suite.truth.tolist(), strict=True)) for suite in suites])
        best = max(guessed, key=guessed.__getitem__)
        guesses = [
            [f"guess, best candidate ({best})", percents(guessed[best])],
            ["guess, mean of candidates", percents(float(np.mean(list(guessed.values()))))],
        ]
        made = [set_dependent(suite, method, each) for suite, each in zip(suites, of, strict=True)]
        if all(made):
            guesses.append(row(f"set-dependent ({', '.join(dict.fromkeys(made))})", made))
        at = sum(name in BASELINES for name in shared)
        rows = [row(name, [name] * len(of)) for name in shared]
        several = f"{len(suites)} sets" if len(suites) > 1 else suites[0].name
        heading = f"Pooled few-shot accuracy, {several}, {method}, n = {self.n} (table 3), %"
        return Cells(heading, ["ranker", "mean"], [*rows[:at], *guesses, *rows[at:]])

    def notes(self) -> Iterator[str]:
        """What a reader must know of these tables, a sentence or two each."""
        yield from NOTES
        for suite in self.suites:
            by_text: dict[str, list[str]] = {}
            for method, of in suite.populations.items():
                for text in of.notes():
                    by_text.setdefault(text, []).append(method)
            yield from (f"{suite.name}, {', '.join(methods)}: {text}" for text, methods in by_text.items())
            if (models := len(set(suite.truth.tolist()))) < FEWEST:
                yield (
                    f"{suite.name}: {models} models that differ in accuracy are too few to say anything of others (our "
                    f"test needs {FEWEST}), so its intervals are of these models alone, and too narrow."
                )
        flags = {flag for each in self.results.values() for m in each.few_shot.values() for flag in m.flags}
        yield from (f"Note: {FLAGS[flag].short}." for flag in FLAGS if flag in flags)

    def draw(self, folder: Path) -> Iterator[Path]:
        """Write figure 4, and figures 5 and 6 where a factor ranks, for each method; yields the files."""
        for method, suites in self.by_method().items():
            of = {suite.name: self.results[suite.name, method, self.n] for suite in suites}
            names = rankers(list(of.values()))
            shares = {
                name: {key: each.rankings[name].pairwise for key, each in of.items() if name in each.rankings}
                for name in names
            }
            factors = {name: shares[name] for name in names if any(name in each.tests for each in of.values())}
            about = f"{method}, n = {self.n}"
            drawn = {"pairwise": figures.histograms(shares, f"pairwise accuracy, {about}")}
            if factors:
                drawn["against-acc"] = figures.against(factors, shares[ACC], f"factors against ACC, {about}")
            for name, figure in drawn.items():
                file = folder / f"ranking-{method}-{name}.png"
                with atomic_path(file) as temporary:
                    figure.savefig(temporary, dpi=160, format="png")
                yield file


def rankers(found: Sequence[Ranked]) -> list[str]:
    """Every ranker of these, baselines first, then factors in the order of the paper, then others."""
    names = dict.fromkeys(name for each in found for name in each.rankings)
    return list(dict.fromkeys([*(name for name in (*BASELINES, *FACTORS) if name in names), *names]))


def _few_shot(heading: str, of: Mapping[str, Ranked]) -> Cells:
    """Few-shot accuracy of each ranker, with intervals and marks of both tests; a column for each set or method."""

    def cell(name: str, found: Ranked) -> str:
        if name not in found.rankings:
            return "-"
        marks = ""
        if (test := found.tests.get(name)) is not None:
            marks += BY_SAMPLES if test.is_better(test.p_samples) else ""
            marks += BY_MODELS if test.is_better(test.p_holm) else ""
        return f"{number(found.few_shot[name], ci95=True)} {marks}".strip()

    rows = [[name, *(cell(name, each) for each in of.values())] for name in rankers(list(of.values()))]
    return Cells(heading, ["ranker", *of], rows)


def _tests(suite: Suite, method: str, found: Ranked) -> Cells:
    """Each factor against ACC: the paper's test, which takes samples as data, and Heedful's own."""

    def p(value: float | None) -> str:
        return "-" if value is None else f"{value:.3f}" if value >= 0.001 else "<0.001"

    rows = [
        [name, number(test.own, "+", ci95=True), *map(p, (test.p_samples, test.p, test.p_holm))]
        for name, test in found.tests.items()
    ]
    heading = f"Factors less ACC, {suite.name}, {method}, n = {found.n}; points and p values"
    return Cells(heading, ["factor", "less ACC [95 %]", "p samples", "p", "p Holm"], rows)


def _rankings(suite: Suite, method: str, found: Ranked) -> Cells:
    """What else says how well each ranker orders models."""
    of = {name: found.rankings[name] for name in rankers([found])}
    rows = [
        [name, percents(r.few_shot), percents(r.ties), f"{r.tau:+z.2f}", percents(r.regret)] for name, r in of.items()
    ]
    heading = f"Rankings, {suite.name}, {method}, n = {found.n}; tau and %"
    return Cells(heading, ["ranker", "few-shot accuracy", "ties", "Kendall's tau", "regret"], rows)


def _pairs(suite: Suite, method: str, found: Ranked) -> Cells:
    """Table 4: pairwise accuracy of each ranker, by pairs of models, the better one first."""
    near = suite.near()
    header = [
        f"{suite.models[better]} > {suite.models[worse]}{NEAR if (better, worse) in near else ''}"
        for better, worse in found.rankings[ACC].pairs.tolist()
    ]
    rows = [[name, *map(percents, found.rankings[name].pairwise)] for name in rankers([found])]
    heading = f"Pairwise accuracy, {suite.name}, {method}, n = {found.n} (table 4), %"
    return Cells(heading, ["ranker", *header], rows)


def set_dependent(suite: Suite, method: str, found: Ranked) -> str:
    """The factor that is made for a set; "" for none.

    Heedful's own rule, as the paper names none: CONST, IRREG, ADJ or VERB where it is defined for most examples; else
    SWAP-AVG where most examples have swapped words; else INDEX-DIFF.
    """
    population = suite.populations[method]
    half = len(population.places) / 2
    candidates = [name for name in SPECIFIC if population.undefined.get(name, half) < half]
    candidates += ["swap_avg"] if population.without_swap < half else []
    return next((name for name in (*candidates, "index_diff") if name in found.tests), "")


def of_normalised(factor: Factor, of: Attribution) -> float | None:
    """A factor of an example whose phi are divided by the sum of their sizes."""
    return factor(normalised(of))


def _parser() -> CommandParser:
    about = (
        "Do ten examples tell which model will hold? Ranks the models of a suite by their attributions on a few "
        "examples of other data, and compares that with their accuracy on all of them."
    )
    examples = [
        ("runs/suites/msgs", "all sets below a folder"),
        ("--set morph=RUN,RUN,RUN --n 5,10,20", "evaluations that are named, samples of three sizes"),
    ]
    parser = CommandParser("rank", about, examples)
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folder of an evaluation, or a folder of these")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=RUN,RUN", help="evaluations on one set")
    parser.add_argument("--method", default="", help="methods of attribution, such as shap,lime; by default all")
    parser.add_argument("--n", default=str(USUAL), help="examples of a sample: one number or several, such as 5,10,20")
    parser.add_argument("--samples", type=int, default=SAMPLES, help=f"how many samples; {SAMPLES} by default")
    parser.add_argument("--factors", default="", help="names of factors, or module:function; by default all")
    parser.add_argument("--l1", action="store_true", help="divide the phi of an example by the sum of their sizes")
    parser.add_argument("--seed", type=int, default=0, help="of the samples")
    parser.add_argument("--figures", metavar="FOLDER", help="write the figures there, as PNG")
    help_format = "print the tables alone, in this format; notes go to standard error"
    parser.add_argument("--format", choices=list(FORMATS), help=help_format)
    return parser


def main(arguments: list[str]) -> None:
    """Print the tables, and draw the figures if there is a folder for them."""
    options = _parser().parse_intermixed_args(arguments)
    sizes = options.n.split(",")
    if not all(size.strip().isdecimal() and int(size) > 0 for size in sizes):
        raise SettingError(f"--n {options.n}: these are not numbers of examples. Write them as in 5,10,20.")
    if options.samples < 1:
        raise SettingError(f"--samples is {options.samples}. Take one sample or more.")
    if not options.runs and not options.set:
        raise RunError(
            "There is nothing to rank. Name the folders of two evaluations or more, or a folder that holds them."
        )
    factors = factors_named([name for name in options.factors.split(",") if name] or list(FACTORS))
    factors = {name: partial(of_normalised, of) for name, of in factors.items()} if options.l1 else factors
    methods = [name for name in options.method.split(",") if name]
    sets = sets_of(options.runs, options.set)
    suites = [read_suite(name, folders, factors, methods) for name, folders in sets.items()]
    if options.l1:
        suites = [replace(s, populations={f"{method}-l1": of for method, of in s.populations.items()}) for s in suites]
    report = Report.of(suites, list(dict.fromkeys(map(int, sizes))), options.samples, options.seed)
    console = Console(stderr=bool(options.format))
    emit(report.tables(), options.format)
    console.print()
    for note in report.notes():
        console.print(printable(note), markup=False, highlight=False)
    lines = [f"{folder} holds no attributions: left out" for folder in _unexplained(options.runs, sets)]
    lines += [
        f"{of.name} {model}: {folder}" for of in suites for model, folder in zip(of.models, of.folders, strict=True)
    ]
    lines += [f"in {file}" for file in report.draw(Path(options.figures))] if options.figures else []
    for line in lines:
        console.print(printable(line), soft_wrap=True, markup=False, highlight=False)
