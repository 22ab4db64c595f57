"""Do ten examples tell which model will hold? ``heedful rank [RUN ...] [--set NAME=RUN,RUN,...]``.

Ranks the models of a suite by their attributions on a few out-of-distribution examples, and holds that against their
accuracy on all of them ("Assessing Out-of-Domain Language Model Performance from Few Examples", tables 1 to 9, figures
4 to 6). RUN is the folder of an evaluation with accuracy and attributions, or a folder that holds those of one set:
then the set is called as the folder is. Evaluations that are named one by one are grouped by their data and split.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from heedful.metrics.attributions.attribution import Attribution, normalised
from heedful.metrics.attributions.choice import factors_named
from heedful.metrics.attributions.factors import FACTORS, Factor
from heedful.metrics.ranking.baselines import ACC
from heedful.metrics.ranking.ranked import FEWEST, Ranked, ranked
from heedful.records import RunError, SettingError, atomic_path, printable
from heedful.records.command_lines import CommandParser
from heedful.reports.figures import rankings as figures
from heedful.reports.rankings import tables
from heedful.reports.rankings.folders import sets_of, unexplained
from heedful.reports.rankings.suite import SWAPS, Population, Suite, read_suite
from heedful.reports.rankings.tables import Results
from heedful.reports.tables import FORMATS, Cells, print_cells, table_text
from heedful.reports.terminal.table import FLAGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

USUAL = 10  # examples of a sample, of which all tables are made where it is among the sizes
SAMPLES = 500


def computed(suites: Sequence[Suite], sizes: Sequence[int], samples: int, seed: int) -> Results:
    """Rank the models of each set by each method that explains them, and each size of samples."""
    return {
        (suite.name, method, n): ranked(
            of.values, of.factors, suite.correct, of.places, suite.clusters, n, samples, seed
        )
        for suite in suites
        for method, of in suite.populations.items()
        for n in sizes
    }


def _main_size(sizes: Sequence[int]) -> int:
    """The size of samples of which all tables and figures are made."""
    return USUAL if USUAL in sizes else sizes[0]


def all_tables(suites: Sequence[Suite], sizes: Sequence[int], samples: int, results: Results) -> Iterator[Cells]:
    """The tables in the order of reading: what models are worth, few-shot accuracy, tests, and single pairs."""
    main = _main_size(sizes)
    methods = list(dict.fromkeys(method for suite in suites for method in suite.populations))
    explained = {method: [suite for suite in suites if method in suite.populations] for method in methods}
    yield tables.sizes(suites, sizes, samples)
    yield tables.accuracies(suites)
    for method, of in explained.items():
        for n in sizes:
            yield tables.few_shot(of, method, n, results)
    for suite in suites:
        if len(suite.populations) > 1:
            yield tables.by_method(suite, list(suite.populations), main, results)
    for make in (tables.tests, tables.rankings, tables.pairs):
        for suite in suites:
            for method in suite.populations:
                yield make(suite, method, main, results)
    for method, of in explained.items():
        yield tables.pooled(of, method, main, results)


def notes(suites: Sequence[Suite], results: Results) -> Iterator[str]:
    """What a reader must know of these tables, a sentence or two each."""
    yield (
        f"{tables.BY_SAMPLES} better than ACC by the paper's bootstrap (p < 0.05), which takes samples as data and so "
        f"finds too much. {tables.BY_MODELS} better by Heedful's test, which resamples models and examples, those "
        "of the truth among them (p < 0.05 after Holm's correction over the factors of one set, method and n). "
        "Intervals are those of Heedful's test; p values are two-sided."
    )
    yield f"{tables.NEAR} near pair: the gap in accuracy is less than two standard errors. Ties count one half."
    for suite in suites:
        by_text: dict[str, list[str]] = {}
        for method, of in suite.populations.items():
            for text in _left_out(of):
                by_text.setdefault(text, []).append(method)
        yield from (f"{suite.name}, {', '.join(methods)}: {text}" for text, methods in by_text.items())
        if (models := len(set(suite.truth.tolist()))) < FEWEST:
            yield (
                f"{suite.name}: {models} models that differ in accuracy are too few to say anything of others (our "
                f"test needs {FEWEST}), so its intervals are of these models alone, and too narrow."
            )
    flags = {flag for each in results.values() for m in each.few_shot.values() for flag in m.flags}
    yield from (f"Note: {FLAGS[flag][1]}." for flag in FLAGS if flag in flags)


def _left_out(of: Population) -> Iterator[str]:
    """Which factors are not defined, for some examples or for all, or say nothing of their own."""
    total = len(of.places)
    for why in dict.fromkeys(of.left_out.values()):
        yield f"{why}, and left out: {', '.join(name for name in of.left_out if of.left_out[name] == why)}."
    for name, count in of.undefined.items():
        if count:
            yield f"{name} is not defined for {count:,} of {total:,} examples, which do not count."
    if of.without_swap and any(name in of.factors for name in SWAPS):
        yield f"{of.without_swap:,} of {total:,} examples have no swapped words: SWAP factors are 0."


def _pairwise(of: Mapping[str, Ranked]) -> dict[str, dict[str, np.ndarray]]:
    """Ranker to set to the pairwise accuracy of each pair of its models."""
    names = tables.rankers(list(of.values()))
    return {
        name: {key: each.rankings[name].pairwise for key, each in of.items() if name in each.rankings} for name in names
    }


def against_acc(of: Mapping[str, Ranked], about: str) -> "Figure | None":
    """Figures 5 and 6: factors against ACC; None where no factor ranks.

    Args:
        of: Set to what was found of it, by one method.
        about: Ends the title.
    """
    factors = {name: each for name, each in _pairwise(of).items() if any(name in one.tests for one in of.values())}
    acc = {key: each.rankings[ACC].pairwise for key, each in of.items()}
    return figures.against(factors, acc, f"factors against ACC, {about}") if factors else None


def draw(folder: Path, suites: Sequence[Suite], n: int, results: Results) -> list[Path]:
    """Write figure 4, and figures 5 and 6, for each method; returns the files."""
    files = []
    for method in dict.fromkeys(method for suite in suites for method in suite.populations):
        of = {s.name: results[s.name, method, n] for s in suites if method in s.populations}
        about = f"{method}, n = {n}"
        histograms = figures.histograms(_pairwise(of), f"pairwise accuracy, {about}")
        for name, figure in (("pairwise", histograms), ("against-acc", against_acc(of, about))):
            if figure is not None:
                files.append(folder / f"ranking-{method}-{name}.png")
                with atomic_path(files[-1]) as temporary:
                    figure.savefig(temporary, dpi=160, format="png")
    return files


def of_normalised(factor: Factor, of: Attribution) -> float | None:
    """A factor of an example whose phi are divided by the sum of their sizes."""
    return factor(normalised(of))


def _numbers(text: str) -> list[int]:
    numbers = text.split(",")
    if not all(number.strip().isdecimal() and int(number) > 0 for number in numbers):
        raise SettingError(f"--n {text}: these are not numbers of examples. Write them as in 5,10,20.")
    return list(dict.fromkeys(map(int, numbers)))


def _parser() -> CommandParser:
    about = (
        "Do ten examples tell which model will hold? Ranks the models of a suite by their attributions on a few "
        "examples of other data, and holds that against their accuracy on all of them."
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
    if not options.runs and not options.set:
        raise RunError(
            "There is nothing to rank. Name the folders of two evaluations or more, or a folder that holds them."
        )
    if options.samples < 1:
        raise SettingError(f"--samples is {options.samples}. Take one sample or more.")
    sizes = _numbers(options.n)
    factors = _factors([name for name in options.factors.split(",") if name], options.l1)
    methods = [name for name in options.method.split(",") if name]
    sets = sets_of(options.runs, options.set)
    suites = [read_suite(name, folders, factors, methods) for name, folders in sets.items()]
    if options.l1:
        suites = [replace(s, populations={f"{method}-l1": of for method, of in s.populations.items()}) for s in suites]
    results = computed(suites, sizes, options.samples, options.seed)
    _print_tables(all_tables(suites, sizes, options.samples, results), options.format)
    files = draw(Path(options.figures), suites, _main_size(sizes), results) if options.figures else []
    console = Console(stderr=bool(options.format))
    console.print()
    for note in notes(suites, results):
        console.print(printable(note), markup=False, highlight=False)
    for line in _folders(suites, unexplained(options.runs, sets), files):
        console.print(printable(line), soft_wrap=True, markup=False, highlight=False)


def _factors(names: Sequence[str], of_l1: bool) -> dict[str, Factor]:
    """Factors by their names, all where none is named; ``of_l1`` takes them of normalised attributions."""
    factors = factors_named(names or list(FACTORS))
    if of_l1:
        return {name: partial(of_normalised, factor) for name, factor in factors.items()}
    return factors


def _print_tables(cells_of_tables: Iterable[Cells], text_format: str | None) -> None:
    """Print tables; as text, with an empty line between them, if there is a format of it."""
    if text_format:
        texts = [table_text([cells.heading, *cells.header[1:]], cells.rows, text_format) for cells in cells_of_tables]
        print("\n".join(texts), end="")
        return
    console = Console()
    for cells in cells_of_tables:
        print_cells(cells, console)


def _folders(suites: Sequence[Suite], without: Iterable[str], files: Iterable[Path]) -> Iterator[str]:
    """Where everything lies: folders that were left out, the models of each suite, and figures."""
    for folder in without:
        yield f"{folder} holds no attributions: left out"
    for suite in suites:
        for name, folder in zip(suite.models, suite.folders, strict=True):
            yield f"{suite.name} {name}: {folder}"
    for file in files:
        yield f"in {file}"
