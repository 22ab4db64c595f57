"""Challenge examples (Gupta et al. 2022, "Is My Model Using the Right Evidence?", tables 4, 7 and 8): accuracy on
changes of hypothesis or table that preserve the label, and on changes that flip the label.

A changed example has its own gold label; if it equals the label of the original, the change preserves the label. Pairs
whose original or changed label is neutral are left out. The models still have three classes: chance is not 50 %.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heedful.interventions import DIRECTIONS
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.metrics.hits import is_answer
from heedful.metrics.metric import Metric
from heedful.metrics.number import Curve, Number, Settings
from heedful.metrics.statistics.shares import difference, share
from heedful.metrics.tables.which_table import tables_of
from heedful.records import Context, DataError, Measurement, MetricName, generator
from heedful.records.rows import BASE, codes, of_split, runs, same, select, strings, where

CHALLENGE, ORIGINAL = "challenge", "original"
KINDS = ("preserved", "flipped")
HYPOTHESES, TITLES, TITLE = "hypotheses", "titles", "title"
NEUTRAL = LABELS[1]
FLIPPED = KINDS[1]
FROM = {f"from_{label}": label for label in LABELS if label != NEUTRAL}  # statistics of flips, by original label
BOTH_WAYS = "both_ways"  # the unweighted mean of these
ONE_SIDED = "one_sided"  # all flips end in one label
UNANSWERED = "no example got an answer before and after"
SUBSAMPLES, SUBSAMPLED = 100, "subsamples"
HALF_ERROR = "std_is_half_a_standard_error"
Which = tuple[str, str, str, int]  # intervention, part, variant, draw


@dataclass(frozen=True)
class ChallengeSettings(Settings):
    """Settings of challenge examples.

    Attributes:
        kinds: Kinds of changes of hypotheses.
        title: Whether to change the titles of tables.
    """

    kinds: tuple[str, ...]
    title: bool


class Values(NamedTuple):
    """A value per pair: ``plus``, or ``plus - minus`` if given, float64 [pairs]; each between 0 and ``scale``."""

    plus: np.ndarray
    minus: np.ndarray | None = None
    scale: int = 1


@dataclass(frozen=True)
class Pair:
    """An original example with its changed examples of one kind, of which one is scored.

    Attributes:
        uid: uid of the original.
        table: Table of the original.
        label: Gold label of the original.
        original: Whether the prediction on the original is gold.
        changed: Whether the predictions on the changed examples are gold.
        scored: Position of the scored example.
        which: Key of the scored example.
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
        """Whether the prediction on the scored example is gold."""
        return self.changed[self.scored]


def challenge_pairs(rows: pa.Table, interventions: Sequence[str], seed: int = 0) -> dict[str, list[Pair]]:
    """Originals with their changed examples, by kind ("preserved" or "flipped") and in ascending order of uids.

    As in the paper, one changed example is sampled for each original and kind. The choice depends only on the seed, the
    uid and the kind, so that it is the same for all models.

    Args:
        rows: Base rows, and rows of the interventions, whose ``gold`` is the label of the changed example.
        interventions: Names of the interventions that make challenge examples.
        seed: Keys the sample.

    Raises:
        HeedfulError: An example has no gold label, or does not name its table.
    """
    base = select(rows, intervention=BASE)
    rows = rows.filter(pa.array(np.any([where(rows, intervention=name) for name in interventions], axis=0)))
    uids = strings(base, "uid")
    label = dict(zip(uids, strings(base, "gold"), strict=True))
    original = dict(zip(uids, same(base, "gold", "y").tolist(), strict=True))
    changes_of: dict[str, dict[str, list[tuple[Which, bool, bool]]]] = {kind: defaultdict(list) for kind in KINDS}
    names = ("uid", "gold", "intervention", "part", "variant", "draw")
    answered = is_answer(rows) & is_answer(rows, "y2")
    columns = [*(rows[name].to_pylist() for name in names), same(rows, "gold", "y2").tolist(), answered.tolist()]
    for uid, gold, *which, is_right, has_answers in zip(*columns, strict=True):
        if gold is None or label[uid] is None:
            raise DataError(f"{uid}, or an example changed from it, has no gold label. Take data with gold labels.")
        if NEUTRAL not in (gold, label[uid]):
            kind = KINDS[0] if gold == label[uid] else FLIPPED
            changes_of[kind][uid].append((tuple(which), is_right, has_answers))
    changed = sorted(set().union(*changes_of.values()))
    table = dict(zip(changed, tables_of(pa.concat_tables([base, rows]), changed), strict=True))
    pairs: dict[str, list[Pair]] = {kind: [] for kind in KINDS}
    for kind, of_uid in changes_of.items():
        for uid, changes in sorted(of_uid.items()):
            changes.sort()
            scored = int(generator(seed, "challenge", kind, uid).integers(len(changes)))
            change, _, has_answers = changes[scored]
            rights = tuple(right for _, right, _ in changes)
            pairs[kind].append(Pair(uid, table[uid], label[uid], original[uid], rights, scored, change, has_answers))
    return pairs


def challenge_counts(rows: pa.Table, interventions: Sequence[str]) -> dict[str, int]:
    """Counts of the examples of :func:`challenge`, and of base examples that are left out.

    Returns:
        "originals", "tables"; "preserved", "flipped", originals with such a change, and "flipped_from_entailment" and
        "flipped_from_contradiction" among the flipped; "preserved_changes", "flipped_changes", their changes (one per
        original is scored); "neutral", base examples with that gold label; "unchanged", other base examples without a
        challenge example.
    """
    pairs = challenge_pairs(rows, interventions)
    base = select(rows, intervention=BASE)
    table = {pair.uid: pair.table for kind in KINDS for pair in pairs[kind]}
    counts = {"originals": len(table), "tables": len(set(table.values()))}
    counts |= {kind: len(pairs[kind]) for kind in KINDS}
    labels = Counter(pair.label for pair in pairs[FLIPPED])
    counts |= {f"{FLIPPED}_{statistic}": labels[label] for statistic, label in FROM.items()}
    counts |= {f"{kind}_changes": sum(len(pair.changed) for pair in pairs[kind]) for kind in KINDS}
    neutral = int(where(base, gold=NEUTRAL).sum())
    return counts | {"neutral": neutral, "unchanged": base.num_rows - neutral - len(table)}


def subsampled(hits: np.ndarray, key: tuple[str | int, ...], reason: str) -> Measurement:
    """The paper's "average accuracy and standard deviation across 100 samplings, with 80% of the data selected".

    The standard deviation (ddof 1; the paper does not say) of means over 80 % without replacement is half the standard
    error of independent examples, sqrt((1 - 0.8) / 0.8) = 1/2, and ignores tables; a flag says so. No interval.

    Args:
        hits: [examples], the values to average.
        key: Keys the samples.
        reason: Reason why the number is undefined without examples.
    """
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
    """Accuracy of a model on original, label-preserved and label-flipped examples (tables 4 and 7).

    A missing answer is wrong. Tables are the clusters of intervals.

    Args:
        rows: Base rows and rows of the interventions, of a full or of a hypothesis-only model.
        prefix: Metric name without the statistic.
        interventions: Names of the interventions that make challenge examples.
        seed: Keys the sample of changed examples (:func:`challenge_pairs`) and the samples of 80 %.
        kinds: "preserved", "flipped", or both: the kinds of changed examples to measure.

    Yields:
        ``original``, accuracy on the originals; ``preserved`` and ``flipped``, on one changed example per original;
        ``<...>/subsamples``, the paper's mean and standard deviation over samples of 80 % (:func:`subsampled`);
        ``<preserved or flipped>/every``, the mean over originals of the accuracy on all of their changed examples;
        ``<...>/drop``, accuracy on the originals of this kind minus accuracy on the changed examples, if both got an
        answer; ``flipped/from_entailment`` and ``flipped/from_contradiction``, for originals with this label, and
        ``flipped/both_ways``, their unweighted mean, which is at most a half for a constant answer and undefined
        without one of them. A flag marks flips that all have the same new label, which a constant answer gets right.

    Raises:
        HeedfulError: As :func:`challenge_pairs`.
    """
    pairs = challenge_pairs(rows, interventions, seed)
    changed = challenge_rows(rows, interventions)
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
    """The mean of values of pairs, with tables as clusters; arguments as in :func:`.shares.share`."""
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
    """The mean of values for pairs that flip from each label, and the unweighted mean of both directions.

    Args:
        prefix: Metric name for all pairs; ``/<direction>`` is appended to its statistic.
        values: Values of the pairs.
        pairs: The pairs.
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
    """The names of the interventions that make changes of these kinds in hypotheses."""
    return [f"perturb/{kind}/{way}" for kind in kinds for way in DIRECTIONS]


def challenge_rows(rows: pa.Table, interventions: Sequence[str]) -> dict[str, np.ndarray]:
    """The changed examples per kind (one is scored per original): bool [rows] each."""
    gold = codes(rows, "gold")[0]
    uid = runs(rows, "uid")
    is_base = where(rows, intervention=BASE)
    original = np.full(len(gold), -1, dtype=np.int64)
    original[uid[is_base]] = np.where(where(rows, gold=NEUTRAL), -1, gold)[is_base]
    changed = np.any([where(rows, intervention=name) for name in interventions], axis=0) & ~where(rows, gold=NEUTRAL)
    changed &= original[uid] >= 0
    return dict(zip(KINDS, (changed & (gold == original[uid]), changed & (gold != original[uid])), strict=True))


def numbers(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Accuracy by hypotheses and by titles: over all, for each kind of change, and per split if there are several."""
    settings = ChallengeSettings.from_context(context)
    seed, kinds = context.seed, settings.kinds
    hypotheses, titles = (MetricName(CHALLENGE, context.data, part) for part in (HYPOTHESES, TITLES))
    splits = {f"split={split}": of_split(rows, split) for split in sorted(context.splits)}
    if kinds:
        made_numbers = list(challenge(rows, hypotheses, perturbations(kinds), seed))
        for kind in sorted(kinds):
            made_numbers += _sliced(challenge(rows, hypotheses, perturbations([kind]), seed), f"kind={kind}")
        for slice_, rows_of_split in splits.items():  # as in an evaluation of the split alone
            made_numbers += _sliced(challenge(rows_of_split, hypotheses, perturbations(kinds), seed), slice_)
        yield from _in_order(made_numbers, KINDS)
    if settings.title:
        made_numbers = list(challenge(rows, titles, [TITLE], seed, KINDS[:1]))  # no title flips a label
        for slice_, rows_of_split in splits.items():
            made_numbers += _sliced(challenge(rows_of_split, titles, [TITLE], seed, KINDS[:1]), slice_)
        yield from _in_order(made_numbers, () if kinds else KINDS[:1])


def _sliced(numbers: Iterable[Number], slice_: str) -> Iterator[Number]:
    """The numbers of a slice, on lines below those for all examples; slices by kind of change omit the originals."""
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
    """Originals, then preserved and flipped labels, followed by their slices; some have curves."""
    for number in sorted(numbers, key=lambda number: _place(number.name.statistic)):
        part, statistic = number.name.part, number.name.statistic
        has_curve = statistic in with_curves and not number.name.slice
        curve = Curve(part, f"{part}: {statistic}", METRIC.name) if has_curve else None
        yield replace(number, curve=curve)


def _place(statistic: str) -> int:
    return (ORIGINAL, *KINDS).index(statistic.partition("/")[0])


METRIC = Metric("challenge", numbers)
