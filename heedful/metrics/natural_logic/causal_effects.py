"""Causal effects of natural-logic features: how often the prediction changes with the context or the word pair.

Source: Rozanova, Valentino and Freitas (2024), "Estimating the Causal Effects of Natural Logic Features in
Transformer-Based NLI Models". The examples n and n' of a pair differ in one feature. The total causal effect (TCE) is
the share of changed predictions among the pairs whose gold labels differ; the direct causal effect (DCE) is the share
among the pairs with the same gold label.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.answers import Scores
from heedful.metrics.hits import is_answer
from heedful.metrics.metric import Metric
from heedful.metrics.natural_logic.entailment import (
    entailed,
    entailment_at,
    gold_entailed,
    is_right_in_two_classes,
    probabilities_of,
)
from heedful.metrics.number import Curve, Number, Settings
from heedful.metrics.statistics.intervals import Entries, difference_interval, interval, ratio_interval, share_of
from heedful.metrics.statistics.shares import difference, share
from heedful.records import Context, Measurement, MetricName, RunError, Section
from heedful.records.rows import BASE, codes, rows_with, select, slice_codes

NATURAL_LOGIC, ACCURACY, MAJORITY = "natural_logic", "accuracy", "accuracy/majority"
SETS = {"context": {"tce": "I0", "dce": "I2"}, "insertion": {"tce": "I1", "dce": "I3"}}
EXPECTED = {"tce": "change", "dce": "stay"}
BREAKDOWNS = {"monotonicity": "monotonicity", "relation": "relation", "operator": "context operator"}
CLUSTERS_IGNORED, UNBOUNDED = "interval_ignores_clusters", "interval_unbounded"
SIGNED = "signed"
MEANS = ("", "towards_gold", "argmax", SIGNED, "absolute", "total_variation")
ROUNDED = 5e-5  # a smaller share is printed as 0.00 %
TITLES = {"nlixy": "NLI-XY"}
SHOWN = "towards_gold", SIGNED, "absolute", "per_seed"  # means with a line in tables, below the effect
OTHER_RULES, NAIVE = "other rules", "naive intervals"  # descriptions of means without a line


@dataclass(frozen=True)
class NaturalLogicSettings(Settings):
    """Settings of natural logic.

    Attributes:
        data: Name of the data set of the evaluation.
    """

    data: str


def _values_per_pair(rows: pa.Table, labels: Sequence[str]) -> dict[str, np.ndarray]:
    """Map each name in ``MEANS`` to a value for each pair of examples, such as whether the prediction changes: float64
    [pairs]. Each row holds a pair.
    """
    gold = gold_entailed(rows)
    entail = entailment_at(labels)
    after = entailed(rows, labels, "y2")
    changed = _changes_class(rows, labels)
    moved = probabilities_of(rows, labels, "p2") - probabilities_of(rows, labels, "p")
    values = (
        changed,
        changed & (after == gold),
        entailed(rows, labels, "y", "argmax") != entailed(rows, labels, "y2", "argmax"),
        np.where(gold, 1, -1) * moved[:, entail],
        np.abs(moved[:, entail]),
        np.abs(moved).sum(axis=1) / 2,
    )
    return {name: value.astype(np.float64) for name, value in zip(MEANS, values, strict=True)}


def _changes_class(rows: pa.Table, labels: Sequence[str]) -> np.ndarray:
    """Whether the prediction of each pair changes between entailment and non-entailment: bool [pairs]."""
    return entailed(rows, labels) != entailed(rows, labels, "y2")


def _numbers_by_name(at: np.ndarray, names: Sequence[str | None]) -> np.ndarray:
    """Replace the name of each row by a number, equal for equal names and ascending with them: int64 [rows].

    Args:
        at: Index into ``names`` for each row: int64 [rows].
        names: The names.
    """
    return np.unique(np.array(names, dtype=str), return_inverse=True)[1][at]


def _has_slice(rows: pa.Table, name: str) -> bool:
    """Whether any row has a slice of the meta column ``name``: a text "<name>=<value>" in its column ``slices``."""
    return bool(pc.any(pc.starts_with(pc.list_flatten(rows["slices"]), f"{name}=")).as_py())


def _masks_of_slices(rows: pa.Table) -> dict[str, np.ndarray]:
    """Map each slice, "column=value", to a mask of the pairs whose first example has this value: bool [pairs]."""
    groups: dict[str, np.ndarray] = {}
    for name in BREAKDOWNS:
        if _has_slice(rows, name):
            at, values = slice_codes(rows, name)
            for value in sorted({value or "none" for value in values}):
                places = [i for i, text in enumerate(values) if (text or "none") == value]
                groups[f"{name}={value}"] = np.isin(at, places)
    return groups


class _Pairs:
    """Pairs of examples that differ in one feature (the context or the word pair). Both examples have a prediction.

    Args:
        rows: Rows of pairs. The column ``clusters`` holds three texts for each pair: the first example; the unchanged
            feature, such as the word pair; and the new value of the changed feature, such as another context.
        labels: Labels in the order of the probabilities.

    Attributes:
        base: Id of the first example, equal for pairs with the same first example: int [pairs].
        ways: Two groupings of pairs that depend on each other, as arrays of ids: int [pairs] each. Pairs with the same
            id in the first array have the same unchanged feature. Pairs with the same id in the second array have the
            same new value of the changed feature.
        values: Maps each name of ``MEANS`` to its values: float64 [pairs]. The first is whether the prediction changes.
        groups: Maps each slice, "column=value", to a mask: bool [pairs].
    """

    def __init__(self, rows: pa.Table, labels: Sequence[str]) -> None:
        if (pc.list_value_length(rows["clusters"]).to_numpy() != 3).any():
            raise RunError(
                "A pair does not have three clusters: base example, unchanged feature, new value. Evaluate again."
            )
        ways = pa.table({name: pc.list_element(rows["clusters"], k) for k, name in ((1, "unchanged"), (2, "new"))})
        self.base = _numbers_by_name(*codes(rows, "uid"))
        self.ways = tuple(_numbers_by_name(*codes(ways, name)) for name in ways.column_names)
        self.values = _values_per_pair(rows, labels)
        self.groups = _masks_of_slices(rows)

    def count(self, mask: np.ndarray) -> int:
        """Return the number of different first examples among the pairs that ``mask`` selects, bool [pairs]."""
        return len(np.unique(self.base[mask]))

    def mean(self, name: str, mask: np.ndarray) -> Measurement:
        """Return the mean of the values ``name``, one of ``MEANS``, over the pairs of a mask, bool [pairs]."""
        values, n = self.values[name][mask], self.count(mask)
        # the variances of both ways are added, so that pairs which share both feature values count twice
        unchanged, new = (way[mask] for way in self.ways)
        if name == SIGNED:
            measured = difference(np.maximum(values, 0), np.maximum(-values, 0), unchanged, also=new, n=n)
        else:
            measured = share(values, unchanged, also=new, n=n)
        return replace(measured, value=float(values.mean()))  # share sums in another order, with other last bits

    def mean_per_first_example(self, mask: np.ndarray) -> Measurement:
        """Return the share of changed predictions, averaged so that each first example of pairs counts equally.

        If the prediction changes in 1 of 2 pairs of a first example, and in 0 of 8 pairs of another, the result is the
        mean of 0.5 and 0. Its field ``n`` is the number of first examples. ``mask``, bool [pairs], selects the pairs.
        """
        _, base, count = np.unique(self.base[mask], return_inverse=True, return_counts=True)
        hit = self.values[""][mask]
        unchanged, new = (way[mask] for way in self.ways)
        measured = share(hit / count[base], unchanged, counts=1 / count[base], also=new, n=len(count))
        return replace(measured, value=float(np.mean(np.bincount(base, hit) / count)))  # the same

    def compared(self, is_tce: np.ndarray) -> tuple[Measurement, Measurement]:
        """Return TCE minus DCE (total and direct causal effect), and TCE divided by DCE. The mask ``is_tce``, bool
        [pairs], selects the pairs of the TCE; all other pairs belong to the DCE.
        """
        n = self.count(np.ones(len(is_tce), dtype=bool))
        empty = [effect for effect, mask in (("TCE", is_tce), ("DCE", ~is_tce)) if not mask.any()]
        if empty:
            undefined = Measurement(None, n, reason="without pairs there is no " + " and no ".join(empty))
            return undefined, undefined
        hit = self.values[""]
        cell = np.zeros(len(hit), dtype=np.int64)
        counts = [mask.astype(np.float64) for mask in (is_tce, ~is_tce)]
        tce, dce = (share_of(Entries(hit * count, count, cell, self.ways)) for count in counts)
        share_of_tce, share_of_dce = (float(hit[mask].mean()) for mask in (is_tce, ~is_tce))
        delta = Measurement(share_of_tce - share_of_dce, n, ci95=difference_interval(tce, dce))
        if share_of_dce == 0:
            return delta, Measurement(None, n, reason="the DCE is 0")
        ratio = Measurement(share_of_tce / share_of_dce, n)
        if interval(dce)[0] < ROUNDED:
            return delta, replace(ratio, flags=(UNBOUNDED,))
        return delta, replace(ratio, ci95=ratio_interval(tce, dce))


def _numbers_of_change(rows: pa.Table, context: Context, data: str, kind: str) -> Iterator[Number]:
    """Yield the effects of one kind of change on the predictions, over the pairs without a missing answer.

    A pair is an example and its changed example. The ``kind`` "context" changes the context, "insertion" the inserted
    words. ``data`` is the name of the data set in the metric names.
    """
    prefix = MetricName(NATURAL_LOGIC, data, kind)
    is_pair = rows_with(rows, part=kind) & is_answer(rows)
    answered = rows.filter(pa.array(is_pair & is_answer(rows, "y2")))
    pairs = _Pairs(answered, context.labels)
    for effect, expectation in EXPECTED.items():
        mask = rows_with(answered, expectation=expectation)
        none = None if mask.any() else Measurement(None, 0, reason=f"the set {SETS[kind][effect]} has no pair")
        name = prefix._replace(statistic=effect)
        headline = none or pairs.mean("", mask)
        changed = is_pair & rows_with(rows, expectation=expectation)
        curve = Curve("TCE and DCE", f"{effect.upper()}: {kind}", NATURAL_LOGIC)
        yield Number(name, headline, f"{effect.upper()} {kind}", 0, headline=True, changed=changed, curve=curve)
        means = {mean: none or pairs.mean(mean, mask) for mean in MEANS[1:]}
        means["naive"] = none or share(pairs.values[""][mask], flags=(CLUSTERS_IGNORED,), n=headline.n)
        means["per_seed"] = none or pairs.mean_per_first_example(mask)
        for mean, measured in means.items():
            aside = "" if mean in SHOWN else NAIVE if mean == "naive" else OTHER_RULES
            full = prefix._replace(statistic=f"{effect}/{mean}")
            yield Number(full, measured, "" if aside else mean, 1, headline=False, aside=aside)
        for group, of_group in pairs.groups.items():
            if (mask & of_group).any():
                yield Number(name._replace(slice=group), pairs.mean("", mask & of_group), "")
    delta, ratio = pairs.compared(rows_with(answered, expectation=EXPECTED["tce"]))
    curve = Curve("natural logic: accuracy, TCE - DCE", f"TCE - DCE: {kind}")
    name = prefix._replace(statistic="delta")
    yield Number(name, delta, f"TCE - DCE {kind}", 0, headline=True, changed=is_pair, curve=curve)
    label = f"TCE / DCE {kind} (ratio)"
    yield Number(prefix._replace(statistic="ratio"), ratio, label, 0, "ratio", headline=True, changed=is_pair)


def _accuracy(rows: pa.Table, labels: Sequence[str], data: str, seed: int) -> Iterator[Number]:
    """Yield accuracy in two classes (entailment or not, by summed probabilities), and the share of the larger class.

    ``rows`` are base rows, and ``seed`` is for the test of the accuracy against this share.
    """
    n = rows.num_rows
    name = MetricName(NATURAL_LOGIC, data, statistic=ACCURACY)
    curve = Curve("natural logic: accuracy, TCE - DCE", "two-class accuracy")
    accuracy = Number(name, None, "two-class accuracy", 0, headline=True, curve=curve)
    if not n:
        yield replace(accuracy, measured=Measurement(None, 0, reason="no example was predicted"))
        return
    context = pair = None
    if all(_has_slice(rows, by) for by in ("context", "pair")):
        context, pair = (_numbers_by_name(*slice_codes(rows, by)) for by in ("context", "pair"))
    cluster = np.arange(n) if context is None else context
    scores = Scores.of_classes(gold_entailed(rows), is_right_in_two_classes(rows, labels), cluster)
    yield replace(accuracy, measured=share(scores.each, context, scores.flags(seed), also=pair))
    yield Number(name._replace(statistic=MAJORITY), scores.majority(), "majority", 1, headline=False)


def causal_effects(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Measure total and direct causal effects (TCE, DCE) of the context and of the inserted word pair (section 3.1).

    A row holds a pair: a first example n, a second example n', and the gold label of n'. The two examples differ in one
    feature, the context or the word pair. The TCE is the share of changed predictions if the gold label changes, the
    DCE if it stays. Labels become two classes by the rule "sum" of
    :func:`~heedful.metrics.natural_logic.entailment.entailed`. A pair counts if both inputs got an answer; for
    accuracy, a missing answer is wrong. The field ``n`` of a measurement of pairs is the number of first examples.

    Pairs depend on each other if they have the same value of the unchanged feature, or the same new value of the
    changed feature. Intervals allow for both. Pairs with the same old value of the changed feature depend on each
    other, too; intervals ignore this, and are somewhat too narrow.

    Args:
        rows: Base rows and the rows of the interventions "I0" to "I3", all with probabilities. Pairs with the
            expectation "change" belong to the TCE, the others to the DCE.
        context: Task and settings of the evaluation, with :class:`NaturalLogicSettings`; one of the labels is
            "entailment".

    Yields:
        With ``name`` = ``natural_logic/<data>/<context or insertion>/<tce or dce>``:

        - ``name``: share of pairs whose prediction changes;
        - ``name/naive``: the same with an interval for independent pairs;
        - ``name/per_seed``: mean over first examples n of the share of changed predictions among the pairs of n;
        - ``name/towards_gold``: share of pairs whose prediction changes to the gold label of n';
        - ``name/argmax``: share of pairs whose prediction changes by the rule "argmax";
        - ``name/signed``: change of the probability of entailment, positive towards the gold label of n';
          ``name/absolute``: its absolute value; ``name/total_variation``: half the sum of absolute changes over labels;
        - ``name/<column>=<value>``: share of pairs whose prediction changes, among the pairs whose first example n has
          the value in the meta column "monotonicity", "relation" or "operator".

        ``natural_logic/<data>/<context or insertion>/delta`` and ``/ratio``: TCE - DCE and TCE / DCE. If the interval
        of the DCE begins at 0.00 %, the ratio has no upper bound: it has no interval, and is flagged.
        ``natural_logic/<data>/accuracy``: two-class accuracy, clustered by context and word pair if the rows have these
        slices, else by uid; flagged if not above ``accuracy/majority``, the share of the larger class.

    Raises:
        HeedfulError: No label, or more than one, is "entailment"; or a row has no probabilities, or not three clusters.
    """
    data = NaturalLogicSettings.from_context(context).data
    numbers = [*_accuracy(select(rows, intervention=BASE), context.labels, data, context.seed)]
    for kind in SETS:
        numbers += _numbers_of_change(rows, context, data, kind)
    section = f"natural logic: {TITLES.get(data, data)}", _describe_pairs(context.counts)
    *titles, last = sorted({BREAKDOWNS[number.name.by[0]] for number in numbers if any(number.name.by)}) or [""]
    by = f"by {', '.join(titles)} and {last}" if titles else f"by {last}"
    for number in sorted(numbers, key=lambda number: not any(number.name.by)):  # slices are described first
        yield replace(number, section=section, aside=by if any(number.name.by) else number.aside)


def verdicts(rows: pa.Table, context: Context) -> np.ndarray:
    """Return 1 for each pair whose prediction changes (I0, I1) or stays (I2, I3) as expected, else 0, in the classes
    entailment and non-entailment; NaN for base rows, and for pairs with a missing answer: float64 [rows].
    """
    counted = ~rows_with(rows, intervention=BASE) & is_answer(rows) & is_answer(rows, "y2")
    pairs = rows.filter(pa.array(counted))
    values = np.full(rows.num_rows, np.nan)
    values[counted] = _changes_class(pairs, context.labels) == rows_with(pairs, expectation=EXPECTED["tce"])
    return values


def _describe_pairs(counts: Mapping[str, Any]) -> Section:
    """Describe the evaluated pairs, for a heading in tables: their split and number, the number of seed examples, and
    the hashes of the sets of pairs. ``counts`` maps the name of each set to its counts.
    """
    sets = {name: counts[name] for names in SETS.values() for name in names.values() if name in counts}
    if not sets:
        return Section()
    pairs = sum(of_set["pairs"] for of_set in sets.values())
    seeds = sum(of_set["seeds"] - of_set["seeds_without_match"] for of_set in sets.values())
    digests = (f"{name} {of_set['sha256']}" for name, of_set in sorted(sets.items()))
    return Section((f"{counts['split']},", f"{pairs:,} pairs", f"of {seeds:,} seeds"), " ".join(digests))


METRIC = Metric(NATURAL_LOGIC, causal_effects, verdicts=verdicts)
