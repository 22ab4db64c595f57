"""Whether changes of inputs had the expected effect on predictions, and which swaps attentiveness counts.

A swap replaces a part of an example, such as the premise, by the part of another example (CAT, §3.3, §4).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heedful.interventions.tables.allowed_transitions import Rule, allowed
from heedful.metrics.number import Settings
from heedful.records import NO_LABEL, Context, TaskKind
from heedful.records.rows import BASE, GOLD2, JUDGED, LEAVES, MOVES, STAYS, TRANSITIONS, codes, rows_with, strings


@dataclass(frozen=True)
class SwapSettings(Settings):
    """Settings of attentiveness.

    Attributes:
        swap: Pairs of a swapped part and its expectation: "leaves" for a part that the model should read, "stays" for a
            distractor, a part that must not matter.
    """

    swap: Sequence[tuple[str, str]]

    @property
    def parts(self) -> list[str]:
        """Swapped parts that the model should read."""
        return [part for part, expects in self.swap if expects == LEAVES]


class Hits(NamedTuple):
    """Masks of the swaps of a part: bool [rows] each. A swap is a row with the predictions before and after.

    Attributes:
        swapped: Swaps whose prediction before the swap is not the default answer (right for unrelated parts). A
            missing prediction is not the default answer. All swaps for a distractor (a part that must not matter), or
            if there is no default answer.
        base_answered: Swaps of ``swapped`` whose prediction before the swap is not missing.
        counted: Swaps of ``base_answered`` whose prediction after the swap is not missing either.
        hit: Swaps of ``swapped`` with the effect that is counted: the label changes; in reading comprehension, the
            answer becomes "no answer"; for a distractor, the answer stays.
    """

    swapped: np.ndarray
    base_answered: np.ndarray
    counted: np.ndarray
    hit: np.ndarray


def is_answer(rows: pa.Table, name: str = "y") -> np.ndarray:
    """Whether predictions before ("y") or after ("y2") a change are answers, that is, are not missing: bool [rows]."""
    return ~rows_with(rows, **{name: NO_LABEL})


def is_distractor(part: str, context: Context) -> bool:
    """Whether a swapped part is a distractor, on which answers should not depend."""
    return dict(SwapSettings.from_context(context).swap)[part] == STAYS


def eligible(rows: pa.Table, part: str, context: Context) -> np.ndarray:
    """Whether the prediction before a swap is an answer other than the default answer: bool [rows].

    For a distractor (a part that must not matter), the prediction may be any answer.
    """
    return is_answer(rows) & _is_other(rows, part, context)


def hits(rows: pa.Table, part: str, context: Context) -> Hits:
    """Return masks of the swaps of a part that attentiveness counts, and of the hits among these swaps.

    A hit is a swap that changes the predicted label. In reading comprehension, the answer must change to "no answer";
    for a distractor (a part that must not matter), the answer must stay. :class:`Hits` tells which swaps are left out.

    Args:
        rows: Base rows and rows of the intervention "swap".
        part: The part that was swapped.
        context: Task and settings of the evaluation.
    """
    swapped = rows_with(rows, intervention="swap", part=part) & _is_other(rows, part, context)
    before = swapped & is_answer(rows)
    hit = np.zeros(rows.num_rows, dtype=bool)
    expects = STAYS if is_distractor(part, context) else LEAVES
    hit[swapped] = met(rows.select(["y", "y2", "gold2"]).filter(pa.array(swapped)), context.kind, expects=expects)
    return Hits(swapped, before, before & is_answer(rows, "y2"), hit)


def met(rows: pa.Table, kind: TaskKind, rule: Rule = "union", expects: str | None = None) -> np.ndarray:
    """Whether the prediction after each change meets the expectation in the column ``expects``: bool [rows].

    :mod:`heedful.records.rows` describes expectations. Rows without one are False. A missing answer counts as one more
    label.

    Args:
        rows: Rows of changed examples; base rows are False.
        kind: Kind of task, which decides which answers are right, and which are alike.
        rule: How several edits of a table combine their allowed changes of the label, see
            :func:`~heedful.interventions.tables.allowed_transitions.transitions`.
        expects: Expectation of all rows, in place of the column.

    Example:
        >>> from heedful.records import CLASSIFICATION
        >>> rows = pa.table({"y": ["a", "a", "a"], "y2": ["b", "b", "a"], "gold2": [None, "b", None],
        ...                  "expects": ["stays", "gold2", "stays"]})
        >>> met(rows, CLASSIFICATION).tolist(), met(rows, CLASSIFICATION, expects="leaves").tolist()
        ([False, True, True], [True, True, False])
    """

    def is_met(expects: str, y: str, y2: str, gold: str | None) -> bool:
        if expects == STAYS:
            return kind.alike(y, y2)
        if expects == LEAVES:
            return kind.heeds(y, y2)
        if expects == GOLD2:
            return gold is not None and kind.score(y2, kind.parse_gold(gold)) >= 0.5
        expectation, _, key = expects.partition("/")
        if expectation == TRANSITIONS:
            return NO_LABEL not in (y, y2) and allowed(key, y, y2, rule)
        if expectation == MOVES:
            return y2 in json.loads(key).get(y, ())
        return expects == f"{JUDGED}/yes"

    columns = [codes(rows, name) for name in ("y", "y2", "gold2")]
    columns.insert(0, codes(rows, "expects") if expects is None else (np.zeros(rows.num_rows, np.int32), [expects]))
    case = np.zeros(rows.num_rows, dtype=np.int64)  # number of the combination of values in the columns so far
    for numbers, texts in columns:
        _, first, case = np.unique(case * len(texts) + numbers, return_index=True, return_inverse=True)
    cases = zip(*([texts[k] for k in numbers[first].tolist()] for numbers, texts in columns), strict=True)
    values = (bool(expects) and y2 is not None and is_met(expects, y, y2, gold) for expects, y, y2, gold in cases)
    return np.fromiter(values, bool, len(first))[case]


def verdicts(rows: pa.Table, kind: TaskKind) -> np.ndarray:
    """Return the score of every prediction on an unchanged example with a gold label, and for each changed example with
    an expectation 1 if the prediction meets the expectation, else 0; NaN for other rows, and for changes with a missing
    answer: float64 [rows].
    """
    is_base = rows_with(rows, intervention=BASE) & rows["gold"].is_valid().to_numpy()
    values = np.full(rows.num_rows, np.nan)
    answered = rows.select(["y", "gold"]).filter(pa.array(is_base))
    values[is_base] = kind.scores(strings(answered, "y"), strings(answered, "gold"))
    counts = (
        ~rows_with(rows, intervention=BASE) & ~rows_with(rows, expects="") & is_answer(rows) & is_answer(rows, "y2")
    )
    values[counts] = met(rows.filter(pa.array(counts)), kind)
    return values


def alike(rows: pa.Table, kind: TaskKind) -> np.ndarray:
    """Whether the answers before and after each change count as the same for a kind of task: bool [rows]."""
    return met(rows, kind, expects=STAYS)


def _is_other(rows: pa.Table, part: str, context: Context) -> np.ndarray:
    """Whether the prediction before a swap differs from the default answer: bool [rows]. For a distractor
    (a part that must not matter), True for all rows.
    """
    default = None if is_distractor(part, context) else context.default_answer
    return np.ones(rows.num_rows, dtype=bool) if default is None else ~rows_with(rows, y=default)
