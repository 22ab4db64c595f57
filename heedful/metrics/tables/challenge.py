"""Challenge examples (Gupta et al. 2022, "Is My Model Using the Right Evidence?", tables 4, 7 and 8): accuracy where a
change of hypothesis or table preserves the label, and where it flips it.

A changed example carries its own gold label; if that is the label of the original, the change preserves it. Pairs whose
original or changed label is neutral are left out. The models still have three classes: chance is not 50 %.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heedful.interventions import DIRECTIONS
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.metrics.hits import is_answer
from heedful.metrics.metric import Metric, Numbers
from heedful.metrics.statistics.shares import difference, share
from heedful.metrics.tables.which_table import tables_of
from heedful.records import Chart, Context, DataError, Line, Measurement, MetricName, Shown, generator
from heedful.records.rows import BASE, codes, of_split, runs, same, select, strings, where

CHALLENGE, ORIGINAL = "challenge", "original"
KINDS = ("preserved", "flipped")
HYPOTHESES, TITLES, TITLE = "hypotheses", "titles", "title"
NEUTRAL = LABELS[1]
FLIPPED = KINDS[1]
FROM = {f"from_{label}": label for label in LABELS if label != NEUTRAL}  # statistics of what flips, by original label
BOTH_WAYS = "both_ways"  # the unweighted mean of these
ONE_SIDED = "one_sided"  # all flips end in one label
UNANSWERED = "no example got an answer before and after"
SUBSAMPLES = 100
HALF_ERROR = "std_is_half_a_standard_error"
Which = tuple[str, str, str, int]  # intervention, part, variant, draw


class Values(NamedTuple):
    """A value of each pair: ``plus``, less ``minus`` where it is given, float64 [pairs]; each between 0 and ``of``."""

    plus: np.ndarray
    minus: np.ndarray | None = None
    of: int = 1


@dataclass(frozen=True)
class Pair:
    """An original example and its changed examples of one kind, one of which is scored.

    Attributes:
        uid: The original example.
        table: Its table.
        label: Its gold label.
        original: Whether the prediction on the original is gold.
        changed: Whether the prediction on each changed example is the gold label of that.
        scored: The position of the one that is scored.
        which: Which change that is.
        answered: Whether the original and that change both got an answer. What did not is wrong.
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
        """Whether the prediction on the scored example is its gold label."""
        return self.changed[self.scored]


def challenge_pairs(rows: pa.Table, interventions: Sequence[str], seed: int = 0) -> dict[str, list[Pair]]:
    """Original examples with what became of them, by kind, in ascending order of uids.

    An example may have been changed many times, or never. As in the paper, one changed example is sampled for each
    original and kind; which one depends on the seed, the uid and the kind alone, so that it is the same for all models.

    Args:
        rows: Base rows, and rows of the interventions, whose ``gold`` is the label of the changed example.
        interventions: Names of the interventions that make challenge examples.
        seed: Keys the sample.

    Returns:
        "preserved" and "flipped" to their pairs.

    Raises:
        HeedfulError: An example has no gold label, or does not name its table.
    """
    base = select(rows, intervention=BASE)
    rows = rows.filter(pa.array(np.any([where(rows, intervention=name) for name in interventions], axis=0)))
    label = dict(zip(strings(base, "uid"), strings(base, "gold"), strict=True))
    original = dict(zip(strings(base, "uid"), same(base, "gold", "y").tolist(), strict=True))
    changes_of: dict[str, dict[str, list[tuple[Which, bool, bool]]]] = {kind: defaultdict(list) for kind in KINDS}
    names = ("uid", "gold", "intervention", "part", "variant", "draw")
    answered = is_answer(rows) & is_answer(rows, "y2")
    columns = [*(rows[name].to_pylist() for name in names), same(rows, "gold", "y2").tolist(), answered.tolist()]
    for uid, gold, *which, is_right, has_answers in zip(*columns, strict=True):
        if gold is None or label[uid] is None:
            raise DataError(
                f"{uid}, or an example changed from it, has no gold label, and is not a challenge example. Take data "
                "with gold labels."
            )
        if NEUTRAL not in (gold, label[uid]):
            kind = "preserved" if gold == label[uid] else FLIPPED
            changes_of[kind][uid].append((tuple(which), is_right, has_answers))
    uids = sorted(set().union(*changes_of.values()))
    table = dict(zip(uids, tables_of(pa.concat_tables([base, rows]), uids), strict=True))
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
    """How many examples :func:`challenge` rests on, and how many base examples it leaves out.

    Returns:
        "originals", "tables"; "preserved", "flipped", originals with such a change, and of the flipped those
        "flipped_from_entailment" and "flipped_from_contradiction"; "preserved_changes", "flipped_changes", the changes
        they have, of which one each is scored; "neutral", base examples with that gold label; "unchanged", other base
        examples without a challenge example.
    """
    pairs = challenge_pairs(rows, interventions)
    base = select(rows, intervention=BASE)
    table = {pair.uid: pair.table for kind in KINDS for pair in pairs[kind]}
    counts = {"originals": len(table), "tables": len(set(table.values()))}
    counts |= {kind: len(pairs[kind]) for kind in KINDS}
    labels = Counter(pair.label for pair in pairs[FLIPPED])
    counts |= {f"{FLIPPED}_{statistic}": labels[label] for statistic, label in FROM.items()}
    counts |= {f"{kind}_changes": sum(len(pair.changed) for pair in pairs[kind]) for kind in KINDS}
    left_out = int(where(base, gold=NEUTRAL).sum())
    return counts | {"neutral": left_out, "unchanged": base.num_rows - left_out - len(table)}


def subsampled(hits: np.ndarray, key: tuple[str | int, ...], reason: str) -> Measurement:
    """The paper's "average accuracy and standard deviation across 100 samplings, with 80% of the data selected".

    Sampled without replacement, n of 0.8 n examples differ from all by half the standard error of n independent ones:
    sqrt((1 - 0.8) / 0.8) = 1/2. This is no error of the accuracy, and sees no table; a flag says so.

    Args:
        hits: [examples], what is averaged.
        key: Keys the samples.
        reason: Why there is none, where there are no examples.

    Returns:
        Mean and sample standard deviation (ddof 1; the paper does not say) of 100 means over int(0.8 n) examples, at
        least one. No interval.
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
    rows: pa.Table, of: MetricName, interventions: Sequence[str], seed: int = 0, kinds: Sequence[str] = KINDS
) -> Numbers:
    """Accuracy of one model on original, label-preserved and label-flipped examples (tables 4 and 7).

    What is no answer is wrong.

    Args:
        rows: Base rows and rows of the interventions, of a full or of a hypothesis-only model.
        of: The names of the metrics but for the statistic.
        interventions: Names of the interventions that make challenge examples.
        seed: Keys the sample of changed examples (:func:`challenge_pairs`) and the samples of 80 %.
        kinds: "preserved", "flipped", or both: where changed examples are measured.

    Returns:
        ``original``, accuracy on the originals of the others; ``preserved`` and ``flipped``, on one changed example of
        each original that has one; ``<...>/subsamples``, for each of the three the paper's mean and standard deviation
        over samples of 80 %, but of no slice; ``<preserved or flipped>/every``, the mean over originals of their
        accuracy on all of their changed examples; ``<...>/drop``, accuracy on the originals of this kind less that on
        the changed ones, where both got an answer; ``flipped/from_entailment`` and ``flipped/from_contradiction``, that
        on the changed examples of originals with this label, and ``flipped/both_ways``, their unweighted mean: whoever
        always answers the same has no more than a half there. It is undefined where one of them is. A flag is for flips
        that all end in one label, so that whoever always answers it is right. Tables are the clusters of intervals.

    Raises:
        HeedfulError: As :func:`challenge_pairs`.
    """
    pairs = challenge_pairs(rows, interventions, seed)
    numbers: Numbers = {}
    flags = (ONE_SIDED,) if len({pair.label for pair in pairs[FLIPPED]}) == 1 else ()

    def measure(statistic: str, of_pairs: Sequence[Pair], reason: str, plus: list, minus: list | None = None) -> None:
        name = of._replace(statistic=statistic)
        values = Values(_floats(plus), None if minus is None else _floats(minus))
        measured = mean_of(values, [pair.table for pair in of_pairs], reason)
        one_sided = flags if statistic in (FLIPPED, f"{FLIPPED}/every") else ()
        numbers[name] = replace(measured, flags=(*measured.flags, *one_sided))
        if statistic in (ORIGINAL, *KINDS) and not of.slice:
            key = (seed, str(name))
            numbers[name._replace(statistic=f"{statistic}/subsamples")] = subsampled(values.plus, key, reason)

    pair_of_uid = {pair.uid: pair for kind in KINDS for pair in pairs[kind]}
    originals = [pair_of_uid[uid] for uid in sorted(pair_of_uid)]
    measure(ORIGINAL, originals, "no example has a challenge example", [p.original for p in originals])
    for kind in kinds:
        of_kind, reason = pairs[kind], f"no example was changed with its label {kind}"
        answered = [pair for pair in of_kind if pair.answered]
        measure(kind, of_kind, reason, [p.is_right for p in of_kind])
        measure(f"{kind}/every", of_kind, reason, [float(np.mean(p.changed)) for p in of_kind])
        why = UNANSWERED if of_kind else reason
        measure(f"{kind}/drop", answered, why, [p.original for p in answered], [p.is_right for p in answered])
        if kind == FLIPPED:
            numbers |= by_way(of._replace(statistic=kind), Values(_floats([p.is_right for p in of_kind])), of_kind)
    return numbers


def _floats(values: list) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def mean_of(
    values: Values, table: Sequence[str] | np.ndarray, reason: str, cells: np.ndarray | None = None
) -> Measurement:
    """The mean of values of pairs; tables are clusters.

    Args:
        values: The values.
        table: The table of each pair.
        reason: Why there is none, where there are no pairs.
        cells: int [pairs]. Where there are several it is the unweighted mean of the mean of each.
    """
    n = len(values.plus)
    if values.minus is None:
        return share(values.plus, table, reason=reason, cells=cells)
    of = np.full(n, float(values.of))
    measured = difference(values.plus, values.minus, table, reason=reason, of=of, cells=cells, n=n)
    if measured.value is None or measured.ci95 is None:
        return measured
    low, high = measured.ci95
    return replace(measured, value=values.of * measured.value, ci95=(values.of * low, values.of * high))


def by_way(of: MetricName, values: Values, pairs: Sequence[Pair]) -> Numbers:
    """A number of what flips from each label, and the unweighted mean of both ways.

    Args:
        of: The name of the number of all; ``/<way>`` is put behind its statistic.
        values: The values of which the number is a mean.
        pairs: The pairs.
    """
    numbers: Numbers = {}
    labels = np.array([pair.label for pair in pairs], dtype=str)
    table = np.array([pair.table for pair in pairs], dtype=str)
    reasons = {label: f"no example was changed from {label} to the other label" for label in FROM.values()}
    for way, label in FROM.items():
        here = labels == label
        own = Values(values.plus[here], None if values.minus is None else values.minus[here], values.of)
        numbers[of._replace(statistic=f"{of.statistic}/{way}")] = mean_of(own, table[here], reasons[label])
    missing = next((why for label, why in reasons.items() if label not in labels), "")
    _, cells = np.unique(labels, return_inverse=True)
    mean = Measurement(None, len(pairs), reason=missing) if missing else mean_of(values, table, missing, cells)
    numbers[of._replace(statistic=f"{of.statistic}/{BOTH_WAYS}")] = mean
    return numbers


def challenge_lines(
    numbers: Numbers, of: MetricName, kinds: Sequence[str] = (), splits: Sequence[str] = ()
) -> list[Line]:
    """Accuracy on originals, where labels are preserved, and where they flip; below each that of kinds and of splits.

    Where labels flip, each way stands below, and their mean, also where no example flips that way.

    Args:
        numbers: Those of :func:`challenge`, and others.
        of: The names of the metrics but for statistic and slice.
        kinds: Of changes.
        splits: Names of the splits, where they are several.
    """
    lines = []
    of_splits = {f"split={split}": split for split in sorted(splits)}
    for statistic in (ORIGINAL, *KINDS):
        of_kinds = {f"kind={kind}": kind for kind in sorted(kinds) if statistic != ORIGINAL}
        for slice_, label in ({"": ""} | of_kinds | of_splits).items():
            name, level = of._replace(statistic=statistic, slice=slice_), int(bool(slice_))
            text = label.replace("_", " ") or f"{of.part or of.data}: {statistic}"
            lines.append(Line(str(name), text, level=level, beside=not level))
            ways = {way: way.replace("_", " ") for way in FROM} | {BOTH_WAYS: "mean of both ways"}
            for way, told in ways.items():
                below = name._replace(statistic=f"{statistic}/{way}")
                lines.append(Line(str(below), told, level=level + 1))
    shown = {str(name) for name in numbers}
    return [line for line in lines if line.metric in shown]


def perturbations(kinds: Sequence[str]) -> list[str]:
    """The names of the interventions that make changes of these kinds in hypotheses."""
    return [f"perturb/{kind}/{way}" for kind in kinds for way in DIRECTIONS]


def _score(rows: pa.Table, context: Context) -> Numbers:
    """Accuracy by hypotheses and by titles: over all, in each of several splits, and for each kind of change."""
    numbers: Numbers = {}
    seed = context.seed
    changed = context.own["kinds"]
    splits = {f"split={split}": of_split(rows, split) for split in context.splits}
    hypotheses = MetricName(CHALLENGE, context.data, HYPOTHESES)
    titles = MetricName(CHALLENGE, context.data, TITLES)
    for slice_, some in {"": rows, **splits}.items():  # each split as if it stood alone
        alone: Numbers = challenge(some, hypotheses, perturbations(changed), seed) if changed else {}
        if context.own["title"]:
            alone |= challenge(some, titles, [TITLE], seed, KINDS[:1])  # no title flips a label
        numbers |= {name._replace(slice=slice_): m for name, m in alone.items()}
    for kind in changed:
        numbers |= challenge(rows, hypotheses._replace(slice=f"kind={kind}"), perturbations([kind]), seed)
    return numbers


def _show(numbers: Numbers, context: Context, counts: Mapping[str, Any]) -> Shown:
    lines = challenge_lines(
        numbers, MetricName(CHALLENGE, context.data, HYPOTHESES), context.own["kinds"], context.splits
    )
    lines += challenge_lines(numbers, MetricName(CHALLENGE, context.data, TITLES), splits=context.splits)
    return Shown(lines)


def _charts(context: Context) -> tuple[Chart, ...]:
    part, kinds = (HYPOTHESES, KINDS) if context.own["kinds"] else (TITLES, KINDS[:1])
    curves = {f"{part}: {kind}": MetricName(CHALLENGE, context.data, part, kind) for kind in kinds}
    return (Chart(part, curves, METRIC.name),)


def challenge_rows(
    rows: pa.Table, of: MetricName, interventions: Sequence[str], kinds: Sequence[str] = KINDS
) -> dict[MetricName, np.ndarray]:
    """The changed examples of each kind, of which one is scored for each original: bool [rows] each.

    Args:
        rows: Rows.
        of: The names of the metrics but for the statistic.
        interventions: Names of the interventions that make challenge examples.
        kinds: "preserved", "flipped", or both.
    """
    gold = codes(rows, "gold")[0]
    uid = runs(rows, "uid")
    is_base = where(rows, intervention=BASE)
    original = np.full(len(gold), -1, dtype=np.int64)
    original[uid[is_base]] = np.where(where(rows, gold=NEUTRAL), -1, gold)[is_base]
    changed = np.any([where(rows, intervention=name) for name in interventions], axis=0) & ~where(rows, gold=NEUTRAL)
    changed &= original[uid] >= 0
    is_kind = dict(zip(KINDS, (gold == original[uid], gold != original[uid]), strict=True))
    return {of._replace(statistic=kind): changed & is_kind[kind] for kind in kinds}


def _changed(rows: pa.Table, context: Context) -> dict[MetricName, np.ndarray]:
    of = MetricName(CHALLENGE, context.data)
    kinds = context.own["kinds"]
    hypotheses = challenge_rows(rows, of._replace(part=HYPOTHESES), perturbations(kinds)) if kinds else {}
    titles = challenge_rows(rows, of._replace(part=TITLES), [TITLE], KINDS[:1]) if context.own["title"] else {}
    return hypotheses | titles


METRIC = Metric("challenge", _score, _show, _charts, rests_on=_changed)
