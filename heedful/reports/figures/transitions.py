"""The figure "transitions": how predictions change when tables are edited, as heat maps of labels before and after.

A row has the shares of the labels after the edit, for the predictions of one label before it. There is a heat map for
each run, or for each split of a single run. Source: "Is My Model Using the Right Evidence?", figure 3.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heedful.interventions.tables.allowed_transitions import LABELS, key_of, steps, transitions
from heedful.metrics.tables.transitions import TRANSITIONS
from heedful.reports.figures.registry import COLORS, RED, Drawn, figure, panels
from heedful.reports.runs import Run
from heedful.reports.tables import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACROSS = 3  # heat maps per row
EDGES = {f"from_{before}/to_{after}": (before, after) for before in LABELS for after in LABELS}  # by metric statistic
Edges = Mapping[tuple[str, str], Mapping[str, Any]]  # entry of results.json by (label before, label after)


def collect(runs: Sequence[Run], operation: str) -> dict[str, Edges]:
    """Return the share of the predictions A that an edit turns into B, by labels (A, B), for each heat map by name."""
    maps: dict[str, Edges] = {}
    for run in runs:
        by_set: dict[tuple[str, str], dict[tuple[str, str], Mapping[str, Any]]] = {}  # by data set and split
        for name, m in run.numbers.items():
            is_edge = (name.family, name.part) == (TRANSITIONS, operation) and name.statistic in EDGES
            if is_edge and (not name.slice or name.by[0] == "split"):
                by_set.setdefault((name.data, name.by[1]), {})[EDGES[name.statistic]] = m
        is_by_split = len(runs) == 1 and any(split for _, split in by_set)
        edges_of = {", ".join(filter(None, key)): edges for key, edges in by_set.items() if bool(key[1]) == is_by_split}
        maps |= {f"{run.label} ({data})" if len(edges_of) > 1 else run.label: edges for data, edges in edges_of.items()}
    return maps


def kind_of(operation: str, before: str, after: str) -> str:
    """Return in words whether a transition is allowed when a table is edited; "" for allowed. If a row is
    deleted, the transition may be allowed only if the row is relevant or irrelevant to the hypothesis.

    Example:
        >>> kind_of("delete", "entailment", "entailment"), kind_of("insert", "entailment", "entailment")
        ('if irrelevant', '')
    """
    name, _, relevance = operation.partition("_")
    if after not in transitions(key_of(name, relevance or "unknown"))[before]:
        return "not allowed"
    if relevance or "delete" not in steps(name):
        return ""
    rows = [row for row in ("relevant", "irrelevant") if after in transitions(key_of(name, row))[before]]
    return f"if {rows[0]}" if len(rows) == 1 else ""


def heat_maps(runs: Mapping[str, Edges], operation: str) -> "Figure":
    """Draw a heat map for each run of :func:`collect`; transitions that are not allowed are red."""
    across = min(ACROSS, len(runs))
    canvas, grid = panels(len(runs), (1.6 + 3.3 * across, 0.9 + 3.1 * -(-len(runs) // across)), across)
    for axes, (label, edges) in zip(grid, runs.items(), strict=True):
        for (before, after), m in edges.items():
            kind, share = kind_of(operation, before, after), m["value"] or 0
            x, y = LABELS.index(after), LABELS.index(before)
            color = RED if kind == "not allowed" else COLORS[0]
            axes.bar(x, 1, 1, y - 0.5, color=color, alpha=0.08 + 0.5 * share, linewidth=0)
            text = "–" if m["value"] is None else number(m)
            axes.text(x, y, f"{text}\n{kind}".strip(), ha="center", va="center", fontsize=9)
        axes.set(xlim=(-0.5, 2.5), ylim=(2.5, -0.5), aspect="equal", xlabel="after the edit", ylabel="before")
        axes.set_xticks(range(3), LABELS, fontsize=8)
        axes.set_yticks(range(3), [f"{label}\nn={edges[label, label]['n']:,}" for label in LABELS], fontsize=8)
        axes.set_title(label, fontsize=10, parse_math=False)
        axes.spines[:].set_visible(False)
    name = operation.replace("_", ", ").replace("+", " + ")
    title = f"{name}: % of the predictions before the edit (rows); red: not allowed"
    if any("if " in text.get_text() for axes in grid for text in axes.texts):
        title += "\n“if relevant”: allowed if the edited row is relevant to the hypothesis"
    canvas.suptitle(title, fontsize=10)
    return canvas


@figure("transitions", "predictions of edited tables, an operation each (InfoTabS, figure 3)", "table_rows")
def draw(runs: Sequence[Run]) -> Iterator[Drawn]:
    """Yield heat maps for each kind of edit: how often one predicted label becomes another."""
    for operation in dict.fromkeys(name.part for run in runs for name in run.numbers if name.family == TRANSITIONS):
        if shares_of := collect(runs, operation):
            title = f"how predictions move: {operation.replace('_', ', ')}"
            yield Drawn(operation, title, heat_maps(shares_of, operation))
