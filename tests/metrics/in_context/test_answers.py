"""What a model in context answers: against loops over the rows, and against the metrics of one prompt."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from heedful.metrics.accuracy import majority_flags
from heedful.metrics.in_context.answers import AGREEMENT, INVALID, SCORED, SCORED_ABOVE, WORTH, answers, scored
from heedful.metrics.reading_comprehension import reading_scores
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import NO_LABEL, SPAN
from heedful.records.rows import BASE, select

from made_rows import by_text, make
from prompted_runs import CONTEXT, LABELS, rows_of


def total(found, name):
    return found.sums[name].sum(axis=0)[0] / found.sums[name].sum(axis=0)[1]


@pytest.mark.parametrize("group", [1, 4])
def test_answers_are_those_of_loops(group):
    rows = rows_of(group=group, seed=3)
    found, base = answers(rows, CONTEXT), select(rows, intervention=BASE).to_pylist()
    likely = [LABELS[max(range(3), key=lambda k: row["p"][k])] for row in base]
    gold = [row["gold"] for row in base]
    expected = {
        WORTH: [row["y"] == row["gold"] for row in base],
        INVALID: [row["y"] == NO_LABEL for row in base],
        SCORED: [y == g for y, g in zip(likely, gold, strict=True)],
        AGREEMENT: [row["y"] == y for row, y in zip(base, likely, strict=True)],
    }
    for name, values in expected.items():
        assert total(found, name) == pytest.approx(sum(values) / len(base), abs=1e-12)
        clusters = [row["group"] or row["uid"] for row in base]
        sums = [sum(v for v, c in zip(values, clusters, strict=True) if c == each) for each in dict.fromkeys(clusters)]
        assert found.sums[name][:, 0].tolist() == sums
    best = max(gold.count(label) for label in LABELS) / len(gold)
    assert found.majority == pytest.approx(best)
    assert found.n == len(base)
    assert total(found, "above") == pytest.approx(total(found, WORTH) - best)
    assert total(found, SCORED_ABOVE) == pytest.approx(total(found, SCORED) - best)


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
    found = answers(rows, CONTEXT)
    assert not found.sums.keys() & {SCORED, AGREEMENT}
    assert found.at_chance.keys() == {WORTH}
    half = rows_of()
    lacking = pa.array([None] * half.num_rows, half.schema.field("p2").type)
    assert scored(half.set_column(half.schema.get_field_index("p2"), "p2", lacking), LABELS) is None


@pytest.mark.parametrize(("right", "expected"), [(0.9, False), (0.3, True)])
def test_one_prompt_is_at_chance_by_the_test_of_every_model(right, expected):
    rows = rows_of(100, right=right, invalid=0.0)
    found = answers(rows, CONTEXT)
    assert found.at_chance == {WORTH: expected, SCORED: NOT_ABOVE_MAJORITY in majority_flags(scored(rows, LABELS))}
    assert found.at_chance[WORTH] == (NOT_ABOVE_MAJORITY in majority_flags(rows))


def test_of_texts_the_worth_is_exact_match_and_no_answer_is_counted():
    context = replace(CONTEXT, kind=SPAN, labels=(), default_label=None)
    rows = make({"a": ('["the cat"]', "Cat"), "b": ("[]", ""), "c": ("[]", "dog"), "d": ('["x"]', "")}, labels=1)
    found, metric = answers(rows, context), by_text(reading_scores)(rows, "nli")
    assert total(found, WORTH) == metric["exact_match/nli"].value == 0.5
    assert total(found, INVALID) == 0.5
    assert found.majority == metric["exact_match/nli/majority"].value == 0.5
    assert found.at_chance == {WORTH: True}
