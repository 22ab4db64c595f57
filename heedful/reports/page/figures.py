"""The figures of an evaluation, as other reports draw them, for a page."""

from collections.abc import Iterator

from heedful.metrics.attributions.attribution import attributions
from heedful.metrics.natural_logic.causal_effects import NATURAL_LOGIC
from heedful.metrics.tables.transitions import TRANSITIONS
from heedful.records import MetricName
from heedful.records.storage.epochs import read_epochs
from heedful.reports.figures import causal_effects, transitions
from heedful.reports.figures.attentiveness import figure as attentiveness_figure
from heedful.reports.figures.history import history_figure
from heedful.reports.page.explanations import explanations
from heedful.reports.page.numbers import Measured, is_known
from heedful.reports.page.run import Run, in_order
from heedful.reports.page.svg import Drawn, inline
from heedful.reports.page.words import block


def figures_of(run: Run, evaluation: str, name: str) -> list[Drawn]:
    """The figures of an evaluation.

    Args:
        run: The run.
        evaluation: The evaluation.
        name: Begins the ids in these figures.
    """
    drawn = DRAWERS[evaluation](run, name) if evaluation in DRAWERS else ()
    return [*drawn, *_curves(run, evaluation, name)]


def _attentiveness(run: Run, name: str) -> Iterator[Drawn]:
    """Attentiveness to each part, and beside it what the other parts alone are worth."""
    parts = {part: m for part, m in run.measured.attentiveness().items() if is_known(m)}
    alone = {part: m for part in parts if (m := _others_alone(run, part)) is not None}
    if parts:
        title = f"attentiveness to {' and '.join(parts)}, with 95 % intervals"
        title += "; hollow: accuracy of this model on the other parts alone" if alone else ""
        majority = run.measured.majority
        drawn = attentiveness_figure(parts, alone, majority["value"] if majority and alone else None)
        yield Drawn(title, inline(drawn, f"{name}-parts", title))


def _others_alone(run: Run, part: str) -> Measured | None:
    """The accuracy of this model on the parts that are not swapped; None where it was not measured."""
    context = run.contexts.get("attentiveness")
    kept = "+".join(other for other in (context.parts if context else ()) if other not in part.split("+"))
    m = run.numbers.get(MetricName("naive_partial", run.results["data"], kept, "accuracy"))
    return m if m is not None and is_known(m) else None


def _curves(run: Run, evaluation: str, name: str) -> Iterator[Drawn]:
    """What a training run has measured after its epochs, in the section of the evaluation that the curves are of.

    Curves of what has no section stand in the first: accuracy beside the attentiveness that a run of one part lacks.
    """
    first, *_ = sections = in_order(run)
    for figure, points in read_epochs(run.folder).items():
        if (figure if figure in sections else first) == evaluation and any(points):
            title = "over the epochs of training, on the examples that were watched then"
            yield Drawn(title, inline(history_figure(points, ""), f"{name}-epochs-{figure}", title))


def _causal_effects(run: Run, name: str) -> Iterator[Drawn]:
    """TCE against DCE."""
    points = {data: of for data, of in causal_effects.points(run.results).items() if of}
    if points:
        title = "total against direct causal effects, with 95 % intervals; up and left is better"
        shown = {run.name if len(points) == 1 else data: of for data, of in points.items()}
        yield Drawn(title, inline(causal_effects.figure(shown), f"{name}-{NATURAL_LOGIC}", title))


def _transitions(run: Run, name: str) -> Iterator[Drawn]:
    """The graph of each operation, the first unfolded."""
    of_tables = [name for name in run.numbers if name.family == TRANSITIONS and name.data == run.results["data"]]
    for k, operation in enumerate(dict.fromkeys(name.part for name in of_tables)):
        edges = transitions.edges(run.results, operation)
        shares = edges.get(run.results["data"], {})
        if len(shares) == len(transitions.EDGES):
            title = f"how predictions move: {operation.replace('_', ', ')}"
            drawn = transitions.figure({run.name: shares}, operation)
            yield Drawn(title, inline(drawn, f"{name}-{k}", title), is_folded=k > 0)


def _words(run: Run, name: str) -> Iterator[Drawn]:
    """Words coloured by what they add."""
    if "attributions" not in run.rows:
        return
    rows, _ = run.rows["attributions"]
    context = run.contexts["attributions"]
    for explanation in explanations(attributions(rows, context)):
        yield Drawn("", f'<div class="words">{block(explanation)}</div>')


DRAWERS = {
    "attentiveness": _attentiveness,
    "table_rows": _transitions,
    "natural_logic": _causal_effects,
    "attributions": _words,
}
