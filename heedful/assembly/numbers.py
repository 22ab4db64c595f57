"""Numbers by their names: looked up by a few words, as a frame of pandas, and held against what is required of them."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import HeedfulError, MetricName, RunError, SettingError, listing
from heedful.records.errors import guess

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 4  # names in a message
COLUMNS = ("value", "low", "high", "n", "clusters", "std", "draws", "flags", "reason")
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
    """One number of an evaluation.

    Attributes:
        value: A share from 0 to 1, or what the metric is otherwise; None where it is undefined.
        low: The low bound of its 95 % interval; None where there is none.
        high: The high bound.
        n: How many examples it rests on.
        clusters: How many clusters these are; None where each example is one.
        std: Sample standard deviation over draws; None for fewer than two.
        draws: How many draws it is the mean of; None where nothing is drawn.
        flags: What a reader must know before quoting it.
        reason: Why it is undefined.
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
        """A measurement as results.json has it."""
        low, high = m["ci95"] or (None, None)
        flags = tuple(m["flags"])
        n, clusters = m["n"], m.get("clusters")
        return cls(m["value"], low, high, n, clusters, m["std"], m["draws"], flags, m.get("reason"))


class NoSuchNumber(RunError, KeyError):
    """No number has this name, or several have it: a KeyError as well, as ``in`` expects."""


class Numbers:
    """What has numbers by their names: the results of a run, and the differences of two."""

    _bounds = (0.0, 1.0)  # of what a share is required to be

    @property
    def numbers(self) -> dict[MetricName, dict[str, Any]]:
        """Each measurement by its name: value, n, draws, std, ci95, per_draw, flags, as results.json has them."""
        raise NotImplementedError

    def __getitem__(self, key: Key) -> Number:
        """One number.

        Args:
            key: The family, and behind it the part, the statistic and the slice where there are any, as
                ``"accuracy"`` or ``"attentiveness", "premise", "to_default"``. A part may be left out where there is
                only one. A metric name, or its text in results.json, is taken as it is.

        Raises:
            HeedfulError: No number has this name, or several have it; this is a KeyError as well.
        """
        numbers = self.numbers
        try:
            return Number.of(numbers[_find(key, numbers)])
        except HeedfulError as error:
            raise NoSuchNumber(*error.args) from None

    def __contains__(self, key: Key) -> bool:
        """Whether exactly one number has this name."""
        try:
            self[key]
        except NoSuchNumber:
            return False
        return True

    def __iter__(self) -> Iterator[MetricName]:
        """The names of the numbers."""
        return iter(self.numbers)

    def to_frame(self) -> "pd.DataFrame":
        """All numbers as a frame of pandas, a line each.

        Returns:
            The columns family, data, part, statistic, slice, value, low, high, n, clusters, std, draws, flags (one
            text, joined by commas) and reason. What is missing is NaN or None.
        """
        import pandas as pd

        rows = [(*name, *vars(Number.of(m)).values()) for name, m in self.numbers.items()]
        order = [*MetricName._fields, *vars(Number.of(EMPTY))]
        frame = pd.DataFrame(rows, columns=order)[[*MetricName._fields, *COLUMNS]]
        frame["flags"] = [", ".join(flags) for flags in frame["flags"]]
        types = dict.fromkeys(("value", "low", "high", "std"), "float64") | {"n": "int64"}
        return frame.astype(types | dict.fromkeys(("clusters", "draws"), "Int64"))

    def require(self, text: str) -> Self:
        """Hold a number against what it must be: the bound of its 95 % interval decides, not its value.

        ``>=`` and ``>`` hold where the low bound does, ``<=`` and ``<`` where the high bound does.

        Args:
            text: The words of a name, a comparison and a share: "attentiveness premise >= 0.7", "accuracy > 70 %".

        Returns:
            The same results, so that calls can be chained.

        Raises:
            HeedfulError: It does not hold; the number has no interval, or is to be high where the model may guess, so
                that nothing is decided; no number, or more than one, has this name; or the text is no requirement.
        """
        parsed = REQUIREMENT.fullmatch(text.replace("≥", ">=").replace("≤", "<="))
        if parsed is None:
            raise SettingError(f'{text!r} is not a requirement. Write one such as "attentiveness premise >= 0.7".')
        name, sign, digits, percent = parsed.groups()
        number = self[name]
        if number.low is None or number.high is None:
            why = number.reason or "it is not a share of examples"
            raise RunError(f"{name} has no interval: {why}. Measure it on more examples, or require another number.")
        wanted = float(digits) / 100 if percent else float(digits)
        own = _find(name, self.numbers).bounds
        least, most = min(self._bounds[0], own[0]), own[1]
        if not least <= wanted <= most:
            do = f"Write {digits} %." if not percent and 1 < wanted <= 100 else "Require another bound."
            raise SettingError(f"{text!r}: shares are from {least:g} to 1. {do}")
        is_high = sign.startswith(">")
        if is_high and NOT_ABOVE_MAJORITY in number.flags and name.split()[0] == "attentiveness":
            raise RunError(
                f"{name}: accuracy is not above the majority share, so that a high one is no merit. Take a model that "
                "is better than a single answer."
            )
        bound = number.low if is_high else number.high
        if not HOLDS[sign](bound, wanted):
            scale, unit = (100, " %") if percent else (1, "")
            value, low, high = (f"{scale * x:.4g}{unit}" for x in (number.value or 0.0, number.low, number.high))
            measured = f"{value}, 95 % interval [{low}, {high}], n={number.n:,}"
            raise RunError(f"{name} {sign} {digits}{unit} does not hold: {measured}.")
        return self


EMPTY = {"value": None, "ci95": None, "n": 0, "std": None, "draws": None, "flags": (), "reason": None}


def words_of_name(name: MetricName) -> str:
    """What a name is called in messages: without the data set, which need not be named."""
    return " ".join(word for word in (name.family, name.part, name.statistic, name.slice) if word)


def _as_words(name: MetricName) -> tuple[str, str]:
    """The words of a name, which may hold spaces, with the data set and without."""
    return words_of_name(name), " ".join(word for word in (name.family, name.data, *name[2:]) if word)


def _find(key: Key, names: Mapping[MetricName, Any]) -> MetricName:
    """The one name that a key stands for.

    Raises:
        HeedfulError: There is none, or there are several.
    """
    if isinstance(key, MetricName) and key in names:
        return key
    texts = {str(name): name for name in names}
    if isinstance(key, str) and key in texts:
        return texts[key]
    if isinstance(key, str) and len(matching := [name for name in names if key.strip() in _as_words(name)]) == 1:
        return matching[0]
    words = [str(word) for word in (re.split(r"[\s/]+", key) if isinstance(key, str) else key) if word]
    fitting = {name: left for name in names if (left := _left_out(words, name)) is not None}
    best = [name for name, left in fitting.items() if left == min(fitting.values())]
    if len(best) == 1:
        return best[0]
    asked = " ".join(words)
    if best:
        raise RunError(
            f"{asked!r} may be {_some([*map(str, best)])}. Name the part, the statistic, the slice or the data set as "
            "well."
        )
    texts_in_words = sorted(dict.fromkeys(map(words_of_name, names)), key=lambda name: name.count(" "))
    same = [name for name in texts_in_words if words and name.split()[0] == words[0]]
    families = list(dict.fromkeys(name.family for name in names))
    do = f"There are {_some(same)}." if same else guess(asked.split(" ")[0], families) if names else "Evaluate again."
    raise RunError(f"There is no number {asked!r} among these results. {do}")


def _some(names: list[str]) -> str:
    return listing(names[:SHOWN]) + (f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else "")


def _left_out(words: list[str], name: MetricName) -> int | None:
    """0 where words name all but the data set, 1 where they leave the part out; None where they are not of this name.

    A statistic and a slice are always named: the majority share is no answer to "accuracy".
    """
    if not words or words[0] != name.family:
        return None
    fields = {"part": name.part, "statistic": name.statistic, "slice": name.slice, "data": name.data}
    for word in words[1:]:
        of = next((field for field, value in fields.items() if value == word), None)
        if of is None and fields.get("slice", "").partition("=")[2] == word:
            of = "slice"  # its value says enough
        if of is None:
            return None
        del fields[of]
    return None if fields.get("statistic") or fields.get("slice") else int(bool(fields.get("part")))
