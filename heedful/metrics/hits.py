"""Find the swaps that attentiveness counts, and the hits among them, such as changed predictions (CAT, §3.3, §4).

A swap replaces a part of an example, such as the premise, by the part of another example.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heedful.metrics.number import Settings
from heedful.records import NO_LABEL, Context, TaskKind
from heedful.records.rows import codes, rows_with


@dataclass(frozen=True)
class SwapSettings(Settings):
    """Settings of attentiveness.

    Attributes:
        swap: Parts that are swapped, and that a model should read.
        distractors: Parts that are swapped, but that must not matter.
    """

    swap: tuple[str, ...]
    distractors: tuple[str, ...] = ()


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
    return part in SwapSettings.from_context(context).distractors


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
    holds = context.kind.alike if is_distractor(part, context) else context.kind.heeds
    return Hits(swapped, before, before & is_answer(rows, "y2"), _compare(rows, swapped, holds))


def alike(rows: pa.Table, among: np.ndarray, kind: TaskKind) -> np.ndarray:
    """Whether the answers before and after a change count as the same for a kind of task: bool [rows]; False for rows
    outside the mask ``among``, bool [rows].
    """
    return _compare(rows, among, kind.alike)


def _is_other(rows: pa.Table, part: str, context: Context) -> np.ndarray:
    """Whether the prediction before a swap differs from the default answer: bool [rows]. For a distractor
    (a part that must not matter), True for all rows.
    """
    default = None if is_distractor(part, context) else context.default_answer
    return np.ones(rows.num_rows, dtype=bool) if default is None else ~rows_with(rows, y=default)


def _compare(rows: pa.Table, among: np.ndarray, holds: Callable[[str, str], bool]) -> np.ndarray:
    """Whether ``holds`` is true of the answers before and after a change: bool [rows]; False for rows outside the mask
    ``among``, bool [rows]. ``holds`` is called once for each distinct pair of answers.
    """
    changed = rows.select(["y", "y2"]).filter(pa.array(among))
    result = np.zeros(rows.num_rows, dtype=bool)
    (before, first), (after, second) = codes(changed, "y"), codes(changed, "y2")
    pairs, inverse = np.unique(before.astype(np.int64) * len(second) + after, return_inverse=True)
    texts = ((first[pair // len(second)], second[pair % len(second)]) for pair in pairs.tolist())
    result[among] = np.fromiter((holds(str(y), str(y2)) for y, y2 in texts), bool, len(pairs))[inverse]
    return result
