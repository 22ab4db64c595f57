"""Look up the numbers of results by name, check requirements such as "accuracy > 70 %", and convert numbers to
pandas.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from heedful.metrics.attentiveness import DEFAULT_UNSEEN
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import HeedfulError, MetricName, RunError, SettingError, listing
from heedful.records.errors import suggestion

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 4  # maximum number of names in a message
REQUIREMENT = re.compile(r"\s*(.+?)\s*(>=|<=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(%?)\s*")
HOLDS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}
Key = str | MetricName | tuple[str | None, ...]


@dataclass(frozen=True)
class Number:
    """A number of an evaluation.

    Attributes:
        value: A share from 0 to 1, or another value of the metric; None if it is undefined.
        low: Lower bound of the 95 % interval; None without an interval.
        high: Upper bound of the 95 % interval.
        n: Number of examples.
        clusters: Number of clusters, the groups of related examples that the interval treats as units; None if each
            example is a cluster.
        std: Sample standard deviation over draws (repetitions with other random swaps); None for fewer than two draws.
        draws: Number of draws; None for metrics without draws.
        flags: Names of cautions for readers of the number, such as "not_above_majority".
        reason: Why the value is undefined.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int | None
    std: float | None
    draws: int | None
    flags: tuple[str, ...]
    reason: str | None

    @classmethod
    def of(cls, m: Mapping[str, Any]) -> "Number":
        """Create a number from its entry in results.json: a mapping with value, ci95, n, std, draws and flags."""
        low, high = m["ci95"] or (None, None)
        clusters, flags = m.get("clusters"), tuple(m["flags"])
        return cls(m["value"], low, high, m["n"], clusters, m["std"], m["draws"], flags, m.get("reason"))


class NoSuchNumber(RunError, KeyError):
    """An error: results have no number of the given name, or several. It is also a KeyError."""


class Numbers:
    """Base class of ``Results`` and ``Differences``, whose numbers are looked up by name."""

    _bounds = (0.0, 1.0)  # bounds of a share
    notes: tuple[str, ...] = ()  # reasons why numbers are missing

    @property
    def numbers(self) -> dict[MetricName, dict[str, Any]]:
        """The numbers by metric name; each is a mapping with value, n, draws, std, ci95, per_draw and flags, as in
        results.json.
        """
        raise NotImplementedError

    def __getitem__(self, key: Key) -> Number:
        """Look up a number by the words of its name.

        Args:
            key: The words of a metric name: family, part, statistic and slice, as in ``"accuracy"`` or
                ``"attentiveness", "premise", "to_default"``. The part may be omitted if there is only one. A
                ``MetricName``, and its text in results.json, are keys as well.

        Raises:
            HeedfulError: The name is unknown or ambiguous; also a KeyError.
        """
        numbers = self.numbers
        try:
            return Number.of(numbers[_find(key, numbers)])
        except HeedfulError as error:
            raise NoSuchNumber(" ".join([str(error), *self.notes])) from None

    def __contains__(self, key: Key) -> bool:
        """Whether exactly one number has the name ``key``."""
        try:
            self[key]
        except NoSuchNumber:
            return False
        return True

    def __iter__(self) -> Iterator[MetricName]:
        """Iterate over the names of the numbers."""
        return iter(self.numbers)

    def to_frame(self) -> "pd.DataFrame":
        """Convert the numbers to a pandas frame with one row per number.

        Returns:
            The columns family, data, part, statistic, slice, value, low, high, n, clusters, std, draws, flags (joined
            by commas) and reason; missing values are NaN or None.
        """
        import pandas as pd

        rows = [(*name, *vars(Number.of(m)).values()) for name, m in self.numbers.items()]
        frame = pd.DataFrame(rows, columns=[*MetricName._fields, *(field.name for field in fields(Number))])
        frame["flags"] = [", ".join(flags) for flags in frame["flags"]]
        types = dict.fromkeys(("value", "low", "high", "std"), "float64") | {"n": "int64"}
        return frame.astype(types | dict.fromkeys(("clusters", "draws"), "Int64"))

    def require(self, text: str) -> Self:
        """Require that a number is above or below a bound with its whole 95 % interval; raise HeedfulError otherwise.

        ``>=`` and ``>`` compare the lower end of the interval with the bound, ``<=`` and ``<`` the upper end.

        Args:
            text: Name, comparison and bound: "attentiveness premise >= 0.7", "accuracy > 70 %".

        Returns:
            These results, so that calls can be chained.

        Raises:
            HeedfulError: The requirement does not hold or cannot be parsed; the name is unknown or ambiguous; the
                number has no interval; the default label may be misspelt; or high attentiveness is required of a model
                that may be guessing.
        """
        parsed = REQUIREMENT.fullmatch(re.sub("≥|=>", ">=", re.sub("≤|=<", "<=", text)))
        if parsed is None:
            raise SettingError(f'{text!r} is not a requirement. Write one such as "attentiveness premise >= 0.7".')
        name, sign, digits, percent = parsed.groups()
        number = self[name]
        if number.low is None or number.high is None:
            why = number.reason or "it is not a share of examples"
            raise RunError(f"{name} has no interval: {why}. Measure it on more examples, or require another number.")
        if DEFAULT_UNSEEN in number.flags:
            raise RunError(
                f"{name}: neither an answer nor a gold answer is the default label, so that the number may be over the "
                "wrong examples. Spell default_label as the model does, or leave it out."
            )
        wanted = float(digits) / 100 if percent else float(digits)
        metric = _find(name, self.numbers)
        least, most = metric.bounds
        least = min(self._bounds[0], least)
        if not least <= wanted <= most:
            do = f"Write {digits} %." if not percent and 1 < wanted <= 100 else "Require another bound."
            raise SettingError(f"{text!r}: shares are from {least:g} to 1. {do}")
        is_high = sign.startswith(">")
        scale, unit = (100, " %") if percent else (1, "")
        value, low, high = (f"{scale * x:.4g}{unit}" for x in (number.value or 0.0, number.low, number.high))
        measured = f"{value}, 95 % interval [{low}, {high}], n={number.n:,}"
        bound = number.low if is_high else number.high
        if not HOLDS[sign](bound, wanted):
            raise RunError(f"{name} {sign} {digits}{unit} does not hold: {measured}.")
        is_share = self._bounds[0] == 0  # a difference of guessing models shows which one depends more on the part
        is_attention = metric.family == "attentiveness" and not metric.statistic.startswith("kept")
        if is_share and is_high and is_attention and NOT_ABOVE_MAJORITY in number.flags:
            raise RunError(
                f"{name} is {measured}, but the accuracy is not above the majority share, and guesses change with "
                "every part. Require high attentiveness of a better model."
            )
        return self


def words_of_name(name: MetricName) -> str:
    """Return family, part, statistic and slice of a metric name, joined by spaces; the name of the data set is left
    out.
    """
    return " ".join(word for word in (name.family, name.part, name.statistic, name.slice) if word)


def _find(key: Key, names: Mapping[MetricName, Any]) -> MetricName:
    """Return the metric name that a key, such as ("attentiveness", "premise"), means; raise RunError if it means none,
    or several.
    """
    if isinstance(key, MetricName) and key in names:
        return key
    if isinstance(key, str):  # a whole name, in which a word may contain spaces
        matching = [
            name for name in names if key.strip() in (str(name), words_of_name(name), " ".join(filter(None, name)))
        ]
        if len(matching) == 1:
            return matching[0]
    words = [str(word) for word in (re.split(r"[\s/]+", key) if isinstance(key, str) else key) if word]
    omitted = {name: count for name in names if (count := _count_omitted_parts(words, name)) is not None}
    best = [name for name, count in omitted.items() if count == min(omitted.values())]
    if len(best) == 1:
        return best[0]
    text = " ".join(words)
    if best:
        raise RunError(f"{text!r} is ambiguous: {_some([*map(str, best)])}. Name the part, statistic, slice or data.")
    texts_in_words = sorted(dict.fromkeys(map(words_of_name, names)), key=lambda name: name.count(" "))
    same = [name for name in texts_in_words if words and name.split()[0] == words[0]]
    families = list(dict.fromkeys(name.family for name in names))
    near = suggestion(text.split(" ")[0], families) if names else "Evaluate again."
    do = f"There are {_some(same)}." if same else near
    raise RunError(f"There is no number {text!r} in these results. {do}")


def _some(names: list[str]) -> str:
    return listing(names[:SHOWN]) + (f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else "")


def _count_omitted_parts(words: list[str], name: MetricName) -> int | None:
    """Compare a key, such as "attentiveness premise", with a metric name.

    Args:
        words: The words of the key. The first word should be the family of the name. Each further word should be the
            input part, statistic, slice or data set of the name. Only part and data set may be missing.
        name: The metric name.

    Returns:
        None if the key does not match the name. Otherwise 1 if the name has an input part that the key omits, else 0.
    """
    if not words or words[0] != name.family:
        return None
    remaining = {"part": name.part, "statistic": name.statistic, "slice": name.slice, "data": name.data}
    for word in words[1:]:
        matching = [field for field, value in remaining.items() if value == word]
        if not matching and remaining.get("slice", "").partition("=")[2] == word:
            matching = ["slice"]  # the value suffices: fiction for genre=fiction
        if not matching:
            return None
        del remaining[matching[0]]
    # without a statistic and a slice, "accuracy" would also match the majority share
    return None if remaining.get("statistic") or remaining.get("slice") else int(bool(remaining.get("part")))
