"""Reading comprehension: exact match and F1 as SQuAD 2.0 defines them, and attentiveness where answers are texts.

Source: Rajpurkar, Jia and Liang (2018), evaluate-v2.0.py; CAT, §3.3 and §4.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from metrics.attentiveness import mean_over_draws
from metrics.statistics.bootstrap import bootstrap_interval, flagged, majority_flag
from records import SPAN, Measurement
from records.answers import NO_ANSWER, exact_match, f1
from records.rows import BASE, runs, select, sliced, strings, where

PASSAGE = "passage"  # the slice that says which questions are about the same text


def reading_scores(rows: pa.Table, data: str, seed: int = 0) -> dict[str, Measurement]:
    """Exact match and F1 of base predictions; their intervals resample texts with all of their questions.

    Args:
        rows: Rows; the base rows among them count. Their slices say of which ``passage`` they are.
        data: Name of the data set, for the metric names.
        seed: Keys the bootstrap.

    Returns:
        ``exact_match/<data>`` and ``f1/<data>``; each also as ``.../has_answer`` and ``.../no_answer``, over the
        questions with and without a gold answer, and as ``.../majority``, what one gets that never answers.
    """
    base = select(rows, intervention=BASE)
    if not base.num_rows:
        reason = "no example was predicted"
        return {f"{score}/{data}": Measurement(None, 0, reason=reason) for score in ("exact_match", "f1")}
    golds, answers = SPAN.parse_golds(strings(base, "gold")), strings(base, "y")
    passage, _ = sliced(base, PASSAGE)
    has = np.array([bool(gold) for gold in golds])
    flags = _majority_flags(answers, golds)
    result: dict[str, Measurement] = {}
    for name, score in (("exact_match", exact_match), ("f1", f1)):
        values = np.array([score(answer, gold) for answer, gold in zip(answers, golds, strict=True)])
        for suffix, kept in (("", np.ones_like(has)), ("/has_answer", has), ("/no_answer", ~has)):
            full = f"{name}/{data}{suffix}"
            if not kept.any():
                result[full] = Measurement(None, 0, reason="there is no such question")
                continue
            _, texts = np.unique(passage[kept], return_inverse=True)
            totals, counts = np.bincount(texts, values[kept]), np.bincount(texts).astype(np.float64)
            interval = bootstrap_interval(totals, counts, (seed, full))
            own = flagged(interval, flags if suffix == "" else ())
            result[full] = Measurement(float(values[kept].mean()), int(kept.sum()), ci95=interval, flags=own)
        never = float(np.mean([score(NO_ANSWER, gold) for gold in golds]))
        result[f"{name}/{data}/majority"] = Measurement(never, len(golds))
    return result


def _majority_flags(answers: Sequence[str], golds: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The flag of results whose exact match is not above that of never answering (p < 0.05), or nothing."""
    right = sum(exact_match(answer, gold) for answer, gold in zip(answers, golds, strict=True))
    never = sum(exact_match(NO_ANSWER, gold) for gold in golds)
    return majority_flag(int(right), len(golds), never / max(1, len(golds)))


def span_attentiveness(rows: pa.Table, data: str, part: str, seed: int = 0) -> dict[str, Measurement]:
    """Attentiveness to one part, where an answer is a text or nothing.

    Over the uids with an answer as their base prediction: the share that becomes no answer when ``part`` comes from
    another example. One score for each draw; their mean and sample standard deviation. The interval resamples uids.

    Args:
        rows: Base rows and the rows of the intervention "swap", in their canonical order.
        data: Name of the data set, for the metric names.
        part: The part that was swapped.
        seed: Keys the bootstrap.

    Returns:
        With ``name`` = ``attentiveness/<data>/<part>``: ``name``; ``name/changed``, the share whose answer becomes
        another one, normalised, or none; ``name/eligible``, the share of uids with an answer.
    """
    name = f"attentiveness/{data}/{part}"
    base = select(rows, intervention=BASE)
    answers = strings(base, "y")
    flags = _majority_flags(answers, SPAN.parse_golds(strings(base, "gold")))
    swapped = where(rows, intervention="swap", part=part) & ~where(rows, y=NO_ANSWER)
    uid, changes = runs(rows, "uid")[swapped], rows.filter(pa.array(swapped))
    before, after = strings(changes, "y"), strings(changes, "y2")
    other = [not SPAN.alike(y, y2) or not y2 for y, y2 in zip(before, after, strict=True)]
    eligible = int((answers != NO_ANSWER).sum())
    reason = "no example has a partner" if eligible else "every prediction is no answer"
    result = {}
    for suffix, hits in (("", after == NO_ANSWER), ("/changed", np.array(other, dtype=bool))):
        full, draw = name + suffix, changes["draw"].to_numpy()
        result[full] = mean_over_draws(hits.astype(np.float64), uid, draw, (seed, full), flags, reason)
    n = base.num_rows
    reason = None if n else "no example was predicted"
    result[f"{name}/eligible"] = Measurement(eligible / n if n else None, n, reason=reason)
    return result
