"""What one part alone can do, and attentiveness: ``heedful figure partial RUN [RUN ...]``.

Draws figure 2 of the paper (CAT, §5.2). A model of all parts is matched with the run of the same model that was
trained on the parts that are not swapped (--partial). Rank correlations are of the models whose accuracy is above the
majority share: over all of them, and within data sets, since clusters of data sets can make the former by themselves.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from heedful.records import Context, Measurement, RunError, printable
from heedful.records.command_lines import CommandParser
from heedful.reports.alike import EXAMPLES, MODEL, notes, require_alike
from heedful.reports.figures.files import require_format, write
from heedful.reports.figures.partial_inputs import ALL, WITHIN, Point, figure, spearman, spearman_within
from heedful.reports.runs import Measured, columns, is_above_majority, measured, unlabelled_notes
from heedful.reports.tables import grid, number, too_few


def other_parts(run: Measured, part: str) -> str | None:
    """The parts of the data that stay when a part is swapped, joined by "+"; None where there are no rows."""
    if "attentiveness" not in run.rows:
        return None
    parts = Context.of(run.rows["attentiveness"][1]["context"]).parts
    return "+".join(name for name in parts if name not in part.split("+"))


def partial_of(run: Measured, part: str, runs: Sequence[Measured]) -> Measured | None:
    """The run that was trained on the other parts alone: of the same model and data, with the same seed if there is."""
    others = other_parts(run, part)
    same = (run.data, run.split, run.model)
    fitting = [r for r in runs if r.partial and (r.data, r.split, r.model) == same and r.score is not None]
    fitting = [r for r in fitting if r.kind == run.kind]
    fitting = [r for r in fitting if set(r.partial.split("+")) == set((others or "").split("+"))]
    return min(fitting, key=lambda r: (r.seed != run.seed, r.seed), default=None)


def less(score: Mapping[str, Any], majority: float) -> Measurement:
    """A score less the majority share, which is known exactly for the examples that were evaluated."""
    ci95 = tuple(bound - majority for bound in score["ci95"]) if score["ci95"] else None
    return Measurement(score["value"] - majority, score["n"], ci95=ci95)


def points_of(runs: Sequence[Measured]) -> tuple[list[Point], list[str]]:
    """A point for each model of all parts and each part that was swapped; and why others have none, a sentence each."""
    points = []
    without = []
    names = columns(runs)
    for run in runs:
        for part, m in run.attentiveness().items():
            alone = partial_of(run, part, runs)
            if m["value"] is None:
                without.append(f"{run.folder}: attentiveness to {part} is undefined: {m['reason']}.")
            elif few := too_few(m["n"], m["flags"]):
                without.append(f"{run.folder}: attentiveness to {part} rests on too few examples, {few}.")
            elif run.unlabelled:
                without += unlabelled_notes([run])
            elif alone is None:
                others = other_parts(run, part)
                wanted = f"trained with --partial {others}" if others else "of the other parts alone"
                without.append(f"{run.folder}: no run of {run.model} on {run.data} {wanted}, with the same split.")
            elif apart := notes([run, alone], (EXAMPLES,)):
                without += apart
            elif alone.score["value"] is None or alone.majority is None:
                without.append(f"{alone.folder}: its score is undefined.")
            else:
                gain = less(alone.score, alone.majority["value"])
                ci95 = tuple(m["ci95"]) if m["ci95"] else None
                attention = Measurement(m["value"], m["n"], ci95=ci95)
                data = f"{names[run.data, run.split]}: {part}"
                points.append(Point(data, run.label, gain, attention, is_above_majority(m)))
    return points, without


def correlations(points: Sequence[Point]) -> dict[str, str]:
    """Spearman's rho of the models above the majority share: over all, within data sets, and in each."""
    above = [point for point in points if point.is_above]
    of_data = {data: [p for p in above if p.data == data] for data in dict.fromkeys(p.data for p in above)}
    rhos = {ALL: (spearman(above), len(above))}
    if len(of_data) > 1:
        rhos[WITHIN] = spearman_within(above), len(above)
        rhos |= {data: (spearman(some), len(some)) for data, some in of_data.items() if len(some) > 2}
    return {name: f"{'undefined' if rho is None else format(rho, '+.2f')} (n={n})" for name, (rho, n) in rhos.items()}


def _print(points: Sequence[Point]) -> None:
    header = ["data: part swapped", "model", "others alone - majority", "attentiveness", ""]
    numbers = [(number(p.gain, "+", ci95=True), number(p.attentiveness, ci95=True)) for p in points]
    rows = [[p.data, p.model, *own, "" if p.is_above else "-"] for p, own in zip(points, numbers, strict=True)]
    Console().print(grid(header, rows))


def main(arguments: list[str]) -> None:
    """Draw the figure, and print what is in it."""
    about = "What one part alone can do, and attentiveness: figure 2 of the CAT paper, with rank correlations."
    parser = CommandParser("figure partial", about, [("RUN RUN RUN", "models of all parts, and those of --partial")])
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folder of a run or of an evaluation")
    parser.add_argument(
        "--output", default="partial_inputs.png", metavar="FILE", help="a .png, .pdf or .svg (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    require_format(options.output)
    runs = measured(options.runs)
    require_alike(runs, (MODEL,))
    points, without = points_of(runs)
    if not points:
        reason, *others = without or ["No run holds attentiveness."]
        more = f" {len(others):,} more numbers cannot be drawn either." if others else ""
        raise RunError(f"{reason}{more}")
    told = correlations(points)
    drawn = figure(points, told)
    _print(points)
    for name, text in told.items():
        print(f"Spearman {printable(name)}: {text}")
    for sentence in without:
        print(printable(sentence))
    write(drawn, options.output)
