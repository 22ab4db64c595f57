"""How predictions move when something is changed: from each label to each, as a table."""

from dataclasses import dataclass

from heedful.records.rows import BASE
from heedful.reports.page.examples import change_of
from heedful.reports.page.run import Run
from heedful.reports.tables import percents

MOST_LABELS = 8
SHOWN = ("attentiveness", "default_label", "naive_partial")  # evaluations of which the moves are shown
CHANGE = ["intervention", "part", "variant"]


@dataclass(frozen=True)
class Moves:
    """The moves of one change.

    Attributes:
        heading: What was changed.
        labels: The answers, in the order of rows and columns.
        draws: Number of draws per example.
        rows: An answer before the change, how many examples got it, and (percent, text) for each answer after
            the change.
    """

    heading: str
    labels: list[str]
    draws: int
    rows: list[tuple[str, int, list[tuple[float, str]]]]


def moves_of(run: Run, evaluation: str) -> list[Moves]:
    """The moves of each change, over all draws; none where answers are many, or texts."""
    if evaluation not in SHOWN or evaluation not in run.rows or not run.contexts[evaluation].kind.has_labels:
        return []
    import pandas

    frame = run.rows[evaluation][0].select([*CHANGE, "uid", "draw", "y", "y2"]).to_pandas()
    found = []
    for names, group in frame[~frame["intervention"].isin([BASE, "null"])].groupby(CHANGE, sort=False):
        there = {*group["y"], *group["y2"]}
        known = [label for label in dict.fromkeys([*run.contexts[evaluation].labels, *sorted(there)]) if label in there]
        if len(known) > MOST_LABELS:
            continue
        counts = pandas.crosstab(group["y"], group["y2"]).reindex(index=known, columns=known, fill_value=0)
        examples = group.groupby("y")["uid"].nunique()
        rows = []
        for label, row in zip(known, counts.to_numpy().tolist(), strict=True):
            if total := sum(row):
                rows.append((label, int(examples[label]), [(100 * n / total, f"{percents(n / total)} %") for n in row]))
        heading = change_of(dict(zip(CHANGE, names, strict=True)))
        found.append(Moves(heading, known, group["draw"].nunique(), rows))
    return found
