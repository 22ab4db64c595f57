"""The evaluation "order": options change places, and the same content should be chosen."""

import hashlib
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heedful
from heedful.callbacks import EVALUATIONS
from heedful.datamodules import PairedText
from heedful.records import DataError, Example, Options, generator
from heedful.records.rows import select, strings

from refusals import refused

LABELS = tuple("ABCD")
PARTS = ["question", "options"]
FUNCTION = EVALUATIONS["order"].function
WORDS = st.sampled_from(["a dog", "a cat", "a cow", "a hen", "a pig"])


def rows(n: int, options: int = 4, seed: int = 0) -> list[dict[str, Any]]:
    """Questions whose right option begins with "right", at a random position."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        texts = [f"{word} {seed} {i}" for word in rng.permutation(["right", "wrong", "worse", "worst"][:options])]
        label = LABELS[next(k for k, text in enumerate(texts) if text.startswith("right"))]
        found.append({"question": f"Which is {seed} {i}?", "options": texts, "label": label})
    return found


def planted(content: float, seen: dict[tuple[str, ...], str] | None = None) -> Any:
    """A function that chooses the right content at this rate, else the first position; at random for each input."""

    def predict(inputs: list[dict[str, Any]]) -> list[str]:
        answers = []
        for x in inputs:
            key = (x["question"], *x["options"])
            draw = int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "big") / 2**64
            right = next(k for k, text in enumerate(x["options"]) if text.startswith("right"))
            answers.append(LABELS[right if draw < content else 0])
            if seen is not None:
                seen[key] = answers[-1]
        return answers

    return predict


def measured(predict: Any, data: Any, evaluations: Any = ("order",), **more: Any) -> heedful.Results:
    return heedful.measure(predict, data, PARTS, labels=LABELS, evaluations=list(evaluations), **more)


@given(st.lists(WORDS, min_size=1, max_size=4), st.integers(0, 2**32))
def test_options_change_places(texts: list[str], seed: int) -> None:
    base = Example("u", {"question": "Which?", "options": Options.of(LABELS, texts)}, "A")
    changed, again = (FUNCTION(base, generator(seed)) for _ in range(2))
    assert changed == again
    if len(set(texts)) == 1:
        assert changed is None
        return
    moved = changed["options"]
    assert sorted(moved.texts) == sorted(texts)
    assert moved.texts != texts
    assert moved.keys == base["options"].keys
    assert (changed["question"], changed.label) == (base["question"], "A")
    if len(texts) == 2:
        assert moved.texts == texts[::-1]
    for old, new in base["options"].moves(moved).items():
        assert new == [
            label for label, text in zip(LABELS, moved.texts, strict=False) if text == texts[LABELS.index(old)]
        ]


def test_every_other_order_is_drawn_equally_often() -> None:
    base = Example("u", {"options": Options.of(LABELS, ["a", "b", "c"])}, "A")
    drawn = [tuple(FUNCTION(base, generator(i))["options"].texts) for i in range(3000)]
    counts = [drawn.count(order) for order in permutations("abc") if order != ("a", "b", "c")]
    assert sum(counts) == 3000
    assert max(abs(count - 600) for count in counts) < 100


def test_rows_and_numbers_against_loops_over_texts() -> None:
    """The moved gold label, the expectation and the numbers, from the texts that the function chose."""
    seen: dict[tuple[str, ...], str] = {}
    data = rows(40)
    result = measured(planted(0.6, seen), data)
    of_question = {row["question"]: row for row in data}
    found = result.rows_of("order")
    changed = select(found, intervention="order")
    assert changed.num_rows == 40 * 5
    pool = {str(uid): hash for uid, hash in zip(strings(found, "uid"), strings(found, "content"), strict=True)}
    assert len(pool) == 40
    examples = PairedText("rows", dict(zip(PARTS, PARTS, strict=True)), {x: [] for x in LABELS}, path=data)
    examples.setup("validate")
    same, after, first = [], [], []
    for row in changed.to_pylist():
        base = examples.pool[row["uid"]]
        options = FUNCTION(base, generator(0, "order", 1, row["uid"], row["draw"]))["options"].texts
        before = of_question[base["question"]]["options"]
        chosen = before[LABELS.index(seen[(base["question"], *before)])]
        now = options[LABELS.index(seen[(base["question"], *options)])]
        right = next(k for k, text in enumerate(options) if text.startswith("right"))
        assert (row["y2"], row["gold2"]) == (seen[(base["question"], *options)], LABELS[right])
        same.append(chosen == now)
        after.append(now.startswith("right"))
        first.append(row["y2"] == "A")
    assert result["order"].value == pytest.approx(np.mean(same))
    assert result.numbers[heedful.MetricName("order", "rows", "", "accuracy/after")]["value"] == np.mean(after).round(
        12
    )
    chosen_first = heedful.MetricName("order", "rows", "", "chosen/after", "A")
    assert result.numbers[chosen_first]["value"] == pytest.approx(np.mean(first))


def test_two_options_are_swapped_and_rows_may_have_fewer_options() -> None:
    data = [*rows(20), *rows(20, 2, seed=1), *rows(12, 3, seed=2)]
    result = measured(planted(1.0), data)
    assert (result["order"].value, result["order"].n) == (1.0, 52)
    always_first = measured(lambda inputs: ["A"] * len(inputs), rows(20, 2))
    assert (always_first["order"].value, "constant_predictions" in always_first["order"].flags) == (0.0, True)


def test_equal_options_are_one_content() -> None:
    """The second of two equal options is as right as the first; options that are all equal are left out."""
    data = [{"question": f"{i}?", "options": ["same", "same", "other"], "label": "A"} for i in range(12)]
    data += [{"question": "all?", "options": ["same", "same", "same"], "label": "A"}]
    result = measured(lambda inputs: [LABELS[x["options"].index("same")] for x in inputs], data)
    assert (result["order"].value, result["order"].n) == (1.0, 12)


def test_data_without_options_are_left_alone() -> None:
    data = [{"a": f"x {i}", "b": f"y {i}", "label": "A"} for i in range(12)]
    result = heedful.measure(lambda inputs: ["A"] * len(inputs), data, ["a", "b"], labels=["A", "B"])
    assert "order" not in {name.family for name in result.numbers}
    with refused(heedful.HeedfulError, "order", "another part"):
        heedful.measure(lambda i: ["A"] * len(i), data, ["a", "b"], labels=["A", "B"], evaluations=["order"])


def test_a_swap_lends_all_options_and_compares_positions() -> None:
    """A model that reads only the options changes its answer with them, and never with the question."""
    data = rows(60)
    result = measured(planted(1.0), data, ["attentiveness"])
    assert result["attentiveness", "question"].value == 0
    swaps = select(result.rows_of("attentiveness"), intervention="swap", part="options").to_pylist()
    gold = {row["uid"]: row["gold"] for row in swaps}
    assert all((row["y2"], row["gold2"]) == (gold[row["partner"]], None) for row in swaps)
    assert result["attentiveness", "options"].value == pytest.approx(np.mean([r["y"] != r["y2"] for r in swaps]))


@pytest.mark.parametrize(
    ("row", "facts"),
    [
        ({"options": list("abcde")}, ["row 2", "5 options", "A, B, C, D", "labels"]),
        ({"options": []}, ["row 2", "0 options"]),
        ({"options": ["a", "b"], "label": "C"}, ["row 2", "label C", "2 options"]),
        ({"options": "a"}, ["row 2", "'options'", "not a text"]),
        ({"options": ["a", None]}, ["row 2", "'options'", "empty"]),
    ],
    ids=["too many", "none", "label beyond", "no list", "empty"],
)
def test_options_without_a_label_are_refused(row, facts) -> None:
    with refused(DataError, *facts):
        measured(planted(1.0), [*rows(1), {"question": "?", "label": "A"} | row])


def test_options_in_columns_of_their_own() -> None:
    """A list of columns is a part with an option from each."""
    data = [{"q": row["question"], "x": row["options"][0], "y": row["options"][1]} for row in rows(20, 2)]
    parts = {"question": "q", "options": ["x", "y"]}
    result = heedful.measure(planted(1.0), data, parts, labels=["A", "B"])
    assert (result["order"].value, result["order"].n) == (1.0, 20)
    assert not [name for name in result.numbers if name.statistic.startswith(("accuracy", "gold"))]
    with refused(DataError, "row 1", "'z'"):
        heedful.measure(planted(1.0), data, {"question": "q", "options": ["x", "z"]}, labels=["A", "B"])


def test_numbers_as_labels_are_positions_beyond_ten() -> None:
    """Without ``labels``, the labels are those of the rows, in the order of numbers."""
    data = [{"q": f"{i}?", "options": [f"{k}" for k in range(12)], "label": i % 12} for i in range(24)]
    result = heedful.measure(lambda inputs: [x["options"].index("7") for x in inputs], data, ["q", "options"])
    assert result["order"].value == 1


def share_of_same(content: float, options: int) -> float:
    """The consistency of :func:`planted`, by all positions of the right option and all other orders."""
    same = []
    for right in range(options):
        for order in permutations(range(options)):  # option order[i] is at position i
            if order == tuple(range(options)):
                continue
            answers = [(content, right), (1 - content, 0)], [(content, right), (1 - content, order[0])]
            same.append(sum(p * p2 for p, x in answers[0] for p2, x2 in answers[1] if x == x2))
    return float(np.mean(same))


@pytest.mark.slow
@pytest.mark.parametrize(("content", "options"), [(0.7, 4), (0.4, 2)])
def test_intervals_contain_the_planted_consistency(content: float, options: int) -> None:
    truth = share_of_same(content, options)
    covered = {"consistency": 0, "accuracy": 0, "first": 0}
    for k in range(200):
        result = measured(planted(content), rows(100, options, seed=k), seed=k)
        low, high = result["order"].ci95
        covered["consistency"] += low <= truth <= high
        for name, at, slice_, value in (
            ("accuracy", "accuracy/after", "", content + (1 - content) / options),
            ("first", "chosen/after", "A", content / options + 1 - content),
        ):
            low, high = result.numbers[heedful.MetricName("order", "rows", "", at, slice_)]["ci95"]
            covered[name] += low <= value <= high
    assert min(covered.values()) >= 0.93 * 200, covered
