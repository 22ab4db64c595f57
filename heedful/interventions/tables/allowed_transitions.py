"""Allowed transitions: how a prediction may change when rows of the table are edited.

Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), section 5, footnote 8, tables 5, 6, 13 to 17.
"""

from collections.abc import Mapping
from functools import cache
from itertools import groupby
from typing import Literal

from heedful.records import SettingError

LABELS = E, N, C = ("entailment", "neutral", "contradiction")
Rule = Literal["union", "composed"]

STAY = {E: (E,), N: (N,), C: (C,)}
# by "operation/relevance of the row" and label: allowed new labels
ALLOWED: dict[str, Mapping[str, tuple[str, ...]]] = {
    "delete/relevant": {E: (N,), N: (N,), C: (N,)},
    "delete/irrelevant": STAY,
    "delete/unknown": {E: (E, N), N: (N,), C: (C, N)},
    "insert/any": {E: (E,), N: (E, N, C), C: (C,)},
    "update/any": {E: (E, N, C), N: (E, N, C), C: (N, C)},  # the paper forbids only contradiction -> entailment
    "permute/any": STAY,
    "identity/any": STAY,
}
OPERATIONS = tuple(dict.fromkeys(key.split("/")[0] for key in ALLOWED))
NEUTRAL = ("permute", "identity")  # operations that keep the meaning of a table
RELEVANCE = ("relevant", "irrelevant", "unknown")  # whether the hypothesis depends on a deleted row


def steps(name: str) -> tuple[str, ...]:
    """Split a name such as "delete+insert" into operations on table rows, without "identity" and repeated "permute".

    Example:
        >>> steps("delete+identity+insert"), steps("identity")
        (('delete', 'insert'), ())

    Raises:
        SettingError: If an operation does not exist.
    """
    operations: list[str] = []
    for operation in name.split("+"):
        if operation not in OPERATIONS:
            listed = ", ".join(OPERATIONS)
            raise SettingError(
                f"table_rows.operations: the row operation {operation!r} does not exist. Choose from {listed}; join "
                "operations by '+'."
            )
        if operation != "identity" and (operation != "permute" or "permute" not in operations):
            operations.append(operation)
    return tuple(operations)


def key_of(name: str, relevance: str = "unknown") -> str:
    """Return the key of operations in the table of allowed transitions: "operations/relevance".

    Args:
        name: Operations on table rows, joined by "+".
        relevance: One of :data:`RELEVANCE`; ignored if no row is deleted.

    Example:
        >>> key_of("delete", "relevant"), key_of("delete+insert"), key_of("insert")
        ('delete/relevant', 'delete+insert/unknown', 'insert/any')
    """
    operations = steps(name)
    return f"{'+'.join(operations) or 'identity'}/{relevance if 'delete' in operations else 'any'}"


@cache
def transitions(key: str, rule: Rule = "union") -> Mapping[str, frozenset[str]]:
    """Map each predicted label to the set of labels that are allowed after operations on the rows of the table.

    An operation that directly follows itself counts once, and permutations have no effect.

    Args:
        key: Operations and relevance, see :func:`key_of`.
        rule: How several operations are combined. "union": a label is allowed if one of the operations allows it (the
            paper's table 17). "composed": a label is allowed if a sequence of allowed transitions leads to it.
    """
    name, _, relevance = key.rpartition("/")
    changing = [operation for operation, _ in groupby(op for op in steps(name) if op not in NEUTRAL)]
    tables = [ALLOWED[key_of(operation, relevance)] for operation in changing] or [STAY]
    if rule == "union":
        return {label: frozenset(new for table in tables for new in table[label]) for label in LABELS}
    reached = {label: frozenset((label,)) for label in LABELS}
    for table in tables:
        reached = {label: frozenset(new for old in olds for new in table[old]) for label, olds in reached.items()}
    return reached


def allowed(key: str, before: str, after: str, rule: Rule = "union") -> bool:
    """Whether a prediction may change from the label ``before`` to the label ``after``, see :func:`transitions`.

    Example:
        >>> allowed("delete/unknown", "entailment", "neutral"), allowed("delete/unknown", "neutral", "entailment")
        (True, False)
    """
    return after in transitions(key, rule)[before]
