"""The figure "transitions": how predictions change when tables are edited, as a graph of labels.

The arrow from label A to label B shows the share of the predictions A that become B: a number for each run, or for each
split of a single run, as in "5.8 / 7.3 / 5.0". Source: "Is My Model Using the Right Evidence?", figure 3.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from heedful.interventions.tables.allowed_transitions import LABELS, key_of, steps, transitions
from heedful.metrics.tables.transitions import TRANSITIONS
from heedful.reports.figures.registry import RED, Drawn, figure
from heedful.reports.runs import Run
from heedful.reports.tables import percents

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK = "black"
DASHED = (0, (3, 1.5))
PLACES = dict(zip(LABELS, ((-4.0, -2.2), (0.0, 3.6), (4.0, -2.2)), strict=True))
OUTWARDS = dict(zip(LABELS, (235, 90, 305), strict=True))  # degrees; direction of the loop at each label
RADIUS, BEND = 0.62, 0.2
EDGES = {f"from_{before}/to_{after}": (before, after) for before in LABELS for after in LABELS}  # by metric statistic
Edges = dict[tuple[str, str], Mapping[str, Any]]  # entry of results.json by (label before, label after)
KINDS = {  # (colour, line style, legend) by kind of transition
    "invalid": (RED, "-", "not allowed"),
    "valid": (BLACK, "-", "allowed"),
    "relevant": (BLACK, "-", "allowed if the row is relevant"),
    "irrelevant": (BLACK, DASHED, "allowed if the row is irrelevant"),
    "either": (BLACK, "-", "* allowed for either row"),
}


def edges(run: Run, operation: str, splits: bool = False) -> dict[str, Edges]:
    """Return, by data set, the share of the predictions A that an edit turns into B, for all pairs of labels (A, B).

    Args:
        run: The run.
        operation: The edit, such as "delete" or "delete_relevant".
        splits: Whether to return the shares by split, under the names "<data>, <split>".
    """
    shares_of: dict[str, Edges] = {}
    for name, m in run.numbers.items():
        is_wanted = (name.family, name.part, bool(name.slice)) == (TRANSITIONS, operation, splits)
        if is_wanted and name.statistic in EDGES:
            label = f"{name.data}, {name.by[1]}" if splits else name.data
            shares_of.setdefault(label, {})[EDGES[name.statistic]] = m
    return {label: shares for label, shares in shares_of.items() if len(shares) == len(EDGES)}


def collect(runs: Sequence[Run], operation: str) -> dict[str, Edges]:
    """Return what one figure shows: the shares of the predictions A that an edit turns into B, by labels (A, B).

    Args:
        runs: The runs.
        operation: The edit, such as "delete".

    Returns:
        The shares, by name in the figure: one entry for each run and data set, named "<run> (<data>)". If there is only
        one run, and the run has numbers by split: one entry for each split, named "<run> (<data>, <split>)". The only
        entry of a run is named "<run>".
    """
    shares_of: dict[str, Edges] = {}
    for run in runs:
        by_split = edges(run, operation, splits=True) if len(runs) == 1 else {}
        shares = by_split or edges(run, operation)
        shares_of |= {f"{run.label} ({data})" if len(shares) > 1 else run.label: each for data, each in shares.items()}
    return shares_of


@figure("transitions", "predictions of edited tables, an operation each (InfoTabS, figure 3)", "table_rows")
def draw(runs: Sequence[Run]) -> Iterator[Drawn]:
    """Yield a graph for each kind of edit; its arrows show how often one predicted label becomes another."""
    operations = dict.fromkeys(name.part for run in runs for name in run.numbers if name.family == TRANSITIONS)
    for operation in operations:
        if shares_of := collect(runs, operation):
            title = f"how predictions move: {operation.replace('_', ', ')}"
            yield Drawn(operation, title, graph(shares_of, operation))


def kind_of(operation: str, before: str, after: str) -> str:
    """Return the kind of the transition from ``before`` to ``after`` when a table is edited: a key of ``KINDS``.

    Most transitions are "valid" (allowed) or "invalid". An operation such as "delete" does not tell whether the deleted
    row is relevant to the hypothesis. Instead of "valid", the kind is then "relevant" (allowed only if the row is
    relevant), "irrelevant" (allowed only if the row is irrelevant) or "either" (allowed in both cases).

    Example:
        >>> kind_of("delete", "entailment", "entailment"), kind_of("insert", "entailment", "entailment")
        ('irrelevant', 'valid')
    """
    name, _, relevance = operation.partition("_")
    if after not in transitions(key_of(name, relevance or "unknown"))[before]:
        return "invalid"
    if relevance or "delete" not in steps(name):
        return "valid"
    rows = [row for row in ("relevant", "irrelevant") if after in transitions(key_of(name, row))[before]]
    return rows[0] if len(rows) == 1 else "either"


def _text(runs: Sequence[Edges], edge: tuple[str, str], kind: str) -> str:
    values = [run[edge]["value"] for run in runs]
    texts = ["–" if value is None else percents(value) for value in values]
    return " / ".join(texts) + ("*" if kind == "either" else "")


def _edge(axes: "Axes", edge: tuple[str, str], text: str, kind: str, share: float) -> None:
    """Draw the arrow of one transition, with its percentages (``text``). A larger ``share`` has a wider arrow."""
    from matplotlib.patches import FancyArrowPatch

    before, after = edge
    color, line, _ = KINDS[kind]
    start, end = (np.array(PLACES[label]) for label in edge)
    if before == after:
        angle = np.radians(OUTWARDS[before])
        out = np.array([np.cos(angle), np.sin(angle)])
        ends = [start + RADIUS * np.array([np.cos(a), np.sin(a)]) for a in angle + np.radians([38, -38])]
        bend, shrink = -2.2, 0
        label = start + 2.3 * RADIUS * out + [0, 0.15 if out[1] > 0 else -0.35]
    else:
        dx, dy = end - start
        ends, bend, shrink = [start, end], BEND, 33
        middle = (start + end) / 2
        is_outer = np.sign(dy) == np.sign(middle[0])  # more room for the text outside of the triangle of labels
        label = middle + BEND / 2 * np.array([dy, -dx]) + [np.sign(dy) * (0.45 if is_outer else 0.1), 0]
    look = {"connectionstyle": f"arc3,rad={bend}", "arrowstyle": "-|>", "mutation_scale": 14, "zorder": 1}
    look |= {"shrinkA": shrink, "shrinkB": shrink, "color": color, "linewidth": 1 + 2 * share, "linestyle": line}
    axes.add_patch(FancyArrowPatch(*ends, **look))
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    axes.text(*label, text, color=color, ha="center", va="center", fontsize=11, bbox=box, zorder=3)


def graph(runs: Mapping[str, Edges], operation: str) -> "Figure":
    """Draw a graph of labels; its arrows show how often an edit turns one predicted label into another.

    Args:
        runs: The shares of predictions (:func:`collect`) by name of the run.
        operation: The edit, such as "delete", "delete_relevant" or "delete+insert".
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Circle

    canvas = Figure(figsize=(9.5, 8.2 + 0.2 * len(runs)), layout="constrained")
    axes = canvas.add_subplot()
    kinds = set()
    for before, after in EDGES.values():
        kind = kind_of(operation, before, after)
        shares = [run[before, after]["value"] for run in runs.values() if run[before, after]["value"] is not None]
        share = sum(shares) / len(shares) if shares else 0.0
        _edge(axes, (before, after), _text(list(runs.values()), (before, after), kind), kind, share)
        kinds.add(kind)
    for label in LABELS:
        axes.add_patch(Circle(PLACES[label], RADIUS, facecolor="#EAF0F7", edgecolor="0.3", linewidth=1.2, zorder=2))
        axes.text(*PLACES[label], label[0].upper(), ha="center", va="center", fontsize=20, zorder=3)
    axes.set(xlim=(-6.6, 6.6), ylim=(-4.6, 5.6), aspect="equal")
    axes.axis("off")
    name = operation.replace("_", ", ").replace("+", " + ")
    several = "; a number for each run, as below" if len(runs) > 1 else ""
    title = f"{name}: % of the predictions of the label where the arrow starts{several}; wider: more"
    axes.set_title(title, fontsize=11)
    notes = []
    for label, run in runs.items():
        counts = ", ".join(f"{answer[0].upper()} {run[answer, answer]['n']:,}" for answer in LABELS)
        notes.append(f"{label}: edited examples {counts}")
    notes.append(", ".join(f"{label[0].upper()} {label}" for label in LABELS))
    if any(share["value"] is None for run in runs.values() for share in run.values()):
        notes[-1] += "; –: no prediction of this label"
    place = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "center", "va": "top", "fontsize": 10}
    for i, text in enumerate(notes):
        axes.annotate(text, (0.5, 0), (0, -14 * i), **place)
    lines = [Line2D([], [], color=c, linestyle=s, label=text) for k, (c, s, text) in KINDS.items() if k in kinds]
    canvas.legend(handles=lines, loc="outside lower center", ncols=min(2, len(lines)), frameon=False, fontsize=10)
    return canvas
