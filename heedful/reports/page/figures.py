"""The figures of an evaluation, as the registry draws them, for a page."""

from collections.abc import Iterator, Mapping

from heedful.metrics.attributions.attribution import attributions
from heedful.records import Measurement
from heedful.records.storage.epochs import read_epochs
from heedful.reports.figures import FIGURES
from heedful.reports.page.numbers import quoted
from heedful.reports.page.run import Run, in_order
from heedful.reports.page.svg import Drawn, inline
from heedful.reports.page.words import block, explanations

EPOCHS = "epochs"  # the figure whose curves stand with the evaluation that they are of


def figures_of(run: Run, evaluation: str, name: str) -> Iterator[Drawn]:
    """The figures of an evaluation, of several of one kind the first unfolded.

    Args:
        run: The run.
        evaluation: The evaluation.
        name: Begins the ids in these figures.
    """
    for key, kind in FIGURES.items():
        if kind.evaluation == evaluation:
            for k, drawn in enumerate(kind.draw([run.measured])):
                yield Drawn(drawn.title, inline(drawn.figure, f"{name}-{key}-{k}", drawn.title), is_folded=k > 0)
    first, *_ = sections = in_order(run)
    for drawn in FIGURES[EPOCHS].draw([run.measured]):  # curves of what has no section stand in the first
        if (drawn.name if drawn.name in sections else first) == evaluation:
            points = read_epochs(run.folder)[drawn.name]
            if len(points) == 1:
                yield Drawn(_of_one_epoch(*points[0]), "")
            else:
                yield Drawn(drawn.title, inline(drawn.figure, f"{name}-{EPOCHS}-{drawn.name}", drawn.title))
    if evaluation == "attributions" and evaluation in run.rows:
        for explanation in explanations(attributions(run.rows[evaluation][0], run.contexts[evaluation])):
            yield Drawn("", f'<div class="words">{block(explanation)}</div>')


def _of_one_epoch(epoch: int, of: Mapping[str, Measurement]) -> str:
    """The only point of a curve, in words."""
    known = [f"{curve} {quoted(m.as_dict())}" for curve, m in of.items() if m.value is not None]
    return f"After epoch {epoch} of the training, on the examples that were watched then: {', '.join(known)}."
