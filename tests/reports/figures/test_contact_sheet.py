"""Contact sheets: which examples they choose, and what stands in the figure and in the Markdown."""

import html
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from tensorboard.plugin_util import markdown_to_safe_html

from heedful.records import Context, keys, random_key, words_of
from heedful.reports.figures.canvas import RED
from heedful.reports.figures.contact_sheet import (
    Pair,
    Unchanged,
    escaped,
    figure,
    markdown,
    shortened,
    title,
    unchanged,
)

LABELS = ("entailment", "neutral", "contradiction")


def about(default="neutral", seed=0):
    return Context("d", seed, labels=LABELS, default_label=default)


ARROW = "\N{RIGHTWARDS ARROW}"


def swaps(n, seed=0, parts=("premise", "hypothesis", "left+right"), draws=3):
    """Random swaps: (uid to gold and answer, changes)."""
    rng = np.random.default_rng(seed)
    base = {f"d/v/{i}": tuple(rng.choice(LABELS, 2).tolist()) for i in range(n)}
    changes = [
        {"uid": uid, "part": part, "draw": draw, "y2": str(rng.choice(LABELS)), "partner": f"d/v/{rng.integers(n)}"}
        for uid in base
        for part in parts
        for draw in range(draws)
    ]
    return base, changes


def reference(base, changes, part, default, seed, most):
    """uids that are chosen, how many stayed, and how many were swapped: written without Arrow."""
    here = {c["uid"]: c["y2"] for c in changes if c["part"] == part and c["draw"] == 0}
    swapped = [uid for uid in here if base[uid][1] != default]
    stayed = [uid for uid in swapped if here[uid] == base[uid][1]]
    ever = {c["uid"] for c in changes if c["part"] == part and c["y2"] != base[c["uid"]][1]}
    counts = len(stayed), len(swapped), len(set(swapped) - ever), 3 if swapped else 1
    return sorted(stayed, key=lambda u: words_of(random_key(seed, "unchanged"), keys([u]))[0, 0])[:most], *counts


@given(
    st.integers(1, 40), st.integers(0, 99), st.sampled_from([None, *LABELS]), st.sampled_from(["premise", "left+right"])
)
def test_only_what_is_unchanged_and_eligible_in_the_first_draw_is_chosen(rows_of, n, seed, default, part):
    base, changes = swaps(n, seed)
    rows = rows_of(base, changes)
    found = unchanged(rows, part, about(default, seed), most=5)
    expected = reference(base, changes, part, default, seed, 5)
    counts = found.stayed, found.swapped, found.always, found.draws
    assert ([row["uid"] for row in found.rows], *counts) == expected
    for row in found.rows:
        assert (row["part"], row["draw"], row["y"]) == (part, 0, row["y2"])
        assert row["y"] == base[row["uid"]][1] != default
        assert row["partner"] in {c["partner"] for c in changes if (c["uid"], c["part"]) == (row["uid"], part)}


def test_the_choice_depends_neither_on_the_order_of_the_rows_nor_on_how_they_lie_in_memory(rows_of):
    rows = rows_of(*swaps(60))
    found = unchanged(rows, "premise", about())
    assert len(found.rows) == 8 < found.stayed
    shuffled = rows.take(np.random.default_rng(1).permutation(len(rows)))
    pieces = pa.concat_tables([rows.slice(i, 7) for i in range(0, len(rows), 7)])
    assert found == unchanged(shuffled, "premise", about()) == unchanged(pieces, "premise", about())
    assert found.rows != unchanged(rows, "premise", about(seed=1)).rows


def test_an_example_stays_on_the_sheet_when_others_change(rows_of):
    base, changes = swaps(60)
    before = [row["uid"] for row in unchanged(rows_of(base, changes), "premise", about()).rows]
    gone = {before[2], before[5]}
    changes = [c | ({"y2": "neutral"} if c["uid"] in gone else {}) for c in changes]
    after = [row["uid"] for row in unchanged(rows_of(base, changes), "premise", about()).rows]
    assert after[:6] == [uid for uid in before if uid not in gone]
    assert not gone & set(after)


def test_rows_without_swaps_give_an_empty_sheet(rows_of):
    assert unchanged(rows_of({"a": ("neutral", "neutral")}), "premise", about(None)) == Unchanged((), 0, 0)


def test_the_title_is_one_sentence_that_says_what_is_shown():
    assert title("d", "left+right", Unchanged(({},) * 8, 1200, 3400)) == (
        "d: 1,200 of 3,400 examples keep their prediction with another example's left and right; 8 are shown."
    )
    assert title("d", "image", Unchanged(({},), 1, 3)).endswith("another example's image; all are shown.")
    assert title("d", "image", Unchanged(({},) * 8, 245, 300, 191, 5)) == (
        "d: 245 of 300 examples keep their prediction with another example's image in the first draw, 191 in all 5; "
        "8 are shown."
    )
    assert title("d", "image", Unchanged((), 0, 3)) == (
        "d: 0 of 3 examples keep their prediction with another example's image: every prediction changed."
    )
    assert title("d", "image", Unchanged((), 0, 0)) == (
        "d: no example got another's image, so that there is nothing to see."
    )


@given(st.text("ab \n\t", max_size=60), st.integers(5, 30))
def test_a_shortened_text_keeps_both_ends_and_stands_on_one_line(text, most):
    whole, short = " ".join(text.split()), shortened(text, most)
    assert len(short) <= most
    assert "\n" not in short
    if len(whole) <= most:
        assert short == whole
    else:
        head, tail = short.split(" … ")
        assert whole.startswith(head)
        assert whole.endswith(tail)
        assert len(short) >= most - 2  # no more is left out than must be, but for spaces beside the ellipsis


def pair(**settings):
    given = {
        "uid": "d/v/1",
        "partner": "d/v/2",
        "before": {"premise": "It rains."},
        "after": {"premise": "A dog runs."},
    }
    given |= {
        "others": {"hypothesis": "It is wet."},
        "gold": "entailment",
        "answer": "neutral",
        "probs": (0.98, 0.9712),
    }
    return Pair(**given | settings)


def test_markdown_says_what_was_swapped_and_what_is_predicted():
    assert markdown([pair()], "d: one sentence.") == (
        "# d: one sentence.\n\n"
        "## d/v/1 with the premise of d/v/2\n\n"
        "- **premise:** It rains.\n"
        "- **premise, swapped in:** A dog runs.\n"
        "- **hypothesis:** It is wet.\n"
        "- **original gold:** entailment\n"
        f"- **prediction:** neutral (98.0 %) {ARROW} neutral (97.1 %)\n"
    )
    assert f"- **prediction:** in Paris {ARROW} in Paris\n" in markdown([pair(answer="in Paris", probs=None)], "d")
    assert markdown([], "d: every prediction changed.") == "# d: every prediction changed.\n"


@example("_a_ *b* **c** `d` [e](f) <b>g</b> &lt; ~~h~~ \\* | # ## i")
@given(st.text("ab |#*_`[]()<>&~\\-+1.!\n{}:$\"'", max_size=30))
def test_no_text_breaks_the_markdown(text):
    made = markdown([pair(before={"premise": text}, uid=f"d/{text}/1", gold=text)], text)
    shown = markdown_to_safe_html(made)  # as TensorBoard does
    plain = html.unescape(re.sub("<[^>]*>", "", shown))
    whole = " ".join(text.split())
    lines = [" ".join(line.split()) for line in plain.splitlines() if line.strip()]
    expected = [whole, f"d/{text}/1 with the premise of d/v/2", f"premise: {whole}", "premise, swapped in: A dog runs."]
    expected += [
        "hypothesis: It is wet.",
        f"original gold: {whole}",
        f"prediction: neutral (98.0 %) {ARROW} neutral (97.1 %)",
    ]
    assert lines == [" ".join(line.split()) for line in expected if line]
    assert shown.count("<li>") == 5


def test_a_table_in_words_stays_one_line_of_markdown():
    assert escaped("\x1b[2J \u202egnp") == "\\\\x1b\\[2J \\\\u202egnp"
    assert escaped("In Rainbows | Genre | art rock\n# pop") == "In Rainbows \\| Genre \\| art rock \\# pop"


def picture(value, height=40, width=30):
    return np.full((height, width, 3), value, dtype=np.uint8)


def drawn(sheet):
    """(texts, pictures as (their colour, their frame, place from the left, from the bottom))."""
    sheet.draw_without_rendering()
    pictures = []
    for axes in sheet.axes:
        assert 0 <= axes.get_position().x0 < axes.get_position().x1 <= 1
        assert 0 <= axes.get_position().y0 < axes.get_position().y1 <= 1
        shown, place = axes.images[0].get_array(), axes.get_position()
        pictures.append((int(shown[0, 0, 0]), to_hex(axes.spines["left"].get_edgecolor()), place.x0, place.y0))
    return [text.get_text() for text in sheet.texts], pictures


def test_a_figure_shows_each_picture_in_its_place_and_the_texts_beside_it():
    pairs = [
        pair(
            uid=f"d/v/{k}",
            before={"left": picture(10 * k), "right": picture(10 * k + 1, 20, 80)},
            after={"left": picture(10 * k + 2), "right": picture(10 * k + 3)},
            others={"sentence": f"It costs ${k}^ and ${k + 1}."},
        )
        for k in range(3)
    ]
    texts, pictures = drawn(figure(pairs, "d: what is shown."))
    assert texts[:5] == ["d: what is shown.", "left", "right", "left, swapped in", "right, swapped in"]
    assert [t for t in texts if "$" in t] == [f"It costs ${k}^ and ${k + 1}." for k in range(3)]
    assert [t for t in texts if " with the " in t] == [f"d/v/{k} with the left and right of d/v/2" for k in range(3)]
    assert texts.count(f"neutral (98.0 %) {ARROW} neutral (97.1 %)") == 3
    assert [p[0] for p in pictures] == [10 * k + i for k in range(3) for i in range(4)]
    assert [p[1] == RED.lower() for p in pictures] == [False, False, True, True] * 3
    lefts, bottoms = ([p[i] for p in pictures] for i in (2, 3))
    assert lefts[:4] == sorted(set(lefts))  # the same four columns in each row
    assert lefts == lefts[:4] * 3
    assert bottoms[0] > bottoms[4] > bottoms[8]


def test_a_swapped_text_stands_below_its_original_and_a_picture_that_stayed_is_shown_once():
    shown = pair(before={"question": "What? " * 200}, after={"question": "Who?"}, others={"image": picture(7)})
    sheet = figure([shown], "d")
    texts, pictures = drawn(sheet)
    assert texts[1:3] == ["image", "question"]
    assert texts[-7:-5] == ["question, swapped in", "Who?"]
    assert len(" ".join(texts[3:-7])) <= 220
    assert sum("…" in text for text in texts) == 1
    assert [p[0] for p in pictures] == [7]
    assert [t.get_text() for t in sheet.texts if to_hex(t.get_color()) == RED.lower()] == ["Who?"]


@pytest.mark.parametrize("shape", [(400, 100), (1, 4000), (4000, 1), (64, 64)])
def test_pictures_of_any_shape_keep_their_proportions(shape):
    sheet = figure([pair(before={"image": picture(0, *shape)}, after={"image": picture(1)}, others={})], "d")
    box, (width, height) = sheet.axes[0].get_position(), sheet.get_size_inches()
    assert box.width * width / (box.height * height) == pytest.approx(shape[1] / shape[0])


def test_without_pairs_the_figure_says_so():
    texts, pictures = drawn(figure([], "d: 0 of 3 examples keep it: every prediction changed."))
    assert " ".join(texts) == "d: 0 of 3 examples keep it: every prediction changed."
    assert not pictures
