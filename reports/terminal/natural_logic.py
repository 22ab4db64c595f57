"""What the report adds for natural logic: labels of rows, their order, and the categories of the paper's table 5."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

NATURAL_LOGIC, TWO_CLASS = "natural_logic", "two_class"
KINDS = ("context", "insertion")
EFFECTS = {"tce": "TCE {}", "dce": "DCE {}", "delta": "TCE - DCE {}", "ratio": "TCE / DCE {} (ratio)"}
ACCURACY = "two-class accuracy"
TITLES = {"nlixy": "NLI-XY"}
DIFFERENT_PAIRS = "The causal effects of these runs were measured on different pairs."
LEFT_OUT = {"argmax": "other rules", "total_variation": "other rules", "naive": "naive intervals"}
PROPERTIES = {"sensitivity": ("tce", "{} sensitivity (TCE)"), "robustness": ("dce", "{} robustness (1 - DCE)")}
RULE = (
    "Alike: the 95 % intervals of the highest and the lowest of these runs overlap.\n"
    "Else, between these two: low, mid, high, by thirds."
)
Interval = tuple[float, float, float]  # value, low, high


def headline(name: str) -> str | None:
    """The label of a metric that stands side by side with other runs; None for others, and for other kinds of metric.

    Example:
        >>> headline("natural_logic/nlixy/context/tce"), headline("two_class/snli")
        ('TCE context', 'two-class accuracy snli')
    """
    kind, data, *rest = name.split("/")
    if kind == TWO_CLASS and not rest:
        return f"{ACCURACY} {data}"
    if kind == NATURAL_LOGIC and rest == ["accuracy"]:
        return ACCURACY
    if kind == NATURAL_LOGIC and len(rest) == 2 and rest[0] in KINDS and rest[1] in EFFECTS:
        return EFFECTS[rest[1]].format(rest[0])
    return None


def is_ratio(name: str) -> bool:
    """Whether a metric is a plain number, and no share."""
    return name.startswith(f"{NATURAL_LOGIC}/") and name.endswith("/ratio")


def breakdown(name: str) -> str | None:
    """What a metric is broken down by; None where it is of all examples.

    Example:
        >>> breakdown("natural_logic/nlixy/context/tce/relation=leq")
        'relation'
    """
    by, found, _ = name.split("/")[-1].partition("=")
    return by if found and name.startswith(f"{NATURAL_LOGIC}/") else None


def left_out(name: str) -> bool:
    """Whether a metric stands in results.json only: breakdowns, other rules and naive intervals.

    Example:
        >>> left_out("natural_logic/nlixy/context/tce/naive"), left_out("two_class/snli/argmax")
        (True, False)
    """
    return bool(breakdown(name)) or (name.startswith(f"{NATURAL_LOGIC}/") and name.split("/")[-1] in LEFT_OUT)


def heading(name: str) -> str | None:
    """What stands above the rows of a metric of natural logic; None for other metrics."""
    kind, data, *_ = name.split("/")
    return f"natural logic: {TITLES.get(data, data)}" if kind == NATURAL_LOGIC else None


def _sets(found: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The counts of each set of pairs of a run, by its name."""
    sets = {k: v for k, v in found.get("counts", {}).items() if k.startswith(f"{NATURAL_LOGIC}/I")}
    return {
        name: counts
        for name, counts in sorted(sets.items())
        if isinstance(counts, Mapping) and {"pairs", "seeds"} <= counts.keys()
    }


def measured(found: Mapping[str, Any], separator: str = " ") -> str:
    """On how many pairs of which split a run was measured; seeds count that have a match.

    Args:
        found: The results of a run.
        separator: What stands between its parts.
    """
    sets, split = _sets(found).values(), found.get("counts", {}).get(f"{NATURAL_LOGIC}/split")
    if not sets:
        return ""
    seeds = sum(s["seeds"] - s.get("seeds_without_match", 0) for s in sets)
    parts = [f"{split},"] if split else []
    return separator.join([*parts, f"{sum(s['pairs'] for s in sets):,} pairs", f"of {seeds:,} seeds"])


def different_pairs(results: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the runs among these that were measured on natural logic were measured on different pairs."""
    pairs = [{name: counts.get("sha256") for name, counts in _sets(found).items()} for found in results]
    pairs = [found for found in pairs if found]
    return any(found != pairs[0] for found in pairs)


def _rank(name: str) -> tuple[int, ...]:
    """Accuracy, then contexts, then word pairs; of each TCE, DCE, difference, ratio, with what belongs to each."""
    _, _, *rest = name.split("/")
    kind = KINDS.index(rest[0]) if rest[0] in KINDS else -1
    effect = list(EFFECTS).index(rest[1]) if len(rest) > 1 and rest[1] in EFFECTS else -1
    return kind, effect, len(rest)


def ordered(names: Iterable[str]) -> list[str]:
    """Names of metrics: those of natural logic in the order of reading, behind all others but the benchmarks."""

    def key(name: str) -> tuple[int, ...]:
        kind = name.split("/")[0]
        return (1, *_rank(name)) if kind == NATURAL_LOGIC else (2 * (kind == TWO_CLASS),)

    return sorted(names, key=key)


def categories(measured: Sequence[Interval | None]) -> list[str]:
    """What each of several runs is among them (the paper, section 5.3, gives no rule: this one is Heed's own).

    Where the 95 % intervals of the largest value and of the smallest overlap or touch, all runs are "alike". Otherwise
    these two are "highest" and "lowest"; equal values share it. Others by where they lie between: below a third of the
    way "low", below two thirds "mid", else "high".

    Args:
        measured: Value and interval of each run; None for a run that has none, which gets "".
    """
    known = [m for m in measured if m is not None]
    low, high = min((m[0] for m in known), default=0.0), max((m[0] for m in known), default=0.0)
    up_to = max((m[2] for m in known if m[0] == low), default=0.0)
    down_to = min((m[1] for m in known if m[0] == high), default=0.0)

    def category(m: Interval | None) -> str:
        if m is None:
            return ""
        if low == high or down_to <= up_to:
            return "alike"
        if m[0] in (low, high):
            return "highest" if m[0] == high else "lowest"
        return ("low", "mid", "high")[min(2, int(3 * (m[0] - low) / (high - low)))]

    return [category(m) for m in measured]


def _interval(found: Mapping[str, Any], name: str) -> Interval | None:
    """A metric with its interval; with one of no width where it has none."""
    m = found["metrics"].get(name, {"value": None})
    return None if m["value"] is None else (m["value"], *(m["ci95"] or (m["value"],) * 2))


def print_categories(columns: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print how sensitive and how robust each run is among those compared; nothing for fewer than two runs.

    Sensitivity is the TCE, robustness 1 - DCE, each for changes of the context and of the word pair.

    Args:
        columns: The results of each run.
        console: Where to print.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("among these runs", no_wrap=True)
    for i in range(len(columns)):
        table.add_column(f"({i + 1})")
    names = [name for found in columns for name in found["metrics"] if name.startswith(f"{NATURAL_LOGIC}/")]
    for data in dict.fromkeys(name.split("/")[1] for name in names):
        for kind in KINDS:
            for effect, label in PROPERTIES.values():
                runs = [_interval(found, f"{NATURAL_LOGIC}/{data}/{kind}/{effect}") for found in columns]
                if effect == "dce":
                    runs = [None if m is None else (1 - m[0], 1 - m[2], 1 - m[1]) for m in runs]
                if sum(m is not None for m in runs) > 1:
                    table.add_row(label.format("context" if kind == "context" else "word-pair"), *categories(runs))
    if table.row_count:
        console.print()
        console.print(table)
        console.print(RULE, highlight=False)


def print_left_out(names: Iterable[str], console: Console) -> None:
    """Print where the metrics are that the table of one run leaves out."""
    titles, names = {"operator": "context operator"}, [name for name in names if left_out(name)]
    by = sorted({titles.get(by, by) for name in names if (by := breakdown(name))})
    others = dict.fromkeys(text for name, text in LEFT_OUT.items() if any(n.endswith(f"/{name}") for n in names))
    text = _listed([f"by {_listed(by)}"] * bool(by) + list(others))
    if text:
        console.print(f"{text[0].upper()}{text[1:]}: results.json", highlight=False, markup=False)


def _listed(words: Sequence[str]) -> str:
    """Words as in "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
