"""Numbers of each prompt over the seeds of its demonstrations, and differences between kinds of demonstrations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from heedful.metrics.attentiveness import few_examples
from heedful.metrics.in_context.answers import ABOVE, AGREEMENT, INVALID, SCORED, SCORED_ABOVE, WORTH
from heedful.metrics.in_context.swaps import ATTENTIVENESS, TO_DEFAULT, WITH_INVALID, Swaps
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.metrics.statistics.over_seeds import OverSeeds, is_above_zero, over_seeds
from heedful.reports.in_context.folders import Asked, Key

BESIDE = INVALID, AGREEMENT, WITH_INVALID, TO_DEFAULT  # are shown without an interval
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
    names = [name for name in (WORTH, INVALID, SCORED, AGREEMENT) if all(name in one.answers.sums for one in asked)]
    answers = {name: _of_answers(asked, name) for name in names}
    for name, above in ((WORTH, ABOVE), (SCORED, SCORED_ABOVE)):
        if name in answers and _at_chance(asked, name, above):
            answers[name] = _flagged(answers[name])
    written = _of_swaps([one.written for one in asked], asked, WORTH in answers and _is_flagged(answers[WORTH]))
    likely = _of_swaps([one.scored for one in asked], asked, SCORED in answers and _is_flagged(answers[SCORED]))
    return Group(key, asked, answers, written, likely, asked[0].answers.majority)


def _of_answers(asked: Sequence[Asked], name: str) -> OverSeeds:
    sums = np.stack([one.answers.sums[name] for one in asked])
    return over_seeds(sums, [one.answers.n for one in asked], has_interval=name not in BESIDE)


def _at_chance(asked: Sequence[Asked], name: str, above: str) -> bool:
    """Whether what answers are worth is not above the best single answer (p < 0.05).

    With one seed it is the test of :mod:`heedful.metrics.statistics.majority`, which is that of every model. With
    several the mean over seeds must be above it, by the interval that crosses examples and seeds.
    """
    if len(asked) == 1:
        return asked[0].answers.at_chance[name]
    sums = np.stack([one.answers.sums[above] for one in asked])
    return not is_above_zero(sums)


def _of_swaps(
    parts: Sequence[dict[str, dict[str, Swaps]]], asked: Sequence[Asked], at_chance: bool
) -> dict[str, dict[str, OverSeeds]]:
    """Part to number to its measurement; nothing where a seed has none."""
    measured: dict[str, dict[str, OverSeeds]] = {}
    for part in parts[0] if all(parts) else ():
        measured[part] = {}
        for name in parts[0][part]:
            of = [one[part][name] for one in parts]
            sums = np.stack([one.sums for one in of])
            n = [one.n for one in of]
            draws = [one.std for one in of]
            found = over_seeds(sums, n, draws, NO_SWAPS, name not in BESIDE)
            if few := few_examples(found.n):  # no table shows the number, and so no spread of it
                found = replace(found, std_seeds=None, std_draws=None, ci95=None, flags=(*found.flags, *few))
            measured[part][name] = _flagged(found) if at_chance else found
    return measured


def _flagged(measured: OverSeeds) -> OverSeeds:
    return replace(measured, flags=(NOT_ABOVE_MAJORITY, *measured.flags))


def _is_flagged(measured: OverSeeds) -> bool:
    return NOT_ABOVE_MAJORITY in measured.flags


def headline(numbers: Mapping[str, OverSeeds]) -> OverSeeds:
    """The main number of a part: attentiveness, or how often answers stay where it must not matter."""
    return next(iter(numbers.values()))


def less(first: Group, other: Group, sums_of: Callable[[Asked], np.ndarray]) -> OverSeeds:
    """A number of the first group less that of the other, over the examples and the seeds that both have.

    Args:
        first: A group.
        other: Another one, of the same model, data, wording and number of tuples.
        sums_of: From the results of a seed to the sums of the number, float64 [clusters, 2].
    """
    of_first = {asked.seed: asked for asked in first.asked}
    of_other = {asked.seed: asked for asked in other.asked}
    seeds = [seed for seed in of_first if seed in of_other]
    if not seeds:
        return OverSeeds(None, 0.0, reason="they have no seed of demonstrations in common")
    sums = np.stack([np.concatenate([sums_of(of_first[s]), sums_of(of_other[s])], axis=1) for s in seeds])
    return over_seeds(sums, [of_first[seed].answers.n for seed in seeds], reason=NO_SWAPS)


def worth_of(asked: Asked) -> np.ndarray:
    """The sums of what written answers are worth."""
    return asked.answers.sums[WORTH]


def attentiveness_of(part: str) -> Callable[[Asked], np.ndarray]:
    """The sums of attentiveness to a part."""
    return lambda asked: asked.written[part][ATTENTIVENESS].sums
