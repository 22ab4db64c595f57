"""Challenge examples: accuracy on hypotheses or tables that are changed so that the label stays, or flips.

Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), tables 4, 7 and 8. A change preserves the label if
the gold label of the changed example equals the gold label of its original; otherwise it flips the label. Pairs with a
neutral label are omitted. The models still have three classes: chance is not 50 %.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heedful.interventions import DIRECTIONS
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.metrics.hits import is_answer
from heedful.metrics.metric import Metric
from heedful.metrics.number import Curve, Number, Settings
from heedful.metrics.statistics.bootstrap import Key
from heedful.metrics.statistics.shares import difference, share
from heedful.metrics.tables.which_table import tables_of
from heedful.records import Context, DataError, Measurement, MetricName, generator
from heedful.records.rows import BASE, KEY, codes, equal_columns, number_runs, of_split, rows_with, select, strings

CHALLENGE, ORIGINAL = "challenge", "original"
KINDS = ("preserved", "flipped")
HYPOTHESES, TITLES, TITLE = "hypotheses", "titles", "title"
NEUTRAL = LABELS[1]
FLIPPED = KINDS[1]
FROM = {f"from_{label}": label for label in LABELS if label != NEUTRAL}  # statistic of flips to label of the original
BOTH_WAYS = "both_ways"  # statistic: the unweighted mean over both labels
ONE_SIDED = "one_sided"  # flag: all flips have the same new label
UNANSWERED = "no example got an answer before and after"
SUBSAMPLES, SUBSAMPLED = 100, "subsamples"
HALF_ERROR = "std_is_half_a_standard_error"
Which = tuple[str, str, str, int]  # intervention, part, variant, draw


@dataclass(frozen=True)
class ChallengeSettings(Settings):
    """Settings of challenge examples.

    Attributes:
        kinds: Kinds of changes of hypotheses, such as "negation".
        title: Whether titles of tables are changed.
    """

    kinds: tuple[str, ...]
    title: bool


class Values(NamedTuple):
    """Values of pairs of an original and a changed example, such as whether predictions are right.

    Attributes:
        plus: The values: float64 [pairs], between 0 and ``scale``.
        minus: The values to subtract: float64 [pairs], between 0 and ``scale``; None for nothing.
        scale: The largest possible value, such as 2 for a sum of two scores; without ``minus`` it must be 1.
    """

    plus: np.ndarray
    minus: np.ndarray | None = None
    scale: int = 1


@dataclass(frozen=True)
class Pair:
    """An original example with its changed examples of one kind; one of them, drawn at random, is scored.

    Attributes:
        uid: uid of the original.
        table: Table of the original.
        label: Gold label of the original.
        original: Whether the prediction on the original is gold.
        changed: Whether the prediction on each changed example is gold.
        scored: Position of the scored example among the changed examples.
        which: Intervention, part, variant and draw of the row of the scored example.
        answered: Whether both the original and the scored example got an answer. A missing answer is wrong.
    """

    uid: str
    table: str
    label: str
    original: bool
    changed: tuple[bool, ...]
    scored: int
    which: Which
    answered: bool

    @property
    def is_right(self) -> bool:
        """Whether the prediction on the scored example, one of the changed examples, is the gold label."""
        return self.changed[self.scored]


def kind_masks(rows: pa.Table, interventions: Sequence[str]) -> dict[str, np.ndarray]:
    """Map each kind of change, "preserved" and "flipped", to a mask of its changed examples: bool [rows].

    A change preserves or flips the gold label. Changes from or to a neutral label belong to neither kind.
    """
    gold = codes(rows, "gold")[0]
    uid = number_runs(rows, "uid")
    is_base, is_neutral = rows_with(rows, intervention=BASE), rows_with(rows, gold=NEUTRAL)
    original = np.full(len(gold), -1, dtype=np.int64)  # label of the original, -1 for neutral
    original[uid[is_base]] = np.where(is_neutral, -1, gold)[is_base]
    changed = np.any([rows_with(rows, intervention=name) for name in interventions], axis=0) & ~is_neutral
    changed &= original[uid] >= 0
    return dict(zip(KINDS, (changed & (gold == original[uid]), changed & (gold != original[uid])), strict=True))


def challenge_pairs(rows: pa.Table, interventions: Sequence[str], seed: int = 0) -> dict[str, list[Pair]]:
    """Map each kind of change, "preserved" and "flipped", to pairs of an original and its changed examples.

    As in the paper, one changed example of each pair is drawn at random to be scored. The draw depends only on the
    seed, the uid and the kind, and is the same for all models.

    Args:
        rows: Base rows, and rows of the interventions with the label of the changed example as ``gold``, in their
            canonical order.
        interventions: Names of the interventions that make challenge examples.
        seed: Seed of the sample.

    Raises:
        HeedfulError: An example has no gold label, or does not name its table.
    """
    base = select(rows, intervention=BASE)
    uids = strings(base, "uid")
    label = dict(zip(uids, strings(base, "gold"), strict=True))
    original = dict(zip(uids, equal_columns(base, "gold", "y").tolist(), strict=True))
    pairs: dict[str, list[Pair]] = {kind: [] for kind in KINDS}
    for kind, mask in kind_masks(rows, interventions).items():
        changed = rows.filter(pa.array(mask))
        keys = list(zip(*(changed[name].to_pylist() for name in KEY), strict=True))
        golds = strings(changed, "gold")
        is_right = equal_columns(changed, "gold", "y2").tolist()
        answered = (is_answer(changed) & is_answer(changed, "y2")).tolist()
        tables = tables_of(pa.concat_tables([base, changed]), [uid for uid, *_ in keys])
        for uid, group in groupby(range(len(keys)), key=lambda row: keys[row][0]):
            of_uid = list(group)
            if label[uid] is None or None in golds[of_uid]:
                raise DataError(f"{uid}, or an example changed from it, has no gold label. Take data with gold labels.")
            scored = int(generator(seed, "challenge", kind, uid).integers(len(of_uid)))
            at = of_uid[scored]
            rights = tuple(is_right[row] for row in of_uid)
            pairs[kind].append(
                Pair(uid, tables[at], label[uid], original[uid], rights, scored, keys[at][1:], answered[at])
            )
    return pairs


def challenge_counts(rows: pa.Table, interventions: Sequence[str]) -> dict[str, int]:
    """Count the examples that :func:`challenge` measures, and those that it omits.

    Returns:
        Maps these keys to numbers:

        - "originals": examples of the data with a change of either kind; "tables": tables of the originals;
        - "preserved", "flipped": originals with a change that keeps the gold label, or flips it;
        - "flipped_from_entailment", "flipped_from_contradiction": originals of "flipped" with this gold label;
        - "preserved_changes", "flipped_changes": changed examples per kind;
        - "neutral": examples with a neutral gold label; "unchanged": other examples without a change of either kind.
    """
    pairs = challenge_pairs(rows, interventions)
    base = select(rows, intervention=BASE)
    table = {pair.uid: pair.table for kind in KINDS for pair in pairs[kind]}
    counts = {"originals": len(table), "tables": len(set(table.values()))}
    counts |= {kind: len(pairs[kind]) for kind in KINDS}
    labels = Counter(pair.label for pair in pairs[FLIPPED])
    counts |= {f"{FLIPPED}_{statistic}": labels[label] for statistic, label in FROM.items()}
    counts |= {f"{kind}_changes": sum(len(pair.changed) for pair in pairs[kind]) for kind in KINDS}
    neutral = int(rows_with(base, gold=NEUTRAL).sum())
    return counts | {"neutral": neutral, "unchanged": base.num_rows - neutral - len(table)}


def subsampled(hits: np.ndarray, key: Key, reason: str) -> Measurement:
    """Compute the paper's mean accuracy over 100 random samples of 80 % of the data, and the standard deviation.

    The standard deviation is no standard error: it is half the standard error of independent examples, and ignores that
    examples share tables. So the result has no interval, and the flag "std_is_half_a_standard_error".

    Args:
        hits: Whether each prediction is right: float64 [examples].
        key: Seed and purpose of the samples.
        reason: Reason why the number is undefined, if there are no examples.
    """
    # Samples are drawn without replacement. So the standard deviation over samples (ddof 1; the paper does not say) is
    # sqrt((1 - 0.8) / 0.8) = 1/2 of the standard error of independent examples.
    n = len(hits)
    if not n:
        return Measurement(None, 0, flags=(HALF_ERROR,), reason=reason)
    rng = generator("subsamples", *key)
    size = max(1, 4 * n // 5)
    means = tuple(float(np.mean(hits[rng.permutation(n)[:size]])) for _ in range(SUBSAMPLES))
    std = float(np.std(means, ddof=1))
    return Measurement(float(np.mean(means)), n, SUBSAMPLES, std, per_draw=means, flags=(HALF_ERROR,))


def challenge(
    rows: pa.Table, prefix: MetricName, interventions: Sequence[str], seed: int = 0, kinds: Sequence[str] = KINDS
) -> Iterator[Number]:
    """Measure accuracy on originals, and on changed examples with the same or a flipped label (tables 4 and 7).

    A missing answer is wrong. For intervals, all examples about a table form one cluster.

    Args:
        rows: Base rows and rows of the interventions, in their canonical order.
        prefix: Metric name without the statistic.
        interventions: Names of the interventions that make challenge examples.
        seed: Seed of the sample of changed examples (:func:`challenge_pairs`), and of the samples of 80 %.
        kinds: Kinds of changed examples to measure, "preserved" and "flipped".

    Yields:
        Numbers with these statistics:

        - ``original``: accuracy on the originals;
        - ``preserved``, ``flipped``: accuracy on one changed example per original;
        - ``<...>/subsamples``: the paper's mean and standard deviation over samples of 80 % (:func:`subsampled`);
        - ``<kind>/every``: mean over originals of the accuracy on all changed examples of an original;
        - ``<kind>/drop``: accuracy on the originals minus accuracy on the changed examples, over the pairs with both
          answers;
        - ``flipped/from_entailment``, ``flipped/from_contradiction``: accuracy on the changed examples by the label of
          the original; ``flipped/both_ways``, their unweighted mean, which is at most 1/2 for a constant answer.

        A flag marks flips that all have the same new label, since a constant answer then gets all of them right.

    Raises:
        HeedfulError: As :func:`challenge_pairs`.
    """
    pairs = challenge_pairs(rows, interventions, seed)
    changed = kind_masks(rows, interventions)
    flags = (ONE_SIDED,) if len({pair.label for pair in pairs[FLIPPED]}) == 1 else ()

    def number(statistic: str, of_pairs: Sequence[Pair], reason: str, plus: list, minus: list | None = None) -> Number:
        values = Values(_floats(plus), None if minus is None else _floats(minus))
        measured = mean_of(values, [pair.table for pair in of_pairs], reason)
        one_sided = flags if statistic in (FLIPPED, f"{FLIPPED}/every") else ()
        measured = replace(measured, flags=(*measured.flags, *one_sided))
        is_headline = statistic in (ORIGINAL, *KINDS)
        label = f"{prefix.part or prefix.data}: {statistic}" if is_headline else ""
        mask = changed.get(statistic)
        return Number(prefix._replace(statistic=statistic), measured, label, 0, headline=is_headline, changed=mask)

    def subsamples(statistic: str, hits: list, reason: str) -> Number:
        measured = subsampled(_floats(hits), (seed, str(prefix._replace(statistic=statistic))), reason)
        return Number(prefix._replace(statistic=f"{statistic}/{SUBSAMPLED}"), measured, "")

    pair_of_uid = {pair.uid: pair for kind in KINDS for pair in pairs[kind]}
    originals = [pair_of_uid[uid] for uid in sorted(pair_of_uid)]
    why, right = "no example has a challenge example", [pair.original for pair in originals]
    yield number(ORIGINAL, originals, why, right)
    yield subsamples(ORIGINAL, right, why)
    for kind in kinds:
        of_kind, reason = pairs[kind], f"no example was changed with its label {kind}"
        answered = [pair for pair in of_kind if pair.answered]
        right = [pair.is_right for pair in of_kind]
        yield number(kind, of_kind, reason, right)
        if kind == FLIPPED:
            yield from by_way(prefix._replace(statistic=kind), Values(_floats(right)), of_kind)
        yield subsamples(kind, right, reason)
        yield number(f"{kind}/every", of_kind, reason, [float(np.mean(p.changed)) for p in of_kind])
        why = UNANSWERED if of_kind else reason
        yield number(f"{kind}/drop", answered, why, [p.original for p in answered], [p.is_right for p in answered])


def _floats(values: list) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def mean_of(
    values: Values, table: Sequence[str] | np.ndarray, reason: str, cells: np.ndarray | None = None
) -> Measurement:
    """Compute the mean of values over pairs of an original and a changed example, with its interval.

    Args:
        values: Values of the pairs.
        table: Name of the table of each pair; for the interval, the pairs of a table form one cluster.
        reason: Reason why the mean is undefined, if there are no pairs.
        cells: Group of each pair: int [pairs]. If given, the result is the unweighted mean of the means of the groups.
    """
    n = len(values.plus)
    if values.minus is None:
        return share(values.plus, table, reason=reason, cells=cells)
    counts = np.full(n, float(values.scale))
    measured = difference(values.plus, values.minus, table, reason=reason, counts=counts, cells=cells, n=n)
    if measured.value is None or measured.ci95 is None:
        return measured
    low, high = measured.ci95
    return replace(measured, value=values.scale * measured.value, ci95=(values.scale * low, values.scale * high))


def by_way(prefix: MetricName, values: Values, pairs: Sequence[Pair]) -> Iterator[Number]:
    """Yield the mean of values over the flipped pairs of each label, and the unweighted mean of these two means.

    A flipped pair is an original and a changed example with another gold label. The label of a pair is the gold label
    of its original: entailment or contradiction.

    Args:
        prefix: Metric name of the mean over all pairs.
        values: Values of the pairs, in the order of ``pairs``.
        pairs: Flipped pairs.

    Yields:
        The means ``<statistic>/from_entailment`` and ``<statistic>/from_contradiction``, where ``<statistic>`` is the
        statistic of ``prefix``; and their mean ``<statistic>/both_ways``, which is undefined if a label has no pair.
    """
    labels = np.array([pair.label for pair in pairs], dtype=str)
    table = np.array([pair.table for pair in pairs], dtype=str)
    reasons = {label: f"no example was changed from {label} to the other label" for label in FROM.values()}

    def number(way: str, label: str, measured: Measurement) -> Number:
        name = prefix._replace(statistic=f"{prefix.statistic}/{way}")
        return Number(name, measured, label, 1, headline=False)

    for way, label in FROM.items():
        mask = labels == label
        of_way = Values(values.plus[mask], None if values.minus is None else values.minus[mask], values.scale)
        yield number(way, way.replace("_", " "), mean_of(of_way, table[mask], reasons[label]))
    missing = next((why for label, why in reasons.items() if label not in labels), "")
    _, cells = np.unique(labels, return_inverse=True)
    mean = Measurement(None, len(pairs), reason=missing) if missing else mean_of(values, table, missing, cells)
    yield number(BOTH_WAYS, "mean of both ways", mean)


def perturbations(kinds: Sequence[str]) -> list[str]:
    """Return the names of the interventions that edit hypotheses, two for each kind of edit, such as "negation".

    The two names are ``perturb/<kind>/preserved`` (the label should stay) and ``perturb/<kind>/flipped`` (the label
    should change).
    """
    return [f"perturb/{kind}/{way}" for kind in kinds for way in DIRECTIONS]


def numbers(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Yield all numbers of the challenge evaluation: accuracy after changes of hypotheses and of titles of tables, over
    all changes, by kind of change and by split of the data.
    """
    settings = ChallengeSettings.from_context(context)
    kinds = sorted(settings.kinds)
    splits = {f"split={split}": of_split(rows, split) for split in sorted(context.splits)}
    for part, interventions, label_kinds, with_curves in (
        (HYPOTHESES, perturbations(settings.kinds), KINDS, KINDS),
        (TITLES, [TITLE] if settings.title else [], KINDS[:1], () if kinds else KINDS[:1]),  # no title flips a label
    ):
        if not interventions:
            continue
        name = MetricName(CHALLENGE, context.data, part)
        of_part = list(challenge(rows, name, interventions, context.seed, label_kinds))
        for kind in kinds if part == HYPOTHESES else ():
            of_part += _sliced(challenge(rows, name, perturbations([kind]), context.seed), f"kind={kind}")
        for slice_, rows_of_split in splits.items():  # as in an evaluation of the split alone
            of_part += _sliced(challenge(rows_of_split, name, interventions, context.seed, label_kinds), slice_)
        yield from _in_order(of_part, with_curves)


def _sliced(numbers: Iterable[Number], slice_: str) -> Iterator[Number]:
    """Yield numbers under the name of a slice of the data, "kind=<kind of change>" or "split=<split>".

    The given numbers are computed from the slice alone. Tables show them one level below the numbers of the whole data.
    For a slice by kind of change, two rules hold. Numbers whose statistic ends with "subsamples" (the paper's mean over
    samples of 80 %) are omitted. The number whose statistic is "original" has no line in tables.
    """
    column, _, value = slice_.partition("=")
    for number in numbers:
        label = value.replace("_", " ") if number.headline else number.label
        if column == "kind" and number.name.statistic.endswith(SUBSAMPLED):
            continue
        if column == "kind" and number.name.statistic == ORIGINAL:
            label = ""
        name, level = number.name._replace(slice=slice_), 1 + (number.level or 0)
        yield replace(number, name=name, label=label, level=level, headline=False, changed=None)


def _in_order(numbers: Sequence[Number], with_curves: Sequence[str]) -> Iterator[Number]:
    """Sort numbers by statistic, and give some of them a curve over training epochs.

    The order is "original", "preserved", "flipped". A longer statistic, such as "original/subsamples", is sorted by the
    word before the slash. A number has a curve if its statistic is in ``with_curves`` and the number is about all data,
    not about a slice (a part of the data, such as "split=dev"). Other numbers have no curve.
    """
    for number in sorted(numbers, key=lambda number: _statistic_rank(number.name.statistic)):
        part, statistic = number.name.part, number.name.statistic
        has_curve = statistic in with_curves and not number.name.slice
        curve = Curve(part, f"{part}: {statistic}", METRIC.name) if has_curve else None
        yield replace(number, curve=curve)


def _statistic_rank(statistic: str) -> int:
    return (ORIGINAL, *KINDS).index(statistic.partition("/")[0])


METRIC = Metric("challenge", numbers)
