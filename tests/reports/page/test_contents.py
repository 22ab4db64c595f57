"""Contents of examples, with marks on the differences after a change."""

import base64
import io

import pytest
from PIL import Image

from heedful.records import Example, Picture, Table
from heedful.reports.page.contents import LONGEST, SIDE, UNKNOWN_AFTER, compared, content_of, contents_of, marked

from infobox import BREAKFAST


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A dog runs fast.", "A dog sleeps now."),
        ("one two three", "one three"),
        ("a b", "a b c d"),
        ("שלום עולם רב", "שלום רב"),
    ],
)
def test_both_sides_are_whole_and_what_is_not_marked_is_the_same(before, after):
    sides = marked(before, after)
    assert ["".join(text for text, _ in side) for side in sides] == [before, after]
    kept = ["".join(text for text, is_marked in side if not is_marked) for side in sides]
    assert kept[0] == kept[1]
    assert any(is_marked for side in sides for _, is_marked in side)


def test_rows_of_a_table_are_marked():
    rows = dict(BREAKFAST.rows)
    del rows["Genre"]
    rows["Length"] = ("50:00",)
    rows["New"] = ("x",)
    before, after = compared(content_of(BREAKFAST), content_of(Table(BREAKFAST.title, tuple(rows.items()))))
    marks = [{key: mark for key, _, mark in side["rows"] if mark} for side in (before, after)]
    assert marks == [{"Genre": "gone", "Length": "changed"}, {"Length": "changed", "New": "new"}]
    assert not before["titled"]
    first, second, *rest = BREAKFAST.rows
    moved = compared(content_of(BREAKFAST), content_of(Table(BREAKFAST.title, (second, first, *rest))))
    assert [{key for key, _, mark in side["rows"] if mark == "moved"} for side in moved] == [{first[0], second[0]}] * 2
    _, renamed = compared(content_of(BREAKFAST), content_of(Table("Other", BREAKFAST.rows)))
    assert renamed["titled"]


@pytest.mark.slow
def test_a_picture_becomes_small(tmp_path):
    import hashlib

    file = io.BytesIO()
    Image.effect_noise((900, 300), 40).convert("RGB").save(file, "PNG")
    data = file.getvalue()
    (tmp_path / "a.png").write_bytes(data)
    picture = Picture(hashlib.sha256(data).hexdigest(), str(tmp_path / "a.png"), 0, len(data), "row 1")
    uri = content_of(picture)["picture"]
    assert uri.startswith("data:image/webp;base64,")
    small = Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2])))
    assert small.width == SIDE
    assert len(uri) < 20_000
    assert content_of(Picture()) is None


def test_what_an_example_became_may_not_be_known():
    base = Example("u", {"premise": "It rains.", "hypothesis": "Rain."})
    found = contents_of(base, None, ("premise", "hypothesis"))
    assert found.missing == UNKNOWN_AFTER
    assert [part["changed"] for part in found.parts] == [False, False]
    assert contents_of(base, None, ("premise",), is_changed=False).missing == ""
    after = Example("u", {"premise": "", "hypothesis": "Rain."})
    premise, hypothesis = contents_of(base, after, ("premise", "hypothesis")).parts
    assert premise == {"name": "premise", "changed": True, "before": "It rains.", "after": ""}
    assert not hypothesis["changed"]
    assert compared("It rains in Spain", "Nobody sings") == ("It rains in Spain", "Nobody sings")
    assert content_of("a" * (LONGEST + 1)) == "a" * LONGEST + " … (cut off here)"
    assert content_of("a" * LONGEST) == "a" * LONGEST
