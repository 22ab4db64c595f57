"""Random cases of challenge examples, and their rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from hypothesis import strategies as st

from heedful.interventions.tables.allowed_transitions import LABELS

E, N, C = LABELS
INTERVENTIONS = ("values", "negation")


@dataclass(frozen=True)
class Case:
    """An original; ``changes`` maps (intervention, variant) to (new gold label, prediction)."""

    table: str
    gold: str
    y: str
    changes: Mapping[tuple[str, str], tuple[str, str]]


labels = st.sampled_from(LABELS)
which = st.tuples(st.sampled_from(INTERVENTIONS), st.sampled_from(("v0", "v1", "v2")))


def cases(tables: str = "ABC") -> st.SearchStrategy[dict[str, Case]]:
    """Up to 10 originals with up to three changes each."""
    case = st.builds(
        Case, st.sampled_from(tables), labels, labels, st.dictionaries(which, st.tuples(labels, labels), max_size=3)
    )
    return st.lists(case, max_size=10).map(lambda drawn: {f"u{i}": one for i, one in enumerate(drawn)})


def rows_from(rows_of: Callable[..., pa.Table], of_uid: Mapping[str, Case], **settings) -> pa.Table:
    """Rows of cases, with one more row per original of another intervention, which must not count."""
    base = {uid: (case.gold, case.y) for uid, case in of_uid.items()}
    changed = [
        {"uid": uid, "intervention": name, "part": "hypothesis", "variant": variant, "gold2": gold, "y2": y2}
        for uid, case in of_uid.items()
        for (name, variant), (gold, y2) in case.changes.items()
    ]
    changed += [{"uid": uid, "intervention": "other", "y2": E, "gold2": E} for uid in of_uid]
    return rows_of(base, [c | {"clusters": [c["uid"], f"table {of_uid[c['uid']].table}"], **settings} for c in changed])


def sliced(rows: pa.Table, of_uid: Mapping[str, list[str]]) -> pa.Table:
    """The rows with slices by uid."""
    at = rows.schema.get_field_index("slices")
    slices = pa.array([of_uid[uid] for uid in rows["uid"].to_pylist()], rows.schema.field(at).type)
    return rows.set_column(at, rows.schema.field(at), slices)


def by_hand() -> dict[str, Case]:
    """Five originals about two tables: right, wrong, neutral, and without changes."""
    preserved, flipped = ("values", "p"), ("values", "f")
    return {
        "a": Case("T1", E, E, {preserved: (E, E), flipped: (C, E)}),
        "b": Case("T2", C, C, {flipped: (E, E)}),
        "c": Case("T2", C, N, {flipped: (E, C)}),
        "d": Case("T2", N, N, {preserved: (N, N)}),
        "e": Case("T2", E, E, {}),
    }
