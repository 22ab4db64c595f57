"""Rows read as the most probable labels."""

import numpy as np
import pyarrow as pa

from heedful.reports.in_context.prompts import scored

from prompted_runs import LABELS, rows_of


def test_rows_are_read_as_the_most_probable_labels():
    rows = rows_of(seed=1)
    likely = scored(rows, LABELS)
    assert likely.schema == rows.schema
    for before, after in zip(rows.to_pylist(), likely.to_pylist(), strict=True):
        assert after["y"] == LABELS[int(np.argmax(before["p"]))]
        assert after["y2"] == (LABELS[int(np.argmax(before["p2"]))] if before["p2"] is not None else None)
        assert {k: v for k, v in after.items() if k not in ("y", "y2")} == {
            k: v for k, v in before.items() if k not in ("y", "y2")
        }
    assert scored(likely, LABELS).equals(likely)


def test_where_all_labels_are_as_probable_the_answer_stays():
    """As where a model refused, or wrote what has nothing to do with a label."""
    flat, rows = np.float32([1 / 3] * 3), rows_of(seed=1)
    changed = {name: [flat if value is not None else None for value in rows[name].to_pylist()] for name in ("p", "p2")}
    for name, column in changed.items():
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, name, pa.array(column, rows.schema.field(place).type))
    assert scored(rows, LABELS).equals(rows)


def test_without_probabilities_nothing_is_scored():
    rows = rows_of(with_p=False)
    assert scored(rows, LABELS) is None
    half = rows_of()
    lacking = pa.array([None] * half.num_rows, half.schema.field("p2").type)
    assert scored(half.set_column(half.schema.get_field_index("p2"), "p2", lacking), LABELS) is None
