"""Challenge examples: accuracy on hypotheses or tables that are changed so that the label stays, or flips.

Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), tables 4, 7 and 8. A change preserves the label if
the gold label of the changed example equals the gold label of its original; otherwise it flips the label. Changes from
or to a neutral label are omitted. The models still have three classes: chance is not 50 %. A missing answer is wrong.
For intervals, all examples about a table form one cluster.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.interventions import DIRECTIONS
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.metrics.hits import is_answer
from heedful.metrics.metric import Metric
from heedful.metrics.number import Counts, Number, Settings
from heedful.metrics.statistics.bootstrap import Key
from heedful.metrics.statistics.shares import share
from heedful.metrics.tables.which_table import tables_of
from heedful.records import Context, DataError, Measurement, MetricName, generator
from heedful.records.rows import BASE, KEY, equal_columns, of_split, rows_with, select, strings

CHALLENGE, ORIGINAL = "challenge", "original"
KINDS = PRESERVED, FLIPPED = ("preserved", "flipped")
HYPOTHESES, TITLES, TITLE = "hypotheses", "titles", "title"
NEUTRAL = LABELS[1]
FROM = {f"from_{label}": label for label in LABELS if label != NEUTRAL}  # statistic of flips to label of the original
BOTH_WAYS = "both_ways"  # statistic: the unweighted mean over both labels
ONE_SIDED = "one_sided"  # flag: all flips have the same new label, so that a constant answer gets all of them right
UNANSWERED = "no example got an answer before and after"
SUBSAMPLES, SUBSAMPLED = 100, "subsamples"
HALF_ERROR = "std_is_half_a_standard_error"


@dataclass(frozen=True)
class ChallengeSettings(Settings):
    """Settings: the kinds of changes of hypotheses, such as "negation", and whether titles of tables are changed."""

    kinds: tuple[str, ...]
    title: bool


class Pair(NamedTuple):
    """An original example with its changed examples of one kind; one of them, drawn at random, is scored."""

    uid: str  # of the original, like table and label
    table: str
    label: str  # gold
    original: bool  # whether the prediction on the original is gold
    changed: tuple[bool, ...]  # whether the prediction on each changed example is gold
    scored: int  # position of the scored example in ``changed``
    which: tuple[str, str, str, int]  # intervention, part, variant and draw of the scored example
    answered: bool  # whether the original and the scored example got an answer

    @property
    def is_right(self) -> bool:
        return self.changed[self.scored]


def _kind_masks(rows: pa.Table, interventions: Sequence[str]) -> dict[str, np.ndarray]:
    """Map "preserved" and "flipped" to the mask of the examples that are changed in this way: bool [rows]."""
    changed = np.any([rows_with(rows, intervention=name) for name in interventions], axis=0)
    changed &= ~rows_with(rows, gold=NEUTRAL) & ~rows_with(rows, gold2=NEUTRAL)
    stays = equal_columns(rows, "gold", "gold2")
    return {PRESERVED: changed & stays, FLIPPED: changed & ~stays}


def challenge_pairs(rows: pa.Table, interventions: Sequence[str], seed: int = 0) -> dict[str, list[Pair]]:
    """Map "preserved" and "flipped" to the pairs of an original and its examples that are changed in this way.

    As in the paper, one changed example of each pair is drawn at random to be scored. The draw depends only on the
    seed, the uid and the kind, and is the same for all models. ``rows`` are base rows, and rows of ``interventions``,
    which make challenge examples, in their canonical order.

    Raises:
        HeedfulError: An example has no gold label, or does not name its table.
    """
    base, pairs = select(rows, intervention=BASE), {}
    for kind, mask in _kind_masks(rows, interventions).items():
        changed = rows.filter(pa.array(mask))
        uids, starts = np.unique(strings(changed, "uid"), return_index=True)
        tables = tables_of(pa.concat_tables([base, changed]), uids)
        for uid in changed.filter(pc.field("gold").is_null() | pc.field("gold2").is_null())["uid"]:
            raise DataError(f"{uid}, or an example changed from it, has no gold label. Take data with gold labels.")
        groups = np.split(equal_columns(changed, "gold2", "y2"), starts)[1:]
        rights = [tuple(group.tolist()) for group in groups]
        places = [
            int(generator(seed, "challenge", kind, uid).integers(len(group)))
            for uid, group in zip(uids, groups, strict=True)
        ]
        one = changed.take(pa.array(starts + np.array(places, dtype=np.int64)))
        original, answered = equal_columns(one, "gold", "y"), is_answer(one) & is_answer(one, "y2")
        which = zip(*(one[name].to_pylist() for name in KEY[1:]), strict=True)
        columns = uids, tables, strings(one, "gold"), original.tolist(), rights, places, which, answered.tolist()
        pairs[kind] = [Pair(*values) for values in zip(*columns, strict=True)]
    return pairs


def challenge_counts(rows: pa.Table, interventions: Sequence[str]) -> dict[str, int]:
    """Count the examples that :func:`challenge` measures, and those that it omits, by name.

    Returns:
        - "originals": examples of the data with a change of either kind; "tables": tables of the originals;
        - "preserved", "flipped": originals with a change that keeps the gold label, or flips it;
        - "flipped_from_entailment", "flipped_from_contradiction": originals of "flipped" with this gold label;
        - "preserved_changes", "flipped_changes": changed examples per kind;
        - "neutral": examples with a neutral gold label; "unchanged": other examples without a change of either kind.
    """
    pairs = challenge_pairs(rows, interventions)
    table = {pair.uid: pair.table for of_kind in pairs.values() for pair in of_kind}
    labels = [pair.label for pair in pairs[FLIPPED]]
    is_base = rows_with(rows, intervention=BASE)
    neutral = int((is_base & rows_with(rows, gold=NEUTRAL)).sum())
    counts = {"originals": len(table), "tables": len(set(table.values()))}
    counts |= {kind: len(of_kind) for kind, of_kind in pairs.items()}
    counts |= {f"{FLIPPED}_{way}": labels.count(label) for way, label in FROM.items()}
    counts |= {f"{kind}_changes": sum(len(pair.changed) for pair in of_kind) for kind, of_kind in pairs.items()}
    return counts | {"neutral": neutral, "unchanged": int(is_base.sum()) - neutral - len(table)}


def subsampled(hits: np.ndarray, key: Key, reason: str) -> Measurement:
    """Compute the paper's mean accuracy over 100 random samples of 80 % of the data, and the standard deviation.

    The samples are drawn without replacement. So the standard deviation (ddof 1; the paper does not say) is no standard
    error: it is sqrt((1 - 0.8) / 0.8) = 1/2 of the standard error of independent examples, and ignores that examples
    share tables. The result has no interval, and the flag "std_is_half_a_standard_error".

    ``hits``, float64 [examples], tells which predictions are right; ``key`` is seed and purpose of the samples;
    ``reason`` tells why there are no examples, if so.
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
    """Measure accuracy on originals, and on changed examples with the same or a flipped label (tables 4 and 7).

    Args:
        rows: As for :func:`challenge_pairs`, like ``interventions``.
        prefix: Metric name without the statistic.
        seed: Seed of the sample of changed examples, and of the samples of 80 %.
        kinds: Kinds of changed examples to measure, "preserved" and "flipped".

    Yields:
        Numbers with these statistics; ``flipped`` and ``flipped/every`` are flagged if all flips have one new label:

        - ``original``: accuracy on the originals;
        - ``preserved``, ``flipped``: accuracy on one changed example per original;
        - ``<...>/subsamples``: the paper's mean and standard deviation over samples of 80 % (:func:`subsampled`);
        - ``<kind>/every``: mean over originals of the accuracy on all changed examples of an original;
        - ``<kind>/drop``: accuracy on the originals minus accuracy on the changed examples, if both got an answer;
        - ``flipped/from_entailment``, ``flipped/from_contradiction``: accuracy on the changed examples by the label of
          the original; ``flipped/both_ways``, their unweighted mean, which is at most 1/2 for a constant answer.

    Raises:
        HeedfulError: As :func:`challenge_pairs`.
    """
    pairs, changed = challenge_pairs(rows, interventions, seed), _kind_masks(rows, interventions)
    is_one_sided = len({pair.label for pair in pairs[FLIPPED]}) == 1
    pair_of_uid = {pair.uid: pair for of_kind in pairs.values() for pair in of_kind}
    pairs[ORIGINAL] = [pair_of_uid[uid] for uid in sorted(pair_of_uid)]

    def number(statistic: str, of_pairs: Sequence[Pair], reason: str, *terms: list) -> Number:
        measured = mean_of([np.array(term, float) for term in terms], [pair.table for pair in of_pairs], reason)
        if is_one_sided and statistic in (FLIPPED, f"{FLIPPED}/every"):
            measured = replace(measured, flags=(*measured.flags, ONE_SIDED))
        is_headline = statistic in (ORIGINAL, *KINDS)
        return Number(prefix._replace(statistic=statistic), measured, is_headline, changed.get(statistic))

    for kind in (ORIGINAL, *kinds):
        of_kind, name = pairs[kind], prefix._replace(statistic=kind)
        is_right = [pair.original if kind == ORIGINAL else pair.is_right for pair in of_kind]
        reason = f"no example was changed with its label {kind}"
        reason = "no example has a challenge example" if kind == ORIGINAL else reason
        yield number(kind, of_kind, reason, is_right)
        if kind == FLIPPED:
            yield from by_way(name, [np.array(is_right, float)], of_kind)
        samples = subsampled(np.array(is_right, float), (seed, str(name)), reason)
        yield Number(name._replace(statistic=f"{kind}/{SUBSAMPLED}"), samples)
        if kind == ORIGINAL:
            continue
        yield number(f"{kind}/every", of_kind, reason, [float(np.mean(pair.changed)) for pair in of_kind])
        both = [pair for pair in of_kind if pair.answered]
        terms = [pair.original for pair in both], [pair.is_right for pair in both]
        yield number(f"{kind}/drop", both, UNANSWERED if of_kind else reason, *terms)


def mean_of(
    terms: Sequence[np.ndarray], table: Sequence[str] | np.ndarray, reason: str, cells: np.ndarray | None = None
) -> Measurement:
    """Compute the mean of values over pairs of an original and a changed example, with its interval.

    Args:
        terms: One or an even number of terms, float64 [pairs] each, between 0 and 1. The value of a pair is the first
            term, minus the second, plus the third, and so on.
        table: Name of the table of every pair.
        reason: Reason why the mean is undefined, if there are no pairs.
        cells: Group of every pair: [pairs]. If given, the result is the unweighted mean of the means of the groups.
    """
    if len(terms) == 1:
        return share(terms[0], table, reason=reason, cells=cells)
    scale = len(terms) / 2
    plus, minus = np.sum(terms[::2], axis=0), np.sum(terms[1::2], axis=0)
    m = share(plus, table, reason=reason, counts=np.full(len(plus), scale), cells=cells, minus=minus)
    if m.value is None or m.ci95 is None:
        return m
    return replace(m, value=scale * m.value, ci95=(scale * m.ci95[0], scale * m.ci95[1]))


def by_way(prefix: MetricName, terms: Sequence[np.ndarray], pairs: Sequence[Pair]) -> Iterator[Number]:
    """Yield means over the flipped pairs with each label, ``<prefix>/from_entailment`` and
    ``<prefix>/from_contradiction``, and their unweighted mean ``<prefix>/both_ways``, undefined if a label has no pair.

    ``prefix`` is the name of the mean over all ``pairs``; the ``terms`` of their values are as for :func:`mean_of`.
    """
    labels, table = (np.array([getattr(p, name) for p in pairs], dtype=str) for name in ("label", "table"))
    means = {}
    for way, label in FROM.items():
        mask, reason = labels == label, f"no example was changed from {label} to the other label"
        means[way] = mean_of([term[mask] for term in terms], table[mask], reason)
    reasons = [m.reason for m in means.values() if m.value is None]
    both = Measurement(None, len(pairs), reason=reasons[0]) if reasons else mean_of(terms, table, "", labels)
    means[BOTH_WAYS] = both
    yield from (Number(prefix._replace(statistic=f"{prefix.statistic}/{way}"), m) for way, m in means.items())


def perturbations(kinds: Sequence[str]) -> list[str]:
    """Return the names ``perturb/<kind>/preserved`` and ``perturb/<kind>/flipped`` of the interventions that edit
    hypotheses, for each kind of edit, such as "negation"; the label should stay or change.
    """
    return [f"perturb/{kind}/{way}" for kind in kinds for way in DIRECTIONS]


def numbers(rows: pa.Table, context: Context) -> Iterator[Number | Counts]:
    """Yield accuracy after changes of hypotheses and of titles of tables, over all changes, by kind of change and by
    split of the data; and the numbers of changed and unchanged examples.
    """
    settings, seed = ChallengeSettings.from_context(context), context.seed
    kinds = sorted(settings.kinds)
    splits = {split: of_split(rows, split) for split in sorted(context.splits)}
    parts = {HYPOTHESES: perturbations(kinds), TITLES: [TITLE] if settings.title else []}
    parts = {part: interventions for part, interventions in parts.items() if interventions}
    for part, interventions in parts.items():
        effects = KINDS if part == HYPOTHESES else KINDS[:1]  # no title flips a label
        name = MetricName(CHALLENGE, context.data, part)
        result = list(challenge(rows, name, interventions, seed, effects))
        for kind in kinds if part == HYPOTHESES else ():
            of_kind = challenge(rows, name, perturbations([kind]), seed)
            result += [_with_slice(n, f"kind={kind}") for n in of_kind if not n.name.statistic.endswith(SUBSAMPLED)]
        for split, mine in splits.items():  # as in an evaluation of the split alone
            result += [_with_slice(n, f"split={split}") for n in challenge(mine, name, interventions, seed, effects)]
        yield from sorted(result, key=lambda n: (ORIGINAL, *KINDS).index(n.name.statistic.partition("/")[0]))
    for kind in kinds:
        counts = {way: int(rows_with(rows, intervention=f"perturb/{kind}/{way}").sum()) for way in DIRECTIONS}
        flips = challenge_counts(rows, perturbations([kind]))
        yield {kind: counts | {f"{FLIPPED}_{way}": flips[f"{FLIPPED}_{way}"] for way in FROM}}
    for part, interventions in parts.items():
        of_part = challenge_counts(rows, interventions)
        yield {part: {name: n for name, n in of_part.items() if part == HYPOTHESES or FLIPPED not in name}}


def _with_slice(number: Number, slice_: str) -> Number:
    return Number(number.name._replace(slice=slice_), number.measured)


def headlines(context: Context) -> list[MetricName]:
    """Return the names of the accuracies on changed hypotheses; or on changed titles, if no hypothesis is changed."""
    part, kinds = (HYPOTHESES, KINDS) if ChallengeSettings.from_context(context).kinds else (TITLES, KINDS[:1])
    return [MetricName(CHALLENGE, context.data, part, kind) for kind in kinds]


WORDS: dict[str, str | None] = {f"{CHALLENGE}/{kind}": f"{{part}}: {kind}" for kind in (ORIGINAL, *KINDS)}
HIDDEN = [f"{statistic}/{SUBSAMPLED}" for statistic in (ORIGINAL, *KINDS)]
HIDDEN += [f"{kind}/{statistic}" for kind in KINDS for statistic in ("every", "drop")]
WORDS |= {f"{CHALLENGE}/{statistic}{end}": None for statistic in HIDDEN for end in ("", "/*")}
METRIC = Metric("challenge", numbers, headlines, words=WORDS)
