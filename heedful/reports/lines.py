"""The lines of a table of results: label, indentation and order of every number, derived from the names of numbers."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heedful.metrics import METRICS
from heedful.records import MetricName
from heedful.records.rows import UNREAD

FEW = 2  # undefined numbers of labels below one number; more share a line


@dataclass(frozen=True)
class Line:
    """A line of a table: a number with its label."""

    metric: str  # name of the number in results.json
    label: str
    level: int = 0  # indentation: 0 for a main number, 1 for a number below it
    unit: str = "percent"
    is_headline: bool = False  # whether tables that compare runs have the line
    text: str = ""  # in place of the number


def lines_of(results: Mapping[str, Any]) -> list[Line]:
    """Return the lines of the table of a run, in the order of its numbers, from the content of results.json.

    A number is below another number if its name continues the name of the other number by a statistic or a slice; its
    line follows the other line. A label comes from the entry "words" of results.json, else from the part of the name
    that continues the other name. Hidden numbers, and the numbers below them, have no line.
    """
    numbers = {name: results["metrics"][str(name)] for name in (MetricName(*fields) for fields in results["names"])}
    headlines = set(results["headlines"])
    indices = {name: i for i, name in enumerate(numbers)}
    lines: dict[MetricName, Line] = {}
    places: dict[MetricName, tuple[int, ...]] = {}
    for name in sorted(numbers, key=lambda name: len(list(_shorter_names(name)))):  # a number before those below it
        m = numbers[name]
        parent = next((other for other in _shorter_names(name) if other in numbers), None)
        label = _label(name, parent, results["words"])
        is_read = name.statistic.rpartition("/")[2] == UNREAD and m["value"] == 0
        if label is not None and not is_read and (parent is None or parent in lines):
            level = 0 if parent is None else lines[parent].level + 1
            unit = m.get("unit", "percent")
            lines[name] = Line(str(name), label, level, unit, str(name) in headlines)
            places[name] = (*places.get(parent, ()), indices[name])
    return _without_undefined({name: lines[name] for name in sorted(lines, key=places.__getitem__)}, numbers)


def count_hidden(results: Mapping[str, Any]) -> int:
    """Return how many numbers in results.json have no line since the words of their metric hide them."""
    names = [MetricName(*fields) for fields in results["names"]]
    chains = ([name, *_shorter_names(name)] for name in names)
    return sum(any(_label(each, None, results["words"]) is None for each in chain) for chain in chains)


def label_of(name: MetricName) -> str:
    """Return the label of a headline, by the words of the registered metrics.

    Example:
        >>> label_of(MetricName("natural_logic", "nlixy", "context", "tce")), label_of(MetricName("accuracy", "mnli"))
        ('TCE context', 'accuracy')
    """
    return _label(name, None, {key: word for metric in METRICS.values() for key, word in metric.words.items()}) or ""


def _shorter_names(name: MetricName) -> Iterator[MetricName]:
    """Yield the names that a name continues by a statistic or a slice, longest first."""
    words = name.statistic.split("/") if name.statistic else []
    statistics = ["/".join(words[:n]) for n in range(len(words), -1, -1)]
    for slice_ in dict.fromkeys([name.slice, ""]):
        for statistic in statistics:
            shorter = name._replace(statistic=statistic, slice=slice_)
            if shorter != name:
                yield shorter


def _label(name: MetricName, parent: MetricName | None, words: Mapping[str, str | None]) -> str | None:
    """Return the label of a line; None for a number without a line."""
    key = "/".join(filter(None, (name.family, name.statistic, "*" if name.slice else "")))
    if key in words:
        word = words[key]
        return None if word is None else word.format(part=name.part.replace("_", ", ") or name.data, data=name.data)
    if parent is None:
        return " ".join(filter(None, (name.family.replace("_", " "), name.part, name.statistic, name.slice)))
    further = name.statistic.removeprefix(parent.statistic).removeprefix("/")
    return " ".join(filter(None, (further, name.slice if name.slice != parent.slice else "")))


def _without_undefined(lines: Mapping[MetricName, Line], numbers: Mapping[MetricName, Mapping[str, Any]]) -> list[Line]:
    """Return the lines; more than two undefined numbers of predicted labels below one number share a line."""
    never = [name for name in lines if name.slice.startswith("from_") and numbers[name]["value"] is None]
    counts = Counter(name._replace(slice="") for name in never)
    last = {name._replace(slice=""): name for name in never if counts[name._replace(slice="")] > FEW}
    visible = []
    for name, line in lines.items():
        main = name._replace(slice="")
        if name not in never or main not in last:
            visible.append(line)
        elif last[main] == name:
            text = f"undefined: {counts[main]} labels are never predicted"
            visible.append(Line(line.metric, "from_...", line.level, text=text))
    return visible
