"""One part stays, and the others show nothing."""

import hashlib

import numpy as np
import pyarrow as pa

from heedful.interventions import KeepPart
from heedful.records import EMPTIED, Example, Examples, Picture, Table

from changed_examples import made

TABLE = Table("A", (("Born", ("1900",)),))
PICTURE = Picture(hashlib.sha256(b"x").hexdigest(), "x.png", 0, 1, "row 1")
POOL = Examples.of(
    [
        Example(f"u{i}", {"text": f"t{i}", "table": TABLE, "picture": PICTURE}, "yes", {"topic": "t"}, {"line": "1"})
        for i in range(4)
    ]
)


def test_the_other_parts_are_emptied_and_everything_else_stays():
    found = made(KeepPart("text", ("table", "picture")), POOL, [2, 0])
    for one, i in zip(found, (2, 0), strict=True):
        base = POOL[i]
        assert (one.position, one.draw, one.variant, one.partner, one.allowed) == (i, -1, "text", "", "")
        assert one.clusters == (base.uid,)
        assert list(one.example.parts.items()) == [("text", f"t{i}"), ("table", ""), ("picture", Picture())]
        empty = {"table": hashlib.sha256(b"").hexdigest(), "picture": ""}
        assert one.example.groups == {**base.groups, **empty}
        assert (one.example.uid, one.example.label, one.example.meta) == (base.uid, base.label, base.meta)


def test_emptied_parts_have_no_lender():
    keep = KeepPart("text+picture", ("table",))
    changes = keep.changes(POOL, np.arange(4), 0)
    assert {part: lenders.tolist() for part, lenders in changes.lenders.items()} == {"table": [EMPTIED] * 4}
    assert (keep.parts, keep.draws, keep.expectation) == (("table",), 0, "change")
    assert keep.eligible(POOL, np.arange(2), pa.array(["yes", ""])).tolist() == [True, True]
