"""Causal effects of natural-logic features: how often the prediction changes with the context or the word pair.

Source: Rozanova, Valentino and Freitas (2024), "Estimating the Causal Effects of Natural Logic Features in
Transformer-Based NLI Models", section 3.1. A pair is a first example n and an example n' that differs in one feature,
the context or the word pair. Predictions are of two classes (:mod:`~heedful.metrics.natural_logic.two_class`). The
total causal effect (TCE) is the share of changed predictions among the pairs whose gold labels differ; the direct
causal effect (DCE) is the share among the pairs with the same gold label.

Pairs depend on each other if they have the same value of the unchanged feature, or the same new value of the changed
feature. Intervals allow for both: the variances of both ways are added, so that pairs which share both values count
twice. Pairs with the same old value of the changed feature depend on each other, too; intervals ignore this, and are
somewhat too narrow.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.answers import Scores
from heedful.metrics.hits import is_answer
from heedful.metrics.metric import Metric
from heedful.metrics.natural_logic.two_class import entailed, entailment_at, gold_entailed, is_right, probabilities_of
from heedful.metrics.number import Counts, Number, Settings
from heedful.metrics.slices import slices_of
from heedful.metrics.statistics.intervals import Entries, difference_interval, interval, ratio_interval, share_of
from heedful.metrics.statistics.shares import share
from heedful.records import BATCH, Context, Measurement, MetricName, RunError
from heedful.records.rows import BASE, LEAVES, STAYS, codes, number_runs, rows_with, select, slice_codes

NATURAL_LOGIC, ACCURACY, MAJORITY = "natural_logic", "accuracy", "accuracy/majority"
SETS = {"context": {"tce": "I0", "dce": "I2"}, "insertion": {"tce": "I1", "dce": "I3"}}
EXPECTED = {"tce": LEAVES, "dce": STAYS}
BREAKDOWNS = "monotonicity", "relation", "operator"  # meta columns
CLUSTERS_IGNORED, UNBOUNDED = "interval_ignores_clusters", "interval_unbounded"  # flags
SIGNED = "signed"
ROUNDED = 5e-5  # a smaller share is printed as 0.00 %
HIDDEN = "argmax", "total_variation", "naive", "*"  # means, and slices, without a line in tables
WORDS: dict[str, str | None] = {f"{NATURAL_LOGIC}/{effect}/{mean}": None for effect in EXPECTED for mean in HIDDEN}
WORDS |= {f"{NATURAL_LOGIC}/{effect}": f"{effect.upper()} {{part}}" for effect in EXPECTED}
WORDS |= {f"{NATURAL_LOGIC}/delta": "TCE - DCE {part}", f"{NATURAL_LOGIC}/ratio": "TCE / DCE {part} (ratio)"}
WORDS |= {f"{NATURAL_LOGIC}/{ACCURACY}": "two-class accuracy"}


@dataclass(frozen=True)
class NaturalLogicSettings(Settings):
    """Settings of natural logic: ``data`` is the name of the data set of the evaluation."""

    data: str


def _numbers_by_name(at: np.ndarray, names: list[str | None]) -> np.ndarray:
    """Replace indices into ``names`` by numbers, equal for equal names and ascending with them: int64 [rows]."""
    return np.unique(np.array(names, dtype=str), return_inverse=True)[1][at]


def _has_slices(rows: pa.Table, name: str) -> bool:
    return bool(pc.any(pc.starts_with(pc.list_flatten(rows["slices"]), f"{name}=")).as_py())


class _Pairs(NamedTuple):
    """Columns of pairs: [pairs] each."""

    first: np.ndarray  # id of the first example: int
    unchanged: np.ndarray  # id of the value of the unchanged feature, such as the word pair: int
    new: np.ndarray  # id of the new value of the changed feature, such as another context: int
    values: Mapping[str, np.ndarray]  # by the name of their mean, of "" whether the prediction changes: float64

    @classmethod
    def of(cls, rows: pa.Table, answered: np.ndarray, context: Context) -> "_Pairs":
        """Read the pairs with both predictions, which the mask ``answered`` selects, bool [rows].

        Clusters are numbered over all rows, so that they have the same number in a run with other missing answers.

        Raises:
            RunError: A row has not three clusters.
        """
        if (pc.list_value_length(rows["clusters"]).to_numpy() != 3).any():
            raise RunError(
                "A pair does not have three clusters: base example, unchanged feature, new value. Evaluate again."
            )
        ways = pa.table({name: pc.list_element(rows["clusters"], k) for k, name in ((1, "unchanged"), (2, "new"))})
        unchanged, new = (_numbers_by_name(*codes(ways, name))[answered] for name in ways.column_names)
        rows, labels = rows.filter(pa.array(answered)), context.labels
        gold, after = gold_entailed(rows, "gold2"), entailed(rows, labels, "y2")
        changes = entailed(rows, labels) != after
        moved = probabilities_of(rows, labels, "p2") - probabilities_of(rows, labels, "p")
        of_entailment = moved[:, entailment_at(labels)]
        values = {
            "": changes,
            "towards_gold": changes & (after == gold),
            "argmax": entailed(rows, labels, "y", "argmax") != entailed(rows, labels, "y2", "argmax"),
            SIGNED: np.where(gold, 1, -1) * of_entailment,
            "absolute": np.abs(of_entailment),
            "total_variation": np.abs(moved).sum(axis=1) / 2,
        }
        return cls(number_runs(rows, "uid"), unchanged, new, {k: v.astype(np.float64) for k, v in values.items()})

    def where(self, mask: np.ndarray) -> "_Pairs":
        """Return the pairs that a mask selects, bool [pairs]."""
        values = {name: values[mask] for name, values in self.values.items()}
        return _Pairs(self.first[mask], self.unchanged[mask], self.new[mask], values)

    @property
    def n(self) -> int:
        """Number of different first examples."""
        return len(np.unique(self.first))

    def mean(self, name: str = "") -> Measurement:
        """Return the mean of the values with this name."""
        values = self.values[name]
        if name == SIGNED:
            plus, minus = np.maximum(values, 0), np.maximum(-values, 0)
            measured = share(plus, self.unchanged, also=self.new, n=self.n, minus=minus)
        else:
            measured = share(values, self.unchanged, also=self.new, n=self.n)
        return replace(measured, value=float(values.mean()))  # share sums in another order, with other last bits

    def mean_per_first_example(self) -> Measurement:
        """Return the mean over first examples of the share of changed predictions among the pairs of the example."""
        _, first, count = np.unique(self.first, return_inverse=True, return_counts=True)
        hit = self.values[""]
        measured = share(hit / count[first], self.unchanged, counts=1 / count[first], also=self.new, n=len(count))
        return replace(measured, value=float(np.mean(np.bincount(first, hit) / count)))  # the same

    def compare(self, is_tce: np.ndarray) -> tuple[Measurement, Measurement]:
        """Return TCE - DCE and TCE / DCE, where the mask, bool [pairs], selects the pairs of the TCE."""
        empty = [effect for effect, mask in (("TCE", is_tce), ("DCE", ~is_tce)) if not mask.any()]
        if empty:
            undefined = Measurement(None, self.n, reason="without pairs there is no " + " and no ".join(empty))
            return undefined, undefined
        hit, cell = self.values[""], np.zeros(len(is_tce), dtype=np.int64)
        tce, dce = (share_of(Entries(hit * count, count, cell, (self.unchanged, self.new)))
                    for count in (is_tce.astype(np.float64), (~is_tce).astype(np.float64)))  # fmt: skip
        share_of_tce, share_of_dce = (float(hit[mask].mean()) for mask in (is_tce, ~is_tce))
        delta = Measurement(share_of_tce - share_of_dce, self.n, ci95=difference_interval(tce, dce))
        if share_of_dce == 0:
            return delta, Measurement(None, self.n, reason="the DCE is 0")
        ratio = Measurement(share_of_tce / share_of_dce, self.n)
        if interval(dce)[0] < ROUNDED:
            return delta, replace(ratio, flags=(UNBOUNDED,))
        return delta, replace(ratio, ci95=ratio_interval(tce, dce))


def _numbers_of_change(rows: pa.Table, context: Context, data: str, kind: str) -> Iterator[Number]:
    """Yield the effects of one kind of change, "context" or "insertion", over the pairs without a missing answer."""
    prefix = MetricName(NATURAL_LOGIC, data, kind)
    is_of_kind = rows_with(rows, part=kind)
    is_pair = is_of_kind & is_answer(rows)
    is_answered = is_pair & is_answer(rows, "y2")
    pairs = _Pairs.of(rows.filter(pa.array(is_of_kind)), is_answered[is_of_kind], context)
    answered = rows.filter(pa.array(is_answered))
    slices = list(slices_of(answered, [name for name in BREAKDOWNS if _has_slices(answered, name)]))
    for effect, expects in EXPECTED.items():
        mask = rows_with(answered, expects=expects)
        of_effect = pairs.where(mask)
        none = None if mask.any() else Measurement(None, 0, reason=f"the set {SETS[kind][effect]} has no pair")
        name = prefix._replace(statistic=effect)
        headline, *means = (none or of_effect.mean(mean) for mean in pairs.values)
        yield Number(name, headline, headline=True, changed=is_pair & rows_with(rows, expects=expects))
        naive = none or share(of_effect.values[""], flags=(CLUSTERS_IGNORED,), n=headline.n)
        means += [naive, none or of_effect.mean_per_first_example()]
        for mean, measured in zip([*list(pairs.values)[1:], "naive", "per_seed"], means, strict=True):
            yield Number(prefix._replace(statistic=f"{effect}/{mean}"), measured)
        for text, of_slice in slices:
            if (mask & of_slice).any():
                yield Number(name._replace(slice=text), pairs.where(mask & of_slice).mean())
    delta, ratio = pairs.compare(rows_with(answered, expects=LEAVES))
    yield Number(prefix._replace(statistic="delta"), delta, headline=True, changed=is_pair)
    yield Number(prefix._replace(statistic="ratio"), replace(ratio, unit="ratio"), headline=True, changed=is_pair)


def _accuracy(base: pa.Table, context: Context, data: str) -> Iterator[Number]:
    """Yield the accuracy in two classes by the rule "sum", and the share of the larger class."""
    name = MetricName(NATURAL_LOGIC, data, statistic=ACCURACY)
    if not base.num_rows:
        yield Number(name, Measurement(None, 0, reason="no example was predicted"), headline=True)
        return
    cluster = also = None
    if all(_has_slices(base, by) for by in ("context", "pair")):
        cluster, also = (_numbers_by_name(*slice_codes(base, by)) for by in ("context", "pair"))
    each = np.arange(base.num_rows) if cluster is None else cluster
    scores = Scores.of_classes(gold_entailed(base), is_right(base, context.labels), each)
    yield Number(name, share(scores.each, cluster, scores.flags(context.seed), also=also), headline=True)
    yield Number(name._replace(statistic=MAJORITY), scores.majority())


def disagreements(rows: pa.Table, labels: Sequence[str]) -> int:
    """Count the answered unchanged examples for which the rules "sum" and "argmax" disagree."""
    answered = rows.filter(pa.array(rows_with(rows, intervention=BASE) & is_answer(rows)))
    return int((entailed(answered, labels) != entailed(answered, labels, rule="argmax")).sum())


def causal_effects(rows: pa.Table, context: Context) -> Iterator[Number | Counts]:
    """Measure total and direct causal effects (TCE, DCE) of the context and of the inserted word pair.

    A pair counts if both inputs got an answer; for accuracy, a missing answer is wrong. The field ``n`` of a
    measurement of pairs is the number of first examples.

    Args:
        rows: Base rows and the rows of the interventions "I0" to "I3", all with probabilities. ``clusters`` holds three
            texts: the first example, the unchanged feature, and the new value of the changed feature. Pairs with the
            expectation "leaves" belong to the TCE, the others to the DCE. HeedfulError is raised without these columns.
        context: Task, with one label "entailment", and settings of the evaluation.

    Yields:
        With ``name`` = ``natural_logic/<data>/<context or insertion>/<tce or dce>``:

        - ``name``: share of pairs whose prediction changes; ``name/argmax``, by the rule "argmax";
          ``name/towards_gold``, to the gold label of n'; ``name/naive``, with an interval for independent pairs;
          ``name/per_seed``, as a mean over first examples n of the share among the pairs of n; and
          ``name/<column>=<value>``, among the pairs whose n has the value in the meta column "monotonicity",
          "relation" or "operator";
        - ``name/signed``: change of the probability of entailment, positive towards the gold label of n';
          ``name/absolute``: its absolute value; ``name/total_variation``: half the sum of absolute changes over labels.

        ``natural_logic/<data>/<context or insertion>/delta`` and ``/ratio``: TCE - DCE and TCE / DCE. If the interval
        of the DCE begins at 0.00 %, the ratio has no upper bound: it has no interval, and is flagged.
        ``natural_logic/<data>/accuracy``: two-class accuracy, clustered by context and word pair if the rows have these
        slices, else by uid; flagged if not above ``accuracy/majority``, the share of the larger class.

        Counts: "rules_disagree", by :func:`disagreements`; and for each intervention set, such as "I0", the number of
        "pairs", and "sha256", a hash of the uids of all pairs.
    """
    data = NaturalLogicSettings.from_context(context).data
    yield from _accuracy(select(rows, intervention=BASE), context, data)
    for kind in SETS:
        yield from _numbers_of_change(rows, context, data, kind)
    yield {"rules_disagree": disagreements(rows, context.labels)}
    for name in (name for effects in SETS.values() for name in effects.values()):
        pairs = select(rows.select(["uid", "partner", "intervention"]), intervention=name)
        digest = hashlib.sha256()
        for batch in pairs.to_batches(max_chunksize=BATCH):
            lines = pc.binary_join_element_wise(batch["uid"], batch["partner"], "\t").to_pylist()
            digest.update("".join(f"{line}\n" for line in lines).encode())
        yield {name: {"pairs": len(pairs), "sha256": digest.hexdigest()}}


def headlines(context: Context) -> list[MetricName]:
    """Return the names of both effects of every kind of change, and of the two-class accuracy."""
    data = NaturalLogicSettings.from_context(context).data
    effects = [MetricName(NATURAL_LOGIC, data, kind, effect) for kind in SETS for effect in EXPECTED]
    return [*effects, MetricName(NATURAL_LOGIC, data, statistic=ACCURACY)]


def in_two_classes(rows: pa.Table, context: Context) -> pa.Table:
    """Replace the predictions by the classes "entailment" and "non-entailment"; a missing answer stays."""
    for column, p in (("y", "p"), ("y2", "p2")):
        given = pa.array(rows[p].is_valid().to_numpy() & is_answer(rows, column))
        is_entailed = entailed(rows.filter(given), context.labels, column)
        classes = pc.if_else(pa.array(is_entailed), "entailment", "non-entailment")
        texts = pc.replace_with_mask(rows[column].combine_chunks(), given, classes)
        rows = rows.set_column(rows.schema.get_field_index(column), column, texts)
    return rows


METRIC = Metric(NATURAL_LOGIC, causal_effects, headlines, words=WORDS, in_classes=in_two_classes)
