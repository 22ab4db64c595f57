"""How often people say that a swap makes the predicted label wrong (CAT, §4.2 and table 2)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from heedful.metrics.hits import hits
from heedful.records import Context, Measurement, RunError
from heedful.records.rows import strings, where
from heedful.reports.annotation.choice import DRAW
from heedful.reports.annotation.files import ANSWER, LABEL, PART, PARTNER, UID

Line = Mapping[str, str]


def wilson(hits: int, n: int, reason: str) -> Measurement:
    """A share with Wilson's 95 % interval.

    Example:
        >>> wilson(49, 50, "").ci95
        (0.8950..., 0.9964...)
    """
    from scipy.stats import binomtest

    if not n:
        return Measurement(None, 0, reason=reason)
    bounds = binomtest(hits, n).proportion_ci(method="wilson")
    return Measurement(hits / n, n, ci95=(float(bounds.low), float(bounds.high)))


def kappa(first: Sequence[str], second: Sequence[str]) -> float | None:
    """Cohen's kappa of two annotators; None where chance alone would have them agree, or where nothing was answered.

    Example:
        >>> kappa(["yes", "yes", "no", "no"], ["yes", "no", "no", "no"])
        0.5
    """
    if not first:
        return None
    agreed = np.mean([a == b for a, b in zip(first, second, strict=True)])
    chance = (
        sum(list(first).count(answer) * list(second).count(answer) for answer in {*first, *second}) / len(first) ** 2
    )
    return None if chance == 1 else float((agreed - chance) / (1 - chance))


def answers_of(lines: Sequence[Line]) -> dict[tuple[str, str], str]:
    """(uid, swapped part) to "yes" or "no", of those cases that were answered."""
    return {(line[UID], line[PART]): line[ANSWER] for line in lines if line[ANSWER]}


def require_same_sheet(first: Sequence[Line], second: Sequence[Line], file_names: Sequence[str]) -> None:
    """Refuse the answers of two annotators to different cases.

    Raises:
        HeedfulError: The cases differ.
    """
    if {(line[UID], line[PART], line[LABEL]) for line in first} != {(s[UID], s[PART], s[LABEL]) for s in second}:
        raise RunError(
            f"{file_names[0]} and {file_names[1]} are not two copies of one sheet: their cases differ. Name two copies "
            "of one."
        )


def share_wrong(answers: Mapping[tuple[str, str], str]) -> Measurement:
    """The share of cases in which the label is now wrong."""
    return wilson(sum(said == "yes" for said in answers.values()), len(answers), "no case was answered")


def attentive_among(
    rows: pa.Table, context: Context, lines: Sequence[Line], wrong: set[tuple[str, str]], display_name: str
) -> Measurement:
    """Attentiveness in the cases of a sheet whose label is now wrong: the share in which the model predicts another.

    Cases in which it gives no answer do not count.

    Args:
        rows: The rows that the sheet was made of.
        context: Their context.
        lines: The lines of the sheet.
        wrong: (uid, swapped part) of these cases.
        display_name: What to call the rows in an error.

    Raises:
        HeedfulError: A case is not among the rows, its label is not what was predicted, or the part is another's there.
    """
    cases = {}
    for part in context.own["swap"]:
        swaps = hits(rows, part, context)
        here = swaps.asked & where(rows, draw=DRAW)
        mine = rows.select(["uid", "y", "partner"]).filter(pa.array(here))
        about = strings(mine, "y"), strings(mine, "partner")
        columns = *about, swaps.hit[here].tolist(), swaps.counted[here].tolist()
        cases |= {(uid, part): case for uid, *case in zip(strings(mine, "uid"), *columns, strict=True)}
    for line in lines:
        label, partner, *_ = cases.get((line[UID], line[PART]), ("", ""))
        if label != line[LABEL]:
            raise RunError(
                f"The sheet was not made of {display_name}: {line[UID]} is not predicted as {line[LABEL]!r} there. "
                "Score it on the run that it was made of."
            )
        if partner != line.get(PARTNER, partner):  # which earlier versions did not write
            lent = f"{line[UID]} has the {line[PART]} of {partner} there, and of {line[PARTNER]} in the sheet"
            raise RunError(
                f"The sheet was not made of {display_name}: {lent}. Score it on the run that it was made of."
            )
    changed = [is_hit for *_, is_hit, is_answered in map(cases.__getitem__, wrong) if is_answered]
    return wilson(sum(changed), len(changed), "in no case is the label now wrong")
