"""Tables of a page that show how predictions change: for each label, the shares of the labels after a change."""

from dataclasses import dataclass

from heedful.records.rows import BASE
from heedful.reports.page.examples import change_of
from heedful.reports.runs import Run
from heedful.reports.tables import percents

MOST_LABELS = 8
SHOWN = ("attentiveness", "default_label", "naive_partial")  # evaluations that have these tables
CHANGE = ["intervention", "part", "variant"]


@dataclass(frozen=True)
class Moves:
    """The table that shows how one change, such as a swap of the premise, moves predictions between labels.

    Attributes:
        heading: Description of the change.
        labels: Labels of the rows and the columns.
        draws: Number of draws (random replacements) per example.
        rows: The label before, the number of examples, and a pair (percent, text) for each label after.
    """

    heading: str
    labels: list[str]
    draws: int
    rows: list[tuple[str, int, list[tuple[float, str]]]]


def moves_of(run: Run, evaluation: str) -> list[Moves]:
    """Return a table of predictions for each change that an evaluation makes, such as a swap of the premise.

    A table has a row for each label predicted before the change. The row has the shares of the labels predicted after
    the change, over all draws. A change with more than 8 distinct labels, before and after together, has no table.

    The list is empty if the evaluation is not in :data:`SHOWN`, if the run has no rows of the evaluation, or if answers
    are free texts.
    """
    if evaluation not in SHOWN or evaluation not in run.rows or not run.contexts[evaluation].kind.has_labels:
        return []
    import pandas

    frame = run.rows[evaluation][0].select([*CHANGE, "uid", "draw", "y", "y2"]).to_pandas()
    tables = []
    for names, group in frame[~frame["intervention"].isin([BASE, "null"])].groupby(CHANGE, sort=False):
        there = {*group["y"], *group["y2"]}
        labels = [
            label for label in dict.fromkeys([*run.contexts[evaluation].labels, *sorted(there)]) if label in there
        ]
        if len(labels) > MOST_LABELS:
            continue
        counts = pandas.crosstab(group["y"], group["y2"]).reindex(index=labels, columns=labels, fill_value=0)
        examples = group.groupby("y")["uid"].nunique()
        rows = []
        for label, row in zip(labels, counts.to_numpy().tolist(), strict=True):
            if total := sum(row):
                rows.append((label, int(examples[label]), [(100 * n / total, f"{percents(n / total)} %") for n in row]))
        heading = change_of(dict(zip(CHANGE, names, strict=True)))
        tables.append(Moves(heading, labels, group["draw"].nunique(), rows))
    return tables
