"""Attentiveness with one prompt, by clusters, so that several prompts can be crossed with examples."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from heedful.metrics.metric import has_too_few_answers
from heedful.records import NO_LABEL, SPAN, Context
from heedful.records.answers import NO_ANSWER
from heedful.records.rows import BASE, cluster_of, runs, same, strings, where

ATTENTIVENESS = "attentiveness"
WITH_INVALID = "with_invalid"
TO_DEFAULT = "to_default"
KEPT = "kept"


@dataclass(frozen=True)
class Swaps:
    """How often the changed examples that count are hits.

    Attributes:
        sums: float64 [clusters, 2], hits and changed examples of each cluster, weighted so that each draw counts alike.
        n: How many examples were changed and count.
        std: Sample standard deviation over draws of the share of hits; None for fewer than two draws.
    """

    sums: np.ndarray
    n: int
    std: float | None


def swaps(rows: pa.Table, part: str, context: Context) -> dict[str, Swaps]:
    """Count the swaps of a part, as :func:`heedful.metrics.attentiveness.attentiveness` does.

    ``to_default`` is what table 11 of CAT must hold. Its caption says "accuracy on the standard dev. split without
    perturbation"; but its numbers are not those of table 9, which has this accuracy, they have standard deviations like
    those of attentiveness, and the caption goes on to speak of "counterfactual accuracy". So it is read as the share of
    changed examples that are answered with the default label, which is what a changed example deserves. That share is
    at most the attentiveness of the same examples, and in some cells of the paper it is more (GPT-3, MNLI, no
    demonstrations: 94.6 and 92.9), so that its tables 6 and 11 do not rest on the same predictions.

    Args:
        rows: Base rows and the rows of the intervention "swap", in their canonical order.
        part: The part that was swapped.
        context: Of the rows.

    Returns:
        ``attentiveness``, the share that changes (of texts: that becomes no answer) among the swaps whose two answers
        are answers, the first of them not the default one; ``with_invalid``, the same where those that are not labels
        count, too, as if they were one more; ``to_default``, the share that becomes the default label. Of a part that
        must not matter, one of ``own["distractors"]``, it is ``kept`` alone, as
        :func:`heedful.metrics.attentiveness.kept_answers` has it: the share of all examples whose answer stays.
    """
    cluster = cluster_of(rows)
    swapped = where(rows, intervention="swap", part=part)
    uid = runs(rows, "uid")
    draw = rows["draw"].to_numpy()
    clusters = int(cluster[where(rows, intervention=BASE)].max()) + 1
    is_answer = ~where(rows, y=NO_LABEL)
    answered = swapped & is_answer & ~where(rows, y2=NO_LABEL)
    default = NO_ANSWER if context.kind is SPAN else context.default_label
    is_other = np.ones_like(swapped) if default is None else ~where(rows, y=default)
    if has_too_few_answers(rows, swapped & is_answer & is_other):
        answered = np.zeros_like(swapped)

    def count(hit: np.ndarray, kept: np.ndarray) -> Swaps:
        draws, place, counts = np.unique(draw[kept], return_inverse=True, return_counts=True)
        shares = [hit[kept & (draw == d)].mean() for d in draws]
        std = float(np.std(shares, ddof=1)) if len(shares) > 1 else None
        weight = (len(place) / (len(draws) * counts))[place]  # 1, unless some got no answer: each draw counts alike
        sums = [np.bincount(cluster[kept], w, minlength=clusters) for w in (weight * hit[kept], weight)]
        return Swaps(np.stack(sums, axis=1), len(np.unique(uid[kept])), std)

    if part in context.own.get("distractors", ()):
        pairs = zip(strings(rows, "y"), strings(rows, "y2"), strict=True)
        stays = [y2 is not None and SPAN.alike(y, y2) and bool(y) == bool(y2) for y, y2 in pairs]
        return {KEPT: count(np.array(stays, dtype=bool), answered)}
    if context.kind is SPAN:
        return {ATTENTIVENESS: count(where(rows, y2=NO_ANSWER), answered & is_other)}
    changed = ~same(rows, "y", "y2")
    found = {
        ATTENTIVENESS: count(changed, answered & is_other),
        WITH_INVALID: count(changed, swapped & is_other),
    }
    if default is not None:
        found[TO_DEFAULT] = count(where(rows, y2=default), answered & is_other)
    return found
