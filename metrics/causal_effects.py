"""Causal effects of natural-logic features: how often the answer changes with the context, and with the word pair.

Rozanova, Valentino and Freitas (2024), "Estimating the Causal Effects of Natural Logic Features in Transformer-Based
NLI Models". Of pairs (n, n') that differ in one feature, the total causal effect (TCE) is the share whose prediction
changes where the gold label does; the direct causal effect (DCE) the share where it does not.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metrics.statistics.bootstrap import bootstrap_interval, flagged
from metrics.statistics.majority import majority_flag
from metrics.statistics.multiway import PER_BASE, Crossed, interval, resample
from records import HeedError, Measurement, is_entailment
from records.rows import BASE, probabilities, select, sliced, where

SETS = {"context": {"tce": "I0", "dce": "I2"}, "insertion": {"tce": "I1", "dce": "I3"}}
BREAKDOWNS = ("monotonicity", "relation", "operator")
CLUSTERS_IGNORED, UNBOUNDED = "interval_ignores_clusters", "interval_unbounded"
MEANS = ("", "towards_gold", "argmax", "signed", "absolute", "total_variation")


def _entailment(labels: Sequence[str]) -> int:
    """The position of the one label that is "entailment"."""
    found = [i for i, label in enumerate(labels) if is_entailment(label)]
    if len(found) != 1:
        raise HeedError(f'Natural logic needs a model with one label "entailment"; this one has {list(labels)}.')
    return found[0]


def _probabilities(rows: pa.Table, labels: Sequence[str], name: str) -> np.ndarray:
    """A probability column as float64 [rows, labels]."""
    width = rows.schema.field(name).type.list_size
    if width != len(labels):
        raise HeedError(f"The rows hold {width} probabilities, but the model has {len(labels)} labels: {list(labels)}.")
    return probabilities(rows, name).astype(np.float64)


def entailed(rows: pa.Table, labels: Sequence[str], which: str = "y", rule: str = "sum") -> np.ndarray:
    """Which rows are predicted as entailment, once all other labels are one class, non-entailment.

    The rule "sum" is the paper's formula: the probabilities of the other labels are added up, and entailment must be
    more probable than their sum; a tie is non-entailment. The rule "argmax" is the paper's prose: the predicted label
    is entailment. They differ where entailment is the most probable label with no more than half.

    Args:
        rows: Rows.
        labels: The model's labels, in the order of its probabilities; one of them is "entailment".
        which: "y", the prediction on the example (``y``, ``p``), or "y2", on the changed example (``y2``, ``p2``).
        rule: "sum" or "argmax".

    Returns:
        bool [rows].

    Raises:
        HeedError: No label, or more than one, is "entailment"; or a row has no probabilities.
    """
    entail = _entailment(labels)
    if rule == "argmax":
        return where(rows, **{which: labels[entail]})
    if rule != "sum":
        raise ValueError(f'rule must be "sum" or "argmax", not {rule!r}')
    p = _probabilities(rows, labels, {"y": "p", "y2": "p2"}[which])
    return p[:, entail] > np.delete(p, entail, axis=1).sum(axis=1)


def disagreements(rows: pa.Table, labels: Sequence[str]) -> int:
    """How many base rows the two rules of :func:`entailed` see differently."""
    base = select(rows, intervention=BASE)
    return int((entailed(base, labels) != entailed(base, labels, rule="argmax")).sum())


def gold_entailed(rows: pa.Table) -> np.ndarray:
    """Which rows have the gold label entailment: bool [rows]."""
    names = [name for name in pc.unique(rows["gold"]).to_pylist() if is_entailment(name)]
    return pc.is_in(rows["gold"], pa.array(names, pa.string())).to_numpy()


def _values(rows: pa.Table, labels: Sequence[str]) -> dict[str, np.ndarray]:
    """What each of ``MEANS`` is the mean of: float64 [pairs]."""
    gold, entail = gold_entailed(rows), _entailment(labels)
    after = entailed(rows, labels, "y2")
    changed = entailed(rows, labels) != after
    moved = _probabilities(rows, labels, "p2") - _probabilities(rows, labels, "p")
    found = (
        changed,
        changed & (after == gold),
        entailed(rows, labels, "y", "argmax") != entailed(rows, labels, "y2", "argmax"),
        np.where(gold, 1, -1) * moved[:, entail],
        np.abs(moved[:, entail]),
        np.abs(moved).sum(axis=1) / 2,
    )
    return {name: value.astype(np.float64) for name, value in zip(MEANS, found, strict=True)}


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Texts as numbers, in the order of the texts, so that the order of rows changes nothing: int32 [rows]."""
    names = pc.unique(column)
    return pc.index_in(column, value_set=names.take(pc.sort_indices(names))).to_numpy()


def _has_slice(rows: pa.Table, name: str) -> bool:
    """Whether any row says of which ``name`` it is."""
    return bool(pc.any(pc.starts_with(pc.list_flatten(rows["slices"]), f"{name}=")).as_py())


def _groups(rows: pa.Table) -> dict[str, np.ndarray]:
    """ "name=value" to the pairs whose base example has that value: bool [pairs]."""
    groups: dict[str, np.ndarray] = {}
    for name in BREAKDOWNS:
        if _has_slice(rows, name):
            at, values = sliced(rows, name)
            for value in sorted({value or "none" for value in values}):
                here = [i for i, other in enumerate(values) if (other or "none") == value]
                groups[f"{name}={value}"] = np.isin(at, here)
    return groups


def _shared(rows: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of what each pair keeps and of what it leads to, a context and a word pair: two int32 [pairs]."""
    if (pc.list_value_length(rows["clusters"]).to_numpy() != 3).any():
        raise HeedError("Each pair needs three clusters: base example, what it keeps, what it leads to.")
    return _numbers(pc.list_element(rows["clusters"], 1)), _numbers(pc.list_element(rows["clusters"], 2))


def _measure(value: float, n: int, resampled: np.ndarray, flags: tuple[str, ...] = ()) -> Measurement:
    ci95 = interval(resampled)
    return Measurement(value, n, ci95=ci95, flags=flagged(ci95, flags))


def _per_base(base: np.ndarray, hit: np.ndarray) -> float:
    """Mean over base examples of the mean over their own pairs."""
    _, base, count = np.unique(base, return_inverse=True, return_counts=True)
    return float(np.mean(np.bincount(base, hit) / count))


def _effect(pairs: Crossed, resampled: dict[str, np.ndarray], key: tuple[str | int, ...]) -> dict[str, Measurement]:
    """The measurements of one set, by what their names end with."""
    hit, n = pairs.values[""], len(np.unique(pairs.base))
    found = {name: _measure(float(v.mean()), n, resampled[name]) for name, v in pairs.values.items()}
    naive = bootstrap_interval(hit, np.ones_like(hit), (*key, "naive"))
    found["naive"] = Measurement(float(hit.mean()), n, ci95=naive, flags=flagged(naive, (CLUSTERS_IGNORED,)))
    found["per_seed"] = _measure(_per_base(pairs.base, hit), n, resampled[PER_BASE])
    for name, here in pairs.groups.items():
        found[name] = _measure(float(hit[here].mean()), len(np.unique(pairs.base[here])), resampled[name])
    return found


def _ratio(tce: float, dce: float, n: int, resampled: np.ndarray) -> Measurement:
    """TCE / DCE; resamples are infinite where DCE is 0 in them (0 / 0, too: the wider choice)."""
    if dce == 0:
        return Measurement(None, n, reason="the DCE is 0")
    if 40 * np.isinf(resampled).sum() >= (~np.isnan(resampled)).sum():  # the upper quantile is infinite
        return Measurement(tce / dce, n, flags=(UNBOUNDED,))
    return _measure(tce / dce, n, resampled)


def _compared(sets: dict[str, Crossed], resampled: dict[str, dict[str, np.ndarray]]) -> dict[str, Measurement]:
    """Difference and ratio of the two effects of one kind of change, from the joint resamples."""
    n = len(np.unique(np.concatenate([pairs.base for pairs in sets.values()])))
    empty = [effect for effect, pairs in sets.items() if not len(pairs.base)]
    if empty:
        undefined = Measurement(None, n, reason="without pairs there is no " + " and no ".join(map(str.upper, empty)))
        return {"delta": undefined, "ratio": undefined}
    tce, dce = (float(sets[effect].values[""].mean()) for effect in ("tce", "dce"))
    tces, dces = (resampled[effect][""] for effect in ("tce", "dce"))
    either = np.isnan(tces) | np.isnan(dces)
    ratios = np.divide(tces, dces, out=np.where(either, np.nan, np.inf), where=dces > 0)
    return {"delta": _measure(tce - dce, n, tces - dces), "ratio": _ratio(tce, dce, n, ratios)}


def _changes(rows: pa.Table, kind: str, labels: Sequence[str], key: tuple[str | int, ...]) -> dict[str, Measurement]:
    """All measurements of one kind of change, by what their names end with."""
    chosen = np.any([where(rows, intervention=name) for name in SETS[kind].values()], axis=0)
    rows = rows.filter(pa.array(chosen))
    base, (held, partner) = _numbers(rows["uid"]), _shared(rows)
    values, groups, sets = _values(rows, labels), _groups(rows), {}
    for effect, name in SETS[kind].items():
        here = where(rows, intervention=name)
        present = {group: inside[here] for group, inside in groups.items() if inside[here].any()}
        of_pairs = {k: v[here] for k, v in values.items()}
        sets[effect] = Crossed(base[here], held[here], partner[here], of_pairs, present)
    resampled = dict(zip(sets, resample(list(sets.values()), key), strict=True))
    found: dict[str, Measurement] = {}
    for effect, pairs in sets.items():
        undefined = Measurement(None, 0, reason=f"the set {SETS[kind][effect]} has no pair")
        measured = _effect(pairs, resampled[effect], (*key, effect)) if len(pairs.base) else {}
        for name in MEANS + ("naive", "per_seed") + tuple(pairs.groups):
            found[f"{kind}/{effect}/{name}".rstrip("/")] = measured.get(name, undefined)
    return found | {f"{kind}/{name}": m for name, m in _compared(sets, resampled).items()}


def _slice_texts(rows: pa.Table, name: str) -> pa.Array:
    """The text of a slice for each row."""
    at, values = sliced(rows, name)
    return pa.array(values, pa.string()).take(pa.array(at))


def _accuracy(rows: pa.Table, labels: Sequence[str], name: str, seed: int) -> dict[str, Measurement]:
    """Two-class accuracy of base rows, by the rule "sum", and the share of the larger class."""
    n, gold, key = rows.num_rows, gold_entailed(rows), (seed, name)
    if not n:
        return {name: Measurement(None, 0, reason="no example was predicted")}
    right, majority = (entailed(rows, labels) == gold).astype(np.float64), max(gold.mean(), 1 - gold.mean())
    if all(_has_slice(rows, name) for name in ("context", "pair")):
        context, pair = (_numbers(pa.chunked_array([_slice_texts(rows, name)])) for name in ("context", "pair"))
        (resampled,) = resample([Crossed(context, context, pair, {"": right})], key)
        ci95 = interval(resampled[""])
    else:
        ci95 = bootstrap_interval(right, np.ones_like(right), key)
    flags = flagged(ci95, majority_flag(int(right.sum()), n, majority))
    found = Measurement(float(right.mean()), n, ci95=ci95, flags=flags)
    return {name: found, f"{name}/majority": Measurement(float(majority), n)}


def causal_effects(rows: pa.Table, data: str, labels: Sequence[str], seed: int = 0) -> dict[str, Measurement]:
    """TCE and DCE of the context and of the inserted word pair (section 3.1), with two-way clustered intervals.

    Each pair is a row: base example n, changed example n', the partner; ``gold`` is the label of n'. Labels become two
    classes by the rule "sum" of :func:`entailed`. Base examples share what their pairs keep, a context or a word pair,
    and pairs share what they lead to, a word pair or a context: intervals resample both
    (:func:`metrics.statistics.multiway.resample`). Left out is that base examples also share what their pairs replace
    (in I1, their own word pair), which leaves intervals somewhat too narrow. ``n`` is the number of base examples with
    a pair.

    Args:
        rows: Base rows and the rows of the interventions "I0" to "I3". All need probabilities.
        data: Name of the data set, for the metric names.
        labels: The model's labels, in the order of its probabilities; one of them is "entailment".
        seed: Keys the bootstrap.

    Returns:
        With ``name`` = ``natural_logic/<data>/<context or insertion>/<tce or dce>``: ``name``, the share of pairs whose
        prediction changes; ``name/naive``, the same with an interval for independent pairs; ``name/per_seed``, the mean
        over base examples of their own share; ``name/towards_gold``, the share that changes to the gold label of n';
        ``name/argmax``, the share by that rule; of the change of probability ``name/signed`` (of entailment; positive
        towards the gold label of n'), ``name/absolute`` (of entailment, without its sign), ``name/total_variation``
        (half the sum over all labels); ``name/<monotonicity, relation or operator>=<value>``, the share among pairs
        whose base example has the value ("none" where it is empty). Then ``natural_logic/<data>/<context or
        insertion>/delta`` and ``/ratio``, TCE - DCE and TCE / DCE from the same resamples, and
        ``natural_logic/<data>/accuracy``, over base rows in two classes, resampled by context and word pair where the
        rows have slices of these names ("context", "pair") and else by uid; flagged if not above ``accuracy/majority``,
        the share of the larger class, by a test that takes examples as independent.

    Raises:
        HeedError: No label, or more than one, is "entailment"; or a row has no probabilities, or not three clusters.
    """
    name = f"natural_logic/{data}"
    found = _accuracy(select(rows, intervention=BASE), labels, f"{name}/accuracy", seed)
    for kind in SETS:
        changes = _changes(rows, kind, labels, (seed, f"{name}/{kind}"))
        found |= {f"{name}/{suffix}": m for suffix, m in changes.items()}
    return found
