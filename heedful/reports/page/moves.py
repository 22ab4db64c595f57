"""Tables of a page that show how predictions change: for each label, the shares of the labels after a change."""

from typing import Any

from heedful.records.rows import BASE
from heedful.reports.page.examples import change_of
from heedful.reports.runs import Run
from heedful.reports.tables import percents

MOST_LABELS = 8
SHOWN = ("attentiveness", "default_label", "naive_partial")  # evaluations that have these tables
CHANGE = ["intervention", "part", "variant"]


def moves_of(run: Run, evaluation: str) -> list[dict[str, Any]]:
    """Return a table of predictions for each change of an evaluation of :data:`SHOWN`, such as a swap of the premise:
    the shares of the labels after the change, over all draws, for each label before the change.

    Free texts, and changes with more than :data:`MOST_LABELS` labels, have no table.
    """
    if evaluation not in SHOWN or evaluation not in run.rows or not run.contexts[evaluation].kind.has_labels:
        return []
    import pandas

    frame = run.rows[evaluation][0].select([*CHANGE, "uid", "draw", "y", "y2"]).to_pandas()
    tables = []
    for names, group in frame[~frame["intervention"].isin([BASE, "null"])].groupby(CHANGE, sort=False):
        there = {*group["y"], *group["y2"]}
        labels = [*dict.fromkeys([*run.contexts[evaluation].labels, *sorted(there)])]
        labels = [label for label in labels if label in there]
        if len(labels) > MOST_LABELS:
            continue
        shares = pandas.crosstab(group["y"], group["y2"], normalize="index").reindex(columns=labels, fill_value=0.0)
        n = group.groupby("y")["uid"].nunique()
        rows = [(y, int(n[y]), [*map(percents, shares.loc[y])]) for y in labels if y in n]
        heading = change_of(dict(zip(CHANGE, names, strict=True)))
        tables.append({"heading": heading, "labels": labels, "draws": group["draw"].nunique(), "rows": rows})
    return tables
