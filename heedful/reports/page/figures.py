"""The figures of an evaluation, as the registry draws them, for a page."""

from collections.abc import Iterator

from heedful.metrics.attributions.attribution import attributions
from heedful.reports.figures import FIGURES
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
            yield Drawn(drawn.title, inline(drawn.figure, f"{name}-{EPOCHS}-{drawn.name}", drawn.title))
    if evaluation == "attributions" and evaluation in run.rows:
        for explanation in explanations(attributions(run.rows[evaluation][0], run.contexts[evaluation])):
            yield Drawn("", f'<div class="words">{block(explanation)}</div>')
