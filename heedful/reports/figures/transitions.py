"""Transitions when tables are edited, as a graph (figure 3 of the paper on InfoTabS).

Several runs, or the splits of one that was evaluated on several, stand side by side on each edge: 5.8 / 7.3 / 5.0. Of
several runs, a number is the mean over the splits of each.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from heedful.interventions.tables.allowed_transitions import LABELS, key_of, steps, transitions
from heedful.metrics.tables.transitions import TRANSITIONS
from heedful.reports.figures.canvas import RED
from heedful.reports.figures.registry import Drawn, figure
from heedful.reports.runs import Measured
from heedful.reports.tables import percents

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK = "black"
DASHED = (0, (3, 1.5))
PLACES = dict(zip(LABELS, ((-4.0, -2.2), (0.0, 3.6), (4.0, -2.2)), strict=True))
OUTWARDS = dict(zip(LABELS, (235, 90, 305), strict=True))  # where the edge from a label to itself lies, in degrees
RADIUS, BEND = 0.62, 0.2
EDGES = {f"from_{before}/to_{after}": (before, after) for before in LABELS for after in LABELS}  # by their statistic
Edges = dict[tuple[str, str], Mapping[str, Any]]  # (before, after) to the share, as it stands in results.json


def edges(run: Measured, operation: str, splits: bool = False) -> dict[str, Edges]:
    """The shares of all transitions under an operation, for each data set of a run.

    Args:
        run: The run.
        operation: Name of the operation.
        splits: Take those of each of several splits, which are told apart as "<data>, <split>"; there may be none.
    """
    found: dict[str, Edges] = {}
    for name, measurement in run.numbers.items():
        mine = (name.family, name.part, bool(name.slice)) == (TRANSITIONS, operation, splits)
        if mine and name.statistic in EDGES:
            of = f"{name.data}, {name.by[1]}" if splits else name.data
            found.setdefault(of, {})[EDGES[name.statistic]] = measurement
    return {of: shares for of, shares in found.items() if len(shares) == len(EDGES)}


def collect(runs: Sequence[Measured], operation: str) -> dict[str, Edges]:
    """Label of each run, with its data set where one run has several, to its transitions.

    A single run that was evaluated on several splits has a name for each of them.
    """
    found: dict[str, Edges] = {}
    for run in runs:
        of_splits = edges(run, operation, splits=True) if len(runs) == 1 else {}
        of_run = of_splits or edges(run, operation)
        found |= {f"{run.label} ({data})" if len(of_run) > 1 else run.label: of for data, of in of_run.items()}
    return found


@figure("transitions", "predictions of edited tables, an operation each (InfoTabS, figure 3)", "table_rows")
def draw(runs: Sequence[Measured]) -> Iterator[Drawn]:
    """The graph of each operation."""
    operations = dict.fromkeys(name.part for run in runs for name in run.numbers if name.family == TRANSITIONS)
    for operation in operations:
        if shown := collect(runs, operation):
            title = f"how predictions move: {operation.replace('_', ', ')}"
            yield Drawn(operation, title, graph(shown, operation))


def style(operation: str, before: str, after: str) -> str:
    """The kind of a transition: "invalid", "valid", or with a row deleted "relevant", "irrelevant" or "either".

    The last three say for which rows it is valid, where that of the deleted row is not known.

    Example:
        >>> style("delete", "entailment", "entailment"), style("insert", "entailment", "entailment")
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
    """An arrow, wider for a larger share, with its percentages."""
    from matplotlib.patches import FancyArrowPatch

    before, after = edge
    color = RED if kind == "invalid" else BLACK
    start, end = (np.array(PLACES[label]) for label in edge)
    if before == after:
        angles = np.radians(OUTWARDS[before] + np.array([38, -38]))
        out = np.array([np.cos(np.radians(OUTWARDS[before])), np.sin(np.radians(OUTWARDS[before]))])
        ends = [start + RADIUS * np.array([np.cos(a), np.sin(a)]) for a in angles]
        bend = -2.2
        shrink = 0
        label = start + 2.3 * RADIUS * out + [0, 0.15 if out[1] > 0 else -0.35]
    else:
        dx, dy = end - start
        ends = [start, end]
        bend = BEND
        shrink = 33
        middle = (start + end) / 2
        off = BEND / 2 * np.array([dy, -dx])
        outer = np.sign(dy) == np.sign(
            middle[0]
        )  # outside of the triangle: there is room for the text beside the arrow
        label = middle + off + [np.sign(dy) * (0.45 if outer else 0.1), 0]
    axes.add_patch(
        FancyArrowPatch(
            *ends,
            connectionstyle=f"arc3,rad={bend}",
            arrowstyle="-|>",
            mutation_scale=14,
            shrinkA=shrink,
            shrinkB=shrink,
            color=color,
            linewidth=1 + 2 * share,
            linestyle=DASHED if kind == "irrelevant" else "-",
            zorder=1,
        )
    )
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    axes.text(*label, text, color=color, ha="center", va="center", fontsize=11, bbox=box, zorder=3)


def _legend(figure: "Figure", kinds: set[str]) -> None:
    from matplotlib.lines import Line2D

    lines = {
        "invalid": (RED, "-", "not allowed"),
        "valid": (BLACK, "-", "allowed"),
        "relevant": (BLACK, "-", "allowed if the row is relevant"),
        "irrelevant": (BLACK, DASHED, "allowed if the row is irrelevant"),
        "either": (BLACK, "-", "* allowed for either row"),
    }
    shown = [Line2D([], [], color=c, linestyle=s, label=text) for k, (c, s, text) in lines.items() if k in kinds]
    figure.legend(handles=shown, loc="outside lower center", ncols=min(2, len(shown)), frameon=False, fontsize=10)


def graph(runs: Mapping[str, Edges], operation: str) -> "Figure":
    """The labels, and on the edges between them the percentages of each run: of what was predicted as the first label.

    Args:
        runs: Name of a run to its transitions.
        operation: As in the names of the metrics: "delete", "delete_relevant", "delete+insert".
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle

    drawn = Figure(figsize=(9.5, 8.2 + 0.2 * len(runs)), layout="constrained")
    axes = drawn.add_subplot()
    kinds = set()
    for before in LABELS:
        for after in LABELS:
            kind = style(operation, before, after)
            edge = (before, after)
            shares = [run[edge]["value"] for run in runs.values() if run[edge]["value"] is not None]
            share = sum(shares) / len(shares) if shares else 0.0
            _edge(axes, edge, _text(list(runs.values()), edge, kind), kind, share)
            kinds.add(kind)
        axes.add_patch(Circle(PLACES[before], RADIUS, facecolor="#EAF0F7", edgecolor="0.3", linewidth=1.2, zorder=2))
        axes.text(*PLACES[before], before[0].upper(), ha="center", va="center", fontsize=20, zorder=3)
    axes.set(xlim=(-6.6, 6.6), ylim=(-4.6, 5.6), aspect="equal")
    axes.axis("off")
    named = operation.replace("_", ", ").replace("+", " + ")
    several = "; a number for each run, as below" if len(runs) > 1 else ""
    title = f"{named}: % of what was predicted as the label where the arrow starts{several}; wider: more"
    axes.set_title(title, fontsize=11)
    notes = []
    for name, run in runs.items():
        counts = ", ".join(f"{label[0].upper()} {run[label, label]['n']:,}" for label in LABELS)
        notes.append(f"{name}: edited examples {counts}")
    notes.append(", ".join(f"{label[0].upper()} {label}" for label in LABELS))
    if any(share["value"] is None for run in runs.values() for share in run.values()):
        notes[-1] += "; –: nothing was predicted as it"
    for i, text in enumerate(notes):
        axes.annotate(
            text, (0.5, 0), (0, -14 * i), "axes fraction", "offset points", ha="center", va="top", fontsize=10
        )
    _legend(drawn, kinds)
    return drawn
