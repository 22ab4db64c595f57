"""Look up numbers by name, check requirements such as "accuracy > 70 %", and put numbers into a frame."""

import operator
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from heedful.metrics.attentiveness import DEFAULT_UNSEEN
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import Measurement, MetricName, RunError, SettingError, listing
from heedful.records.errors import suggestion
from heedful.reports.frame import frame_of

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 4  # maximum number of names in a message
REQUIREMENT = re.compile(r"\s*(.+?)\s*(>=|<=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(%?)\s*")
HOLDS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
Key = str | MetricName | tuple[str | None, ...]


class NoSuchNumber(RunError, KeyError):
    """An error: results have no number of the given name, or several. It is also a KeyError."""


class Numbers:
    """Base class of ``Results`` and ``Differences``, whose numbers are looked up by name."""

    numbers: Mapping[MetricName, Mapping[str, Any]]  # as in results.json
    notes: tuple[str, ...] = ()  # reasons why numbers are missing
    display_name: str  # of the results
    _least = 0.0  # lower bound of a share

    def __getitem__(self, key: Key) -> Measurement:
        """Look up a number by the words of its name.

        Args:
            key: The words of a metric name: family, part, statistic and slice, as in ``"accuracy"`` or
                ``"attentiveness", "premise", "to_default"``. The part may be omitted if there is only one. A
                ``MetricName``, and its text in results.json, are keys as well.

        Raises:
            HeedfulError: The name is unknown or ambiguous; also a KeyError.
        """
        return Measurement.from_dict(self.numbers[self._find(key)])

    def __contains__(self, key: Key) -> bool:
        """Whether exactly one number has the name ``key``."""
        try:
            self._find(key)
        except NoSuchNumber:
            return False
        return True

    def __iter__(self) -> Iterator[MetricName]:
        """Iterate over the names of the numbers."""
        return iter(self.numbers)

    def frame(self) -> "pd.DataFrame":
        """Return the numbers as a pandas frame with one row per number.

        Returns:
            The columns run, data, evaluation, part, statistic, slice, value, low, high, n, flags, unit, clusters, std,
            draws and reason, as in :func:`heedful.frame`.
        """
        return frame_of([(self.display_name, self.numbers)])

    def require(self, text: str) -> Self:
        """Require that a number is above or below a bound with its whole 95 % interval; raise HeedfulError otherwise.

        ``>=`` and ``>`` compare the lower end of the interval with the bound, ``<=`` and ``<`` the upper end. To chain
        calls, these results are returned.

        Args:
            text: Name, comparison and bound: "attentiveness premise >= 0.7", "accuracy > 70 %".

        Raises:
            HeedfulError: The requirement does not hold or cannot be checked; or it requires high attentiveness of a
                model that may be guessing.
        """
        parsed = REQUIREMENT.fullmatch(re.sub("≥|=>", ">=", re.sub("≤|=<", "<=", text)))
        if parsed is None:
            raise SettingError(f'{text!r} is not a requirement. Write one such as "attentiveness premise >= 0.7".')
        name, sign, digits, percent = parsed.groups()
        metric = self._find(name)
        number = self[metric]
        if number.ci95 is None:
            why = number.reason or "it is not a share of examples"
            raise RunError(f"{name} has no interval: {why}. Measure it on more examples, or require another number.")
        if DEFAULT_UNSEEN in number.flags:
            raise RunError(
                f"{name}: neither an answer nor a gold answer is the default label, so that the number may be over the "
                "wrong examples. Spell default_label as the model does, or leave it out."
            )
        scale, unit = (100, " %") if percent else (1, "")
        wanted = float(digits) / scale
        if number.unit == "percent" and not -1 <= wanted <= 1:
            do = f"Write {digits} %." if not percent and 1 < wanted <= 100 else "Require another bound."
            raise SettingError(f"{text!r}: shares are at most 1. {do}")
        is_high = sign.startswith(">")
        value, low, high = (f"{scale * x:.4g}{unit}" for x in (number.value or 0.0, *number.ci95))
        measured = f"{value}, 95 % interval [{low}, {high}], n={number.n:,}"
        if not HOLDS[sign](number.ci95[0 if is_high else 1], wanted):
            raise RunError(f"{name} {sign} {digits}{unit} does not hold: {measured}.")
        is_share = self._least == 0  # a difference of guessing models shows which one depends more on the part
        is_attention = metric.family == "attentiveness" and not metric.statistic.startswith("kept")
        if is_share and is_high and is_attention and NOT_ABOVE_MAJORITY in number.flags:
            raise RunError(
                f"{name} is {measured}, but the accuracy is not above the majority share, and guesses change with "
                "every part. Require high attentiveness of a better model."
            )
        return self

    def _find(self, key: Key) -> MetricName:
        """Return the metric name that a key means; raise NoSuchNumber if it means none, or several."""
        names = list(self.numbers)
        if isinstance(key, MetricName) and key in names:
            return key
        if isinstance(key, str):  # a whole name, in which a word may contain spaces
            texts = {name: (str(name), words_of_name(name), " ".join(filter(None, name))) for name in names}
            if len(exact := [name for name in names if key.strip() in texts[name]]) == 1:
                return exact[0]
        words = [str(word) for word in (re.split(r"[\s/]+", key) if isinstance(key, str) else key) if word]
        matching = [name for name in names if _matches(words, name)]
        best = [name for name in matching if not name.part or name.part in words[1:]] or matching
        if len(best) == 1:
            return best[0]
        text = " ".join(words)
        if best:
            message = f"{text!r} is ambiguous: {_some([*map(str, best)])}. Name the part, statistic, slice or data."
        else:
            of_family = dict.fromkeys(words_of_name(name) for name in names if [name.family] == words[:1])
            families = dict.fromkeys(name.family for name in names)
            near = suggestion(words[0] if words else "", families) if names else "Evaluate again."
            near = f"There are {_some(sorted(of_family, key=lambda name: name.count(' ')))}." if of_family else near
            message = f"There is no number {text!r} in these results. {near}"
        raise NoSuchNumber(" ".join([message, *self.notes]))


def words_of_name(name: MetricName) -> str:
    """Return family, part, statistic and slice of a metric name, joined by spaces."""
    return " ".join(filter(None, name._replace(data="")))


def _some(names: list[str]) -> str:
    return listing(names[:SHOWN]) + (f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else "")


def _matches(words: list[str], name: MetricName) -> bool:
    """Whether words, such as "attentiveness premise", name a metric; they may omit its part and its data."""
    remaining = [name.part, name.statistic, name.slice, name.data]
    for word in words[1:]:
        if word not in remaining and word == name.slice.partition("=")[2] and name.slice in remaining:
            word = name.slice  # the value suffices: fiction for genre=fiction
        if word not in remaining:
            return False
        remaining[remaining.index(word)] = ""
    # without a statistic and a slice, "accuracy" would also match the majority share
    return words[:1] == [name.family] and not remaining[1] and not remaining[2]
