"""Numbers of each prompt over the seeds of its demonstrations, and differences between kinds of demonstrations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from heedful.metrics.attentiveness import headline_of
from heedful.metrics.metric import Numbers
from heedful.metrics.reading_comprehension import ABSTENTION
from heedful.metrics.statistics.draws import FEW_EXAMPLES, few_examples
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.metrics.statistics.over_seeds import OverSeeds, is_above, less_over_seeds, over_seeds
from heedful.records import SPAN, Context, Measurement, MetricName
from heedful.reports.in_context.folders import ATTENTIVENESS, Asked, Key

WORTH, INVALID, SCORED, AGREEMENT = "worth", "invalid", "scored", "agreement"
WITH_INVALID, TO_DEFAULT = "with_invalid", "to_default"
NO_SWAPS = (
    "no example that was swapped is predicted as another label than the default one, or more than half of the answers "
    "are none"
)


@dataclass(frozen=True)
class Group:
    """The results of one model with one kind of prompt, over seeds.

    Attributes:
        key: What it is.
        asked: The results of each seed, in the order of seeds.
        answers: Number to its measurement, of base predictions.
        written: Part to number to its measurement, of swaps.
        scored: The same of the most probable labels.
        majority: What the best single answer is worth.
    """

    key: Key
    asked: tuple[Asked, ...]
    answers: dict[str, OverSeeds]
    written: dict[str, dict[str, OverSeeds]]
    scored: dict[str, dict[str, OverSeeds]]
    majority: float

    @property
    def writes(self) -> bool:
        """Whether the model writes its answers; else they are the most probable labels."""
        return self.asked[0].writes

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the demonstrations."""
        return tuple(asked.seed for asked in self.asked)


def groups_of(results: Sequence[Asked]) -> list[Group]:
    """Measure each kind of prompt of each model on each data set, over the seeds that there are."""
    keys = dict.fromkeys(asked.key for asked in results)
    of = {key: [asked for asked in results if asked.key == key] for key in keys}
    return [_group(key, tuple(sorted(asked, key=lambda one: one.seed))) for key, asked in of.items()]


def _group(key: Key, asked: tuple[Asked, ...]) -> Group:
    written = [one.written for one in asked]
    likely = [one.scored for one in asked] if all(one.scored for one in asked) else []
    context = asked[0].context
    data = MetricName("exact_match" if context.kind is SPAN else "accuracy", context.data)
    answers = {WORTH: _worth(written, data), INVALID: _without(written, context)}
    if likely:
        answers[SCORED] = _worth(likely, data)
        answers[AGREEMENT] = over_seeds([one.agreement for one in asked], has_interval=False)
    of_parts = [
        {part: _swaps(part, numbers, context, _is_flagged(answers[worth])) for part in asked[0].parts}
        if numbers and all(one.parts for one in asked)
        else {}
        for numbers, worth in ((written, WORTH), (likely, SCORED))
    ]
    return Group(key, asked, answers, *of_parts, written[0][data._replace(statistic="majority")].value)


def _worth(numbers: Sequence[Numbers], name: MetricName) -> OverSeeds:
    """The worth of answers, flagged where that is not above the best single answer (p < 0.05).

    With one seed it is the test of :mod:`heedful.metrics.statistics.majority`, which is that of every model. With
    several the mean over seeds must be above it, by the interval that crosses examples and seeds.
    """
    measured = [of[name] for of in numbers]
    worth = over_seeds(measured)
    if len(numbers) == 1:
        at_chance = NOT_ABOVE_MAJORITY in measured[0].flags
    else:
        at_chance = not is_above([(of[name], of[name._replace(statistic="majority")]) for of in numbers])
    return _flagged(worth) if at_chance else worth


def _without(numbers: Sequence[Numbers], context: Context) -> OverSeeds:
    """The share of written answers that are not labels; of texts, of those that say that there is none."""
    name = MetricName(ABSTENTION if context.kind is SPAN else "no_answer", context.data)
    n = next(iter(numbers[0].values())).n
    return over_seeds([of.get(name, Measurement(0.0, n)) for of in numbers], has_interval=False)


def _swaps(part: str, numbers: Sequence[Numbers], context: Context, at_chance: bool) -> dict[str, OverSeeds]:
    """Number to its measurement, that of the headline first."""
    headline = headline_of(part, context)
    names = {headline.statistic or ATTENTIVENESS: headline}
    if context.kind is not SPAN:
        names[WITH_INVALID] = headline._replace(statistic=WITH_INVALID)
        if context.default_label is not None:
            names[TO_DEFAULT] = headline._replace(statistic=TO_DEFAULT)
    measured: dict[str, OverSeeds] = {}
    for short, name in names.items():
        of = [one.get(name, one[headline]) for one in numbers]
        measurement = over_seeds(of, NO_SWAPS, has_interval=name is headline)
        flags = dict.fromkeys(flag for m in of for flag in m.flags if flag not in (NOT_ABOVE_MAJORITY, FEW_EXAMPLES))
        measurement = replace(measurement, flags=(*measurement.flags, *flags))
        if few := few_examples(measurement.n):  # no table shows the number, and so no spread of it
            measurement = replace(
                measurement, std_seeds=None, std_draws=None, ci95=None, flags=(*measurement.flags, *few)
            )
        measured[short] = _flagged(measurement) if at_chance else measurement
    return measured


def _flagged(measured: OverSeeds) -> OverSeeds:
    return replace(measured, flags=(NOT_ABOVE_MAJORITY, *measured.flags))


def _is_flagged(measured: OverSeeds) -> bool:
    return NOT_ABOVE_MAJORITY in measured.flags


def headline(numbers: Mapping[str, OverSeeds]) -> OverSeeds:
    """The main number of a part: attentiveness, or how often answers stay where it must not matter."""
    return next(iter(numbers.values()))


def less(first: Group, other: Group, name: MetricName) -> OverSeeds:
    """A number of the first group less that of the other, over the examples and the seeds that both have.

    Args:
        first: A group.
        other: Another one, of the same model, data, wording and number of tuples.
        name: Of the number, of answers as they were written.
    """
    of_other = {asked.seed: asked for asked in other.asked}
    both = [(asked, of_other[asked.seed]) for asked in first.asked if asked.seed in of_other]
    if not both:
        return OverSeeds(None, 0.0, reason="they have no seed of demonstrations in common")
    return less_over_seeds([(one.written[name], two.written[name]) for one, two in both], NO_SWAPS)
