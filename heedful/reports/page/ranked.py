"""The order of several runs by their attributions, as ``heedful rank`` finds it, for a page."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from heedful.metrics.attributions.factors import FACTORS
from heedful.records import HeedfulError
from heedful.reports.page.run import Run
from heedful.reports.page.svg import Drawn, inline
from heedful.reports.ranking import SAMPLES, USUAL, against_acc, computed, notes
from heedful.reports.rankings import tables
from heedful.reports.rankings.folders import EVALUATION
from heedful.reports.rankings.suite import Suite, read_suite
from heedful.reports.tables import Cells

OF_PAPER = re.compile(r" \(tables? [\d, and]+\)")  # where a heading says which tables of the paper it is like
FIGURE = "each pair of models: how often a factor orders it rightly, against the accuracy on the few examples"


@dataclass(frozen=True)
class Ranking:
    """The order of models by their attributions.

    Attributes:
        tables: How well each ranker finds their order, by method.
        figures: Of pairs of models.
        notes: What a reader must know, among it why runs are not ranked.
    """

    tables: list[Cells]
    figures: list[Drawn]
    notes: list[str]


def ranked_runs(runs: Sequence[Run], told: Callable[[str], str]) -> Ranking | None:
    """Rank the runs on each data set by their attributions; None where no two on one have such.

    Args:
        runs: The runs of a page.
        told: Makes a note fit to be read elsewhere.
    """
    sets: dict[str, list[Run]] = {}
    for run in runs:
        if EVALUATION in run.rows:
            sets.setdefault(f"{run.results['data']}, {run.results['split']}", []).append(run)
    sets = {name: of for name, of in sets.items() if len(of) > 1}
    if not sets:
        return None
    suites, refused = [], []
    for name, of in sets.items():
        try:
            suites.append(_suite(name, of))
        except HeedfulError as error:
            refused.append(told(f"The runs on {name} are not ranked: {error}"))
    results = computed(suites, [USUAL], SAMPLES, seed=0)
    found: list[Cells] = []
    figures: list[Drawn] = []
    for method in dict.fromkeys(method for suite in suites for method in suite.populations):
        of_method = [suite for suite in suites if method in suite.populations]
        found.append(tables.few_shot(of_method, method, USUAL, results))
        found += [tables.rankings(suite, method, USUAL, results) for suite in of_method]
        figure = against_acc({s.name: results[s.name, method, USUAL] for s in of_method}, f"{method}, n = {USUAL}")
        if figure is not None:
            title = f"{method}: {FIGURE}"
            figures.append(Drawn(title, inline(figure, f"ranking-{method}", title), is_folded=bool(figures)))
    found = [of._replace(heading=OF_PAPER.sub("", of.heading)) for of in found]
    return Ranking(found, figures, [*refused, *(map(told, notes(suites, results)) if suites else ())])


def _suite(name: str, runs: Sequence[Run]) -> Suite:
    """The runs on one data set, called as the page calls them.

    Raises:
        HeedfulError: They cannot be ranked.
    """
    suite = read_suite(name, [run.measured.folder for run in runs], FACTORS, ())
    return replace(suite, models=tuple(run.name for run in runs))
